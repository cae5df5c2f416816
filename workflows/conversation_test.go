package workflows

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"myao/activities"
	"myao/internal/conversation"
)

const (
	second = time.Second
	minute = time.Minute
)

// Activities get the revision of a message: each has its own decision and reply.
func TestActivitiesGetTheRevision(t *testing.T) {
	s := newEnv(t, thread)
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(0) }
	s.says(0, said(1))
	s.says(minute, edited(1, "-a"))
	s.says(10*minute, conversation.Change{TS: ts(1), Kind: conversation.Addressed, Revision: "-b"})
	s.run()
	s.wants(
		"6m0s judge 1.000000-a, delay at most 600, /1",
		"6m0s compose 1.000000-a, /1",
		"6m0s post 1.000000-a, /1",
		"10m0s compose addressed 1.000000-b, /2",
		"10m0s post 1.000000-b, /2",
		"1h10m0s closed",
	)
}

// The newest message is deleted in the database, and the signal has not arrived yet.
func TestOthersAreJudgedWhenTheNewestIsGone(t *testing.T) {
	s := newEnv(t, topLevel)
	s.judge = func(in activities.JudgeInput) ending[activities.JudgeOutput] {
		if in.Trigger == ts(2) {
			return ending[activities.JudgeOutput]{out: activities.JudgeOutput{Rule: conversation.RuleNothingLeft}}
		}
		return yes(0)
	}
	s.says(0, said(1), said(2))
	s.run()
	s.wants(
		"5m0s judge 2.000000, delay at most 600, /1",
		"10m0s judge 1.000000, delay at most 600, /2",
		"10m0s compose 1.000000, /2",
		"10m0s post 1.000000, /2",
		"1h10m0s closed",
	)
}

// Somebody has answered in a thread before the reply was composed.
func TestAnOutdatedReplyIsJudgedAgain(t *testing.T) {
	s := newEnv(t, topLevel)
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(0) }
	s.compose = func(in activities.ComposeInput) ending[activities.ReplyOutput] {
		if in.Oldest != ts(1) {
			t.Errorf("the oldest message that it is about is %q, want %q", in.Oldest, ts(1))
		}
		if in.Epoch == 1 {
			return ending[activities.ReplyOutput]{out: activities.ReplyOutput{Result: conversation.Outdated, By: ts(7)}}
		}
		return result(conversation.Done)
	}
	s.says(0, said(1), said(2))
	s.run()
	s.wants(
		"5m0s judge 2.000000, delay at most 600, /1",
		"5m0s compose 2.000000, /1",
		`5m0s settle withdrawn by "7.000000", /1`,
		"10m0s judge 2.000000, delay at most 600, /2",
		"10m0s compose 2.000000, /2",
		"10m0s post 2.000000, /2",
		"1h10m0s closed",
	)
}

func TestAFailedJudgmentIsSilence(t *testing.T) {
	s := newEnv(t, topLevel)
	s.judge = func(in activities.JudgeInput) ending[activities.JudgeOutput] {
		if in.Trigger == ts(1) {
			return ending[activities.JudgeOutput]{err: temporal.NewNonRetryableApplicationError("no verdict in it", "Final", nil)}
		}
		return no()
	}
	s.says(0, said(1))
	s.says(10*minute, said(2))
	s.run()
	s.wants(
		"5m0s judge 1.000000, delay at most 600, /1",
		`5m0s settle failed by "no verdict in it", /1`,
		"15m0s judge 2.000000, delay at most 600, /2", // the conversation goes on
		"1h15m0s closed",
	)
}

// A passing failure is retried with a backoff. The test environment stops after ten attempts.
func TestAJudgmentIsRetried(t *testing.T) {
	s := newEnv(t, topLevel)
	tries := 0
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] {
		if tries++; tries < 4 {
			return ending[activities.JudgeOutput]{err: errModel}
		}
		return no()
	}
	s.says(0, said(1))
	s.run()
	s.wants(
		"5m0s judge 1.000000, delay at most 600, /1",
		"5m1s judge 1.000000, delay at most 600, /1",
		"5m3s judge 1.000000, delay at most 600, /1",
		"5m7s judge 1.000000, delay at most 600, /1",
		"1h5m7s closed",
	)
}

func TestAFailedNoticeIsRecorded(t *testing.T) {
	s := newEnv(t, thread)
	s.compose = func(activities.ComposeInput) ending[activities.ReplyOutput] {
		return ending[activities.ReplyOutput]{err: temporal.NewNonRetryableApplicationError("blocked", "Final", nil)}
	}
	s.says(0, addressed(1))
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"0s compose addressed notice 1.000000, /1",
		`0s settle failed by "blocked", /1`,
		"1h0m0s closed",
	)
}

