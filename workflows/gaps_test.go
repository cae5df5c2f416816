package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/config"
	"myao/internal/intake/catchup"
	"myao/internal/intake/record"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/storetest"
	"myao/workflows"
)

// In a workspace of 5,000 channels, a run without a gap makes no call of Slack. After a gap each channel
// is read once.
func TestSlackCallsOfFiveThousandChannels(t *testing.T) {
	t.Parallel()
	const many = 5000
	discard := slog.New(slog.DiscardHandler)
	w := workspace.New(workspace.Config{Team: "T1", BotToken: "xoxb-1", Logger: discard})
	t.Cleanup(w.Close)
	api := httptest.NewServer(w.Handler())
	t.Cleanup(api.Close)
	alice := w.AddUser("alice").ID
	methods, read := map[string]int{}, map[string]int{} // calls, and those of history by channel
	w.Faults().Add(workspace.Fault{Error: "never", Match: func(c workspace.Call) bool {
		methods[c.Method]++
		if c.Method == "conversations.history" {
			read[c.Args.Get("channel")]++
		}
		return false
	}})
	for n := range many {
		w.AddChannel(workspace.Public, fmt.Sprintf("c%d", n), w.Bot().UserID, alice)
	}
	db := storetest.Open(t)
	// Neither does a call time out, and be made twice, nor a starter die of old age, while the machine stands still.
	client := slack.New(slack.Config{Token: "xoxb-1", APIURL: api.URL + "/api/", HTTPClient: &http.Client{Timeout: time.Hour}})
	now := time.Now()
	directory := &channels.Directory{Store: db, Slack: client, Config: &config.Config{Response: config.Default().Response}, Clock: time.Now, Logger: discard}
	a := &activities.Activities{
		Store: db,
		Missed: &catchup.Reader{
			Store: db, Own: slack.Identity{TeamID: "T1", UserID: w.Bot().UserID}, Slack: client, Recorder: &record.Recorder{Store: db, Directory: directory}, Directory: directory,
			FirstWindow: 24 * time.Hour, ThreadWindow: 168 * time.Hour, Clock: func() time.Time { return now }, Logger: discard,
		},
		Clock: time.Now, Logger: discard,
	}
	// run runs catch-up with all its parts.
	run := func() (out workflows.CatchUpOutput) {
		t.Helper()
		if err := db.SaveStarter(t.Context(), store.Starter{ID: "s", Beat: now, Settled: true}); err != nil {
			t.Fatal(err)
		}
		for in := (workflows.CatchUpInput{}); ; {
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(sdklog.NewStructuredLogger(discard))
			env := suite.NewTestWorkflowEnvironment()
			env.SetTestTimeout(5 * time.Minute)
			env.SetWorkerOptions(worker.Options{
				DeadlockDetectionTimeout: 3 * time.Minute, BackgroundActivityContext: timeout.Extend(context.Background()),
			})
			env.RegisterActivity(a)
			env.ExecuteWorkflow(workflows.CatchUp, in)
			err := env.GetWorkflowError()
			if next, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
				if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err != nil || env.GetWorkflowResult(&out) != nil {
				t.Fatal(err)
			}
			break
		}
		return out
	}
	if err := db.OpenGap(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := run()
	if out.Channels != many || out.Failed != 0 || len(read) != many || methods["conversations.replies"] != 0 {
		t.Errorf("after a gap: %+v, calls %v of %d channels", out, methods, len(read))
	}
	for c, n := range read {
		if n != 2 { // what was said since, and the parents of older threads
			t.Fatalf("after a gap: %d calls for channel %s", n, c)
		}
	}
	t.Logf("after a gap: %v", methods)
	clear(methods)
	if out := run(); len(methods) != 0 || out != (workflows.CatchUpOutput{}) {
		t.Errorf("without a gap: %+v, calls %v", out, methods)
	}
}
