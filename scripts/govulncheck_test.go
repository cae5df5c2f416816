// Package scripts holds the tests of the scripts that make runs.
package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test database has one vulnerability, in the YAML library of package config. That package is
// small, so the test takes seconds.
func TestGovulncheckFailsOnlyOnCalledVulnerabilities(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("../.bin/govulncheck"); err != nil {
		t.Fatal("this test needs govulncheck: run `make govulncheck` once")
	}
	// A proxy that does not exist, so that nothing can be reached.
	const offline = "HTTPS_PROXY=http://127.0.0.1:1"
	for _, c := range []struct {
		name   string
		env    []string
		args   []string
		passes bool
		says   string
	}{
		{"a function that is called", []string{"GOVULNDB=" + database(t, "called")}, []string{"./internal/config"}, false, "GO-2026-0001"},
		{"a function that is not called", []string{"GOVULNDB=" + database(t, "uncalled")}, []string{"./internal/config"}, true, "0 vulnerabilities"},
		{"no database", []string{offline}, []string{"./internal/config"}, true, "VULNERABILITIES NOT CHECKED"},
		{"no database, but required", []string{offline, "REQUIRE_VULNDB=1"}, []string{"./internal/config"}, false, "VULNERABILITIES NOT CHECKED"},
		{"no mirror", []string{offline, "GOVULNDB=https://mirror.example.com"}, []string{"./internal/config"}, false, "not checked"},
		{"no directory", []string{"GOVULNDB=" + database(t, "none")}, []string{"./internal/config"}, false, "not checked"},
		{"no package", []string{"GOVULNDB=" + database(t, "uncalled")}, []string{"./internal/none"}, false, "not checked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("./govulncheck", c.args...)
			cmd.Env = append(append(os.Environ(), "GOVULNDB=", "REQUIRE_VULNDB=", "NO_PROXY=", "no_proxy="), c.env...)
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.passes || !strings.Contains(string(out), c.says) {
				t.Errorf("%v, want it to pass: %v, and to say %q:\n%s", err, c.passes, c.says, out)
			}
		})
	}
}

func database(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + dir
}
