package workflows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// noon is the start time of each test environment.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ts is a message's ts. It does not determine when the message comes.
func ts(n int) string { return fmt.Sprintf("%d.000000", n) }

var (
	thread   = chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.000000"}
	topLevel = chat.Conversation{Team: "T1", Channel: "C1"}
	policy   = conversation.Policy{MinWait: 300, MaxWait: 1800, MaxDelay: 600, FollowUpWait: 5, IdleClose: 3600}
)

func said(n int) conversation.Change      { return change(n, conversation.Said) }
func addressed(n int) conversation.Change { return change(n, conversation.Addressed) }
func deleted(n int) conversation.Change   { return change(n, conversation.Deleted) }

func change(n int, kind conversation.Kind) conversation.Change {
	return conversation.Change{TS: ts(n), Kind: kind}
}

// conversationEnv runs one conversation with time skipping, and records what its workflow does.
// Each line begins with the time since noon.
type conversationEnv struct {
	*testsuite.TestWorkflowEnvironment
	t  *testing.T
	in conversation.Input

	script
	logged *warnings

	mu        sync.Mutex
	record    []string
	limits    map[string]limits // by activity
	addressed map[string]bool   // by decision: whether somebody had addressed the bot
	timers    []time.Duration
	open      int // timers
}

// script holds what a conversation's activities return, and after how long.
type script struct {
	judge   func(activities.JudgeInput) ending[activities.JudgeOutput]
	compose func(activities.ComposeInput) ending[activities.ReplyOutput]
	post    func(activities.PostInput) ending[activities.ReplyOutput]
	atOnce  func(activities.PostInput) (activities.ReplyOutput, error) // the local activity before it
	look    func(activities.LookInput) ending[any]
	act     func(activities.ProposalInput) ending[activities.ActOutput]
	check   func(activities.CheckInput) ending[activities.CheckOutput]
	end     func(activities.EndPromiseInput) ending[activities.EndPromiseOutput] // of a promise
	order   func() ending[any]
	settle  func() ending[any]
}

// allSucceed is a script in which all activities succeed, all verdicts are no, and nothing is posted at once.
func allSucceed() script {
	return script{
		judge:   func(activities.JudgeInput) ending[activities.JudgeOutput] { return no() },
		compose: func(activities.ComposeInput) ending[activities.ReplyOutput] { return result(conversation.Done) },
		post:    func(activities.PostInput) ending[activities.ReplyOutput] { return result(conversation.Done) },
		atOnce:  func(activities.PostInput) (activities.ReplyOutput, error) { return activities.ReplyOutput{}, nil },
		look:    func(activities.LookInput) ending[any] { return ending[any]{} },
		act: func(activities.ProposalInput) ending[activities.ActOutput] {
			return ending[activities.ActOutput]{out: activities.ActOutput{Tell: true, Asker: "U1"}}
		},
		check: func(activities.CheckInput) ending[activities.CheckOutput] {
			return ending[activities.CheckOutput]{out: activities.CheckOutput{Result: conversation.CheckKeep}}
		},
		end: func(activities.EndPromiseInput) ending[activities.EndPromiseOutput] {
			return ending[activities.EndPromiseOutput]{}
		},
		order:  func() ending[any] { return ending[any]{} },
		settle: func() ending[any] { return ending[any]{} },
	}
}

// ending is how an activity ends. The end of a cancelled activity that takes time is ignored.
type ending[T any] struct {
	out   T
	err   error
	takes time.Duration
}

func yes(delay int) ending[activities.JudgeOutput] {
	v := chat.Verdict{ShouldRespond: true, Reason: "nobody answered", Confidence: 0.8}
	if delay >= 0 {
		v.DelaySeconds = &delay
	}
	return ending[activities.JudgeOutput]{out: activities.JudgeOutput{Verdict: v}}
}

func no() ending[activities.JudgeOutput] {
	return ending[activities.JudgeOutput]{out: activities.JudgeOutput{Verdict: chat.Verdict{Reason: "lively talk", Confidence: 0.9}}}
}

// postsAtOnce is a script.atOnce that posts every reply.
func postsAtOnce(activities.PostInput) (activities.ReplyOutput, error) {
	return activities.ReplyOutput{Result: conversation.Done}, nil
}

