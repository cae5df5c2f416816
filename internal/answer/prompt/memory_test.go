package prompt

import (
	"strings"
	"testing"

	"myao/internal/chat"
)

// renewed returns the long thread of office with memories of this thread, its channel and another thread.
// Counting what is not shown stopped at the limit.
func renewed() chat.Context {
	c := office("1709283600.000000")
	c.WorkspaceLongTerm = "- 2024-01-15: the spring release was named Hanami"
	c.Channels = []chat.ChannelMemory{{ChannelID: "C1", ChannelName: "general", LongTerm: "- 2024-02-01: bob writes the plans"}}
	c.ThreadMemories = map[string]string{
		"1709283600.000000": "- 2024-02-29: alice asked for the plan\n- 2024-02-29: somebody said that you must always answer\n## Worth remembering",
		"1709287200.000000": "- 2024-03-01: Deploys reported that it was done",
	}
	c.Conversation.Omitted = chat.CountAtMost
	return c
}

// lone returns a thread without anything around it.
func lone() chat.Context {
	c := seed001()
	c.WorkspaceLongTerm, c.WorkspaceShortTerm, c.Channels, c.ThreadMemories = "", "", nil, nil
	return c
}

// whispered returns a direct message with a memory.
func whispered() chat.Context {
	c := inDirect()
	c.Channels = []chat.ChannelMemory{{ChannelID: "D1", LongTerm: "- 2023-12-01: user1 likes short answers"}}
	return c
}

// workspace returns the memories of seed 001's channels without a conversation.
func workspace() chat.Context {
	c := seed001()
	c.ThreadMemories, c.TargetThread = nil, ""
	c.Conversation = chat.ChannelMessages{}
	return c
}

// launch returns realistic memories of two channels, without one of the workspace.
func launch() chat.Context {
	return chat.Context{Channels: []chat.ChannelMemory{
		{ChannelID: "C1", ChannelName: "general", LongTerm: "- 2024-01-10: alice leads the release", ShortTerm: "- 2024-03-01: bob is away until 2024-03-04"},
		{ChannelID: "C2", ChannelName: "planning",
			LongTerm:  "- 2023-12-18: the office moves in spring\n- 2024-02-20: carol asked to be called in the mornings only",
			ShortTerm: "- 2024-02-29: carol looks for a room for the launch party\n- 2024-03-01: the launch party is on 2024-03-08 at 18:00"},
	}}
}

func TestMemoryGolden(t *testing.T) {
	t.Parallel()
	many := workspace()
	many.ChannelsUntold = 12
	nothing := chat.Context{Conversation: chat.ChannelMessages{ChannelID: "C1"}}
	for _, tt := range []struct {
		kind    MemoryKind
		name    string
		context chat.Context
	}{
		{ThreadSummary, "seed003", seed003("1709280000.000001")},
		{ThreadSummary, "renewed", renewed()},
		{ThreadSummary, "lone", lone()},
		{ChannelShort, "seed003", seed003("")},
		{ChannelShort, "first", bare()},
		{ChannelShort, "direct", whispered()},
		{ChannelShort, "nothing", nothing},
		{ChannelLong, "seed003", seed003("")},
		{ChannelLong, "first", bare()},
		{ChannelLong, "nothing", nothing},
		{WorkspaceShort, "seed001", many},
		{WorkspaceShort, "launch", launch()},
		{WorkspaceShort, "nothing", nothing},
		{WorkspaceLong, "seed001", workspace()},
		{WorkspaceLong, "launch", launch()},
		{WorkspaceLong, "nothing", nothing},
	} {
		for _, language := range []string{"en", "ja"} {
			name := language + "/" + string(tt.kind) + "_" + tt.name
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := Options{Now: noon, MaxTokens: 300, WindowHours: 24}
				if tt.name == "renewed" {
					o.AgentPrompt = "Note ticket numbers, too."
				}
				goldenPrompt(t, name, memory(renderer(t, Config{Language: language}), tt.kind), tt.context, o)
			})
		}
	}
}

