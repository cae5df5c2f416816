// Package recall builds the context that judging, composing and remembering share:
// what was said, by whom, with names instead of ids, and what is remembered. It
// reads the database, and asks Slack for names that are unknown or a day old, and
// for a thread that the bot is called into.
package recall

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// Users knows users, and which of them is the bot.
type Users interface {
	Identity(ctx context.Context) (slack.Identity, error)
	User(ctx context.Context, id string) (slack.User, error)
}

// Directory knows channels.
type Directory interface {
	// Refresh has Slack describe a channel, for as long as within, and saves the answer.
	Refresh(ctx context.Context, team, channel string, within time.Duration) (store.Channel, error)
}

// Threads is who reads a thread, a page at a time.
type Threads interface {
	Replies(ctx context.Context, channel, thread string, r slack.Range, own slack.Identity) (slack.Page, error)
}

// Builder builds contexts. All fields are required.
type Builder struct {
	Store     *store.Store
	Users     Users
	Directory Directory
	Threads   Threads
	Persona   chat.Persona
	// MessagesLimit is how many of the channel's newest messages are read.
	MessagesLimit int
	// ThreadLimit is how many of a thread's newest replies are read from Slack, and
	// shown, where the bot was addressed in it.
	ThreadLimit int
	// ActiveChannel is within what time a channel must have spoken to be told of,
	// ThreadMemory how old the summary of a thread may be.
	ActiveChannel, ThreadMemory time.Duration
	Clock                       func() time.Time
	Logger                      *slog.Logger
}

const (
	// maxChannelMemories and threadTexts bound how many memories a context holds, the most
	// recently active first: of a thousand channels they would be a million tokens, and
	// their names alone, which channelNames bounds, as much as all else.
	maxChannelMemories = 20
	maxThreadMemories  = 20
	maxChannelNames    = 100
)

// Recollection is a context with the names that occur in its texts.
type Recollection struct {
	chat.Context
	// Names maps user ids to display names, Channels channel ids to names.
	Names    map[string]string
	Channels map[string]string
	// Bot is the bot's own user id.
	Bot string
	// Saw is the newest message in it of the conversation itself, since what was read
	// elsewhere says nothing of a message that comes late here; the zero time for none.
	Saw time.Time
}

// Build reads what there is to know for one conversation. Where the bot was
// addressed in a thread, Slack is asked for the thread first, since the bot may
// have been called into the middle of it. Names that cannot be had are ids;
// messages and memories that cannot be read are an error.
func (b *Builder) Build(ctx context.Context, c chat.Conversation, addressed bool) (Recollection, error) {
	own, err := b.Users.Identity(ctx)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", c.ID(), err)
	}
	limit, failed := b.MessagesLimit, false
	var read *threadReader
	if addressed && !c.TopLevel() {
		limit = b.ThreadLimit + 1 // the parent is one of them
		if read, err = b.readThread(ctx, c, own); err != nil {
			failed = true
			b.Logger.ErrorContext(ctx, "thread not read to its end from Slack; what the database has must do", "conversation", c.ID(), "error", err)
		}
	}
	now := b.Clock()
	held, err := b.Store.Context(ctx, store.ContextRequest{
		Conversation: c, Messages: limit, Around: b.MessagesLimit, Active: now.Add(-b.ActiveChannel), Channels: maxChannelMemories, Named: maxChannelNames,
		Remembered: now.Add(-b.ThreadMemory), Threads: maxThreadMemories,
	})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context: %w", err)
	}
	channels := make([]chat.ChannelMemory, len(held.Channels))
	for i, k := range held.Channels {
		channels[i] = k.ChannelMemory
	}
	r, err := b.assemble(ctx, c, own, held.Messages, channels)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", c.ID(), err)
	}
	r.Conversation.Omitted, r.Conversation.Earlier, r.Conversation.Since = held.Omitted, held.Earlier, held.Since
	r.WorkspaceLongTerm, r.WorkspaceShortTerm = textOf(held.Long), textOf(held.Short)
	r.ChannelsUnlisted, r.ChannelsUntold, r.ThreadMemories, r.ThreadsUntold = held.Unlisted, held.Untold, held.Threads, held.ThreadsUntold
	if read != nil {
		r.Conversation = r.Conversation.Trim(c.Thread, b.ThreadLimit)
		r.Conversation.Omitted = max(r.Conversation.Omitted, read.omitted(r.Conversation.Threads[c.Thread]))
		r.Conversation.Unread = failed || read.skipped && r.Conversation.Omitted < chat.CountAtMost
	}
	for _, m := range r.Target() {
		if at := m.Time(); at.After(r.Saw) {
			r.Saw = at
		}
	}
	b.logMemories(ctx, c, r.Context)
	return r, nil
}

