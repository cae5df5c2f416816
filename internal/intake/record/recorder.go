// Package record decides what an event in Slack changes in the database: the message as it is
// now, and the changes to relay to conversations. The door and catch-up both record with it.
package record

import (
	"cmp"
	"context"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/language/phrases"
	"myao/internal/runtime/required"
	"myao/internal/slack"
	"myao/internal/store"
)

// Directory knows the settings of channels, and who is a person.
type Directory interface {
	Settings(ctx context.Context, team, channel string) config.ChannelSettings
	// Person reports whether a user is a person and no app.
	Person(ctx context.Context, team, user string) bool
	// App returns the id of the app that a bot id belongs to; it is empty where there is none.
	App(ctx context.Context, team, bot string) (string, error)
}

// Store records messages.
type Store interface {
	Record(ctx context.Context, m chat.Message, decide func(store.Known) store.Entry) ([]store.Target, error)
	Message(ctx context.Context, team, channel, ts string) (chat.Message, error)
	BeingAnswered(ctx context.Context, m chat.Message, author string, within time.Duration) ([]chat.Message, error)
}

// Recorder commits events, live ones and those that catch-up finds later. Create one with New.
type Recorder struct {
	Store     Store
	Directory Directory
	// Operators are the user ids of those who may stop any reply.
	Operators []string
	// Bots returns the app's bots of all workspaces, by user id; nil: there is one workspace.
	Bots func(ctx context.Context) (map[string]bool, error) `nil:"ok"`
}

// New returns a recorder that has all it needs. It panics with the name of a field that is missing.
func New(r *Recorder) *Recorder { return required.Fields(r) }

// Record commits an event and returns the conversations that have something new to be
// relayed. Recording the same event again changes nothing. own is the bot's identity.
func (r *Recorder) Record(ctx context.Context, e slack.MessageEvent, own slack.Identity) ([]store.Target, error) {
	others, err := r.siblings(ctx, e, own.UserID)
	if err != nil {
		return nil, err
	}
	e.Message = r.attribute(ctx, e.Message, others)
	settings := r.Directory.Settings(ctx, e.Message.Team, e.Message.Channel)
	stopped, err := r.stopped(ctx, e, own.UserID)
	if err == nil {
		settings.Bots, err = r.resolve(ctx, e.Message, settings.Bots)
	}
	if err != nil {
		return nil, err
	}
	e.Mention = e.Mention || len(stopped) > 0
	targets, err := r.Store.Record(ctx, e.Message, func(known store.Known) store.Entry {
		entry := plan(e, known, settings, others, r.Operators...)
		entry.Private, entry.External = e.Private(), e.External
		return entry
	})
	for _, m := range stopped {
		var more []store.Target
		if err == nil {
			more, _, err = r.Hush(ctx, m, e.Message.UserID)
		}
		targets = append(targets, more...)
	}
	return targets, err
}

// attribute tells whether a person wrote a message that names a user and an app. A sibling's counts as a bot's,
// whatever Slack says of the users of other companies.
func (r *Recorder) attribute(ctx context.Context, m chat.Message, others siblings) chat.Message {
	if others.is(m.UserID) {
		m.BotID = cmp.Or(m.BotID, m.UserID)
		return m
	}
	if m.NamesUserAndApp() && r.Directory.Person(ctx, m.Team, m.UserID) {
		return m.ByPerson()
	}
	return m
}

// resolve returns the bots that are judged, with the one that wrote a message if its app is among them.
func (r *Recorder) resolve(ctx context.Context, m chat.Message, bots config.Bots) (config.Bots, error) {
	if m.Own || m.BotID == "" || !bots.NameApps() || bots.Judges(m.BotID) {
		return bots, nil
	}
	app, err := r.Directory.App(ctx, m.Team, m.BotID)
	if err == nil && bots.Judges(app) {
		bots = append(slices.Clone(bots), m.BotID)
	}
	return bots, err
}

// stoppable is for how long an answer that is being written can be stopped from outside its thread.
const stoppable = 10 * time.Minute

// stopped is the mentions that a stop at a channel's top level is about. Their answers come in
// threads that nobody sees yet, so the stop counts as a mention, and hushes them.
func (r *Recorder) stopped(ctx context.Context, e slack.MessageEvent, bot string) ([]chat.Message, error) {
	m := e.Message
	if e.Kind != slack.Posted || m.ThreadTS != "" || m.ByBot() || m.Conversation().AnswersHere() ||
		!phrases.StopWord(m, bot) {
		return nil, nil
	}
	author := m.UserID
	if slices.Contains(r.Operators, author) {
		author = ""
	}
	return r.Store.BeingAnswered(ctx, m, author, stoppable)
}
