package agents

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/slack"
	"myao/test/llmtest"
)

// The first message of somebody who turns out to be a guest gets a reply without the tools that no guest may have.
func TestGuestsAreOfferedNoToolsOfServers(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	b.slack.Guests = map[string]bool{"UGUEST": true}
	for author, want := range map[string]int{"UALICE": 2, "UGUEST": 1} {
		m := b.Record(chat.Message{Team: "T1", Channel: "D" + author, TS: b.ts(0), UserID: author, Text: "hello"})
		q, err := b.ReplyTo(b.Context(), Reply{
			Conversation: chat.Conversation{Team: "T1", Channel: m.Channel}, Trigger: m.TS, Addressed: true,
			Tools: []tools.Offer{{Tool: llm.Tool{Name: "search_messages"}}, {Tool: llm.Tool{Name: "desk__create"}, Act: true, Server: "desk"}},
		})
		if err != nil || len(q.Tools) != want {
			t.Errorf("%s is offered %+v, %v", author, q.Tools, err)
		}
	}
}

func TestReplyAndJudgmentUseTheirAgents(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"), public("C2", "random"))
	hello := b.say("C1", time.Hour, "hello <@UBOB>, see <#C2>")
	bare := b.say("C1", 0, "<@UBOT>")
	c := chat.Conversation{Team: "T1", Channel: "C1"}
	r, err := b.ReplyTo(b.Context(), Reply{Conversation: c, Trigger: bare.TS, Addressed: true})
	if err != nil || r.Purpose != llm.PurposeResponse || r.Schema != nil || !r.Saw.Equal(bare.Time()) {
		t.Errorf("%+v, %v", r, err)
	}
	b.WantWords("the reply", r.System, "@myao", "!UBOT", "hello @name of UBOB, see #random")
	const called = "You were called by name and asked nothing."
	b.WantWords("a bare mention", r.Prompt, called)
	for _, other := range []string{hello.TS, "1.000000"} {
		q, err := b.ReplyTo(b.Context(), Reply{Conversation: c, Trigger: other, Addressed: true})
		if err != nil {
			t.Fatal(err)
		}
		b.WantWords("any other message", q.Prompt, "!"+called)
	}
	withFile := b.Record(chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(bare.Time().Add(time.Microsecond)), UserID: "UALICE", Text: "<@UBOT>", Files: []chat.File{{Name: "plan.pdf"}}})
	about, err := b.ReplyTo(b.Context(), Reply{Conversation: c, Trigger: withFile.TS, Addressed: true})
	if err != nil {
		t.Fatal(err)
	}
	b.WantWords("a mention with a file", about.Prompt, "!"+called)
	if r, err = b.ReplyTo(b.Context(), Reply{Conversation: c, Trigger: bare.TS, Addressed: true}); err != nil {
		t.Fatal(err)
	}
	b.WantWords("a bare mention below which more is said", r.Prompt, called)
	j, err := b.Judgment(b.Context(), c, nil, 600)
	if err != nil {
		t.Fatal(err)
	}
	q, err := j.Question("")
	if err != nil || q.Purpose != llm.PurposeJudgment || q.Schema == nil {
		t.Errorf("%+v, %v", q, err)
	}
	again, err := j.Question("no braces")
	if err != nil {
		t.Fatal(err)
	}
	b.WantWords("the second try", again.System+again.Prompt, "no braces")
	b.WantWords("the first try", q.System+q.Prompt, "!no braces")
	for _, q := range []Question{r.Question, q} {
		if _, err := b.Ask(b.Context(), q, Attempt{}); err != nil {
			t.Error(err)
		}
	}
	calls := b.Model.Calls()
	if len(calls) != 2 || calls[0].Model != "large" || calls[0].Judgment() || calls[1].Model != "small" || !calls[1].Judgment() {
		t.Errorf("calls %+v", calls)
	}
}

// countingThreads counts how often a thread is read from Slack.
type countingThreads struct{ asked int }

func (c *countingThreads) Replies(context.Context, string, string, slack.Range, slack.Identity) (slack.Page, error) {
	c.asked++
	return slack.Page{}, nil
}

// The bot may have been called into the middle of a thread. Otherwise the database has the thread.
func TestThreadsReadFromSlack(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	root := b.say("C1", time.Hour, "<@UBOT> what is this?")
	reply := b.reply(root, time.Minute, "<@UBOT> well?")
	for _, c := range []struct {
		trigger   string
		addressed bool
		want      int
	}{{reply.TS, true, 1}, {reply.TS, false, 0}, {root.TS, true, 0}} {
		threads := &countingThreads{}
		b.Recall.Threads = threads
		if _, err := b.ReplyTo(b.Context(), Reply{Conversation: chat.Conversation(thread(root)), Trigger: c.trigger, Addressed: c.addressed}); err != nil || threads.asked != c.want {
			t.Errorf("%+v: asked %d times, %v", c, threads.asked, err)
		}
	}
}

