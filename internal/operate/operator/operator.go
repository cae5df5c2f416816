// Package operator is what the bot's operators see and do from outside. An order is an update of a
// conversation's workflow, a conversation's state is the answer to a query, and the list of
// conversations comes from Temporal. Permissions are checked elsewhere.
package operator

import (
	"cmp"
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
	"myao/internal/runtime/required"
	"myao/internal/runtime/temporal"
	"myao/internal/store"
)

// Operator talks to conversations. Create one with New, or with Open in a short-lived program.
type Operator struct {
	Client client.Client
	Store  *store.Store
	// Attributes reports whether the server knows our search attributes.
	Attributes func() bool
	// FairByWorkspace has the server balance workspaces, and not channels, as temporal.Sender does.
	FairByWorkspace bool
	// reachTimeout bounds each check of what an unanswered order needs; 0 means 2 seconds.
	reachTimeout time.Duration
}

// New returns an operator that has all it needs. It panics with the name of a field that is missing.
func New(o *Operator) *Operator { return required.Fields(o) }

const defaultReachTimeout = 2 * time.Second

var (
	// ErrNoWorker is returned when no worker answered within the context's time. The next worker
	// may still carry the order out.
	ErrNoWorker = errors.New("no worker answers")
	// ErrUnwritable comes with ErrNoWorker if the database takes no writes, without which a worker
	// can do nothing.
	ErrUnwritable = errors.New("the database takes no writes")
	// ErrNoServer is returned when Temporal did not answer within the context's time, or could not
	// be reached. In the second case it wraps a *serviceerror.Unavailable with the reason.
	ErrNoServer = errors.New("temporal does not answer")
)

// Refused is returned for an order that makes no sense in the conversation's state: nothing was
// done.
type Refused struct {
	// Text says why, for people.
	Text string
	// Phase is the conversation's phase if nothing waits in it; empty for other reasons.
	Phase conversation.Phase
}

func (r *Refused) Error() string { return r.Text }

// Open is an Operator for a short-lived program: it asks the server once whether it knows our
// search attributes.
func Open(ctx context.Context, c client.Client, namespace string, db *store.Store) (*Operator, error) {
	known := false
	o := New(&Operator{Client: c, Store: db, Attributes: func() bool { return known }})
	var err error
	if known, err = temporal.KnowsAttributes(ctx, c, namespace); err != nil {
		return nil, o.classify(ctx, err)
	}
	return o, nil
}

// Order sends an update (conversation.UpdateMute and so on) to a conversation and waits until it is
// carried out. A conversation that does not run is started for it and ends automatically. id makes
// the order idempotent: repeated under the same id it is carried out once; "" means a new one. It
// returns a *Refused, a *PausedError, ErrNoWorker or ErrNoServer.
func (o *Operator) Order(ctx context.Context, c chat.Conversation, update string, order conversation.Order,
	id string) error {
	if id == "" {
		id = uuid.NewString()
	}
	known, err := o.Store.Channels(ctx, c.Team, []string{c.Channel})
	if err != nil {
		return err
	}
	start, in := temporal.StartOptions(c, known[c.Channel].Name, conversation.Idle, o.Attributes(),
		o.FairByWorkspace)
	start.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	for try := 1; ; try++ {
		err := o.order(ctx, start, in, client.UpdateWorkflowOptions{
			WorkflowID: c.ID(), // without it the payload of the order is not bound to the conversation
			UpdateID:   id, UpdateName: update, Args: []any{order}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if _, ok := errors.AsType[*serviceerror.NotFound](err); ok && try < 3 {
			continue // the run ended before it received the update; the next one gets it
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

func (o *Operator) order(ctx context.Context, start client.StartWorkflowOptions, in conversation.Input,
	update client.UpdateWorkflowOptions) error {
	handle, err := o.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: o.Client.NewWithStartWorkflowOperation(start, conversation.WorkflowType, in),
		UpdateOptions:          update,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// classify turns errors that people can act on into this package's errors.
func (o *Operator) classify(ctx context.Context, err error) error {
	var (
		said        *sdk.ApplicationError
		late        *client.WorkflowUpdateServiceTimeoutOrCanceledError
		unavailable *serviceerror.Unavailable
	)
	switch {
	case errors.As(err, &said) && said.Type() == conversation.Refused:
		refused := &Refused{Text: said.Message()}
		if said.HasDetails() {
			_ = said.Details(&refused.Phase) // without it the order is refused all the same
		}
		return refused
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

// serverAnswers reports whether the server answers at all, after the context's time is up.
func (o *Operator) serverAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(o.reachTimeout, defaultReachTimeout))
	defer cancel()
	_, err := o.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err == nil
}

// unwritable is why the database takes no writes, or nil, after the context's time is up.
func (o *Operator) unwritable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(o.reachTimeout, defaultReachTimeout))
	defer cancel()
	return o.Store.Writable(ctx)
}

// Introduce begins to post the introduction of the bot that stands in the outbox as reply. While that is
// under way, it changes nothing. It returns ErrNoServer like Order.
func (o *Operator) Introduce(ctx context.Context, c chat.Conversation, reply string) error {
	_, err := o.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "introduce/" + c.Team + "/" + c.Channel, TaskQueue: conversation.TaskQueue,
		StaticSummary:            "introduces the bot in a channel",
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, temporal.IntroductionWorkflow, map[string]string{"reply": reply})
	if err != nil {
		return o.classify(ctx, fmt.Errorf("introduce: %w", err))
	}
	return nil
}

// ForgetPerson begins to take a person out of the database, at their own order. A workflow goes on
// with it and tells them at the end. While it runs, another order changes nothing. It returns
// ErrNoServer like Order.
func (o *Operator) ForgetPerson(ctx context.Context, p chat.Person) error {
	_, err := o.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "forget-person/" + store.PersonKey(p), TaskQueue: conversation.TaskQueue,
		StaticSummary:            "takes a person out of the database",
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, temporal.ForgetPersonWorkflow, p)
	if err != nil {
		return o.classify(ctx, fmt.Errorf("forget a person: %w", err))
	}
	return nil
}
