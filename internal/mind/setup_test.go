package mind

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/channels"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm/llmtest"
	"myao/internal/prompt"
	"myao/internal/recall"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/store/storetest"
	"myao/internal/testserver"
)

func TestMain(m *testing.M) {
	// These tests mostly wait, so more of them run at once than there are cores.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	testserver.Main(m)
}

// directory is a Slack that knows every user and some channels.
type directory struct {
	mu       sync.Mutex
	channels map[string]slack.Channel
}

func (d *directory) Identity(context.Context) (slack.Identity, error) {
	return slack.Identity{TeamID: "T1", UserID: "UBOT", BotID: "BBOT", Name: "myao"}, nil
}

func (d *directory) User(_ context.Context, id string) (slack.User, error) {
	return slack.User{ID: id, Name: "name of " + id, Guest: id == "UGUEST"}, nil
}

var errUnknown = errors.New("no such channel")

func (d *directory) Channel(_ context.Context, id string) (slack.Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.channels[id]
	if !ok {
		return slack.Channel{}, errUnknown
	}
	return c, nil
}

func (d *directory) Members(context.Context, string, string) ([]string, string, error) {
	return nil, "", errUnknown
}

// emptyThreads is a Slack that adds nothing to the threads in the database.
type emptyThreads struct{}

func (emptyThreads) Replies(context.Context, string, string, slack.Range, slack.Identity) (slack.Page, error) {
	return slack.Page{}, nil
}

// bundle is a Mind with a real database and a model behind HTTP.
type bundle struct {
	*Mind
	t     *testing.T
	slack *directory
	model *llmtest.Running
	// now is when the test began. Times of messages and memories are relative to it.
	now        time.Time
	clockError time.Duration // how far the mind's clock is ahead
	said       int
	// config has the settings of the channels.
	config config.Config
}

// eachDatabase runs a test on both databases.
func eachDatabase(t *testing.T, run func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, setup(t, sqliteURL(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, setup(t, storetest.Postgres(t)))
	})
}

func sqliteURL(t *testing.T) string { return storetest.SQLite(t) }

// note is the default model. It answers each call with something new.
func note(c llmtest.Call) llmtest.Reply {
	if c.Judgment() {
		return llmtest.No("nothing to say")
	}
	return llmtest.Text(fmt.Sprintf("- 2026-03-01: note %d of %s", c.N, kindOf(c)))
}

// kinds are the memories that prompts ask for.
var kinds = []string{
	"short-term memory of the workspace", "long-term memory of the workspace", "memory of the thread", "short-term memory of", "long-term memory of",
}

// kindOf returns which memory a call asks for.
func kindOf(c llmtest.Call) string {
	for _, kind := range kinds {
		if strings.Contains(c.System, "\nWrite the "+kind) {
			return kind
		}
	}
	return "?"
}

// embeddedPrompts are made once: every template is rendered with them.
var embeddedPrompts = sync.OnceValues(func() (*prompt.Renderer, error) { return prompt.New(prompt.Config{}) })

func setup(t *testing.T, url string) *bundle {
	t.Helper()
	b := &bundle{t: t, now: time.Now().UTC().Truncate(time.Microsecond), slack: &directory{channels: map[string]slack.Channel{}}}
	s := storetest.OpenURL(t, url)
	b.model = llmtest.New(t, note)
	prompts, err := embeddedPrompts()
	if err != nil {
		t.Fatal(err)
	}
	discard := slog.New(slog.DiscardHandler)
	clock := func() time.Time { return time.Now().Add(b.clockError) }
	b.Mind = &Mind{
		Store: s, Slack: b.slack,
		Recall: &recall.Builder{
			Store: s, Users: b.slack, Threads: emptyThreads{}, ThreadLimit: 20,
			Directory: &channels.Directory{Store: s, Slack: b.slack, Config: &b.config, Clock: clock, Logger: discard},
			Persona:   chat.Persona{Name: "myao", SystemPrompt: "You are myao."}, MessagesLimit: 50,
			ActiveChannel: 168 * time.Hour, ThreadMemory: 168 * time.Hour, Clock: clock, Logger: discard,
		},
		Prompts: prompts, Memory: config.Default().Memory, Clock: clock, Logger: discard,
		Channel: func(f config.ChannelFacts) config.ChannelSettings { return b.config.Channel(f) },
	}
	b.useProvider(config.ProviderOpenAI)
	return b
}

