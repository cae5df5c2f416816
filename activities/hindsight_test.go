package activities

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// A day later each judgment is labelled, once, by what followed it in its conversation.
func TestHindsight(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(func(c llmtest.Call) llmtest.Reply {
			switch {
			case !c.Judgment():
				return llmtest.Text("Ten.")
			case strings.Contains(c.System, "welcome?"):
				return llmtest.Yes("nobody knows", 0.9, 0)
			}
			return llmtest.No("lively talk")
		}))
		bob := b.Workspace.AddUser("bob")
		keys := map[string]string{} // what happened, by decision
		judged := func(what string) Task {
			task := inThread(b.say(what + "?"))
			task.Decision = "run/" + what
			keys[task.decisionKey()] = what
			b.judge(task)
			return task
		}
		say := func(task Task, user, text string) {
			ts := b.Workspace.Say(b.General, user, text, workspace.InThread(task.Trigger))
			b.record(chat.Message{Team: "T1", Channel: b.General, TS: ts, UserID: user, Text: text})
		}
		mention := b.Mention("you?")

		say(judged("asked again"), b.Alice.ID, mention)
		say(judged("answered"), bob.ID, "Ten.")
		judged("nobody cared")
		b.react(chat.Message{Team: "T1", Channel: b.General, TS: judged("claimed by the asker").Trigger}, time.Now(), false)
		order := judged("ordered")
		if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: "now", Scope: chat.Scope(order.Conversation), Kind: conversation.UpdateAnswerNow, By: "cli:carol"}); err != nil {
			t.Fatal(err)
		}
		welcome := judged("welcome")
		if got := b.reply(welcome, false); got != conversation.Done {
			t.Fatal(got)
		}
		if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: welcome}); err != nil {
			t.Fatal(err)
		}
		say(welcome, b.Alice.ID, "Thanks!")

		if got, err := runWithoutInput(b.LabelDecisions); err != nil || got.Decisions != 0 {
			t.Errorf("on the same day: %+v, %v", got, err)
		}
		b.Clock = func() time.Time { return time.Now().Add(25 * time.Hour) }
		got, err := runWithoutInput(b.LabelDecisions)
		if err != nil || got.Decisions != len(keys) {
			t.Errorf("a day later: %+v, %v; want %d decisions", got, err, len(keys))
		}
		if got, err := runWithoutInput(b.LabelDecisions); err != nil || got.Decisions != 0 {
			t.Errorf("again: %+v, %v", got, err)
		}
		labelled, err := b.Store.LabelledDecisions(t.Context(), store.LabelFilter{Team: "T1", Channel: b.General, Scored: true})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, d := range labelled {
			for _, l := range d.Labels {
				all = append(all, fmt.Sprintf("%s: %s %s", keys[d.Key], l.Kind, l.Truth))
			}
		}
		slices.Sort(all)
		if want := []string{
			"answered: answered silent", "asked again: mentioned speak", "claimed by the asker: unanswered speak", "nobody cared: unanswered speak", "ordered: answer_now speak",
			"welcome: welcome speak",
		}; !slices.Equal(all, want) {
			t.Errorf("labels\n%q, want\n%q", all, want)
		}
	})
}
