package e2e

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.yaml.in/yaml/v3"

	"myao/internal/answer/mcp"
	"myao/internal/config"
	"myao/internal/runtime/telemetry"
	"myao/internal/store"
	"myao/test/testserver"
)

// export is what the programs export to Prometheus: the values by metric and label.
type export struct {
	text    string
	metrics map[string]map[string][]string
}

var (
	sample = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? [^ ]+$`)
	label  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

func (x *export) add(t *testing.T, from, text string) {
	t.Helper()
	if x.metrics == nil {
		x.metrics = map[string]map[string][]string{}
	}
	x.text += text
	samples := sample.FindAllStringSubmatch(text, -1)
	if len(samples) < 20 {
		t.Fatalf("%s shows:\n%s", from, text)
	}
	for _, s := range samples {
		labels := x.metrics[s[1]]
		if labels == nil {
			labels = map[string][]string{}
			x.metrics[s[1]] = labels
		}
		for _, l := range label.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(labels[l[1]], l[2]) {
				labels[l[1]] = append(labels[l[1]], l[2])
			}
		}
	}
}

// scraped are the labels that Prometheus itself adds.
var scraped = []string{"instance", "job"}

func (x *export) has(metric, label string) bool {
	_, ok := x.metrics[metric][label]
	return ok || slices.Contains(scraped, label)
}

// check fails the test for each metric and label in an expression that the programs do not export,
// and for each label value of a myao_ metric. It returns the labels by which the expression groups.
func (x *export) check(t *testing.T, where, expression string) (labels []string) {
	t.Helper()
	parsed, err := metricsql.Parse(strings.ReplaceAll(expression, "$__rate_interval", "5m"))
	if err != nil {
		t.Errorf("%s: %v: %s", where, err, expression)
		return nil
	}
	metrics := func(e metricsql.Expr) (names []string) {
		metricsql.VisitAll(e, func(e metricsql.Expr) {
			m, ok := e.(*metricsql.MetricExpr)
			if !ok {
				return
			}
			for _, filters := range m.LabelFilterss {
				for _, f := range filters {
					if f.Label == "__name__" {
						names = append(names, f.Value)
					}
				}
			}
		})
		return names
	}
	if len(metrics(parsed)) == 0 {
		t.Errorf("%s names no metric: %s", where, expression)
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range e.LabelFilterss {
				name := filters[0].Value
				if x.metrics[name] == nil {
					t.Errorf("%s: there is no metric %s", where, name)
					continue
				}
				// Each workflow type has a series, each with the size of the one shared cache.
				if name == "temporal_sticky_cache_size" && !slices.ContainsFunc(filters, func(f metricsql.LabelFilter) bool { return f.Label == "workflow_type" }) {
					t.Errorf("%s: %s is counted once for every workflow type", where, name)
				}
				for _, f := range filters[1:] {
					if !x.has(name, f.Label) {
						t.Errorf("%s: metric %s has no label %s", where, name, f.Label)
					} else if !f.IsRegexp && strings.HasPrefix(name, "myao_") && !slices.Contains(x.metrics[name][f.Label], f.Value) {
						t.Errorf("%s: metric %s has no %s=%q", where, name, f.Label, f.Value)
					}
				}
			}
		case *metricsql.AggrFuncExpr:
			for _, by := range e.Modifier.Args {
				labels = append(labels, by)
				for _, name := range metrics(e) {
					if !x.has(name, by) {
						t.Errorf("%s: metric %s has no label %s", where, name, by)
					}
				}
			}
		}
	})
	return labels
}

var (
	legend = regexp.MustCompile(`\{\{ *(?:\$labels\.)?(\w+) *\}\}`)
	named  = regexp.MustCompile("`(myao_[a-z_]+)`")
	suffix = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// checkFiles fails the test for each metric that the dashboard, the alerts or the docs name
// and that does not exist.
func (x *export) checkFiles(t *testing.T) {
	t.Helper()
	root := filepath.Join("..", "..")
	read := func(path ...string) []byte {
		text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		testserver.Must(t, err)
		return text
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	testserver.Must(t, json.Unmarshal(read("deploy", "grafana", "myao.json"), &board))
	drawn := 0
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			drawn++
			by := x.check(t, "dashboard, "+p.Title, target.Expr)
			for _, l := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(by, l[1]) && !slices.Contains(scraped, l[1]) {
					t.Errorf("dashboard, %s: the legend names %s", p.Title, l[1])
				}
			}
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	testserver.Must(t, yaml.Unmarshal(read("deploy", "prometheus", "alerts.yaml"), &alerts))
	docs, runbook := string(read("docs", "observability.md")), string(read("docs", "alerts.md"))
	rules, stands := 0, 0
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			rules++
			by := x.check(t, r.Alert, r.Expr)
			for _, l := range legend.FindAllStringSubmatch(r.Annotations["description"], -1) {
				if !slices.Contains(by, l[1]) {
					t.Errorf("%s: the description names %s", r.Alert, l[1])
				}
			}
			if _, err := time.ParseDuration(r.For); err != nil || r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
				!slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("%s lacks something: %+v", r.Alert, r)
			}
			words := strings.ToLower(regexp.MustCompile(`(.)([A-Z])`).ReplaceAllString(r.Alert, "$1 $2"))
			if r.Annotations["runbook_url"] != "docs/alerts.md#"+strings.ReplaceAll(words, " ", "-") {
				t.Errorf("%s leads to %s", r.Alert, r.Annotations["runbook_url"])
			}
			entry := "\n### M" + words[1:] + "\n\n`" + r.Alert + "` (" + r.Labels["severity"] + "): **" +
				r.Annotations["summary"] + ".**\n"
			if at := strings.Index(runbook, entry); at < 0 {
				t.Errorf("docs/alerts.md does not say what to do about %s: it lacks%s", r.Alert, entry)
			} else if at < stands {
				t.Errorf("%s does not stand in docs/alerts.md where it stands among the alerts", r.Alert)
			} else {
				stands = at
			}
		}
	}
	if drawn < 20 || rules < 10 {
		t.Errorf("%d expressions are drawn and %d alert", drawn, rules)
	}
	told := map[string]bool{}
	for _, name := range named.FindAllStringSubmatch(docs, -1) {
		told[name[1]] = true
		if x.metrics[name[1]] == nil && x.metrics[name[1]+"_bucket"] == nil {
			t.Errorf("docs/observability.md describes %s, which does not exist; see docs/stability.md for what a changed metric needs", name[1])
		}
	}
	for name := range x.metrics {
		if name = suffix.ReplaceAllString(name, ""); strings.HasPrefix(name, "myao_") && !told[name] {
			t.Errorf("docs/observability.md does not describe %s; see docs/stability.md for what a changed metric needs", name)
		}
	}
}

// failingWorkerMetrics returns the SDK's metrics for failures that the programs do not have
// here: a workflow that panics, and a request that Temporal refuses.
func (s *system) failingWorkerMetrics() string {
	s.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	told, err := telemetry.Open(s.t.Context(), telemetry.Options{
		Program: "test", Lookup: func(string) (string, bool) { return "", false }, Clock: time.Now, Logger: quiet,
	})
	testserver.Must(s.t, err)
	o := client.Options{HostPort: s.Temporal, Namespace: s.Namespace, Logger: quiet}
	told.ConfigureClient(&o)
	c, err := client.NewLazyClient(o)
	testserver.Must(s.t, err)
	defer c.Close()
	w := worker.New(c, "misbehaving", worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { panic("a fault") }, workflow.RegisterOptions{Name: "Faulty"})
	testserver.Must(s.t, w.Start())
	defer w.Stop()
	testserver.Must(s.t, testserver.ErrOf(c.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: "faulty", TaskQueue: "misbehaving"}, "Faulty")))
	if err := c.SignalWorkflow(s.t.Context(), "nobody", "", "hello", nil); err == nil {
		s.t.Fatal(errors.New("there is a workflow of that name"))
	}
	away := mcp.New(mcp.Options{
		Servers: map[string]config.MCPServer{"desk": {Command: "/nonexistent"}}, Clock: time.Now, Logger: quiet, Metrics: mcp.NewMetrics(told.Registry),
	})
	defer away.Close()
	if result, err := away.Call(s.t.Context(), store.MCPTool{Server: "desk", Name: "desk__find", Tool: "find", Schema: `{"type":"object"}`}, nil); err != nil || !result.Failed {
		s.t.Fatalf("a call of a server that is away: %+v, %v", result, err)
	}
	show := func() string {
		w := httptest.NewRecorder()
		promhttp.HandlerFor(told.Registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	s.await("the workflow to fail", func() bool { return strings.Contains(show(), "temporal_workflow_task_execution_failed_total") })
	return show()
}
