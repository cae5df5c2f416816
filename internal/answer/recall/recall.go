// Package recall builds the context for judging, composing and remembering: the messages,
// with names instead of ids, and the memories. It reads the database. It asks Slack for
// names that are unknown or a day old, and for a thread in which the bot is addressed.
package recall

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/language/terms"
	"myao/internal/runtime/required"
	"myao/internal/slack"
	"myao/internal/store"
)

// Users knows users.
type Users interface {
	User(ctx context.Context, id string) (slack.User, error)
}

// Directory knows channels.
type Directory interface {
	// Refresh reads a channel from Slack and saves it. It gives up after within.
	Refresh(ctx context.Context, team, channel string, within time.Duration) (store.Channel, error)
	// RefreshMembers reads from Slack who is in a channel, and saves how many outsiders are, as of an instant. It
	// gives up after within.
	RefreshMembers(ctx context.Context, team, channel string, within time.Duration) (outsiders int, asked time.Time,
		err error)
}

// Threads reads threads from Slack, a page at a time.
type Threads interface {
	Replies(ctx context.Context, channel, thread string, r slack.Range, own slack.Identity) (slack.Page, error)
}

// Store has what contexts are made of. What Slack tells for one is saved.
type Store interface {
	Context(ctx context.Context, r store.ContextRequest) (store.Context, error)
	Tail(ctx context.Context, c chat.Conversation, limit int) ([]chat.Message, error)
	SaidBefore(ctx context.Context, q store.SaidBeforeQuery) ([]chat.Found, error)
	CurrentMemory(ctx context.Context, scope chat.Scope) (store.CurrentMemory, error)
	Names(ctx context.Context, team, here string, users, channels []string) (store.Names, error)
	Users(ctx context.Context, team string, ids []string) (map[string]store.User, error)
	SaveHistory(ctx context.Context, read []chat.Message) error
	SaveTranscript(ctx context.Context, m chat.Message, f chat.File) error
	SaveUsers(ctx context.Context, team string, users ...store.User) error
	SeeOutsiders(ctx context.Context, team, channel string, seen map[string]time.Time) error
}

// Builder builds contexts. Create one with New.
type Builder struct {
	Store Store
	// Own is who the bot is.
	Own       slack.Identity
	Users     Users
	Directory Directory
	// Threads reads what Slack has of threads; nil where nobody mentions the bot.
	Threads Threads `nil:"ok"`
	// Transcripts reads those of recordings; nil where files cannot be read.
	Transcripts Transcripts `nil:"ok"`
	Persona     chat.Persona
	// MessagesLimit is how many of the channel's newest messages are in a context, at most: the first one moves by a
	// fifth of that at once.
	MessagesLimit int
	// FoundLimit is how many earlier messages are added to the context of a reply; 0: none.
	FoundLimit int
	// ThreadLimit is how many of a thread's newest replies are read from Slack, and are in the
	// context, if the bot is addressed in it.
	ThreadLimit int
	// ActiveChannel is the maximum age of the newest message of other channels in a context,
	// ThreadMemory that of thread summaries.
	ActiveChannel, ThreadMemory time.Duration
	Clock                       func() time.Time
	Logger                      *slog.Logger
}

// New returns a builder that has all it needs. It panics with the name of a field that is missing.
func New(b *Builder) *Builder { return required.Fields(b) }

const (
	// These bound the memories and channel names in a context. The most recently active channels
	// come first. The memories of a thousand channels have a million tokens, and their names
	// alone have as many as the rest of the context.
	maxChannelMemories = 20
	maxThreadMemories  = 20
	maxChannelNames    = 100
)

// windowSteps is in how many steps the messages of a context are exchanged for newer ones.
const windowSteps = 5

// Recollection is a context and the names for the ids in its texts.
type Recollection struct {
	chat.Context
	// Names maps user ids to display names, Channels channel ids to names.
	Names    map[string]string
	Channels map[string]string
	// Bot is the bot's own user id.
	Bot string
	// Saw is the time of the newest message of the conversation itself, or zero. Messages
	// elsewhere do not count: one of this conversation may still come late.
	Saw time.Time
	// Alone is set if outsiders read the channel, or somebody who may be one. Then nothing of other
	// channels is in the context.
	Alone bool
	// LastVerdict is the newest verdict of a model on the conversation; nil if there is none.
	LastVerdict *store.Decision
	// Set is what people have set of the channel in Slack.
	Set chat.Set
}

