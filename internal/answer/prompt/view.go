package prompt

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/chat"
)

// count is how many are not shown. If OrMore, counting stopped there.
type count int

func (n count) OrMore() bool { return n >= chat.CountAtMost }

// view is what a template sees. Every text in it has been through the guard, except for the
// operator's. Its field names are known to operators' own templates.
type view struct {
	Persona     struct{ Name, Prompt string }
	AgentPrompt string
	Workspace   struct{ LongTerm, ShortTerm string }
	// Channels are all known channels, without direct messages. ChannelMemories are the channels
	// and direct messages that have a memory. Summaries are the memories of threads.
	Channels, ChannelMemories []channelView
	Summaries                 []summaryView
	// Notes are what people asked the bot to remember in this channel. Found is earlier messages that
	// may have to do with the conversation, written as one text.
	Notes []noteView
	Found string
	// Tools is set if the model may call tools, or of a judgment, if the reply's may. CanSearch,
	// CanRemember, CanOpen and CanReadFiles are set if search_messages, remember, open_link and
	// read_file are among them.
	Tools, CanSearch, CanRemember, CanOpen, CanReadFiles bool
	// HasRemote is set if one of them is of another program, which describes it.
	HasRemote bool
	// CanAct is set if one of them acts, and so is only proposed.
	CanAct bool
	// CanPromise is set if look_again is among them.
	CanPromise bool
	// ChannelsUnlisted counts the channels that are not shown, ChannelsUntold and ThreadsUntold
	// the memories and summaries that are not shown.
	ChannelsUnlisted, ChannelsUntold, ThreadsUntold count
	// Channel is the name of the conversation's channel. Direct is set in a direct message, which
	// has no name.
	Channel string
	Direct  bool
	// Here is the memory of that channel, and Summary that of the target thread. A new memory
	// replaces them or must not repeat them.
	Here    channelView
	Summary string
	// TopLevel and Threads are the messages around the target. If the target is the top level,
	// TopLevel is empty and Threads are below it.
	TopLevel []messageView
	Threads  []threadView
	Target   targetView
	// Now is the current time, and Zone the name of the time zone of all times.
	Now, Zone string
	// Today is the date of Now. Weekday is its day of the week: 0 is Sunday, and it prints in English.
	Today    string
	Weekday  time.Weekday
	MaxDelay int
	// Watch and Hold are the two ranges of delay, such as "30–120", limited by MaxDelay. A range
	// above MaxDelay is empty.
	Watch, Hold string
	Bare        bool
	// Asked is the message to answer if others follow it in the target; otherwise nil.
	Asked *askedView
	// Files is what the files of the message to answer say. PictureAlone is set if the newest message to
	// judge is nothing but a picture, PictureShown if that comes with the question.
	Files                      string
	PictureAlone, PictureShown bool
	// Draft is the reply that a second look is about; empty in other prompts.
	Draft string
	// Promise is the promise that is due, in the prompts about one; otherwise nil.
	Promise *promiseView
	Fault   string
	// Seen is what is plain to see in the conversation to judge; nil in other prompts.
	Seen *seenView
	// MaxTokens limits a memory, and WindowHours is how far back a short-term one reaches; 0 if
	// not given.
	MaxTokens, WindowHours int
}

// channelView is a channel and its memory; a direct message has no name.
type channelView struct {
	Name, LongTerm, ShortTerm string
	Direct                    bool
}

type summaryView struct{ TS, Text string }

// noteView is a note: its number, its date, who asked for it, and what it says, on one line.
type noteView struct {
	ID               int64
	Date, Name, Text string
}

type threadView struct {
	TS       string
	Messages []messageView
}

// targetView is the conversation to answer or to summarise. Thread is empty for the top level.
type targetView struct {
	Thread   string
	Messages []messageView
}

// askedView is the time of the message to answer. Spoken is set if the bot has written something
// after it. It has no author: anybody can choose a name, so names stay out of the instruction.
type askedView struct {
	At     string
	Spoken bool
}

// messageView is a message or a gap. In a gap, only Skipped, OrMore and Unread are set: how many
// messages are left out, that there may be more, and that the reason is that they could not be
// read.
type messageView struct {
	ts             string
	own            bool
	At, Name, Text string
	// App is set if an app wrote the message. An app may choose any name, so Slack marks it too.
	App bool
	// Cut is how many characters of a long text are left out between Text and End.
	Cut   int
	End   string
	Files []string
	// Reactions are the emoji under it, each with the names of those who put it there.
	Reactions []reactionView
	// Ago is how long ago it was sent, and New whether it is among those to judge; in a judgment, in a
	// second look and where a promise is due.
	Ago *span
	New bool
	// Replied is set if there are replies but none is shown.
	Replied        bool
	Skipped        int
	OrMore, Unread bool
}

