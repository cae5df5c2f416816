package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
)

// Workspace is what the file sets for one workspace, or for the workspaces of an organisation. Nil and empty values
// inherit.
type Workspace struct {
	// Channel is what channels of the workspace have that do not say otherwise.
	Channel  `yaml:"-"`
	Persona  WorkspacePersona `yaml:"persona"`
	Language chat.Language    `yaml:"language"`
	// PlaybooksDir replaces Config.PlaybooksDir.
	PlaybooksDir string `yaml:"playbooks_dir"`
	// Agents have the keys of Config.Agents. An agent that names a provider inherits nothing that was set for another.
	Agents Agents `yaml:"agents"`
	// EveryoneMay and Operators replace those of Slack.
	EveryoneMay []Permission `yaml:"everyone_may"`
	Operators   []string     `yaml:"operators"`
	// DailyCalls and DailyTokens replace Response.WorkspaceDailyCalls and WorkspaceDailyTokens.
	DailyCalls  *int `yaml:"daily_calls"`
	DailyTokens *int `yaml:"daily_tokens"`
	// MCP adds servers to those of Config.MCP, or replaces them by name. One without any key is taken away.
	MCP MCP `yaml:"mcp"`
}

// WorkspacePersona replaces what it names of Config.Persona. In the file it may be a text, which is Added.
type WorkspacePersona struct {
	Name string `yaml:"name"`
	// Names replace those of Config.Persona, even with none.
	Names        []string `yaml:"names"`
	SystemPrompt string   `yaml:"system_prompt"`
	// Added is added to the system prompt, as a channel's persona is.
	Added string `yaml:"-"`
}

// workspaceID matches Slack's ids of workspaces and organisations.
var workspaceID = regexp.MustCompile(`^[TE][A-Z0-9]{2,}$`)

// organisationID reports whether an id is that of an organisation.
func organisationID(id string) bool { return id != "" && id[0] == 'E' }

// HasOrganisations reports whether any settings depend on the organisation of a workspace.
func (c Config) HasOrganisations() bool {
	for id := range c.Workspaces {
		if organisationID(id) {
			return true
		}
	}
	return false
}

// ForWorkspace returns the settings of a workspace: its own over those of its organisation, over those of all. Either
// id may be empty. Without an entry of either, it is the configuration as it was read.
func (c Config) ForWorkspace(team, organisation string) Config {
	c = c.Global()
	var ids []string
	for _, id := range []string{team, organisation} {
		if _, ok := c.Workspaces[id]; ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return c
	}
	global, resolved := c, c
	resolved.global, resolved.workspaces = &global, ids
	for _, id := range slices.Backward(ids) {
		resolved.override(c.Workspaces[id])
	}
	resolved.Agents.setModels()
	return resolved
}

// Global returns the configuration as it was read, from which that of a workspace was resolved.
func (c Config) Global() Config {
	if c.global != nil {
		return *c.global
	}
	return c
}

// variants are the configuration as it was read, and what it is for each entry of Workspaces.
func (c Config) variants() []Config {
	all := []Config{c.Global()}
	for _, id := range slices.Sorted(maps.Keys(c.Workspaces)) {
		all = append(all, c.ForWorkspace(id, ""))
	}
	return all
}

