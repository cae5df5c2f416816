package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"myao/test/testserver"
	"myao/test/world"
)

// A program that has never reached its database or Temporal exports none of the metrics that
// other alerts watch. The alert MyaoStartHangs fires on a missing metric.
func TestStartHangs(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "alerts.yaml"))
	testserver.Must(t, err)
	lacks := map[string]string{}
	for _, m := range regexp.MustCompile(`myao_build_info\{program="(\w+)"\} unless on \(instance\) (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		lacks[m[1]] = m[2]
	}
	for _, c := range []struct{ name, program, database string }{
		{"a starter without a database", "starter", "postgres://nobody@127.0.0.1:1/none"},
		{"a worker without a database", "worker", "postgres://nobody@127.0.0.1:1/none"},
		{"a worker without Temporal", "worker", sqlite(t)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := build(t, c.database)
			p := map[string]*world.Program{"starter": s.starter, "worker": s.worker}[c.program]
			p.Start("TEMPORAL_ADDRESS=127.0.0.1:1")
			s.await("it to try again", func() bool { return p.Log.Has("not ready; trying again") })
			shown := scrape(t, p.Address)
			if !strings.Contains(shown, fmt.Sprintf(`myao_build_info{program=%q`, c.program)) {
				t.Errorf("its metrics do not say that it is a %s:\n%s", c.program, shown)
			}
			if metric := lacks[c.program]; metric == "" || strings.Contains(shown, "\n"+metric) {
				t.Errorf("no alert fires while it hangs: it already exports %q", metric)
			}
		})
	}
}
