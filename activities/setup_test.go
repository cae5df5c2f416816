package activities

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"myao/internal/catchup"
	"myao/internal/channels"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm/gemini"
	"myao/internal/llm/llmtest"
	"myao/internal/mind"
	"myao/internal/prompt"
	"myao/internal/recall"
	"myao/internal/record"
	"myao/internal/sandbox"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/store/storetest"
	"myao/internal/testserver"
)

func TestMain(m *testing.M) {
	// These tests mostly wait, so more of them run at once than there are cores.
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	testserver.Main(m)
}

// bundle is Activities with a real database, and a workspace and a model behind HTTP.
type bundle struct {
	*Activities
	t         *testing.T
	workspace *sandbox.Workspace
	model     *llmtest.Running
	api       *httptest.Server
	client    *slack.Client
	settings  config.ChannelSettings
	channels  *channelConfig
	general   string
	alice     sandbox.User
	ci        sandbox.App // another app
}

type option func(*settings)

type settings struct {
	handler llmtest.Handler
	url     string
	wrap    func(http.Handler) http.Handler
	http    http.Client
}

func withModel(h llmtest.Handler) option { return func(s *settings) { s.handler = h } }
func withDatabase(url string) option     { return func(s *settings) { s.url = url } }

// eachDatabase runs a test on both databases.
func eachDatabase(t *testing.T, run func(t *testing.T, url option)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, withDatabase(sqliteURL(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, withDatabase(storetest.Postgres(t)))
	})
}

func sqliteURL(t *testing.T) string { return storetest.SQLite(t) }

// patientTransport ignores deadlines, because the test machine may stand still. It obeys cancellation.
type patientTransport struct{}

func (patientTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(req.Context()))
	obey := func() {
		if errors.Is(req.Context().Err(), context.Canceled) {
			cancel(context.Cause(req.Context()))
		}
	}
	obey() // AfterFunc calls it in a goroutine, perhaps too late
	context.AfterFunc(req.Context(), obey)
	return http.DefaultTransport.RoundTrip(req.WithContext(ctx))
}

// withSlackTimeout makes calls of Slack obey deadlines, as the worker's do.
func withSlackTimeout(s *settings) { s.http = http.Client{} }

// channelConfig holds the settings of channels.
type channelConfig struct {
	channel func(config.ChannelFacts) config.ChannelSettings
	named   bool
}

func (c *channelConfig) Channel(f config.ChannelFacts) config.ChannelSettings { return c.channel(f) }

func (c *channelConfig) HasNamedChannels() bool { return c.named }

// set makes the settings depend on facts such as the name.
func (c *channelConfig) set(channel func(config.ChannelFacts) config.ChannelSettings) {
	c.channel, c.named = channel, true
}

// embeddedPrompts are made once: every template is rendered with them.
var embeddedPrompts = sync.OnceValues(func() (*prompt.Renderer, error) { return prompt.New(prompt.Config{}) })

