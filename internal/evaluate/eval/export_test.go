package eval

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/llm/demo"
	"myao/internal/store"
	"myao/test/storetest"
)

// ledger is a database with what was said in a workspace, and judged.
type ledger struct {
	*store.Store
	t *testing.T
}

func newLedger(t *testing.T) ledger {
	t.Helper()
	l := ledger{storetest.Open(t), t}
	for _, c := range []store.Channel{
		{ID: "C0OPS", Name: "ops"}, {ID: "C0LEADS", Name: "leads", Private: true}, {ID: "C0PARTNERS", Name: "partners", External: true},
		{ID: "C0GROUP", Name: "mpdm-alice--bob-1", Private: true}, {ID: "C0NAMELESS", Private: true}, {ID: "D0", Private: true},
	} {
		l.must(l.SaveChannel(t.Context(), "T1", c))
	}
	l.must(l.SaveUsers(t.Context(), "T1", store.User{ID: "U0ALICE", Name: "Alice Carter"}, store.User{ID: "U0BOB", Name: "bob"},
		store.User{ID: "U0EVE", Name: "Evelyn"}, store.User{ID: "B0CI", Name: "ci", Bot: true}, store.User{ID: "U0MYAO", Name: "myao", Bot: true}))
	return l
}

func (l ledger) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// second is n seconds after a time that was before any decision is written.
func second(n float64) time.Time {
	return time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(time.Second))).Truncate(time.Microsecond)
}

// say stores a message that was sent at second n, and returns its ts.
func (l ledger) say(n float64, m chat.Message) string {
	l.t.Helper()
	m.Team, m.TS = "T1", chat.TS(second(n))
	if m.Channel == "" {
		m.Channel = "C0OPS"
	}
	if m.Own {
		m.UserID, m.BotID = "U0MYAO", "B1"
	}
	if m.UserID == "" && m.BotID == "" {
		m.UserID = "U0ALICE"
	}
	_, err := l.Record(l.t.Context(), m, func(store.Known) store.Entry { return store.Entry{Message: &m, Handled: true} })
	l.must(err)
	return m.TS
}

func (l ledger) react(n float64, ts, user, name string, removed bool) {
	l.t.Helper()
	l.must(l.PutReaction(l.t.Context(), store.Reaction{Team: "T1", Channel: "C0OPS", TS: ts, User: user, Name: name, At: second(n), Removed: removed}))
}

// judge stores a decision that was read at second n, with labels.
func (l ledger) judge(n float64, key, channel, thread, trigger string, labels ...store.Label) {
	l.t.Helper()
	d := store.Decision{
		Key: key, WorkflowID: chat.Conversation{Team: "T1", Channel: channel, Thread: thread}.ID(), TriggerTS: trigger, Source: "judgment",
		ReadUS: second(n).UnixMicro(), Outcome: conversation.Silent,
	}
	l.must(l.Decide(l.t.Context(), d))
	for i := range labels {
		labels[i].TeamID, labels[i].ChannelID, labels[i].Decision = "T1", channel, key
		if labels[i].Kind == label.Human {
			l.must(l.SaveLabel(l.t.Context(), labels[i]))
		} else {
			l.must(l.SaveHindsight(l.t.Context(), d, labels[i:i+1]))
		}
	}
}

func missed() store.Label {
	return store.Label{Kind: label.Mentioned, Truth: label.Speak, Weight: 0.9}
}

func (l ledger) exporter() Exporter {
	return Exporter{Store: l.Store, Team: "T1", Bot: "U0MYAO", Messages: 50, Rand: rand.New(rand.NewPCG(1, 2))}
}

func (l ledger) export(x Exporter) (Exported, string) {
	l.t.Helper()
	out, err := x.Export(l.t.Context(), store.LabelFilter{}, 100)
	l.must(err)
	var b strings.Builder
	for _, c := range out.Cases {
		line, err := c.Line()
		l.must(err)
		b.Write(line)
	}
	return out, b.String()
}

