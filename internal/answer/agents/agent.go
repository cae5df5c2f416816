package agents

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/answer/providers"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
)

// Agent is a model and its settings for one use.
type Agent struct {
	Model llm.Model
	config.Agent
	// Fallback is asked where the model fails; nil if there is none.
	Fallback *Agent
}

// request sets the agent's model, token limit and temperature.
func (a Agent) request(r llm.Request) llm.Request {
	r.Model, r.MaxOutputTokens, r.Temperature = a.Agent.Model, max(r.MaxOutputTokens, a.MaxOutputTokens), a.Temperature
	return r
}

// ask makes one call. An answer that calls no tool and has no visible character is llm.ErrEmpty.
func (a Agent) ask(ctx context.Context, r llm.Request) (llm.Response, error) {
	answer, err := a.Model.Generate(ctx, r)
	if r.Schema != nil {
		answer.Text = string(chat.PrintableJSON([]byte(answer.Text)))
	}
	answer.Text = chat.Printable(answer.Text) // nobody can check what they cannot see, and Postgres refuses NUL
	switch {
	case answer.Turn == nil:
	case len(r.Tools) == 0:
		answer.Turn = nil // nobody would carry it out
	default:
		turn := *answer.Turn
		turn.Text, turn.Calls = chat.Printable(turn.Text), slices.Clone(turn.Calls)
		for i, call := range turn.Calls {
			turn.Calls[i].Name, turn.Calls[i].Input = chat.Printable(call.Name), chat.PrintableJSON(call.Input)
		}
		answer.Turn = &turn
	}
	if err == nil && answer.Turn == nil && !prompt.Visible(answer.Text) {
		err = &llm.Error{Kind: llm.ErrEmpty, Message: "the model wrote nothing"}
	}
	return answer, err
}

// ByUse are the agents by what they are used for, as in config.Agents.
type ByUse struct {
	Response, Judgment, Memory Agent
	// Shadow are those of config.Shadow.Judges, in the same order.
	Shadow []Agent
}

// OpenByUse makes one client for each server and key in use. close ends their connections.
func OpenByUse(
	ctx context.Context, c config.Config, clock func() time.Time, logger *slog.Logger,
) (byUse ByUse, close func(), err error) {
	m := models{config: c, clock: clock, logger: logger, made: map[server]llm.Model{}}
	type use struct {
		agent *Agent
		as    config.Agent
	}
	uses := []use{{&byUse.Response, c.Agents.Response}, {&byUse.Judgment, c.Agents.Judgment},
		{&byUse.Memory, c.Agents.Memory}}
	byUse.Shadow = make([]Agent, len(c.Shadow.Judges))
	for i, j := range c.Shadow.Judges {
		uses = append(uses, use{&byUse.Shadow[i], c.ShadowAgent(j)})
	}
	for _, use := range uses {
		if *use.agent, err = m.open(ctx, use.as); err != nil {
			m.close()
			return ByUse{}, nil, err
		}
	}
	return byUse, m.close, nil
}

// server identifies a client: each provider, address and key has its own.
type server struct {
	provider config.Provider
	access   config.Access
}

// models opens each client once.
type models struct {
	config config.Config
	clock  func() time.Time
	logger *slog.Logger
	made   map[server]llm.Model
	opened []io.Closer
}

func (m *models) open(ctx context.Context, a config.Agent) (Agent, error) {
	model, err := m.modelOf(ctx, a)
	opened := Agent{Model: model, Agent: a}
	if second, ok := a.Second(); ok && err == nil {
		opened.Fallback = &Agent{Agent: second}
		opened.Fallback.Model, err = m.modelOf(ctx, second)
	}
	return opened, err
}

func (m *models) modelOf(ctx context.Context, a config.Agent) (llm.Model, error) {
	at := server{a.Provider, m.config.Access(a)}
	if model, ok := m.made[at]; ok {
		return model, nil
	}
	provider, err := providers.Named(a.Provider)
	if err != nil {
		return nil, err
	}
	bare, err := provider.Open(ctx, at.access, nil)
	if err != nil {
		return nil, err
	}
	if c, ok := bare.(io.Closer); ok {
		m.opened = append(m.opened, c)
	}
	m.made[at] = llm.Logged(bare, string(a.Provider), m.logger, m.clock)
	return m.made[at], nil
}

func (m *models) close() {
	for _, c := range m.opened {
		_ = c.Close() // it only closes connections
	}
}
