package mind

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/prompt"
	"myao/internal/recall"
	"myao/internal/slack"
	"myao/internal/store"
)

// Identity returns who the bot is.
type Identity interface {
	Identity(ctx context.Context) (slack.Identity, error)
}

// Mind makes questions and asks them. All exported fields are required.
type Mind struct {
	Store   *store.Store
	Slack   Identity
	Recall  *recall.Builder
	Prompts *prompt.Renderer
	Agents  Agents
	Memory  config.Memory
	// Channel returns the settings of a channel.
	Channel func(config.ChannelFacts) config.ChannelSettings
	Clock   func() time.Time
	Logger  *slog.Logger

	// needsMoreTokens holds each modelUse whose thoughts have left too few tokens for an answer.
	needsMoreTokens sync.Map
}

// recall reads the context of a conversation and the settings of its channel, and adds the
// channel's persona.
func (m *Mind) recall(ctx context.Context, c chat.Conversation, addressed bool) (recall.Recollection, config.ChannelSettings, error) {
	r, err := m.Recall.Build(ctx, c, addressed)
	settings := m.Channel(config.ChannelFacts{ID: c.Channel, Name: r.Conversation.ChannelName})
	if settings.Persona != "" {
		r.Persona.SystemPrompt = strings.TrimSpace(r.Persona.SystemPrompt) + "\n\n" + strings.TrimSpace(settings.Persona)
	}
	return r, settings, err
}

func (m *Mind) options(a Agent, r recall.Recollection) prompt.Options {
	return prompt.Options{Now: m.Clock(), AgentPrompt: a.SystemPrompt, Names: r.Names, BotUserID: r.Bot, ChannelNames: r.Channels}
}

// ReplyQuestion asks for a reply.
type ReplyQuestion struct {
	Question
	// Saw is the time of the conversation's newest message in the prompt.
	Saw time.Time
}

// ReplyQuestion asks for a reply to the message trigger. If the bot is addressed within a
// thread, the thread is read from Slack first.
func (m *Mind) ReplyQuestion(ctx context.Context, c chat.Conversation, trigger string, addressed bool) (ReplyQuestion, error) {
	r, settings, err := m.recall(ctx, c, addressed && trigger != c.Thread)
	if err != nil {
		return ReplyQuestion{}, err
	}
	own, err := m.Slack.Identity(ctx)
	if err != nil {
		return ReplyQuestion{}, err
	}
	agent := m.Agents.Response
	agent.Agent.Model = cmp.Or(settings.Model, agent.Agent.Model)
	o := m.options(agent, r)
	o.AnswerTS = trigger
	for _, said := range r.Target() {
		o.BareMention = o.BareMention || (said.TS == trigger && len(said.Files) == 0 && prompt.BareMention(said.Text, own.UserID))
	}
	q, err := newLimitedQuestion(agent, chat.Scope(c), func(characters int) (llm.Request, error) {
		o.MaxCharacters = characters
		system, user, err := m.Prompts.Response(r.Context, o)
		return llm.Request{Purpose: llm.PurposeResponse, System: system, Prompt: user}, err
	})
	return ReplyQuestion{Question: q, Saw: r.Saw}, err
}
