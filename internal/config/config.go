package config

import (
	"slices"
	"time"

	// Time zones must be known in a container that has no zoneinfo.
	_ "time/tzdata"
)

// Config is the whole configuration, complete and valid: Load returns no other.
type Config struct {
	Slack    Slack    `yaml:"slack"`
	Server   Server   `yaml:"server"`
	Database Database `yaml:"database"`
	// Encryption hides what Temporal stores from whoever can read its database.
	Encryption Encryption `yaml:"encryption"`
	Worker     Worker     `yaml:"worker"`
	Log        Log        `yaml:"log"`
	LLM        LLM        `yaml:"llm"`
	Agents     Agents     `yaml:"agents"`
	Persona    Persona    `yaml:"persona"`
	// Language chooses the language of the prompts, and of what the bot says without a model.
	Language Language `yaml:"language"`
	// TimeZone is the IANA name of the zone in which prompts write times.
	TimeZone string `yaml:"time_zone"`
	// TemplatesDir holds prompt templates that replace the embedded ones; empty: none do.
	TemplatesDir string   `yaml:"templates_dir"`
	Response     Response `yaml:"response"`
	Memory       Memory   `yaml:"memory"`
	// Retention is for how long the database keeps what is over.
	Retention Retention `yaml:"retention"`
	// Channels are the exceptions from Response, by channel id or by name
	// (without "#", lower case). Read them through Config.Channel.
	Channels map[string]Channel `yaml:"channels"`
	// File is where all this stands.
	File File `yaml:"-"`
	// zones are the zones of all this by name: to read one takes its time, and they are
	// asked for at each event and each judgment.
	zones map[string]*time.Location `yaml:"-"`
}

// Slack says how the workspace is reached.
type Slack struct {
	// BotToken is the app's bot token (xoxb-…).
	BotToken Secret `yaml:"bot_token"`
	// SigningSecret verifies Slack's requests; required unless AppToken is set.
	SigningSecret Secret `yaml:"signing_secret"`
	// AppToken (xapp-…) chooses Socket Mode instead of the HTTP door.
	AppToken Secret `yaml:"app_token"`
	// APIURL is the root of the Web API and ends with a slash.
	APIURL string `yaml:"api_url"`
	// ThreadHistoryLimit is how many of a thread's newest messages an addressed
	// message reads, 1–100. THREAD_HISTORY_LIMIT in the environment wins over the file.
	ThreadHistoryLimit int `yaml:"thread_history_limit"`
	// Command is the name of the slash command, with its slash.
	Command string `yaml:"command"`
	// Operators are the ids of the users who may do all that Permissions name.
	Operators []string `yaml:"operators"`
	// EveryoneMay is what everybody may do who can see the channel.
	EveryoneMay []Permission `yaml:"everyone_may"`
	// HushReaction is the name of the emoji, without colons, by which somebody says that a
	// message wants no answer; empty: there is none.
	HushReaction string `yaml:"hush_reaction"`
}

// Permission is something that people can have the bot do from within Slack.
type Permission string

// The permissions.
const (
	MayStatus    Permission = "status"     // see where conversations stand
	MayWhy       Permission = "why"        // read the ledger of a channel
	MaySnooze    Permission = "snooze"     // silence a channel for a time
	MayMute      Permission = "mute"       // silence a channel, and end that
	MayHush      Permission = "hush"       // withdraw what waits for a message, by a reaction
	MayAnswerNow Permission = "answer_now" // have a message answered, by a shortcut
	MayForget    Permission = "forget"     // take away what is remembered of a channel
)

// May reports whether a user may do something.
func (s Slack) May(user string, p Permission) bool {
	return slices.Contains(s.EveryoneMay, p) || slices.Contains(s.Operators, user)
}

// SocketMode reports whether events come through Slack's Socket Mode.
func (s Slack) SocketMode() bool { return s.AppToken != "" }

// Server is the starter's HTTP door.
type Server struct {
	// Address is host:port to listen on; port 0 takes a free one.
	Address string `yaml:"address"`
}