// logMemories logs how many memories stand in a context, unless there are none.
func (b *Builder) logMemories(ctx context.Context, c chat.Conversation, r chat.Context) {
	workspace, channels, threads := 0, 0, len(r.ThreadMemories)
	for _, text := range []string{r.WorkspaceLongTerm, r.WorkspaceShortTerm} {
		if text != "" {
			workspace++
		}
	}
	for _, known := range r.Channels {
		if known.LongTerm != "" || known.ShortTerm != "" {
			channels++
		}
	}
	if workspace+channels+threads > 0 {
		b.Logger.DebugContext(ctx, "memories in the prompt", "conversation", c.ID(), "workspace", workspace, "channels", channels, "threads", threads)
	}
}

// Material is the context for a memory of a channel or thread that is made of the
// given messages: what is remembered of the channel itself, and nothing of what was
// said elsewhere, which would go from memory to memory and could never be taken back.
// omitted is how many earlier messages there are.
func (b *Builder) Material(ctx context.Context, s chat.Scope, messages []chat.Message, omitted int) (Recollection, error) {
	own, err := b.Users.Identity(ctx)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", s, err)
	}
	known, err := b.Store.CurrentMemory(ctx, chat.Scope{Team: s.Team, Channel: s.Channel})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", s, err)
	}
	here := chat.ChannelMemory{ChannelID: s.Channel, LongTerm: textOf(known.Long), ShortTerm: textOf(known.Short)}
	r, err := b.assemble(ctx, chat.Conversation(s), own, messages, []chat.ChannelMemory{here})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", s, err)
	}
	r.Conversation.Omitted = omitted
	return r, nil
}

// assemble puts a context together, and the names into it.
func (b *Builder) assemble(ctx context.Context, c chat.Conversation, own slack.Identity, messages []chat.Message, channels []chat.ChannelMemory) (r Recollection, err error) {
	r.Bot = own.UserID
	who, which := usersIn(messages, own), channelsIn(messages, c)
	known, err := b.Store.Names(ctx, c.Team, c.Channel, who.list, which.list)
	if err != nil {
		return Recollection{}, err
	}
	r.Names = b.users(ctx, c.Team, own, who, known.Users)
	var label func(id string) bool
	r.Channels, label = b.channels(ctx, c, which, known)
	named := slices.Clone(messages)
	for i, m := range named {
		switch name := r.Names[m.UserID]; {
		case m.Own:
			named[i].Name = b.Persona.Name
		case m.Name == "":
			named[i].Name = cmp.Or(name, m.UserID, m.BotID)
		}
		named[i].Text = withoutHiddenNames(m.Text, label)
	}
	r.Context = chat.Context{
		Persona:      b.Persona,
		Conversation: chat.NewChannelMessages(c.Channel, r.Channels[c.Channel], named),
		Channels:     channels,
		TargetThread: c.Thread,
	}
	for i, known := range channels {
		if known.ChannelID == c.Channel {
			channels[i].ChannelName = cmp.Or(r.Channels[c.Channel], known.ChannelName)
		}
	}
	slices.SortFunc(r.Context.Channels, func(a, b chat.ChannelMemory) int {
		return cmp.Or(strings.Compare(a.ChannelName, b.ChannelName), strings.Compare(a.ChannelID, b.ChannelID))
	})
	return r, nil
}

// textOf is a memory's text; empty where there is none.
func textOf(m *store.Memory) string {
	if m == nil {
		return ""
	}
	return m.Text
}
