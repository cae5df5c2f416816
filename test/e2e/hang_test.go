package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
)

// A program that has never reached its database or Temporal exports none of the metrics that
// other alerts watch. The alert MyaoStartHangs fires on a missing metric.
func TestStartHangs(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
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
			s := &system{
				t: t, workspace: sandbox.New(sandbox.Config{}), model: llmtest.New(t, llmtest.Default),
				config: filepath.Join(t.TempDir(), "config.yaml"), env: []string{"TEMPORAL_ADDRESS=127.0.0.1:1"},
			}
			t.Cleanup(s.workspace.Close)
			if err := os.WriteFile(s.config, fmt.Appendf(nil, `
slack: {bot_token: xoxb-e2e, signing_secret: shh-signing, api_url: "http://127.0.0.1:1/api/"}
server: {address: "127.0.0.1:0"}
worker: {address: "127.0.0.1:0"}
database: {url: %q}
agents: {response: {provider: demo}, judgment: {provider: demo}, memory: {provider: demo}}
`, c.database), 0o600); err != nil {
				t.Fatal(err)
			}
			p := s.program(c.program)
			p.start()
			s.await("it to try again", 30*time.Second, func() bool { return strings.Contains(p.log.String(), "not ready; trying again") })
			shown := scrape(t, p.address())
			if !strings.Contains(shown, fmt.Sprintf(`myao_build_info{program=%q`, c.program)) {
				t.Errorf("its metrics do not say that it is a %s:\n%s", c.program, shown)
			}
			if metric := lacks[c.program]; metric == "" || strings.Contains(shown, "\n"+metric) {
				t.Errorf("no alert fires while it hangs: it already exports %q", metric)
			}
		})
	}
}
