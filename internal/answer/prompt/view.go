package prompt

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
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
		HasRemote:        slices.ContainsFunc(o.Tools, chat.OfServer),
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
	r.remembered(&v, c)
	for _, note := range c.Notes {
		v.Notes = append(v.Notes, noteView{
			note.ID, note.Noted.In(r.location).Format(dateLayout),
			cmp.Or(n.users[note.Author], cleanName(note.AuthorName), "?"),
			cleanLine(n.resolve(note.Text, r.location), chat.MaxNote),
		})
	}
	if len(c.Found) > 0 {
		v.Found = r.Found(c.Found, c.Persona, o, nil)
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

// remembered adds the memories of a context to its view.
func (r *Renderer) remembered(v *view, c chat.Context) {
	v.Workspace.LongTerm = r.guard.text(c.WorkspaceLongTerm)
	v.Workspace.ShortTerm = r.guard.text(c.WorkspaceShortTerm)
	for _, m := range c.Channels {
		channel := channelView{LongTerm: r.guard.text(m.LongTerm), ShortTerm: r.guard.text(m.ShortTerm),
			Direct: isDirect(m.ChannelID)}
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
	for _, ts := range sortedTS(c.ThreadMemories) {
		text := r.guard.text(c.ThreadMemories[ts])
		if text != "" {
			v.Summaries = append(v.Summaries, summaryView{cleanName(ts), text})
		}
		if ts == c.TargetThread {
			v.Summary = text
		}
	}
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
