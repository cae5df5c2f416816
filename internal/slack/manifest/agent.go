package manifest

import (
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/language/words"
	"myao/internal/slack"
)

// AgentView makes the direct message with the bot what Slack shows for an agent
// (docs.slack.dev/ai/developing-ai-apps).
type AgentView struct {
	Description string            `json:"agent_description" yaml:"agent_description"`
	Prompts     []SuggestedPrompt `json:"suggested_prompts" yaml:"suggested_prompts"`
}

// SuggestedPrompt is something that people may ask.
type SuggestedPrompt struct {
	Title   string `json:"title" yaml:"title"`
	Message string `json:"message" yaml:"message"`
}

// Agent returns the manifest of the same app as an agent: with an agent view, and the scope and the event
// that it takes.
func (m Manifest) Agent(c config.Config) Manifest {
	view := &AgentView{Description: m.Display.Description}
	for _, p := range Prompts(c.Language) {
		view.Prompts = append(view.Prompts, SuggestedPrompt(p))
	}
	m.Features.AgentView = view
	m.scopes = append(m.scopes, Scope{Name: AgentScope, Reason: "suggest what to ask in a direct message", Extra: true})
	m.OAuth.Scopes.Bot = Names(m.scopes)
	m.Settings.Events.BotEvents = append(m.Settings.Events.BotEvents, "app_context_changed")
	return m
}

// Prompts are what is suggested in a direct message. Slack shows at most four.
func Prompts(l chat.Language) []slack.Prompt {
	w := words.In(l)
	return []slack.Prompt{
		{Title: w.Of("What can you do?"), Message: w.Of("What can you do for me, and what do you read?")},
		{Title: w.Of("What did I miss?"),
			Message: w.Of("What was talked about lately in the channels that you may tell me of?")},
		{Title: w.Of("Remind me"), Message: w.Of("Remind me tomorrow at nine to look at this again.")},
	}
}
