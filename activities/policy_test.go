package activities

import (
	"database/sql"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // the test reads the database

	"myao/internal/answer/budget"
	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/storetest"
)

// setNoon makes it noon in the channels, today or some days later.
func (b *bundle) setNoon(days int) {
	now := time.Now().AddDate(0, 0, days)
	b.Clock = func() time.Time { return now }
	b.settings.Zone = time.FixedZone("", (12-now.UTC().Hour())*3600) // far from midnight, whenever the test runs
}

func (b *bundle) judge(task Task) JudgeOutput {
	b.Helper()
	got, err := runOnce[JudgeOutput](b.Judge, judging(task))
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func (b *bundle) reply(task Task, addressed bool) conversation.Result {
	b.Helper()
	got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: addressed})
	if err != nil {
		b.Fatal(err)
	}
	return got.Result
}

// wantSilence fails unless a task ended in silence by a rule, after this many calls of the model.
func (b *bundle) wantSilence(what string, task Task, rule conversation.Rule, calls int) {
	b.Helper()
	d := b.decision(task)
	if d.Outcome != "silent" || d.Rule != string(rule) && d.OutcomeBy != string(rule) {
		b.Errorf("%s: the ledger has %+v, want silence by %s", what, d, rule)
	}
	if n := len(b.Model.Calls()); n != calls {
		b.Errorf("%s: %d calls, want %d", what, n, calls)
	}
	if parts := b.outbox(task); len(parts) != 0 {
		b.Errorf("%s: the outbox has %+v", what, parts)
	}
}

func TestOverBudget(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		answer := llmtest.Reply{Text: "Seven.", InputTokens: 400, OutputTokens: 100}
		b := setup(t, url, withModel(func(c llmtest.Call) llmtest.Reply {
			if c.Judgment() {
				return llmtest.Yes("why not", 1, 0)
			}
			return answer
		}))
		b.setNoon(0)
		b.settings.DailyTokens = 500
		before := inThread(b.say("how many dwarfs?"))
		if got := b.reply(before, true); got != conversation.Done || b.outbox(before)[0].Text != "Seven." {
			t.Fatalf("within the budget: %s, %+v", got, b.outbox(before))
		}

		// A mention gets one note, however often that is attempted.
		mention := inThread(b.say("and how many today?"))
		for range 2 {
			if got := b.reply(mention, true); got != conversation.Done {
				t.Errorf("a mention: %s", got)
			}
			if parts := b.outbox(mention); len(parts) != 1 || parts[0].Text != b.Agents.Prompts.Notice(prompt.OverBudget) || parts[0].Text == "" {
				t.Errorf("a mention: the outbox has %+v, want the notice", parts)
			}
			if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: mention}); err != nil {
				t.Fatal(err)
			}
		}
		if posted := b.postedTexts(); len(posted) != 1 {
			t.Errorf("posted %q, want one note", posted)
		}
		if d := b.decision(mention); d.Source != "addressed" || d.Rule != "over_budget" || d.Outcome != "posted" || !d.ShouldRespond ||
			d.Reason != conversation.ReasonChannelBudget || d.TokensIn != 0 || d.Model != "" {
			t.Errorf("a mention: the ledger has %+v", d)
		}

		ambient := atTopLevel(b.say("does anybody know?"))
		if got := b.judge(ambient); got.Rule != conversation.RuleOverBudget || got.Verdict.ShouldRespond {
			t.Errorf("a judgment: %+v", got)
		}
		b.wantSilence("a judgment", ambient, conversation.RuleOverBudget, 1)
		order := atTopLevel(b.say("nobody?"))
		order.Decision = "run/order"
		if got := b.reply(order, false); got != conversation.Silenced {
			t.Errorf("an operator's order: %s", got)
		}
		b.wantSilence("an operator's order", order, conversation.RuleOverBudget, 1)

		// Another channel has its own budget.
		dm := b.Workspace.AddChannel(workspace.DM, "", b.Alice.ID, b.Workspace.Bot().UserID)
		direct := atTopLevel(b.sayIn(dm, "hello?"))
		if b.reply(direct, true); b.outbox(direct)[0].Text != "Seven." {
			t.Errorf("another channel: %+v", b.outbox(direct))
		}

		b.setNoon(1)
		tomorrow := atTopLevel(b.say("and now?"))
		tomorrow.Decision = "run/tomorrow"
		b.settings.MaxMessageAge = 0
		if got := b.judge(tomorrow); !got.Verdict.ShouldRespond || got.Rule != conversation.NoRule {
			t.Errorf("the next day: %+v", got)
		}
	})
}

