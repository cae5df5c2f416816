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

// registerHandlers registers the state query and the updates, which are an operator's orders.
func (r *conversationRun) registerHandlers() error {
	err := workflow.SetQueryHandlerWithOptions(r.ctx, conversation.QueryName, func() (*conversation.State, error) {
		return r.state, nil
	}, workflow.QueryHandlerOptions{Description: "where the conversation stands: phase, what is pending, when it is due"})
	if err != nil {
		return err
	}
	return errors.Join(
		r.registerUpdate(conversation.UpdateAnswerNow, "answer at once what is being waited for", r.validateAnswerNow,
			func(_ workflow.Context, o order) error {
				r.apply(conversation.AnswerNow{By: o.By})
				r.recordOrder(o)
				return nil
			}),
		r.registerUpdate(conversation.UpdateDrop, "give up whatever waits", r.validateDrop,
			func(_ workflow.Context, o order) error {
				r.apply(conversation.Drop{By: o.By})
				r.recordOrder(o)
				return nil
			}),
		r.registerUpdate(conversation.UpdateSnooze, "be silent here for some seconds", validateSnooze,
			func(ctx workflow.Context, o order) error {
				return r.silenceUntil(ctx, o, r.now().Add(time.Duration(o.Seconds)*time.Second))
			}),
		r.registerUpdate(conversation.UpdateMute, "be silent here until unmuted", nil,
			func(ctx workflow.Context, o order) error {
				return r.silenceUntil(ctx, o, r.now().Add(conversation.MuteDuration))
			}),
		r.registerUpdate(conversation.UpdateUnmute, "end a mute or a snooze", nil,
			func(ctx workflow.Context, o order) error {
				return r.silenceUntil(ctx, o, time.Time{})
			}),
	)
}

// order is an accepted update.
type order struct {
	conversation.Order
	id, kind string
}

// registerUpdate registers an update with its validator, which may be nil. Every order needs
// By, for the audit.
func (r *conversationRun) registerUpdate(name, description string, validate func(conversation.Order) error,
	execute func(workflow.Context, order) error) error {
	handler := func(ctx workflow.Context, o conversation.Order) error {
		err := execute(ctx, order{o, workflow.GetCurrentUpdateInfo(ctx).ID, name})
		r.ordersDone++
		return err
	}
	validator := func(o conversation.Order) error {
		if o.By == "" {
			return refuse("%s: by is empty: name who gives the order", name)
		}
		if validate == nil {
			return nil
		}
		return validate(o)
	}
	return workflow.SetUpdateHandlerWithOptions(r.ctx, name, handler, workflow.UpdateHandlerOptions{
		Validator: validator, Description: description,
	})
}

// refuse makes the error of a validator. People see its text.
func refuse(format string, args ...any) error {
	return temporal.NewApplicationError(fmt.Sprintf(format, args...), conversation.Refused)
}

func (r *conversationRun) validateAnswerNow(conversation.Order) error {
	if !r.state.Answerable() {
		return r.nothingPending()
	}
	return nil
}

func (r *conversationRun) validateDrop(conversation.Order) error {
	if !r.state.Droppable() {
		return r.nothingPending()
	}
	return nil
}

func (r *conversationRun) nothingPending() error {
	return temporal.NewApplicationError(fmt.Sprintf("nothing waits here: the conversation is %s", r.state.Phase),
		conversation.Refused, r.state.Phase)
}

func validateSnooze(o conversation.Order) error {
	const most = int(conversation.MaxSnooze / time.Second)
	if o.Seconds < 1 || o.Seconds > most {
		return refuse("snooze: seconds is %d; it must be from 1 to %d", o.Seconds, most)
	}
	return nil
}

// silenceUntil records in the database until when the conversation is silent, because that
// outlives this run, and drops what is pending. The zero time ends a silence. The mutex keeps
// the orders in sequence, so that the last one holds.
func (r *conversationRun) silenceUntil(ctx workflow.Context, o order, until time.Time) error {
	if err := r.silenceMutex.Lock(ctx); err != nil {
		return err
	}
	defer r.silenceMutex.Unlock()
	ctx = workflow.WithActivityOptions(ctx, activityOptions(10*time.Second, time.Minute, o.String()))
	if err := workflow.ExecuteActivity(ctx, do.RecordOrder, r.orderInput(o, until)).Get(ctx, nil); err != nil {
		return err
	}
	if until.IsZero() {
		r.apply(conversation.Unsilenced{})
	} else {
		r.dropAll(o.By)
	}
	return nil
}

// recordOrder records an executed order in the ledger. Nothing waits for it.
func (r *conversationRun) recordOrder(o order) {
	ctx := workflow.WithActivityOptions(r.ctx, activityOptions(10*time.Second, 24*time.Hour, o.String()))
	r.detach(ctx, "write down an order: "+o.kind, "", do.RecordOrder, r.orderInput(o, time.Time{}))
}

func (r *conversationRun) orderInput(o order, until time.Time) activities.RecordOrderInput {
	return activities.RecordOrderInput{Conversation: r.in.Conversation, ID: o.id, Kind: o.kind, By: o.By, At: r.now(),
		Until: until}
}

func (o order) String() string { return o.kind + ", ordered by " + o.By }
