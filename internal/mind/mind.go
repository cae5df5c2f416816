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

// Identity is who tells who the bot is.
type Identity interface {
	Identity(ctx context.Context) (slack.Identity, error)
}

// Mind is all that questions are made of. All exported fields are required.
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

	// needsMoreTokens are the uses of models, as modelUse, whose thoughts have left too few tokens for an answer.
	needsMoreTokens sync.Map
}

// recall reads what there is to know for one conversation, with its channel's persona.
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

// ReplyQuestion is the question for a reply.
type ReplyQuestion struct {
	Question
	// Saw is the newest message of the conversation that the model is shown.
	Saw time.Time
}

// ReplyQuestion is what is asked for a reply to a message. In a thread that an addressed
// message does not begin, Slack is asked for the thread.
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
