package timeline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// timeline assembles the rows. It is pure.
func (r rows) timeline() Timeline {
	s := Timeline{Conversation: r.conversation, ChannelName: r.channel.Name, MessageTS: r.options.MessageTS,
		Earlier: r.earlier, Entries: []Entry{}}
	decisions := map[string]*Decision{}
	for _, d := range r.decisions {
		decisions[d.Key] = r.decision(d)
	}
	about := map[string]bool{} // the decisions about the message
	var last time.Time         // when the last of them was settled
	for _, m := range r.messages {
		message := r.message(m)
		why := r.explain(m)
		message.Explanation = why.note
		for _, d := range why.decisions {
			about[d.Key] = true
			if d.TriggerTS != m.TS {
				decisions[d.Key].With = append(decisions[d.Key].With, m.TS)
			}
			if settled := decisions[d.Key].Settled; settled.After(last) {
				last = settled
			}
		}
		s.Entries = append(s.Entries, Entry{At: m.Time(), Thread: m.ThreadTS, Message: &message})
	}
	one := r.options.MessageTS != ""
	for _, d := range r.decisions {
		ofPromise := d.Source == promiseSource && d.TriggerTS == r.options.MessageTS
		if !one || about[d.Key] || ofPromise {
			s.Entries = append(s.Entries, Entry{At: d.Decided(), Thread: threadOf(d.WorkflowID),
				Decision: decisions[d.Key]})
		}
	}
	for i, o := range slices.Concat(r.mutes, r.orders) {
		named := strings.Contains(" "+o.Subject+" ", " "+r.options.MessageTS+" ")
		if !one || named || o.Subject == "" && (last.IsZero() || !o.At.After(last)) {
			s.Entries = append(s.Entries, Entry{At: o.At, Thread: o.Scope.Thread, Order: &Order{o, i < len(r.mutes)}})
		}
	}
	slices.SortStableFunc(s.Entries, func(a, b Entry) int { return a.At.Compare(b.At) })
	return s
}

func threadOf(workflowID string) string {
	c, err := chat.ParseConversation(workflowID)
	if err != nil {
		return ""
	}
	return c.Thread
}

func (r rows) message(m store.StoredMessage) Message {
	message := Message{
		TS: m.TS, User: cmp.Or(m.UserID, m.BotID), Name: cmp.Or(m.Name, r.users[m.UserID].Name), Own: m.Own,
		Bot:    m.ByBot() && !m.Own,
		Edited: m.Revision, Deleted: m.Deleted,
	}
	if r.options.Text {
		message.Text = m.Text
	}
	for _, p := range r.changes {
		if p.TS == m.TS && r.isOwn(p.WorkflowID, m) {
			message.Changes = append(message.Changes, Change{Kind: string(p.Kind), Revision: p.Revision, By: p.By,
				Stored: p.Stored, Relayed: p.Relayed})
		}
	}
	return message
}

// isOwn reports whether a conversation is the message's own. A message that addresses the bot at a
// channel's top level is relayed to two conversations.
func (r rows) isOwn(workflowID string, m store.StoredMessage) bool {
	return workflowID == m.Conversation().ID()
}

func (r rows) decision(d store.Decision) *Decision {
	decision := &Decision{Decision: d, Signals: json.RawMessage(d.Signals)}
	decision.Model, decision.TokensIn, decision.TokensOut = "", 0, 0 // the calls have them
	if d.SettledUS != nil {
		decision.Settled = time.UnixMicro(*d.SettledUS).UTC()
	}
	if rule := conversation.Rule(d.OutcomeBy); d.Outcome == conversation.Silent && d.OutcomeBy != "" {
		decision.OutcomeReason = rule.Reason()
		if rule == conversation.RuleSilenced && r.mutedEverywhere(decision.Settled) {
			decision.OutcomeReason = conversation.ReasonMutedEverywhere
		}
	}
	for _, c := range r.calls {
		if c.Decision == d.Key {
			decision.Calls = append(decision.Calls, priced(c, r.options.Prices))
		}
	}
	for _, st := range r.steps {
		if st.Decision == d.Key {
			decision.Steps = append(decision.Steps, Step{
				Tool: st.Tool, Round: st.Round, State: st.State, Attempts: st.Attempts, Took: st.Took(), Size: st.Size,
				Failed: st.Failed, Proposal: r.proposal(st.ID), Promise: r.promise(st.ID),
			})
		}
	}
	if id, number, ok := keptPromise(d); ok {
		if decision.Promise = r.promise(id); decision.Promise != nil {
			decision.Promise.Number = number
		}
	}
	for _, p := range r.parts {
		if p.Decision == d.Key {
			part := Part{State: p.State, TS: p.SentTS, Attempts: p.Attempts, Error: p.Error, Reaction: p.Reaction}
			if c, err := chat.ParseConversation(d.WorkflowID); err == nil &&
				(p.Channel != c.Channel || p.Thread != c.Thread) {
				part.Channel, part.Thread = p.Channel, p.Thread
			}
			decision.Parts = append(decision.Parts, part)
		}
	}
	decision.Feedback = r.feedback(d.Key)
	for _, l := range r.labels {
		if l.Decision == d.Key {
			decision.Labels = append(decision.Labels, Label{l, l.At()})
		}
	}
	for _, o := range r.opinions {
		if o.Decision == d.Key {
			decision.Opinions = append(decision.Opinions, NewOpinion(o, r.options.Prices))
		}
	}
	if len(decision.Parts) > 0 && decision.Outcome == conversation.OutcomePosted {
		decision.OutcomeBy = "" // the reply's key, which means nothing to people
	}
	return decision
}

