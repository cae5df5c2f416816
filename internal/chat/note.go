package chat

import "time"

// Note is something that a person asked the bot to remember in a channel. It is shown in that channel
// only, and no model rewrites it.
type Note struct {
	ID int64
	// TS is the ts of the message that asked, Permalink its address; the latter may be empty.
	TS, Permalink string
	// Author is the user id of whoever asked, AuthorName the display name, or the id.
	Author, AuthorName string
	Text               string
	Noted              time.Time
}

// MaxNote is the largest size of a note's text, in characters.
const MaxNote = 500