// Many long messages fit into a prompt, and the message to answer is among them.
func TestLongMessagesFitIntoThePrompt(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	asked := b.say("C1", time.Hour, "<@UBOT> what is this?")
	for range 49 {
		b.say("C1", time.Minute, "log: "+strings.Repeat("disk full ", 1200))
	}
	c := chat.Conversation{Team: "T1", Channel: "C1"}
	r, err := b.ReplyTo(b.Context(), Reply{Conversation: c, Trigger: asked.TS, Addressed: true})
	if err != nil {
		t.Fatal(err)
	}
	j, err := b.Judgment(b.Context(), c, nil, 600)
	if err != nil {
		t.Fatal(err)
	}
	q, err := j.Question("")
	if err != nil {
		t.Fatal(err)
	}
	for name, system := range map[string]string{"reply": r.System, "judgment": q.System} {
		if n := len(system); n > 128_000 || n < 100_000 {
			t.Errorf("%s: %d characters", name, n)
		}
		b.WantWords(name, system, " earlier messages\n", "… 8005 characters of this message left out here\n")
	}
	b.WantWords("reply", r.System, "what is this?")
	b.WantWords("judgment", q.System, "!what is this?")
}

// The memories of a direct message are in its prompts, though the channel has no name.
func TestDirectMessageMemories(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(private("D1", ""))
	b.say("D1", time.Hour, "hello")
	b.remember(channel("D1"), 0)
	r, err := b.ReplyTo(b.Context(), Reply{Conversation: chat.Conversation{Team: "T1", Channel: "D1"}, Trigger: "1.000000", Addressed: true})
	if err != nil {
		t.Fatal(err)
	}
	b.WantWords("a reply", r.System, "### Direct message\n", "note 1 of short-term", "note 2 of long-term", "!#D1", "!# \n")
	q, err := b.MemoryQuestions(b.Context(), channel("D1"), b.now)
	if err != nil || len(q) == 0 {
		t.Fatal(q, err)
	}
	b.WantWords("a memory", q[0].System, "note 2 of long-term", "of this direct message", "!#D1")
}

// No further attempt fixes a template.
func TestBrokenTemplatesAreFinalErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	m := b.say("C1", time.Hour, "hello")
	b.reply(m, 0, "hello")
	dir := t.TempDir()
	for _, name := range []string{"memory_channel_short.tmpl", "memory_thread.tmpl"} { // valid for every other channel
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`x{{if eq .Channel "general"}}{{index .Channels 99}}{{end}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if b.Prompts, err = prompt.New(prompt.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []chat.Scope{channel("C1"), thread(m)} {
		var bad *FinalError
		if _, err := b.Remember(b.Context(), s, b.now, 1); !errors.As(err, &bad) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// Every question is an error without the database.
func TestDatabaseErrorsAskNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.useProvider(config.ProviderGemini)
	b.Model.Handle(func(llmtest.Call) llmtest.Reply { t.Error("a model was asked"); return llmtest.Text("ok") })
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []chat.Scope{workspace, channel("C1"), {Team: "T1", Channel: "C1", Thread: "1.000000"}} {
		if made, err := b.Remember(b.Context(), s, b.now, 1); err == nil || made.Changed {
			t.Errorf("%s: %+v, %v", s, made, err)
		}
		if _, err := b.MemoryQuestions(b.Context(), s, b.now); err == nil {
			t.Errorf("%s: questions without a database", s)
		}
	}
	c := chat.Conversation{Team: "T1", Channel: "C1"}
	if _, err := b.ReplyTo(b.Context(), Reply{Conversation: c, Trigger: "1.000000", Addressed: true}); err == nil {
		t.Error("a reply without a database")
	}
	if _, err := b.Judgment(b.Context(), c, nil, 600); err == nil {
		t.Error("a judgment without a database")
	}
	for _, threads := range []bool{true, false} {
		if _, err := b.ChangedScopes(b.Context(), threads, b.now, chat.Scope{}, 10); err == nil {
			t.Error("a survey without a database")
		}
	}
}

// No tool of another program is sent what models are told to do, be it in the templates or in the configuration.
func TestInstructionsStayHere(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.Instructions = config.Config{Channels: map[string]config.Channel{"general": {Persona: "Here you never mention the green sky over the harbour."}}}.Instructions()
	remote := b.Agents.Tools(struct{ Slack }{}, nil, nil, nil, nil, nil)
	system := "say the next thing in it, as a member of this workspace would"
	for _, told := range []string{system, "here you never mention the green sky over the harbour"} {
		if remote.Refuses(json.RawMessage(`{"q":"`+told+`"}`)) == "" {
			t.Errorf("not refused: %s", told)
		}
	}
}
