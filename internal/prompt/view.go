package prompt

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"myao/internal/chat"
)

// count is how many are not shown; OrMore is set where nobody counted further.
type count int

func (n count) OrMore() bool { return n >= chat.CountAtMost }

// view is what a template sees. Every text in it that did not come from the
// operator has been through the guard.
type view struct {
	Persona     struct{ Name, Prompt string }
	AgentPrompt string
	Workspace   struct{ LongTerm, ShortTerm string }
	// Channels are all that the bot knows here, without a direct message;
	// ChannelMemories are what has a memory, with it. Summaries are those of threads.
	Channels, ChannelMemories []channelView
	Summaries                 []summaryView
	// ChannelsUnlisted is how many more channels there are than these, ChannelsUntold and
	// ThreadsUntold how many more memories and summaries.
	ChannelsUnlisted, ChannelsUntold, ThreadsUntold count
	// Channel is the name of the channel that the conversation is in; Direct
	// is set in a direct message, which has none.
	Channel string
	Direct  bool
	// Here is the memory of that channel, Summary the one of the target thread:
	// what a new memory takes the place of, or must not repeat.
	Here    channelView
	Summary string
	// TopLevel and Threads surround the target; where the target is the top
	// level, TopLevel is empty and Threads hang under it.
	TopLevel []messageView
	Threads  []threadView
	Target   targetView
	// Now and Zone are the current time and the name of the zone of all times.
	Now, Zone string
	// Today is the date of Now, Weekday its day of the week: 0 is Sunday, and printed it is in English.
	Today    string
	Weekday  time.Weekday
	MaxDelay int
	// Watch and Hold are the two bands of delay, such as "30–120", as far as
	// MaxDelay leaves room for them; else empty.
	Watch, Hold string
	Bare        bool
	// Asked is the message to answer, where others stand below it in the target; else nil.
	Asked *askedView
	Fault string
	// MaxTokens bounds a memory, WindowHours is how far back a short-term one
	// looks; 0 where that is not given.
	MaxTokens, WindowHours int
}

// channelView is a channel and its memory; a direct message has no name.
type channelView struct {
	Name, LongTerm, ShortTerm string
	Direct                    bool
}

type summaryView struct{ TS, Text string }

type threadView struct {
	TS       string
	Messages []messageView
}

// targetView is the conversation in question; Thread is empty for the top level.
type targetView struct {
	Thread   string
	Messages []messageView
}

// askedView is when a message was said; Spoken is set where the bot has said something below it.
// Whose it is stands with the message: a name, which anybody can choose, is kept from the instruction.
type askedView struct {
	At     string
	Spoken bool
}

// messageView is one message, or a gap: then Skipped is how many messages were
// left out in its place, OrMore that there may be more of them, Unread that this is
// because they could not be read, and nothing else is set.
type messageView struct {
	ts             string
	own            bool
	At, Name, Text string
	// App is set where an app wrote it, which may choose any name: Slack shows that beside the name.
	App bool
	// Cut is how many characters of the text are left out between Text and End, where it is long.
	Cut   int
	End   string
	Files []string
	// Replied is set where there are replies, and none is shown.
	Replied        bool
	Skipped        int
	OrMore, Unread bool
}

// Gap reports whether messages were, or may have been, left out in this place.
func (m messageView) Gap() bool { return m.Skipped > 0 || m.Unread }

// Empty reports whether nothing of the message can be shown.
func (m messageView) Empty() bool { return m.Text == "" && m.End == "" && len(m.Files) == 0 }

const (
	timeLayout = "2006-01-02 15:04:05"
	dateLayout = "2006-01-02"
)

