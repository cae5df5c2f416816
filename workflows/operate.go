package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// longestSnooze is a year, in seconds: longer is a mute.
const longestSnooze = 366 * 24 * 3600

// serve answers what people ask of a conversation from outside: the state query
// and an operator's orders.
func (t *talk) serve() error {
	err := workflow.SetQueryHandlerWithOptions(t.ctx, conversation.QueryName, func() (*conversation.State, error) {
		return t.state, nil
	}, workflow.QueryHandlerOptions{Description: "where the conversation stands: phase, what is pending, when it is due"})
	if err != nil {
		return err
	}
	return errors.Join(
		t.accept(conversation.UpdateAnswerNow, "answer at once what is being waited for", t.answerable, func(_ workflow.Context, o conversation.Order) error {
			t.apply(conversation.AnswerNow{By: o.By})
			return nil
		}),
		t.accept(conversation.UpdateDrop, "give up whatever waits", t.droppable, func(_ workflow.Context, o conversation.Order) error {
			t.apply(conversation.Drop{By: o.By})
			return nil
		}),
		t.accept(conversation.UpdateSnooze, "be silent here for some seconds", snoozable, func(ctx workflow.Context, o conversation.Order) error {
			return t.silence(ctx, o, time.Duration(o.Seconds)*time.Second)
		}),
		t.accept(conversation.UpdateMute, "be silent here until unmuted", nil, func(ctx workflow.Context, o conversation.Order) error {
			return t.silence(ctx, o, activities.Mute)
		}),
		t.accept(conversation.UpdateUnmute, "end a mute or a snooze", nil, func(ctx workflow.Context, o conversation.Order) error {
			return t.silence(ctx, o, 0)
		}),
	)
}

// accept registers an update; by is always wanted, for the audit.
func (t *talk) accept(name, description string, valid func(conversation.Order) error, carryOut func(workflow.Context, conversation.Order) error) error {
	handler := func(ctx workflow.Context, o conversation.Order) error {
		err := carryOut(ctx, o)
		t.orders++
		return err
	}
	validator := func(o conversation.Order) error {
		if o.By == "" {
			return fmt.Errorf("%s: by is empty: who asks?", name)
		}
		if valid == nil {
			return nil
		}
		return valid(o)
	}
	return workflow.SetUpdateHandlerWithOptions(t.ctx, name, handler, workflow.UpdateHandlerOptions{
		Validator: validator, Description: description,
	})
}

func (t *talk) answerable(conversation.Order) error {
	if !t.state.Waits() {
		return fmt.Errorf("nothing waits here: the conversation is %s", t.state.Phase)
	}
	return nil
}

// droppable allows what answerable does, and a reply that is not being posted yet.
func (t *talk) droppable(o conversation.Order) error {
	if t.state.Phase == conversation.Replying && !t.state.Posting {
		return nil
	}
	return t.answerable(o)
}

func snoozable(o conversation.Order) error {
	if o.Seconds < 1 || o.Seconds > longestSnooze {
		return fmt.Errorf("snooze: seconds is %d: from 1 to %d", o.Seconds, longestSnooze)
	}
	return nil
}

// silence writes a mute down where it outlasts this run, and drops what waits.
func (t *talk) silence(ctx workflow.Context, o conversation.Order, d time.Duration) error {
	ctx = workflow.WithActivityOptions(ctx, patience(10*time.Second, time.Minute, "silence"))
	in := activities.SilenceInput{Conversation: t.in.Conversation, For: d}
	if err := workflow.ExecuteActivity(ctx, do.Silence, in).Get(ctx, nil); err != nil {
		return err
	}
	if d != 0 {
		t.apply(conversation.Drop{By: o.By})
	}
	return nil
}
