package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// explanation is what became of one message: the decisions about it, alone or with others, and a
// note if they do not say everything.
type explanation struct {
	decisions []store.Decision
	note      string
	// shared is set while the note names a decision that was also about other messages.
	shared bool
	// open is set while its conversation has been told of it, and has not come to an end with it.
	open bool
}

// explain follows a message from when it was heard. A decision is about its trigger and everything
// that waited with it. If it is withdrawn, these messages wait for the next one. A message stops
// waiting when the bot is addressed at the channel's top level, is ordered to drop what waits, or
// is asked not to answer it.
func (r rows) explain(m store.StoredMessage) explanation {
	heard, relayed := r.heard(m)
	if heard.IsZero() {
		return explanation{note: r.whyNotHeard(m)}
	}
	var f explanation
	events := r.events(m, heard)
	for i, e := range events {
		switch {
		case e.decision == nil: // the first cause counts, until the message asks again
			if f.note == "" || f.shared {
				f.note, f.shared = e.note, false
			}
			continue
		case e.decision.TriggerTS == m.TS: // it asked again, or was under judgment
			f.note, f.shared = "", false
		case f.note != "" && !f.shared:
			continue
		default:
			f.note, f.shared = "decided together with "+e.decision.TriggerTS, true
		}
		f.decisions = append(f.decisions, *e.decision)
		if r.final(*e.decision, m) {
			f.open = e.decision.Outcome == conversation.Pending &&
				!slices.ContainsFunc(events[i+1:], func(e event) bool {
					return e.decision == nil || e.decision.Outcome != conversation.Pending && r.final(*e.decision, m)
				})
			return f
		}
	}
	if n := len(f.decisions); n > 0 && (f.note == "" || f.shared) {
		f.open = relayed && r.decidedAgain(f.decisions[n-1])
	}
	if f.note != "" {
		return f
	}
	switch {
	case len(f.decisions) > 0:
	case heard.Before(r.options.LedgerSince):
		f.note = pastRetention
	case m.Deleted:
		f.note = "deleted before anything was decided"
	case !relayed:
		f.note = "nothing decided yet: waiting to be relayed to its conversation"
	default:
		f.note, f.open = "nothing decided yet; `starter show` tells the phase of its conversation", true
	}
	return f
}

// pastRetention is the note for a message whose ledger rows were pruned.
const pastRetention = "its decisions were deleted after retention.ledger_days"

// final reports whether a decision ended a message's wait. A withdrawn decision is made again. So
// is one that was dropped because somebody wanted no answer to another of its messages.
func (r rows) final(d store.Decision, m store.StoredMessage) bool {
	switch d.Outcome {
	case conversation.Withdrawn, conversation.Overruled:
		return false
	case conversation.Dropped:
		return !slices.ContainsFunc(r.changes, func(p store.RecordedChange) bool {
			return p.Kind == conversation.Hushed && p.By == d.OutcomeBy && p.WorkflowID == d.WorkflowID &&
				p.TS != m.TS && !p.Stored.Before(m.Time())
		})
	}
	return true
}

// decidedAgain reports whether the messages of a decision that is not final wait for another one, not if
// it was withdrawn because one of them was deleted or somebody answered in a thread.
func (r rows) decidedAgain(d store.Decision) bool {
	return d.Outcome != conversation.Withdrawn || slices.ContainsFunc(r.changes, func(p store.RecordedChange) bool {
		return p.TS == d.OutcomeBy && p.WorkflowID == d.WorkflowID && p.Kind != conversation.Deleted
	})
}

// heard is when the message was first recorded as something to decide about; zero for never. An
// edit alone does not count, because the conversation does not know the message. relayed is set
// once its conversation has received it.
func (r rows) heard(m store.StoredMessage) (at time.Time, relayed bool) {
	for _, p := range r.changes {
		if p.TS != m.TS || !r.isOwn(p.WorkflowID, m) || p.Kind != conversation.Said &&
			p.Kind != conversation.Addressed {
			continue
		}
		if at.IsZero() || p.Stored.Before(at) {
			at = p.Stored
		}
		relayed = relayed || !p.Relayed.IsZero()
	}
	return at, relayed
}

// event is something that ends a message's wait, perhaps for a while: a decision, or what the note
// says.
type event struct {
	at       time.Time
	decision *store.Decision
	note     string
}

