package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Message is the newest revision of a message.
type Message struct {
	Team    string
	Channel string
	TS      string
	// ThreadTS is the ts of the thread's parent; empty at the top level, and for a parent itself.
	ThreadTS string
	// UserID is empty for a message that has only a bot id.
	UserID string
	// BotID is set if an app wrote the message.
	BotID string
	// Through is the bot id of the app through which a person wrote the message; then BotID is empty.
	Through string
	// Name is the author's display name, or the id if no name is known.
	Name string
	// Own is set if this bot wrote the message.
	Own bool
	// Text is Slack's mrkdwn source, with ids in mentions.
	Text  string
	Files []File
	// Reactions are those that stand under it, the oldest first.
	Reactions []Reaction
	// Revision is the ts of the newest edit; empty for a message never edited.
	Revision string
	Deleted  bool
}

// File is what a message tells of an attached file. Of its content only a recording's transcript is stored: who needs
// the rest reads it anew from Slack.
type File struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// MIME is the media type, such as image/png.
	MIME string `json:"mime"`
	// Transcript is of a recording.
	Transcript Transcript `json:"transcript,omitzero"`
}

// Label represents the file in a prompt, as in "[image: cat.png]". It is one line, whatever the
// name.
func (f File) Label() string {
	kind, _, _ := strings.Cut(f.MIME, "/")
	switch kind {
	case "image", "video", "audio":
	default:
		kind = "file"
	}
	return "[" + kind + ": " + oneLine(f.Name) + "]"
}

// Conversation is the conversation that the message is in: its thread, or the channel's top level.
func (m Message) Conversation() Conversation {
	return Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}
}

// Time is when the message was sent.
func (m Message) Time() time.Time { return Time(m.TS) }

// ByBot reports whether an app wrote the message, including this one.
func (m Message) ByBot() bool { return m.BotID != "" || m.Own }

// NamesUserAndApp reports whether a message comes from a user and an app. Slack writes both alike where an app writes
// as its own user, and where a person writes through an app (ByPerson).
func (m Message) NamesUserAndApp() bool {
	return m.UserID != "" && m.BotID != "" && m.BotID != m.UserID && !m.Own
}

// ByPerson returns the message as that of a person who wrote it through the app that it names.
func (m Message) ByPerson() Message {
	m.BotID, m.Through = "", m.BotID
	return m
}

// ValidTS reports whether ts has the form of Slack's message identifiers: 1 to 11 digits, a point,
// 1 to 9 digits. With 12 digits the year could exceed 9999, which JSON times cannot represent.
func ValidTS(ts string) bool {
	sec, frac, found := strings.Cut(ts, ".")
	return found && digits(sec, 11) && digits(frac, 9)
}

func digits(s string, most int) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= most
}

// Time is the instant of a ts: UTC, to the microsecond. A malformed ts is the zero time.
func Time(ts string) time.Time {
	if !ValidTS(ts) {
		return time.Time{}
	}
	sec, frac, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Time{}
	}
	us, err := strconv.ParseInt((frac + "000000")[:6], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, us*1000).UTC()
}

// TS is the ts of an instant, the inverse of Time: to the microsecond, from 1970 on.
func TS(t time.Time) string {
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000)
}

// CompareTS orders ts by time: -1, 0 or 1. Equal microseconds and malformed ts are ordered as
// strings.
func CompareTS(a, b string) int {
	if d := Time(a).Compare(Time(b)); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// Mentions reports whether text holds <@user> or <@user|label>.
func Mentions(text, user string) bool {
	if user == "" {
		return false
	}
	return strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|")
}

// Unmention replaces each mention of user in text by a name, so that Mentions finds none.
func Unmention(text, user, name string) string {
	if !Mentions(text, user) {
		return text
	}
	mention := regexp.MustCompile("<@" + regexp.QuoteMeta(user) + `(?:>|\|(?:[^<>]*>)?)`)
	return mention.ReplaceAllLiteralString(text, "@"+name)
}

var openingMention = regexp.MustCompile(`^[\s\pZ]*<@([A-Z0-9]+)(?:\|[^>]*)?>`)

// LeadingMention is the id of the user whom text mentions first, before any other word, or "".
func LeadingMention(text string) string {
	if m := openingMention.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// Found is a message found anywhere in the workspace.
type Found struct {
	Message
	// ChannelName is the name of its channel; empty for a direct message.
	ChannelName string
}

// Person names somebody in a workspace.
type Person struct {
	Team string `json:"team"`
	User string `json:"user"` // id
}