func TestAFailedPostIsRecorded(t *testing.T) {
	s := newEnv(t, thread)
	s.post = func(in activities.PostInput) ending[activities.ReplyOutput] {
		if !in.Addressed {
			t.Errorf("Addressed is not set: %+v", in)
		}
		if in.Trigger == ts(1) {
			return ending[activities.ReplyOutput]{err: temporal.NewNonRetryableApplicationError("not_in_channel", "Final", nil)}
		}
		return result(conversation.Done)
	}
	s.says(0, addressed(1))
	s.says(minute, addressed(2))
	s.run()
	s.wants(
		"0s compose addressed 1.000000, /1",
		"0s post 1.000000, /1",
		`0s settle failed by "not_in_channel", /1`,
		"1m0s compose addressed 2.000000, /2",
		"1m0s post 2.000000, /2",
		"1h1m0s closed",
	)
}

// Heartbeats reveal a dead worker. An answer to somebody who asked is retried for longer. Model
// calls have a queue of their own.
func TestActivityOptions(t *testing.T) {
	const main, model = conversation.TaskQueue, conversation.ModelTaskQueue
	atOnce := limits{15 * second, 15 * second, 0, main} // Slack may take longer than a workflow task
	cannot := ending[activities.ReplyOutput]{err: temporal.NewNonRetryableApplicationError("blocked", "Final", nil)}
	for name, c := range map[string]struct {
		kind    conversation.Kind
		compose func(activities.ComposeInput) ending[activities.ReplyOutput]
		want    map[string]limits
	}{
		"judged": {conversation.Said, nil, map[string]limits{
			"Judge":   {2 * minute, 24 * time.Hour, 10 * second, model},
			"Compose": {2 * minute, 24 * time.Hour, 10 * second, model},
			"Post":    {10 * minute, time.Hour, 10 * second, main}, "PostAtOnce": atOnce,
			"Settle": {10 * second, time.Hour, 10 * second, main},
		}},
		"addressed": {conversation.Addressed, nil, map[string]limits{
			"Compose": {2 * minute, 24 * time.Hour, 10 * second, model},
			"Post":    {10 * minute, 12 * time.Hour, 10 * second, main}, "PostAtOnce": atOnce,
			"Settle": {10 * second, time.Hour, 10 * second, main},
		}},
		"addressed, with a notice": {conversation.Addressed, func(in activities.ComposeInput) ending[activities.ReplyOutput] {
			if in.Notice {
				return result(conversation.Done)
			}
			return cannot
		}, map[string]limits{
			"Compose": {minute, 12 * time.Hour, 10 * second, main}, // the notice
			"Post":    {10 * minute, 12 * time.Hour, 10 * second, main}, "PostAtOnce": atOnce,
			"Settle": {10 * second, time.Hour, 10 * second, main},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t, thread)
			s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(0) }
			if c.compose != nil {
				s.compose = c.compose
			}
			s.post = func(activities.PostInput) ending[activities.ReplyOutput] { return result(conversation.Failed) }
			s.says(0, change(1, c.kind))
			s.run()
			if !reflect.DeepEqual(s.limits, c.want) {
				t.Errorf("got  %v\nwant %v", s.limits, c.want)
			}
		})
	}
}

