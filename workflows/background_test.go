package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
)

// workspace is what there is to summarise and to catch up with.
type workspace struct {
	threads, channels [][]chat.Scope // scopes with something new, in parts
	members           []string       // the channels the bot is in
	gap               *gap           // nil: nothing was missed
	fails             func(what string, attempt int) error
	shadow            []activities.ShadowOutput // of its calls in turn; the last one again
}

// gap is a time in which something may have been missed in all channels.
type gap struct {
	mu   sync.Mutex
	read []string // channels, since then
}

// unread returns the members that have not been read since the gap.
func (w workspace) unread(in activities.ListUnreadInput) (out activities.ListUnreadOutput) {
	w.gap.mu.Lock()
	defer w.gap.mu.Unlock()
	for _, m := range w.members {
		if in.Gap == 7 && !slices.Contains(w.gap.read, m) && !slices.Contains(in.Except, m) {
			out.Channels = append(out.Channels, m)
		}
	}
	out.Total = len(out.Channels)
	out.Channels = out.Channels[:min(in.Limit, out.Total)]
	return out
}

func (w workspace) due() (out activities.FindGapOutput) {
	if w.gap != nil {
		out.Gap = 7
	}
	return out
}

// backgroundEnv runs one background workflow with time skipping, and records the calls of its
// activities.
type backgroundEnv struct {
	*testsuite.TestWorkflowEnvironment
	t  *testing.T
	of workspace

	mu     sync.Mutex
	record []line
	open   map[string]int // running activities, by type
	most   map[string]int // their maximum
	limits map[string]limits
	// cancelAt is the call of an activity, counted from one, during which the run is cancelled, or 0.
	cancelAt int
}

type line struct {
	at   time.Duration // since noon
	what string
}

func newBackgroundEnv(t *testing.T, of workspace) *backgroundEnv {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	c := &backgroundEnv{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, of: of,
		open: map[string]int{}, most: map[string]int{}, limits: map[string]limits{},
	}
	stopWallClock(c.TestWorkflowEnvironment)
	c.SetTestTimeout(3 * time.Minute)
	c.SetStartWorkflowOptions(client.StartWorkflowOptions{TaskQueue: conversation.TaskQueue})
	c.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 3 * time.Minute}) // the machine may be busy
	c.SetStartTime(noon)
	c.register("FindScopes", func(ctx context.Context, in activities.FindScopesInput) (activities.FindScopesOutput, error) {
		out, what := of.survey(in)
		return during(ctx, c, what+asOf(in.At), out, time.Second)
	})
	c.register("Remember", func(ctx context.Context, in activities.RememberInput) (activities.RememberOutput, error) {
		out := activities.RememberOutput{Calls: len(in.Scope.Terms()), Changed: true}
		if in.Scope.Workspace() && of.channels == nil { // no channel has anything new
			out = activities.RememberOutput{}
		}
		return during(ctx, c, "remember "+in.Scope.Team+" "+in.Scope.String()+asOf(in.At), out, time.Minute)
	})
	c.register("SyncChannels", func(ctx context.Context) (activities.SyncOutput, error) {
		return during(ctx, c, "sync", activities.SyncOutput{Joined: 1}, time.Second)
	})
	c.register("Prune", func(ctx context.Context) (activities.PruneOutput, error) {
		return during(ctx, c, "prune", activities.PruneOutput{Deleted: map[string]int{"changes": 7}}, 50*time.Minute)
	})
	asked := 0
	c.register("AskShadow", func(ctx context.Context, in activities.ShadowInput) (activities.ShadowOutput, error) {
		out := of.shadow[min(asked, len(of.shadow)-1)]
		asked++
		return during(ctx, c, strings.Join(append([]string{"ask without"}, in.Without...), " "), out, time.Second)
	})
	c.register("ForgetPerson", func(ctx context.Context, in activities.ForgetPersonInput) error {
		_, err := during(ctx, c, "forget "+in.Person.User+" by "+in.ID, 0, 5*time.Hour)
		return err
	})
	c.register("TellForgotten", func(ctx context.Context, in activities.ForgetPersonInput) error {
		_, err := during(ctx, c, "tell "+in.Person.User+" of "+in.ID, 0, time.Second)
		return err
	})
	c.register("ListChannels", func(ctx context.Context) (activities.ListChannelsOutput, error) {
		return during(ctx, c, "channels", activities.ListChannelsOutput{Channels: of.members}, time.Second)
	})
	c.register("FindGap", func(ctx context.Context) (activities.FindGapOutput, error) {
		return during(ctx, c, "due", of.due(), time.Second)
	})
	c.register("ListUnread", func(ctx context.Context, in activities.ListUnreadInput) (activities.ListUnreadOutput, error) {
		return during(ctx, c, "unread", of.unread(in), time.Second)
	})
	c.register("CatchUp", func(ctx context.Context, in activities.CatchUpInput) (activities.CatchUpOutput, error) {
		what, failed := of.catchUp(in.Channels)
		if in.PauseSeconds > 0 {
			what += fmt.Sprintf(", pausing %d s", in.PauseSeconds)
		}
		n := len(in.Channels) - len(failed)
		out := activities.CatchUpOutput{Read: 3 * n, New: 2 * n, Taken: n, Failed: failed}
		return during(ctx, c, what, out, time.Duration(len(in.Channels))*time.Minute)
	})
	return c
}

func (c *backgroundEnv) register(name string, do any) {
	c.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
}