func setup(t *testing.T, options ...option) *bundle {
	t.Helper()
	o := settings{http: http.Client{Timeout: time.Minute, Transport: patientTransport{}}, handler: llmtest.Default, wrap: func(h http.Handler) http.Handler { return h }}
	for _, option := range options {
		option(&o)
	}
	if o.url == "" {
		o.url = sqliteURL(t)
	}
	discard := slog.New(slog.DiscardHandler)
	b := &bundle{t: t, settings: config.Config{Response: config.Default().Response}.Channel(config.ChannelFacts{})}
	b.workspace = sandbox.New(sandbox.Config{Team: "T1", BotToken: "xoxb-1", Logger: discard})
	t.Cleanup(b.workspace.Close)
	b.api = httptest.NewServer(o.wrap(b.workspace.Handler()))
	t.Cleanup(b.api.Close)
	b.alice = b.workspace.AddUser("alice")
	b.general = b.workspace.AddChannel(sandbox.Public, "general", b.workspace.Bot().UserID, b.alice.ID)
	b.ci = sandbox.App{BotID: "B0CI", Name: "ci", UserID: "U0CI"}
	b.model = llmtest.New(t, o.handler)

	s := storetest.OpenURL(t, o.url)
	model, err := gemini.New(t.Context(), gemini.Config{APIKey: "key", Endpoint: b.model.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	prompts, err := embeddedPrompts()
	if err != nil {
		t.Fatal(err)
	}
	client := slack.New(slack.Config{Token: "xoxb-1", APIURL: b.api.URL + "/api/", HTTPClient: &o.http})
	b.client = client
	b.channels = &channelConfig{channel: func(config.ChannelFacts) config.ChannelSettings { return b.settings }}
	directory := &channels.Directory{Store: s, Slack: client, Config: b.channels, Clock: time.Now, Logger: discard}
	b.Activities = &Activities{
		Store: s, Slack: client, Directory: directory,
		Mind: &mind.Mind{
			Store: s, Slack: client,
			Recall: &recall.Builder{
				Store: s, Users: client, Directory: directory, Threads: client, ThreadLimit: 20, Persona: chat.Persona{Name: "myao", SystemPrompt: "You are myao."},
				MessagesLimit: 50, ActiveChannel: 168 * time.Hour, ThreadMemory: 168 * time.Hour, Clock: time.Now, Logger: discard,
			},
			Prompts: prompts,
			Agents: mind.Agents{
				Response: mind.Agent{Model: model, Agent: config.Agent{Provider: config.ProviderGemini, Model: "large", MaxOutputTokens: 1000}},
				Judgment: mind.Agent{Model: model, Agent: config.Agent{Model: "small", MaxOutputTokens: 500}},
				Memory:   mind.Agent{Model: model, Agent: config.Agent{Model: "large", MaxOutputTokens: 800}},
			},
			Memory: config.Default().Memory, Channel: b.channels.Channel,
			Clock: time.Now, Logger: discard,
		},
		Missed: &catchup.Reader{
			Store: s, Slack: client, Recorder: &record.Recorder{Store: s, Directory: directory}, Directory: directory,
			FirstWindow: 24 * time.Hour, ThreadWindow: 168 * time.Hour, Clock: time.Now, Logger: discard,
		},
		Clock: time.Now, Logger: discard,
	}
	return b
}

// say posts a message of alice in the workspace and records it.
func (b *bundle) say(text string, options ...sandbox.SayOption) chat.Message {
	b.t.Helper()
	return b.sayIn(b.general, text, options...)
}

func (b *bundle) sayIn(channel, text string, options ...sandbox.SayOption) chat.Message {
	b.t.Helper()
	ts := b.workspace.Say(channel, b.alice.ID, text, options...)
	return b.record(chat.Message{Team: "T1", Channel: channel, TS: ts, UserID: b.alice.ID, Text: text})
}

// record records a message, in its thread in the workspace, and changes of it.
func (b *bundle) record(m chat.Message, kinds ...conversation.Kind) chat.Message {
	b.t.Helper()
	for _, held := range b.workspace.Messages(m.Channel) {
		if held.TS == m.TS && held.Reply() {
			m.ThreadTS = held.ThreadTS
		}
	}
	if _, err := b.Store.Record(b.t.Context(), m, func(store.Known) store.Entry {
		entry := store.Entry{Message: &m, Handled: true}
		for _, kind := range kinds {
			entry.Changes = append(entry.Changes, store.Change{
				Conversation: chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}, Change: conversation.Change{TS: m.TS, Kind: kind},
			})
		}
		return entry
	}); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func (b *bundle) remove(m chat.Message) {
	b.t.Helper()
	b.workspace.Delete(m.Channel, m.TS)
	m.Deleted, m.Text = true, ""
	b.record(m, conversation.Deleted)
}

// inThread is a task about a message, with the conversation in the thread under it.
func inThread(m chat.Message) Task {
	return Task{
		Conversation: chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.TS},
		Trigger:      m.TS, Revision: m.Revision, Decision: "run/1",
	}
}

// atTopLevel is a task about a message, with the conversation at the top level.
func atTopLevel(m chat.Message) Task {
	return Task{
		Conversation: chat.Conversation{Team: m.Team, Channel: m.Channel}, Trigger: m.TS, Revision: m.Revision, Decision: "run/1",
	}
}

// runOnce makes one attempt of an activity.
func runOnce[T any](activity, in any) (out T, err error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(2 * time.Minute)
	env.RegisterActivity(activity)
	value, err := env.ExecuteActivity(activity, in)
	if err == nil && value.HasValue() {
		err = value.Get(&out)
	}
	return out, err
}

// runUntilDone runs an activity until it succeeds or its error is final, at most ten times.
func runUntilDone[T any](t *testing.T, activity, in any) (out T, errs []error) {
	t.Helper()
	for range 10 {
		out, err := runOnce[T](activity, in)
		if err == nil {
			return out, errs
		}
		errs = append(errs, err)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.NonRetryable() {
			return out, errs
		}
		// Unlike Temporal it retries at once if the error names no delay.
		<-time.After(app.NextRetryDelay())
	}
	t.Errorf("no end after %d tries: %v", len(errs), errs)
	return out, errs
}

// mute silences a conversation from now on.
func (b *bundle) mute(c chat.Conversation, d time.Duration) {
	b.t.Helper()
	until := time.Now().Add(d)
	if err := b.Store.ApplyOrder(b.t.Context(), store.Order{ID: c.ID() + until.String(), Scope: chat.Scope(c), Kind: conversation.UpdateMute, Until: until}); err != nil {
		b.t.Fatal(err)
	}
}

// compose puts a reply into the outbox without a model.
func (b *bundle) compose(task Task, texts ...string) {
	b.t.Helper()
	var parts []store.Part
	for i, text := range texts {
		p := b.parts(task, text, time.Now(), time.Now())
		p[0].Number, p[0].Key = i, p[0].Key[:len(p[0].Key)-1]+string(rune('0'+i))
		parts = append(parts, p[0])
	}
	err := b.Store.Compose(b.t.Context(), parts, store.Decision{
		Key: task.decisionKey(), WorkflowID: task.Conversation.ID(), TriggerTS: task.Trigger, Source: "addressed", Outcome: "pending", ShouldRespond: true,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// beginSend begins an attempt to post a part at once.
func (b *bundle) beginSend(p store.Part, lease time.Duration) {
	b.t.Helper()
	if wait, err := b.Store.BeginSend(b.t.Context(), p, 0, lease); err != nil || wait != 0 {
		b.t.Fatal(wait, err)
	}
}

// outbox returns the parts of a reply.
func (b *bundle) outbox(task Task) []store.Part {
	b.t.Helper()
	parts, err := b.Store.Parts(b.t.Context(), task.replyKey())
	if err != nil {
		b.t.Fatal(err)
	}
	return parts
}

// decision returns the ledger's row of a task.
func (b *bundle) decision(task Task) store.Decision {
	b.t.Helper()
	d, err := b.Store.Decision(b.t.Context(), task.decisionKey())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		b.t.Fatal(err)
	}
	return d
}

// postedTexts returns the texts of the bot's posts, in order.
func (b *bundle) postedTexts() []string {
	var texts []string
	for _, p := range b.workspace.Posts() {
		texts = append(texts, p.Text)
	}
	return texts
}

func (b *bundle) await(what string, done func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	if err := b.workspace.Await(ctx, done); err != nil {
		b.t.Errorf("waited in vain for %s", what)
	}
}

// applicationError returns an activity's failure as the server gets it.
func applicationError(t *testing.T, err error) *temporal.ApplicationError {
	t.Helper()
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		t.Fatalf("got %v, want an application error", err)
	}
	return app
}
