package agents

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // savedCalls reads the database

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/runtime/telemetry"
	"myao/internal/store"
	"myao/test/llmtest"
	"myao/test/storetest"
)

// savedCalls returns the calls in an SQLite database in order, without their times. They ended since the test began.
func (b *bundle) savedCalls(t *testing.T, url string) []store.Call {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT team_id, channel_id, thread_ts, purpose, provider, model, tokens_in, tokens_out,
		error, decision, latency_us, called_us FROM model_calls ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var calls []store.Call
	for rows.Next() {
		var c store.Call
		var latency, ended int64
		if err := rows.Scan(&c.Scope.Team, &c.Scope.Channel, &c.Scope.Thread, &c.Purpose, &c.Provider, &c.Model, &c.TokensIn, &c.TokensOut,
			&c.Error, &c.Decision, &latency, &ended); err != nil {
			t.Fatal(err)
		}
		if latency <= 0 || time.UnixMicro(ended).Before(b.now) || time.UnixMicro(ended).After(time.Now()) {
			t.Errorf("%+v took %d µs and ended at %s", c, latency, time.UnixMicro(ended))
		}
		calls = append(calls, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return calls
}

func TestEveryCallIsSaved(t *testing.T) {
	t.Parallel()
	url := storetest.SQLite(t)
	b := setup(t, url)
	b.useProvider(config.ProviderGemini)
	b.addChannels(public("C1", "general"))
	m := b.say("C1", time.Hour, "hello")
	b.reply(m, 0, "hello to you")
	in := chat.Conversation{Team: "T1", Channel: "C1", Thread: m.TS}
	r, err := b.ReplyTo(b.Context(), Reply{Conversation: in, Trigger: m.TS, Addressed: true})
	if err != nil {
		t.Fatal(err)
	}
	reply := store.Call{Scope: chat.Scope(in), Purpose: "response", Provider: "gemini", Model: "large", Decision: "run/1"}
	var want []store.Call
	for _, c := range []struct {
		reply   llmtest.Reply
		in, out int
		kind    string
	}{
		{llmtest.Reply{Text: "yes", InputTokens: 20, OutputTokens: 3}, 20, 3, ""},
		{llmtest.Fail(503), 0, 0, "unavailable"},
		{llmtest.Fail(401), 0, 0, "auth"},
		{llmtest.Reply{Status: 429, RetryAfter: "7"}, 0, 0, "rate_limited"},
		{llmtest.Reply{Drop: true}, 0, 0, "unavailable"},
		{llmtest.Reply{Text: "Sleepy, Do", Cut: true, InputTokens: 21, OutputTokens: 400}, 21, 400, "cut"},
		{llmtest.Reply{Blocked: true, InputTokens: 22}, 22, 0, "blocked"},
		{llmtest.Reply{InputTokens: 23, OutputTokens: 1}, 23, 1, "empty"},
	} {
		b.Model.Handle(llmtest.Script(c.reply))
		if _, err := b.Ask(b.Context(), r.Question, Attempt{Decision: "run/1"}); llm.KindOf(err) != c.kind {
			t.Errorf("%+v: %v", c, err)
		}
		reply.TokensIn, reply.TokensOut, reply.Error = c.in, c.out, c.kind
		want = append(want, reply)
	}

	// A cancelled call is saved, too.
	ctx, cancel := context.WithCancel(b.Context())
	b.Model.Handle(func(llmtest.Call) llmtest.Reply { cancel(); return llmtest.Reply{Text: "late", Delay: time.Minute} })
	if _, err := b.Ask(ctx, r.Question, Attempt{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	reply.TokensIn, reply.TokensOut, reply.Error, reply.Decision = 0, 0, "canceled", ""
	want = append(want, reply)

	// A judgment, and memories. An existing draft costs no call.
	b.Model.Handle(llmtest.Script(llmtest.Reply{Text: `{}`, InputTokens: 30, OutputTokens: 5}))
	j, err := b.Judgment(b.Context(), in, nil, 600)
	if err != nil {
		t.Fatal(err)
	}
	q, err := j.Question("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Ask(b.Context(), q, Attempt{Decision: "run/2"}); err != nil {
		t.Error(err)
	}
	// The client request id tells the provider the decision, and differs with each request.
	ids := map[string]bool{}
	asked := b.Model.Calls()
	if len(asked) != len(want)+1 {
		t.Fatalf("%d calls were made, want %d", len(asked), len(want)+1)
	}
	for i, c := range asked {
		id := "run/2"
		if i < len(want) {
			id = want[i].Decision
		}
		got := c.Header.Get(llm.ClientRequestIDHeader)
		if llm.DecisionOf(got) != id || got != "" && ids[got] || (got == "") != (id == "") {
			t.Errorf("call %d came with the id %q, want one of %q", i, got, id)
		}
		ids[got] = true
	}
	want = append(want, store.Call{Scope: chat.Scope(in), Purpose: "judgment", Provider: "gemini", Model: "small", TokensIn: 30, TokensOut: 5, Decision: "run/2"})
	b.Model.Handle(llmtest.Script(llmtest.Reply{Text: "- a note", InputTokens: 40, OutputTokens: 6}))
	for _, c := range []struct {
		scope chat.Scope
		calls int
	}{{thread(m), 1}, {channel("C1"), 2}, {workspace, 2}} {
		b.remember(c.scope, 0)
		for range c.calls {
			want = append(want, store.Call{Scope: c.scope, Purpose: "memory", Provider: "gemini", Model: "keeper", TokensIn: 40, TokensOut: 6})
		}
	}

	got := b.savedCalls(t, url)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("the database has\n%+v, want\n%+v", got[min(i, len(got)):], want[min(i, len(want)):])
		}
	}
	// Failed calls without tokens do not count for the budget.
	if calls, tokens, err := b.Store.Spent(t.Context(), "T1", "C1", b.now.Add(-time.Hour)); err != nil || calls != 8 || tokens != 663 {
		t.Errorf("%d calls and %d tokens spent, %v; want 8 and 663", calls, tokens, err)
	}
}

// Absurd token counts can be saved as a call and in the ledger.
func TestMaxTokensCanBeSaved(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		m := b.say("C1", time.Hour, "hello")
		b.Model.Handle(llmtest.Script(llmtest.Reply{Raw: `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}],
			"usage":{"prompt_tokens":1e30,"completion_tokens":1e30}}`}))
		q, err := b.ReplyTo(b.Context(), Reply{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: m.TS, Addressed: true})
		if err != nil {
			t.Fatal(err)
		}
		d := store.Decision{Key: "run/1", Outcome: "silent"}
		for range 2 { // a judgment may take two answers
			answer, err := b.Ask(b.Context(), q.Question, Attempt{})
			if err != nil {
				t.Fatal(err)
			}
			d.TokensIn += answer.Usage.Input
			d.TokensOut += answer.Usage.Output
		}
		if err := b.Store.Decide(t.Context(), d); err != nil {
			t.Error(err)
		}
		if calls, tokens, err := b.Store.Spent(t.Context(), "T1", "C1", b.now.Add(-time.Hour)); err != nil || calls != 2 || tokens != 4*llm.MaxTokens {
			t.Errorf("%d calls and %d tokens spent, %v; want 2 and %d", calls, tokens, err, 4*llm.MaxTokens)
		}
	})
}

func TestUnsavedCallIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	m := b.say("C1", 0, "a secret")
	q, err := b.ReplyTo(b.Context(), Reply{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: m.TS, Addressed: true})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	b.Logger = slog.New(telemetry.NewLogHandler(slog.NewTextHandler(&log, nil)))
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	answer, err := b.Ask(telemetry.WithLogAttrs(b.Context(), slog.String("trigger", m.TS)), q.Question, Attempt{})
	if err != nil || !strings.Contains(answer.Text, "note 1") {
		t.Errorf("got %+v, %v", answer, err)
	}
	b.WantWords("the log", log.String(), "not saved", "conversation=channel/T1/C1", "trigger="+m.TS, "response", "!secret", "!note 1")
}

// A channel's persona is added to the bot's, and its model writes the replies.
func TestChannelPersonaAndModel(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"), public("C2", "pirates"))
	b.ByUse.Response.SystemPrompt, b.ByUse.Judgment.SystemPrompt = "Be exact.", "Be strict."
	b.config.Agents.Response.Model = "large"
	b.config.Channels = map[string]config.Channel{"pirates": {Persona: " Speak like a pirate.\n", Model: "parrot"}}
	for _, c := range []struct{ channel, persona, model string }{
		{"C1", "You are myao.\n\n", "large"},
		{"C2", "You are myao.\n\nSpeak like a pirate.\n\n", "parrot"},
	} {
		m := b.say(c.channel, 0, "hello")
		where := chat.Conversation{Team: "T1", Channel: c.channel}
		r, err := b.ReplyTo(b.Context(), Reply{Conversation: where, Trigger: m.TS, Addressed: true})
		if err != nil || r.Model != c.model || !strings.HasPrefix(r.System, c.persona+"Be exact.\n") {
			t.Errorf("%s: a reply by %s, %v:\n%.120s", c.channel, r.Model, err, r.System)
		}
		j, err := b.Judgment(b.Context(), where, nil, 600)
		if err != nil {
			t.Fatal(err)
		}
		q, err := j.Question("")
		if err != nil || q.Model != "small" || !strings.HasPrefix(q.System, c.persona+"Be strict.\n") {
			t.Errorf("%s: a judgment by %s, %v:\n%.120s", c.channel, q.Model, err, q.System)
		}
		memories, err := b.MemoryQuestions(b.Context(), channel(c.channel), b.now)
		if err != nil || len(memories) == 0 {
			t.Fatal(memories, err)
		}
		for _, q := range memories {
			b.WantWords("a memory of "+c.channel, q.System+q.Model, "keeper", "!pirate.", "!parrot")
		}
	}
}