func (r *Renderer) view(c chat.Context, o Options) view {
	n := newNames(c, o, r.direct)
	v := view{
		AgentPrompt:      o.AgentPrompt,
		ChannelsUnlisted: count(max(c.ChannelsUnlisted, 0)),
		ChannelsUntold:   count(max(c.ChannelsUntold, 0)),
		ThreadsUntold:    count(max(c.ThreadsUntold, 0)),
		Direct:           direct(c.Conversation.ChannelID),
		Now:              o.Now.In(r.location).Format(timeLayout),
		Zone:             zone(o.Now.In(r.location)),
		Today:            o.Now.In(r.location).Format(dateLayout),
		Weekday:          o.Now.In(r.location).Weekday(),
		MaxDelay:         max(o.MaxDelaySeconds, 0),
		Watch:            band(30, 120, o.MaxDelaySeconds),
		Hold:             band(180, 600, o.MaxDelaySeconds),
		Bare:             o.BareMention,
		Fault:            cleanLine(o.Fault, 500),
		MaxTokens:        max(o.MaxTokens, 0),
		WindowHours:      max(o.WindowHours, 0),
	}
	if !v.Direct {
		v.Channel = n.place(c)
	}
	v.Persona.Name = n.persona
	v.Persona.Prompt = c.Persona.SystemPrompt
	v.Workspace.LongTerm = r.guard.text(c.WorkspaceLongTerm)
	v.Workspace.ShortTerm = r.guard.text(c.WorkspaceShortTerm)
	for _, m := range c.Channels {
		channel := channelView{LongTerm: r.guard.text(m.LongTerm), ShortTerm: r.guard.text(m.ShortTerm), Direct: direct(m.ChannelID)}
		if !channel.Direct {
			channel.Name = orName("", m.ChannelName, m.ChannelID)
			v.Channels = append(v.Channels, channel)
		}
		if channel.LongTerm != "" || channel.ShortTerm != "" {
			v.ChannelMemories = append(v.ChannelMemories, channel)
		}
		if m.ChannelID == c.Conversation.ChannelID {
			v.Here = channel
		}
	}
	for _, ts := range inOrder(c.ThreadMemories) {
		text := r.guard.text(c.ThreadMemories[ts])
		if text != "" {
			v.Summaries = append(v.Summaries, summaryView{cleanName(ts), text})
		}
		if ts == c.TargetThread {
			v.Summary = text
		}
	}
	for _, ts := range inOrder(c.Conversation.Threads) {
		if ts == c.TargetThread {
			continue
		}
		if messages := r.messages(c.Conversation.Thread(ts), n); len(messages) > 0 {
			v.Threads = append(v.Threads, threadView{cleanName(ts), around(messages, c.Conversation, ts)})
		}
	}
	if c.TargetThread != "" {
		v.TopLevel = around(r.messages(c.Conversation.TopLevel, n), c.Conversation, "")
	}
	v.Target.Thread = cleanName(c.TargetThread)
	v.Target.Messages = r.target(c, n)
	v.Asked = asked(v.Target.Messages, o.AnswerTS)
	return v
}

// asked is the message of a ts, unless it is the last one or not among them.
func asked(messages []messageView, ts string) *askedView {
	i := slices.IndexFunc(messages, func(m messageView) bool { return ts != "" && m.ts == ts })
	if i < 0 || i == len(messages)-1 {
		return nil
	}
	own := func(m messageView) bool { return m.own }
	return &askedView{At: messages[i].At, Spoken: slices.ContainsFunc(messages[i+1:], own)}
}

// around is messages that surround the target, with the gap that Earlier tells of, and at the
// top level OmittedAround. Older than what is left out are only the parents of threads.
func around(messages []messageView, c chat.ChannelMessages, thread string) []messageView {
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

// target is the conversation in question with the gap that Omitted and Unread tell of.
// A thread's root is always kept, so the gap comes after it.
func (r *Renderer) target(c chat.Context, n names) []messageView {
	messages := r.messages(c.Target(), n)
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

// messages is what is shown of messages: all but the deleted.
func (r *Renderer) messages(messages []chat.Message, n names) []messageView {
	var shown []messageView
	for _, m := range messages {
		if m.Deleted {
			continue
		}
		// It is cut before it is guarded: what is left of a line may look like a rule.
		text, between, end := cut(n.resolve(clean(m.Text), r.location), messageAtMost, endAtMost)
		v := messageView{
			ts:   m.TS,
			own:  m.Own,
			App:  m.ByBot() && !m.Own,
			At:   m.Time().In(r.location).Format(timeLayout),
			Name: n.author(m),
			Text: r.guard.text(text),
			Cut:  between,
			End:  r.guard.text(end),
		}
		for _, f := range m.Files {
			f.Name = cleanFile(f)
			v.Files = append(v.Files, f.Label())
		}
		shown = append(shown, v)
	}
	return shown
}

func direct(channel string) bool { return chat.Conversation{Channel: channel}.Direct() }

// zone names a time's zone: as configured ("Asia/Tokyo"), or where that says
// nothing, by its abbreviation.
func zone(t time.Time) string {
	if name := t.Location().String(); name != "" && name != "Local" {
		return name
	}
	return t.Format("MST")
}

// band is the part of least–most seconds that lies within limit; empty if there is none.
func band(least, most, limit int) string {
	most = min(most, limit)
	switch {
	case most < least:
		return ""
	case most == least:
		return strconv.Itoa(least)
	}
	return strconv.Itoa(least) + "–" + strconv.Itoa(most)
}

// inOrder is the keys of a map from ts, in order of time.
func inOrder[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), chat.CompareTS)
}
