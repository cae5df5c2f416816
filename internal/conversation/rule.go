package conversation

import (
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
)

// Mode is what the bot does in a channel.
type Mode string

const (
	ModeJudge   Mode = "judge"   // answers when addressed, or when the judgment says yes
	ModeMention Mode = "mention" // answers when mentioned
	ModeAll     Mode = "all"     // answers every message by a person
	ModeOff     Mode = "off"     // never answers
)

// Rule names a reason to be silent other than a no of the judgment. It is recorded in the ledger.
type Rule string

const (
	NoRule             Rule = ""
	RuleModeOff        Rule = "mode_off"
	RuleModeMention    Rule = "mode_mention"
	RuleSilenced       Rule = "silenced"
	RuleStopped        Rule = "stopped"
	RuleSpokeLast      Rule = "spoke_last"
	RuleTooOld         Rule = "too_old"
	RuleAddressesOther Rule = "addresses_other"
	RuleBotBudget      Rule = "bot_budget"
	RuleNothingLeft    Rule = "nothing_left"
	RuleQuietHours     Rule = "quiet_hours"
	RuleOverBudget     Rule = "over_budget"
	RuleLowConfidence  Rule = "low_confidence"
	RuleSecondLook     Rule = "second_look"
	RuleUnknownOutcome Rule = "lapsed"
)

// reasons are recorded in the ledger with their rule.
var reasons = map[Rule]string{
	RuleModeOff:        "the channel's mode is off",
	RuleModeMention:    "the channel's mode is mention, and nobody mentioned the bot",
	RuleSilenced:       "the conversation is muted or snoozed, or was while the reply waited",
	RuleStopped:        "somebody told the bot to stop in this thread, and nobody has mentioned it since",
	RuleSpokeLast:      "the newest message is the bot's own",
	RuleTooOld:         "the message is older than max_message_age_seconds",
	RuleAddressesOther: "every message that waits opens by addressing somebody else",
	RuleBotBudget:      "only apps have written since the bot's last replies, in their own name or a person's",
	RuleNothingLeft:    "the message is no longer there",
	RuleQuietHours:     "it is the channel's quiet hours",
	RuleOverBudget:     "a budget of today is used up",
	RuleLowConfidence:  "the model wanted to speak, and was less sure than min_confidence",
	RuleSecondLook:     "the model looked at its draft again, and would not post it any more",
	RuleUnknownOutcome: "it was heard of before what the ledger keeps, and may have been answered",
}

// Rules returns all rules in order.
func Rules() []Rule { return slices.Sorted(maps.Keys(reasons)) }

// Reason explains the rule to people.
func (r Rule) Reason() string { return reasons[r] }

// ReasonMutedEverywhere takes the place of the reason of RuleSilenced while the bot is muted in the
// whole workspace.
const ReasonMutedEverywhere = "the bot is muted everywhere"

// The reason of RuleOverBudget where it is known whose budget is used up.
const (
	ReasonChannelBudget   = "the channel's budget of today is used up"
	ReasonWorkspaceBudget = "the workspace's budget of today is used up"
)

// maxBotReplies is how often the bot answers other bots until a person speaks again.
const maxBotReplies = 3

// AppPause is how long after a message that somebody wrote through an app the bot's answers to such messages no longer
// count. An app that writes on its own takes no such pause.
const AppPause = time.Hour

// maxThroughApps is how many such messages of a channel the bot answers within AppPause, in all threads together: each
// mention opens one.
const maxThroughApps = 10

// Addresses reports whether a message addresses the bot. Only people do: by a mention, and
// by anything in a channel of mode all or in a direct message.
func Addresses(m chat.Message, mention bool, mode Mode) bool {
	return !m.ByBot() && (mention || mode == ModeAll || chat.Conversation{Channel: m.Channel}.Direct())
}

// Facts are the inputs of the rules.
type Facts struct {
	Now    time.Time
	Mode   Mode
	BotID  string // the bot's own user id
	MaxAge time.Duration
	// SilencedUntil is the end of a mute or snooze; the zero time without one.
	SilencedUntil time.Time
	// MutedUntil is the end of a mute of the whole workspace, which is part of SilencedUntil.
	MutedUntil time.Time
	// Silenced is set where a judged reply was pending while the bot was muted everywhere, or in a
	// thread while the channel was muted or snoozed, even if that is over.
	Silenced bool
	// Stopped is set in a thread in which the bot was told to stop, until somebody mentions it.
	Stopped bool
	// Quiet is set during the channel's quiet hours.
	Quiet bool
	// OverBudget is set when the channel's budget of the day is used up, or the workspace's. In the latter
	// case WorkspaceBudget is set, too.
	OverBudget, WorkspaceBudget bool
	// UnknownOutcome is set when the ledger no longer tells whether the message was answered.
	UnknownOutcome bool
	// Tail holds the newest messages of the conversation, in order of time.
	Tail []chat.Message
	// ThroughApps is how many messages of the channel that people had written through apps were answered within
	// AppPause.
	ThroughApps int
	// Trigger is the message in question; the zero Message if it was deleted.
	Trigger chat.Message
	// Pending holds all messages that are judged, in order of time, the trigger among them. Empty:
	// the trigger alone.
	Pending []chat.Message
	// Saw is the time of the newest message that the model had read when it wrote the bot's
	// newest message; the zero time if unknown.
	Saw time.Time
}