// limitWorkspace gives the workspace a budget. What is used of it is read with the next question.
func (b *bundle) limitWorkspace(limit config.Budget) {
	now := b.Clock()
	b.Budget = &budget.Workspace{
		Calls: b.Store, Team: b.Own.TeamID, Limit: limit, Clock: func() time.Time { return now },
		StartOfDay: func(now time.Time) time.Time { return b.settings.StartOfDay(now) },
	}
}

// What is said in direct messages and remembered uses up the budget of the workspace, which silences all
// channels until the next day.
func TestWorkspaceOverBudget(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		b.setNoon(0)
		b.syncChannels()
		b.settings.DailyCalls, b.settings.MaxMessageAge = 1000, 0
		dm := b.Workspace.AddChannel(workspace.DM, "", b.Alice.ID, b.Workspace.Bot().UserID)
		for channel, purpose := range map[string]string{dm: "response", "": "memory", b.General: "shadow"} {
			if err := b.Store.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: channel}, Purpose: purpose, TokensIn: 50, Ended: b.Clock()}); err != nil {
				t.Fatal(err)
			}
		}
		b.say("shall we have a party?")
		all := chat.Scope{Team: "T1"}
		remember := func(s chat.Scope) RememberOutput {
			t.Helper()
			out, err := runOnce[RememberOutput](b.Remember, RememberInput{Scope: s, At: b.Clock()})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		b.limitWorkspace(config.Budget{Tokens: 101})
		if out := remember(chat.Scope{Team: "T1", Channel: b.General}); !out.Changed {
			t.Errorf("within the budget: %+v", out)
		}
		asked := len(b.Model.Calls())

		b.limitWorkspace(config.Budget{Tokens: 100})
		var log strings.Builder
		b.Logger = slog.New(slog.NewTextHandler(&log, nil))
		ambient := atTopLevel(b.say("does anybody know?"))
		if got := b.judge(ambient); got.Rule != conversation.RuleOverBudget || got.Verdict.Reason != conversation.ReasonWorkspaceBudget {
			t.Errorf("a judgment: %+v", got)
		}
		b.wantSilence("a judgment", ambient, conversation.RuleOverBudget, asked)
		mention, direct := inThread(b.say("you?")), atTopLevel(b.sayIn(dm, "hello?"))
		for _, task := range []Task{mention, direct, mention} {
			if got := b.reply(task, true); got != conversation.Done {
				t.Errorf("a mention: %s", got)
			}
			if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err != nil {
				t.Fatal(err)
			}
			if d := b.decision(task); d.Rule != "over_budget" || d.Reason != conversation.ReasonWorkspaceBudget || d.Outcome != "posted" {
				t.Errorf("a mention: the ledger has %+v", d)
			}
		}
		note := b.Agents.Prompts.Notice(prompt.OverBudget)
		if posted := b.postedTexts(); !slices.Equal(posted, []string{note, note}) {
			t.Errorf("posted %q, want one note each", posted)
		}
		b.say("with cake")
		for _, s := range []chat.Scope{{Team: "T1", Channel: b.General}, all} {
			if out := remember(s); out != (RememberOutput{}) {
				t.Errorf("%s: %+v", s, out)
			}
		}
		if n := strings.Count(log.String(), "not remembered today: "+conversation.ReasonWorkspaceBudget); n != 1 {
			t.Errorf("the log says so %d times:\n%s", n, log.String())
		}
		if n := len(b.Model.Calls()); n != asked {
			t.Errorf("the model was asked %d times", n-asked)
		}

		b.setNoon(1)
		b.limitWorkspace(config.Budget{Tokens: 100})
		if out := remember(all); !out.Changed {
			t.Errorf("the workspace, the next day: %+v", out)
		}
		if got := b.judge(atTopLevel(b.say("and now?"))); got.Rule != conversation.NoRule {
			t.Errorf("a judgment, the next day: %+v", got)
		}
	})
}

