package drill

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"myao/test/testserver"
	"myao/test/world"
)

// times are the durations of rules: how long an expression has to hold, and how far it looks back.
var times = regexp.MustCompile(`(\bfor: |\[)(\d+)([mh])\b`)

// hurried returns rules in which each minute is a second. Scraped each second, they do in a second
// what they do in a minute where Prometheus scrapes once a minute.
func hurried(rules []byte) []byte {
	return times.ReplaceAllFunc(rules, func(found []byte) []byte {
		part := times.FindSubmatch(found)
		n, _ := strconv.Atoi(string(part[2]))
		if string(part[3]) == "h" {
			n *= 60
		}
		return fmt.Appendf(nil, "%s%ds", part[1], n)
	})
}

// watch starts a Prometheus with the project's rules, which scrapes both programs each second.
func (w *system) watch() {
	w.t.Helper()
	if _, err := exec.LookPath("prometheus"); err != nil {
		w.t.Fatal("this test needs Prometheus: run `make prometheus` once")
	}
	rules, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "alerts.yaml"))
	testserver.Must(w.t, err)
	dir := w.t.TempDir()
	for name, text := range map[string][]byte{
		"alerts.yaml": hurried(rules),
		"prometheus.yaml": fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yaml]
scrape_configs:
  - job_name: myao
    static_configs: [{targets: [%q, %q]}]
`, w.starter.Address, w.worker.Address),
	} {
		testserver.Must(w.t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	w.prometheus = testserver.FreeAddress(w.t)
	world.NewLog(w.t, "prometheus").Program("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+w.prometheus, "--log.level=warn").Start()
	w.await("Prometheus", func() bool { return w.get("/-/ready") != "" })
}

// firing returns the alerts that fire, in the order of the file.
func (w *system) firing() (names []string) {
	w.t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, State string }
			}
		}
	}
	if err := json.Unmarshal([]byte(w.get("/api/v1/rules?type=alert")), &answer); err != nil {
		w.t.Fatalf("ask Prometheus for its rules: %v", err)
	}
	w.rules = nil
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			if w.rules = append(w.rules, r.Name); r.State == "firing" {
				names = append(names, r.Name)
			}
		}
	}
	if w.rules == nil {
		w.t.Fatal("Prometheus has no rules")
	}
	return names
}

// query returns the value of an expression that has one; "" if it has none.
func (w *system) query(expression string) string {
	var answer struct {
		Data struct {
			Result []struct{ Value []any }
		}
	}
	_ = json.Unmarshal([]byte(w.get("/api/v1/query?query="+url.QueryEscape(expression))), &answer)
	if len(answer.Data.Result) != 1 {
		return ""
	}
	value, _ := answer.Data.Result[0].Value[1].(string)
	return value
}

// get returns the body of an answer of Prometheus; "" without one.
func (w *system) get(path string) string {
	status, body := world.Get(w.t, "http://"+w.prometheus+path)
	if status == 0 {
		return ""
	}
	return body
}
