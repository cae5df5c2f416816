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

// Question is exactly what one model is asked.
type Question struct {
	llm.Request
	mind     *Mind
	agent    Agent
	scope    chat.Scope // what it is about, for the account
	decision string
}

func (m *Mind) question(a Agent, s chat.Scope, r llm.Request) Question {
	return Question{Request: a.request(r), mind: m, agent: a, scope: s}
}

// For is the question with the key of the decision that it is asked for.
func (q Question) For(decision string) Question {
	q.decision = decision
	return q
}

// Ask makes one attempt, and writes down what it cost, however it ended.
func (q Question) Ask(ctx context.Context) (llm.Response, error) {
	if q.decision != "" {
		q.ClientRequestID = llm.NewClientRequestID(q.decision)
	}
	began := q.mind.Clock()
	answer, err := q.agent.ask(ctx, q.Request)
	q.mind.account(ctx, q, answer, err, began)
	return answer, err
}

// accounting is how long it may take to write a call down.
const accounting = 5 * time.Second

// account writes a call down. It was made, and perhaps paid for, also where nobody
// waits for its answer any more; and its answer is worth more than the account.
func (m *Mind) account(ctx context.Context, q Question, answer llm.Response, failure error, began time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), accounting)
	defer cancel()
	ended := m.Clock()
	call := store.Call{
		Scope: q.scope, Purpose: q.Purpose, Provider: string(q.agent.Provider), Model: cmp.Or(answer.Model, q.Model),
		TokensIn: answer.Usage.Input, TokensOut: answer.Usage.Output, Latency: ended.Sub(began),
		Error: llm.KindOf(failure), Decision: q.decision, Ended: ended,
	}
	if err := m.Store.PutCall(ctx, call); err != nil {
		about := slog.String("conversation", chat.Conversation(q.scope).ID())
		if q.Purpose == llm.PurposeMemory {
			about = slog.String("scope", q.scope.String())
		}
		m.Logger.Error("a call of a model is not written down", about, "purpose", q.Purpose, "model", call.Model, "error", err)
	}
}
