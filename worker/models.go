package main

import (
	"context"
	"fmt"
	"time"

	"myao/activities"
	"myao/internal/config"
	"myao/internal/launch"
	"myao/internal/llm"
	"myao/internal/llm/demo"
	"myao/internal/llm/gemini"
	"myao/internal/llm/openai"
)

// models makes one client a provider, when it is first wanted.
type models struct {
	program launch.Program
	made    map[config.Provider]llm.Model
	gemini  *gemini.Model
}

func (m *models) agent(ctx context.Context, a config.Agent) (activities.Agent, error) {
	model, ok := m.made[a.Provider]
	if !ok {
		bare, err := m.open(ctx, a.Provider)
		if err != nil {
			return activities.Agent{}, err
		}
		model = llm.Logged(bare, string(a.Provider), m.program.Logger, time.Now)
		if m.made == nil {
			m.made = map[config.Provider]llm.Model{}
		}
		m.made[a.Provider] = model
	}
	return activities.Agent{Model: model, Agent: a}, nil
}

func (m *models) open(ctx context.Context, p config.Provider) (llm.Model, error) {
	c := m.program.Config.LLM
	switch p {
	case config.ProviderGemini:
		var err error
		m.gemini, err = gemini.New(ctx, gemini.Config{APIKey: string(c.Gemini.APIKey), Endpoint: c.Gemini.Endpoint})
		return m.gemini, err
	case config.ProviderOpenAI:
		return openai.New(openai.Config{APIKey: string(c.OpenAI.APIKey), BaseURL: c.OpenAI.BaseURL})
	case config.ProviderDemo:
		return demo.New(), nil
	}
	return nil, fmt.Errorf("unknown provider %q", p)
}

func (m *models) close() {
	if m.gemini != nil {
		_ = m.gemini.Close()
	}
}
