// Package recall builds the context that judging and composing share: what was
// said, by whom, with names instead of ids. It reads the database, and asks Slack
// for names that are unknown or a day old, and for a thread that the bot is called into.
package recall

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// Directory is who knows the names of users and channels.
type Directory interface {
	Identity(ctx context.Context) (slack.Identity, error)
	User(ctx context.Context, id string) (slack.User, error)
	Channel(ctx context.Context, id string) (slack.Channel, error)
}

// Threads is who reads a thread, a page at a time.
type Threads interface {
	Replies(ctx context.Context, channel, thread string, r slack.Range, own slack.Identity) (slack.Page, error)
}

// Builder builds contexts. All fields are required.
type Builder struct {
	Store     *store.Store
	Directory Directory
	Threads   Threads
	Persona   chat.Persona
	// MessagesLimit is how many of the channel's newest messages are read.
	MessagesLimit int
	// ThreadLimit is how many of a thread's newest replies are read from Slack, and
	// shown, where the bot was addressed in it.
	ThreadLimit int
	Clock       func() time.Time
	Logger      *slog.Logger
}

// Recollection is a context with the names that occur in its texts.
type Recollection struct {
	chat.Context
	// Names maps user ids to display names, Channels channel ids to names.
	Names    map[string]string
	Channels map[string]string
	// Saw is the newest message in it of the conversation itself, since what was read
	// elsewhere says nothing of a message that comes late here; the zero time for none.
	Saw time.Time
}

// Build reads what there is to know for one conversation. Where the bot was
// addressed in a thread, Slack is asked for the thread first, since the bot may
// have been called into the middle of it. Names that cannot be had are ids;
// messages that cannot be read are an error.
func (b *Builder) Build(ctx context.Context, c chat.Conversation, addressed bool) (Recollection, error) {
	own, err := b.Directory.Identity(ctx)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", c.ID(), err)
	}
	limit, unread := b.MessagesLimit, 0
	inThread := addressed && !c.TopLevel()
	if inThread {
		limit = b.ThreadLimit + 1 // the parent is one of them
		if unread, err = b.readThread(ctx, c, own); err != nil {
			b.Logger.Error("thread not read from Slack; what the database has must do", "conversation", c.ID(), "error", err)
		}
	}
	messages, omitted, err := b.Store.Recent(ctx, c, limit, b.MessagesLimit)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context: %w", err)
	}
	r := Recollection{Names: b.users(ctx, c.Team, own, messages), Channels: b.channels(ctx, c, messages)}
	for i, m := range messages {
		switch name := r.Names[m.UserID]; {
		case m.Own:
			messages[i].Name = b.Persona.Name
		case name != "" && m.Name == "":
			messages[i].Name = name
		case m.Name == "" && m.UserID != "":
			messages[i].Name = m.UserID
		case m.Name == "":
			messages[i].Name = m.BotID
		}
	}
	history := chat.NewChannelMessages(c.Channel, r.Channels[c.Channel], messages)
	history.Omitted = omitted
	if inThread {
		history = history.Trim(c.Thread, b.ThreadLimit)
		history.Omitted = max(history.Omitted, unread)
	}
	r.Context = chat.Context{Persona: b.Persona, Conversation: history, TargetThread: c.Thread}
	for _, m := range r.Target() {
		if at := m.Time(); at.After(r.Saw) {
			r.Saw = at
		}
	}
	return r, nil
}