// A judged reply is not written if the judgment used up the budget.
func TestJudgmentUsesUpTheBudget(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Yes("nobody answered", 0.8, 0))))
	b.setNoon(0)
	b.settings.DailyCalls = 1
	task := atTopLevel(b.say("how many dwarfs?"))
	if got := b.judge(task); !got.Verdict.ShouldRespond {
		t.Fatalf("%+v", got)
	}
	if got := b.reply(task, false); got != conversation.Silenced {
		t.Errorf("got %s", got)
	}
	b.wantSilence("the reply", task, conversation.RuleOverBudget, 1)
	if d := b.decision(task); d.Source != "judgment" || !d.ShouldRespond {
		t.Errorf("the ledger has %+v", d)
	}
}

// A budget may be set by the channel's name, which is read in the same query.
func TestBudgetByChannelName(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(llmtest.Script(llmtest.No("nothing to add"))))
		b.setNoon(0)
		b.syncChannels()
		b.channels.set(func(f config.ChannelFacts) config.ChannelSettings {
			s := b.settings
			switch f.Name {
			case "":
				// an hour after midnight
				s.DailyCalls, s.Zone = 1000, time.FixedZone("", (12-b.Clock().UTC().Hour()+13)*3600)
			case "general":
				s.DailyCalls = 1
			}
			return s
		})
		spent := store.Call{Scope: chat.Scope{Team: "T1", Channel: b.General}, TokensIn: 1, Ended: b.Clock().Add(-2 * time.Hour)}
		if err := b.Store.SaveCall(t.Context(), spent); err != nil {
			t.Fatal(err)
		}
		task := atTopLevel(b.say("how many dwarfs?"))
		if got := b.judge(task); got.Rule != conversation.RuleOverBudget {
			t.Errorf("got %+v", got)
		}
		b.wantSilence("the judgment", task, conversation.RuleOverBudget, 0)
		elsewhere := b.Workspace.AddChannel(workspace.Public, "elsewhere", b.Workspace.Bot().UserID, b.Alice.ID)
		b.syncChannels()
		b.channels.set(func(f config.ChannelFacts) config.ChannelSettings {
			s := b.settings
			if f.Name == "" {
				s.DailyCalls = 1 // not the settings of the channel
			}
			return s
		})
		spent.Scope.Channel = elsewhere
		if err := b.Store.SaveCall(t.Context(), spent); err != nil {
			t.Fatal(err)
		}
		if got := b.judge(atTopLevel(b.sayIn(elsewhere, "anybody?"))); got.Rule != conversation.NoRule {
			t.Errorf("where nothing is budgeted: %+v", got)
		}
	})
}

// After a lost result, the next attempt finds the reply that used up the budget.
func TestPaidReplyIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Yes("nobody answered", 0.8, 0), llmtest.Text("Seven."))))
	b.setNoon(0)
	b.settings.DailyCalls = 2
	task := atTopLevel(b.say("how many dwarfs?"))
	b.judge(task)
	for _, when := range []string{"first", "again"} {
		if got := b.reply(task, false); got != conversation.Done {
			t.Errorf("%s: %s", when, got)
		}
		if parts := b.outbox(task); len(parts) != 1 || parts[0].Text != "Seven." {
			t.Errorf("%s: the outbox has %+v", when, parts)
		}
	}
}

