package record

import (
	"slices"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/language/phrases"
	"myao/internal/slack"
	"myao/internal/store"
)

// plan decides what to store of an event, and which conversations to tell. operators are the user ids of those who may
// stop any reply. plan is pure: Store.Record calls it again when another event of the same message is committed first.
func plan(e slack.MessageEvent, known store.Known, settings config.ChannelSettings, others siblings,
	operators ...string) store.Entry {
	p := planner{event: e, known: known, settings: settings, siblings: others, bot: others.own,
		operator: slices.Contains(operators, e.Message.UserID)}
	switch e.Kind {
	case slack.Posted:
		return p.posted()
	case slack.Edited:
		return p.edited()
	default:
		return p.deleted()
	}
}

type planner struct {
	event    slack.MessageEvent
	known    store.Known
	settings config.ChannelSettings
	siblings siblings
	bot      string // the bot's own user id
	// operator is set if the author of the event's message is an operator.
	operator bool
}

func (p planner) posted() store.Entry {
	m := p.event.Message
	if stored := p.known.Message; stored != nil {
		switch {
		case stored.Deleted:
			return store.Entry{} // the deletion came before the message
		case p.known.Handled:
			return p.complete(*stored)
		case stored.Revision != "" || m.Text == "":
			m = *stored // from an edit or Slack's history, which know more
			m.BotID, m.Through = p.event.Message.BotID, p.event.Message.Through
		case p.event.Partial:
			m.Files = stored.Files
		}
	}
	entry := store.Entry{Message: &m, Handled: true}
	kind, relayed := p.classify(m, p.event.Mention)
	if !relayed || !hears(p.settings.Mode, kind == conversation.Addressed || p.mayStop(m)) || p.known.Addressed {
		// an edit that came before the message addressed the bot
		return entry
	}
	conversations := Conversations(m, kind == conversation.Addressed)
	for _, c := range conversations {
		entry.Changes = append(entry.Changes, p.change(c, m, kind))
	}
	if p.known.Hushed != "" { // the reaction came before the message
		for _, c := range conversations {
			entry.Changes = append(entry.Changes, hushed(c, m, p.known.Hushed))
		}
	}
	return entry
}

// complete takes the files from the second event of a message or an edit. Slack sends an
// app_mention without files, and a message event with them, in any order.
func (p planner) complete(stored chat.Message) store.Entry {
	m := p.event.Message
	if p.event.Partial || stored.Revision != m.Revision || slices.Equal(stored.Files, m.Files) {
		return store.Entry{}
	}
	stored.Files = m.Files
	return store.Entry{Message: &stored, Handled: p.known.Handled}
}

func (p planner) deleted() store.Entry {
	m := p.event.Message
	addressed := p.event.PreviousMention
	if stored := p.known.Message; stored != nil {
		if stored.Deleted {
			return store.Entry{}
		}
		m, addressed = *stored, p.known.Addressed
	}
	m.Deleted, m.Text, m.Files, m.Revision = true, "", nil, ""
	entry := store.Entry{Message: &m, Handled: true}
	if _, relayed := p.classify(m, addressed); !relayed || !hears(p.settings.Mode, addressed) ||
		p.known.Message == nil {
		return entry
	}
	for _, c := range Conversations(m, addressed) {
		entry.Changes = append(entry.Changes, p.change(c, m, conversation.Deleted))
	}
	return entry
}

// classify tells what a message is to its conversation, and whether it is relayed at all. The
// bot's own messages never are, nor what is for the app's bot of another workspace; other bots' are where the settings
// say so.
func (p planner) classify(m chat.Message, mention bool) (kind conversation.Kind, relayed bool) {
	switch {
	case m.Own:
		return "", false
	case p.siblings.is(m.UserID), !mention && p.siblings.theirs(m, p.known.Before):
		return conversation.Said, false
	case m.ByBot():
		return conversation.Said, p.settings.Bots.Judges(m.BotID)
	case conversation.Addresses(m, mention, p.settings.Mode):
		return conversation.Addressed, true
	default:
		return conversation.Said, true
	}
}

// mayStop reports whether a message in a thread may stop a reply there.
func (p planner) mayStop(m chat.Message) bool {
	return m.ThreadTS != "" && phrases.StopWord(m, p.bot)
}

// hears reports whether the conversations of a channel hear of a message, which may have addressed the
// bot. Where the mode leaves nothing to decide, none is started. What waits in one since before the
// channel had this mode meets the mode's rule.
func hears(mode config.Mode, addressed bool) bool {
	switch mode {
	case config.ModeOff:
		return false
	case config.ModeMention:
		return addressed
	}
	return true
}

// Conversations lists the conversations that a message is relayed to: the one it is in, and,
// if it addresses the bot at a channel's top level, the thread in which the bot answers.
func Conversations(m chat.Message, addressed bool) []chat.Conversation {
	c := m.Conversation()
	if !addressed || c.AnswersHere() {
		return []chat.Conversation{c}
	}
	return []chat.Conversation{{Team: c.Team, Channel: c.Channel, Thread: m.TS}, c}
}

func (p planner) change(c chat.Conversation, m chat.Message, kind conversation.Kind) store.Change {
	change := conversation.Change{TS: m.TS, Kind: kind, Revision: m.Revision}
	if p.event.Kind == slack.Posted {
		change.Revision = "" // the message as first posted, even if a later edit is known
		change.FollowUp = kind == conversation.Said && !m.ByBot() && followUp(p.known, m.UserID)
	}
	change.Named = (kind == conversation.Said || kind == conversation.Edited) && !m.ByBot() &&
		phrases.Names(m.Said(), p.settings.Names...)
	change.Author = m.UserID
	change.Mention = kind == conversation.Addressed && p.event.Mention
	if kind != conversation.Edited && kind != conversation.Deleted && !m.ByBot() && phrases.StopWord(m, p.bot) {
		change.Stop = true
		if p.operator {
			change.By = orderedBy(m.UserID)
		}
	}
	return store.Change{Conversation: c, Change: change}
}

// followUp reports whether a person continues a thread with the bot: apart from that person's
// own messages the bot spoke last, and it had answered that person. Where the outbox does not
// know whom the bot answered, it is the author of the message before the bot's.
func followUp(known store.Known, user string) bool {
	before := known.Before
	i := len(before) - 1
	for i >= 0 && before[i].UserID == user {
		i--
	}
	if i < 0 || !before[i].Own {
		return false
	}
	if known.Answered != "" {
		return known.Answered == user
	}
	for i >= 0 && before[i].Own {
		i--
	}
	return i >= 0 && before[i].UserID == user
}