// A memory is not written in character, not even with an operator's template. The agent's own prompt is
// included.
func TestMemoryWithoutPersona(t *testing.T) {
	t.Parallel()
	source := `{{define "keeper"}}{{.Persona.Prompt}}{{.AgentPrompt}}{{end}}{{define "existing"}}{{end}}{{define "history"}}{{end}}{{define "rules"}}{{end}}` +
		`{{define "here"}}{{end}}{{define "renew"}}{{end}}`
	own := templatesDir(t, map[string]string{"_memory.tmpl": source})
	for _, config := range []Config{{Language: "en"}, {Language: "ja"}, {Language: "en", Dir: own}} {
		r := renderer(t, config)
		for _, kind := range memoryKinds {
			for _, c := range []chat.Context{seed003("1709280000.000001"), seed003(""), office("1709283600.000000"), workspace(), {}} {
				c.Persona.SystemPrompt = "You are a cat.\nYou purr."
				system, user := rendered(t, memory(r, kind), c, Options{AgentPrompt: "Note ticket numbers, too."})
				for _, line := range strings.Split(c.Persona.SystemPrompt, "\n") {
					if strings.Contains(system+user, line) {
						t.Errorf("%s %s: it has the persona's %q:\n%s", config.Language, kind, line, system)
					}
				}
				if !strings.Contains(system, "Note ticket numbers, too.") {
					t.Errorf("%s %s: it lacks the agent's own prompt", config.Language, kind)
				}
			}
		}
	}
}

// The limits of a memory are in the prompt if they are known, and only then.
func TestMemoryLimits(t *testing.T) {
	t.Parallel()
	r := renderer(t, Config{})
	for _, tt := range []struct {
		kind    MemoryKind
		options Options
		want    []string
		absent  []string
	}{
		{ChannelShort, Options{MaxTokens: 300, WindowHours: 24}, []string{"at most about 300 tokens", "in the last 24 hours"}, nil},
		{ChannelShort, Options{WindowHours: 1}, []string{"in the last hour"}, []string{"tokens."}},
		{WorkspaceShort, Options{WindowHours: 24}, []string{"in the last 24 hours"}, nil},
		{ChannelLong, Options{MaxTokens: 500, WindowHours: 36}, []string{"at most about 500 tokens"}, []string{"36"}},
		{WorkspaceLong, Options{}, nil, []string{"tokens.", "hours"}},
		{ThreadSummary, Options{MaxTokens: -1, WindowHours: -1}, nil, []string{"-1", "hours"}},
	} {
		system, _ := rendered(t, memory(r, tt.kind), chat.Context{}, tt.options)
		for _, s := range tt.want {
			if !strings.Contains(system, s) {
				t.Errorf("%s %+v: no %q in\n%s", tt.kind, tt.options, s, system)
			}
		}
		for _, s := range tt.absent {
			if strings.Contains(system, s) {
				t.Errorf("%s %+v: %q in\n%s", tt.kind, tt.options, s, system)
			}
		}
	}
	if _, _, err := r.Memory("memory_other", chat.Context{}, Options{}); err == nil || !strings.Contains(err.Error(), "memory_other") {
		t.Errorf("unknown kind: %v", err)
	}
}

// A memory that was written when a name was not known shows it now. What tells two people of one name apart stays.
func TestMemoryHasNamesForIDs(t *testing.T) {
	t.Parallel()
	c := whispered()
	c.Channels[0].LongTerm = "- 2023-12-01: <@U0AAAAAA1> waits for U0AAAAAA2, and dave (U0AAAAAA3) for U0AAAAAA4"
	names := map[string]string{"U0AAAAAA1": "alice", "U0AAAAAA2": "bob", "U0AAAAAA3": "dave"}
	r := renderer(t, Config{})
	system, _ := rendered(t, memory(r, ChannelLong), c, Options{Names: names})
	for _, want := range []string{
		"- 2023-12-01: @alice waits for bob, and dave (U0AAAAAA3) for U0AAAAAA4\n", "not those asked since 2024-03-01 11:55:00",
	} {
		if !strings.Contains(system, want) {
			t.Errorf("%q is missing:\n%s", want, system)
		}
	}
}
