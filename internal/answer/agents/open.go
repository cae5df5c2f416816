package agents

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/answer/document"
	"myao/internal/answer/playbook"
	"myao/internal/answer/prompt"
	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

// Models are the prompts and the models that a configuration names. Any number of workspaces may share them.
type Models struct {
	Prompts *prompt.Renderer
	// others are the prompts in the languages that only channels have.
	others map[chat.Language]*prompt.Renderer
	ByUse  ByUse
	// Shadow are judges beside the first one.
	Shadow []ShadowJudge
	// fallbacks counts the questions put to fallbacks, by agent; nil before Measure.
	fallbacks *prometheus.CounterVec
}

// Open opens the models of a configuration. close ends the connections to the providers.
func Open(ctx context.Context, c config.Config, logger *slog.Logger) (m Models, close func(), err error) {
	if m.Prompts, err = Prompts(c); err != nil {
		return Models{}, nil, err
	}
	m.others = map[chat.Language]*prompt.Renderer{}
	for _, other := range []chat.Language{chat.English, chat.Japanese} {
		in := c
		if in.Language = other; other == c.Language {
			continue
		}
		if m.others[other], err = Prompts(in); err != nil { // templates_dir may have the one language alone
			delete(m.others, other)
			logger.Warn("no prompts for channels of another language than the configuration's", "language", other,
				"error", err)
		}
	}
	if m.ByUse, close, err = OpenByUse(ctx, c, time.Now, logger); err != nil {
		return Models{}, nil, err
	}
	m.Shadow = make([]ShadowJudge, len(c.Shadow.Judges))
	for i, j := range c.Shadow.Judges {
		m.Shadow[i] = ShadowJudge{Name: j.Name, Agent: m.ByUse.Shadow[i], Prompts: m.Prompts,
			MinConfidence: j.MinConfidence}
		if j.TemplatesDir == "" {
			continue
		}
		if m.Shadow[i].Prompts, err = Prompts(c.ShadowPrompts(j)); err != nil {
			close()
			return Models{}, nil, err
		}
	}
	return m, close, nil
}

// In returns the prompts in a language: those of the configuration where there are none.
func (m Models) In(l chat.Language) *prompt.Renderer {
	if other := m.others[l]; other != nil {
		return other
	}
	return m.Prompts
}

// For makes the agents of a workspace. directory refreshes what is known of its channels.
func (m Models) For(w *workspaces.Workspace, s *store.Store, directory recall.Directory, logger *slog.Logger) *Agents {
	c := w.Config
	return New(&Agents{
		Models: m, Store: s, Own: w.Own,
		Recall: recall.New(&recall.Builder{
			Store: s, Own: w.Own, Users: w.Slack, Directory: directory, Threads: w.Slack,
			ThreadLimit:   c.Slack.ThreadHistoryLimit,
			Persona:       chat.Persona(c.Persona),
			MessagesLimit: c.Response.ChannelMessagesLimit, FoundLimit: c.Memory.SearchResults,
			ActiveChannel: c.Response.ActiveChannel(), ThreadMemory: c.Response.ThreadMemory(),
			Clock: time.Now, Logger: logger,
		}),
		ThreadAsTurns: c.Response.ThreadAs == config.ThreadAsTurns,
		Playbooks:     playbook.Open(c.PlaybooksDir, logger),
		Memory:        c.Memory, Instructions: c.Instructions(),
		Promises: store.PromiseLimits{Conversation: c.Promises.MaxOpen, Channel: c.Promises.MaxPerChannel,
			Person: c.Promises.MaxPerPerson, Guest: c.Promises.MaxPerGuest}, Channel: c.Channel, Clock: time.Now,
		Logger:   logger,
		FilesOff: func() bool { return w.Slack.Lacks(document.Scope) },
		Reacts:   func() bool { return c.Slack.React && !w.Slack.Lacks(slack.ScopeReact) },
	})
}

// Prompts parses the configured templates. It returns the errors of prompt.New.
func Prompts(c config.Config) (*prompt.Renderer, error) {
	return prompt.New(prompt.Config{Language: string(c.Language), Dir: c.TemplatesDir, Location: c.Location()})
}