// Build builds the context of a conversation. If the bot is addressed in a thread, it first reads
// the thread from Slack, because the bot may have been called into the middle of it. Ids
// stand for names that Slack does not return. It returns an error if messages or memories
// cannot be read.
//
// answer is the ts of the message to answer, or "" for none. With it, earlier messages are added that
// have words of it, as far as readers of the conversation may see them.
func (b *Builder) Build(ctx context.Context, c chat.Conversation, addressed bool, answer string) (Recollection, error) {
	limit, failed := b.MessagesLimit, false
	var read *threadReader
	if addressed && !c.TopLevel() {
		limit = b.ThreadLimit + 1 // the parent is one of them
		var err error
		if read, err = b.readThread(ctx, c); err != nil {
			failed = true
			b.Logger.ErrorContext(ctx, "thread not fully read from Slack; using the database", "conversation", c.ID(),
				"error", err)
		}
	}
	now := b.Clock()
	stored, err := b.Store.Context(ctx, store.ContextRequest{
		Conversation: c, Answer: answer, Messages: limit, Around: b.MessagesLimit, Step: b.MessagesLimit / windowSteps,
		Active:   now.Add(-b.ActiveChannel),
		Channels: maxChannelMemories, Named: maxChannelNames,
		Remembered: now.Add(-b.ThreadMemory), Threads: maxThreadMemories,
	})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context: %w", err)
	}
	stored.Messages = b.withTranscripts(ctx, stored.Messages)
	channels := make([]chat.ChannelMemory, len(stored.Channels))
	for i, k := range stored.Channels {
		channels[i] = k.ChannelMemory
	}
	found, err := b.saidBefore(ctx, c, stored.Messages, answer)
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", c.ID(), err)
	}
	r, err := b.assemble(ctx, c, reading{stored.Messages, channels, found, stored.Notes})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", c.ID(), err)
	}
	if r.Alone { // which may have become known after the reading
		stored.Long, stored.Short, stored.Unlisted, stored.Untold = nil, nil, 0, 0
	}
	r.Conversation.Omitted, r.Conversation.Earlier, r.Conversation.Since = stored.Omitted, stored.Earlier, stored.Since
	r.Conversation.Began = stored.Began
	r.WorkspaceLongTerm, r.WorkspaceShortTerm = textOf(stored.Long), textOf(stored.Short)
	r.ChannelsUnlisted, r.ChannelsUntold, r.ThreadMemories, r.ThreadsUntold = stored.Unlisted, stored.Untold,
		stored.Threads, stored.ThreadsUntold
	r.LastVerdict, r.Set = stored.LastVerdict, stored.Set
	if read != nil {
		r.Conversation = r.Conversation.Trim(c.Thread, b.ThreadLimit, answer)
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

// Shown returns the messages that a context for a reply to a message has: those of the conversation and
// around it, and those found by words of the message. It asks Slack for nothing.
func (b *Builder) Shown(ctx context.Context, c chat.Conversation, answer string) ([]chat.Found, error) {
	around, err := b.Around(ctx, c)
	if err != nil {
		return nil, err
	}
	found, err := b.saidBefore(ctx, c, around, answer)
	if err != nil {
		return nil, fmt.Errorf("read what is shown of %s: %w", c.ID(), err)
	}
	for _, m := range around {
		found = append(found, chat.Found{Message: m})
	}
	return found, nil
}

// Around returns those messages of Shown that are of the conversation and around it.
func (b *Builder) Around(ctx context.Context, c chat.Conversation) ([]chat.Message, error) {
	stored, err := b.Store.Context(ctx,
		store.ContextRequest{Conversation: c, Messages: max(b.MessagesLimit, b.ThreadLimit+1), Around: b.MessagesLimit,
			Step: b.MessagesLimit / windowSteps})
	if err != nil {
		return nil, fmt.Errorf("read what is shown of %s: %w", c.ID(), err)
	}
	return stored.Messages, nil
}

// questionMessages is how many messages up to the one to answer are searched for words: people put one
// question into several messages, and a mention alone has none.
const questionMessages = 3

// questionSpan is how old the messages before the one to answer may be if it has questionTerms itself.
// They are about something else then, and their rarer words would take the place of its own.
const (
	questionSpan  = 10 * time.Minute
	questionTerms = 2
)

// saidBefore finds earlier messages with words of the one to answer and of those right before it.
// Messages of the context are not found again. Without answer it finds none.
func (b *Builder) saidBefore(ctx context.Context, c chat.Conversation, shown []chat.Message,
	answer string) ([]chat.Found, error) {
	if answer == "" || b.FoundLimit == 0 {
		return nil, nil
	}
	q := store.SaidBeforeQuery{Team: c.Team, Here: c.Channel, Limit: b.FoundLimit}
	var target []chat.Message
	for _, m := range shown {
		q.Except = append(q.Except, m.TS)
		if !m.Own && (m.ThreadTS == c.Thread || m.TS == c.Thread) && chat.CompareTS(m.TS, answer) <= 0 {
			target = append(target, m)
		}
	}
	slices.SortFunc(target, func(a, b chat.Message) int { return chat.CompareTS(b.TS, a.TS) })
	for _, m := range target[:min(len(target), questionMessages)] {
		if chat.Time(answer).Sub(m.Time()) > questionSpan && len(terms.Query(q.Texts...)) >= questionTerms {
			break
		}
		q.Texts = append(q.Texts, m.Said())
	}
	return b.Store.SaidBefore(ctx, q)
}

// logMemories logs how many memories are in a context, unless there are none.
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
		b.Logger.DebugContext(ctx, "memories in the prompt", "conversation", c.ID(), "workspace", workspace, "channels",
			channels, "threads", threads)
	}
}