// Failed calls cost nothing and do not count for the budget.
func TestOutageUsesUpNoBudget(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Fail(503), llmtest.Fail(503), llmtest.Text("Seven."))))
	b.setNoon(0)
	b.settings.DailyCalls = 1
	task := inThread(b.say("how many dwarfs?"))
	got, errs := runUntilDone[ReplyOutput](t, b.Compose, ComposeInput{Task: task, Addressed: true})
	if len(errs) != 2 || got.Result != conversation.Done || b.outbox(task)[0].Text != "Seven." {
		t.Errorf("after %d failures: %+v, %+v", len(errs), got, b.outbox(task))
	}
}

// The calls for a task are saved with its decision.
func TestCallsAreSavedWithTheDecision(t *testing.T) {
	t.Parallel()
	yes := llmtest.Yes("why not", 1, 0)
	yes.InputTokens, yes.OutputTokens = 30, 5
	url := storetest.SQLite(t)
	b := setup(t, withDatabase(url), withModel(llmtest.Script(llmtest.Reply{Text: "?", InputTokens: 20, OutputTokens: 4}, yes, llmtest.Reply{Text: "Seven.", InputTokens: 40, OutputTokens: 6})))
	b.setNoon(0)
	task := atTopLevel(b.say("how many dwarfs?"))
	b.judge(task)
	b.reply(task, false)
	calls, tokens, err := b.Store.Spent(t.Context(), "T1", b.General, b.settings.StartOfDay(time.Now()))
	if err != nil || calls != 3 || tokens != 105 {
		t.Errorf("%d calls, %d tokens, %v; want 3 and 105", calls, tokens, err)
	}
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var judgments, replies int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(CASE WHEN purpose = 'judgment' THEN 1 END), COUNT(CASE WHEN purpose = 'response' THEN 1 END)
		FROM model_calls WHERE decision = ?`, task.decisionKey()).Scan(&judgments, &replies); err != nil || judgments != 2 || replies != 1 {
		t.Errorf("of the decision: %d judgments, %d replies, %v; want 2 and 1", judgments, replies, err)
	}
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	judged := llmtest.Yes("nobody answered", 0.8, 0)
	b := setup(t, withModel(llmtest.Script(judged, judged, llmtest.Text("Seven."))))
	b.setNoon(0)
	set := func(hours string) {
		q, err := config.ParseQuietHours(hours)
		if err != nil {
			t.Fatal(err)
		}
		b.settings.QuietHours = q
	}
	put, held := atTopLevel(b.say("how many dwarfs?")), atTopLevel(b.say("how many giants?"))
	held.Decision = "run/held"
	set("22:00-07:00")
	for _, task := range []Task{put, held} {
		if got := b.judge(task); !got.Verdict.ShouldRespond {
			t.Fatalf("at noon: %+v", got)
		}
	}
	set("11:00-14:00")
	if got := b.reply(put, false); got != conversation.Silenced {
		t.Errorf("a judged reply: %s", got)
	}
	b.wantSilence("a judged reply", put, conversation.RuleQuietHours, 2)
	ambient := atTopLevel(b.say("nobody?"))
	if got := b.judge(ambient); got.Rule != conversation.RuleQuietHours {
		t.Errorf("a judgment: %+v", got)
	}
	b.wantSilence("a judgment", ambient, conversation.RuleQuietHours, 2)

	order := atTopLevel(b.say("anybody?"))
	order.Decision = "run/order"
	mention := inThread(b.say("you?"))
	mention.Decision = "run/mention"
	for what, in := range map[string]ComposeInput{
		"an operator's order":                      {Task: order, Ordered: true},
		"an operator's order of a reply held back": {Task: held, Ordered: true},
		"a mention": {Task: mention, Addressed: true},
	} {
		got, err := runOnce[ReplyOutput](b.Compose, in)
		if err != nil || got.Result != conversation.Done || len(b.outbox(in.Task)) != 1 {
			t.Errorf("%s in quiet hours: %s, %v", what, got.Result, err)
		}
	}
}

// Muting a channel mutes its threads. Muting a thread mutes no other.
func TestMutedChannelSilencesItsThreads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	parent := b.say("shall we have a party?")
	task := inThread(parent)
	task.Trigger = b.say("with cake?", workspace.InThread(parent.TS)).TS // not the parent of the thread
	other := inThread(b.say("hello?"))
	top := chat.Conversation{Team: "T1", Channel: b.General}
	for _, c := range []struct {
		what            string
		thread, channel time.Duration
		want            conversation.Rule
		other           conversation.Rule
	}{
		{"nothing muted", -time.Hour, -time.Hour, conversation.NoRule, conversation.NoRule},
		{"the thread", time.Hour, -time.Hour, conversation.RuleSilenced, conversation.NoRule},
		{"the channel", -time.Hour, time.Hour, conversation.RuleSilenced, conversation.RuleSilenced},
		{"both", time.Hour, 2 * time.Hour, conversation.RuleSilenced, conversation.RuleSilenced},
	} {
		b.mute(task.Conversation, c.thread)
		b.mute(top, c.channel)
		for task, want := range map[Task]conversation.Rule{task: c.want, other: c.other} {
			known, err := b.readKnown(timeout.Extend(t.Context()), task, store.FactsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if got := known.ForRules(b.Own.UserID).AddressedRule(); got != want {
				t.Errorf("%s: %q of %s; want %q", c.what, got, task.Conversation.ID(), want)
			}
		}
	}
}

// Silencing a channel drops the waiting replies, in its threads, too. They do not come even if the
// channel may speak again before they are due.
func TestChannelSilencedWhileAReplyWaited(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(func(c llmtest.Call) llmtest.Reply {
			if c.Judgment() {
				return llmtest.Yes("nobody answered", 0.8, 60)
			}
			return llmtest.Text("Seven.")
		}))
		b.Clock = func() time.Time { return time.Now().Add(time.Minute) } // each snooze is over
		held := func(name string) Task {
			t.Helper()
			task := inThread(b.say(name))
			task.Decision = "run/" + name
			if got := b.judge(task); !got.Verdict.ShouldRespond {
				t.Fatalf("%s: %+v", name, got)
			}
			return task
		}
		order := func(c chat.Conversation, kind string, until time.Time) {
			t.Helper()
			now := time.Now()
			in := RecordOrderInput{Conversation: c, ID: kind + " " + now.String(), Kind: kind, By: "cli:carol", At: now, Until: until}
			if _, err := runOnce[any](b.RecordOrder, in); err != nil {
				t.Fatal(err)
			}
		}
		top := chat.Conversation{Team: "T1", Channel: b.General}
		before := held("before")
		ordered := held("ordered")
		order(top, conversation.UpdateSnooze, time.Now().Add(time.Second))
		if got := b.reply(before, false); got != conversation.Silenced {
			t.Errorf("a reply that waited when the channel was snoozed: %s", got)
		}
		b.wantSilence("a reply that waited when the channel was snoozed", before, conversation.RuleSilenced, 2)
		if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: ordered, Ordered: true}); err != nil || got.Result != conversation.Done {
			t.Errorf("an ordered reply: %s, %v", got.Result, err)
		}
		mention := inThread(b.say("you?"))
		mention.Decision = "run/mention"
		if got := b.reply(mention, true); got != conversation.Done {
			t.Errorf("a mention: %s", got)
		}

		after := held("after")
		other := inThread(b.say("elsewhere"))
		order(other.Conversation, conversation.UpdateMute, time.Now().Add(time.Hour))
		order(other.Conversation, conversation.UpdateUnmute, time.Time{})
		order(top, conversation.UpdateUnmute, time.Time{})
		order(top, conversation.UpdateDrop, time.Time{})
		if got := b.reply(after, false); got != conversation.Done {
			t.Errorf("a reply judged after that: %s", got)
		}
	})
}

// The channel is off by its name, which Slack has not told yet. Nothing is decided before the name is
// known, or until Slack refuses to tell it for good.
func TestNothingIsDecidedBeforeTheNameIsKnown(t *testing.T) {
	t.Parallel()
	named := func() (b *bundle, mention Task) {
		b = setup(t)
		b.settings.DailyCalls = 100
		off := b.settings
		off.Mode = config.ModeOff
		b.channels.set(func(f config.ChannelFacts) config.ChannelSettings {
			if f.Name == "general" {
				return off
			}
			return b.settings
		})
		return b, inThread(b.say(b.Mention("how many dwarfs?")))
	}
	b, mention := named()
	clear := b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.info", Status: 503})
	_, err := runOnce[JudgeOutput](b.Judge, judging(mention))
	if app := applicationError(t, err); app.NonRetryable() {
		t.Errorf("judged without the name: %v, want a retryable error", err)
	}
	_, err = runOnce[ReplyOutput](b.Compose, ComposeInput{Task: mention, Addressed: true})
	if app := applicationError(t, err); app.NonRetryable() {
		t.Errorf("composed without the name: %v, want a retryable error", err)
	}
	dm := b.Workspace.AddChannel(workspace.DM, "", b.Alice.ID, b.Workspace.Bot().UserID)
	if got := b.reply(atTopLevel(b.sayIn(dm, "how many dwarfs?")), true); got != conversation.Done {
		t.Errorf("%s in a direct message, which has no name; want a reply", got)
	}
	clear()
	if got := b.reply(mention, true); got != conversation.Silenced {
		t.Errorf("%s with the name, want silence", got)
	}
	b.wantSilence("mode off under a name", mention, conversation.RuleModeOff, 1) // the call for the direct message

	b, mention = named()
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.info", Error: "missing_scope"})
	if got := b.reply(mention, true); got != conversation.Done {
		t.Errorf("%s where Slack refuses to tell the name, want a reply", got)
	}
}

// A scope over its budget is remembered the next day.
func TestRememberOverBudget(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(llmtest.Script(llmtest.Text("- 2026-03-01: alice plans a party"))))
		b.syncChannels()
		b.setNoon(0)
		b.settings.DailyCalls = 1
		var log strings.Builder
		b.Logger = slog.New(slog.NewTextHandler(&log, nil))
		if err := b.Store.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: b.General}, Purpose: "response", Model: "large"}); err != nil {
			t.Fatal(err)
		}
		parent := b.say("shall we have a party?")
		b.say("with cake", workspace.InThread(parent.TS))
		channel := chat.Scope{Team: "T1", Channel: b.General}
		scopes := []chat.Scope{{Team: "T1", Channel: b.General, Thread: parent.TS}, channel}
		remember := func(s chat.Scope) RememberOutput {
			t.Helper()
			out, err := runOnce[RememberOutput](b.Remember, RememberInput{Scope: s, At: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		for _, s := range scopes {
			if out := remember(s); out != (RememberOutput{}) {
				t.Errorf("%s: %+v", s, out)
			}
			if standing, err := b.Store.CurrentMemory(t.Context(), s); err != nil || standing.Known {
				t.Errorf("%s counts as remembered: %+v, %v", s, standing, err)
			}
		}
		if n := strings.Count(log.String(), "not remembered today"); n != 1 {
			t.Errorf("the log says so %d times:\n%s", n, log.String())
		}
		if n := len(b.Model.Calls()); n != 0 {
			t.Errorf("the model was asked %d times", n)
		}
		b.setNoon(1)
		b.settings.DailyCalls = 5
		for _, s := range scopes {
			if out := remember(s); !out.Changed || out.Calls == 0 {
				t.Errorf("%s, the next day: %+v", s, out)
			}
		}
		b.settings.DailyCalls = 1
		if out := remember(chat.Scope{Team: "T1"}); !out.Changed {
			t.Errorf("the workspace, which no channel's budget holds up: %+v", out)
		}
	})
}