// Gap reports whether messages were, or may have been, left out here.
func (m messageView) Gap() bool { return m.Skipped > 0 || m.Unread }

// Empty reports whether nothing of the message can be shown.
func (m messageView) Empty() bool { return m.Text == "" && m.End == "" && len(m.Files) == 0 }

const (
	timeLayout = "2006-01-02 15:04:05"
	dateLayout = "2006-01-02"
)

func (r *Renderer) view(c chat.Context, o Options) view {
	n := newNames(c, o, r.directName)
	v := view{
		AgentPrompt:      o.AgentPrompt,
		ChannelsUnlisted: count(max(c.ChannelsUnlisted, 0)),
		ChannelsUntold:   count(max(c.ChannelsUntold, 0)),
		ThreadsUntold:    count(max(c.ThreadsUntold, 0)),
		Direct:           isDirect(c.Conversation.ChannelID),
		Now:              o.Now.In(r.location).Format(timeLayout),
		Zone:             zoneName(o.Now.In(r.location)),
		Today:            o.Now.In(r.location).Format(dateLayout),
		Weekday:          o.Now.In(r.location).Weekday(),
		MaxDelay:         max(o.MaxDelaySeconds, 0),
		Watch:            delayBand(30, 120, o.MaxDelaySeconds),
		Hold:             delayBand(180, 600, o.MaxDelaySeconds),
		Bare:             o.BareMention,
		Draft:            r.guard.text(o.Draft),
		Files:            o.FilesText,
		PictureAlone:     o.PictureAlone,
		PictureShown:     o.PictureShown,
		Fault:            cleanLine(o.Fault, 500),
		MaxTokens:        max(o.MaxTokens, 0),
		WindowHours:      max(o.WindowHours, 0),
		Seen:             seen(o),
		Tools:            len(o.Tools) > 0,
		CanSearch:        slices.Contains(o.Tools, chat.ToolSearchMessages),
		CanRemember:      slices.Contains(o.Tools, chat.ToolRemember),
		CanOpen:          slices.Contains(o.Tools, chat.ToolOpenLink),
		HasRemote:        slices.ContainsFunc(o.Tools, func(name string) bool { return strings.Contains(name, "__") }),
		CanAct:           o.Acts,
		CanPromise:       slices.Contains(o.Tools, chat.ToolLookAgain),
		CanReadFiles:     slices.Contains(o.Tools, chat.ToolReadFile),
	}
	if o.MaxCharacters > 0 {
		v.Files = shortened(v.Files, o.MaxCharacters)
	}
	if !v.Direct {
		v.Channel = n.channelName(c)
	}
	v.Promise = r.promiseView(o.Promise, n.users)
	v.Persona.Name = n.persona
	v.Persona.Prompt = c.Persona.SystemPrompt
	v.Workspace.LongTerm = r.guard.text(c.WorkspaceLongTerm)
	v.Workspace.ShortTerm = r.guard.text(c.WorkspaceShortTerm)
	for _, m := range c.Channels {
		channel := channelView{LongTerm: r.guard.text(m.LongTerm), ShortTerm: r.guard.text(m.ShortTerm), Direct: isDirect(m.ChannelID)}
		if !channel.Direct {
			channel.Name = pickName("", m.ChannelName, m.ChannelID)
			v.Channels = append(v.Channels, channel)
		}
		if channel.LongTerm != "" || channel.ShortTerm != "" {
			v.ChannelMemories = append(v.ChannelMemories, channel)
		}
		if m.ChannelID == c.Conversation.ChannelID {
			v.Here = channel
		}
	}
	for _, note := range c.Notes {
		v.Notes = append(v.Notes, noteView{
			note.ID, note.Noted.In(r.location).Format(dateLayout), cmp.Or(n.users[note.Author], cleanName(note.AuthorName), "?"),
			cleanLine(n.resolve(note.Text, r.location), chat.MaxNote),
		})
	}
	if len(c.Found) > 0 {
		v.Found = r.Found(c.Found, c.Persona, o, nil)
	}
	for _, ts := range sortedTS(c.ThreadMemories) {
		text := r.guard.text(c.ThreadMemories[ts])
		if text != "" {
			v.Summaries = append(v.Summaries, summaryView{cleanName(ts), text})
		}
		if ts == c.TargetThread {
			v.Summary = text
		}
	}
	for _, ts := range sortedTS(c.Conversation.Threads) {
		if ts == c.TargetThread {
			continue
		}
		if messages := r.messages(c.Conversation.Thread(ts), n, o); len(messages) > 0 {
			v.Threads = append(v.Threads, threadView{cleanName(ts), withGap(messages, c.Conversation, ts)})
		}
	}
	if c.TargetThread != "" {
		v.TopLevel = withGap(r.messages(c.Conversation.TopLevel, n, o), c.Conversation, "")
	}
	v.Target.Thread = cleanName(c.TargetThread)
	v.Target.Messages = r.targetMessages(c, n, o)
	v.Asked = askedMessage(v.Target.Messages, o.AnswerTS)
	return v
}

