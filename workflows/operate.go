package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

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
		t.accept(conversation.UpdateAnswerNow, "answer at once what is being waited for", t.answerable, func(_ workflow.Context, o order) error {
			t.apply(conversation.AnswerNow{By: o.By})
			t.writeDown(o)
			return nil
		}),
		t.accept(conversation.UpdateDrop, "give up whatever waits", t.droppable, func(_ workflow.Context, o order) error {
			t.apply(conversation.Drop{By: o.By})
			t.writeDown(o)
			return nil
		}),
		t.accept(conversation.UpdateSnooze, "be silent here for some seconds", snoozable, func(ctx workflow.Context, o order) error {
			return t.silence(ctx, o, t.now().Add(time.Duration(o.Seconds)*time.Second))
		}),
		t.accept(conversation.UpdateMute, "be silent here until unmuted", nil, func(ctx workflow.Context, o order) error {
			return t.silence(ctx, o, t.now().Add(conversation.MuteDuration))
		}),
		t.accept(conversation.UpdateUnmute, "end a mute or a snooze", nil, func(ctx workflow.Context, o order) error {
			return t.silence(ctx, o, time.Time{})
		}),
	)
}

// order is one that was accepted.
type order struct {
	conversation.Order
	id, kind string
}

// accept registers an update; by is always wanted, for the audit.
func (t *talk) accept(name, description string, valid func(conversation.Order) error, carryOut func(workflow.Context, order) error) error {
	handler := func(ctx workflow.Context, o conversation.Order) error {
		err := carryOut(ctx, order{o, workflow.GetCurrentUpdateInfo(ctx).ID, name})
		t.orders++
		return err
	}
	validator := func(o conversation.Order) error {
		if o.By == "" {
			return refuse("%s: by is empty: who asks?", name)
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

// refuse is what a validator answers: people are told the text.
func refuse(format string, args ...any) error {
	return temporal.NewApplicationError(fmt.Sprintf(format, args...), conversation.Refused)
}

func (t *talk) answerable(conversation.Order) error {
	if !t.state.Answerable() {
		return refuse("nothing waits here: the conversation is %s", t.state.Phase)
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
	const most = int(conversation.MaxSnooze / time.Second)
	if o.Seconds < 1 || o.Seconds > most {
		return refuse("snooze: seconds is %d: from 1 to %d", o.Seconds, most)
	}
	return nil
}

// silence writes down until when the conversation is silent, where it outlasts this run,
// and drops what waits. One order is carried out after the other: the last one holds.
func (t *talk) silence(ctx workflow.Context, o order, until time.Time) error {
	if err := t.silencing.Lock(ctx); err != nil {
		return err
	}
	defer t.silencing.Unlock()
	ctx = workflow.WithActivityOptions(ctx, patience(10*time.Second, time.Minute, o.String()))
	if err := workflow.ExecuteActivity(ctx, do.Order, t.written(o, until)).Get(ctx, nil); err != nil {
		return err
	}
	if !until.IsZero() {
		t.dropAll(o.By)
	}
	return nil
}

// writeDown records an order that has been carried out; nobody waits for it.
func (t *talk) writeDown(o order) {
	ctx := workflow.WithActivityOptions(t.ctx, patience(10*time.Second, 24*time.Hour, o.String()))
	t.loose = append(t.loose, workflow.ExecuteActivity(ctx, do.Order, t.written(o, time.Time{})))
}

func (t *talk) written(o order, until time.Time) activities.OrderInput {
	return activities.OrderInput{Conversation: t.in.Conversation, ID: o.id, Kind: o.kind, By: o.By, At: t.now(), Until: until}
}

func (o order) String() string { return o.kind + ", ordered by " + o.By }
