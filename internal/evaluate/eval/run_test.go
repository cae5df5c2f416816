package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"myao/activities"
	"myao/internal/answer/agents"
	"myao/internal/answer/prompt"
	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/intake/record"
	"myao/internal/llm/gemini"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
	"myao/test/llmtest"
	"myao/test/storetest"
)

// embeddedPrompts are made once: every template is rendered with them.
var embeddedPrompts = sync.OnceValues(func() (*prompt.Renderer, error) { return prompt.New(prompt.Config{}) })

// newRunner judges cases with a scripted model.
func newRunner(t *testing.T, handler llmtest.Handler, cases ...Case) (Runner, *llmtest.Running) {
	t.Helper()
	server := llmtest.New(t, handler)
	model, err := gemini.New(t.Context(), gemini.Config{APIKey: "key", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	prompts, err := embeddedPrompts()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Agents.Judgment.Model = "small"
	return Runner{
		Config: c, Model: model, Prompts: prompts, Cases: cases, Repeat: 1, Parallel: 4,
		Clock: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler),
	}, server
}

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func read(t *testing.T, lines ...string) []Case {
	t.Helper()
	cases, err := Read("test", strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// caseOf is a case with the given events and the rest of its keys.
func caseOf(id string, target Target, events, rest string) string {
	return fmt.Sprintf(`{"v":1,"id":%q,"lang":"en","category":"c","channel":{"name":"ops"},"people":[{"id":"U1","name":"alice"},{"id":"U2","name":"bob"},{"id":"B9","name":"ci"}],"target":%q,"events":[%s],%s}`,
		id, target, strings.ReplaceAll(events, "\n", " "), rest)
}

// questions are cases that say whether to speak: YES in the text of each second one.
func questions(t *testing.T, n int) []Case {
	t.Helper()
	var lines []string
	for i := range n {
		target, text := Silent, "no"
		if i%2 == 0 {
			target, text = Speak, "YES"
		}
		lines = append(lines, caseOf(fmt.Sprintf("q%02d", i), target, fmt.Sprintf(`{"at":0,"by":"U1","text":"question %d %s?"}`, i, text), `"judge_at":600`))
	}
	return read(t, lines...)
}

func mustRun(t *testing.T, r Runner) Run {
	t.Helper()
	run, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func always(reply llmtest.Reply) llmtest.Handler {
	return func(llmtest.Call) llmtest.Reply { return reply }
}

// oracle speaks where the text says so.
func oracle(c llmtest.Call) llmtest.Reply {
	if strings.Contains(c.System, "YES") {
		return llmtest.Yes("it says so", 0.9, 0)
	}
	return llmtest.No("it says so")
}

func TestRunWithModelsOfKnownFigures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                 string
		handler              llmtest.Handler
		minConfidence        float64
		missed, wrong, brier float64
		unreadable           int
	}{
		{"always yes", always(llmtest.Yes("x", 0.9, 0)), 0, 0, 1, (0.05*0.05 + 0.95*0.95) / 2, 0},
		{"always no", always(llmtest.No("x")), 0, 1, 0, (0.05*0.05 + 0.95*0.95) / 2, 0},
		{"oracle", oracle, 0, 0, 0, 0.05 * 0.05, 0},
		{"a yes that is not sure enough", always(llmtest.Yes("x", 0.5, 0)), 0.7, 1, 0, (0.25*0.25 + 0.75*0.75) / 2, 0},
		{"no verdict", always(llmtest.Text("hm")), 0, 1, 0, -1, 10},
		{"no answer", always(llmtest.Fail(403)), 0, 1, 0, -1, 10},
	} {
		r, _ := newRunner(t, test.handler, questions(t, 10)...)
		r.Config.Response.MinConfidence = test.minConfidence
		f := Figure(mustRun(t, r).Rows)
		brier := -1.0
		if f.Brier != nil {
			brier = *f.Brier
		}
		if f.Cases != 10 || f.Speak != 5 || *f.MissedRate != test.missed || *f.FalseRate != test.wrong || brier-test.brier > 1e-9 || test.brier-brier > 1e-9 || f.Unreadable != test.unreadable {
			t.Errorf("%s: %+v, missed %v, false %v, brier %v", test.name, f, *f.MissedRate, *f.FalseRate, brier)
		}
		if want := map[bool]int{true: 10}[test.minConfidence > 0]; f.Rules[lowConfidence] != want {
			t.Errorf("%s: rules %v", test.name, f.Rules)
		}
	}
}

// What needs no model costs no call.
func TestRulesDecide(t *testing.T) {
	t.Parallel()
	const judged = `"judge_at":600`
	question := `{"at":0,"by":"U1","text":"who?"}`
	cases := read(t,
		caseOf("addressed", Speak, `{"at":0,"by":"U1","text":"<@UBOT> who?"}`, judged),
		caseOf("addressed by an edit", Speak, question+`,{"at":9,"edit":0,"text":"<@UBOT> who?"}`, judged),
		caseOf("answered mention", Silent, `{"at":0,"by":"U1","text":"<@UBOT> who?"},{"at":9,"own":true,"text":"bob","thread":0}`, judged),
		caseOf("deleted", Silent, question+`,{"at":9,"delete":0}`, judged),
		caseOf("hushed", Silent, question+`,{"at":9,"by":"U1","react":"shushing_face::skin-tone-3","to":0}`, judged),
		caseOf("apps alone", Silent, `{"at":0,"by":"B9","app":true,"text":"build failed"}`, judged),
		caseOf("own", Silent, question+`,{"at":9,"own":true,"text":"bob"}`, judged),
		caseOf("said to bob", Silent, `{"at":0,"by":"U1","text":"<@U2> lunch?"}`, judged),
		caseOf("played mention", Speak, `{"at":40,"by":"U1","text":"<@UBOT> who?"}`, `"play":true,"window":[30,60]`),
	)
	r, server := newRunner(t, always(llmtest.Yes("x", 1, 0)), cases...)
	want := map[string]string{"deleted": ruleNothingLeft, "hushed": ruleNothingLeft, "apps alone": ruleNothingLeft, "own": ruleNothingLeft, "answered mention": ruleNothingLeft, "said to bob": "addresses_other"}
	for _, row := range mustRun(t, r).Rows {
		rule, silent := want[row.Case]
		if !silent {
			rule = ruleAddressed
		}
		if row.Rule != rule || row.Spoke == silent || row.Verdict != nil {
			t.Errorf("%s: %+v", row.Case, row)
		}
	}
	if n := len(server.Calls()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// The quiet time is 300 s, give or take 30 %.
func TestPlayedCases(t *testing.T) {
	t.Parallel()
	played := func(id, window string) string {
		return caseOf(id, Speak, `{"at":0,"by":"U1","text":"YES?"},{"at":100,"by":"U2","text":"hm"}`, `"play":true,"window":`+window)
	}
	r, _ := newRunner(t, oracle, read(t,
		played("early", "[600,900]"), played("in_time", "[300,500]"), played("late", "[0,200]"),
		caseOf("silent", Silent, `{"at":0,"by":"U1","text":"well"}`, `"play":true`),
		caseOf("taken back", Silent, `{"at":0,"by":"U1","text":"YES?"},{"at":100,"delete":0}`, `"play":true`),
		caseOf("unheard", Silent, `{"at":0,"by":"U1","text":"YES?"},{"at":100,"edit":0,"text":"well"}`, `"play":true`),
	)...)
	for _, row := range mustRun(t, r).Rows {
		spoken := row.Target == Speak
		if row.Spoke != spoken || (row.At != nil) != spoken || spoken && (string(row.Timing) != row.Case || *row.At < 310 || *row.At > 490) {
			t.Errorf("%s: %+v", row.Case, row)
		}
	}
}

// stopAfter ends a run after some answers, as a signal does.
func stopAfter(t *testing.T, r Runner, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.Parallel = 1
	r.Progress = func(done, _ int, _ Row) {
		if done == n {
			cancel()
		}
	}
	if _, err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v", err)
	}
}

func reportOf(t *testing.T, r Run) string {
	t.Helper()
	var out bytes.Buffer
	if err := errors.Join(WriteHTML(&out, r), WriteMarkdown(&out, r)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A run that was stopped, even in the middle of a line, ends as one that was not.
func TestAStoppedRunGoesOn(t *testing.T) {
	t.Parallel()
	r, server := newRunner(t, oracle, questions(t, 12)...)
	r.Repeat = 2
	whole := mustRun(t, r)
	calls := len(server.Calls())
	r.Dir = t.TempDir()
	stopAfter(t, r, 5)
	file, err := os.OpenFile(filepath.Join(r.Dir, rowsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"case":"q0`); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	r.Clock = func() time.Time { return noon.Add(time.Hour) }
	if got := mustRun(t, r); reportOf(t, got) != reportOf(t, whole) {
		t.Errorf("the reports of %+v and %+v differ", got, whole)
	}
	if n := len(server.Calls()) - calls; n != 24 {
		t.Errorf("24 answers took %d calls", n)
	}
	mustRun(t, r)
	if n := len(server.Calls()) - calls; n != 24 {
		t.Errorf("a finished run asked %d times", n-24)
	}
	r.Config.Response.MinConfidence = 0.5
	if _, err := r.Run(t.Context()); !errors.Is(err, ErrOtherRun) {
		t.Errorf("with another threshold: %v", err)
	}
}

// A cached run asks nothing, and fails where an answer is not recorded.
func TestCachedRun(t *testing.T) {
	t.Parallel()
	cut := func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.System, "question 3") {
			return llmtest.Reply{Text: "{", Cut: true}
		}
		return oracle(c)
	}
	r, server := newRunner(t, cut, questions(t, 6)...)
	r.Repeat, r.Cache = 2, &Cache{Dir: t.TempDir()}
	first := mustRun(t, r)
	calls := len(server.Calls())
	r.Cache = &Cache{Dir: r.Cache.Dir, Only: true}
	if again := mustRun(t, r); !reflect.DeepEqual(again, first) {
		t.Errorf("got  %+v\nwant %+v", again, first)
	}
	if n := len(server.Calls()) - calls; n != 0 {
		t.Errorf("a cached run asked %d times", n)
	}
	r.Cases = append(r.Cases, questions(t, 7)[6])
	if _, err := r.Run(t.Context()); !errors.Is(err, ErrNotRecorded) || !strings.Contains(err.Error(), "case q06") {
		t.Errorf("of a case that was never asked: %v", err)
	}
}

// production is Slack to the activities.
type production struct{ slack.Identity }

func (p production) User(_ context.Context, id string) (slack.User, error) {
	return map[string]slack.User{"U1": {ID: "U1", Name: "alice"}, "U2": {ID: "U2", Name: "bob"}, "B9": {ID: "B9", Name: "ci", IsBot: true}}[id], nil
}

func (p production) Channel(_ context.Context, id string) (slack.Channel, error) {
	return slack.Channel{ID: id, Name: "ops", Member: true}, nil
}

func (p production) Members(context.Context, string, string) ([]string, string, error) {
	panic("asked for members")
}

// asSlack has what activities call themselves.
type asSlack struct{ production }

func (asSlack) Post(context.Context, slack.Post) (string, error)   { panic("posted") }
func (asSlack) OpenDirect(context.Context, string) (string, error) { panic("opened") }
func (asSlack) FindPost(context.Context, string, string, string, string, slack.Identity) (string, bool, error) {
	panic("looked for a post")
}
func (asSlack) React(context.Context, string, string, string) error       { panic("reacted") }
func (asSlack) Permalink(context.Context, string, string) (string, error) { panic("linked") }
func (asSlack) Update(context.Context, slack.Update) (bool, error)        { panic("updated") }

// The prompt of a case is the one that production sends for the same scene: recorded event by event,
// and judged by the activity.
func TestPromptIsProductions(t *testing.T) {
	t.Parallel()
	r, server := newRunner(t, llmtest.Default, read(t, caseOf("a", Silent, `
		{"at":0,"by":"U2","text":"deploy is out"},
		{"at":20,"own":true,"text":"Noted."},
		{"at":60,"by":"B9","app":true,"text":"build 7 failed"},
		{"at":70,"by":"U1","text":"who can fix it","files":[{"name":"log.txt","mime":"text/plain"}]},
		{"at":80,"by":"U2","text":"what a day","thread":0},
		{"at":90,"edit":3,"text":"who can fix it? <@U2>?"},
		{"at":95,"by":"U1","text":"oops"},
		{"at":96,"delete":6},
		{"at":100,"by":"U2","react":"eyes","to":3},
		{"at":110,"by":"U1","text":"anybody?"}`,
		`"memory":{"channel_long":"Long of ops.","channel_short":"Short of ops.","workspace_long":"Long of all.","workspace_short":"Short of all.","thread":"Of the thread."},"judge_at":700`))...)
	mustRun(t, r)

	s := storetest.Open(t)
	now := began
	clock := func() time.Time { return now }
	at := func(seconds, i int) time.Time {
		return began.Add(time.Duration(seconds)*time.Second + time.Duration(i)*time.Microsecond)
	}
	ts := func(seconds, i int) string { return chat.TS(at(seconds, i)) }
	here := asSlack{production{slack.Identity{TeamID: "T1", UserID: "UBOT", BotID: "B0"}}}
	directory := &channels.Directory{Store: s, Slack: here, Config: r.Config, Clock: clock, Logger: r.Logger}
	recorder := &record.Recorder{Store: s, Directory: directory}
	said := func(seconds, i int, m chat.Message) slack.MessageEvent {
		m.Team, m.Channel, m.TS = "T1", "C1", ts(seconds, i)
		return slack.MessageEvent{Kind: slack.Posted, Message: m, ChannelType: "channel"}
	}
	remember(t, s, chat.Scope{Team: "T1"}, "Long of all.", "Short of all.")
	remember(t, s, chat.Scope{Team: "T1", Channel: "C1"}, "Long of ops.", "Short of ops.")
	remember(t, s, chat.Scope{Team: "T1", Channel: "C1", Thread: ts(0, 0)}, "", "Of the thread.")
	file := []chat.File{{ID: "F1", Name: "log.txt", MIME: "text/plain"}}
	edited := said(70, 3, chat.Message{UserID: "U1", Text: "who can fix it? <@U2>?", Files: file, Revision: ts(90, 5)})
	edited.Kind, edited.Previous, edited.HasPrevious = slack.Edited, "who can fix it", true
	deleted := said(95, 6, chat.Message{UserID: "U1", Deleted: true})
	deleted.Kind = slack.Deleted
	for _, e := range []slack.MessageEvent{
		said(0, 0, chat.Message{UserID: "U2", Text: "deploy is out"}),
		said(20, 1, chat.Message{UserID: "UBOT", BotID: "B0", Own: true, Text: "Noted."}),
		said(60, 2, chat.Message{UserID: "B9", BotID: "B9", Text: "build 7 failed"}),
		said(70, 3, chat.Message{UserID: "U1", Text: "who can fix it", Files: file}),
		said(80, 4, chat.Message{UserID: "U2", Text: "what a day", ThreadTS: ts(0, 0)}),
		edited, said(95, 6, chat.Message{UserID: "U1", Text: "oops"}), deleted,
		said(110, 9, chat.Message{UserID: "U1", Text: "anybody?"}),
	} {
		if _, err := recorder.Record(t.Context(), e, here.Identity); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutReaction(t.Context(), store.Reaction{Team: "T1", Channel: "C1", TS: ts(70, 3), User: "U2", Name: "eyes", At: at(100, 8)}); err != nil {
		t.Fatal(err)
	}
	now = began.Add(700 * time.Second)
	do := &activities.Activities{
		Store: s, Own: here.Identity, Slack: here, Directory: directory, Clock: clock, Logger: r.Logger,
		Agents: &agents.Agents{
			Models: agents.Models{Prompts: r.Prompts, ByUse: agents.ByUse{Judgment: agents.Agent{Model: r.Model, Agent: r.Config.Agents.Judgment}}},
			Store:  s, Own: here.Identity, Reacts: func() bool { return r.Config.Slack.React },
			Recall: &recall.Builder{
				Store: s, Own: here.Identity, Users: here, Directory: directory, ThreadLimit: 20, Persona: chat.Persona{Name: "myao", SystemPrompt: r.Config.Persona.SystemPrompt},
				MessagesLimit: 50, ActiveChannel: 168 * time.Hour, ThreadMemory: 168 * time.Hour, Clock: clock, Logger: r.Logger,
			},
			Memory: r.Config.Memory, Channel: r.Config.Channel, Clock: clock, Logger: r.Logger,
		},
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(2 * time.Minute) // not three seconds
	env.RegisterActivity(do.Judge)
	if _, err := env.ExecuteActivity(do.Judge, activities.JudgeInput{
		Task:     activities.Task{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: ts(110, 9), Decision: "run/1"},
		MaxDelay: 600, Pending: []string{ts(70, 3), ts(110, 9)},
	}); err != nil {
		t.Fatal(err)
	}
	calls := server.Calls()
	if len(calls) != 2 {
		t.Fatalf("%d calls", len(calls))
	}
	if calls[0].System != calls[1].System || calls[0].User != calls[1].User {
		t.Errorf("the case's prompt\n%s\n%s\nproduction's\n%s\n%s", calls[0].System, calls[0].User, calls[1].System, calls[1].User)
	}
	for _, want := range []string{"Long of ops.", "Short of all.", "Of the thread.", "Reactions: :eyes: bob", "log.txt", "ci (app)", "2 messages are new"} {
		if !strings.Contains(calls[0].System, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, calls[0].System)
		}
	}
}

func remember(t *testing.T, s *store.Store, scope chat.Scope, long, short string) {
	t.Helper()
	r := store.MemoryUpdate{Scope: scope, Cursor: store.Cursor{Newest: began}, Read: began, Long: store.RenewMemory, Short: store.RenewMemory}
	if long == "" {
		r.Long = store.WithdrawMemory
	}
	for term, text := range map[chat.Term]string{chat.LongTerm: long, chat.ShortTerm: short} {
		if text == "" {
			continue
		}
		if err := s.SaveDraft(t.Context(), store.Memory{Scope: scope, Term: term, Text: text, Made: began}, r.Cursor); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SaveMemories(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestShippedCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../evals/judgment/*.jsonl")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := Read(path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
		}
		lang, hard := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "hard-")
		n, categories, cluster := map[Target]int{}, map[string]bool{}, map[string]Target{}
		for _, c := range cases {
			n[c.Target]++
			categories[c.Category] = true
			if c.Lang != lang || !strings.HasPrefix(c.ID, lang+"/") {
				t.Errorf("%s is of language %s", c.ID, c.Lang)
			}
			if !hard {
				continue
			}
			if words := messages(c); words < 40 || words > 120 {
				t.Errorf("%s has %d messages", c.ID, words)
			}
			if cluster[c.Cluster] == c.Target && c.Target != Either {
				t.Errorf("%s: both of the pair have the target %s", c.ID, c.Target)
			}
			cluster[c.Cluster] = c.Target
		}
		switch {
		case hard && (len(cases) != 60 || len(cluster) != 30 || n[Speak] > 30 || n[Silent] > 30):
			t.Errorf("%s: %v in %d pairs", path, n, len(cluster))
		case !hard && (n[Speak] != 48 || n[Silent] != 72 || len(categories) != 20):
			t.Errorf("%s: %v in %d categories", path, n, len(categories))
		}
	}
}

// messages counts the messages of a case.
func messages(c Case) (n int) {
	for _, e := range c.Events {
		if e.Message() {
			n++
		}
	}
	return n
}

// A figure by name is what the JSON says.
func TestFigureNames(t *testing.T) {
	t.Parallel()
	r, _ := newRunner(t, oracle, questions(t, 4)...)
	r.Config.LLM.Prices = map[string]config.Price{r.Config.Agents.Judgment.Model: {Input: 1, Output: 1}}
	f := mustRun(t, r).Figures()
	body, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var told map[string]any
	if err := json.Unmarshal(body, &told); err != nil {
		t.Fatal(err)
	}
	for _, name := range FigureNames() {
		if got := f.Number(name); got == nil || told[name] != *got {
			t.Errorf("%s: %v, in JSON %v", name, got, told[name])
		}
	}
}
