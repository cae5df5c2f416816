package agents

import (
	"context"
	"log/slog"
	"time"

	"myao/internal/answer/document"
	"myao/internal/answer/prompt"
	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// Open makes Agents from the configuration. directory refreshes what is known of channels. close
// ends the connections to the providers.
func Open(ctx context.Context, c config.Config, s *store.Store, client *slack.Client, directory recall.Directory,
	logger *slog.Logger) (ag *Agents, close func(), err error) {
	prompts, err := Prompts(c)
	if err != nil {
		return nil, nil, err
	}
	byUse, close, err := OpenByUse(ctx, c, time.Now, logger)
	if err != nil {
		return nil, nil, err
	}
	shadow := make([]ShadowJudge, len(c.Shadow.Judges))
	for i, j := range c.Shadow.Judges {
		shadow[i] = ShadowJudge{Name: j.Name, Agent: byUse.Shadow[i], Prompts: prompts, MinConfidence: j.MinConfidence}
		if j.TemplatesDir == "" {
			continue
		}
		if shadow[i].Prompts, err = Prompts(c.ShadowPrompts(j)); err != nil {
			close()
			return nil, nil, err
		}
	}
	return New(&Agents{
		Store: s, Slack: client,
		Recall: recall.New(&recall.Builder{
			Store: s, Users: client, Directory: directory, Threads: client, ThreadLimit: c.Slack.ThreadHistoryLimit,
			Persona:       chat.Persona{Name: c.Persona.Name, SystemPrompt: c.Persona.SystemPrompt},
			MessagesLimit: c.Response.ChannelMessagesLimit, FoundLimit: c.Memory.SearchResults,
			ActiveChannel: c.Response.ActiveChannel(), ThreadMemory: c.Response.ThreadMemory(),
			Clock: time.Now, Logger: logger,
		}),
		Prompts: prompts, ByUse: byUse, Shadow: shadow, Memory: c.Memory, Instructions: c.Instructions(),
		Promises: store.PromiseLimits{Conversation: c.Promises.MaxOpen, Channel: c.Promises.MaxPerChannel,
			Person: c.Promises.MaxPerPerson, Guest: c.Promises.MaxPerGuest}, Channel: c.Channel, Clock: time.Now,
		Logger:   logger,
		FilesOff: func() bool { return client.Lacks(document.Scope) },
		Reacts:   func() bool { return c.Slack.React && !client.Lacks(slack.ScopeReact) },
	}), close, nil
}

// Prompts parses the configured templates. It returns the errors of prompt.New.
func Prompts(c config.Config) (*prompt.Renderer, error) {
	return prompt.New(prompt.Config{Language: string(c.Language), Dir: c.TemplatesDir, Location: c.Location()})
}
