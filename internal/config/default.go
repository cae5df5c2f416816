package config

import (
	"time"

	"myao/internal/chat"
)

// Default returns the configuration of an empty file. It is not valid, because the secrets have
// no defaults.
func Default() Config {
	c := basics()
	c.derive()
	return c
}

// basics is Default without the values that depend on other values.
func basics() Config {
	return Config{
		Slack: Slack{
			AllowedWorkspaces: []string{},
			APIURL:            "https://slack.com/api/", ThreadHistoryLimit: 20, Command: "/myao", Operators: []string{},
			EveryoneMay:  []Permission{MayStatus, MayWhy, MaySnooze, MayMute, MayHush, MayAnswerNow, MayNotes},
			OutsidersMay: []Permission{MayStatus}, HushReaction: "shushing_face", Introduce: true,
			OtherWorkspaces: External, Feedback: FeedbackAddressed, React: true, Status: true,
		},
		LLM:        LLM{Prices: map[string]Price{}},
		Server:     Server{Address: ":8080"},
		Database:   Database{URL: "sqlite:data/myao.db", Migrate: MigrateAuto},
		Encryption: Encryption{Keys: map[string]Secret{}},
		Worker:     Worker{Address: ":8081", MaxConcurrentModelCalls: 100, CachedWorkflows: 10_000, PostsAtOnce: true},
		Log:        Log{Format: "json", Level: "info"},
		Agents: Agents{
			Response: Agent{Provider: ProviderGemini, MaxOutputTokens: 1000},
			Judgment: Agent{Provider: ProviderGemini, MaxOutputTokens: 500},
			Memory:   Agent{Provider: ProviderGemini, MaxOutputTokens: 800},
		},
		Persona:  Persona{Name: "myao", Names: []string{}},
		Language: chat.English,
		TimeZone: "UTC",
		Response: Response{
			MinWaitSeconds:       300,
			JitterRatio:          0.3,
			MaxWaitSeconds:       1800,
			MaxDelaySeconds:      600,
			FollowUpWaitSeconds:  5,
			NamedWaitSeconds:     5,
			ThreadAs:             ThreadAsTranscript,
			MaxMessageAgeSeconds: 43200,
			SecondLook:           SecondLookOff,
			WorkspaceDailyCalls:  10_000, // a working day of a thousand people: docs/performance.md
			WorkspaceDailyTokens: 50_000_000,
			ChannelMessagesLimit: 50,
			ActiveChannelDays:    7,
			ThreadMemoryDays:     7,
			IdleCloseHours:       24,
		},
		Memory: Memory{
			IntervalSeconds:           3600,
			ShortTermWindowHours:      24,
			LongTermSummaryMaxTokens:  500,
			ShortTermSummaryMaxTokens: 300,
			SearchResults:             8, MaxConcurrentScopes: 4,
		},
		Tools: Tools{Enabled: chat.ToolNames(), MaxRounds: 8, MaxCalls: 24, MaxSeconds: 180, MaxResultChars: 20_000,
			MaxTotalChars: 60_000, ApprovalHours: 24, DenyAddresses: cloudAddresses(), PostTo: Places{}},
		Promises:  Promises{MaxOpen: 20, MaxPerChannel: 200, MaxPerPerson: 50, MaxPerGuest: 5},
		MCP:       MCP{Servers: map[string]MCPServer{}},
		Shadow:    Shadow{DailyCalls: 1000, Judges: []ShadowJudge{}},
		Retention: Retention{LedgerDays: 400, UninstalledDays: 30}, // more than a year, for yearly sums
		Hooks:     map[string]Hook{},
		Channels:  map[string]Channel{}, Workspaces: map[string]Workspace{},
	}
}

// defaultJudge is Gemini's model for judgments.
const defaultJudge = "gemini-3.5-flash-lite"

// setModels sets the default models. They are Gemini's; with another provider, each call would fail.
func (a *Agents) setModels() {
	for agent, model := range map[*Agent]string{
		&a.Response: "gemini-3.8-flash", &a.Judgment: defaultJudge, &a.Memory: "gemini-3.8-flash",
	} {
		if agent.Model == "" && agent.Provider == ProviderGemini {
			agent.Model = model
		}
		if second := &agent.Fallback; second.Model == "" && second.Provider == ProviderGemini {
			second.Model = model
		}
	}
}

// derive sets the values that depend on others.
func (c *Config) derive() {
	for name, a := range c.Agents.firsts() {
		if a.Model == "" {
			delete(c.File.lines, "agents."+name+".model")
		}
	}
	c.Agents.setModels()
	for i, j := range c.Shadow.Judges {
		if j.Model == "" && j.Provider == ProviderGemini {
			c.Shadow.Judges[i].Model = defaultJudge
		}
	}
	if c.Persona.SystemPrompt == "" {
		c.Persona.SystemPrompt = defaultPersona(c.Language)
	}
	c.zones = map[string]*time.Location{c.TimeZone: c.Location()}
	for _, own := range c.Channels {
		if own.TimeZone != "" {
			c.zones[own.TimeZone] = c.zone(own.TimeZone)
		}
	}
	for _, own := range c.Workspaces {
		if own.TimeZone != "" {
			c.zones[own.TimeZone] = c.zone(own.TimeZone)
		}
	}
}

// PersonaIn returns a persona in a language: a default one as it is in that, any other as it is.
func PersonaIn(l chat.Language, persona string) string {
	if persona == defaultPersona(chat.English) || persona == defaultPersona(chat.Japanese) {
		return defaultPersona(l)
	}
	return persona
}

func defaultPersona(l chat.Language) string {
	if l == chat.Japanese {
		return "あなたはこのワークスペースで働く同僚のひとりです。親しみやすく、落ち着いていて、簡潔に話します。" +
			"知らないことは知らないと言い、推測するときはそう断ります。相手が使っている言葉で答えます。"
	}
	return "You are a colleague in this workspace: friendly, calm and brief. " +
		"You say so when you do not know something, and when you are guessing. " +
		"You answer in the language of the person you are talking to."
}
