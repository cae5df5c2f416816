package browser

import (
	"flag"
	"os"
	"sync"
	"testing"

	"myao/test/testserver"
)

var (
	flagRun         = flag.Bool("browser.run", false, "test the page in a Chromium; without it the tests are skipped")
	flagScreenshots = flag.String("browser.screenshots", "", "take pictures of the page, into the `directory`")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	testserver.Stop()
	_ = os.RemoveAll(built) // empty, and harmless, if no test needed the programs
	os.Exit(code)
}

// needBrowser skips a test unless -browser.run is set.
func needBrowser(t *testing.T) {
	t.Helper()
	if !*flagRun {
		t.Skip("needs a browser: `make test-browser` runs it")
	}
}

// built is the directory of the built programs.
var built string

// build builds all programs once and returns their directory.
var build = sync.OnceValues(func() (string, error) {
	var err error
	if built, err = os.MkdirTemp("", "myao-browser-"); err != nil {
		return "", err
	}
	return built, testserver.Build(built, nil, "myao/worker", "myao/starter", "myao/sandbox")
})
