package activities

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"myao/internal/answer/agents"
	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/intake/catchup"
	"myao/internal/intake/record"
	"myao/internal/llm/gemini"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
	"myao/test/llmtest"
	"myao/test/testserver"
)

func TestMain(m *testing.M) {
	// These tests wait half of their time, so more of them run at once than there are cores.
	if err := flag.Set("test.parallel", strconv.Itoa(6*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testserver.Main(m)
}

// bundle is Activities in a world.
type bundle struct {
	*inprocess.World
	*Activities
	settings config.ChannelSettings
	channels *channelConfig
	ci       workspace.App // another app
}

type option func(*inprocess.Options)

func withModel(h llmtest.Handler) option { return func(o *inprocess.Options) { o.Model = h } }
func withDatabase(url string) option     { return func(o *inprocess.Options) { o.Database = url } }

// eachDatabase runs a test on both databases.
func eachDatabase(t *testing.T, run func(t *testing.T, url option)) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) { run(t, withDatabase(url)) })
}

// withSlackTimeout makes calls of Slack obey deadlines, as the worker's do.
func withSlackTimeout(o *inprocess.Options) { o.Client = &http.Client{} }

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

func setup(t *testing.T, options ...option) *bundle {
	t.Helper()
	o := inprocess.Options{Model: llmtest.Default}
	for _, option := range options {
		option(&o)
	}
	b := &bundle{
		World: inprocess.New(t, o), settings: config.Config{Response: config.Default().Response}.Channel(config.ChannelFacts{}),
		ci: workspace.App{BotID: "B0CI", Name: "ci", UserID: "U0CI"},
	}
	model, err := gemini.New(t.Context(), gemini.Config{APIKey: "key", Endpoint: b.Model.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	b.channels = &channelConfig{channel: func(config.ChannelFacts) config.ChannelSettings { return b.settings }}
	s, client, directory := b.Database, b.Client, b.NewDirectory(b.Client, b.channels)
	own := b.Identity()
	b.Activities = &Activities{
		Store: s, Own: own, Slack: client, Directory: directory,
		Agents: &agents.Agents{
			Models: agents.Models{
				Prompts: inprocess.Prompts(),
				ByUse: agents.ByUse{
					Response: agents.Agent{Model: model, Agent: config.Agent{Provider: config.ProviderGemini, Model: "large", MaxOutputTokens: 1000}},
					Judgment: agents.Agent{Model: model, Agent: config.Agent{Model: "small", MaxOutputTokens: 500}},
					Memory:   agents.Agent{Model: model, Agent: config.Agent{Model: "large", MaxOutputTokens: 800}},
				},
			},
			Store: s, Own: own,
			Recall: &recall.Builder{
				Store: s, Own: own, Users: client, Directory: directory, Threads: client, ThreadLimit: 20, MessagesLimit: 50,
				Persona:       chat.Persona{Name: "myao", SystemPrompt: "You are myao."},
				ActiveChannel: 168 * time.Hour, ThreadMemory: 168 * time.Hour, Clock: time.Now, Logger: inprocess.Silent,
			},
			Memory: config.Default().Memory, Channel: b.channels.Channel,
			Clock: time.Now, Logger: inprocess.Silent,
		},
		Missed: &catchup.Reader{
			Store: s, Own: own, Slack: client, Recorder: &record.Recorder{Store: s, Directory: directory}, Directory: directory,
			FirstWindow: 24 * time.Hour, ThreadWindow: 168 * time.Hour, Clock: time.Now, Logger: inprocess.Silent,
		},
		Clock: time.Now, Logger: inprocess.Silent,
	}
	return b
}

// say posts a message of alice in the workspace and records it.
func (b *bundle) say(text string, options ...workspace.SayOption) chat.Message {
	b.Helper()
	return b.sayIn(b.General, text, options...)
}

func (b *bundle) sayIn(channel, text string, options ...workspace.SayOption) chat.Message {
	b.Helper()
	ts := b.Workspace.Say(channel, b.Alice.ID, text, options...)
	return b.record(chat.Message{Team: "T1", Channel: channel, TS: ts, UserID: b.Alice.ID, Text: text})
}

// record records a message, in its thread in the workspace, and changes of it.
func (b *bundle) record(m chat.Message, kinds ...conversation.Kind) chat.Message {
	b.Helper()
	for _, held := range b.Workspace.Messages(m.Channel) { // which may lack it
		if held.TS == m.TS && held.Reply() {
			m.ThreadTS = held.ThreadTS
		}
	}
	return b.Record(m, kinds...)
}

func (b *bundle) remove(m chat.Message) {
	b.Helper()
	b.Workspace.Delete(m.Channel, m.TS)
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

// judging asks for the judgment of a task's trigger.
func judging(t Task) JudgeInput {
	return JudgeInput{Task: t, MaxDelay: 600, Pending: []string{t.Trigger}}
}

// patient has workflows and activities take as long as the machine stands still.
func patient() worker.Options {
	return worker.Options{
		DeadlockDetectionTimeout: 2 * time.Minute, BackgroundActivityContext: timeout.Extend(context.Background()),
	}
}

// newEnvironment is where an attempt of an activity runs. Without a timeout of ours it would have three seconds.
func newEnvironment(activity any) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(inprocess.Silent))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(2 * time.Minute)
	env.SetWorkerOptions(patient())
	env.RegisterActivity(activity)
	return env
}

// runOnce makes one attempt of an activity.
func runOnce[T any](activity, in any) (out T, err error) {
	env := newEnvironment(activity)
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
	b.Helper()
	until := b.Clock().Add(d)
	if err := b.Store.ApplyOrder(b.Context(), store.Order{ID: c.ID() + until.String(), Scope: chat.Scope(c), Kind: conversation.UpdateMute, Until: until}); err != nil {
		b.Fatal(err)
	}
}

// compose puts a reply into the outbox without a model.
func (b *bundle) compose(task Task, texts ...string) {
	b.Helper()
	var parts []store.Part
	for i, text := range texts {
		p := b.parts(task, text, time.Now(), time.Now())
		p[0].Number, p[0].Key = i, p[0].Key[:len(p[0].Key)-1]+string(rune('0'+i))
		parts = append(parts, p[0])
	}
	err := b.Store.Compose(b.Context(), parts, store.Decision{
		Key: task.decisionKey(), WorkflowID: task.Conversation.ID(), TriggerTS: task.Trigger, Source: "addressed", Outcome: "pending", ShouldRespond: true,
	})
	if err != nil {
		b.Fatal(err)
	}
}

// beginSend begins an attempt to post a part at once.
func (b *bundle) beginSend(p store.Part, lease time.Duration) {
	b.Helper()
	if wait, err := b.Store.BeginSend(b.Context(), p, 0, lease); err != nil || wait != 0 {
		b.Fatal(wait, err)
	}
}

// outbox returns the parts of a reply.
func (b *bundle) outbox(task Task) []store.Part {
	b.Helper()
	parts, err := b.Store.Parts(b.Context(), task.replyKey())
	if err != nil {
		b.Fatal(err)
	}
	return parts
}

// decision returns the ledger's row of a task.
func (b *bundle) decision(task Task) store.Decision {
	b.Helper()
	d, err := b.Store.Decision(b.Context(), task.decisionKey())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		b.Fatal(err)
	}
	return d
}

// postedTexts returns the texts of the bot's posts, in order.
func (b *bundle) postedTexts() []string {
	var texts []string
	for _, p := range b.Workspace.Posts() {
		texts = append(texts, p.Text)
	}
	return texts
}

func (b *bundle) await(what string, done func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	if err := b.Workspace.Await(ctx, done); err != nil {
		b.Errorf("waited in vain for %s", what)
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
