package activities

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/runtime/codec"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

func TestLostBefore(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		attempt int32
		last    *progress
		want    int
	}{
		"the first":                    {1, nil, 0},
		"after one that told nothing":  {2, nil, 1},
		"after many that told nothing": {40, nil, 1},
		"after an error":               {2, &progress{Attempt: 1, Ended: true}, 0},
		"after one that never ended":   {3, &progress{Attempt: 2, Lost: 1}, 2},
		"after one of both":            {4, &progress{Attempt: 3, Lost: 2, Ended: true}, 2},
		"after one that never began":   {4, &progress{Attempt: 2, Lost: 1, Ended: true}, 2},
	} {
		if got := lostBefore(c.attempt, c.last); got != c.want {
			t.Errorf("%s: %d lost, want %d", what, got, c.want)
		}
	}
}

// The attempts of an activity tell each other through Temporal which of them never ended, also where payloads are
// encrypted.
func TestAttemptsThatNeverEnd(t *testing.T) {
	t.Parallel()
	key := config.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32)))
	bound, err := codec.New(config.Encryption{ActiveKey: "key", Keys: map[string]config.Secret{"key": key}, BindPayloads: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]converter.DataConverter{"lost": converter.GetDefaultDataConverter(), "lost-encrypted": bound.DataConverter()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testAttemptsThatNeverEnd(t, name, in)
		})
	}
}

func testAttemptsThatNeverEnd(t *testing.T, queue string, in converter.DataConverter) {
	c, err := client.Dial(client.Options{
		HostPort: testserver.Temporal(t), Logger: quiet{}, DataConverter: in, ConnectionOptions: testserver.PatientCalls(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var mu sync.Mutex
	var lost []int
	attempt := func(ctx context.Context) error {
		ctx, stop := heartbeat(ctx)
		defer stop()
		mu.Lock()
		lost = append(lost, progressOf(ctx).Lost)
		mu.Unlock()
		switch activity.GetInfo(ctx).Attempt {
		case 1, 3, 4: // as if the worker had died
			panic("a decoder fails")
		case 2, 5:
			return ended(ctx, errors.New("an error that passes"))
		}
		return nil
	}
	flow := func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Hour, HeartbeatTimeout: 10 * time.Minute, // however long the machine stands still
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumInterval: time.Millisecond, BackoffCoefficient: 1},
		})
		return workflow.ExecuteActivity(ctx, "attempt").Get(ctx, nil)
	}
	w := worker.New(c, queue, worker.Options{})
	w.RegisterActivityWithOptions(attempt, activity.RegisterOptions{Name: "attempt"})
	w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, "flow")
	if err == nil {
		err = run.Get(t.Context(), nil)
	}
	if want := []int{0, 1, 1, 2, 3, 3}; err != nil || !slices.Equal(lost, want) {
		t.Errorf("the attempts know of %v lost ones, %v; want %v", lost, err, want)
	}
}

// quiet is a log that nobody reads.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// after is a context of an attempt before which others never ended.
func (b *bundle) after(lost int) context.Context {
	return context.WithValue(b.Context(), progressKey{}, progress{Lost: lost})
}

// After an attempt that never ended, files are left out, and whoever attached them is told.
func TestFilesAreLeftOutAfterALostAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withFiles()
	m := b.attached(b.Mention("what is this?"), workspace.WithFile("cat.png", "image/png", pngOf(t, 8)))
	task := inThread(m)
	out, err := b.Compose(b.after(1), ComposeInput{Task: task, Addressed: true})
	if err != nil || out.Result != conversation.Done {
		t.Fatalf("%+v, %v", out, err)
	}
	if c := b.call(0); len(c.Files) != 0 {
		t.Errorf("shown %v", namesOf(c.Files))
	}
	if parts := b.outbox(task); len(parts) != 1 || !strings.Contains(parts[0].Text, "cat.png") {
		t.Errorf("nobody is told: %+v", parts)
	}
	alone := b.attached("", workspace.WithFile("dog.png", "image/png", pngOf(t, 8)))
	_, err = b.Judge(b.after(1), judging(atTopLevel(alone)))
	if err != nil || len(b.call(1).Files) != 0 {
		t.Errorf("judged with %v, %v", namesOf(b.call(1).Files), err)
	}
}

// An activity is given up once too many attempts never ended, and its conversation is saved for the doctor.
func TestLostAttemptsAreBounded(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		task := inThread(b.say(b.Mention("what is this?")))
		known := func(want ...string) {
			t.Helper()
			if ids, err := b.Store.Lost(t.Context(), 9); err != nil || !slices.Equal(ids, want) {
				t.Errorf("known are %q, %v; want %q", ids, err, want)
			}
		}
		if _, err := b.Judge(b.after(1), judging(task)); err != nil {
			t.Errorf("after one: %v", err)
		}
		known()
		_, judged := b.Judge(b.after(maxLost), judging(withDecision(task, "run/7")))
		_, composed := b.Compose(b.after(maxLost), ComposeInput{Task: withDecision(task, "run/8"), Addressed: true})
		for _, err := range []error{judged, composed} {
			failed, ok := errors.AsType[*temporal.ApplicationError](err)
			if !ok || !failed.NonRetryable() || !strings.Contains(failed.Message(), "5 attempts never ended") {
				t.Errorf("after many: %v", err)
			}
		}
		known(task.Conversation.ID())
	})
}

func withDecision(t Task, key string) Task {
	t.Decision = key
	return t
}

// A step that reads what strangers wrote is not tried again after an attempt that never ended; others are,
// twice.
func TestLostSteps(t *testing.T) {
	t.Parallel()
	for tool, lost := range map[string]int{"read_file": 1, "open_link": 1, "search_messages": maxLostSteps} {
		call := llmtest.Reply{Calls: []llm.Call{{Name: tool, Input: json.RawMessage(`{"query":"a"}`)}}}
		b := setup(t, withModel(llmtest.Script(call, call, llmtest.Text("No."))))
		f := b.withTools()
		in := ComposeInput{Task: inThread(b.say(b.Mention("what is in it?"))), Addressed: true}
		for ; in.Round < 2; in.Round++ {
			out, err := runOnce[ReplyOutput](b.Compose, in)
			if err != nil || len(out.Steps) != 1 {
				t.Fatalf("%s: %+v, %v", tool, out, err)
			}
			look := LookInput{Task: in.Task, Step: out.Steps[0].ID, Addressed: true}
			if err := b.Look(b.after(lost-1+in.Round), look); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
		if len(f.inputs) != 1 {
			t.Errorf("%s: ran %d times, want once", tool, len(f.inputs))
		}
		turns, err := b.Store.Turns(t.Context(), in.decisionKey())
		if err != nil || len(turns) != 2 || turns[1].Steps[0].Output != stepLost || !turns[1].Steps[0].Failed {
			t.Errorf("%s: %+v, %v", tool, turns, err)
		}
		if ids, err := b.Store.Lost(t.Context(), 9); err != nil || !slices.Equal(ids, []string{in.Conversation.ID()}) {
			t.Errorf("%s: known are %q, %v", tool, ids, err)
		}
	}
}
