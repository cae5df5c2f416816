package ledger

import (
	"encoding/json"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/label"
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
	MessageTS string `json:"message,omitempty"`
	// Earlier is set if there are earlier messages that are left out.
	Earlier bool    `json:"earlier,omitempty"`
	Entries []Entry `json:"entries"`
}

// Entry is one thing that happened. Exactly one of the pointers is set.
type Entry struct {
	At time.Time `json:"at"`
	// Thread is the thread in which it happened; empty at the top level.
	Thread   string    `json:"thread,omitempty"`
	Message  *Message  `json:"said,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Order    *Order    `json:"order,omitempty"`
}

// Message is a message.
type Message struct {
	TS   string `json:"ts"`
	User string `json:"user,omitempty"` // its id, or the app's id if there is no user
	Name string `json:"name,omitempty"`
	Own  bool   `json:"own,omitempty"`
	Bot  bool   `json:"bot,omitempty"`
	// Edited is the ts of the newest edit.
	Edited  string `json:"edited,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	Text    string `json:"text,omitempty"` // with Options.Text
	// Changes are what was relayed to the conversation about it, in order.
	Changes []Change `json:"passed,omitempty"`
	// Note says why nothing was decided about it, or with which other message it was decided about.
	Note string `json:"note,omitempty"`
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
	Kind     string `json:"kind"` // said, addressed, edited, deleted, hushed, approved, declined cancelled, due, moved or overdue
	Revision string `json:"revision,omitempty"`
	// By is who ordered it, such as slack:U….
	By string `json:"by,omitempty"`
	// Heard is when the bot recorded it.
	Heard time.Time `json:"heard"`
	// Relayed is when it reached the workflow; zero while it waits.
	Relayed time.Time `json:"relayed,omitzero"`
}