func result(r conversation.Result) ending[activities.ReplyOutput] {
	return ending[activities.ReplyOutput]{out: activities.ReplyOutput{Result: r}}
}

func (e ending[T]) after(d time.Duration) ending[T] { e.takes = d; return e }

func newEnv(t *testing.T, c chat.Conversation) *conversationEnv {
	t.Helper()
	t.Parallel()
	return newEnvAt(t, noon, conversation.Input{Conversation: c})
}

func buildEnv(t *testing.T, in conversation.Input) *conversationEnv {
	var suite testsuite.WorkflowTestSuite
	logged := &warnings{}
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(logged)))
	s := &conversationEnv{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, in: in, script: allSucceed(), logged: logged,
		limits: map[string]limits{}, addressed: map[string]bool{},
	}
	stopWallClock(s.TestWorkflowEnvironment)
	s.SetTestTimeout(3 * time.Minute)
	s.SetStartWorkflowOptions(client.StartWorkflowOptions{TaskQueue: conversation.TaskQueue})
	s.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 3 * time.Minute}) // the machine may be busy
	s.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	s.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		s.timers = append(s.timers, d)
		// A timer that is replaced is cancelled after this.
		if s.open++; s.open > 2 {
			s.t.Errorf("%d timers are open: %v", s.open, s.timers)
		}
	})
	s.SetOnTimerFiredListener(func(string) {
		if s.open > 1 {
			s.t.Errorf("%d timers were open: %v", s.open, s.timers)
		}
		s.open--
	})
	s.SetOnTimerCanceledListener(func(string) { s.open-- })

	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.JudgeInput) (activities.JudgeOutput, error) {
		s.note("judge %s, delay at most %d, %s", in.Trigger+in.Revision, in.MaxDelay, in.Decision)
		s.about(in.Task, false)
		return play(ctx, s, s.judge(in))
	}, activity.RegisterOptions{Name: "Judge"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.ComposeInput) (activities.ReplyOutput, error) {
		what := "compose"
		if in.Addressed {
			what += " addressed"
		}
		if in.Notice {
			what += " notice"
		}
		if in.Stop != "" {
			what += " " + string(in.Stop)
		}
		s.note("%s %s, %s%s", what, in.Trigger+in.Revision, in.Decision, inRound(in))
		s.about(in.Task, in.Addressed)
		return play(ctx, s, s.compose(in))
	}, activity.RegisterOptions{Name: "Compose"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.LookInput) error {
		s.note("look %s for %s, %s", in.Step, in.Trigger, in.Decision)
		s.about(in.Task, in.Addressed)
		_, err := play(ctx, s, s.look(in))
		return err
	}, activity.RegisterOptions{Name: "Look"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.ProposalInput) (activities.ActOutput, error) {
		s.note("act %s for %s", in.Proposal, in.Trigger)
		return play(ctx, s, s.act(in))
	}, activity.RegisterOptions{Name: "Act"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.ProposalInput) error {
		s.note("show %s %s", in.Proposal, in.Close)
		return nil
	}, activity.RegisterOptions{Name: "ShowProposal"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.CheckInput) (activities.CheckOutput, error) {
		s.note("check %s, %s", in.Occasion, in.Decision)
		return play(ctx, s, s.check(in))
	}, activity.RegisterOptions{Name: "CheckPromise"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.EndPromiseInput) (activities.EndPromiseOutput, error) {
		s.note("%s %s", in.End, conversation.Occasion{Promise: in.Promise, Number: in.Number})
		return play(ctx, s, s.end(in))
	}, activity.RegisterOptions{Name: "EndPromise"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.PostInput) (activities.ReplyOutput, error) {
		after := ""
		if !in.NotBefore.IsZero() {
			after = ", not before " + in.NotBefore.Sub(noon).Round(10*time.Millisecond).String()
		}
		s.note("post %s%s, %s", in.Trigger+in.Revision, after, in.Decision)
		s.about(in.Task, in.Addressed)
		return play(ctx, s, s.post(in))
	}, activity.RegisterOptions{Name: "Post"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.PostInput) (activities.ReplyOutput, error) {
		s.limit(ctx)
		s.about(in.Task, in.Addressed)
		return s.atOnce(in)
	}, activity.RegisterOptions{Name: "PostAtOnce"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.SettleInput) error {
		s.note("settle %s by %q, %s", in.Outcome, in.By, in.Decision)
		s.about(in.Task, in.Addressed)
		_, err := play(ctx, s, s.settle())
		return err
	}, activity.RegisterOptions{Name: "Settle"})
	s.RegisterActivityWithOptions(func(ctx context.Context, in activities.RecordOrderInput) error {
		s.note("write down %s by %s%s", in.Kind, in.By, s.until(in))
		if !strings.HasPrefix(in.ID, in.Kind) || in.At.After(s.Now()) || in.At.Add(2*minute).Before(s.Now()) {
			s.t.Errorf("%s has the id %q, and was ordered at %s", in.Kind, in.ID, in.At)
		}
		_, err := play(ctx, s, s.script.order())
		return err
	}, activity.RegisterOptions{Name: "RecordOrder"})
	return s
}