// askedMessage returns the message with a ts; nil if it is the last one or is missing.
func askedMessage(messages []messageView, ts string) *askedView {
	i := slices.IndexFunc(messages, func(m messageView) bool { return ts != "" && m.ts == ts })
	if i < 0 || i == len(messages)-1 {
		return nil
	}
	own := func(m messageView) bool { return m.own }
	return &askedView{At: messages[i].At, Spoken: slices.ContainsFunc(messages[i+1:], own)}
}

// withGap adds a gap to messages around the target, for Earlier and, at the top level, for
// OmittedAround. Only parents of threads are older than the gap.
func withGap(messages []messageView, c chat.ChannelMessages, thread string) []messageView {
	at, gap := 0, messageView{}
	if thread == "" {
		gap.Skipped = c.OmittedAround
	}
	if slices.Contains(c.Earlier, thread) {
		gap.Skipped, gap.OrMore = max(gap.Skipped, 1), true
		for at < len(messages) && chat.Time(messages[at].ts).Before(c.Since) {
			at++
		}
	}
	if !gap.Gap() {
		return messages
	}
	return slices.Insert(messages, at, gap)
}

// targetMessages returns the target's messages with a gap for Omitted and Unread. A thread's root
// is always shown, so the gap comes after it.
func (r *Renderer) targetMessages(c chat.Context, n names, o Options) []messageView {
	messages := r.messages(c.Target(), n, o)
	if c.TargetThread == "" {
		for i, m := range messages {
			messages[i].Replied = slices.Contains(c.Conversation.Earlier, m.ts) && len(c.Conversation.Threads[m.ts]) == 0
		}
	}
	omitted := max(c.Conversation.Omitted, 0)
	gap := messageView{Skipped: omitted, OrMore: omitted >= chat.CountAtMost || c.Conversation.Unread, Unread: c.Conversation.Unread}
	if !gap.Gap() {
		return messages
	}
	at := 0
	if all := c.Target(); len(messages) > 0 && c.TargetThread != "" && all[0].TS == c.TargetThread && !all[0].Deleted {
		at = 1
	}
	return slices.Insert(messages, at, gap)
}

// messages returns the views of all messages that are not deleted.
func (r *Renderer) messages(messages []chat.Message, n names, o Options) []messageView {
	var shown []messageView
	for _, m := range messages {
		if m.Deleted {
			continue
		}
		// Cut before guarding, because the rest of a cut line may look like a rule.
		text, between, end := cutMiddle(n.resolve(chat.Printable(m.Text), r.location), maxMessageCharacters, maxEndCharacters)
		v := messageView{
			ts:   m.TS,
			own:  m.Own,
			App:  m.ByBot() && !m.Own,
			At:   m.Time().In(r.location).Format(timeLayout),
			Name: n.author(m),
			Text: r.guard.text(text),
			Cut:  between,
			End:  r.guard.text(end),
			New:  slices.Contains(o.Pending, m.TS),

			Reactions: n.reactions(m),
		}
		if o.Signals != nil || o.Draft != "" || o.Promise != nil {
			ago := since(o.Now, m.Time())
			v.Ago = &ago
		}
		for _, f := range m.Files {
			f.Name = cleanFile(f)
			v.Files = append(v.Files, f.Label())
		}
		shown = append(shown, v)
	}
	return shown
}

func isDirect(channel string) bool { return chat.Conversation{Channel: channel}.Direct() }

// zoneName returns the name of a time's zone: the configured one ("Asia/Tokyo"), or else its
// abbreviation.
func zoneName(t time.Time) string {
	if name := t.Location().String(); name != "" && name != "Local" {
		return name
	}
	return t.Format("MST")
}

// delayBand formats the part of least–most seconds up to limit; empty if there is none.
func delayBand(least, most, limit int) string {
	most = min(most, limit)
	switch {
	case most < least:
		return ""
	case most == least:
		return strconv.Itoa(least)
	}
	return strconv.Itoa(least) + "–" + strconv.Itoa(most)
}

// sortedTS returns the keys of a map by ts, in order of time.
func sortedTS[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), chat.CompareTS)
}
