package chaos

import (
	"strings"
	"time"
)

// record is the result of a run: people's messages, the bot's posts in Slack, and the bot's
// decisions and outbox.
type record struct {
	said      []said
	posts     []post
	decisions []decision
	outbox    []part
}

// kind is what a message means to the bot.
type kind string

const (
	mention  kind = "mention"  // addresses the bot by <@BOT> or in a direct message
	question kind = "question" // addresses nobody; the model's verdict is yes
	chatter  kind = "chatter"  // the model's verdict is no
	stranger kind = "stranger" // from another bot
)

// said is a message of somebody other than the bot. Times are zero for what has not happened.
type said struct {
	n       int // its number in the plan
	kind    kind
	channel string
	thread  string // ts of the parent; empty at the top level
	ts      string
	direct  bool // in a direct message
	at      time.Time
	// acknowledged is when the first of its events was acknowledged.
	acknowledged time.Time
	// edited is when an edit made it a mention, editAcknowledged when that was acknowledged.
	edited, editAcknowledged time.Time
	// deleted is when it was deleted, deletionAcknowledged when that was acknowledged.
	deleted, deletionAcknowledged time.Time
}

// place is the conversation in which it was said.
func (m said) place() place { return place{m.channel, m.thread} }

// addresses reports whether it is or became a mention.
func (m said) addresses() bool { return m.kind == mention || !m.edited.IsZero() }

// addressedAt is when it became a mention.
func (m said) addressedAt() time.Time {
	if !m.edited.IsZero() {
		return m.edited
	}
	return m.at
}

// answerPlace is where a mention is answered. One at a channel's top level is answered in its
// thread.
func (m said) answerPlace() place {
	if m.thread == "" && !m.direct {
		return place{m.channel, m.ts}
	}
	return m.place()
}

// ambient reports whether it needs a judgment: a person's message that does not address the bot
// and was not deleted.
func (m said) ambient() bool {
	return (m.kind == question || m.kind == chatter) && !m.addresses() && m.deleted.IsZero()
}

// place is a conversation: a thread, or the top level of a channel if thread is empty.
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

// post is a message of the bot in Slack.
type post struct {
	channel, thread, ts string
	key                 string // of its metadata
	text                string
	at                  time.Time
	// began is the time of the call that posted it.
	began time.Time
}

// trigger returns the conversation and the ts of the message that the post answers, from its key:
// team/channel/thread/trigger/revision/part.
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
	// saw is the time of the newest message in the reply's prompt.
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

// isFinal reports whether it was carried out: it is neither withdrawn nor pending.
func (d decision) isFinal() bool { return d.outcome == "silent" || d.outcome == "posted" }