// useProvider sends the questions to a provider.
func (b *bundle) useProvider(p config.Provider) {
	b.t.Helper()
	c := config.Config{LLM: config.LLM{
		OpenAI: config.Access{APIKey: "key", BaseURL: b.model.URL + "/v1"},
		Gemini: config.Gemini{APIKey: "key", Endpoint: b.model.URL},
	}}
	for agent, model := range map[*config.Agent]string{&c.Agents.Response: "large", &c.Agents.Judgment: "small", &c.Agents.Memory: "keeper"} {
		*agent = config.Agent{Provider: p, Model: model, MaxOutputTokens: 400}
	}
	agents, stop, err := OpenAgents(b.t.Context(), c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(stop)
	b.Agents = agents
}

// addChannels adds channels to Slack and to the store.
func (b *bundle) addChannels(channels ...slack.Channel) {
	b.t.Helper()
	for _, c := range channels {
		c.Member = true
		b.slack.mu.Lock()
		b.slack.channels[c.ID] = c
		b.slack.mu.Unlock()
		if err := b.Store.SaveChannel(b.t.Context(), "T1", store.Channel{ID: c.ID, Name: c.Name, Private: c.Private, Member: true, Refreshed: time.Now()}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func public(id, name string) slack.Channel  { return slack.Channel{ID: id, Name: name} }
func private(id, name string) slack.Channel { return slack.Channel{ID: id, Name: name, Private: true} }

// ts returns a unique ts, this long before now.
func (b *bundle) ts(ago time.Duration) string {
	b.said++
	return chat.TS(b.now.Add(-ago + time.Duration(b.said)*time.Microsecond))
}

// say records a message of alice.
func (b *bundle) say(channel string, ago time.Duration, text string) chat.Message {
	b.t.Helper()
	return b.record(chat.Message{Team: "T1", Channel: channel, TS: b.ts(ago), UserID: "UALICE", Text: text})
}

// reply records a reply of bob.
func (b *bundle) reply(to chat.Message, ago time.Duration, text string) chat.Message {
	b.t.Helper()
	return b.record(chat.Message{Team: "T1", Channel: to.Channel, TS: b.ts(ago), ThreadTS: to.TS, UserID: "UBOB", Text: text})
}

func (b *bundle) edit(m chat.Message, text string) {
	b.t.Helper()
	m.Text, m.Revision = text, chat.TS(time.Now())
	b.record(m)
}

func (b *bundle) remove(m chat.Message) {
	b.t.Helper()
	m.Text, m.Deleted = "", true
	b.record(m)
}

func (b *bundle) record(m chat.Message) chat.Message {
	b.t.Helper()
	if _, err := b.Store.Record(b.t.Context(), m, func(store.Known) store.Entry { return store.Entry{Message: &m, Handled: true} }); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func channel(id string) chat.Scope { return chat.Scope{Team: "T1", Channel: id} }
func thread(m chat.Message) chat.Scope {
	return chat.Scope{Team: "T1", Channel: m.Channel, Thread: m.TS}
}

var workspace = chat.Scope{Team: "T1"}

// remember calls Remember as of a time after now, and returns the model's calls. Remember must
// report as many.
func (b *bundle) remember(s chat.Scope, after time.Duration) []llmtest.Call {
	b.t.Helper()
	b.model.Reset()
	made, err := b.Remember(b.t.Context(), s, b.now.Add(after), 1)
	if err != nil {
		b.t.Fatal(err)
	}
	calls := b.model.Calls()
	if made.Calls != len(calls) {
		b.t.Errorf("%s: says that it made %d calls, and made %d", s, made.Calls, len(calls))
	}
	return calls
}

// wantKinds fails unless the calls ask for these memories, in this order.
func (b *bundle) wantKinds(when string, calls []llmtest.Call, want ...string) {
	b.t.Helper()
	var got []string
	for _, c := range calls {
		got = append(got, kindOf(c))
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: asked for %q, want %q", when, got, want)
	}
}

const (
	ofThread       = "memory of the thread"
	channelShort   = "short-term memory of"
	channelLong    = "long-term memory of"
	workspaceShort = "short-term memory of the workspace"
	workspaceLong  = "long-term memory of the workspace"
)

// currentMemories returns the memories in force, empty ones where there are none.
func (b *bundle) currentMemories(s chat.Scope) (long, short store.Memory) {
	b.t.Helper()
	current, err := b.Store.CurrentMemory(b.t.Context(), s)
	if err != nil {
		b.t.Fatal(err)
	}
	if current.Long != nil {
		long = *current.Long
	}
	if current.Short != nil {
		short = *current.Short
	}
	return long, short
}

// material is the part of a prompt above its instruction.
func material(c llmtest.Call) string {
	above, _, _ := strings.Cut(c.System, "\n---\n")
	_, above, _ = strings.Cut(above, "\n## ")
	return above
}

// wantWords fails unless a text contains the words, and lacks those that begin with a "!".
func (b *bundle) wantWords(what, text string, words ...string) {
	b.t.Helper()
	for _, w := range words {
		w, absent := strings.CutPrefix(w, "!")
		if strings.Contains(text, w) == absent {
			b.t.Errorf("%s: %q in it is %v, in\n%s", what, w, !absent, text)
		}
	}
}
