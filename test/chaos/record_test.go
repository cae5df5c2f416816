package chaos

import (
	"strings"
	"time"
)

// record is what a run came to: what people said, what Slack holds of the bot, and
// what the bot's database says of it.
type record struct {
	said      []said
	posts     []post
	decisions []decision
	outbox    []part
}

// kind is what a message is to the bot.
type kind string

const (
	mention  kind = "mention"  // addresses the bot: <@BOT>, or anything in a direct message
	question kind = "question" // addresses nobody; the model's verdict is yes
	chatter  kind = "chatter"  // the model's verdict is no
	stranger kind = "stranger" // by another bot
)

// said is a message of somebody else's, and what became of it. Times are zero for
// what has not happened.
type said struct {
	n       int // its number in the plan
	kind    kind
	channel string
	thread  string // ts of the parent; empty at the top level
	ts      string
	direct  bool // in a direct message
	at      time.Time
	// heard is when an event of it was acknowledged.
	heard time.Time
	// edited is when an edit made it a mention, editHeard when that was acknowledged.
	edited, editHeard time.Time
	// deleted is when it was deleted, deletionHeard when that was acknowledged.
	deleted, deletionHeard time.Time
}

// here is the conversation in which it was said.
func (m said) here() place { return place{m.channel, m.thread} }

// addresses reports whether it is, or became, a mention.
func (m said) addresses() bool { return m.kind == mention || !m.edited.IsZero() }

// addressedAt is when it became a mention.
func (m said) addressedAt() time.Time {
	if !m.edited.IsZero() {
		return m.edited
	}
	return m.at
}

// home is the conversation in which an answer to it belongs if it is addressed: one at
// a channel's top level is answered in its thread.
func (m said) home() place {
	if m.thread == "" && !m.direct {
		return place{m.channel, m.ts}
	}
	return m.here()
}

// ambient reports whether a judgment is to be made of it: a person said it, and it
// stands unaddressed.
func (m said) ambient() bool {
	return (m.kind == question || m.kind == chatter) && !m.addresses() && m.deleted.IsZero()
}

// place is a conversation: a thread, or with thread empty the top level of a channel.
type place struct{ channel, thread string }

func (p place) String() string {
	if p.thread == "" {
		return p.channel
	}
	return p.channel + "/" + p.thread
}

// placeOf is the inverse of chat.Conversation.ID.
func placeOf(workflowID string) place {
	parts := append(strings.Split(workflowID, "/"), "", "", "")
	return place{parts[2], parts[3]}
}

// post is a message of the bot's own that stands in Slack.
type post struct {
	channel, thread, ts string
	key                 string // of its metadata
	text                string
	at                  time.Time
	// began is when Slack was called to post it.
	began time.Time
}

// trigger is the ts of the message that it answers, and in which conversation, as its
// key tells: team/channel/thread/trigger/revision/part.
func (p post) trigger() (place, string, bool) {
	parts := strings.Split(p.key, "/")
	if len(parts) != 6 {
		return place{}, "", false
	}
	return place{parts[1], parts[2]}, parts[3], true
}

// part is a row of the outbox.
type part struct {
	key, reply, state, sentTS, text, decision string
	place                                     place
	// saw is when the newest message was sent that its author had read.
	saw time.Time
}

// decision is a row of the ledger.
type decision struct {
	key     string
	place   place
	trigger string
	source  string // judgment, rule, addressed or operator
	rule    string
	yes     bool
	outcome string
	by      string
	at      time.Time
}

// made reports whether it stands: it was neither called back nor is it still open.
func (d decision) made() bool { return d.outcome == "silent" || d.outcome == "posted" }