// Worker is how the worker works.
type Worker struct {
	// Address is host:port where the worker answers /livez, /readyz and /metrics; port 0
	// takes a free one, empty: nowhere.
	Address string `yaml:"address"`
	// ModelCallsAtOnce bounds the calls of models under way in one worker, ≥ 1.
	ModelCallsAtOnce int `yaml:"model_calls_at_once"`
	// ModelCallsPerSecond bounds, over all workers, how many calls of models begin;
	// 0: nothing does. All workers should have the same.
	ModelCallsPerSecond float64 `yaml:"model_calls_per_second"`
	// Deployment is the name of the Temporal worker deployment that this worker is of;
	// empty: workers are not versioned.
	Deployment string `yaml:"deployment"`
	// BuildID tells this version of the deployment from others; empty: the revision
	// that the program was built from.
	BuildID string `yaml:"build_id"`
}

// Log is how the programs write their logs, to standard error.
type Log struct {
	// Format is json or text.
	Format string `yaml:"format"`
	// Level is the least that is written: debug, info, warn or error.
	Level string `yaml:"level"`
}

// Encryption is the keys of what goes to Temporal.
type Encryption struct {
	// ActiveKey is the id of the key that is used from now on; empty: nothing is
	// encrypted, and what was can still be read with Keys.
	ActiveKey string `yaml:"active_key"`
	// Keys are 32 bytes in base64 by their id: the active one, and those that were.
	Keys map[string]Secret `yaml:"keys"`
}

// Price is what a model costs, in whatever currency, for a million tokens.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
}

// Agents are the three uses of a model.
type Agents struct {
	// Response writes the replies.
	Response Agent `yaml:"response"`
	// Judgment decides whether and when to reply.
	Judgment Agent `yaml:"judgment"`
	// Memory writes the summaries.
	Memory Agent `yaml:"memory"`
}

// All returns the agents by the name that they have in the file.
func (a Agents) All() map[string]Agent {
	return map[string]Agent{"response": a.Response, "judgment": a.Judgment, "memory": a.Memory}
}

// Agent is one use of a model.
type Agent struct {
	Provider Provider `yaml:"provider"`
	// APIKey and BaseURL are the agent's own access to its provider; empty: that below llm
	// holds. Read them through Config.Access.
	APIKey  Secret `yaml:"api_key"`
	BaseURL string `yaml:"base_url"`
	// Model is the provider's name of the model. Only Gemini has a default.
	Model string `yaml:"model"`
	// MaxOutputTokens bounds one answer of the model.
	MaxOutputTokens int `yaml:"max_output_tokens"`
	// SystemPrompt is added to the persona's.
	SystemPrompt string `yaml:"system_prompt"`
	// Temperature is 0–2, or nil: then none is sent, since newer models refuse it.
	Temperature *float64 `yaml:"temperature"`
}

// Persona is who the bot is.
type Persona struct {
	// Name is what the bot calls itself in prompts.
	Name string `yaml:"name"`
	// SystemPrompt describes the character; left empty, it is a default in Language.
	SystemPrompt string `yaml:"system_prompt"`
}

// Language is one in which there are prompts, and words of the bot's own.
type Language string

// The languages.
const (
	English  Language = "en"
	Japanese Language = "ja"
)

