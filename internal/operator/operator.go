// Package operator is what people who run the bot do to conversations from outside,
// and see of them: an order goes to a conversation's workflow as an update, where a
// conversation stands is the answer to a query, and which there are is what Temporal
// lists. Who may do so is decided before.
package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
	"myao/internal/temporal"
)

// Operator reaches the conversations. All fields are required.
type Operator struct {
	Client client.Client
	Store  *store.Store
	// Attributes reports whether the server knows our search attributes.
	Attributes func() bool
}

var (
	// ErrNoWorker is returned when no worker answered within the context's time. What was
	// ordered may yet be carried out, by the next one that comes.
	ErrNoWorker = errors.New("no worker answers")
	// ErrUnwritable comes with ErrNoWorker where the database takes no writes, either, without
	// which a worker carries nothing out.
	ErrUnwritable = errors.New("the database takes no writes")
	// ErrNoServer is returned when Temporal did not answer within the context's time, or
	// could not be reached: then with a *serviceerror.Unavailable, which says why.
	ErrNoServer = errors.New("temporal does not answer")
)

// Refused is an order that makes no sense as the conversation stands: nothing was done.
type Refused struct {
	// Text says why, for people.
	Text string
}

func (r *Refused) Error() string { return r.Text }

// Open is an Operator for a program that is soon over: the server is asked once whether
// it knows our search attributes.
func Open(ctx context.Context, c client.Client, namespace string, db *store.Store) (*Operator, error) {
	known := false
	o := &Operator{Client: c, Store: db, Attributes: func() bool { return known }}
	var err error
	if known, err = temporal.KnowsAttributes(ctx, c, namespace); err != nil {
		return nil, o.classify(ctx, err)
	}
	return o, nil
}

// Order has a conversation carry out an update (conversation.UpdateMute and so on), and
// returns when that is done. A conversation that does not run is started for it, and ends
// by itself. The id names the order: what is sent again under its id is carried out once;
// "" is a new one. It returns a *Refused, a *PausedError, ErrNoWorker or ErrNoServer.
func (o *Operator) Order(ctx context.Context, c chat.Conversation, update string, order conversation.Order, id string) error {
	if id == "" {
		id = uuid.NewString()
	}
	known, err := o.Store.Channels(ctx, c.Team, []string{c.Channel})
	if err != nil {
		return err
	}
	start, in := temporal.StartOptions(c, known[c.Channel].Name, conversation.Idle, o.Attributes())
	start.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	for try := 1; ; try++ {
		err := o.order(ctx, start, in, client.UpdateWorkflowOptions{
			UpdateID: id, UpdateName: update, Args: []any{order}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if _, ok := errors.AsType[*serviceerror.NotFound](err); ok && try < 3 {
			continue // the run ended before it was heard; the next one hears it
		}
		if _, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
			if paused := o.paused(ctx, c); paused != nil {
				return paused
			}
		}
		if err != nil {
			return o.classify(ctx, fmt.Errorf("%s: %w", update, err))
		}
		return nil
	}
}

func (o *Operator) order(ctx context.Context, start client.StartWorkflowOptions, in conversation.Input, update client.UpdateWorkflowOptions) error {
	handle, err := o.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: o.Client.NewWithStartWorkflowOperation(start, conversation.WorkflowType, in),
		UpdateOptions:          update,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// classify tells what people can do something about from the rest.
func (o *Operator) classify(ctx context.Context, err error) error {
	var (
		said        *sdk.ApplicationError
		late        *client.WorkflowUpdateServiceTimeoutOrCanceledError
		unavailable *serviceerror.Unavailable
	)
	switch {
	case errors.As(err, &said) && said.Type() == conversation.Refused:
		return &Refused{Text: said.Message()}
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.As(err, &unavailable):
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	case errors.As(err, &late), unanswered(err), errors.Is(err, context.DeadlineExceeded):
		if !o.serverAnswers(ctx) {
			return fmt.Errorf("%w: %w", ErrNoServer, err)
		}
		if why := o.unwritable(ctx); why != nil {
			return fmt.Errorf("%w, and %w (%w): %w", ErrNoWorker, ErrUnwritable, why, err)
		}
		return fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	return err
}

// serverAnswers reports whether the server is there at all, once the context's time is up.
func (o *Operator) serverAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, err := o.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err == nil
}

// unwritable is why the database takes no writes, or nil, once the context's time is up.
func (o *Operator) unwritable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return o.Store.Writable(ctx)
}