// BuildForMemory builds the context for a memory of a channel or thread from the given messages.
// It contains the memories of the channel itself and nothing from elsewhere, which would
// spread from memory to memory and could never be forgotten. omitted is the number of
// earlier messages.
func (b *Builder) BuildForMemory(
	ctx context.Context, s chat.Scope, messages []chat.Message, omitted int,
) (Recollection, error) {
	known, err := b.Store.CurrentMemory(ctx, chat.Scope{Team: s.Team, Channel: s.Channel})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", s, err)
	}
	here := chat.ChannelMemory{ChannelID: s.Channel, LongTerm: textOf(known.Long), ShortTerm: textOf(known.Short)}
	r, err := b.assemble(ctx, chat.Conversation(s),
		reading{messages: b.withTranscripts(ctx, messages), channels: []chat.ChannelMemory{here}})
	if err != nil {
		return Recollection{}, fmt.Errorf("build context of %s: %w", s, err)
	}
	r.Conversation.Omitted = omitted
	return r, nil
}

// Name resolves the names in messages that were found for a conversation, and returns them as
// Recollection.Found.
func (b *Builder) Name(ctx context.Context, c chat.Conversation, found []chat.Found) (Recollection, error) {
	return b.assemble(ctx, c, reading{found: found})
}

// reading is what was read for a context.
type reading struct {
	messages []chat.Message
	channels []chat.ChannelMemory
	found    []chat.Found
	notes    []chat.Note
}

// assemble reads the names for what was read, has Slack tell those that are missing or old, and makes the context.
func (b *Builder) assemble(ctx context.Context, c chat.Conversation, read reading) (Recollection, error) {
	all := slices.Clone(read.messages)
	for _, f := range read.found {
		all = append(all, f.Message)
	}
	who, which := usersIn(all, b.Own.UserID), channelsIn(all, c)
	for _, n := range read.notes {
		who.add(n.Author)
	}
	who.addRemembered(read.channels)
	known, err := b.Store.Names(ctx, c.Team, c.Channel, who.list, which.list)
	if err != nil {
		return Recollection{}, err
	}
	b.refreshUsers(ctx, c.Team, who, known.Users)
	alone := known.OutsidersRead || known.MembersDue && !c.Direct()
	if read.messages != nil { // otherwise the context before has asked Slack, and saved what it found out
		if alone, err = b.outsiders(ctx, c, read.messages, known); err != nil {
			return Recollection{}, err
		}
	}
	b.refreshChannel(ctx, c, known)
	return b.recollect(c, read, known, which, alone), nil
}

// recollect makes a context of what was read and known. Where outsiders read along it has nothing of other channels.
func (b *Builder) recollect(c chat.Conversation, read reading, known store.Names, which idSet,
	alone bool) Recollection {
	if alone {
		maps.DeleteFunc(known.Channels, func(id, _ string) bool { return id != c.Channel })
		read.channels = slices.DeleteFunc(read.channels,
			func(m chat.ChannelMemory) bool { return m.ChannelID != c.Channel })
		read.found = slices.DeleteFunc(read.found, func(f chat.Found) bool { return f.Channel != c.Channel })
	}
	r := Recollection{Names: map[string]string{b.Own.UserID: b.Persona.Name}, Channels: known.Channels,
		Bot: b.Own.UserID, Alone: alone}
	for id, user := range known.Users {
		if user.Name != "" {
			r.Names[id] = user.Name
		}
	}
	label := labels(c, which, known)
	named := func(m chat.Message) chat.Message {
		switch name := r.Names[m.UserID]; {
		case m.Own:
			m.Name = b.Persona.Name
		case m.Name == "":
			m.Name = cmp.Or(name, m.UserID, m.BotID)
		}
		m.Text = withoutHiddenNames(m.Text, label)
		return m
	}
	shown := make([]chat.Message, len(read.messages))
	for i, m := range read.messages {
		shown[i] = named(m)
	}
	for _, f := range read.found {
		f.Message = named(f.Message)
		r.Found = append(r.Found, f)
	}
	for _, n := range read.notes {
		n.AuthorName = cmp.Or(r.Names[n.Author], n.Author)
		r.Notes = append(r.Notes, n)
	}
	r.Persona = b.Persona
	r.Conversation = chat.NewChannelMessages(c.Channel, r.Channels[c.Channel], shown)
	r.Context.Channels = read.channels
	r.TargetThread = c.Thread
	for i, known := range read.channels {
		if known.ChannelID == c.Channel {
			read.channels[i].ChannelName = cmp.Or(r.Channels[c.Channel], known.ChannelName)
		}
	}
	slices.SortFunc(r.Context.Channels, func(a, b chat.ChannelMemory) int {
		return cmp.Or(strings.Compare(a.ChannelName, b.ChannelName), strings.Compare(a.ChannelID, b.ChannelID))
	})
	return r
}

// textOf returns a memory's text, or an empty string for nil.
func textOf(m *store.Memory) string {
	if m == nil {
		return ""
	}
	return m.Text
}
