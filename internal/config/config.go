package config

import (
	"cmp"
	"maps"
	"myao/internal/chat"
	"net/netip"
	"slices"
	"time"

	// A container may have no time zone database of its own.
	_ "time/tzdata"
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
	TemplatesDir string   `yaml:"templates_dir"`
	Response     Response `yaml:"response"`
	Memory       Memory   `yaml:"memory"`
	Tools        Tools    `yaml:"tools"`
	MCP          MCP      `yaml:"mcp"`
	Promises     Promises `yaml:"promises"`
	// Shadow is other judges that are compared with the first one.
	Shadow Shadow `yaml:"shadow"`
	// Retention is how long the database keeps rows that are no longer in use.
	Retention Retention `yaml:"retention"`
	// Channels are the exceptions from Response, by channel id or by name (lower case, without
	// "#"). Read them through Config.Channel.
	Channels map[string]Channel `yaml:"channels"`
	// File is the file that the configuration was read from.
	File File `yaml:"-"`
	// zones caches the time zones in use, by name. Loading one is slow, and each event and each
	// judgment needs one.
	zones map[string]*time.Location `yaml:"-"`
}

// Slack is the access to the workspace, and what its users may do with the bot.
type Slack struct {
	// BotToken is the app's bot token (xoxb-…).
	BotToken Secret `yaml:"bot_token"`
	// SigningSecret verifies Slack's requests. It is required unless AppToken is set.
	SigningSecret Secret `yaml:"signing_secret"`
	// AppToken (xapp-…) chooses Socket Mode instead of HTTP requests from Slack.
	AppToken Secret `yaml:"app_token"`
	// APIURL is the root of the Web API, with a slash at its end.
	APIURL string `yaml:"api_url"`
	// ThreadHistoryLimit is how many of a thread's newest messages are read for a message that
	// addresses the bot, 1–100. The variable THREAD_HISTORY_LIMIT overrides the file.
	ThreadHistoryLimit int `yaml:"thread_history_limit"`
	// Command is the name of the slash command, including the slash.
	Command string `yaml:"command"`
	// Operators are the ids of the users who have every Permission.
	Operators []string `yaml:"operators"`
	// EveryoneMay is what everyone who can see a channel may do there.
	EveryoneMay []Permission `yaml:"everyone_may"`
	// OutsidersMay is what of EveryoneMay guests and people of other companies may do, too.
	OutsidersMay []Permission `yaml:"outsiders_may"`
	// HushReaction is the name, without colons, of the emoji that asks the bot not to answer a
	// message; empty for none.
	HushReaction string `yaml:"hush_reaction"`
	// React makes an emoji under a message stand for an answer where thanks or an OK is all there is to
	// say.
	React bool `yaml:"react"`
	// Introduce has the bot introduce itself, once, in a channel that it is invited to.
	Introduce bool `yaml:"introduce"`
	// OtherWorkspaces is what people of other workspaces of the same Enterprise organisation count
	// as.
	OtherWorkspaces Standing `yaml:"other_workspaces"`
	// Feedback says which replies have buttons to rate them.
	Feedback Feedback `yaml:"feedback"`
	// Status shows, in the thread of whoever addressed the bot, what it is doing until it answers.
	Status bool `yaml:"status"`
}

// Feedback is a kind of replies that people can rate.
type Feedback string

// The kinds of replies. Notes that no model wrote are never among them.
const (
	FeedbackAddressed Feedback = "addressed" // those to somebody who addressed the bot
	FeedbackAll       Feedback = "all"
	FeedbackOff       Feedback = "off"
)

// Wanted reports whether a reply has the buttons. The zero value wants none.
func (f Feedback) Wanted(addressed bool) bool {
	return f == FeedbackAll || f == FeedbackAddressed && addressed
}

// Standing is what people count as.
type Standing string

// The standings. External people know nothing of channels that they are not in.
const (
	External Standing = "external"
	Internal Standing = "internal"
)

// Permission is something that people may have the bot do from within Slack.
type Permission string