// Decision is whether the bot meant to speak, why, and the outcome.
type Decision struct {
	Key      string `json:"key"`
	Trigger  string `json:"trigger"` // ts
	Revision string `json:"revision,omitempty"`
	Source   string `json:"source"` // judgment, rule, addressed, operator or promise
	Rule     string `json:"rule,omitempty"`
	Respond  bool   `json:"should_respond"`
	// Reason is in the words of the model or the rule.
	Reason string `json:"reason"`
	// With are the earlier messages that were decided together with the trigger, by ts.
	With       []string `json:"with,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Delay      *int     `json:"delay_seconds,omitempty"`
	// Wanted is the model's yes; below MinConfidence it is silence all the same.
	Wanted        bool    `json:"wanted,omitempty"`
	MinConfidence float64 `json:"min_confidence,omitempty"`
	// Addressee and Gist are what the model saw: me, someone, everyone or nobody, and what it would add.
	Addressee string `json:"addressee,omitempty"`
	Gist      string `json:"gist,omitempty"`
	// React is the emoji that the judge chose in place of a reply, by its name.
	React string `json:"react,omitempty"`
	// Prompt is the fingerprint of the judgment's templates, Signals is conversation.Signals.
	Prompt  string          `json:"prompt,omitempty"`
	Signals json.RawMessage `json:"signals,omitempty"`
	// Calls are the model calls that were made for it.
	Calls []Call `json:"calls,omitempty"`
	// Steps are the tools that the model called before it wrote the reply, in order.
	Steps []Step `json:"steps,omitempty"`
	// Promise is the one that is kept or let go, if the source is promise and it is still known.
	Promise *Promise `json:"promise,omitempty"`
	// Outcome is pending, silent, posted, withdrawn, dropped, overruled, failed or retracted. By is the
	// message, the operator or the error that caused it.
	Outcome conversation.Outcome `json:"outcome"`
	By      string               `json:"by,omitempty"`
	// SilentFor is the reason of the rule in By that silenced it after all.
	SilentFor string    `json:"silent_for,omitempty"`
	Settled   time.Time `json:"settled,omitzero"`
	// Parts are the messages of the reply.
	Parts []Part `json:"parts,omitempty"`
	// Feedback is what people think of the reply; nil if nobody has voted.
	Feedback *Feedback `json:"feedback,omitempty"`
	// Hindsight is what followed says of it, and what people say, the weightiest first.
	Hindsight []Label `json:"hindsight,omitempty"`
	// Shadow is what other judges say of it. Nothing follows from that.
	Shadow []Opinion `json:"shadow,omitempty"`
}

// Opinion is what another judge says of a decision.
type Opinion struct {
	Judge   string `json:"judge"` // its name in the configuration
	Respond bool   `json:"should_respond"`
	Reason  string `json:"reason"`
	// Confidence is nil if it gave no verdict; then Call has the kind of error.
	Confidence *float64 `json:"confidence,omitempty"`
	Delay      *int     `json:"delay_seconds,omitempty"`
	// Wanted is the model's yes; below MinConfidence it counts as silence.
	Wanted        bool      `json:"wanted,omitempty"`
	MinConfidence float64   `json:"min_confidence,omitempty"`
	Prompt        string    `json:"prompt"` // the fingerprint of its templates
	Given         time.Time `json:"given"`
	// Call sums up its calls of the model.
	Call Call `json:"call"`
}

// Label is what one kind of evidence, or a person, says of a decision.
type Label struct {
	Kind   label.Kind  `json:"kind"`
	Truth  label.Truth `json:"truth"` // what would have been right
	Weight float64     `json:"weight"`
	At     time.Time   `json:"at"`
	// TS is the message that shows it; empty if none does.
	TS string `json:"ts,omitempty"`
	By string `json:"by,omitempty"` // cli:NAME, for a person's
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
	Purpose   string        `json:"purpose"` // response, judgment, memory or shadow
	Model     string        `json:"model"`
	TokensIn  int           `json:"tokens_in"`
	TokensOut int           `json:"tokens_out"`
	Latency   time.Duration `json:"latency_ns"`
	// Cost is nil if the model's price is unknown.
	Cost  *float64 `json:"cost,omitempty"`
	Error string   `json:"error,omitempty"` // its kind
}

// Step is a call of a tool, without what was asked and found.
type Step struct {
	Tool  string          `json:"tool"`  // as the model wrote it
	Round int             `json:"round"` // from 0; calls of one round run side by side
	State store.StepState `json:"state"`
	Tries int             `json:"tries"`
	// Took is the time from the first try to the result; 0 while there is none.
	Took time.Duration `json:"took_ns"`
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
	AskedBy string             `json:"asked_by,omitempty"` // user id
	Name    string             `json:"name,omitempty"`     // that of whoever asked
	// Due is when it is due next, or was in the end.
	Due   time.Time `json:"due"`
	Every string    `json:"every,omitempty"`
	// Number counts the times that it is due, from 1. For a decision it is the time that was decided about.
	Number int `json:"number"`
	// HeldUntil is until when a mute or quiet hours hold it up.
	HeldUntil time.Time `json:"held_until,omitzero"`
	// By is who ended it, such as slack:U…, or a rule; empty if it has ended in the ordinary way.
	By    string    `json:"ended_by,omitempty"`
	Ended time.Time `json:"ended,omitzero"`
}

// Proposal is what became of a call that people decide about.
type Proposal struct {
	ID     string              `json:"id"`
	Server string              `json:"server"`
	State  store.ProposalState `json:"state"`
	Lapses time.Time           `json:"lapses"`
	// By is who decided, such as slack:U…
	By      string    `json:"by,omitempty"`
	Decided time.Time `json:"decided,omitzero"`
	// Began is when the call was made, Ended when nothing more came of it.
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
}

// Part is one message of a reply on its way to Slack.
type Part struct {
	State store.Delivery `json:"state"`
	TS    string         `json:"ts,omitempty"` // once it is sent
	// Channel and Thread are where it is posted, if that is not the place of the conversation.
	Channel string `json:"channel,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Tries   int    `json:"tries"`
	Error   string `json:"error,omitempty"`
	// Reaction is the name of the emoji under the trigger, if the reply is none of words.
	Reaction string `json:"reaction,omitempty"`
}

// Order is something that somebody told the bot to do.
type Order struct {
	Kind string `json:"kind"` // answer-now, drop, snooze, mute, unmute, hush, retract, forget, forget-note, rollback, correct, export, rehear or move
	By   string `json:"by"`   // cli:NAME, slack:U…, starter:channel_id_changed/C…
	// Subject is the ts of a message, the term and version of a memory, a number of cases, or the other id.
	Subject string    `json:"subject,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	// Everywhere is set for a mute of the whole workspace, and for its end.
	Everywhere bool `json:"everywhere,omitempty"`
}
