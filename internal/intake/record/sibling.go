package record

import (
	"context"
	"errors"
	"slices"

	"myao/internal/chat"
	"myao/internal/language/phrases"
	"myao/internal/slack"
	"myao/internal/store"
)

// siblings are the app's bots of other workspaces, where a channel is shared with them, and what a message there has to
// do with them: what somebody asks one of them is none of this bot's business, and they never answer one another. The
// zero value knows none.
type siblings struct {
	bots map[string]bool // by user id; this bot may be among them
	own  string
	root string // the text that began the message's thread
}

// siblings returns those that may be in the channel of an event.
func (r *Recorder) siblings(ctx context.Context, e slack.MessageEvent, own string) (s siblings, err error) {
	s.own = own
	if r.Bots == nil || !e.External {
		return s, nil
	}
	if s.bots, err = r.Bots(ctx); err != nil || len(s.bots) == 0 || e.Message.ThreadTS == "" {
		return s, err
	}
	root, err := r.Store.Message(ctx, e.Message.Team, e.Message.Channel, e.Message.ThreadTS)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return s, err
	}
	s.root = root.Text
	return s, nil
}

// is reports whether a user is one of them.
func (s siblings) is(user string) bool { return s.bots[user] && user != s.own }

// asked reports whether a text mentions one of them, and not this bot.
func (s siblings) asked(text string) bool {
	return len(s.bots) > 0 && !chat.Mentions(text, s.own) && phrases.MentionsAny(text, s.is)
}

// theirs reports whether a message that does not mention this bot is for a sibling: it mentions that one, or its thread
// began so, and this bot has said nothing there.
func (s siblings) theirs(m chat.Message, before []chat.Message) bool {
	return s.asked(m.Text) ||
		s.asked(s.root) && !slices.ContainsFunc(before, func(m chat.Message) bool { return m.Own })
}

// turned reports whether an edit turns a message to a sibling, so that what waits here because of it is withdrawn.
func (s siblings) turned(from *chat.Message, to chat.Message) bool {
	return from != nil && !s.is(to.UserID) && s.asked(to.Text) && !s.asked(from.Text)
}
