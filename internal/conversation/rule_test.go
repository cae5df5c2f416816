package conversation

import (
	"cmp"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestRule(t *testing.T) {
	t.Parallel()
	person := func(n int, text string) chat.Message { return chat.Message{TS: ts(n), UserID: "U1", Text: text} }
	own := func(n int) chat.Message { return chat.Message{TS: ts(n), UserID: "UBOT", Own: true} }
	bot := func(n int) chat.Message { return chat.Message{TS: ts(n), BotID: "B2"} }
	through := func(n int) chat.Message { return chat.Message{TS: ts(n), UserID: "U1", Through: "B7"} }
	tail := func(m ...chat.Message) []chat.Message { return m }
	for _, tt := range []struct {
		name        string
		in          RuleInputs // at second 1000; Trigger is the newest message unless given
		want        Rule
		addressed   Rule
		answer      Rule // addressed unless given
		unsolicited Rule // addressed unless given
	}{
		{name: "none", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, "hello"))}},
		{name: "off", in: RuleInputs{Mode: ModeOff, Tail: tail(person(0, "hello"))}, want: RuleModeOff, addressed: RuleModeOff},
		{name: "off before muted", in: RuleInputs{Mode: ModeOff, SilencedUntil: second(2000)}, want: RuleModeOff, addressed: RuleModeOff},
		{name: "muted", in: RuleInputs{Mode: ModeAll, SilencedUntil: second(1001), Tail: tail(person(0, ""))}, want: RuleSilenced, addressed: RuleSilenced},
		{name: "a snooze that is over", in: RuleInputs{Mode: ModeJudge, SilencedUntil: second(1000), Tail: tail(person(0, ""))}},
		{name: "mention", in: RuleInputs{Mode: ModeMention, Tail: tail(person(0, "hello"))}, want: RuleModeMention},
		{name: "stopped", in: RuleInputs{Mode: ModeJudge, Stopped: true, Tail: tail(person(0, "hello"))}, want: RuleStopped, addressed: RuleStopped},
		{name: "stopped where every message is for it", in: RuleInputs{Mode: ModeAll, Stopped: true, Tail: tail(person(0, "hello"))}, want: RuleStopped, addressed: RuleStopped},
		{name: "a mention from before the stop", in: RuleInputs{Mode: ModeJudge, Stopped: true, Tail: tail(person(0, "<@UBOT> hello"))}},
		{name: "nothing left", in: RuleInputs{Mode: ModeJudge}, want: RuleNothingLeft},
		{name: "others left, but not the trigger", in: RuleInputs{Mode: ModeJudge, MaxAge: time.Hour, Tail: tail(person(0, "hello"))}, want: RuleNothingLeft},
		{name: "the bot spoke last", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, ""), own(1)), Trigger: person(0, "")}, want: RuleSpokeLast},
		{
			name: "the bot spoke last, having read the trigger",
			in:   RuleInputs{Mode: ModeJudge, Tail: tail(person(0, ""), own(9)), Trigger: person(0, ""), Saw: second(5)}, want: RuleSpokeLast,
		},
		{
			name: "the bot spoke last, having read just the trigger",
			in:   RuleInputs{Mode: ModeJudge, Tail: tail(person(5, ""), own(9)), Trigger: person(5, ""), Saw: second(5)}, want: RuleSpokeLast,
		},
		{
			name: "the bot spoke last, and had not read the trigger",
			in:   RuleInputs{Mode: ModeJudge, Tail: tail(person(6, ""), own(9)), Trigger: person(6, ""), Saw: second(5)},
		},
		{name: "old enough", in: RuleInputs{Mode: ModeJudge, MaxAge: 1000 * time.Second, Tail: tail(person(0, ""))}},
		{name: "too old", in: RuleInputs{Mode: ModeJudge, MaxAge: 999 * time.Second, Tail: tail(person(0, ""))}, want: RuleTooOld},
		{name: "too old, though an app has spoken since", in: RuleInputs{Mode: ModeJudge, MaxAge: 999 * time.Second, Tail: tail(person(0, ""), bot(900)), Trigger: person(0, "")}, want: RuleTooOld},
		{name: "no limit of age", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(-1_000_000, ""))}},
		{name: "a question, and then a word to somebody else", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(-9, "why is the VPN down?"), person(0, "<@U2> lunch?")), Pending: []chat.Message{person(-9, "why is the VPN down?"), person(0, "<@U2> lunch?")}}},
		{name: "two words to others", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(-9, "<@U3> hi"), person(0, "<@U2> lunch?")), Pending: []chat.Message{person(-9, "<@U3> hi"), person(0, "<@U2> lunch?")}}, want: RuleAddressesOther},
		{name: "addresses somebody else", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, "<@U2> look"))}, want: RuleAddressesOther},
		{name: "addresses the bot", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, "<@UBOT> look"))}},
		{name: "mentions somebody else", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, "ask <@U2>"))}},
		{name: "among bots", in: RuleInputs{Mode: ModeJudge, Tail: tail(own(1), bot(2), own(3), bot(4), own(5), bot(6))}, want: RuleBotBudget},
		{name: "among bots, after a person", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, ""), own(1), bot(2), own(3), bot(4), own(5), bot(6))}, want: RuleBotBudget},
		{name: "among bots, until a person speaks", in: RuleInputs{Mode: ModeJudge, Tail: tail(own(1), bot(2), own(3), bot(4), own(5), bot(6), person(7, ""))}},
		{name: "among bots, a few times", in: RuleInputs{Mode: ModeJudge, Tail: tail(own(3), bot(4), own(5), bot(6))}},
		{name: "a long answer counts once", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, ""), own(1), own(2), own(3), bot(4))}},
		{name: "a person joined the bots", in: RuleInputs{Mode: ModeJudge, Tail: tail(own(1), bot(2), own(3), person(4, ""), own(5), bot(6))}},
		{name: "through an app", in: RuleInputs{Mode: ModeJudge, Tail: tail(through(0), own(1), through(2), own(3), through(4))}},
		{name: "through an app, again and again", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(0, ""), own(1), through(2), own(3), through(4), own(5), through(6))}, want: RuleBotBudget, answer: RuleBotBudget},
		{name: "through an app, and then by hand", in: RuleInputs{Mode: ModeJudge, Tail: tail(through(0), own(1), through(2), own(3), through(4), own(5), person(6, ""))}},
		{name: "through an app, after a pause", in: RuleInputs{Mode: ModeJudge, Tail: tail(own(-3000), through(-2601), own(-2000), through(2), own(3), through(4))}},
		{name: "through an app, in ten threads", in: RuleInputs{Mode: ModeMention, Tail: tail(through(4)), ThroughApps: 10}, want: RuleModeMention, answer: RuleBotBudget},
		{name: "by hand, after ten threads", in: RuleInputs{Mode: ModeJudge, Tail: tail(person(4, "")), ThroughApps: 10}},
		{name: "quiet hours", in: RuleInputs{Mode: ModeJudge, Quiet: true, Tail: tail(person(0, "hello"))}, want: RuleQuietHours, unsolicited: RuleQuietHours},
		{name: "muted in quiet hours", in: RuleInputs{Mode: ModeAll, Quiet: true, SilencedUntil: second(1001)}, want: RuleSilenced, addressed: RuleSilenced, unsolicited: RuleSilenced},
		{name: "was muted while it waited", in: RuleInputs{Mode: ModeJudge, Silenced: true, Quiet: true, Tail: tail(person(0, "hello"))}, want: RuleSilenced, unsolicited: RuleSilenced},
		{name: "another reason in quiet hours", in: RuleInputs{Mode: ModeMention, Quiet: true, Tail: tail(person(0, "hello"))}, want: RuleModeMention, unsolicited: RuleQuietHours},
		{name: "over budget", in: RuleInputs{Mode: ModeJudge, OverBudget: true, Tail: tail(person(0, "hello"))}, want: RuleOverBudget, unsolicited: RuleOverBudget},
		{name: "over budget in quiet hours", in: RuleInputs{Mode: ModeJudge, Quiet: true, OverBudget: true, Tail: tail(person(0, "hello"))}, want: RuleQuietHours, unsolicited: RuleQuietHours},
		{name: "over budget, and off", in: RuleInputs{Mode: ModeOff, OverBudget: true}, want: RuleModeOff, addressed: RuleModeOff, unsolicited: RuleModeOff},
		{name: "another reason over budget", in: RuleInputs{Mode: ModeJudge, OverBudget: true, Tail: tail(person(0, "<@U2> look"))}, want: RuleAddressesOther, unsolicited: RuleOverBudget},
		{name: "unknown outcome", in: RuleInputs{Mode: ModeAll, UnknownOutcome: true, Tail: tail(person(0, "hello"))}, want: RuleLapsed, addressed: RuleLapsed},
		{name: "other bots only", in: RuleInputs{Mode: ModeJudge, Tail: tail(bot(1), bot(2), bot(3), bot(4))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.in.Now, tt.in.BotID = second(1000), "UBOT"
			if n := len(tt.in.Tail); n > 0 && tt.in.Trigger.TS == "" && tt.want != RuleNothingLeft {
				tt.in.Trigger = tt.in.Tail[n-1]
			}
			if got := tt.in.JudgmentRule(); got != tt.want {
				t.Errorf("JudgmentRule = %q, want %q", got, tt.want)
			}
			if got := tt.in.AddressedRule(); got != tt.addressed {
				t.Errorf("AddressedRule = %q, want %q", got, tt.addressed)
			}
			if want := cmp.Or(tt.answer, tt.addressed); tt.in.AnswerRule() != want {
				t.Errorf("AnswerRule = %q, want %q", tt.in.AnswerRule(), want)
			}
			if tt.unsolicited == NoRule {
				tt.unsolicited = tt.addressed
			}
			if got := tt.in.UnsolicitedRule(); got != tt.unsolicited {
				t.Errorf("UnsolicitedRule = %q, want %q", got, tt.unsolicited)
			}
			if (tt.want != NoRule) != (tt.want.Reason() != "") {
				t.Errorf("%q has the reason %q", tt.want, tt.want.Reason())
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	person, app := chat.Message{Channel: "C1", UserID: "U1"}, chat.Message{Channel: "C1", UserID: "U2", BotID: "B2"}
	direct, own := chat.Message{Channel: "D1", UserID: "U1"}, chat.Message{Channel: "D1", Own: true}
	for _, c := range []struct {
		name    string
		message chat.Message
		mention bool
		mode    Mode
		want    bool
	}{
		{"said", person, false, ModeJudge, false},
		{"a mention", person, true, ModeMention, true},
		{"mode all", person, false, ModeAll, true},
		{"a direct message", direct, false, ModeJudge, true},
		{"another bot's mention", app, true, ModeAll, false},
		{"the bot's own message", own, true, ModeAll, false},
	} {
		if got := Addresses(c.message, c.mention, c.mode); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestInitialPhase(t *testing.T) {
	t.Parallel()
	top := chat.Conversation{Team: "T1", Channel: "C1"}
	thread := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.000001"}
	direct := chat.Conversation{Team: "T1", Channel: "D1"}
	for _, test := range []struct {
		in    chat.Conversation
		kinds []Kind
		want  Phase
	}{
		{top, nil, Idle},
		{top, []Kind{Said}, Waiting},
		{top, []Kind{Addressed}, Idle}, // it is answered in a thread
		{top, []Kind{Addressed, Said}, Waiting},
		{thread, []Kind{Addressed}, Replying},
		{thread, []Kind{Said, Addressed, Said}, Replying},
		{thread, []Kind{Deleted}, Idle},
		{thread, []Kind{Edited, Hushed}, Idle},
		{direct, []Kind{Addressed}, Replying},
	} {
		var s Signal
		for _, kind := range test.kinds {
			s.Changes = append(s.Changes, Change{TS: "1.000001", Kind: kind})
		}
		if got := s.InitialPhase(test.in); got != test.want {
			t.Errorf("%s, %v: %s, want %s", test.in.ID(), test.kinds, got, test.want)
		}
	}
}
