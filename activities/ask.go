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
// reason for silence; but what it has answered is not paid for without end.
const (
	failuresAtMost = 45
	failingAtMost  = 9 * time.Minute // of calls that nobody answers five come to it
	// emptyAtMost is how often an empty answer is taken for an accident. Each costs
	// what a full one does.
	emptyAtMost = 3
	// answersAtMost is how often an answer may be lost again, since it cannot be kept.
	answersAtMost = 10
)

// ask puts a question of a task to its model. It leaves the attempt time to write down how
// that ended, and makes one failure too many a final error. Where there was an attempt
// before, nothing is asked that could not be accounted for.
func (a *Activities) ask(ctx context.Context, t Task, q mind.Question) (llm.Response, error) {
	if activity.IsActivity(ctx) && activity.GetInfo(ctx).Attempt > 1 {
		if err := a.Store.TakesCalls(ctx); err != nil {
			return llm.Response{}, err
		}
		tallies, err := a.Store.Tallies(ctx, t.decision(), q.Purpose)
		if err != nil {
			return llm.Response{}, err
		}
		if exhausted(tallies) {
			return llm.Response{}, final(errors.New("the model has failed too often, or its answers could not be kept"))
		}
	}
	call, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		call, cancel = context.WithDeadline(ctx, end.Add(-writing))
	}
	defer cancel()
	answer, err := q.For(t.decision()).Ask(call)
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok || !failure.Retryable() {
		return answer, err
	}
	if tallies, unknown := a.Store.Tallies(ctx, t.decision(), q.Purpose); unknown == nil && exhausted(tallies) {
		err = final(err)
	}
	return answer, err
}

// exhausted reports whether a model was asked often enough, by how that ended. What was
// called off is no failure of the model.
func exhausted(tallies []store.Tally) bool {
	failures, took := 0, time.Duration(0)
	for _, of := range tallies {
		switch {
		case of.Error == "" && of.Calls >= answersAtMost, of.Error == llm.KindOf(llm.ErrEmpty) && of.Calls >= emptyAtMost:
			return true
		case of.Error != "" && of.Error != llm.KindOf(context.Canceled):
			failures, took = failures+of.Calls, took+of.Took
		}
	}
	return failures >= failuresAtMost || took >= failingAtMost
}

// tired makes one empty answer too many a final error, where no decision is at stake by
// which failures could be counted.
func tired(ctx context.Context, err error) error {
	if errors.Is(err, llm.ErrEmpty) && activity.GetInfo(ctx).Attempt >= emptyAtMost {
		return final(err)
	}
	return err
}