func TestASignalAtTheClosingTimerIsNotLost(t *testing.T) {
	closing := 5*minute + time.Hour
	for name, deliver := range map[string]func(*conversationEnv){
		"in the same task, before": func(s *conversationEnv) {
			s.at(closing-time.Millisecond, func() {
				s.SignalWorkflowSkippingWorkflowTask(conversation.SignalName,
					conversation.Signal{Policy: policy, Changes: []conversation.Change{said(2)}})
			})
		},
		"two of them": func(s *conversationEnv) {
			s.at(closing-time.Millisecond, func() {
				for range 2 { // the second is a repetition
					s.SignalWorkflowSkippingWorkflowTask(conversation.SignalName,
						conversation.Signal{Policy: policy, Changes: []conversation.Change{said(2)}})
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t, topLevel)
			s.says(0, said(1))
			deliver(s)
			s.run()
			s.wants(
				"5m0s judge 1.000000, delay at most 600, /1",
				"1h10m0s judge 2.000000, delay at most 600, /2",
				"2h10m0s closed",
			)
		})
	}
}

func TestThePolicyChangesWithASignal(t *testing.T) {
	s := newEnv(t, topLevel)
	s.says(0, said(1))
	s.at(minute, func() {
		p := policy
		p.MinWait, p.MaxDelay, p.IdleClose = 20, 7, 60
		s.signal(p, said(2))
	})
	s.run()
	s.wants("1m20s judge 2.000000, delay at most 7, /1", "2m20s closed")
}

// A later deadline leaves the timer alone, and an earlier one replaces it.
func TestOneTimerServesManyMessages(t *testing.T) {
	s := newEnv(t, topLevel)
	const messages = 100
	for n := range messages {
		s.says(time.Duration(n)*10*second, said(n+1))
	}
	s.run()
	s.wants("21m30s judge 100.000000, delay at most 600, /1", "1h21m30s closed")
	if n := len(s.timers); n > 8 {
		t.Errorf("%d timers for %d messages: %v", n, messages, s.timers)
	}
}

func TestAnEarlierDeadlineReplacesTheTimer(t *testing.T) {
	s := newEnv(t, thread)
	s.says(0, said(1))
	s.at(minute, func() {
		s.signal(policy, conversation.Change{TS: ts(2), Kind: conversation.Said, FollowUp: true})
	})
	s.run()
	s.wants("1m5s judge 2.000000, delay at most 600, /1", "1h1m5s closed")
}

// What the ledger lacks is in the log: nothing waits for its record.
func TestAFailedRecordIsLogged(t *testing.T) {
	s := newEnv(t, topLevel)
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(600) }
	s.settle = func() ending[any] {
		return ending[any]{err: temporal.NewNonRetryableApplicationError("the disk is full", "full", nil)}
	}
	s.says(0, said(1))
	s.says(6*minute, deleted(1))
	s.run()
	if got := s.logged.containing("write down the outcome withdrawn failed"); len(got) != 1 {
		t.Errorf("the log has %q", s.logged.containing(""))
	}
}

// A ledger record in flight keeps the run open, without a timer that spins.
func TestARunThatShouldCloseWaitsForTheLedgerWithoutTimers(t *testing.T) {
	s := newEnv(t, topLevel)
	s.judge = func(activities.JudgeInput) ending[activities.JudgeOutput] { return yes(600) }
	s.settle = func() ending[any] { return ending[any]{}.after(5 * minute) }
	s.at(0, func() {
		p := policy
		p.IdleClose = 60
		s.signal(p, said(1))
	})
	s.at(6*minute, func() {
		p := policy
		p.IdleClose = 60
		s.signal(p, deleted(1))
	})
	s.run()
	s.wants(
		"5m0s judge 1.000000, delay at most 600, /1",
		`6m0s settle withdrawn by "1.000000", /1`,
		"11m0s closed",
	)
	if n := len(s.timers); n > 6 {
		t.Errorf("%d timers: %v …", n, s.timers[:6])
	}
}

// A reply is first posted by a local activity. If that does not post it, for whatever reason, an
// activity on the queue continues.
func TestPostedAtOnce(t *testing.T) {
	limited := temporal.NewApplicationErrorWithOptions("slow down", "RateLimited", temporal.ApplicationErrorOptions{NextRetryDelay: 30 * second})
	for name, c := range map[string]struct {
		out  activities.ReplyOutput
		err  error
		want []string // after the local activity
	}{
		"posted":            {out: activities.ReplyOutput{Result: conversation.Done}},
		"not its turn":      {want: []string{"0s post 1.000000, /1"}},
		"the database down": {err: errModel, want: []string{"0s post 1.000000, /1"}},
		"refused":           {err: temporal.NewNonRetryableApplicationError("channel_not_found", "Final", nil), want: []string{"0s post 1.000000, /1"}},
		"limited":           {err: limited, want: []string{"0s post 1.000000, not before 30s, /1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t, thread)
			tries := 0
			s.atOnce = func(in activities.PostInput) (activities.ReplyOutput, error) {
				s.note("post at once %s, %s", in.Trigger, in.Decision)
				tries++
				return c.out, c.err
			}
			s.says(0, addressed(1))
			s.run()
			s.wants(slices.Concat([]string{"0s compose addressed 1.000000, /1", "0s post at once 1.000000, /1"}, c.want, []string{"1h0m0s closed"})...)
			if tries != 1 {
				t.Errorf("the local activity ran %d times, want once", tries)
			}
		})
	}
}