// Thoughts count as output, and may use up the token limit.
func TestMoreTokensAfterLongThoughts(t *testing.T) {
	t.Parallel()
	thought := llmtest.Reply{Cut: true, InputTokens: 20, OutputTokens: 1, ThoughtTokens: 400}
	for name, c := range map[string]struct {
		limit   int
		replies []llmtest.Reply
		limits  []int
		want    string
		out     int
	}{
		"once":                   {1000, []llmtest.Reply{thought, {Text: "seven", OutputTokens: 9}}, []int{1000, 4000}, "seven", 410},
		"and was refused for it": {1000, []llmtest.Reply{{Status: 400, Message: "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens."}, {Text: "seven", OutputTokens: 9}}, []int{1000, 4000}, "seven", 9},
		"each time":              {1000, []llmtest.Reply{thought}, []int{1000, 4000}, "", 802},
		"after a word":           {1000, []llmtest.Reply{{Text: "sev", Cut: true, OutputTokens: 750, ThoughtTokens: 249}}, []int{1000}, "sev", 999},
		"after a word or two":    {1000, []llmtest.Reply{{Text: "se", Cut: true, OutputTokens: 9, ThoughtTokens: 250}, {Text: "seven", OutputTokens: 9}}, []int{1000, 4000}, "seven", 268},
		"and a word the second":  {1000, []llmtest.Reply{{Text: "s", Cut: true, OutputTokens: 9, ThoughtTokens: 991}, {Text: "sev", Cut: true, OutputTokens: 9, ThoughtTokens: 3991}}, []int{1000, 4000}, "sev", 5000},
		"and then fails":         {1000, []llmtest.Reply{{Text: "se", Cut: true, OutputTokens: 9, ThoughtTokens: 250}, {Status: 503}}, []int{1000, 4000}, "se", 259},
		"with a high limit":      {20_000, []llmtest.Reply{thought, {Text: "seven", OutputTokens: 9}}, []int{20_000, 32_768}, "seven", 410},
		"above the maximum":      {40_000, []llmtest.Reply{thought}, []int{40_000}, "", 401},
	} {
		b := setup(t, "")
		b.ByUse.Response.MaxOutputTokens = c.limit
		m := b.say("C1", time.Hour, "how many dwarfs?")
		b.Model.Handle(llmtest.Script(c.replies...))
		r, err := b.ReplyTo(b.Context(), Reply{Conversation: chat.Conversation{Team: "T1", Channel: "C1", Thread: m.TS}, Trigger: m.TS, Addressed: true})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := b.Ask(b.Context(), r.Question, Attempt{Decision: "run/1"})
		if answer.Text != c.want || (err == nil) != (c.want == "seven") || err != nil && !errors.Is(err, llm.ErrCut) || answer.Usage.Output != c.out {
			t.Errorf("%s: got %+v, %v", name, answer, err)
		}
		var limits []int
		for _, call := range b.Model.Calls() {
			limits = append(limits, *call.MaxTokens)
		}
		if !slices.Equal(limits, c.limits) {
			t.Errorf("%s: it was asked with limits of %d, want %d", name, limits, c.limits)
		}
		// The model gets more tokens for the next question, but not for another purpose.
		if _, err := b.Ask(b.Context(), r.Question, Attempt{Decision: "run/2"}); err != nil && !errors.Is(err, llm.ErrCut) && !errors.Is(err, llm.ErrUnavailable) {
			t.Fatal(err)
		}
		other := r.Question
		other.Purpose = llm.PurposeMemory
		if _, err := b.Ask(b.Context(), other, Attempt{}); err != nil && !errors.Is(err, llm.ErrCut) && !errors.Is(err, llm.ErrUnavailable) {
			t.Fatal(err)
		}
		calls := b.Model.Calls()[len(limits):]
		if next, last := *calls[0].MaxTokens, *calls[1].MaxTokens; next != c.limits[len(c.limits)-1] || last != c.limit {
			t.Errorf("%s: asked again with a limit of %d, and of %d for another purpose", name, next, last)
		}
	}
}

