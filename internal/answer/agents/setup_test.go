package agents

import (
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/test/inprocess"
	"myao/test/llmtest"
	"myao/test/testserver"
)

func TestMain(m *testing.M) {
	// These tests mostly wait, so more of them run at once than there are cores.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	testserver.Main(m)
}

// bundle is Agents in a world without a workspace.
type bundle struct {
	*inprocess.World
	*Agents
	slack *inprocess.Slack
	// now is when the test began. Times of messages and memories are relative to it.
	now  time.Time
	said int
	// config has the settings of the channels.
	config config.Config
}

// eachDatabase runs a test on both databases.
func eachDatabase(t *testing.T, run func(t *testing.T, b *bundle)) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) { run(t, setup(t, url)) })
}

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

func setup(t *testing.T, url string) *bundle {
	t.Helper()
	b := &bundle{
		World: inprocess.NewWithoutWorkspace(t, inprocess.Options{Database: url, Model: note}), slack: inprocess.NewSlack(),
		now: time.Now().UTC().Truncate(time.Microsecond),
	}
	clock := b.Time.Now
	b.Agents = &Agents{
		Models: Models{Prompts: inprocess.Prompts()}, Store: b.Database, Own: b.slack.Own,
		Recall: &recall.Builder{
			Store: b.Database, Own: b.slack.Own, Users: b.slack, Threads: b.slack, ThreadLimit: 20, Directory: b.NewDirectory(b.slack, &b.config),
			Persona: chat.Persona{Name: "myao", SystemPrompt: "You are myao."}, MessagesLimit: 50,
			ActiveChannel: 168 * time.Hour, ThreadMemory: 168 * time.Hour, Clock: clock, Logger: inprocess.Silent,
		},
		Memory: config.Default().Memory, Clock: clock, Logger: inprocess.Silent,
		Channel: func(f config.ChannelFacts) config.ChannelSettings { return b.config.Channel(f) },
	}
	b.useProvider(config.ProviderOpenAI)
	return b
}

// useProvider sends the questions to a provider.
func (b *bundle) useProvider(p config.Provider) {
	b.Helper()
	c := config.Config{LLM: config.LLM{
		OpenAI: config.Access{APIKey: "key", BaseURL: b.Model.URL + "/v1"},
		Gemini: config.Gemini{APIKey: "key", Endpoint: b.Model.URL},
	}}
	for agent, model := range map[*config.Agent]string{&c.Agents.Response: "large", &c.Agents.Judgment: "small", &c.Agents.Memory: "keeper"} {
		*agent = config.Agent{Provider: p, Model: model, MaxOutputTokens: 400}
	}
	byUse, stop, err := OpenByUse(b.Context(), c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
	b.ByUse = byUse
}

// addChannels adds channels to Slack and to the store.
func (b *bundle) addChannels(channels ...slack.Channel) {
	b.Helper()
	for _, c := range channels {
		b.slack.Add(c)
		if err := b.Store.SaveChannel(b.Context(), "T1", store.Channel{ID: c.ID, Name: c.Name, Private: c.Private, Member: true, Refreshed: time.Now()}); err != nil {
			b.Fatal(err)
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
	b.Helper()
	return b.Record(chat.Message{Team: "T1", Channel: channel, TS: b.ts(ago), UserID: "UALICE", Text: text})
}

// reply records a reply of bob.
func (b *bundle) reply(to chat.Message, ago time.Duration, text string) chat.Message {
	b.Helper()
	return b.Record(chat.Message{Team: "T1", Channel: to.Channel, TS: b.ts(ago), ThreadTS: to.TS, UserID: "UBOB", Text: text})
}

func (b *bundle) edit(m chat.Message, text string) {
	b.Helper()
	m.Text, m.Revision = text, chat.TS(time.Now())
	b.Record(m)
}

func (b *bundle) remove(m chat.Message) {
	b.Helper()
	m.Text, m.Deleted = "", true
	b.Record(m)
}

func channel(id string) chat.Scope { return chat.Scope{Team: "T1", Channel: id} }
func thread(m chat.Message) chat.Scope {
	return chat.Scope{Team: "T1", Channel: m.Channel, Thread: m.TS}
}

var workspace = chat.Scope{Team: "T1"}

// remember calls Remember as of a time after now, and returns the model's calls. Remember must
// report as many.
func (b *bundle) remember(s chat.Scope, after time.Duration) []llmtest.Call {
	b.Helper()
	b.Model.Reset()
	made, err := b.Remember(b.Context(), s, b.now.Add(after), 1)
	if err != nil {
		b.Fatal(err)
	}
	calls := b.Model.Calls()
	if made.Calls != len(calls) {
		b.Errorf("%s: says that it made %d calls, and made %d", s, made.Calls, len(calls))
	}
	return calls
}

// wantKinds fails unless the calls ask for these memories, in this order.
func (b *bundle) wantKinds(when string, calls []llmtest.Call, want ...string) {
	b.Helper()
	var got []string
	for _, c := range calls {
		got = append(got, kindOf(c))
	}
	if !slices.Equal(got, want) {
		b.Errorf("%s: asked for %q, want %q", when, got, want)
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
	b.Helper()
	current, err := b.Store.CurrentMemory(b.Context(), s)
	if err != nil {
		b.Fatal(err)
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
