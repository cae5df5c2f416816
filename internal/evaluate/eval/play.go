package eval

import (
	"context"
	"errors"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

// ask decides about what is pending in a conversation, and writes it into the row. A failure of the
// model is in the row, any other is returned.
func (sc *scene) ask(ctx context.Context, state *conversation.State, row *Row) (agents.Decision, error) {
	c, pending := state.Conversation, state.PendingTS()
	k, err := sc.readKnown(ctx, c, pending)
	if err != nil {
		return agents.Decision{}, err
	}
	d, err := sc.agents.Decide(ctx, c, pending, state.Policy.MaxDelay, k, agents.Attempt{})
	if err != nil {
		if !ofModel(ctx, err) {
			return d, err
		}
		row.Rule, row.Error = "", err.Error()
		return d, errNoVerdict
	}
	row.Rule, row.Error = string(d.Rule), ""
	if d.Asked != nil {
		row.Verdict = newVerdict(d.Asked.Verdict)
	}
	return d, nil
}

// errNoVerdict says that a model was asked in vain.
var errNoVerdict = errors.New("the model gave no verdict")

func (sc *scene) readKnown(ctx context.Context, c chat.Conversation, pending []string) (agents.Known, error) {
	return agents.ReadKnown(ctx, sc.store, sc.directory, sc.now,
		store.FactsRequest{Conversation: c, Trigger: pending[len(pending)-1], Pending: pending})
}

// addressed answers whoever addressed the bot, unless a rule silences it.
func (sc *scene) addressed(ctx context.Context, state *conversation.State, row *Row) error {
	trigger := state.Answering[len(state.Answering)-1].TS
	k, err := sc.readKnown(ctx, state.Conversation, []string{trigger})
	if err != nil {
		return err
	}
	rule := k.ForRules(sc.own.UserID).AnswerRule()
	if row.Spoke, row.Rule = rule == conversation.NoRule, string(rule); row.Spoke {
		row.Rule = ruleAddressed
	}
	return nil
}

// What decides beside the rules of package conversation.
const (
	ruleAddressed   = "addressed"
	ruleNothingLeft = string(conversation.RuleNothingLeft)
)

// judge tells the events until JudgeAt and asks then, whatever the quiet time.
func (sc *scene) judge(ctx context.Context, row *Row) error {
	until := began.Add(time.Duration(sc.JudgeAt * float64(time.Second)))
	for i, e := range sc.Events {
		if e.At > sc.JudgeAt {
			break
		}
		if _, err := sc.tell(ctx, i); err != nil {
			return err
		}
	}
	if until.After(sc.now) {
		sc.now = until
	}
	newest := sc.messages[sc.newest]
	here := newest.Conversation()
	for _, c := range []chat.Conversation{here, {Team: here.Team, Channel: here.Channel, Thread: newest.TS}} {
		if state := sc.states[c]; state != nil && len(state.Answering) > 0 {
			return sc.addressed(ctx, state, row)
		}
	}
	state := sc.states[here]
	if state == nil || len(state.Pending) == 0 {
		row.Rule = ruleNothingLeft
		return nil
	}
	d, err := sc.ask(ctx, state, row)
	if errors.Is(err, errNoVerdict) {
		return nil
	}
	row.Spoke = d.Verdict.ShouldRespond
	return err
}

// play lets the state machine decide when to ask and when to post, until it posts or nothing waits.
func (sc *scene) play(ctx context.Context, row *Row) error {
	row.Rule = ruleNothingLeft // until something else decides
	for i := 0; ; {
		var outcomes []outcome
		due := sc.nextDue()
		switch {
		case i < len(sc.Events) && (due == nil || !sc.at(i).After(due.NextTick())):
			var err error
			if outcomes, err = sc.tell(ctx, i); err != nil {
				return err
			}
			i++
		case due != nil:
			sc.now = due.NextTick()
			outcomes = []outcome{{due, due.Apply(conversation.Tick{}, sc.now)}}
		default:
			return nil
		}
		for _, o := range outcomes {
			if err := sc.execute(ctx, o, row); err != nil || row.At != nil {
				return err
			}
		}
	}
}

// nextDue is the conversation with the earliest deadline; nil without one.
func (sc *scene) nextDue() *conversation.State {
	var first *conversation.State
	for _, c := range sc.known {
		state := sc.states[c]
		if state.Phase.Lasts() && state.Phase != conversation.Idle &&
			(first == nil || state.NextTick().Before(first.NextTick())) {
			first = state
		}
	}
	return first
}

// execute carries out effects and those that follow at once: a judgment takes no time. A reply is at
// row.At.
func (sc *scene) execute(ctx context.Context, o outcome, row *Row) error {
	for len(o.effects) > 0 {
		effect := o.effects[0]
		o.effects = o.effects[1:]
		switch effect := effect.(type) {
		case conversation.Judge:
			result := conversation.Judged{Epoch: effect.Epoch}
			d, err := sc.ask(ctx, o.state, row)
			switch {
			case errors.Is(err, errNoVerdict):
				result.Failed = true
			case err != nil:
				return err
			default:
				result.Verdict, result.Gone = d.Verdict, d.Rule == conversation.RuleNothingLeft
			}
			o.effects = append(o.effects, o.state.Apply(result, sc.now)...)
		case conversation.Compose:
			if row.Spoke = true; effect.Addressed {
				if err := sc.addressed(ctx, o.state, row); err != nil {
					return err
				}
			}
			if !row.Spoke {
				o.effects = append(o.effects, o.state.Apply(conversation.Composed{Epoch: effect.Epoch,
					Result: conversation.Silenced}, sc.now)...)
				continue
			}
			at := sc.elapsed()
			if row.At, row.Timing = &at, sc.timing(at); row.Timing == Late {
				row.LateSeconds = at - sc.Window[1]
			}
			return nil
		}
	}
	return nil
}

// timing compares the time of a post with the window.
func (sc *scene) timing(at float64) Timing {
	switch {
	case sc.Window == nil:
		return ""
	case at < sc.Window[0]:
		return Early
	case at > sc.Window[1]:
		return Late
	}
	return InTime
}
