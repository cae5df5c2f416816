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
	ModeJudge   Mode = "judge"   // answers when it is addressed or a judgment says so
	ModeMention Mode = "mention" // answers when it is mentioned
	ModeAll     Mode = "all"     // answers every message of a person
	ModeOff     Mode = "off"     // never answers
)

// Rule is the name of a reason to be silent that needs no model; it goes into the ledger.
type Rule string

const (
	NoRule             Rule = ""
	RuleModeOff        Rule = "mode_off"
	RuleModeMention    Rule = "mode_mention"
	RuleSilenced       Rule = "silenced"
	RuleSpokeLast      Rule = "spoke_last"
	RuleTooOld         Rule = "too_old"
	RuleAddressesOther Rule = "addresses_other"
	RuleBotBudget      Rule = "bot_budget"
	RuleNothingLeft    Rule = "nothing_left"
	RuleQuietHours     Rule = "quiet_hours"
	RuleOverBudget     Rule = "over_budget"
	RuleUnknownOutcome Rule = "lapsed"
)

var reasons = map[Rule]string{
	RuleModeOff:        "the channel's mode is off",
	RuleModeMention:    "the channel's mode is mention, and nobody mentioned the bot",
	RuleSilenced:       "the conversation is muted or snoozed, or was while the reply waited",
	RuleSpokeLast:      "the newest message is the bot's own",
	RuleTooOld:         "the message is older than max_message_age_seconds",
	RuleAddressesOther: "the message opens by addressing somebody else",
	RuleBotBudget:      "only bots have spoken since the bot's last replies",
	RuleNothingLeft:    "the message is no longer there",
	RuleQuietHours:     "it is the channel's quiet hours",
	RuleOverBudget:     "the channel's budget of today is used up",
	RuleUnknownOutcome: "it was heard of before what the ledger keeps, and may have been answered",
}

// Rules are all there are.
func Rules() []Rule { return slices.Sorted(maps.Keys(reasons)) }

// Reason is the rule in words.
func (r Rule) Reason() string { return reasons[r] }

// botReplies is how often the bot answers bots before a person has spoken again.
const botReplies = 3

// Addresses reports whether a message is a person's word to the bot: a mention, and
// whatever is said in a channel of mode all or in a direct message.
func Addresses(m chat.Message, mention bool, mode Mode) bool {
	return !m.ByBot() && (mention || mode == ModeAll || chat.Conversation{Channel: m.Channel}.Direct())
}

// Facts are what the rules look at.
type Facts struct {
	Now    time.Time
	Mode   Mode
	BotID  string // the bot's own user id
	MaxAge time.Duration
	// SilencedUntil is the end of a mute or snooze; the zero time without one.
	SilencedUntil time.Time
	// Silenced is set where the channel was muted or snoozed while a judged reply waited in one
	// of its threads, though it may speak again.
	Silenced bool
	// Quiet is set in the channel's quiet hours.
	Quiet bool
	// OverBudget is set when the channel's budget of the day is used up.
	OverBudget bool
	// UnknownOutcome is set when nobody knows any more whether the message was answered.
	UnknownOutcome bool
	// Tail are the newest messages of the conversation, in order of time.
	Tail []chat.Message
	// Trigger is the message in question; the zero Message where it is no longer there.
	Trigger chat.Message
	// Saw is what the author of the bot's newest message had read; the zero time
	// where that is not known.
	Saw time.Time
}

// AddressedRule is the rule that keeps even an addressed message without an answer.
func (f Facts) AddressedRule() Rule {
	switch {
	case f.Mode == ModeOff:
		return RuleModeOff
	case f.Now.Before(f.SilencedUntil):
		return RuleSilenced
	case f.UnknownOutcome:
		return RuleUnknownOutcome
	}
	return NoRule
}

// UnsolicitedRule is the rule that keeps a reply that nobody asked for from being written,
// though a judgment was for it.
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

// JudgmentRule is the first rule that spares the judgment of a conversation.
func (f Facts) JudgmentRule() Rule {
	if r := f.AddressedRule(); r != NoRule {
		return r
	}
	if len(f.Tail) == 0 || f.Trigger.TS == "" {
		return RuleNothingLeft
	}
	newest := f.Tail[len(f.Tail)-1]
	opening := chat.Opening(f.Trigger.Text)
	switch {
	case f.Mode == ModeMention:
		return RuleModeMention
	case newest.Own && !f.Trigger.Time().After(f.sawUntil(newest)):
		return RuleSpokeLast
	case f.MaxAge > 0 && f.Now.Sub(f.Trigger.Time()) > f.MaxAge:
		return RuleTooOld
	case opening != "" && opening != f.BotID:
		return RuleAddressesOther
	case f.repliesToBots() >= botReplies:
		return RuleBotBudget
	}
	return f.UnsolicitedRule()
}

// sawUntil is up to when the author of the bot's newest message had read: a
// message that came while the reply was being written is not answered by it.
func (f Facts) sawUntil(own chat.Message) time.Time {
	if f.Saw.IsZero() {
		return own.Time()
	}
	return f.Saw
}

// repliesToBots counts the bot's own replies since a person spoke last. Several messages
// on end are one: a long reply is posted in parts.
func (f Facts) repliesToBots() int {
	n := 0
	for i := len(f.Tail) - 1; i >= 0; i-- {
		switch m := f.Tail[i]; {
		case !m.ByBot():
			return n
		case m.Own && (i == 0 || !f.Tail[i-1].Own):
			n++
		}
	}
	return n
}
