package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"myao/internal/llm"
	"myao/internal/mind"
	"myao/internal/store"
)

// A model is asked again until it has failed so often for one decision, or so long: about
// ten minutes with the pauses between, or longer where its provider asks for longer ones.
// What else fails meanwhile, the database or Slack, is not the model's failure, and no
// reason for silence.
const (
	failuresAtMost = 45
	failingAtMost  = 9 * time.Minute // of calls that nobody answers five come to it
	// emptyAtMost is how often an empty answer is taken for an accident. Each costs
	// what a full one does.
	emptyAtMost = 3
)

// ask puts a question of a task to its model. It leaves the attempt time to write down how
// that ended, and makes one failure too many a final error.
func (a *Activities) ask(ctx context.Context, t Task, q mind.Question) (llm.Response, error) {
	call, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		call, cancel = context.WithDeadline(ctx, end.Add(-writing))
	}
	defer cancel()
	answer, err := q.For(t.decision()).Ask(call)
	var failure *llm.Error
	if !errors.As(err, &failure) || !failure.Retryable() {
		return answer, err
	}
	failures, unknown := a.Store.Failures(ctx, t.decision(), q.Purpose)
	if unknown == nil && exhausted(failures) {
		err = final(err)
	}
	return answer, err
}

// exhausted reports whether a model has failed often enough. What was called off is no
// failure of the model.
func exhausted(failures []store.Failure) bool {
	calls, took := 0, time.Duration(0)
	for _, f := range failures {
		switch {
		case f.Kind == llm.KindOf(context.Canceled):
			continue
		case f.Kind == llm.KindOf(llm.ErrEmpty) && f.Calls >= emptyAtMost:
			return true
		}
		calls, took = calls+f.Calls, took+f.Took
	}
	return calls >= failuresAtMost || took >= failingAtMost
}

// tired makes one empty answer too many a final error, where no decision is at stake by
// which failures could be counted.
func tired(ctx context.Context, err error) error {
	if errors.Is(err, llm.ErrEmpty) && activity.GetInfo(ctx).Attempt >= emptyAtMost {
		return final(err)
	}
	return err
}
