package workflows

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
)

// backgroundActivities are the activities of background workflows. Remember fails once for the
// thread "once", always for "never", and runs until it is cancelled for "endless".
func (s *server) backgroundActivities() map[string]any {
	return map[string]any{
		"FindScopes": func(ctx context.Context, in activities.FindScopesInput) (activities.FindScopesOutput, error) {
			out, what := s.of.survey(in)
			return out, s.of.failure(ctx, what)
		},
		"Remember": func(ctx context.Context, in activities.RememberInput) (activities.RememberOutput, error) {
			switch {
			case in.Scope.Thread == "once" && activity.GetInfo(ctx).Attempt == 1:
				return activities.RememberOutput{}, errors.New("not now")
			case in.Scope.Thread == "never":
				return activities.RememberOutput{}, temporal.NewNonRetryableApplicationError("refused", "Final", nil)
			case in.Scope.Thread == "endless":
				s.note(ctx, activities.Task{Conversation: topLevel}, "begun")
				for ; ctx.Err() == nil; pause(100) {
					activity.RecordHeartbeat(ctx)
				}
				return activities.RememberOutput{}, ctx.Err()
			}
			return activities.RememberOutput{Calls: 1, Changed: true}, nil
		},
		"SyncChannels": func(ctx context.Context) (activities.SyncOutput, error) {
			return activities.SyncOutput{Left: 1}, s.of.failure(ctx, "sync")
		},
		"LabelDecisions": func(context.Context) (activities.LabelDecisionsOutput, error) {
			return activities.LabelDecisionsOutput{Labels: 1}, nil
		},
		"Prune": func(ctx context.Context) (activities.PruneOutput, error) {
			return activities.PruneOutput{Deleted: map[string]int{"changes": 7}, Unfinished: true}, s.of.failure(ctx, "prune")
		},
		"ForgetPerson": func(ctx context.Context, _ activities.ForgetPersonInput) error {
			return s.of.failure(ctx, "forget")
		},
		"TellForgotten": func(ctx context.Context, _ activities.ForgetPersonInput) error {
			return s.of.failure(ctx, "tell")
		},
		"ListChannels": func(ctx context.Context) (activities.ListChannelsOutput, error) {
			return activities.ListChannelsOutput{Channels: s.of.members}, s.of.failure(ctx, "channels")
		},
		"FindGap": func(ctx context.Context) (activities.FindGapOutput, error) {
			return s.of.due(), s.of.failure(ctx, "due")
		},
		"ListUnread": func(ctx context.Context, in activities.ListUnreadInput) (activities.ListUnreadOutput, error) {
			return s.of.unread(in), s.of.failure(ctx, "unread")
		},
		"CatchUp": func(ctx context.Context, in activities.CatchUpInput) (activities.CatchUpOutput, error) {
			what, failed := s.of.catchUp(in.Channels)
			return activities.CatchUpOutput{Read: len(in.Channels) - len(failed), Failed: failed}, s.of.failure(ctx, what)
		},
	}
}

// failure is the error of an attempt, or nil.
func (w workspace) failure(ctx context.Context, what string) error {
	if w.fails == nil {
		return nil
	}
	return w.fails(what, int(activity.GetInfo(ctx).Attempt))
}

func (s *server) begin(id string, flow any, in ...any) client.WorkflowRun {
	s.t.Helper()
	run, err := s.client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: conversation.TaskQueue}, flow, in...)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// returns waits for a run's result and compares it.
func returns[T comparable](s *server, run client.WorkflowRun, want T) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), s.timeout)
	defer cancel()
	var got T
	if err := run.Get(ctx, &got); err != nil || got != want {
		s.t.Errorf("%s returned %+v, %v; want %+v", run.GetID(), got, err, want)
	}
}

func TestBackgroundOnARealServer(t *testing.T) {
	s := newServer(t)
	of := workspace{
		threads:  [][]chat.Scope{threads("C1", "1", "2", "once", "4", "never", "6", "7", "8", "9"), threads("C2", "1", "2")},
		channels: [][]chat.Scope{channels("C1", "C2")},
		members:  []string{"C1", "C2", "C3", "C4", "C5"},
	}
	s.of = of
	memory := s.begin("memory", Memory, MemoryInput{MaxConcurrent: 4})
	catchUp := s.begin("catch-up", CatchUpAll, CatchUpAllInput{})
	returns(s, s.begin("channel-sync", ChannelSync, Of{}), activities.SyncOutput{Left: 1})
	returns(s, catchUp, CatchUpOutput{Channels: 5, Read: 5})
	returns(s, memory, MemoryOutput{Threads: 10, Channels: 2, Workspace: true, Failed: 1, Calls: 13})

	var pruned activities.PruneOutput
	if err := s.begin("retention", Retention, Of{}).Get(t.Context(), &pruned); err != nil || !reflect.DeepEqual(pruned, activities.PruneOutput{Deleted: map[string]int{"changes": 7}, Unfinished: true}) {
		t.Errorf("retention returned %+v, %v", pruned, err)
	}

	histories := s.histories(4)
	replay(t, histories)
	var summaries []string
	for _, h := range histories {
		for _, e := range h.Events {
			a := e.GetActivityTaskScheduledEventAttributes()
			if a == nil {
				continue
			}
			var summary string
			if err := converter.GetDefaultDataConverter().FromPayload(e.GetUserMetadata().GetSummary(), &summary); err != nil {
				t.Error(err)
			}
			summaries = append(summaries, summary)
			if a.GetRetryPolicy().GetMaximumAttempts() != 10 || a.GetPriority().GetPriorityKey() != 5 {
				t.Errorf("%s: at most %d attempts of priority %d, want 10 and 5", summary, a.GetRetryPolicy().GetMaximumAttempts(), a.GetPriority().GetPriorityKey())
			}
		}
	}
	for _, want := range []string{
		"find what is new in threads", "find what is new in channels", "remember thread C2/1", "remember channel C1", "remember workspace",
		"list channels at Slack", "list channels", "catch up with C5", "delete what is not kept any longer",
	} {
		if !slices.Contains(summaries, want) {
			t.Errorf("no %q in %q", want, summaries)
		}
	}
}
