package chat

import "time"

// Scope is what a memory covers: the workspace, a channel with its threads, or a thread.
type Scope struct {
	Team string `json:"team"`
	// Channel is empty for the workspace.
	Channel string `json:"channel,omitempty"`
	// Thread is the ts of the parent; empty for the workspace and for a channel.
	Thread string `json:"thread,omitempty"`
}

// Workspace reports whether the scope is the whole workspace.
func (s Scope) Workspace() bool { return s.Channel == "" }

// Terms are the memories of the scope: a thread has only a short one.
func (s Scope) Terms() []Term {
	if s.Thread != "" {
		return []Term{ShortTerm}
	}
	return []Term{ShortTerm, LongTerm}
}

// String names the scope for people: "workspace", "channel C1" or "thread C1/1700000000.000100".
func (s Scope) String() string {
	switch {
	case s.Workspace():
		return "workspace"
	case s.Thread == "":
		return "channel " + s.Channel
	}
	return "thread " + s.Channel + "/" + s.Thread
}

// Term is how far back a memory goes.
type Term string

// The terms.
const (
	LongTerm  Term = "long"
	ShortTerm Term = "short"
)

// ChannelMemory is what is remembered of one channel. An empty text means that there is no memory.
type ChannelMemory struct {
	ChannelID   string
	ChannelName string
	LongTerm    string
	ShortTerm   string
}

// Note is something that a person asked the bot to remember in a channel. It is shown in that channel
// only, and no model rewrites it.
type Note struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
	// Author is the user id of whoever asked, AuthorName the display name, or the id.
	Author     string    `json:"author"`
	AuthorName string    `json:"author_name,omitempty"`
	Noted      time.Time `json:"noted_at"`
	// TS is the ts of the message that asked, Permalink its address; the latter may be empty.
	TS        string `json:"ts"`
	Permalink string `json:"permalink,omitempty"`
}

// MaxNote is the largest size of a note's text, in characters.
const MaxNote = 500
