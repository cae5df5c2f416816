package mind

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/store"
)

// call makes one call of a model, and writes it down however it ends.
func (m *Mind) call(ctx context.Context, q Question) (llm.Response, error) {
	if q.decision != "" {
		q.ClientRequestID = llm.NewClientRequestID(q.decision)
	}
	began := m.Clock()
	answer, err := q.agent.ask(ctx, q.Request)
	m.record(ctx, q, answer, err, began)
	return answer, err
}

// recordCallWithin is how long it may take to write a call down.
const recordCallWithin = 5 * time.Second

// record writes a call down, even if the caller's context has ended: the call was made and may
// have been paid for. An answer is returned even if its call cannot be written down.
func (m *Mind) record(ctx context.Context, q Question, answer llm.Response, failure error, began time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordCallWithin)
	defer cancel()
	ended := m.Clock()
	call := store.Call{
		Scope: q.scope, Purpose: q.Purpose, Provider: string(q.agent.Provider), Model: cmp.Or(answer.Model, q.Model),
		TokensIn: answer.Usage.Input, TokensOut: answer.Usage.Output, Latency: ended.Sub(began),
		Error: llm.KindOf(failure), Decision: q.decision, Ended: ended,
	}
	if err := m.Store.SaveCall(ctx, call); err != nil {
		about := slog.String("conversation", chat.Conversation(q.scope).ID())
		if q.Purpose == llm.PurposeMemory {
			about = slog.String("scope", q.scope.String())
		}
		m.Logger.ErrorContext(ctx, "a call of a model is not written down", about, "purpose", q.Purpose, "model", call.Model, "error", err)
	}
}