// scene is talk with all that a case knows, and one decision about it.
func (l ledger) scene() {
	gone := l.say(0, chat.Message{Text: "the deleted one"})
	question := l.say(60, chat.Message{Text: "Can bob restart <https://staging.acme.com|staging> at 10:30?", Files: []chat.File{{ID: "F1", Name: "alice.png", MIME: "image/png"}, {Name: "x", MIME: "?"}}})
	l.say(70, chat.Message{UserID: "B0CI", BotID: "B9", Text: "build 4711 failed"})
	l.say(80, chat.Message{BotID: "B8", Name: "hook", Text: "disk full"})
	l.say(100.5, chat.Message{ThreadTS: question, UserID: "U0BOB", Text: "<@U0ALICE> which?"})
	l.say(110, chat.Message{ThreadTS: question, Own: true, Text: "Perhaps <@U0BOB> knows."})
	l.say(115, chat.Message{ThreadTS: gone, UserID: "U0BOB", Text: "under the deleted one"})
	newest := l.say(120, chat.Message{UserID: "U0BOB", Text: "<@U0MYAO|myao> said so, Evelyn"})
	l.say(130, chat.Message{ThreadTS: l.say(65, chat.Message{Text: "aside"}), Text: "elsewhere, after the newest"})
	l.say(600, chat.Message{Text: "after the decision"})
	l.react(90, question, "U0BOB", "eyes", false)
	l.react(200, question, "U0EVE", "bob_dance", false)
	l.react(210, question, "U0MYAO", "heart", false)
	l.react(220, newest, "U0EVE", "tada", false)
	l.react(230, newest, "U0EVE", "tada", true)
	l.react(500, newest, "U0ALICE", "later", false)
	deleted := chat.Message{Team: "T1", Channel: "C0OPS", TS: gone, UserID: "U0ALICE", Deleted: true}
	_, err := l.Record(l.t.Context(), deleted, func(store.Known) store.Entry { return store.Entry{Message: &deleted, Handled: true} })
	l.must(err)
	edited := chat.Message{Team: "T1", Channel: "C0OPS", TS: newest, UserID: "U0BOB", Text: "<@U0EVE> said so, Evelyn", Revision: chat.TS(second(700))}
	_, err = l.Record(l.t.Context(), edited, func(store.Known) store.Entry { return store.Entry{Message: &edited, Handled: true} })
	l.must(err)
	l.judge(420.2, "run/1", "C0OPS", "", newest, store.Label{Kind: label.Answered, Truth: label.Silent, Weight: 0.6}, missed())
}

const exportedScene = `{"v":1,"id":"ledger/ID","cluster":"ledger/CLUSTER","lang":"en","category":"mentioned","channel":{"name":"channel-1"},` +
	`"people":[{"id":"U2","name":"ALICE"},{"id":"A1","name":"CI"},{"id":"A2","name":"HOOK"},{"id":"U1","name":"BOB"},{"id":"U3","name":"EVE"}],"events":[` +
	`{"at":0,"by":"U2","text":"Can BOB restart <https://example.com|staging> at NN:NN?","files":[{"name":"image","mime":"image/png"},{"name":"file","mime":"application/octet-stream"}]},` +
	`{"at":5,"by":"U2","text":"aside"},` +
	`{"at":10,"by":"A1","text":"build NNNN failed","app":true},` +
	`{"at":20,"by":"A2","text":"disk full","app":true},` +
	`{"at":30,"by":"U1","react":"eyes","to":0},` +
	`{"at":40,"by":"U1","text":"<@U2> which?","thread":0},` +
	`{"at":50,"text":"Perhaps <@U1> knows.","thread":0,"own":true},` +
	`{"at":60,"by":"U1","text":"<@U3> said so, EVE"},` +
	`{"at":140,"by":"U3","react":"BOB_dance","to":0}],` +
	`"judge_at":361,"target":"speak","why":"somebody had to mention the bot","license":"private"}` + "\n"

