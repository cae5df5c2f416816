package chat

import (
	"maps"
	"slices"
	"time"
)

// ChannelMessages is a part of one channel's messages: its top level and its threads. Both are in
// order of ts. A thread's parent is in TopLevel and not repeated in Threads.
type ChannelMessages struct {
	ChannelID   string
	ChannelName string
	TopLevel    []Message
	// Threads maps a parent's ts to its replies.
	Threads map[string][]Message
	// Omitted is how many earlier messages of the target were left out; CountAtMost means that many
	// or more.
	Omitted int
	// OmittedAround is how many messages around the target thread were left out for lack of space.
	OmittedAround int
	// Earlier are the threads, by their parents' ts, and "" for the top level, from which more
	// messages were left out than are counted here. All of these are older than Since. The target
	// is not included.
	Earlier []string
	Since   time.Time
	// Began is when the shown part of the top level begins: what is older there is the root of a thread, and
	// stands there alone. The zero time: at its beginning.
	Began time.Time
	// Unread is set if earlier messages of the target could not be read. Then Omitted counts the
	// known ones, and there may be more.
	Unread bool
}

// CountAtMost limits how many messages that are not shown are counted: a channel may have millions.
const CountAtMost = 1000

// NewChannelMessages separates messages into top level and threads, in any order. If a ts occurs
// twice, the last message wins.
func NewChannelMessages(id, name string, messages []Message) ChannelMessages {
	c := ChannelMessages{ChannelID: id, ChannelName: name, Threads: map[string][]Message{}}
	last := make(map[string]int, len(messages)) // ts → last index
	for i, m := range messages {
		last[m.TS] = i
	}
	for i, m := range messages {
		if last[m.TS] != i {
			continue
		}
		if m.ThreadTS == "" || m.ThreadTS == m.TS {
			c.TopLevel = append(c.TopLevel, m)
		} else {
			c.Threads[m.ThreadTS] = append(c.Threads[m.ThreadTS], m)
		}
	}
	slices.SortFunc(c.TopLevel, byTime)
	for _, thread := range c.Threads {
		slices.SortFunc(thread, byTime)
	}
	return c
}

func byTime(a, b Message) int { return CompareTS(a.TS, b.TS) }

// All is every message once, in order of time.
func (c ChannelMessages) All() []Message {
	all := slices.Clone(c.TopLevel)
	for _, thread := range c.Threads {
		all = append(all, thread...)
	}
	slices.SortFunc(all, byTime)
	return all
}

// ThreadCount is how many threads have replies here.
func (c ChannelMessages) ThreadCount() int { return len(c.Threads) }

// TotalMessages is how many messages there are, each counted once.
func (c ChannelMessages) TotalMessages() int {
	n := len(c.TopLevel)
	for _, thread := range c.Threads {
		n += len(thread)
	}
	return n
}

// Thread is a thread's messages, with the parent first if it is known; nil for an unknown thread.
func (c ChannelMessages) Thread(ts string) []Message {
	var thread []Message
	for _, m := range c.TopLevel {
		if m.TS == ts {
			thread = append(thread, m)
		}
	}
	return append(thread, c.Threads[ts]...)
}

// Trim keeps a thread's parent and its newest replies, at most limit, and the reply with the ts answer
// besides, if it has one. The others count as omitted.
func (c ChannelMessages) Trim(thread string, limit int, answer string) ChannelMessages {
	replies := c.Threads[thread]
	if over := len(replies) - limit; over > 0 {
		kept := replies[over:]
		if i := slices.IndexFunc(replies[:over], func(m Message) bool { return m.TS == answer }); i >= 0 {
			kept = append([]Message{replies[i]}, kept...)
		}
		c.Threads = maps.Clone(c.Threads)
		c.Threads[thread] = kept
		c.Omitted += len(replies) - len(kept)
	}
	return c
}

// Persona is the bot's name and character.
type Persona struct {
	Name string
	// Names are other spellings of the name.
	Names        []string
	SystemPrompt string
}

// AllNames returns the names by which the bot is called.
func (p Persona) AllNames() []string { return append([]string{p.Name}, p.Names...) }

// Context is everything that a model is told for one judgment or reply. It is a value: nobody
// changes it.
type Context struct {
	Persona            Persona
	Conversation       ChannelMessages
	WorkspaceLongTerm  string
	WorkspaceShortTerm string
	// Channels are the active channels with their memories, by name. ChannelsUnlisted is how many
	// more there are, up to CountAtMost. ChannelsUntold is how many have a memory that was left
	// out.
	Channels                         []ChannelMemory
	ChannelsUnlisted, ChannelsUntold int
	// ThreadMemories maps a thread's ts to its summary. ThreadsUntold is how many more there are,
	// up to CountAtMost.
	ThreadMemories map[string]string
	ThreadsUntold  int
	// Notes are what people asked the bot to remember in this channel, the oldest first.
	Notes []Note
	// Found are earlier messages that may have to do with the conversation, the best match first.
	Found []Found
	// TargetThread is the thread in question; empty for the top level.
	TargetThread string
}

// Target is the messages in question: the target thread's, or the top level's.
func (c Context) Target() []Message {
	if c.TargetThread != "" {
		return c.Conversation.Thread(c.TargetThread)
	}
	return c.Conversation.TopLevel
}