// The permissions.
const (
	MayStatus    Permission = "status"     // see the state of conversations
	MayWhy       Permission = "why"        // read the ledger of a channel
	MaySnooze    Permission = "snooze"     // silence a channel for a time
	MayMute      Permission = "mute"       // silence a channel, or end its silence
	MayHush      Permission = "hush"       // withdraw the pending answer to a message, by a reaction
	MayAnswerNow Permission = "answer_now" // have a message answered at once, by a shortcut
	MayNotes     Permission = "notes"      // see the notes of a channel, and take them back
	MayApprove   Permission = "approve"    // decide about what the bot proposes to somebody else
	MayForget    Permission = "forget"     // delete the memory of a channel
	MayStop      Permission = "stop"       // mute the whole workspace; for operators alone
)

// May reports whether a user has a permission. outsider is set for a guest or somebody of another
// company.
func (s Slack) May(user string, outsider bool, p Permission) bool {
	return s.IsOperator(user) || slices.Contains(s.EveryoneMay, p) && (!outsider || slices.Contains(s.OutsidersMay, p))
}

// IsOperator reports whether a user has every permission.
func (s Slack) IsOperator(user string) bool { return slices.Contains(s.Operators, user) }

// TrustOrg reports whether people of other workspaces of the organisation count as colleagues.
func (s Slack) TrustOrg() bool { return s.OtherWorkspaces == Internal }

// SocketMode reports whether events come through Slack's Socket Mode.
func (s Slack) SocketMode() bool { return s.AppToken != "" }

