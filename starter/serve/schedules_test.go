package serve

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"myao/internal/config"
	"myao/internal/operate/launch"
	"myao/internal/runtime/temporal"
	"myao/internal/slack/workspaces"
	"myao/sandbox/workspace"
	"myao/test/startertest"
	"myao/test/testserver"
)

var discard = slog.New(slog.DiscardHandler)

// interceptor passes on calls of a client, or refuses some.
type interceptor struct {
	shut     atomic.Bool
	unlisted atomic.Bool // search attributes are
	refused  atomic.Int32
}

// refuse refuses calls that create or change schedules.
func (g *interceptor) refuse(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	if g.shut.Load() && (strings.HasSuffix(method, "/CreateSchedule") || strings.HasSuffix(method, "/UpdateSchedule")) {
		g.refused.Add(1)
		return status.Error(codes.PermissionDenied, "not for you")
	}
	if g.unlisted.Load() && strings.HasSuffix(method, "/ListSearchAttributes") {
		return status.Error(codes.PermissionDenied, "not for you")
	}
	return invoke(ctx, method, req, reply, cc, o...)
}

func dial(t *testing.T, address, namespace string, g *interceptor) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{
		HostPort: address, Namespace: namespace, Logger: discard,
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(g.refuse, testserver.Patiently)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	startertest.Await(t, what, done)
}

// newScheduler makes as much of a starter as schedules need.
func newScheduler(c client.Client) *starter {
	return &starter{
		Program:  launch.Program{Config: config.Default(), Logger: discard},
		temporal: c, metrics: prometheus.NewRegistry(),
		unregistered: make(chan struct{}, 1), unscheduled: make(chan struct{}, 1),
	}
}

// runWork has a starter do what it does beside serving, until the test ends.
func (s *starter) runWork(t *testing.T) {
	t.Helper()
	_, slackAPI := startertest.Workspace(t)
	s.Config.Database.URL = startertest.SQLite(t)
	s.Config.Slack.BotToken, s.Config.Slack.APIURL = "xoxb-1", slackAPI
	s.workspaces, _ = workspaces.New(s.Config, time.Now, discard, prometheus.NewRegistry()) // it has no keys
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.work(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		if db := s.store.Load(); db != nil {
			_ = db.Close()
		}
	})
}

// schedules returns the interval of each schedule by its id.
func schedules(t *testing.T, c client.Client) map[string]time.Duration {
	t.Helper()
	found := map[string]time.Duration{}
	list, err := c.ScheduleClient().List(t.Context(), client.ScheduleListOptions{})
	if err != nil {
		return nil
	}
	for list.HasNext() {
		entry, err := list.Next()
		if err != nil {
			return nil
		}
		if len(entry.Spec.Intervals) == 1 {
			found[entry.ID+" "+entry.WorkflowType.Name] = entry.Spec.Intervals[0].Every
		}
	}
	return found
}

var allSchedules = map[string]time.Duration{
	"memory Memory": time.Hour, "catch-up CatchUp": 5 * time.Minute, "channel-sync ChannelSync": 10 * time.Minute,
	"retention Retention": 24 * time.Hour,
	"hindsight Hindsight": time.Hour,
}

// catchUps returns the states of the runs of catch-up.
func catchUps(t *testing.T, c client.Client) (states []enumspb.WorkflowExecutionStatus) {
	t.Helper()
	list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'CatchUp'"})
	if err != nil {
		return nil
	}
	for _, e := range list.GetExecutions() {
		states = append(states, e.GetStatus())
	}
	slices.Sort(states)
	return states
}

const running = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING

func TestSeveralStartersCreateSchedules(t *testing.T) {
	t.Parallel()
	c := dial(t, testserver.Temporal(t), startertest.Namespace(t), &interceptor{})
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := newScheduler(c).setUpSchedules(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	eventually(t, "all schedules", func() bool { return maps.Equal(schedules(t, c), allSchedules) })
	// Each starter has the schedule look for gaps, and no two runs are side by side.
	oneRuns := func() bool { return slices.Equal(catchUps(t, c), []enumspb.WorkflowExecutionStatus{running}) }
	eventually(t, "catching up", oneRuns)
	if err := newScheduler(c).catchUp(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "one run still", oneRuns)
}

// The schedules follow the configuration of the starter that was started last.
func TestAScheduleFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	c := dial(t, testserver.Temporal(t), startertest.Namespace(t), &interceptor{})
	for _, seconds := range []int{3600, 1, 7200} {
		s := newScheduler(c)
		s.Config.Memory.IntervalSeconds = seconds
		if err := s.setUpSchedules(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the interval", func() bool {
			return schedules(t, c)["memory Memory"] == time.Duration(seconds)*time.Second
		})
	}
	s := newScheduler(c)
	s.Config.Shadow.Judges = []config.ShadowJudge{{Name: "rival"}}
	for _, want := range []time.Duration{5 * time.Minute, 0, 0} { // gone where there are no judges
		if err := s.setUpSchedules(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the schedule of shadow", func() bool { return schedules(t, c)["shadow Shadow"] == want })
		s.Config.Shadow.Judges = nil
	}
}