// NewOpinion is an opinion with its cost.
func NewOpinion(o store.Opinion, prices map[string]config.Price) Opinion {
	return Opinion{o, o.Given(), priced(store.Call{
		Purpose: "shadow", Model: o.Model, TokensIn: o.TokensIn, TokensOut: o.TokensOut,
		Latency: time.Duration(o.LatencyUS) * time.Microsecond, Error: o.Error,
	}, prices)}
}

// feedback is the votes about a decision's reply; nil if there are none.
func (r rows) feedback(decision string) *Feedback {
	var f Feedback
	for _, v := range r.votes {
		switch {
		case v.Decision != decision:
		case v.Value == store.VoteUp:
			f.Up++
		case v.Value == store.VoteDown:
			f.Down++
			if v.Reason != "" && r.options.Text {
				f.Reasons = append(f.Reasons, v.Reason)
			}
		}
	}
	if f.Up+f.Down == 0 {
		return nil
	}
	return &f
}

// proposal is what became of a step that was proposed; nil for any other.
func (r rows) proposal(step string) *Proposal {
	i := slices.IndexFunc(r.proposals, func(p store.Proposal) bool { return p.ID == step })
	if i < 0 {
		return nil
	}
	p := r.proposals[i]
	return &Proposal{
		ID: p.ID, Server: p.Server, State: p.State, Lapses: p.Lapses(), By: p.DecidedBy, Decided: instant(p.DecidedUS),
		Began: instant(p.BeganUS), Ended: instant(p.EndedUS),
	}
}

// promiseSource is the source of decisions about promises that are due.
const promiseSource = "promise"

// keptPromise is the promise that a decision is about, and which of its times that is.
func keptPromise(d store.Decision) (id string, number int, ok bool) {
	o := conversation.OccasionOf(d.Key)
	return o.Promise, o.Number, d.Source == promiseSource && o.Promise != ""
}

// promise is what has become of the promise with an id; nil if there is none.
func (r rows) promise(id string) *Promise {
	i := slices.IndexFunc(r.promises, func(p store.Promise) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	p := r.promises[i]
	return &Promise{
		ID: p.ID, State: p.State, AskedBy: p.Asker, Name: r.users[p.Asker].Name, Due: p.Due(), Every: p.Every,
		Number: p.Number, HeldUntil: p.Held(), By: p.EndedBy, Ended: p.Ended(),
	}
}

// instant is the zero time for 0.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// mutedEverywhere reports whether the bot was muted everywhere at a time, as far as the mutes tell.
func (r rows) mutedEverywhere(at time.Time) (muted bool) {
	for _, o := range r.mutes {
		if !o.At.After(at) {
			muted = o.Kind == conversation.UpdateMute
		}
	}
	return muted
}

// priced is a call with its cost.
func priced(c store.Call, prices map[string]config.Price) Call {
	return Call{c, Cost(prices, c.Model, c.TokensIn, c.TokensCached, c.TokensOut)}
}

// Cost is what a model's tokens cost, or nil if its price is unknown. cached is a part of in.
func Cost(prices map[string]config.Price, model string, in, cached, out int) *float64 {
	price, ok := prices[model]
	if !ok {
		return nil
	}
	cost := price.Cost(in, cached, out)
	return &cost
}