// Server is the starter's HTTP server.
type Server struct {
	// Address is the host:port to listen on. Port 0 takes a free port.
	Address string `yaml:"address"`
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

// Price is what a million tokens of a model cost, in any currency.
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

// All returns the agents by their names in the file, and their second models by NAME.fallback.
func (a Agents) All() map[string]Agent {
	all := map[string]Agent{"response": a.Response, "judgment": a.Judgment, "memory": a.Memory}
	for name, first := range maps.Clone(all) {
		if second, ok := first.Second(); ok {
			all[name+fallbackKey] = second
		}
	}
	return all
}

const fallbackKey = ".fallback"

// Instructions are the texts of the configuration that models are given as instructions.
func (c Config) Instructions() []string {
	all := []string{c.Persona.SystemPrompt}
	for _, a := range c.Agents.All() {
		all = append(all, a.SystemPrompt)
	}
	for _, settings := range c.Channels {
		all = append(all, settings.Persona)
	}
	return all
}

// Agent is one use of a model.
type Agent struct {
	Provider Provider `yaml:"provider"`
	// APIKey and BaseURL are the agent's own access to its provider. Empty ones inherit from
	// llm. Read them through Config.Access.
	APIKey  Secret `yaml:"api_key"`
	BaseURL string `yaml:"base_url"`
	// Model is the provider's name for the model. Only Gemini has a default.
	Model string `yaml:"model"`
	// MaxOutputTokens limits one answer of the model.
	MaxOutputTokens int `yaml:"max_output_tokens"`
	// SystemPrompt is added to the persona's.
	SystemPrompt string `yaml:"system_prompt"`
	// Temperature is 0–2. If it is nil, none is sent, because newer models refuse it.
	Temperature *float64 `yaml:"temperature"`
	// Fallback is asked where the model fails. Read it through Second.
	Fallback Fallback `yaml:"fallback"`
}

// Fallback is the second model of an agent. It has an agent's keys; the zero value is none.
type Fallback struct {
	Provider Provider `yaml:"provider"`
	APIKey   Secret   `yaml:"api_key"`
	BaseURL  string   `yaml:"base_url"`
	Model    string   `yaml:"model"`
	// MaxOutputTokens and SystemPrompt are the agent's where they are 0 or empty.
	MaxOutputTokens int      `yaml:"max_output_tokens"`
	SystemPrompt    string   `yaml:"system_prompt"`
	Temperature     *float64 `yaml:"temperature"`
}

// Second returns the agent with its second model; ok is false if it has none.
func (a Agent) Second() (second Agent, ok bool) {
	f := a.Fallback
	return Agent{
		Provider: f.Provider, APIKey: f.APIKey, BaseURL: f.BaseURL, Model: f.Model, Temperature: f.Temperature,
		MaxOutputTokens: cmp.Or(f.MaxOutputTokens, a.MaxOutputTokens), SystemPrompt: cmp.Or(f.SystemPrompt, a.SystemPrompt),
	}, f.Provider != ""
}

// Persona is who the bot is.
type Persona struct {
	// Name is what the bot calls itself in prompts.
	Name string `yaml:"name"`
	// SystemPrompt describes the character. Its default depends on Language.
	SystemPrompt string `yaml:"system_prompt"`
}

// Response is how the bot behaves in a conversation, unless Channels says otherwise.
type Response struct {
	// MinWaitSeconds is the quiet time before a judgment, in seconds.
	MinWaitSeconds int `yaml:"min_wait_seconds"`
	// JitterRatio varies the quiet time by up to ± this share of it, 0–1.
	JitterRatio float64 `yaml:"jitter_ratio"`
	// MaxWaitSeconds limits the wait for a quiet moment, in seconds. It is at least MinWaitSeconds.
	MaxWaitSeconds int `yaml:"max_wait_seconds"`
	// MaxDelaySeconds limits the delay that a judgment may ask for, in seconds.
	MaxDelaySeconds int `yaml:"max_delay_seconds"`
	// FollowUpWaitSeconds is the quiet time after an answer to a message of the bot, in seconds.
	FollowUpWaitSeconds int `yaml:"follow_up_wait_seconds"`
	// MaxMessageAgeSeconds is the age from which on a message is not answered any more, in seconds.
	MaxMessageAgeSeconds int `yaml:"max_message_age_seconds"`
	// MinConfidence is how sure a judgment must be for its yes to count, 0–1.
	MinConfidence float64 `yaml:"min_confidence"`
	// SecondLook is which judged replies the judge reads again before they are posted.
	SecondLook SecondLook `yaml:"second_look"`
	// DailyCalls limits a channel's model calls per day of its time zone; 0 is no limit.
	DailyCalls int `yaml:"daily_calls"`
	// DailyTokens limits the input and output tokens of those calls; 0 is no limit.
	DailyTokens int `yaml:"daily_tokens"`
	// WorkspaceDailyCalls and WorkspaceDailyTokens limit the same in the whole workspace per day of
	// Config.TimeZone, direct messages and memory included; 0 is no limit.
	WorkspaceDailyCalls  int `yaml:"workspace_daily_calls"`
	WorkspaceDailyTokens int `yaml:"workspace_daily_tokens"`
	// QuietHours is a time of day, such as 22:00-07:00, when nothing is judged and only messages
	// that address the bot are answered; empty for none.
	QuietHours string `yaml:"quiet_hours"`
	// ChannelMessagesLimit is how many of a channel's newest messages a prompt shows.
	ChannelMessagesLimit int `yaml:"channel_messages_limit"`
	// ActiveChannelDays is for how many days after its last message a prompt shows a channel.
	ActiveChannelDays int `yaml:"active_channel_days"`
	// ThreadMemoryDays is for how many days a prompt shows a thread's summary.
	ThreadMemoryDays int `yaml:"thread_memory_days"`
	// IdleCloseHours is the number of idle hours after which a conversation's workflow completes.
	IdleCloseHours int `yaml:"idle_close_hours"`
}

// SecondLook is which judged replies the judge reads again before they are posted.
type SecondLook string

// The choices of SecondLook.
const (
	SecondLookOff SecondLook = "off"
	// SecondLookWaited is for replies whose judgment is old, in doubt, or followed by a reaction.
	SecondLookWaited SecondLook = "waited"
	SecondLookAlways SecondLook = "always"
)

// ActiveChannel is ActiveChannelDays as a duration.
func (r Response) ActiveChannel() time.Duration { return days(r.ActiveChannelDays) }

// ThreadMemory is ThreadMemoryDays as a duration.
func (r Response) ThreadMemory() time.Duration { return days(r.ThreadMemoryDays) }

// IdleClose is IdleCloseHours as a duration.
func (r Response) IdleClose() time.Duration { return hours(r.IdleCloseHours) }

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

// Tools is what a reply may look up before it is written.
type Tools struct {
	// Enabled are the names of the tools that a model is offered.
	Enabled []string `yaml:"enabled"`
	// MaxRounds is how often, for one reply, a model may ask for tools.
	MaxRounds int `yaml:"max_rounds"`
	// MaxCalls limits the calls of all rounds.
	MaxCalls int `yaml:"max_calls"`
	// MaxSeconds is the time after the first round from which on no further one begins, in seconds.
	MaxSeconds int `yaml:"max_seconds"`
	// MaxResultChars limits the result of one call, MaxTotalChars those of all calls, in characters.
	MaxResultChars int `yaml:"max_result_chars"`
	MaxTotalChars  int `yaml:"max_total_chars"`
	// ApprovalHours is how long people have to decide about what a reply proposes.
	ApprovalHours int `yaml:"approval_hours"`
	// DenyAddresses are public addresses and networks that open_link does not connect to. Others than public ones
	// are refused anyway.
	DenyAddresses []string `yaml:"deny_addresses"`
}

// Denied is DenyAddresses as networks.
func (t Tools) Denied() []netip.Prefix {
	denied := make([]netip.Prefix, 0, len(t.DenyAddresses))
	for _, a := range t.DenyAddresses {
		if network, err := parseNetwork(a); err == nil { // which the rules have made sure of
			denied = append(denied, network)
		}
	}
	return denied
}

// parseNetwork reads an IP address, or a network in CIDR notation.
func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	network, err := netip.ParsePrefix(s)
	return network.Masked(), err
}

