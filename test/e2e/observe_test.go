package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"myao/internal/conversation"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/world"
	"myao/workflows"
)

// TestTracesMetricsAndLogs follows messages through everything that the programs export: a trace
// from Slack's request to the post, metrics, and logs. None of it holds texts or secrets.
func TestTracesMetricsAndLogs(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	var failed sync.Once
	s := start(t, sqlite(t), quiet(1), configured("log: {level: debug}\nshadow: {judges: [{name: rival, provider: demo}]}\n"+
		"hooks: {ci: {secret: sixteen-letters1, channels: general}}\n"),
		environment("OTEL_EXPORTER_OTLP_ENDPOINT="+c.url, "OTEL_BSP_SCHEDULE_DELAY=100"),
		modelAnswers(func(call llmtest.Call) llmtest.Reply {
			reply := llmtest.Text("It is a " + replyWord + ".")
			failed.Do(func() {
				reply = llmtest.Reply{Status: http.StatusServiceUnavailable, Message: "come again with your " + saidWord}
			})
			if call.Judgment() {
				return llmtest.No("nobody asked")
			}
			return reply
		}))
	s.Workspace.Faults().Add(workspace.Fault{Method: "chat.postMessage", AfterEffect: true, LoseAnswer: true, Times: 1})
	address := s.worker.Address
	s.worker.Ready()

	first := s.Workspace.Say(s.general, s.alice.ID, s.mention("what is a "+saidWord+"?"))
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.Workspace.Say(s.general, s.bob.ID, s.mention("and another "+saidWord+"?"), workspace.InThread(first))
	s.await("another answer", func() bool { return len(s.posts()) == 2 })
	s.Workspace.Say(s.general, s.bob.ID, "just talk of a "+saidWord)
	s.await("a judgment", func() bool { return s.worker.Log.Has(`"judged"`) })
	var exports export
	exports.add(t, "starter", scrape(t, s.starter.Address))
	exports.add(t, "worker", scrape(t, address))
	exports.add(t, "a worker that fails", s.failingWorkerMetrics())
	exports.checkFiles(t)

	// All work for a message is in the trace of the request that delivered it, even if another
	// request started the workflow.
	thread := "thread/T0E2E/" + s.general + "/" + first
	way := []string{"POST /slack/events", "relay", "SignalWithStartWorkflow:Conversation", "HandleSignal:changes",
		"RunActivity:Compose", "chat test", "RunActivity:PostAtOnce", "chat.postMessage"}
	s.await("two traces from the door to the post, one of them by the task queue", func() bool {
		whole, queued := 0, 0 // the other post is queued, too, if it comes within a second
		for _, spans := range c.traces() {
			if path := spansUnderRoot(spans); !slices.ContainsFunc(way, func(name string) bool { return path[name] == 0 }) {
				whole++
				queued += min(path["RunActivity:Post"], 1)
			}
		}
		return whole == 2 && queued > 0
	})
	for _, spans := range c.traces() {
		if path := spansUnderRoot(spans); path["POST /slack/events"] > 1 {
			t.Errorf("one trace has %d requests", path["POST /slack/events"])
		}
		for _, sp := range spans {
			want := "myao-starter"
			if n := sp.GetName(); strings.HasPrefix(n, "Run") || strings.HasPrefix(n, "chat") || strings.HasPrefix(n, "Handle") {
				want = "myao-worker"
			}
			if sp.service != want {
				t.Errorf("%s is of %s, want %s", sp.GetName(), sp.service, want)
			}
			if sp.GetName() == "chat test" && attribute(sp.GetAttributes(), "gen_ai.provider.name") != "gcp.gemini" {
				t.Errorf("a call of a model says %v", sp.GetAttributes())
			}
		}
	}

	// A history recorded with traces replays without them.
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(workflows.Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	if err := replayer.ReplayWorkflowExecution(t.Context(), s.Client.WorkflowService(), slog.New(slog.DiscardHandler), s.Namespace,
		workflow.Execution{ID: thread}); err != nil {
		t.Error(err)
	}

	s.worker.Stop()
	s.starter.Stop()
	lines := s.logLines(thread)
	for msg, keys := range map[string][]string{
		"model call":   {"conversation", "trigger", "trace_id", "span_id"},
		"posted":       {"conversation", "trigger", "trace_id"},
		"event stored": {"conversation", "event", "trace_id"},
	} {
		for _, key := range keys {
			if !slices.ContainsFunc(lines, func(l map[string]any) bool { return l["msg"] == msg && l[key] != nil }) {
				t.Errorf("no line %q of %s has %q", msg, thread, key)
			}
		}
	}
	h := &leakSearch{t: t, texts: map[string][]byte{
		"the traces": c.raw, "the metrics": []byte(exports.text), "the logs": []byte(s.worker.Log.String() + s.starter.Log.String()),
	}}
	h.not("what people said", encodings(saidWord)...)
	h.not("what the bot wrote", encodings(replyWord)...)
	h.not("a secret", slices.Concat(encodings(botToken), encodings(signingSecret), encodings(geminiKey))...)
	if !bytes.Contains(c.raw, []byte(thread)) {
		t.Error("the searched traces lack the conversation")
	}
}

// spansUnderRoot counts by name the spans of a trace that are connected to its root.
func spansUnderRoot(spans []span) map[string]int {
	names := map[string]int{}
	below := map[string]bool{}
	for more := true; more; {
		more = false
		for _, s := range spans {
			if id := string(s.GetSpanId()); !below[id] && (len(s.GetParentSpanId()) == 0 || below[string(s.GetParentSpanId())]) {
				below[id], more = true, true
				names[s.GetName()]++
			}
		}
	}
	return names
}

// logLines returns both programs' log lines about a conversation.
func (s *system) logLines(conversation string) []map[string]any {
	s.t.Helper()
	var lines []map[string]any
	for _, text := range strings.Split(s.worker.Log.String()+s.starter.Log.String(), "\n") {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil && line["conversation"] == conversation {
			lines = append(lines, line)
		}
	}
	return lines
}

// collector receives the programs' spans by OTLP over HTTP.
type collector struct {
	url string

	mu    sync.Mutex
	spans []span
	raw   []byte // everything received
}

// span is a span and the program that made it.
type span struct {
	*tracepb.Span
	service string
}

func startCollector(t *testing.T) *collector {
	c := &collector{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var in coltracepb.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
			t.Errorf("the collector is sent %d bytes at %s: %v", len(body), r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw = append(c.raw, body...)
		for _, of := range in.GetResourceSpans() {
			service := attribute(of.GetResource().GetAttributes(), "service.name")
			for _, scope := range of.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans = append(c.spans, span{s, service})
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func attribute(all []*commonpb.KeyValue, key string) string {
	for _, a := range all {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// traces returns the spans by trace id.
func (c *collector) traces() map[string][]span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]span{}
	for _, s := range c.spans {
		all[string(s.GetTraceId())] = append(all[string(s.GetTraceId())], s)
	}
	return all
}

func scrape(t *testing.T, address string) string {
	t.Helper()
	status, body := world.Get(t, "http://"+address+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("%s: %d, %s", address, status, body)
	}
	return body
}
