package operator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"myao/internal/chat"
	"myao/internal/conversation"
)

const (
	// dropConcurrency is how many conversations are told to drop at the same time.
	dropConcurrency = 16
	// maxUnanswered is how many conversations in a row may fail to answer before the others are not
	// tried any more.
	maxUnanswered = 2 * dropConcurrency
	// dropTimeout is how long a conversation gets to drop where nobody says.
	dropTimeout = 2 * time.Second
)

// errUntried is the failure of a conversation that was left alone after others had not answered.
var errUntried = errors.New("not tried, because others did not answer")

// DropResult is what became of an order to drop in one conversation.
type DropResult struct {
	Conversation chat.Conversation
	// Dropped is set if something was dropped. Otherwise nothing waited, unless Err is set.
	Dropped bool
	// Err is why what waits there was not dropped: an *operator.Refused if a reply is being posted,
	// a *PausedError, ErrNoWorker or ErrNoServer.
	Err error
}

// Open is the conversations of a workspace that run, paused ones included, in order of their ids. A
// conversation that began less than a second ago may be missing.
func (o *Operator) Open(ctx context.Context, team string) ([]chat.Conversation, error) {
	var all []chat.Conversation
	for _, status := range []string{"Running", "Paused"} {
		found, err := o.list(ctx, ofStatus(status), Filter{Team: team}, math.MaxInt)
		if _, older := errors.AsType[*serviceerror.InvalidArgument](err); older && status == "Paused" {
			break // an older server, without pausing
		}
		if err != nil {
			return nil, o.classify(ctx, err)
		}
		for _, l := range found {
			all = append(all, l.Conversation)
		}
	}
	slices.SortFunc(all, func(a, b chat.Conversation) int { return strings.Compare(a.ID(), b.ID()) })
	return slices.Compact(all), nil
}

// DropInChannel drops what waits in a channel and its threads, except replies that are being posted. id
// makes that idempotent. It returns the first error.
func (o *Operator) DropInChannel(ctx context.Context, team, channel, by, id string) error {
	open, err := o.Open(ctx, team)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(c chat.Conversation) bool { return c.Channel != channel })
	o.DropIn(ctx, open, by, id, dropTimeout, func(r DropResult) {
		if _, posting := errors.AsType[*Refused](r.Err); r.Err != nil && !posting && err == nil {
			err = fmt.Errorf("%s: %w", r.Conversation.ID(), r.Err)
		}
	})
	return err
}

// DropIn drops what waits in some conversations and reports each result once, one at a time. Each
// may take the given time to answer. No conversation is started for it. id makes the orders
// idempotent, as in Order. Once many in a row did not answer, the rest fails untried.
func (o *Operator) DropIn(ctx context.Context, conversations []chat.Conversation, by, id string, each time.Duration,
	report func(DropResult)) {
	var mu sync.Mutex
	unanswered := 0
	var group errgroup.Group
	group.SetLimit(dropConcurrency)
	for _, c := range conversations {
		group.Go(func() error {
			mu.Lock()
			tired := unanswered >= maxUnanswered
			mu.Unlock()
			result := DropResult{Conversation: c, Err: errUntried}
			if !tired {
				result.Dropped, result.Err = o.drop(ctx, c, conversation.Order{By: by}, id+"/"+c.ID(), each)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(result.Err, ErrNoWorker), errors.Is(result.Err, ErrNoServer):
				unanswered++
			case !tired:
				unanswered = 0
			}
			report(result)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
}

func (o *Operator) drop(ctx context.Context, c chat.Conversation, order conversation.Order, id string,
	within time.Duration) (dropped bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	handle, err := o.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: c.ID(), UpdateID: id, UpdateName: conversation.UpdateDrop, Args: []any{order},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err == nil {
		return true, nil
	}
	if _, closed := errors.AsType[*serviceerror.NotFound](err); closed {
		return false, nil
	}
	if _, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		if paused := o.paused(ctx, c); paused != nil {
			return false, paused
		}
	}
	err = o.classify(ctx, fmt.Errorf("%s: %w", conversation.UpdateDrop, err))
	if refused, ok := errors.AsType[*Refused](err); ok && refused.Phase == conversation.Idle {
		return false, nil
	}
	return false, err
}