// stopWallClock has timers fire only while no activity is called. Otherwise a timer fires early where an activity takes
// as long as its wait by the real clock, as on a machine that stands still. The SDK has no option for it.
func stopWallClock(env *testsuite.TestWorkflowEnvironment) {
	impl := reflect.ValueOf(env).Elem().FieldByName("impl").Elem()
	stopped := reflect.New(impl.FieldByName("mockClock").Type().Elem())
	wall := impl.FieldByName("wallClock")
	reflect.NewAt(wall.Type(), wall.Addr().UnsafePointer()).Elem().Set(stopped)
}

func play[T any](ctx context.Context, s *conversationEnv, e ending[T]) (T, error) {
	info := s.limit(ctx)
	if e.takes == 0 {
		return e.out, e.err
	}
	s.RegisterDelayedCallback(func() {
		if err := s.CompleteActivity(info.TaskToken, e.out, e.err); err != nil {
			s.t.Error(err)
		}
	}, e.takes)
	return e.out, activity.ErrResultPending
}

// limit records the limits of an activity.
func (s *conversationEnv) limit(ctx context.Context) activity.Info {
	info := activity.GetInfo(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits[info.ActivityType.Name] = limits{info.StartToCloseTimeout, info.ScheduleToCloseTimeout, info.HeartbeatTimeout, info.TaskQueue}
	return info
}

// inRound names the round of a compose activity, unless it is the first.
func inRound(in activities.ComposeInput) string {
	line := ""
	if in.Round > 0 {
		line += fmt.Sprintf(", round %d", in.Round)
	}
	if in.Until != "" {
		line += ", until " + in.Until
	}
	if in.Occasion != (conversation.Occasion{}) {
		line += ", telling " + in.Occasion.String()
	}
	return line
}

// looking is the end of a compose activity that wants to look things up.
func looking(steps ...string) ending[activities.ReplyOutput] {
	e := result(conversation.Looking)
	for _, id := range steps {
		e.out.Steps = append(e.out.Steps, conversation.Step{ID: id, Tool: "search_messages"})
	}
	return e
}

// proposing is the end of a post with an open proposal under it.
func proposing(id string, trigger int, lapses time.Time) ending[activities.ReplyOutput] {
	e := result(conversation.Done)
	e.out.Opened = []conversation.OpenProposal{{ID: id, TS: ts(trigger), LapsesAt: lapses}}
	return e
}

// promising is the end of a post that confirms a promise.
func promising(id string, trigger int, due time.Time) ending[activities.ReplyOutput] {
	e := result(conversation.Done)
	e.out.Promised = []conversation.OpenPromise{{ID: id, TS: ts(trigger), Author: "U1", DueAt: due, Number: 1}}
	return e
}

// decides is the change by which somebody decides about a proposal.
func decides(kind conversation.Kind, trigger int, id string) conversation.Change {
	c := change(trigger, kind)
	c.Revision, c.By = id, "slack:U1"
	return c
}

// limits are the timeouts and the task queue of an activity.
type limits struct {
	attempt, total, heartbeat time.Duration
	queue                     string
}

func (s *conversationEnv) note(format string, args ...any) {
	at := s.Now().Sub(noon).Round(10 * time.Millisecond) // the clock runs while an activity does
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "default-test-run-id", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = append(s.record, at.String()+" "+line)
}

// about checks that all activities of a decision agree whether it is addressed.
func (s *conversationEnv) about(task activities.Task, addressed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, known := s.addressed[task.Decision]; known && before != addressed {
		s.t.Errorf("decision %s is addressed: %v, before: %v", task.Decision, addressed, before)
	}
	s.addressed[task.Decision] = addressed
}

// at calls do at a time after noon.
func (s *conversationEnv) at(d time.Duration, do func()) { s.RegisterDelayedCallback(do, d) }

// says sends changes in one signal at a time after noon.
func (s *conversationEnv) says(at time.Duration, changes ...conversation.Change) {
	s.at(at, func() { s.signal(policy, changes...) })
}

func (s *conversationEnv) signal(p conversation.Policy, changes ...conversation.Change) {
	s.SignalWorkflow(conversation.SignalName, conversation.Signal{Policy: p, Changes: changes})
}

// update sends an update at a time after noon, and records its end.
func (s *conversationEnv) update(at time.Duration, name string, o conversation.Order) {
	s.at(at, func() {
		s.UpdateWorkflow(name, fmt.Sprint(name, at), &testsuite.TestUpdateCallback{
			OnAccept:   func() {},
			OnReject:   func(err error) { s.note("%s rejected: %s", name, s.refusal(err)) },
			OnComplete: func(_ any, err error) { s.note("%s done: %v", name, err) },
		}, o)
	})
}

// until describes how long an order silences the conversation.
func (s *conversationEnv) until(in activities.RecordOrderInput) string {
	switch {
	case in.Until.IsZero():
		return ""
	case in.Until.Sub(in.At) == conversation.MuteDuration:
		return ", for ever"
	}
	return ", for " + in.Until.Sub(in.At).String()
}

// refusal is the message of a refused order.
func (s *conversationEnv) refusal(err error) string {
	var said *temporal.ApplicationError
	if !errors.As(err, &said) || said.Type() != conversation.Refused {
		s.t.Errorf("%v, want a refusal", err)
		return err.Error()
	}
	return said.Message()
}

// state queries the state, and the metadata that the Web UI shows.
func (s *conversationEnv) state() (state conversation.State, currentDetails string) {
	s.t.Helper()
	value, err := s.QueryWorkflow(conversation.QueryName)
	if err == nil {
		err = value.Get(&state)
	}
	if err != nil {
		s.t.Error(err)
		return state, ""
	}
	var metadata sdkpb.WorkflowMetadata
	if value, err = s.QueryWorkflow("__temporal_workflow_metadata"); err == nil {
		err = value.Get(&metadata)
	}
	if err != nil {
		s.t.Error(err)
	}
	return state, metadata.GetCurrentDetails()
}

// run plays the workflow to its end, which must be without an error.
func (s *conversationEnv) run() {
	s.t.Helper()
	if err := s.play(); err != nil {
		s.t.Errorf("the workflow failed: %v", err)
	}
}

func (s *conversationEnv) play() error {
	s.t.Helper()
	s.at(1000*time.Hour, func() {
		if !s.IsWorkflowCompleted() {
			s.CancelWorkflow()
		}
	})
	s.ExecuteWorkflow(conversation.WorkflowType, s.in)
	if !s.IsWorkflowCompleted() {
		s.t.Fatal("the workflow has not completed")
	}
	s.note("closed")
	return s.GetWorkflowError()
}

// wants compares the record. Activities that one workflow task starts run concurrently, so the
// place of detached ones, looks and acts among those of the same time does not matter.
func (s *conversationEnv) wants(want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(sortDetached(s.record), sortDetached(want)) {
		s.t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(s.record, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// sortDetached sorts the detached activities, the looks and the acts to the end of each time.
func sortDetached(record []string) []string {
	var out, detached []string
	at := ""
	for _, line := range append(slices.Clone(record), "") {
		time, what, _ := strings.Cut(line, " ")
		if time != at {
			slices.Sort(detached)
			out, detached, at = append(out, detached...), nil, time
		}
		if slices.ContainsFunc([]string{"settle ", "write down ", "look ", "act ", "show ", "kept "}, func(p string) bool { return strings.HasPrefix(what, p) }) {
			detached = append(detached, line)
		} else {
			out = append(out, line)
		}
	}
	return out
}

var errModel = errors.New("the model is out of order")

// newEnvAt is a run that starts with in at a time.
func newEnvAt(t *testing.T, start time.Time, in conversation.Input) *conversationEnv {
	s := buildEnv(t, in)
	s.SetStartTime(start)
	return s
}
