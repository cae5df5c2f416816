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
	// Persona's Names are other spellings of its name.
	Persona struct {
		Name, Prompt string
		Names        []string
	}
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
	// Unreplied counts those messages of the top level to judge or answer whose replies are all left out. A prompt
	// gives the number after the messages, and not under each, because it changes.
	Unreplied int
	Target    targetView
	// Turned is set if the messages of Target come as chat turns, and not in this text.
	Turned bool
	// Now is the current time, and Zone the name of the time zone of all times.
	Now, Zone string
	// Today is the date of Now. Lately is the time since which a question may be about to be answered.
	// Weekday is the day of the week: 0 is Sunday, and it prints in English.
	Today    string
	Lately   string
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
	// Reactions are the emoji that may stand for the reply, Playbooks those that the reply may read.
	Reactions []string
	Playbooks []chat.Playbook
	// Seen is what is plain to see in the conversation to judge; nil in other prompts.
	Seen   *seenView
	marked bool // Options.Marked
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

// threadView is a thread. If its root is shown elsewhere, Under is the time of the root, which Messages lack.
type threadView struct {
	TS       string
	Under    string
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

// lately is how long ago a question may have been asked that somebody is about to answer.
const lately = 5 * time.Minute

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
		Lately:           o.Now.Add(-lately).In(r.location).Format(timeLayout),
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
		marked:           o.Marked,
		Reactions:        o.Reactions,
		Playbooks:        o.Playbooks,
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
	v.introduce(c, n)
	v.Promise = r.promiseView(o.Promise, n.users)
	r.remembered(&v, c, n)
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
	v.Target.Thread = cleanName(c.TargetThread)
	v.Target.Messages = r.targetMessages(c, n, o)
	v.Turned = turned(c, o)
	for _, m := range v.Target.Messages {
		if c.TargetThread == "" && slices.Contains(c.Conversation.Earlier, m.ts) &&
			len(c.Conversation.Threads[m.ts]) == 0 {
			v.Unreplied++
		}
	}
	v.Asked = askedMessage(v.Target.Messages, o.AnswerTS)
	v.Seen = r.seen(o)
	r.around(&v, c, n, o)
	return v
}

// around adds what was said around the target, and below it.
func (r *Renderer) around(v *view, c chat.Context, n names, o Options) {
	top := v.Target.Messages
	if c.TargetThread != "" {
		around := slices.DeleteFunc(r.messages(c.Conversation.TopLevel, n, o),
			func(m messageView) bool { return m.ts == c.TargetThread || rootAlone(m, c.Conversation) })
		v.TopLevel = withGap(around, c.Conversation, "")
		top = v.TopLevel
	}
	for _, ts := range sortedTS(c.Conversation.Threads) {
		if ts != c.TargetThread {
			v.addThread(ts, r.messages(c.Conversation.Thread(ts), n, o), top, c.Conversation)
		}
	}
}

// rootAlone reports whether a message of the top level is older than what is shown of that, and stands in its thread
// alone: it comes and goes with what is said there, and the beginning of a prompt would change with it.
func rootAlone(m messageView, c chat.ChannelMessages) bool {
	return len(c.Threads[m.ts]) > 0 && chat.Time(m.ts).Before(c.Began)
}

// introduce says who the bot is, and where.
func (v *view) introduce(c chat.Context, n names) {
	if !v.Direct {
		v.Channel = n.channelName(c)
	}
	v.Persona.Name, v.Persona.Prompt = n.persona, c.Persona.SystemPrompt
	for _, name := range c.Persona.Names {
		if name = cleanName(name); name != "" {
			v.Persona.Names = append(v.Persona.Names, name)
		}
	}
}

// addThread adds a thread. Its root, if it is among the shown messages of the top level, is not shown again.
func (v *view) addThread(ts string, messages, top []messageView, c chat.ChannelMessages) {
	t := threadView{TS: cleanName(ts)}
	i := slices.IndexFunc(top, func(m messageView) bool { return m.ts == ts })
	if i >= 0 {
		t.Under = top[i].At
		messages = slices.DeleteFunc(messages, func(m messageView) bool { return m.ts == ts })
	}
	if t.Messages = withGap(messages, c, ts); len(messages) > 0 {
		v.Threads = append(v.Threads, t)
	}
}

// Mark ends a part of a prompt that the next prompts of its kind begin with, too.
func (view) Mark() string { return stableMark }

// remembered adds the memories of a context to its view.
func (r *Renderer) remembered(v *view, c chat.Context, n names) {
	memory := func(text string) string { return r.guard.text(n.named(text)) }
	v.Workspace.LongTerm = memory(c.WorkspaceLongTerm)
	v.Workspace.ShortTerm = memory(c.WorkspaceShortTerm)
	for _, m := range c.Channels {
		channel := channelView{LongTerm: memory(m.LongTerm), ShortTerm: memory(m.ShortTerm),
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
		text := memory(c.ThreadMemories[ts])
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
