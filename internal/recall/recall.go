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

	"golang.org/x/sync/errgroup"

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
	// ActiveChannel is within what time a channel must have spoken to be told of,
	// ThreadMemory how old the summary of a thread may be.
	ActiveChannel, ThreadMemory time.Duration
	Clock                       func() time.Time
	Logger                      *slog.Logger
}

const (
	// channelTexts and threadTexts bound how many memories a context holds, the most
	// recently active first: of a thousand channels they would be a million tokens.
	channelTexts = 20
	threadTexts  = 20
)

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
// messages and memories that cannot be read are an error.
func (b *Builder) Build(ctx context.Context, c chat.Conversation, addressed bool) (Recollection, error) {
	own, err := b.Directory.Identity(ctx)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", c.ID(), err)
	}
	limit, failed := b.MessagesLimit, false
	var read *reading
	if addressed && !c.TopLevel() {
		limit = b.ThreadLimit + 1 // the parent is one of them
		if read, err = b.readThread(ctx, c, own); err != nil {
			failed = true
			b.Logger.ErrorContext(ctx, "thread not read to its end from Slack; what the database has must do", "conversation", c.ID(), "error", err)
		}
	}
	var (
		messages        []chat.Message
		omitted, untold int
		known           store.Knowledge
		long, short     *store.Memory
		threads         map[string]string
	)
	now := b.Clock()
	group, reading := errgroup.WithContext(ctx) // somebody may wait for the answer
	group.Go(func() (err error) {
		messages, omitted, err = b.Store.Recent(reading, c, limit, b.MessagesLimit)
		return err
	})
	group.Go(func() (err error) {
		known, err = b.Store.Knowledge(reading, c.Team, c.Channel, now.Add(-b.ActiveChannel), channelTexts)
		return err
	})
	group.Go(func() (err error) {
		if long, short, err = b.Workspace(reading, c.Team, c.Channel); err != nil {
			return err
		}
		threads, untold, err = b.Store.ThreadMemories(reading, c.Team, c.Channel, now.Add(-b.ThreadMemory), threadTexts)
		return err
	})
	if err := group.Wait(); err != nil {
		return Recollection{}, fmt.Errorf("build context: %w", err)
	}
	channels := make([]chat.ChannelMemory, len(known.Channels))
	for i, k := range known.Channels {
		channels[i] = k.ChannelMemory
	}
	r := b.recollect(ctx, c, own, messages, omitted, channels)
	r.WorkspaceLongTerm, r.WorkspaceShortTerm = textOf(long), textOf(short)
	r.ChannelsUntold, r.ThreadMemories, r.ThreadsUntold = known.Untold, threads, untold
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
	return r, nil
}

// Material is the context for a memory of a channel or thread that is made of the
// given messages: what is remembered of the channel itself, and nothing of what was
// said elsewhere, which would go from memory to memory and could never be taken back.
// omitted is how many earlier messages there are.
func (b *Builder) Material(ctx context.Context, s chat.Scope, messages []chat.Message, omitted int) (Recollection, error) {
	own, err := b.Directory.Identity(ctx)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", s, err)
	}
	known, err := b.Store.Standing(ctx, chat.Scope{Team: s.Team, Channel: s.Channel})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", s, err)
	}
	here := chat.ChannelMemory{ChannelID: s.Channel, LongTerm: textOf(known.Long), ShortTerm: textOf(known.Short)}
	return b.recollect(ctx, chat.Conversation(s), own, messages, omitted, []chat.ChannelMemory{here}), nil
}

// recollect puts a context together, and the names into it.
func (b *Builder) recollect(ctx context.Context, c chat.Conversation, own slack.Identity, messages []chat.Message, omitted int, channels []chat.ChannelMemory) Recollection {
	r := Recollection{Names: b.users(ctx, c.Team, own, messages)}
	var label func(id string) bool
	r.Channels, label = b.channels(ctx, c, messages)
	named := slices.Clone(messages)
	for i, m := range named {
		switch name := r.Names[m.UserID]; {
		case m.Own:
			named[i].Name = b.Persona.Name
		case m.Name == "":
			named[i].Name = cmp.Or(name, m.UserID, m.BotID)
		}
		named[i].Text = unlabelled(m.Text, label)
	}
	r.Context = chat.Context{
		Persona:      b.Persona,
		Conversation: chat.NewChannelMessages(c.Channel, r.Channels[c.Channel], named),
		Channels:     channels,
		TargetThread: c.Thread,
	}
	r.Conversation.Omitted = omitted
	for i, known := range channels {
		if known.ChannelID == c.Channel {
			channels[i].ChannelName = cmp.Or(r.Channels[c.Channel], known.ChannelName)
		}
	}
	slices.SortFunc(r.Context.Channels, func(a, b chat.ChannelMemory) int {
		return cmp.Or(strings.Compare(a.ChannelName, b.ChannelName), strings.Compare(a.ChannelID, b.ChannelID))
	})
	return r
}
