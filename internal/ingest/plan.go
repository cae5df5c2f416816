package ingest

import (
	"cmp"
	"slices"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

// plan decides what the store shall hold after an event, and who is to hear of
// it; bot is the bot's own user id. It is pure: the same event in the same situation
// gives the same entry, so that it may be asked again when another event of the message
// came first.
func plan(e slack.Event, known store.Known, settings config.ChannelSettings, bot string) store.Entry {
	p := planner{event: e, known: known, settings: settings, bot: bot}
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
	event    slack.Event
	known    store.Known
	settings config.ChannelSettings
	bot      string
}

func (p planner) posted() store.Entry {
	m := p.event.Message
	if stands := p.known.Message; stands != nil {
		switch {
		case stands.Deleted:
			return store.Entry{} // its deletion came first
		case p.known.Handled:
			return p.complete(*stands)
		case stands.Revision != "" || m.Text == "":
			m = *stands // an edit, or Slack's history, came first and knows more
		case p.event.Partial:
			m.Files = stands.Files
		}
	}
	entry := store.Entry{Message: &m, Handled: true}
	kind, heard := p.trigger(m, p.event.Mention)
	if !heard || p.known.Addressed { // by an edit that came first
		return entry
	}
	heardIn := targets(m, kind == conversation.Addressed)
	for _, c := range heardIn {
		entry.Changes = append(entry.Changes, p.change(c, m, kind))
	}
	if p.known.Hushed != "" { // before its event came
		for _, c := range heardIn {
			entry.Changes = append(entry.Changes, hushing(c, m, p.known.Hushed))
		}
	}
	return entry
}

// complete takes the files from the second event of a message, or of an edit: an
// app_mention has none, its message twin has them.
func (p planner) complete(stands chat.Message) store.Entry {
	m := p.event.Message
	if p.event.Partial || stands.Revision != m.Revision || slices.Equal(stands.Files, m.Files) {
		return store.Entry{}
	}
	stands.Files = m.Files
	return store.Entry{Message: &stands, Handled: p.known.Handled}
}

func (p planner) edited() store.Entry {
	m := p.event.Message
	before := p.event.Previous
	mentioned := p.event.PreviousMention // by the text that the edit changes
	relayed := mentioned                 // as addressing the bot, whatever its text was since: its thread knows of it
	changed := !p.event.HasPrevious || before != m.Text
	if stands := p.known.Message; stands != nil {
		if stands.Deleted {
			return store.Entry{}
		}
		if !later(m.Revision, stands.Revision) {
			return p.complete(*stands)
		}
		if p.event.Partial {
			m.Files = stands.Files
		}
		if p.known.Handled { // else the text may be that of Slack's history, which knew of the edit
			changed = stands.Text != m.Text || !slices.Equal(stands.Files, m.Files)
		}
		if p.known.Handled || p.known.Addressed { // what stands was heard, and maybe not what the event says was before
			mentioned = chat.Mentions(stands.Text, p.bot) && (mentioned || !p.event.HasPrevious)
		}
		if p.known.Addressed && conversation.Addresses(m, false, p.settings.Mode) {
			mentioned = true // where every message is for the bot, a mention asks for nothing more
		}
		relayed = p.known.Addressed || (relayed && !p.known.Handled)
		m.ThreadTS, m.Name = stands.ThreadTS, cmp.Or(m.Name, stands.Name)
	}
	entry := store.Entry{Message: &m, Handled: p.known.Handled}
	kind, heard := p.trigger(m, p.event.Mention)
	if !changed || !heard {
		return entry
	}
	if kind == conversation.Addressed && !mentioned && p.event.Mention {
		for _, c := range targets(m, true) {
			entry.Changes = append(entry.Changes, p.change(c, m, conversation.Addressed))
		}
		return entry
	}
	for _, c := range targets(m, relayed) {
		entry.Changes = append(entry.Changes, p.change(c, m, conversation.Edited))
	}
	return entry
}

func (p planner) deleted() store.Entry {
	m := p.event.Message
	addressed := p.event.PreviousMention
	if stands := p.known.Message; stands != nil {
		if stands.Deleted {
			return store.Entry{}
		}
		m, addressed = *stands, p.known.Addressed
	}
	m.Deleted, m.Text, m.Files, m.Revision = true, "", nil, ""
	entry := store.Entry{Message: &m, Handled: true}
	if _, heard := p.trigger(m, addressed); !heard || p.known.Message == nil {
		return entry
	}
	for _, c := range targets(m, addressed) {
		entry.Changes = append(entry.Changes, p.change(c, m, conversation.Deleted))
	}
	return entry
}

// trigger is what a message is to its conversation, and whether it is heard at
// all: the bot does not hear itself, and other bots only where it is told to.
func (p planner) trigger(m chat.Message, mention bool) (kind conversation.Kind, heard bool) {
	switch {
	case m.Own:
		return "", false
	case m.ByBot():
		return conversation.Said, p.settings.Bots == config.BotsJudge
	case conversation.Addresses(m, mention, p.settings.Mode):
		return conversation.Addressed, true
	default:
		return conversation.Said, true
	}
}

// targets is who hears of a message: its conversation, and for one at a channel's
// top level that addresses the bot, the thread in which it is answered.
func targets(m chat.Message, addressed bool) []chat.Conversation {
	c := conversationOf(m)
	if !addressed || c.AnswersHere() {
		return []chat.Conversation{c}
	}
	return []chat.Conversation{{Team: c.Team, Channel: c.Channel, Thread: m.TS}, c}
}

func (p planner) change(c chat.Conversation, m chat.Message, kind conversation.Kind) store.Change {
	change := conversation.Change{TS: m.TS, Kind: kind, Revision: m.Revision}
	if p.event.Kind == slack.Posted {
		change.Revision = "" // the message as first said, whatever is known of later edits
		change.FollowUp = kind == conversation.Said && !m.ByBot() && followUp(p.known, m.UserID)
	}
	return store.Change{Conversation: c, Change: change}
}

func conversationOf(m chat.Message) chat.Conversation {
	return chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}
}

// followUp reports whether a person goes on talking with the bot: it spoke last
// in the thread but for that person, and it had answered that person. Where nobody
// knows whom, it was who spoke before it.
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

// later compares two revisions; every edit is later than none.
func later(a, b string) bool { return chat.Time(a).After(chat.Time(b)) }