// Reason explains to people why a rule applies to these facts.
func (f Facts) Reason(r Rule) string {
	switch {
	case r == RuleSilenced && f.Now.Before(f.MutedUntil):
		return ReasonMutedEverywhere
	case r == RuleOverBudget && f.WorkspaceBudget:
		return ReasonWorkspaceBudget
	case r == RuleOverBudget:
		return ReasonChannelBudget
	}
	return r.Reason()
}

// AddressedRule is the rule that silences any reply, even to an addressed message.
func (f Facts) AddressedRule() Rule {
	switch {
	case f.Mode == ModeOff:
		return RuleModeOff
	case f.Now.Before(f.SilencedUntil):
		return RuleSilenced
	case f.Stopped && !chat.Mentions(f.Trigger.Text, f.BotID): // a mention from before the stop is still answered
		return RuleStopped
	case f.UnknownOutcome:
		return RuleUnknownOutcome
	}
	return NoRule
}

// AnswerRule is the rule that silences the answer to a message that addresses the bot. A person may write through an
// app, and an app may answer the bot in a person's name; from one message they cannot be told apart.
func (f Facts) AnswerRule() Rule {
	if r := f.AddressedRule(); r != NoRule {
		return r
	}
	if f.Trigger.Through != "" && (f.repliesToBots() >= maxBotReplies || f.ThroughApps >= maxThroughApps) {
		return RuleBotBudget
	}
	return NoRule
}

// UnsolicitedRule is the rule that silences a judged reply after a yes, before it is composed.
func (f Facts) UnsolicitedRule() Rule {
	switch r := f.AddressedRule(); {
	case r != NoRule:
		return r
	case f.Silenced:
		return RuleSilenced
	case f.Quiet:
		return RuleQuietHours
	case f.OverBudget:
		return RuleOverBudget
	}
	return NoRule
}

// JudgmentRule is the first rule that makes the judgment of a conversation unnecessary.
func (f Facts) JudgmentRule() Rule {
	if r := f.AddressedRule(); r != NoRule {
		return r
	}
	if len(f.Tail) == 0 || f.Trigger.TS == "" {
		return RuleNothingLeft
	}
	newest := f.Tail[len(f.Tail)-1]
	switch {
	case f.Mode == ModeMention:
		return RuleModeMention
	case newest.Own && !f.Trigger.Time().After(f.readUntil(newest)):
		return RuleSpokeLast
	case f.MaxAge > 0 && f.Now.Sub(f.Trigger.Time()) > f.MaxAge:
		return RuleTooOld
	case f.addressOthers():
		return RuleAddressesOther
	case f.repliesToBots() >= maxBotReplies:
		return RuleBotBudget
	}
	return f.UnsolicitedRule()
}

// addressOthers reports whether every pending message opens by mentioning somebody else. A question
// before one of these still wants a judgment.
func (f Facts) addressOthers() bool {
	pending := f.Pending
	if len(pending) == 0 {
		pending = []chat.Message{f.Trigger}
	}
	return !slices.ContainsFunc(pending, func(m chat.Message) bool {
		opening := chat.LeadingMention(m.Text)
		return opening == "" || opening == f.BotID
	})
}

// readUntil is the time up to which the model had read when it wrote the bot's message: that
// message does not answer what came while it was being written.
func (f Facts) readUntil(own chat.Message) time.Time {
	if f.Saw.IsZero() {
		return own.Time()
	}
	return f.Saw
}

// repliesToBots counts the bot's replies since a person last spoke, or wrote through an app before a pause.
// Consecutive messages count as one: a long reply is posted in parts.
func (f Facts) repliesToBots() int {
	n := 0
	for i := len(f.Tail) - 1; i >= 0; i-- {
		switch m := f.Tail[i]; {
		case !m.ByBot() && (m.Through == "" || f.Now.Sub(m.Time()) > AppPause):
			return n
		case m.Own && (i == 0 || !f.Tail[i-1].Own):
			n++
		}
	}
	return n
}
