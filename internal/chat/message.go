package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Message is one message as it stands now: its newest revision.
type Message struct {
	Team    string
	Channel string
	TS      string
	// ThreadTS is the ts of the thread's parent; empty at the top level, and for a parent itself.
	ThreadTS string
	// UserID is empty for a message that only a bot id signs.
	UserID string
	// BotID is set when an app wrote the message.
	BotID string
	// Name is the author's display name, or the id where no name is known.
	Name string
	// Own is set when this bot wrote the message.
	Own bool
	// Text is Slack's mrkdwn source, with ids in mentions.
	Text  string
	Files []File
	// Revision is the ts of the newest edit; empty for a message never edited.
	Revision string
	Deleted  bool
}

// File is an attached file; its content is never read.
type File struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// MIME is the media type, such as image/png.
	MIME string `json:"mime"`
}

// Label stands for the file in a prompt, as in "[image: cat.png]": one line, whatever the file is called.
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

// Time is when the message was said.
func (m Message) Time() time.Time { return Time(m.TS) }

// ByBot reports whether an app wrote the message, this one included.
func (m Message) ByBot() bool { return m.BotID != "" || m.Own }

// ValidTS reports whether ts has the form of Slack's message identifiers: 1 to 11
// digits, a point, 1 to 9 digits. With one more its year could have five, which JSON refuses.
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

// Time is the instant that a ts names: UTC, to the microsecond. A malformed ts is the zero time.
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

// CompareTS orders the ts of messages by time: -1, 0 or 1. Those of one microsecond, and
// what is no ts, are ordered by their letters.
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

// Unmention is text with a name in place of each mention of user: Mentions finds none in it.
func Unmention(text, user, name string) string {
	if !Mentions(text, user) {
		return text
	}
	mention := regexp.MustCompile("<@" + regexp.QuoteMeta(user) + `(?:>|\|(?:[^<>]*>)?)`)
	return mention.ReplaceAllLiteralString(text, "@"+name)
}

var openingMention = regexp.MustCompile(`^[\s\pZ]*<@([A-Z0-9]+)(?:\|[^>]*)?>`)

// LeadingMention is the id of the user whom text addresses with its first words, or "".
func LeadingMention(text string) string {
	if m := openingMention.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