// Response is how the bot behaves in a conversation, unless Channels says otherwise.
type Response struct {
	// MinWaitSeconds is the quiet time before a judgment, in seconds.
	MinWaitSeconds int `yaml:"min_wait_seconds"`
	// JitterRatio varies the quiet time by up to this share of it, 0–1.
	JitterRatio float64 `yaml:"jitter_ratio"`
	// MaxWaitSeconds bounds the wait for a quiet moment, in seconds; at least MinWaitSeconds.
	MaxWaitSeconds int `yaml:"max_wait_seconds"`
	// MaxDelaySeconds bounds the delay that a judgment may ask for, in seconds.
	MaxDelaySeconds int `yaml:"max_delay_seconds"`
	// FollowUpWaitSeconds is the quiet time after an answer to the bot's own message, in seconds.
	FollowUpWaitSeconds int `yaml:"follow_up_wait_seconds"`
	// MaxMessageAgeSeconds is the age in seconds past which a message is answered no more.
	MaxMessageAgeSeconds int `yaml:"max_message_age_seconds"`
	// DailyCalls bounds the calls of models for one channel in a day of its zone; 0: nothing does.
	DailyCalls int `yaml:"daily_calls"`
	// DailyTokens bounds the tokens, in and out, of those calls; 0: nothing does.
	DailyTokens int `yaml:"daily_tokens"`
	// QuietHours is the time of day, as 22:00-07:00, in which nothing is judged, and
	// only who addresses the bot is answered; empty: there is none.
	QuietHours string `yaml:"quiet_hours"`
	// ChannelMessagesLimit is how many of a channel's newest messages a prompt shows.
	ChannelMessagesLimit int `yaml:"channel_messages_limit"`
	// ActiveChannelDays is within how many days a channel must have spoken to be shown.
	ActiveChannelDays int `yaml:"active_channel_days"`
	// ThreadMemoryDays is how many days old a thread's summary may be to be shown.
	ThreadMemoryDays int `yaml:"thread_memory_days"`
	// IdleCloseHours is after how many idle hours a conversation's workflow completes.
	IdleCloseHours int `yaml:"idle_close_hours"`
}

// ActiveChannel is within what time a channel must have spoken to be shown.
func (r Response) ActiveChannel() time.Duration { return days(r.ActiveChannelDays) }

// ThreadMemory is how old a thread's summary may be to be shown.
func (r Response) ThreadMemory() time.Duration { return days(r.ThreadMemoryDays) }

// IdleClose is after what idle time a conversation's workflow completes.
func (r Response) IdleClose() time.Duration { return hours(r.IdleCloseHours) }

// Memory is how the bot remembers.
type Memory struct {
	// IntervalSeconds is the time between two runs of the memory schedule, in seconds.
	IntervalSeconds int `yaml:"interval_seconds"`
	// ShortTermWindowHours is how many hours back short-term memory looks.
	ShortTermWindowHours int `yaml:"short_term_window_hours"`
	// LongTermSummaryMaxTokens bounds a long-term summary.
	LongTermSummaryMaxTokens int `yaml:"long_term_summary_max_tokens"`
	// ShortTermSummaryMaxTokens bounds a short-term summary.
	ShortTermSummaryMaxTokens int `yaml:"short_term_summary_max_tokens"`
}

// Interval is the time between two runs of the memory schedule.
func (m Memory) Interval() time.Duration { return seconds(m.IntervalSeconds) }

// ShortTermWindow is how far back short-term memory looks.
func (m Memory) ShortTermWindow() time.Duration { return hours(m.ShortTermWindowHours) }

// Retention is for how long the database keeps what is over; 0 is for ever.
type Retention struct {
	// LedgerDays is for how long it is known what was passed on, decided, posted and
	// ordered, and which calls of models that took.
	LedgerDays int `yaml:"ledger_days"`
	// MessagesDays is for how long what was said is kept, a thread since its newest reply.
	MessagesDays int `yaml:"messages_days"`
	// MemoryVersionsDays is for how long versions of memories are kept that are not in force.
	MemoryVersionsDays int `yaml:"memory_versions_days"`
}

// LedgerSince is from when on the ledger is complete, as of a time; the zero time if it
// always was.
func (r Retention) LedgerSince(now time.Time) time.Time { return horizon(now, r.LedgerDays) }

// MessagesSince is LedgerSince of what was said.
func (r Retention) MessagesSince(now time.Time) time.Time { return horizon(now, r.MessagesDays) }

// MemoryVersionsSince is LedgerSince of old versions of memories.
func (r Retention) MemoryVersionsSince(now time.Time) time.Time {
	return horizon(now, r.MemoryVersionsDays)
}

func horizon(now time.Time, kept int) time.Time {
	if kept == 0 {
		return time.Time{}
	}
	return now.Add(-days(kept))
}

// Location returns the zone in which prompts write times. For a Config that Load
// did not return it falls back to UTC.
func (c Config) Location() *time.Location { return c.zone(c.TimeZone) }

// zone is the zone of a name; one that was put in after Load is read each time.
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
