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
	RuleLapsed         Rule = "lapsed"
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
	RuleLapsed:         "it was heard of before what the ledger keeps, and may have been answered",
}

// Rules returns all rules in order.
func Rules() []Rule { return slices.Sorted(maps.Keys(reasons)) }

// Reason explains the rule to people.
func (r Rule) Reason() string { return reasons[r] }

// ReasonMutedEverywhere takes the place of the reason of RuleSilenced while the bot is muted in the
// whole workspace.
const ReasonMutedEverywhere = "the bot is muted everywhere"

// The reasons of RuleModeOff and RuleModeMention where people have set the mode in Slack.
const (
	ReasonModeOffInSlack     = "the channel's mode is off, as somebody has set it in Slack"
	ReasonModeMentionInSlack = "the channel's mode is mention, as somebody has set it in Slack, and nobody mentioned the bot"
)

// ModeReason explains to people why a rule about the channel's mode applies.
func ModeReason(r Rule, inSlack bool) string {
	switch {
	case inSlack && r == RuleModeOff:
		return ReasonModeOffInSlack
	case inSlack && r == RuleModeMention:
		return ReasonModeMentionInSlack
	}
	return r.Reason()
}

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

// RuleInputs are what the rules decide by.
type RuleInputs struct {
	Now  time.Time
	Mode Mode
	// ModeInSlack is set where people have set Mode in Slack.
	ModeInSlack bool
	BotID       string // the bot's own user id
	MaxAge      time.Duration
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

// Reason explains to people why a rule applies.
func (in RuleInputs) Reason(r Rule) string {
	switch {
	case r == RuleSilenced && in.Now.Before(in.MutedUntil):
		return ReasonMutedEverywhere
	case r == RuleOverBudget && in.WorkspaceBudget:
		return ReasonWorkspaceBudget
	case r == RuleOverBudget:
		return ReasonChannelBudget
	}
	return ModeReason(r, in.ModeInSlack)
}

// AddressedRule is the rule that silences any reply, even to an addressed message.
func (in RuleInputs) AddressedRule() Rule {
	switch {
	case in.Mode == ModeOff:
		return RuleModeOff
	case in.Now.Before(in.SilencedUntil):
		return RuleSilenced
	case in.Stopped && !chat.Mentions(in.Trigger.Text, in.BotID): // a mention from before the stop is still answered
		return RuleStopped
	case in.UnknownOutcome:
		return RuleLapsed
	}
	return NoRule
}

// AnswerRule is the rule that silences the answer to a message that addresses the bot. A person may write through an
// app, and an app may answer the bot in a person's name; from one message they cannot be told apart.
func (in RuleInputs) AnswerRule() Rule {
	if r := in.AddressedRule(); r != NoRule {
		return r
	}
	if in.Trigger.Through != "" && (in.repliesToBots() >= maxBotReplies || in.ThroughApps >= maxThroughApps) {
		return RuleBotBudget
	}
	return NoRule
}

// UnsolicitedRule is the rule that silences a judged reply after a yes, before it is composed.
func (in RuleInputs) UnsolicitedRule() Rule {
	switch r := in.AddressedRule(); {
	case r != NoRule:
		return r
	case in.Silenced:
		return RuleSilenced
	case in.Quiet:
		return RuleQuietHours
	case in.OverBudget:
		return RuleOverBudget
	}
	return NoRule
}

// JudgmentRule is the first rule that makes the judgment of a conversation unnecessary.
func (in RuleInputs) JudgmentRule() Rule {
	if r := in.AddressedRule(); r != NoRule {
		return r
	}
	if len(in.Tail) == 0 || in.Trigger.TS == "" {
		return RuleNothingLeft
	}
	newest := in.Tail[len(in.Tail)-1]
	switch {
	case in.Mode == ModeMention:
		return RuleModeMention
	case newest.Own && !in.Trigger.Time().After(in.readUntil(newest)):
		return RuleSpokeLast
	case in.MaxAge > 0 && in.Now.Sub(in.Trigger.Time()) > in.MaxAge:
		return RuleTooOld
	case in.addressOthers():
		return RuleAddressesOther
	case in.repliesToBots() >= maxBotReplies:
		return RuleBotBudget
	}
	return in.UnsolicitedRule()
}

// addressOthers reports whether every pending message opens by mentioning somebody else. A question
// before one of these still wants a judgment.
func (in RuleInputs) addressOthers() bool {
	pending := in.Pending
	if len(pending) == 0 {
		pending = []chat.Message{in.Trigger}
	}
	return !slices.ContainsFunc(pending, func(m chat.Message) bool {
		opening := chat.LeadingMention(m.Text)
		return opening == "" || opening == in.BotID
	})
}

// readUntil is the time up to which the model had read when it wrote the bot's message: that
// message does not answer what came while it was being written.
func (in RuleInputs) readUntil(own chat.Message) time.Time {
	if in.Saw.IsZero() {
		return own.Time()
	}
	return in.Saw
}

// repliesToBots counts the bot's replies since a person last spoke, or wrote through an app before a pause.
// Consecutive messages count as one: a long reply is posted in parts.
func (in RuleInputs) repliesToBots() int {
	n := 0
	for i := len(in.Tail) - 1; i >= 0; i-- {
		switch m := in.Tail[i]; {
		case !m.ByBot() && (m.Through == "" || in.Now.Sub(m.Time()) > AppPause):
			return n
		case m.Own && (i == 0 || !in.Tail[i-1].Own):
			n++
		}
	}
	return n
}
