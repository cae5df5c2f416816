package chat

import "time"

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