// If the window is smaller than expected, only the newest messages are shown.
func TestTooLongPromptIsShortened(t *testing.T) {
	t.Parallel()
	tooLong := llmtest.Reply{Status: 400, Code: "context_length_exceeded", Message: "This model's maximum context length is 4096 tokens."}
	for name, c := range map[string]struct {
		window int // in bytes of the prompt
		asked  int
		fits   bool
	}{
		"all of it": {200_000, 1, true}, "a part": {50_000, 2, true}, "little": {20_000, 3, true}, "the newest of it": {11_500, 4, true}, "none": {100, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "")
			b.addChannels(public("C1", "general"))
			for range 45 {
				b.say("C1", time.Hour, strings.Repeat("much to say ", 250))
			}
			m := b.say("C1", 0, "and how many dwarfs?")
			lines := b.captureLog()
			b.Model.Handle(func(call llmtest.Call) llmtest.Reply {
				if len(call.System) > c.window {
					return tooLong
				}
				return note(call)
			})
			where := chat.Conversation{Team: "T1", Channel: "C1"}
			r, err := b.ReplyTo(b.Context(), Reply{Conversation: where, Trigger: m.TS, Addressed: true})
			if err != nil {
				t.Fatal(err)
			}
			j, err := b.Judgment(b.Context(), where, nil, 600)
			if err != nil {
				t.Fatal(err)
			}
			judged, err := j.Question("")
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []Question{r.Question, judged} {
				b.Model.Reset()
				lines.Reset()
				_, err := b.Ask(b.Context(), q, Attempt{Decision: "run/1"})
				if (err == nil) != c.fits || err != nil && !errors.Is(err, llm.ErrInvalid) {
					t.Errorf("%s: got %v", q.Purpose, err)
				}
				calls := b.Model.Calls()
				if told := strings.Count(lines.String(), "asking with fewer messages"); len(calls) != c.asked || told != c.asked-1 {
					t.Errorf("%s: it was asked %d times, and the log has %d lines; want %d", q.Purpose, len(calls), told, c.asked)
				}
				for i, call := range calls {
					if !strings.Contains(call.System, "and how many dwarfs?") || i > 0 && len(call.System) >= len(calls[i-1].System) {
						t.Errorf("%s: question %d has %d bytes", q.Purpose, i, len(call.System))
					}
				}
			}
		})
	}
}

// A prompt that cannot be shortened is not sent twice.
func TestShortPromptIsNotShortened(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	m := b.say("C1", 0, "how many dwarfs?")
	b.Model.Handle(llmtest.Script(llmtest.Reply{Status: 400, Code: "context_length_exceeded"}))
	r, err := b.ReplyTo(b.Context(), Reply{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: m.TS, Addressed: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Ask(b.Context(), r.Question, Attempt{}); !errors.Is(err, llm.ErrInvalid) || len(b.Model.Calls()) != 1 {
		t.Errorf("got %v after %d calls", err, len(b.Model.Calls()))
	}
}
