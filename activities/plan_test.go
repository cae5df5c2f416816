package activities

import (
	"testing"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

func TestWhatToWrite(t *testing.T) {
	t.Parallel()
	task := Task{Conversation: chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.000000"}, Trigger: "2.000000", Decision: "run/1"}
	judged := &store.Decision{Source: "judgment", ShouldRespond: true}
	takenBack := &store.Decision{Outcome: conversation.Silent, OutcomeBy: string(conversation.RuleSecondLook)}
	for name, c := range map[string]struct {
		in   ComposeInput
		know func(k *knownReply)
		want replyPlan // whose decision has what differs from the row of an addressed message
		rule conversation.Rule
		why  string
	}{
		"a mention":                     {in: ComposeInput{Addressed: true}, want: replyPlan{write: writeAnswer}, why: addressedReason},
		"begun":                         {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.Begun = true }, want: replyPlan{result: conversation.Done}},
		"composed":                      {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.ComposedBy = task.decisionKey() }, want: replyPlan{result: conversation.Done}, why: addressedReason},
		"composed by another decision":  {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.ComposedBy = "run/0" }, want: replyPlan{write: writeAnswer}, why: addressedReason},
		"composed, then over budget":    {in: ComposeInput{}, know: func(k *knownReply) { k.ComposedBy, k.rules.OverBudget = task.decisionKey(), true }, want: replyPlan{result: conversation.Done}},
		"taken back":                    {in: ComposeInput{}, know: func(k *knownReply) { k.Decision = takenBack }, want: replyPlan{result: conversation.Silenced}},
		"deleted":                       {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.Trigger.Deleted = true }, want: replyPlan{result: conversation.Gone}, why: addressedReason},
		"a stop that was deleted":       {in: ComposeInput{Addressed: true, Stop: conversation.Stopped}, know: func(k *knownReply) { k.Trigger.Deleted = true }, want: replyPlan{result: conversation.Gone, stops: true}, why: stopReason},
		"a promise that was forgotten":  {in: ComposeInput{Task: Task{Occasion: conversation.Occasion{Promise: "p", Number: 1}}, Addressed: true}, want: replyPlan{result: conversation.Gone}, why: promiseReason},
		"mode off":                      {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.rules.Mode = conversation.ModeOff }, want: replyPlan{write: writeSilence}, rule: conversation.RuleModeOff},
		"mode off, and a notice":        {in: ComposeInput{Addressed: true, Notice: true}, know: func(k *knownReply) { k.rules.Mode = conversation.ModeOff }, want: replyPlan{write: writeSilence}, rule: conversation.RuleModeOff},
		"muted":                         {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.rules.SilencedUntil = k.rules.Now.Add(1) }, want: replyPlan{write: writeSilence}, rule: conversation.RuleSilenced},
		"muted, and a notice":           {in: ComposeInput{Addressed: true, Notice: true}, know: func(k *knownReply) { k.rules.SilencedUntil = k.rules.Now.Add(1) }, want: replyPlan{write: writeSilence}, rule: conversation.RuleSilenced},
		"judged, then mode mention":     {in: ComposeInput{}, know: func(k *knownReply) { k.rules.Mode = conversation.ModeMention }, want: replyPlan{write: writeSilence}, rule: conversation.RuleModeMention},
		"ordered in mode mention":       {in: ComposeInput{Ordered: true}, know: func(k *knownReply) { k.rules.Mode = conversation.ModeMention }, want: replyPlan{write: writeAnswer}},
		"judged in quiet hours":         {in: ComposeInput{}, know: func(k *knownReply) { k.rules.Quiet = true }, want: replyPlan{write: writeSilence}, rule: conversation.RuleQuietHours},
		"ordered in quiet hours":        {in: ComposeInput{Ordered: true}, know: func(k *knownReply) { k.rules.Quiet = true }, want: replyPlan{write: writeAnswer}},
		"ordered in a stopped thread":   {in: ComposeInput{Ordered: true}, know: func(k *knownReply) { k.rules.Stopped = true }, want: replyPlan{write: writeAnswer}},
		"a mention over budget":         {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.rules.OverBudget = true }, want: replyPlan{write: writeNotice, notice: prompt.OverBudget}, rule: conversation.RuleOverBudget, why: conversation.ReasonChannelBudget},
		"ordered over budget":           {in: ComposeInput{Ordered: true}, know: func(k *knownReply) { k.rules.OverBudget = true }, want: replyPlan{write: writeSilence}, rule: conversation.RuleOverBudget},
		"a second round over budget":    {in: ComposeInput{Addressed: true, Round: 1}, know: func(k *knownReply) { k.rules.OverBudget = true }, want: replyPlan{write: writeAnswer}, why: addressedReason},
		"answered in a thread":          {in: ComposeInput{}, know: func(k *knownReply) { k.NewThreadReply = "3.000000" }, want: replyPlan{result: conversation.Outdated, by: "3.000000"}},
		"to look up":                    {in: ComposeInput{Addressed: true}, know: func(k *knownReply) { k.Steps = []store.Step{{ID: "s"}} }, want: replyPlan{result: conversation.Looking}, why: addressedReason},
		"no answer":                     {in: ComposeInput{Addressed: true, Notice: true}, want: replyPlan{write: writeNotice, notice: prompt.Unanswered}, why: noticeReason},
		"a stop":                        {in: ComposeInput{Addressed: true, Notice: true, Stop: conversation.TooLate}, know: func(k *knownReply) { k.rules.Stopped = true }, want: replyPlan{write: writeNotice, notice: prompt.TooLate, stops: true}, why: stopReason},
		"a promise":                     {in: ComposeInput{Task: Task{Occasion: conversation.Occasion{Promise: "p", Number: 1}}, Addressed: true}, know: promised, want: replyPlan{write: writeAnswer}, why: promiseReason},
		"a promise over budget":         {in: ComposeInput{Task: Task{Occasion: conversation.Occasion{Promise: "p", Number: 1}}, Addressed: true}, know: func(k *knownReply) { promised(k); k.rules.OverBudget = true }, want: replyPlan{write: writeOccasion}, why: promiseReason},
		"a call, and no model":          {in: ComposeInput{Task: Task{Occasion: conversation.Occasion{Step: "s"}}, Addressed: true, Notice: true}, know: func(k *knownReply) { k.call = &store.Proposal{} }, want: replyPlan{write: writeOccasion}, why: occasionReason},
		"a judged reaction":             {in: ComposeInput{}, know: func(k *knownReply) { k.Decision = &store.Decision{React: "eyes"} }, want: replyPlan{write: writeReaction, reaction: "eyes"}},
		"a reaction that may not stand": {in: ComposeInput{}, know: func(k *knownReply) { k.Decision = &store.Decision{React: "tada"} }, want: replyPlan{write: writeAnswer}},
		"a judged reply":                {in: ComposeInput{}, know: func(k *knownReply) { k.Decision = judged }, want: replyPlan{write: writeAnswer}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := c.in
			occasion := in.Occasion
			in.Task = task
			in.Occasion = occasion
			k := knownReply{}
			k.Trigger = &chat.Message{TS: task.Trigger}
			k.rules.Mode = conversation.ModeJudge
			if c.know != nil {
				c.know(&k)
			}
			got := in.whatToWrite(k, []string{"eyes"})
			d := got.decision
			if got.write != c.want.write || got.result != c.want.result || got.by != c.want.by || got.stops != c.want.stops || got.notice != c.want.notice || got.reaction != c.want.reaction {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if d.Rule != string(c.rule) || c.why != "" && d.Reason != c.why {
				t.Errorf("the ledger gets %+v, want rule %q and reason %q", d, c.rule, c.why)
			}
			if silent := c.want.write == writeSilence; d.Key != "" && (silent == d.ShouldRespond || (d.Outcome == conversation.Silent) != silent) {
				t.Errorf("the ledger gets %+v", d)
			}
		})
	}
}

func promised(k *knownReply) { k.promise = &store.Promise{Choice: store.Choice{ID: "p"}} }