// events is what may have ended a message's wait since it was heard, in order of time.
func (r rows) events(m store.StoredMessage, heard time.Time) []event {
	var events []event
	own := m.Conversation()
	thread := chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.TS}.ID()
	for i, d := range r.decisions {
		if d.Source == promiseSource { // what was asked is done
			continue
		}
		about := d.TriggerTS == m.TS && (d.WorkflowID == own.ID() || d.WorkflowID == thread)
		shared := d.WorkflowID == own.ID() && chat.Time(d.TriggerTS).After(m.Time()) && !d.Decided().Before(heard) &&
			!m.Deleted
		if about || shared {
			events = append(events, event{at: d.Decided(), decision: &r.decisions[i]})
		}
	}
	for _, p := range r.changes {
		late := p.WorkflowID == own.ID() && !p.Stored.Before(heard) && own.TopLevel() && !own.Direct() &&
			p.Kind == conversation.Addressed
		switch {
		case late && p.TS == m.TS && r.conversation.Thread != m.TS && !r.threaded(thread, m.TS):
			events = append(events, event{at: p.Stored,
				note: "it addressed the bot, which answers in its thread: `starter why " + m.Channel + " " + m.TS +
					"` tells"})
		case late && chat.Time(p.TS).After(m.Time()) && (p.Author == "" || p.Author == m.UserID):
			// others go on waiting
			events = append(events, event{at: p.Stored, note: "given up for " + p.TS + ", which addressed the bot"})
		case p.Kind == conversation.Hushed && p.TS == m.TS && r.isOwn(p.WorkflowID, m):
			events = append(events, event{at: p.Stored, note: p.By + " asked for no answer to it"})
		}
	}
	for _, o := range r.orders {
		if how, drops := dropNotes[o.Kind]; drops && o.Scope.Thread == m.ThreadTS && o.At.After(heard) {
			events = append(events, event{at: o.At, note: "dropped by " + o.By + how})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	return events
}

// dropNotes are the orders that drop what waits, with what their note adds.
var dropNotes = map[string]string{
	conversation.UpdateDrop:   "",
	conversation.UpdateMute:   ", who muted its conversation",
	conversation.UpdateSnooze: ", who snoozed its conversation",
}

// threaded reports whether a thread has a decision about its own parent.
func (r rows) threaded(workflowID, ts string) bool {
	return slices.ContainsFunc(r.decisions, func(d store.Decision) bool {
		return d.WorkflowID == workflowID &&
			d.TriggerTS == ts
	})
}

// notHeard begins the note of a message that no conversation received.
const notHeard = "not heard: "

// whyNotHeard says why no conversation received a message.
func (r rows) whyNotHeard(m store.StoredMessage) string {
	age, mode, bots := r.options.Settings.MaxMessageAge, r.options.Settings.Mode, r.options.Settings.Bots
	switch {
	case m.Own:
		if r.options.MessageTS != "" {
			return "the bot's own message"
		}
		return ""
	case m.Stored.Before(r.options.LedgerSince):
		return pastRetention
	case m.Deleted:
		return "deleted before the bot saw it"
	case m.Handled && mode == config.ModeOff:
		return notHeard + conversation.ModeReason(conversation.RuleModeOff, r.options.Settings.ModeInSlack)
	case m.Handled && mode == config.ModeMention && (m.ByBot() || !strings.Contains(m.Text, "<@")):
		return notHeard + conversation.ModeReason(conversation.RuleModeMention, r.options.Settings.ModeInSlack)
	case m.ByBot() && bots.Judges(m.BotID):
		return notHeard + "when it came, the channel's bots setting left out " + m.BotID
	case m.ByBot():
		return notHeard + fmt.Sprintf("a message of the bot %s, and the channel's bots setting is %s", m.BotID, bots)
	case m.Handled:
		return notHeard + "when it came, the channel's mode was off, or was mention and nobody mentioned the bot"
	case r.message(m).OnlyEdited():
		return notHeard + "the bot only got an edit of it, which needs no answer"
	case r.channel.KnownSince.IsZero() || m.Time().Before(r.channel.KnownSince):
		return notHeard + "sent before the bot knew the channel"
	case age > 0 && m.Stored.Sub(m.Time()) > age:
		return fmt.Sprintf(notHeard+"read from Slack's history, when it was older than max_message_age_seconds (%.0f)",
			age.Seconds())
	}
	return "not heard yet: read from Slack's history; neither its event nor catch-up has brought it"
}
