package agents

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
)

// call makes one call of a model and saves how it ended.
func (ag *Agents) call(ctx context.Context, q Question) (llm.Response, error) {
	if q.decision != "" {
		q.ClientRequestID = llm.NewClientRequestID(q.decision)
	}
	began := ag.Clock()
	answer, err := q.agent.ask(ctx, q.Request)
	ag.saveCall(ctx, q, answer, err, began)
	return answer, err
}

// saveCallTimeout bounds how long saving a call may take.
const saveCallTimeout = 5 * time.Second

// saveCall saves a call even if the caller's context has ended, because the call may have been
// paid for. If that fails it only logs: the answer is worth more than its record.
func (ag *Agents) saveCall(ctx context.Context, q Question, answer llm.Response, failure error, began time.Time) {
	ctx, cancel := timeout.After(context.WithoutCancel(ctx), saveCallTimeout)
	defer cancel()
	ended := ag.Clock()
	call := store.Call{
		Scope: q.scope, Purpose: q.Purpose, Provider: string(q.agent.Provider), Model: cmp.Or(answer.Model, q.Model),
		TokensIn: answer.Usage.Input, TokensCached: answer.Usage.Cached, TokensOut: answer.Usage.Output,
		Latency: ended.Sub(began),
		Error:   llm.KindOf(failure), Decision: q.decision, Ended: ended,
	}
	if err := ag.Store.SaveCall(ctx, call); err != nil {
		about := slog.String("conversation", chat.Conversation(q.scope).ID())
		if q.Purpose == llm.PurposeMemory {
			about = slog.String("scope", q.scope.String())
		}
		ag.Logger.ErrorContext(ctx, "model call not saved", about, "purpose", q.Purpose, "model", call.Model, "error",
			err)
	}
}