func TestExportedCase(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.scene()
	out, got := l.export(l.exporter())
	if len(out.Cases) != 1 {
		t.Fatalf("%+v", out)
	}
	want := strings.NewReplacer("ledger/ID", out.Cases[0].ID, "ledger/CLUSTER", out.Cases[0].Cluster).Replace(exportedScene)
	for i, name := range []string{"ALICE", "CI", "HOOK", "BOB", "EVE"} {
		want = strings.ReplaceAll(want, name, out.Cases[0].People[i].Name)
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	x := l.exporter()
	x.Rand, x.NoText = nil, true
	other, shape := l.export(x)
	if other.Cases[0].ID != out.Cases[0].ID || other.Cases[0].Cluster == out.Cases[0].Cluster || other.Cases[0].Events[0].Text != "text text text text text text text text text text?" {
		t.Errorf("another export without texts:\n%s", shape)
	}
}

// What is exported is judged as any other case.
func TestExportedCasesRun(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.scene()
	thread := l.say(1000, chat.Message{Text: "so"})
	l.judge(1600, "run/2", "C0OPS", thread, l.say(1010, chat.Message{ThreadTS: thread, UserID: "U0BOB", Text: "誰か知っていますか"}),
		store.Label{Kind: label.Welcome, Truth: label.Speak, Weight: 0.9}, store.Label{Kind: label.Human, Truth: label.Silent, LabelledBy: "cli:carol"})
	for _, noText := range []bool{false, true} {
		x := l.exporter()
		x.NoText = noText
		_, lines := l.export(x)
		r, _ := newRunner(t, nil, read(t, lines)...)
		r.Model = demo.New()
		rows := mustRun(t, r).Rows
		for i, want := range []struct {
			target Target
			spoke  bool
		}{{Silent, true}, {Speak, false}} { // the one asks, the other does not
			if row := rows[i]; row.Target != want.target || row.Spoke != want.spoke || row.Verdict == nil {
				t.Errorf("without texts %v: %s, rule %q, %+v, %s, spoke %v", noText, row.Target, row.Rule, row.Verdict, row.Error, row.Spoke)
			}
		}
	}
}

// A decision is left out where there is nothing to tell of it, or nobody may know.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	speak := func(k label.Kind, truth label.Truth, weight float64) store.Label {
		return store.Label{Kind: k, Truth: truth, Weight: weight}
	}
	question := l.say(0, chat.Message{Text: "who?"})
	for i, in := range []string{"C0LEADS", "C0PARTNERS", "C0GROUP", "C0NAMELESS", "C0UNKNOWN", "D0"} {
		l.judge(600, "elsewhere/"+in, in, "", l.say(float64(i), chat.Message{Channel: in, Text: "who?"}), missed())
	}
	l.judge(600, "waits", "C0OPS", "", question, speak(label.Waited, label.Wait, 0.6), speak(label.Unanswered, label.Speak, 0.3))
	l.judge(600, "perhaps", "C0OPS", "", question, speak(label.Unanswered, label.Speak, 0.3))
	l.judge(600, "gone", "C0OPS", "", chat.TS(second(5)), missed())
	l.judge(600, "of no parent", "C0OPS", chat.TS(second(6)), l.say(10, chat.Message{ThreadTS: chat.TS(second(6)), Text: "who?"}), missed())
	l.say(20, chat.Message{ThreadTS: question, Text: "or when?"})
	l.judge(601, "in a thread", "C0OPS", "", question, missed())
	l.judge(15, "either", "C0OPS", "", question, speak(label.Mentioned, label.Speak, 1), speak(label.Human, label.Either, 0))
	for _, test := range []struct {
		private bool
		cases   []string
		left    map[LeftOut]int
	}{
		{false, []string{"channel-1 human either"}, map[LeftOut]int{LeftDirect: 2, LeftPrivate: 4, LeftLabel: 2, LeftGone: 2, LeftThread: 1}},
		{true, []string{"channel-1 human either", "channel-2 mentioned speak", "channel-3 mentioned speak private"}, map[LeftOut]int{LeftDirect: 2, LeftPrivate: 2, LeftLabel: 2, LeftGone: 2, LeftThread: 1}},
	} {
		x := l.exporter()
		x.Private = test.private
		out, lines := l.export(x)
		var cases []string
		for _, c := range out.Cases {
			kind := map[bool]string{true: " private"}[c.Channel.Private]
			cases = append(cases, fmt.Sprint(c.Channel.Name, " ", c.Category, " ", c.Target, kind))
		}
		if !slices.Equal(cases, test.cases) || fmt.Sprint(out.Left) != fmt.Sprint(test.left) {
			t.Errorf("private %v: %q, %v\nwant %q, %v\n%s", test.private, cases, out.Left, test.cases, test.left, lines)
		}
	}
	if out, err := l.exporter().Export(t.Context(), store.LabelFilter{Since: time.Now().Add(time.Hour)}, 5); err != nil || len(out.Cases)+len(out.Left) > 0 {
		t.Errorf("of the future: %+v, %v", out, err)
	}
}

// A long past is told from about twelve days before, and no more of it than a judgment reads.
func TestExportIsBounded(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	long := strings.Repeat("あ", 40_000)
	const month = 30 * 24 * 3600
	for i := range 400 {
		l.say(float64(i)-2*month, chat.Message{Text: fmt.Sprint("message ", i)})
	}
	newest := l.say(-month, chat.Message{Text: long + "?"})
	for i := range 400 {
		l.react(float64(i)/2-month, newest, fmt.Sprint("U", i), "eyes", false)
	}
	l.judge(300-month, "run/1", "C0OPS", "", newest, missed())
	x := l.exporter()
	x.Messages = 1000
	out, _ := l.export(x)
	if len(out.Cases) != 1 {
		t.Fatalf("%+v", out)
	}
	c := out.Cases[0]
	first, last := c.Events[0], c.Events[maxCaseMessages-1]
	if len(c.Events) != maxCaseEvents || first.At != 0 || last.At != maxCaseSeconds-300 || c.JudgeAt != maxCaseSeconds || c.Lang != "ja" || len([]rune(last.Text)) != maxCaseText {
		t.Errorf("%d events, the first at %v, the newest message at %v with %d characters, judged at %v, %s", len(c.Events), first.At, last.At, len([]rune(last.Text)), c.JudgeAt, c.Lang)
	}
}