// cloudAddresses are where clouds serve their machines: metadata, keys and consoles. Most lie outside of the public
// ranges, and are refused anyway; they stand here for whoever looks for them.
func cloudAddresses() []string {
	return []string{
		"168.63.129.16",   // Azure
		"100.100.100.200", // Alibaba Cloud
		"192.0.0.192",     // Oracle Cloud
		"fd00:ec2::254",   // AWS
		"fd20:ce::254",    // Google Cloud
		"161.26.0.0/16",   // IBM Cloud
		"166.8.0.0/14",    // IBM Cloud
	}
}

// Approval is ApprovalHours as a duration.
func (t Tools) Approval() time.Duration { return hours(t.ApprovalHours) }

// Longest is MaxSeconds as a duration.
func (t Tools) Longest() time.Duration { return seconds(t.MaxSeconds) }

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

// Retention is how long the database keeps rows that are no longer in use; 0 is for ever.
type Retention struct {
	// LedgerDays is how long the ledger is kept: deliveries, decisions, posts, orders and model
	// calls.
	LedgerDays int `yaml:"ledger_days"`
	// MessagesDays is how long messages are kept, a thread from its newest reply on.
	MessagesDays int `yaml:"messages_days"`
	// MemoryVersionsDays is how long replaced versions of memories are kept.
	MemoryVersionsDays int `yaml:"memory_versions_days"`
}

// LedgerSince returns the time from which on the ledger is complete; the zero time if it is never
// pruned.
func (r Retention) LedgerSince(now time.Time) time.Time { return cutoff(now, r.LedgerDays) }

// MessagesSince is LedgerSince for messages.
func (r Retention) MessagesSince(now time.Time) time.Time { return cutoff(now, r.MessagesDays) }

// MemoryVersionsSince is LedgerSince for replaced versions of memories.
func (r Retention) MemoryVersionsSince(now time.Time) time.Time {
	return cutoff(now, r.MemoryVersionsDays)
}

func cutoff(now time.Time, keptDays int) time.Time {
	if keptDays == 0 {
		return time.Time{}
	}
	return now.Add(-days(keptDays))
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
