// Package config reads the configuration file that starter, worker and sandbox
// share, and refuses it if anything in it is wrong.
//
// The steps are: the file's bytes → a YAML tree (document.go) → a [Config] on top of
// the defaults (decode.go) → the rules for single values (rules.go) → what values
// require of each other (validate.go). ${NAME} is expanded inside the tree's texts, so
// the value of a variable can never become structure. The faults of all steps are
// collected, so one start reports everything that is wrong with a file: see [Error].
//
// Durations in the file are whole seconds, hours or days, as the keys' names say. The
// methods return them as [time.Duration].
package config

import (
	"time"
	_ "time/tzdata" // a container may have no time zone database of its own

	"myao/internal/chat"
)

// Config is the whole configuration. A Config that Load returns is complete and valid.
type Config struct {
	Slack    Slack    `yaml:"slack"`
	Server   Server   `yaml:"server"`
	Database Database `yaml:"database"`
	// Encryption protects what Temporal stores from readers of its database.
	Encryption Encryption `yaml:"encryption"`
	Worker     Worker     `yaml:"worker"`
	Log        Log        `yaml:"log"`
	LLM        LLM        `yaml:"llm"`
	Agents     Agents     `yaml:"agents"`
	Persona    Persona    `yaml:"persona"`
	// Language is the language of the prompts, and of what the bot says without a model.
	Language chat.Language `yaml:"language"`
	// TimeZone is the IANA name of the time zone of the times in prompts.
	TimeZone string `yaml:"time_zone"`
	// TemplatesDir is a directory of prompt templates that replace the embedded ones, or empty.
	TemplatesDir string `yaml:"templates_dir"`
	// PlaybooksDir is a directory of Markdown files that say how things are done, or empty.
	PlaybooksDir string   `yaml:"playbooks_dir"`
	Response     Response `yaml:"response"`
	Memory       Memory   `yaml:"memory"`
	Tools        Tools    `yaml:"tools"`
	MCP          MCP      `yaml:"mcp"`
	Promises     Promises `yaml:"promises"`
	// Hooks are where other programs tell what has happened, by their names.
	Hooks map[string]Hook `yaml:"hooks"`
	// Shadow is other judges that are compared with the first one.
	Shadow Shadow `yaml:"shadow"`
	// Retention is how long the database keeps rows that are no longer in use.
	Retention Retention `yaml:"retention"`
	// Channels are the exceptions from Response, by channel id or by name (lower case, without
	// "#"). Read them through Config.Channel.
	Channels map[string]Channel `yaml:"channels"`
	// Locked keeps people from setting anything of any channel in Slack.
	Locked bool `yaml:"locked"`
	// Workspaces are the exceptions for workspaces and organisations, by id. Read them through Config.ForWorkspace.
	Workspaces map[string]Workspace `yaml:"workspaces"`
	// File is the file that the configuration was read from.
	File File `yaml:"-"`
	// zones caches the time zones in use, by name. Loading one is slow, and each event and each
	// judgment needs one.
	zones map[string]*time.Location `yaml:"-"`

	// What ForWorkspace resolved: from what, by which entries of Workspaces, the workspace's own first, and what
	// channels have that do not say otherwise.
	global          *Config  `yaml:"-"`
	workspaces      []string `yaml:"-"`
	channelDefaults Channel  `yaml:"-"`
}

// Server is the starter's HTTP server.
type Server struct {
	// Address is the host:port to listen on. Port 0 takes a free port.
	Address string `yaml:"address"`
	// PublicURL is where people and Slack reach the server, without a slash at its end; empty if nobody does.
	PublicURL string `yaml:"public_url"`
}

// Worker is the worker's settings.
type Worker struct {
	// Address is the host:port where the worker serves /livez, /readyz and /metrics. Port 0
	// takes a free port; empty serves them nowhere.
	Address string `yaml:"address"`
	// MaxConcurrentModelCalls limits the concurrent model calls of one worker, ≥ 2.
	MaxConcurrentModelCalls int `yaml:"max_concurrent_model_calls"`
	// ModelCallsPerSecond limits how many model calls all workers together begin per second; 0 is
	// no limit. All workers should have the same value.
	ModelCallsPerSecond float64 `yaml:"model_calls_per_second"`
	// CachedWorkflows is how many workflows one worker keeps in memory between their tasks. Others are
	// replayed when something happens in them.
	CachedWorkflows int `yaml:"cached_workflows"`
	// PostsAtOnce has replies posted within the tasks of workflows, which is quicker than from the task queue.
	PostsAtOnce bool `yaml:"posts_at_once"`
	// Deployment is the name of the worker's Temporal worker deployment; empty if workers are
	// not versioned.
	Deployment string `yaml:"deployment"`
	// BuildID identifies this version of the deployment; empty means the revision that the
	// program was built from.
	BuildID string `yaml:"build_id"`
}