// override applies what a workspace, or an organisation, sets.
func (c *Config) override(w Workspace) {
	if w.Language != "" {
		c.Persona.SystemPrompt = PersonaIn(w.Language, c.Persona.SystemPrompt)
		c.Language = w.Language
	}
	c.Persona.Name = cmp.Or(w.Persona.Name, c.Persona.Name)
	if w.Persona.Names != nil {
		c.Persona.Names = w.Persona.Names
	}
	c.Persona.SystemPrompt = cmp.Or(w.Persona.SystemPrompt, c.Persona.SystemPrompt)
	c.TimeZone = cmp.Or(w.TimeZone, c.TimeZone)
	c.PlaybooksDir = cmp.Or(w.PlaybooksDir, c.PlaybooksDir)
	c.Agents.Response = c.Agents.Response.override(w.Agents.Response)
	c.Agents.Judgment = c.Agents.Judgment.override(w.Agents.Judgment)
	c.Agents.Memory = c.Agents.Memory.override(w.Agents.Memory)
	c.Agents.Response.Model = cmp.Or(w.Model, c.Agents.Response.Model)
	if w.EveryoneMay != nil {
		c.Slack.EveryoneMay = w.EveryoneMay
	}
	if w.Operators != nil {
		c.Slack.Operators = w.Operators
	}
	c.Response.WorkspaceDailyCalls = orInherited(w.DailyCalls, c.Response.WorkspaceDailyCalls)
	c.Response.WorkspaceDailyTokens = orInherited(w.DailyTokens, c.Response.WorkspaceDailyTokens)
	if len(w.MCP.Servers) > 0 {
		servers := map[string]MCPServer{}
		maps.Copy(servers, c.MCP.Servers)
		maps.Copy(servers, w.MCP.Servers)
		maps.DeleteFunc(servers, func(_ string, s MCPServer) bool { return s.removed() })
		c.MCP.Servers = servers
	}
	c.channelDefaults = w.forChannels().over(c.channelDefaults)
}

// forChannels is what the channels of the workspace inherit besides what Config.override sets.
func (w Workspace) forChannels() Channel {
	ch := w.Channel
	ch.Persona, ch.Model, ch.TimeZone = w.Persona.Added, "", ""
	return ch
}

// over returns the channel's settings, and those of inherited where it has none.
func (ch Channel) over(inherited Channel) Channel {
	own, from := reflect.ValueOf(&ch).Elem(), reflect.ValueOf(&inherited).Elem()
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(from.Field(i))
		}
	}
	return ch
}

// override returns the agent with what a workspace sets. What was set for another provider is not kept, and a key not
// for another server.
func (a Agent) override(own Agent) Agent {
	if own.Provider != "" {
		a = Agent{Provider: own.Provider, MaxOutputTokens: a.MaxOutputTokens, SystemPrompt: a.SystemPrompt}
	}
	if own.BaseURL != "" {
		a.APIKey, a.BaseURL = "", own.BaseURL
	}
	a.APIKey, a.Model = cmp.Or(own.APIKey, a.APIKey), cmp.Or(own.Model, a.Model)
	a.MaxOutputTokens = cmp.Or(own.MaxOutputTokens, a.MaxOutputTokens)
	a.SystemPrompt = cmp.Or(own.SystemPrompt, a.SystemPrompt)
	a.Temperature = cmp.Or(own.Temperature, a.Temperature)
	if own.Fallback != (Fallback{}) {
		a.Fallback = own.Fallback
	}
	return a
}

// validateWorkspaces checks each entry over what holds for all. Which workspace belongs to which organisation only
// Slack knows.
func (c Config) validateWorkspaces(f *faults) {
	for id, w := range c.Workspaces {
		at := "workspaces." + id
		if !workspaceID.MatchString(id) {
			f.add(at, nil, "must be the id of a workspace, T…, or of an organisation, E…")
		}
		if organisationID(id) && w.Remember != "" {
			f.add(at+".remember", string(w.Remember), "must be set for each workspace, T…, of the organisation")
		}
		if organisationID(id) && w.Locked != nil {
			f.add(at+".locked", *w.Locked, "must be set for each workspace, T…, of the organisation")
		}
		w.Channel.validate(at, "workspace", c.Response, f)
		c.validateTools(at, w.Tools, f)
		w.MCP.validate(f, at)
		c.ForWorkspace(id, "").validateAgents(f)
	}
}

// validateTools checks the tools to which a channel or a workspace narrows those of all.
func (c Config) validateTools(at string, names []string, f *faults) {
	for i, name := range names {
		ofServer := c.MCP.toolOfServer(name)
		for _, w := range c.Workspaces {
			ofServer = ofServer || w.MCP.toolOfServer(name)
		}
		if !ofServer && !slices.Contains(chat.ToolNames(), name) {
			f.add(fmt.Sprintf("%s.tools[%d]", at, i), name, "must be one of %s, or SERVER%sTOOL of one of mcp.servers",
				strings.Join(chat.ToolNames(), ", "), chat.ServerSeparator)
		}
	}
}
