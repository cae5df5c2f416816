package record

import (
	"cmp"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

func (p planner) edited() store.Entry {
	if p.event.Previewed {
		return p.previewed()
	}
	m := p.event.Message
	if stored := p.known.Message; stored != nil {
		switch {
		case stored.Deleted:
			return store.Entry{}
		case !later(m.Revision, stored.Revision):
			return p.complete(*stored)
		case p.event.Partial:
			m.Files = stored.Files
		}
		m.ThreadTS, m.Name = stored.ThreadTS, cmp.Or(m.Name, stored.Name)
	}
	entry := store.Entry{Message: &m, Handled: p.known.Handled}
	before := p.before(m)
	kind, relayed := p.classify(m, p.event.Mention)
	turned := p.siblings.turned(p.known.Message, m)
	switch {
	case before.same || !relayed && !turned:
		return entry
	case kind == conversation.Addressed && p.event.Mention && !before.mention:
		before.addressed = true // the edit adds a mention, and so asks for an answer
	default:
		kind = conversation.Edited
	}
	if !hears(p.settings.Mode, kind == conversation.Addressed || before.addressed) {
		return entry
	}
	for _, c := range Conversations(m, before.addressed) {
		change := p.change(c, m, kind)
		if turned {
			change = hushed(c, m, orderedBy(m.UserID))
		}
		entry.Changes = append(entry.Changes, change)
	}
	return entry
}

// previewed stores a text to which Slack has added a preview, or files of which it has made a transcript. Nobody said
// anything, so nobody is told, and the message keeps its revision. Whoever writes an answer reads it then. A message
// that is not known in the state before it, or not at all, comes by its own event, or with the preview from Slack's
// history.
func (p planner) previewed() store.Entry {
	stored := p.known.Message
	if stored == nil || stored.Deleted || stored.Text != p.event.Previous {
		return store.Entry{}
	}
	m := *stored
	m.Text = p.event.Message.Text
	if chat.SameFiles(m.Files, p.event.Message.Files) {
		m.Files = p.event.Message.Files
	}
	return store.Entry{Message: &m, Handled: p.known.Handled}
}

// previous is what an edit changes.
type previous struct {
	same      bool // text and files were those that the edit leaves
	mention   bool // the text mentioned the bot
	addressed bool // it was relayed as addressing the bot, so that its thread knows of it
}

// before describes the message before the edit that made it m. The event tells the text that
// the edit replaced. The database tells what was relayed, which may be older. Depending on
// what was recorded, one or the other counts:
//
//	recorded of the message             same      mention   addressed
//	nothing, or read from history       event     event     event
//	an edit that addressed the bot      event     both      database
//	its own event                       database  both      database
//
// Slack's history may already have the edited text, so that it cannot show what changed.
func (p planner) before(m chat.Message) previous {
	e, stored := p.event, p.known.Message
	told := previous{
		same:      e.HasPrevious && e.Previous == m.Text,
		mention:   e.PreviousMention,
		addressed: e.PreviousMention,
	}
	if stored == nil || !p.known.Handled && !p.known.Addressed {
		return told
	}
	known := previous{
		same:      told.same,
		mention:   chat.Mentions(stored.Text, p.bot) && (e.PreviousMention || !e.HasPrevious),
		addressed: p.known.Addressed,
	}
	if p.known.Handled {
		known.same = stored.Text == m.Text && chat.SameFiles(stored.Files, m.Files)
	}
	if p.known.Addressed && conversation.Addresses(m, false, p.settings.Mode) {
		known.mention = true // where every message addresses the bot, a mention adds nothing
	}
	return known
}

// later compares two revisions. Every edit is later than none.
func later(a, b string) bool { return chat.Time(a).After(chat.Time(b)) }