// Log is how the programs write their logs to standard error.
type Log struct {
	// Format is json or text.
	Format string `yaml:"format"`
	// Level is the lowest level that is written: debug, info, warn or error.
	Level string `yaml:"level"`
}

// Encryption has the keys that encrypt payloads for Temporal.
type Encryption struct {
	// ActiveKey is the id of the key for new payloads; empty encrypts none. Older payloads are
	// still decrypted with Keys.
	ActiveKey string `yaml:"active_key"`
	// Keys are the active and the former keys by their ids, each 32 bytes in base64.
	Keys map[string]Secret `yaml:"keys"`
	// BindPayloads writes into each new payload which workflow it belongs to, so that it is
	// refused elsewhere. Programs that do not know the setting cannot read such payloads.
	BindPayloads bool `yaml:"bind_payloads"`
}

// Instructions are the texts of the configuration that models are given as instructions, in any workspace.
func (c Config) Instructions() (all []string) {
	for _, of := range c.variants() {
		all = append(all, of.Persona.SystemPrompt, of.channelDefaults.Persona)
		for _, a := range of.Agents.All() {
			all = append(all, a.SystemPrompt)
		}
	}
	for _, settings := range c.Channels {
		all = append(all, settings.Persona)
	}
	return all
}

// Persona is who the bot is.
type Persona struct {
	// Name is what the bot calls itself in prompts.
	Name string `yaml:"name"`
	// Names are other spellings of Name by which people call the bot.
	Names []string `yaml:"names"`
	// SystemPrompt describes the character. Its default depends on Language.
	SystemPrompt string `yaml:"system_prompt"`
}

// Memory is how the bot remembers.
type Memory struct {
	// IntervalSeconds is the time between two runs of the memory schedule, in seconds.
	IntervalSeconds int `yaml:"interval_seconds"`
	// ShortTermWindowHours is how many hours back short-term memory reaches.
	ShortTermWindowHours int `yaml:"short_term_window_hours"`
	// LongTermSummaryMaxTokens limits a long-term summary.
	LongTermSummaryMaxTokens int `yaml:"long_term_summary_max_tokens"`
	// ShortTermSummaryMaxTokens limits a short-term summary.
	ShortTermSummaryMaxTokens int `yaml:"short_term_summary_max_tokens"`
	// SearchResults is how many messages a reply is shown that were said before and may be about the
	// same; 0 is none.
	SearchResults int `yaml:"search_results"`
	// MaxConcurrentScopes is how many threads or channels a run summarises at a time.
	MaxConcurrentScopes int `yaml:"max_concurrent_scopes"`
}

// Interval is IntervalSeconds as a duration.
func (m Memory) Interval() time.Duration { return seconds(m.IntervalSeconds) }

// ShortTermWindow is ShortTermWindowHours as a duration.
func (m Memory) ShortTermWindow() time.Duration { return hours(m.ShortTermWindowHours) }

// Promises is what the bot may promise to do later.
type Promises struct {
	// MaxOpen limits the open promises of a conversation.
	MaxOpen int `yaml:"max_open"`
	// MaxPerChannel limits those of a channel with its threads.
	MaxPerChannel int `yaml:"max_per_channel"`
	// MaxPerPerson limits those that one person has asked for, MaxPerGuest those of a guest or somebody from elsewhere.
	MaxPerPerson int `yaml:"max_per_person"`
	MaxPerGuest  int `yaml:"max_per_guest"`
}

// Location returns the time zone of the times in prompts. It falls back to UTC if TimeZone is
// not valid, which Load rules out.
func (c Config) Location() *time.Location { return c.zone(c.TimeZone) }

// zone returns a time zone by name. Only zones that Load saw are cached.
func (c Config) zone(name string) *time.Location {
	if loc, ok := c.zones[name]; ok {
		return loc
	}
	if loc, err := time.LoadLocation(name); err == nil {
		return loc
	}
	return time.UTC
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
func hours(n int) time.Duration   { return time.Duration(n) * time.Hour }
func days(n int) time.Duration    { return time.Duration(n) * 24 * time.Hour }
