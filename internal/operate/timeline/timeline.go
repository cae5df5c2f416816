// Package timeline explains what became of messages. It assembles the timeline of a conversation from
// the database's messages, changes, decisions, model calls, replies and orders. It asks neither
// Slack nor Temporal. If nothing was recorded about a message, it says why, as far as the database
// and the settings tell.
package timeline

import (
	"encoding/json"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Options say what a timeline contains.
type Options struct {
	// MessageTS restricts the timeline to what concerns one message of the conversation.
	MessageTS string
	// Since leaves out everything earlier; zero leaves out nothing.
	Since time.Time
	// Limit is how many messages are included, the newest first; 0 means 50.
	Limit int
	// Text includes the messages' texts, and the reasons of votes.
	Text bool
	// Threads includes the threads of a channel.
	Threads bool
	// Settings are the channel's settings. They explain why a message was not heard.
	Settings config.ChannelSettings
	// LedgerSince is since when the ledger is complete; zero means always.
	LedgerSince time.Time
	// Prices are the models' prices, by name (config.LLM.Prices).
	Prices map[string]config.Price
}

// Timeline is what happened in a conversation, in order of time.
type Timeline struct {
	Conversation chat.Conversation `json:"conversation"`
	// ChannelName is empty if it is unknown, and for a direct message.
	ChannelName string `json:"channel_name,omitempty"`
	// MessageTS is the message to which the timeline is restricted.
	MessageTS string `json:"message_ts,omitempty"`
	// Earlier is set if there are earlier messages that are left out.
	Earlier bool    `json:"earlier,omitempty"`
	Entries []Entry `json:"entries"`
}

// Entry is one thing that happened. Exactly one of the pointers is set.
type Entry struct {
	At time.Time `json:"at"`
	// Thread is the thread in which it happened; empty at the top level.
	Thread   string    `json:"thread,omitempty"`
	Message  *Message  `json:"message,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Order    *Order    `json:"order,omitempty"`
}

// Message is a message.
type Message struct {
	TS   string `json:"ts"`
	User string `json:"user,omitempty"` // its id, or the app's id if there is no user
	Name string `json:"user_name,omitempty"`
	Own  bool   `json:"own,omitempty"`
	Bot  bool   `json:"bot,omitempty"`
	// Edited is the ts of the newest edit.
	Edited  string `json:"edited,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	Text    string `json:"text,omitempty"` // with Options.Text
	// Changes are what was relayed to the conversation about it, in order.
	Changes []Change `json:"changes,omitempty"`
	// Explanation says why nothing was decided about it, or with which other message it was decided about.
	Explanation string `json:"explanation,omitempty"`
}

// OnlyEdited reports whether the bot has only heard of an edit of the message, which asks for
// nothing on its own.
func (s Message) OnlyEdited() bool {
	has := func(k conversation.Kind) bool {
		return slices.ContainsFunc(s.Changes, func(p Change) bool { return p.Kind == string(k) })
	}
	return has(conversation.Edited) && !has(conversation.Said) && !has(conversation.Addressed)
}

// Change is a change on its way to the conversation's workflow.
type Change struct {
	// said, addressed, edited, deleted, hushed, approved, declined cancelled, due, moved or overdue
	Kind     string `json:"kind"`
	Revision string `json:"revision,omitempty"`
	// By is who ordered it, such as slack:U….
	By string `json:"by,omitempty"`
	// Stored is when the bot recorded it.
	Stored time.Time `json:"stored_at"`
	// Relayed is when it reached the workflow; zero while it waits.
	Relayed time.Time `json:"relayed_at,omitzero"`
}

// Decision is whether the bot meant to speak, why, and the outcome.
type Decision struct {
	store.Decision
	Signals json.RawMessage `json:"signals,omitempty"` // conversation.Features
	// With are the earlier messages that were decided together with the trigger, by ts.
	With []string `json:"with,omitempty"`
	// Calls are the model calls that were made for it.
	Calls []Call `json:"calls,omitempty"`
	// Steps are the tools that the model called before it wrote the reply, in order.
	Steps []Step `json:"steps,omitempty"`
	// Promise is the one that is kept or let go, if the source is promise and it is still known.
	Promise *Promise `json:"promise,omitempty"`
	// OutcomeReason is the reason of the rule in OutcomeBy that silenced it after all.
	OutcomeReason string    `json:"outcome_reason,omitempty"`
	Settled       time.Time `json:"settled_at,omitzero"`
	// Parts are the messages of the reply.
	Parts []Part `json:"parts,omitempty"`
	// Feedback is what people think of the reply; nil if nobody has voted.
	Feedback *Feedback `json:"feedback,omitempty"`
	// Labels are what followed says of it, and what people say, the weightiest first.
	Labels []Label `json:"labels,omitempty"`
	// Opinions are what other judges say of it. Nothing follows from that.
	Opinions []Opinion `json:"opinions,omitempty"`
}

// Opinion is what another judge says of a decision.
type Opinion struct {
	store.Opinion
	Given time.Time `json:"given_at"`
	// Call sums up its calls of the model. If it gave no verdict, Call has the kind of error.
	Call Call `json:"call"`
}

// Label is what one kind of evidence, or a person, says of a decision.
type Label struct {
	store.Label
	At time.Time `json:"at"`
}

// Feedback counts the votes about a reply. It says nothing about who voted.
type Feedback struct {
	Up   int `json:"up"`
	Down int `json:"down"`
	// Reasons are given with votes down, with Options.Text.
	Reasons []string `json:"reasons,omitempty"`
}

// Call is a call of a model.
type Call struct {
	store.Call
	// Cost is nil if the model's price is unknown.
	Cost *float64 `json:"cost,omitempty"`
}

// Step is a call of a tool, without what was asked and found.
type Step struct {
	Tool     string          `json:"tool"`  // as the model wrote it
	Round    int             `json:"round"` // from 0; calls of one round run side by side
	State    store.StepState `json:"state"`
	Attempts int             `json:"attempts"`
	// Took is the time from the first try to the result; 0 while there is none.
	Took time.Duration `json:"duration_ns"`
	// Size is the length of the result in characters.
	Size int `json:"characters"`
	// Failed is set if the result is an error that the model could correct.
	Failed bool `json:"failed,omitempty"`
	// Proposal is set if people decide about the call.
	Proposal *Proposal `json:"proposal,omitempty"`
	// Promise is set if the call has made one.
	Promise *Promise `json:"promise,omitempty"`
}

// Promise is what has become of a promise, without its words.
type Promise struct {
	ID      string             `json:"id"`
	State   store.PromiseState `json:"state"`
	AskedBy string             `json:"asked_by,omitempty"`      // user id
	Name    string             `json:"asked_by_name,omitempty"` // that of whoever asked
	// Due is when it is due next, or was in the end.
	Due   time.Time `json:"due"`
	Every string    `json:"every,omitempty"`
	// Number counts the times that it is due, from 1. For a decision it is the time that was decided about.
	Number int `json:"number"`
	// HeldUntil is until when a mute or quiet hours hold it up.
	HeldUntil time.Time `json:"held_until,omitzero"`
	// By is who ended it, such as slack:U…, or a rule; empty if it has ended in the ordinary way.
	By    string    `json:"ended_by,omitempty"`
	Ended time.Time `json:"ended_at,omitzero"`
}

// Proposal is what became of a call that people decide about.
type Proposal struct {
	ID     string              `json:"id"`
	Server string              `json:"server"`
	State  store.ProposalState `json:"state"`
	Lapses time.Time           `json:"lapses_at"`
	// By is who decided, such as slack:U…
	By      string    `json:"decided_by,omitempty"`
	Decided time.Time `json:"decided_at,omitzero"`
	// Began is when the call was made, Ended when nothing more came of it.
	Began time.Time `json:"began_at,omitzero"`
	Ended time.Time `json:"ended_at,omitzero"`
}

// Part is one message of a reply on its way to Slack.
type Part struct {
	State store.Delivery `json:"state"`
	TS    string         `json:"ts,omitempty"` // once it is sent
	// Channel and Thread are where it is posted, if that is not the place of the conversation.
	Channel  string `json:"channel,omitempty"`
	Thread   string `json:"thread,omitempty"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`
	// Reaction is the name of the emoji under the trigger, if the reply is none of words.
	Reaction string `json:"reaction,omitempty"`
}

// Order is something that somebody told the bot to do.
type Order struct {
	store.Order
	// Everywhere is set for a mute of the whole workspace, and for its end.
	Everywhere bool `json:"everywhere,omitempty"`
}