// survey returns the part after a scope.
func (w workspace) survey(in activities.FindScopesInput) (out activities.FindScopesOutput, what string) {
	parts, what := w.channels, "survey channels"
	if in.Threads {
		parts, what = w.threads, "survey threads"
	}
	if in.After != (chat.Scope{}) {
		what += " after " + in.After.String()
		parts = parts[1+slices.IndexFunc(parts, func(p []chat.Scope) bool { return slices.Contains(p, in.After) }):]
	}
	out.Team = "T1"
	if len(parts) > 0 {
		out.Scopes = parts[0]
	}
	if len(parts) > 1 {
		out.Next = &parts[0][len(parts[0])-1]
	}
	return out, what
}

// asOf describes a time other than the run's start.
func asOf(at time.Time) string {
	if at.Equal(noon) {
		return ""
	}
	return " as of " + at.String()
}

// during records a call of an activity, and ends it after a time.
func during[T any](ctx context.Context, c *backgroundEnv, what string, out T, takes time.Duration) (T, error) {
	info := activity.GetInfo(ctx)
	kind := info.ActivityType.Name
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.Now().Sub(noon).Round(time.Second) // the clock runs while an activity does
	c.record = append(c.record, line{at, what})
	if len(c.record) == c.cancelAt {
		c.RegisterDelayedCallback(c.CancelWorkflow, 0)
	}
	c.limits[kind] = limits{info.StartToCloseTimeout, info.ScheduleToCloseTimeout, info.HeartbeatTimeout, info.TaskQueue}
	if c.of.fails != nil {
		if err := c.of.fails(what, int(info.Attempt)); err != nil {
			return out, err
		}
	}
	c.open[kind]++
	c.most[kind] = max(c.most[kind], c.open[kind])
	c.RegisterDelayedCallback(func() {
		c.mu.Lock()
		c.open[kind]--
		c.mu.Unlock()
		if err := c.CompleteActivity(info.TaskToken, out, nil); err != nil {
			c.t.Error(err)
		}
	}, takes)
	return out, activity.ErrResultPending
}

// catchUp describes catching up with channels, and returns those of several that fail.
func (w workspace) catchUp(channels []string) (what string, failed []string) {
	for _, channel := range channels {
		if w.fails != nil && w.fails("catch up "+channel, 1) != nil {
			failed = append(failed, channel)
		} else if w.gap != nil {
			w.gap.mu.Lock()
			w.gap.read = append(w.gap.read, channel)
			w.gap.mu.Unlock()
		}
	}
	if len(channels) == 1 {
		return "catch up " + channels[0], nil
	}
	return "catch up together " + strings.Join(channels, " "), failed
}

// refuses fails calls that begin with one of the given words, without a retry.
func refuses(begins ...string) func(string, int) error {
	return func(what string, _ int) error {
		for _, b := range begins {
			if strings.HasPrefix(what, b) {
				return temporal.NewNonRetryableApplicationError("refused", "Final", nil)
			}
		}
		return nil
	}
}

// run plays the workflow to its end.
func (c *backgroundEnv) run(flow any, in ...any) error {
	c.t.Helper()
	c.ExecuteWorkflow(flow, in...)
	if !c.IsWorkflowCompleted() {
		c.t.Fatal("the workflow has not completed")
	}
	return c.GetWorkflowError()
}

// lines returns the record in order of time and name.
func (c *backgroundEnv) lines() []string {
	slices.SortFunc(c.record, func(a, b line) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what)) })
	var lines []string
	for _, l := range c.record {
		lines = append(lines, l.at.String()+" "+l.what)
	}
	return lines
}

func (c *backgroundEnv) wants(want ...string) {
	c.t.Helper()
	if got := c.lines(); !slices.Equal(got, want) {
		c.t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// returned compares the workflow's result.
func returned[T comparable](t *testing.T, c *backgroundEnv, want T) {
	t.Helper()
	var got T
	if err := c.GetWorkflowResult(&got); err != nil || got != want {
		t.Errorf("returned %+v, %v; want %+v", got, err, want)
	}
}

// continuedInput is the input with which a run continues as new.
func continuedInput[T any](t *testing.T, err error, as string) (in T) {
	t.Helper()
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) {
		t.Fatalf("ended with %v, want a run that continues as new", err)
	}
	if next.WorkflowType.Name != as {
		t.Errorf("continues as %s, want %s", next.WorkflowType.Name, as)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

func TestForEachVisitsEveryItemOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 4, 11} {
		c := newBackgroundEnv(t, workspace{})
		var items, got []int
		for i := range n {
			items = append(items, i)
		}
		open, most := 0, 0
		err := c.run(func(ctx workflow.Context) error {
			return forEach(ctx, items, 3, func(ctx workflow.Context, i int) {
				open++
				most = max(most, open)
				_ = workflow.Sleep(ctx, time.Duration(1+i%4)*time.Second)
				got = append(got, i)
				open--
			})
		})
		slices.Sort(got)
		if err != nil || !slices.Equal(got, items) || most != min(3, n) {
			t.Errorf("of %v: %v, at most %d at a time, %v", items, got, most, err)
		}
	}
}

func TestForEachStartsNothingAfterCancellation(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{})
	c.RegisterDelayedCallback(c.CancelWorkflow, 90*time.Second)
	started, ended := 0, 0
	err := c.run(func(ctx workflow.Context) error {
		return forEach(ctx, make([]int, 10), 2, func(ctx workflow.Context, _ int) {
			started++
			_ = workflow.Sleep(ctx, time.Minute)
			ended++
		})
	})
	if !temporal.IsCanceledError(err) || started != 4 || ended != 4 {
		t.Errorf("%d started, %d ended, %v; want 4 of each, canceled", started, ended, err)
	}
}