// Nothing of what must stay in the database is in an export, wherever it stands there.
func TestExportTellsNoSecrets(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	ctx := t.Context()
	l.must(l.SaveUsers(ctx, "T1", store.User{ID: "U0TARO", Name: "山田太郎"}, store.User{ID: "U0KANARIA", Name: "Kana Ria"}))
	r := rand.New(rand.NewPCG(5, 6))
	canaries := []string{ // in texts, which say other things as well
		"Alice Carter", "alice", "Carter", "bob", "@bob", "Evelyn", "山田太郎", "山田", "太郎さん", "<@U0BOB|bob>", "U0ALICE01", "C0SECRET1", "<#C0LEADS|leads>", "#leads",
		"<https://wiki.acme.com/4711|4711>", "https://wiki.acme.com/4711", "acme.com", "carol@acme.com", "<mailto:carol@acme.com|carol@acme.com>", "+49 151 4711 0815", "4711", "４７１１",
		"xoxb-1234567890-abcdefghij", "AKIAIOSFODNN7EXAMPLE", "postgres://me:hunter22@db/x", "<!subteam^S0SECRET|@oncall-acme>",
	}
	traces := []string{"alice", "carter", "bob", "evelyn", "山田", "太郎", "u0", "c0", "s0", "d0", "leads", "4711", "４７１１", "0815", "acme", "carol", "xoxb", "akia", "hunter22", "kanarienvogel", "kana", "t1", ".000000", "run/", "wf/"}
	joints := []string{" ", ", ", "\n", " (", ": ", "、", "「", "? ", "。"}
	text := func() string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString([]string{"see", "why is it so", "お願いします", "nothing"}[r.IntN(4)] + joints[r.IntN(len(joints))] + canaries[r.IntN(len(canaries))] + joints[r.IntN(len(joints))])
		}
		return b.String()
	}
	var said []string
	var newest string
	for i := range 200 {
		m := chat.Message{UserID: []string{"U0ALICE", "U0BOB", "U0EVE", "U0TARO", "U0KANARIA", "U0GONE"}[r.IntN(6)], Text: text(), Files: []chat.File{{Name: "alice-4711.pdf", MIME: "application/pdf"}}}
		switch {
		case m.UserID == "U0KANARIA":
			m.Text = "kanarienvogel"
		case i%10 == 3:
			m.Own = true
		case i%10 == 4:
			m.BotID, m.Name = "B0SECRET", "alice's hook"
		case i%10 == 5:
			m.Channel, m.Text = "C0LEADS", "kanarienvogel in private"
		case i%10 == 6 && newest != "":
			m.ThreadTS = said[0]
		}
		ts := l.say(float64(60*i), m)
		if m.ThreadTS == "" && m.Channel == "" {
			said = append(said, ts)
		}
		if m.Channel == "" && m.ThreadTS == "" && !m.Own && m.BotID == "" && m.UserID != "U0KANARIA" {
			newest = ts
			l.react(float64(60*i+1), ts, "U0BOB", "alice_4711", false)
			l.judge(float64(60*i+30), fmt.Sprint("run/", i), "C0OPS", "", ts, missed())
		}
	}
	forgotten := l.say(60*200, chat.Message{Text: "kanarienvogel?"})
	l.judge(60*200+30, "run/forgotten", "C0OPS", "", forgotten, missed())
	_, err := l.ForgetMessages(ctx, "T1", "C0OPS", []string{forgotten}, "cli:ann", "o1")
	l.must(err)
	l.must(l.ForgetPerson(ctx, chat.Person{Team: "T1", User: "U0KANARIA"}, "cli:ann", "o2", func(string, int, int) error { return nil }))
	for _, noText := range []bool{false, true} {
		x := l.exporter()
		x.NoText = noText
		out, lines := l.export(x)
		if len(out.Cases) < 50 {
			t.Fatalf("%d cases, %v", len(out.Cases), out.Left)
		}
		for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
			var c Case
			l.must(json.Unmarshal([]byte(line), &c))
			c.ID, c.Cluster = "", "" // of hexadecimal digits
			plain, err := c.Line()
			l.must(err)
			for _, trace := range traces {
				if strings.Contains(strings.ToLower(string(plain)), trace) {
					t.Fatalf("case %d without texts %v tells %q:\n%s", i, noText, trace, plain)
				}
			}
		}
	}
}
