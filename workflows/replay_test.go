package workflows

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/temporal"
)

var history = flag.String("history", "", "replay this `FILE`, which temporal workflow show --output json has printed")

// TestReplay tells what happened in a history from elsewhere, and whether the code can continue it.
func TestReplay(t *testing.T) {
	if *history == "" {
		t.Skip("it needs -history FILE")
	}
	h, err := read(*history)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(strings.Join(summary(t, h), "\n"))
	if err := replayed(h); err != nil {
		t.Error(err)
	}
}

// recorded returns all histories of all generations, by file.
func recorded(t *testing.T) map[string]*historypb.History {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.json.gz"))
	if err != nil || len(files) < len(paths) {
		t.Fatalf("%d files of %d paths, %v: `make histories` records what is missing", len(files), len(paths), err)
	}
	all := map[string]*historypb.History{}
	for _, file := range files {
		h, err := read(file)
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		all[file] = h
	}
	return all
}

// Running workflows that earlier code started must continue with the present code.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	for file, h := range recorded(t) {
		if err := replayed(h); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The recorded histories show what production runs only if they begin like production: with the fields of the input
// that temporal.StartOptions makes, and of the policy that config makes. Numbers, such as durations, may differ.
func TestHistoriesBeginAsInProduction(t *testing.T) {
	t.Parallel()
	policy := shape(t, config.Default().Policy(config.ChannelSettings{}))
	_, begun := temporal.StartOptions(topLevel, "", conversation.Idle, true, false)
	_, plain := temporal.StartOptions(topLevel, "", conversation.Idle, false, false)
	continued := begun
	continued.State = conversation.New(topLevel)
	inputs := []string{shape(t, begun), shape(t, plain), shape(t, continued)}
	tried := 0
	for file, h := range recorded(t) {
		began := h.Events[0].GetWorkflowExecutionStartedEventAttributes()
		if began.GetWorkflowType().GetName() != conversation.WorkflowType {
			continue
		}
		tried++
		var in map[string]any
		payloads(t, began.GetInput(), &in)
		if got := shape(t, in); !slices.Contains(inputs, got) {
			t.Errorf("%s began with %s; production with one of %q", file, got, inputs)
		}
		for _, e := range h.Events {
			if a := e.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
				var got map[string]any
				payloads(t, a.GetInput(), &got)
				if got := shape(t, got["policy"]); got != policy {
					t.Errorf("%s has the policy %s; production has %s", file, got, policy)
				}
			}
		}
	}
	if tried < 60 {
		t.Errorf("only %d histories of conversations", tried)
	}
}

// shape is the JSON of a value with 0 for each number, "" for each string, and null for what has fields of its own.
func shape(t *testing.T, value any) string {
	t.Helper()
	body, err := json.Marshal(value)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(body, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range fields {
		switch value.(type) {
		case float64:
			fields[key] = 0
		case string:
			fields[key] = ""
		case map[string]any:
			fields[key] = nil
		}
	}
	body, err = json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func payloads(t *testing.T, p *commonpb.Payloads, into any) {
	t.Helper()
	if err := converter.GetDefaultDataConverter().FromPayloads(p, into); err != nil {
		t.Fatal(err)
	}
}

func TestEachPathHasItsHistory(t *testing.T) {
	t.Parallel()
	all := recorded(t)
	for _, p := range paths {
		for run := range p.runs {
			h, ok := all[p.file(run)]
			if !ok {
				t.Errorf("no %s: `make histories` records it", p.file(run))
				continue
			}
			p.check(t, run, h)
		}
	}
}

func TestEachHistoryHasItsPath(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, p := range paths {
		for run := range p.runs {
			known[p.file(run)] = true
		}
	}
	for file := range recorded(t) {
		if strings.HasPrefix(filepath.Base(file), strings.TrimSuffix(filepath.Base(path{}.file(0)), ".json.gz")) && !known[file] {
			t.Errorf("%s: no path has this name", file)
		}
	}
}

// A conversation has at most one timer at any time, also in earlier generations.
func TestNeverTwoTimers(t *testing.T) {
	t.Parallel()
	for file, h := range recorded(t) {
		flow := h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
		if n := openTimers(h); n > 1 && flow == conversation.WorkflowType {
			t.Errorf("%s: %d timers are open at once", file, n)
		}
	}
}

// The Web UI shows what each activity and each timer is for.
func TestEachActivityAndTimerHasASummary(t *testing.T) {
	t.Parallel()
	for file, h := range recorded(t) {
		for _, e := range h.Events {
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED:
				if len(e.GetUserMetadata().GetSummary().GetData()) < len(`"…"`) {
					t.Errorf("%s: event %d, %s, has no summary", file, e.GetEventId(), e.GetEventType())
				}
			}
		}
	}
}

func TestHistoriesAreAnonymousAndSmall(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for file, h := range recorded(t) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += int(info.Size())
		clean := proto.Clone(h).(*historypb.History)
		anonymous(clean.ProtoReflect())
		if !proto.Equal(clean, h) {
			t.Errorf("%s identifies the machine that recorded it", file)
		}
		text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`[0-9]+@[a-z]|/(home|root|work|tmp|Users)/`).Find(text); found != nil || len(host) > 5 && strings.Contains(string(text), host) {
			t.Errorf("%s contains %q, or the name of this host", file, found)
		}
	}
	if size > 400<<10 {
		t.Errorf("%d bytes in all: too large for the repository", size)
	}
}