// A missing schedule is created again while the starter runs. The others stay unchanged.
func TestAMissingScheduleIsCreatedAgain(t *testing.T) {
	t.Parallel()
	g := &interceptor{}
	c := dial(t, testserver.Temporal(t), startertest.Namespace(t), g)
	s := newScheduler(c)
	if err := s.setUpSchedules(t.Context()); err != nil {
		t.Fatal(err)
	}
	paused := c.ScheduleClient().GetHandle(t.Context(), temporal.CatchUpSchedule)
	if err := paused.Pause(t.Context(), client.SchedulePauseOptions{Note: "on holiday"}); err != nil {
		t.Fatal(err)
	}
	if err := c.ScheduleClient().GetHandle(t.Context(), temporal.MemorySchedule).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the schedule to be gone", func() bool { return len(schedules(t, c)) == len(allSchedules)-1 })
	ctx, stop := context.WithCancel(t.Context())
	look, ended := make(chan time.Time), make(chan error, 1)
	go func() { ended <- s.restoreSchedules(ctx, look) }()
	g.shut.Store(true)  // and the next look tries again
	looking := func() { // a look that a stall cut short is followed by another
		select {
		case look <- time.Time{}:
		default:
		}
	}
	eventually(t, "a refusal", func() bool { looking(); return g.refused.Load() > 0 })
	g.shut.Store(false)
	eventually(t, "all schedules", func() bool { looking(); return maps.Equal(schedules(t, c), allSchedules) })
	if d, err := paused.Describe(t.Context()); err != nil || !d.Schedule.State.Paused || d.Schedule.State.Note != "on holiday" {
		t.Errorf("the one that is paused: %+v, %v", d, err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// A refusal holds up nothing else, and what succeeded is not done twice.
func TestRefusedSchedulesAreRetried(t *testing.T) {
	t.Parallel()
	g := &interceptor{}
	g.shut.Store(true)
	c := dial(t, testserver.Temporal(t), startertest.Namespace(t), g)
	ended := make(chan error, 1)
	go func() { ended <- newScheduler(c).setUpSchedules(t.Context()) }()
	eventually(t, "a second round", func() bool { return g.refused.Load() > int32(len(allSchedules)) })
	g.shut.Store(false)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	eventually(t, "all schedules", func() bool { return maps.Equal(schedules(t, c), allSchedules) })
	eventually(t, "catching up", func() bool { return slices.Equal(catchUps(t, c), []enumspb.WorkflowExecutionStatus{running}) })
}

func TestSchedulingEndsWithTheStarter(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := newScheduler(dial(t, startertest.Nowhere, "default", &interceptor{})).setUpSchedules(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
}

// After a server was set up anew, the search attributes are registered again even while it refuses
// schedules.
func TestAttributesDoNotWaitForSchedules(t *testing.T) {
	t.Parallel()
	g := &interceptor{}
	g.shut.Store(true)
	s := newScheduler(dial(t, testserver.Temporal(t), "default", g))
	s.runWork(t)
	for range 2 {
		eventually(t, "the attributes", func() bool { return s.registered.Load() && s.attributes.Load() && g.refused.Load() > 0 })
		s.attributes.Store(false) // so that it is seen when they are registered
		s.reregister()
	}
	eventually(t, "the attributes", s.attributes.Load)
}

// Attributes that the server does not list are used until it refuses a signal because of them.
func TestRefusedAttributesAreLeftOut(t *testing.T) {
	g, ns := &interceptor{}, startertest.Namespace(t)
	own := dial(t, testserver.Temporal(t), ns, &interceptor{})
	eventually(t, "the attributes to be made", func() bool {
		registered, err := temporal.RegisterAttributes(t.Context(), own, ns, false)
		return registered && err == nil
	})
	g.unlisted.Store(true)
	t.Setenv("TEMPORAL_NAMESPACE", ns)
	s := newScheduler(dial(t, testserver.Temporal(t), ns, g))
	s.runWork(t)
	eventually(t, "the attributes to be used", func() bool { return s.registered.Load() && s.attributes.Load() })
	s.reregister()
	eventually(t, "the attributes to be left out", func() bool { return s.registered.Load() && !s.attributes.Load() })
}

// A server that was set up anew gets its schedules again, at the latest with the next message.
func TestANewTemporalServerGetsItsSchedules(t *testing.T) {
	t.Parallel()
	files := filepath.Join(t.TempDir(), "temporal.db")
	server := testserver.StartTemporal(t, files, 0)
	team, slackAPI := startertest.Workspace(t)
	alice := team.AddUser("alice")
	general := team.AddChannel(workspace.Public, "general", team.Bot().UserID, alice.ID)
	w := startertest.Start(t, server.Address, startertest.SQLite(t), slackAPI, "xapp-1")
	c := dial(t, server.Address, "default", &interceptor{})
	scheduled := func() bool {
		return maps.Equal(schedules(t, c), allSchedules) && slices.Contains(catchUps(t, c), running)
	}
	w.Await("the schedules", scheduled)
	w.Await("the starter to be ready", func() bool { return w.Missing() == nil })
	created := func() time.Time {
		d, err := c.ScheduleClient().GetHandle(t.Context(), temporal.MemorySchedule).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d.Info.CreatedAt
	}
	first := created()
	server.Kill()
	old, err := filepath.Glob(files + "*")
	if err != nil || len(old) == 0 {
		t.Fatalf("no files of Temporal's: %v, %v", old, err)
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	server.Restart()
	team.Say(general, alice.ID, "hello?")
	w.Await("the schedules again", scheduled)
	if again := created(); !again.After(first) {
		t.Errorf("the server has lost nothing: its schedule is of %s, as before", again)
	}
	w.Await("the starter to be ready again", func() bool { return w.Missing() == nil })
	t.Logf("caught up: %v", catchUps(t, c))
	w.Stop()
}
