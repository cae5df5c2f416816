package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/choice"
	"myao/internal/runtime/failpoint"
	"myao/internal/store"
)

// ComposeInput asks for the text of a reply.
type ComposeInput struct {
	Task
	Addressed bool `json:"addressed,omitempty"`
	// Notice asks for a note that no model writes: about a Stop, or that the bot cannot answer.
	Notice bool              `json:"notice,omitempty"`
	Stop   conversation.Stop `json:"stop,omitempty"`
	// Ordered is set if an operator ordered the reply.
	Ordered bool `json:"ordered,omitempty"`
	// Oldest is the ts of the oldest message that the reply is about. The reply is outdated if
	// somebody answered in a thread under it, or under a later message, since the judgment.
	// Empty means that no reply in a thread outdates this one.
	Oldest string `json:"oldest,omitempty"`
	// Round counts the rounds of looking things up that came before.
	Round int `json:"round,omitempty"`
	// Until is the ts of the newest message of the same person that the reply answers as well.
	Until string `json:"until,omitempty"`
}

// ReplyOutput says how composing or posting a reply ended.
type ReplyOutput struct {
	Result conversation.Result `json:"result"`
	// By is the ts of the message that outdated a reply before it was composed.
	By string `json:"by,omitempty"`
	// Steps are what is to be looked up before the reply is written.
	Steps []conversation.Step `json:"steps,omitempty"`
	// Opened are the proposals under the reply that was posted.
	Opened []conversation.OpenProposal `json:"opened,omitempty"`
	// Promised are the promises that it confirms.
	Promised []conversation.OpenPromise `json:"promised,omitempty"`
}

// Compose reads the context, has a model write a reply, and puts that into the outbox. If the model asks
// for tools instead, that is written down, and the result is Looking. A reply that is being posted stays
// as it is. So does one that this decision has composed before, and what the model asked for in this
// round: it is not paid twice. A judged reply may get a second look first.
func (a *Activities) Compose(ctx context.Context, in ComposeInput) (ReplyOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.composeReply(ctx, in)
	a.composed(ctx, in, out.Result, err)
	if err != nil {
		return ReplyOutput{}, ended(ctx, classify(fmt.Errorf("compose: %w", err)))
	}
	return out, nil
}

func (a *Activities) composeReply(ctx context.Context, in ComposeInput) (ReplyOutput, error) {
	k, err := a.readForReply(ctx, in)
	if err != nil {
		return ReplyOutput{}, err
	}
	plan := in.whatToWrite(k, a.Agents.Reactions())
	if plan.stops {
		if err := a.Store.StopThread(ctx, in.Conversation, in.Trigger); err != nil {
			return ReplyOutput{}, err
		}
	}
	w := written{saw: k.read}
	switch plan.write {
	case writeNothing:
		return ReplyOutput{Result: plan.result, By: plan.by, Steps: stepsOf(plan.steps)}, nil
	case writeSilence:
		if err := a.Store.Decide(ctx, plan.decision); err != nil {
			return ReplyOutput{}, err
		}
		return ReplyOutput{Result: conversation.Silenced},
			a.Store.Settle(ctx, plan.decision.Key, conversation.Silent, plan.decision.Rule)
	case writeOccasion:
		w.text = a.plainly(k.subject)
	case writeNotice:
		w.text = a.Agents.In(k.Settings.Language).Notice(plan.notice)
	case writeReaction:
		w.reaction, w.text = plan.reaction, chat.EmojiCharacter(plan.reaction)
	case writeAnswer:
		a.showThinking(in)
		if w, err = a.writeReply(ctx, in, k, &plan.decision); err != nil {
			return ReplyOutput{}, err
		}
		if w.looking {
			return ReplyOutput{Result: conversation.Looking, Steps: w.steps}, nil
		}
		if k.promise != nil {
			w.text = choice.KeptText(a.words(), *k.promise, w.text, a.Clock())
		}
		if wanted, err := a.stillWanted(ctx, in, k.Decision, w.text, w.rounds); err != nil || !wanted {
			return ReplyOutput{Result: conversation.Silenced}, err
		}
	}
	failpoint.Here("compose: model answered")
	return ReplyOutput{Result: conversation.Done}, a.saveReply(ctx, in, k, w, plan.decision)
}

// saveReply puts a reply into the outbox. It keeps a decision that is there: that of a judged reply.
func (a *Activities) saveReply(ctx context.Context, in ComposeInput, k knownReply, w written, d store.Decision) error {
	if k.promise != nil {
		_, w.proposes = choice.AskWhetherWanted(a.words(), *k.promise, in.Occasion.Number)
	}
	parts := a.parts(in.Task, w.text, w.saw, cmp.Or(w.read, k.read))
	last := &parts[len(parts)-1]
	last.Proposes, last.Feedback, last.Reaction = w.proposes, w.feedback, w.reaction
	if err := a.Store.Compose(ctx, parts, d); err != nil && !errors.Is(err, store.ErrUnderWay) {
		return err
	}
	failpoint.Here("compose: written")
	return nil
}

// channelWait is how long Slack may take to say who can read a channel.
const channelWait = 2 * time.Second