// A replay that cannot fail would prove nothing: with another activity asked for, or
// a timer that is not set, none of the histories is the workflows' own.
func TestReplayNoticesWhatIsChanged(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*historypb.HistoryEvent) bool{
		"another activity": func(e *historypb.HistoryEvent) bool {
			a := e.GetActivityTaskScheduledEventAttributes()
			if a == nil {
				return false
			}
			a.ActivityType.Name += "Otherwise"
			return true
		},
		"no timer": func(e *historypb.HistoryEvent) bool {
			if e.GetTimerStartedEventAttributes() == nil {
				return false
			}
			// In its place, something that workflows have no part in.
			e.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
			e.Attributes = &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
				WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: "another"},
			}
			return true
		},
	}
	for name, change := range changes {
		tried := 0
		for file, h := range recorded(t) {
			h = proto.Clone(h).(*historypb.History)
			if !slices.ContainsFunc(h.Events, change) {
				continue
			}
			tried++
			if err := replayed(h); err == nil || !strings.Contains(err.Error(), "TMPRL1100") {
				t.Errorf("%s with %s: %v, want it refused", file, name, err)
			}
		}
		if tried < 10 {
			t.Errorf("%s: tried with %d histories", name, tried)
		}
	}
}

// misconfigured is the conversation as it must not be written: it reads a duration from a
// variable instead of its signals.
func misconfigured(minWait *int) func(workflow.Context, conversation.Input) error {
	return func(ctx workflow.Context, in conversation.Input) error {
		r := newConversationRun(ctx, in)
		if err := r.registerHandlers(); err != nil {
			return err
		}
		for {
			var s conversation.Signal
			for r.signals.ReceiveAsync(&s) {
				r.state.Policy = s.Policy
				r.state.Policy.MinWait = *minWait
				r.apply(conversation.Changes(s.Changes))
			}
			r.collectResults()
			r.apply(conversation.Tick{})
			r.show()
			if r.quiescent() && r.state.ShouldClose(r.now()) {
				return nil
			}
			if err := r.await(); err != nil {
				return err
			}
		}
	}
}

// The timing of a conversation may change at any time, because signals carry it. A duration from
// elsewhere breaks the replay.
func TestADurationFromElsewhereBreaksReplay(t *testing.T) {
	t.Parallel()
	h := recorded(t)[path{name: "judged-yes", runs: make([][]string, 1)}.file(0)]
	for configured, want := range map[int]bool{fast.MinWait: true, fast.MinWait + 4: false, 0: false} {
		r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
		if err != nil {
			t.Fatal(err)
		}
		r.RegisterWorkflowWithOptions(misconfigured(&configured), workflow.RegisterOptions{Name: conversation.WorkflowType})
		if err = r.ReplayWorkflowHistory(quiet, h); (err == nil) != want {
			t.Errorf("recorded with a quiet time of %d s, replayed with %d: %v", fast.MinWait, configured, err)
		}
	}
}

// Workflows do not depend on the time zone or the environment of their workers.
func TestRecordedHistoriesReplayElsewhere(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{
		{"TZ=Asia/Tokyo", "LANG=ja_JP.UTF-8", "GOMAXPROCS=1", "TEMPORAL_NAMESPACE=other"},
		{"TZ=America/St_Johns", "LC_ALL=tr_TR.UTF-8", "GOGC=5"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRecordedHistoriesReplay$", "-test.v")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TZ=") }), env...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestRecordedHistoriesReplay") {
			t.Errorf("with %q: %v\n%s", env, err, out)
		}
	}
}
