package mind

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/prompt"
	"myao/internal/store"
)

// Question is exactly what one model is asked.
type Question struct {
	llm.Request
	mind     *Mind
	agent    Agent
	scope    chat.Scope // what it is about, for the account
	decision string
	// within is the same question with so many characters of what was said; nil where that is
	// not for it to choose.
	within func(room int) (llm.Request, error)
}

// rooms are how many characters of what was said are shown, one after the other, where a model's
// window is smaller than was thought.
var rooms = []int{40_000, 12_000, 4_000}

// fitting is a question that can be put with less of what was said.
func (m *Mind) fitting(a Agent, s chat.Scope, within func(room int) (llm.Request, error)) (Question, error) {
	r, err := within(0)
	if err != nil {
		return Question{}, &Unaskable{err}
	}
	q := m.question(a, s, r)
	q.within = within
	return q, nil
}

func (m *Mind) question(a Agent, s chat.Scope, r llm.Request) Question {
	return Question{Request: a.request(r), mind: m, agent: a, scope: s}
}

// For is the question with the key of the decision that it is asked for.
func (q Question) For(decision string) Question {
	q.decision = decision
	return q
}

// Models that think before they answer may think up to their limit of tokens, and answer nothing
// or the beginning of something.
const (
	// muchThought is the part of the limit, one in so many, from which on thoughts, and not the
	// answer, are what it was too small for.
	muchThought = 4
	// roomier is how many times as many tokens such a model gets, when it is asked once more.
	roomier = 4
	// roomAtMost is as many as it gets by that: no model that thinks is limited to fewer.
	roomAtMost = 32_768
)

// WithRoom is the question with more tokens for its answer, or as it is where it has many.
func (q Question) WithRoom() Question {
	if 0 < q.MaxOutputTokens && q.MaxOutputTokens < roomAtMost {
		q.MaxOutputTokens = min(roomier*q.MaxOutputTokens, roomAtMost)
	}
	return q
}

// thinker is a model that thinks for long about what it is asked for one purpose.
type thinker struct {
	provider       config.Provider
	model, purpose string
}

// Ask puts the question, and writes down what that cost, however it ended. If thoughts have left
// too little room for the answer, they would do so as often as it is put: it is put once
// more, with room, and so is from then on at once what this model is asked for the same purpose. The
// usage is that of both. Where the second time fails, the beginning is the answer.
func (q Question) Ask(ctx context.Context) (llm.Response, error) {
	more, who := q.WithRoom(), thinker{q.agent.Provider, q.Model, q.Purpose}
	if _, known := q.mind.thinkers.Load(who); known {
		return more.fitted(ctx)
	}
	answer, err := q.fitted(ctx)
	if !errors.Is(err, llm.ErrCut) || more.MaxOutputTokens <= q.MaxOutputTokens {
		return answer, err
	}
	begun := prompt.Visible(answer.Text)
	if begun && muchThought*answer.Usage.Thoughts < q.MaxOutputTokens {
		return answer, err
	}
	q.mind.thinkers.Store(who, true)
	whole, failure := more.fitted(ctx)
	used := answer.Usage.Plus(whole.Usage)
	if !begun || failure == nil || errors.Is(failure, llm.ErrCut) {
		answer, err = whole, failure
	}
	answer.Usage = used
	return answer, err
}

// fitted puts the question, and where it is longer than the model's window, which costs
// nothing, with less of what was said.
func (q Question) fitted(ctx context.Context) (llm.Response, error) {
	answer, err := q.attempt(ctx)
	for _, room := range rooms {
		var refused *llm.Error
		if q.within == nil || !errors.As(err, &refused) || !refused.TooLong {
			break
		}
		less, failure := q.within(room)
		if failure != nil || less.System == q.System {
			continue
		}
		q.mind.Logger.WarnContext(ctx, "the prompt is longer than the model's window: it is asked with fewer messages",
			"conversation", chat.Conversation(q.scope).ID(), "purpose", q.Purpose, "model", q.Model, "bytes", len(q.System), "then", len(less.System))
		q.System, q.Prompt = less.System, less.Prompt
		answer, err = q.attempt(ctx)
	}
	return answer, err
}

func (q Question) attempt(ctx context.Context) (llm.Response, error) {
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
		m.Logger.ErrorContext(ctx, "a call of a model is not written down", about, "purpose", q.Purpose, "model", call.Model, "error", err)
	}
}
