package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What is allowed. The upper bounds are far beyond sense: they catch
// milliseconds where seconds are meant.
const (
	maxThreadHistory = 100
	daySeconds       = 86_400      // for waits
	weekSeconds      = 604_800     // for intervals
	monthSeconds     = 31 * 86_400 // for ages
	maxMessages      = 1000
	maxDays          = 365
	maxHours         = 24 * 31
	maxTokens        = 1_000_000
	maxNameLength    = 80
	maxTemperature   = 2
	maxAtOnce        = 10_000
	maxPerSecond     = 10_000
	maxKeyID         = 64
	maxCalls         = 1_000_000
	maxDailyTokens   = 1_000_000_000
	maxPrice         = 1_000_000
	keyBytes         = 32 // AES-256
	// leastKept is more days than anything waits, or looks back for what was said: longer
	// than monthSeconds and maxHours.
	leastKept = 32
	mostKept  = 36_500
)

// normalise brings what may be written in several ways into one form.
func (c *Config) normalise(f *faults) {
	if c.Slack.APIURL != "" && !strings.HasSuffix(c.Slack.APIURL, "/") {
		c.Slack.APIURL += "/"
	}
	c.Slack.HushReaction = strings.Trim(c.Slack.HushReaction, ":")
	channels := make(map[string]Channel, len(c.Channels))
	first := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(c.Channels)) {
		c.Channels[key].validate("channels."+key, c.Response, f)
		normal := normalChannel(key)
		if normal == "" {
			f.add("channels."+key, "", "must name a channel")
			continue
		}
		if other, twice := first[normal]; twice {
			f.add("channels."+key, "", "is the same channel as channels.%s", other)
			continue
		}
		first[normal] = key
		channels[normal] = c.Channels[key]
	}
	c.Channels, c.File.written = channels, first
}

func (c *Config) validate(f *faults) {
	c.Slack.validate(f)
	address(f, "server.address", c.Server.Address)
	c.Database.validate(f)
	c.Encryption.validate(f)
	c.Worker.validate(f)
	oneOf(f, "log.format", c.Log.Format, "json", "text")
	oneOf(f, "log.level", c.Log.Level, "debug", "info", "warn", "error")
	c.LLM.validate(c.Agents, f)
	for name, agent := range c.Agents.All() {
		agent.validate("agents."+name, f)
	}
	if c.Persona.Name == "" || len([]rune(c.Persona.Name)) > maxNameLength || c.Persona.Name != oneLine(c.Persona.Name) {
		f.add("persona.name", f.show(c.Persona.Name), "must be one line of 1 to %d characters", maxNameLength)
	}
	oneOf(f, "language", c.Language, English, Japanese)
	timeZone(f, "time_zone", c.TimeZone)
	if dir := c.TemplatesDir; dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			f.add("templates_dir", f.show(dir), "must be a directory that exists, or empty")
		}
	}
	c.Response.validate(f)
	c.Memory.validate(f)
	c.Retention.validate(c.Response, f)
}

func (s Slack) validate(f *faults) {
	if s.BotToken == "" {
		f.add("slack.bot_token", "", "is required: the app's bot token, xoxb-…")
	}
	if s.SigningSecret == "" && !s.SocketMode() {
		f.add("slack.signing_secret", "", "is required unless slack.app_token chooses Socket Mode")
	}
	webURL(f, "slack.api_url", s.APIURL)
	between(f, "slack.thread_history_limit", s.ThreadHistoryLimit, 1, maxThreadHistory)
	if !commandName.MatchString(s.Command) {
		f.add("slack.command", f.show(s.Command), "must be a slash and up to 31 lower-case letters, digits and any of - _")
	}
	for i, id := range s.Operators {
		if !userID.MatchString(id) {
			f.add(fmt.Sprintf("slack.operators[%d]", i), f.show(id), "must be the id of a user, U… or W…")
		}
	}
	for i, p := range s.EveryoneMay {
		oneOf(f, fmt.Sprintf("slack.everyone_may[%d]", i), p, permissions...)
	}
	if !emojiName.MatchString(s.HushReaction) {
		f.add("slack.hush_reaction", f.show(s.HushReaction), "must be the name of an emoji, as shushing_face, or empty")
	}
}

var (
	commandName = regexp.MustCompile(`^/[\p{Ll}\p{Lo}\p{N}_-]{1,31}$`)
	userID      = regexp.MustCompile(`^[UW][A-Z0-9]+$`)
	emojiName   = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{M}\p{N}_+'-]{0,100}$`)
)

// permissions is all that slack.everyone_may may hold.
var permissions = []Permission{MayStatus, MayWhy, MaySnooze, MayMute, MayHush, MayAnswerNow, MayForget}

func (d Database) validate(f *faults) {
	const allowed = "must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME"
	if path, ok := d.SQLitePath(); ok {
		switch {
		case path == "":
			f.add("database.url", d.Redacted(), "%s", allowed)
		case strings.HasPrefix(path, ":memory:") || strings.ContainsAny(path, "?\x00"):
			f.add("database.url", d.Redacted(), "must name a file, which two programs share, without options")
		}
		return
	}
	u, err := url.Parse(d.URL)
	switch {
	case strings.HasPrefix(d.URL, "postgres") && (strayAt(d.URL) || errors.As(err, new(url.EscapeError))):
		f.add("database.url", d.Redacted(), "%s with no @ but the one before HOST: elsewhere, as in a password, @ is %%40, / is %%2F, ? is %%3F, # is %%23, %% is %%25", allowed)
	case err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Opaque != "":
		f.add("database.url", d.Redacted(), "%s", allowed)
	default:
		if why := refused(d.URL); why != "" {
			f.add("database.url", d.Redacted(), "%s that can be connected to: %s", allowed, why)
		}
	}
}

func (w Worker) validate(f *faults) {
	if w.Address != "" {
		address(f, "worker.address", w.Address)
	}
	// The SDK deadlocks its pollers with a single slot.
	between(f, "worker.model_calls_at_once", w.ModelCallsAtOnce, 2, maxAtOnce)
	number(f, "worker.model_calls_per_second", w.ModelCallsPerSecond, 0, maxPerSecond)
	for key, v := range map[string]string{"worker.deployment": w.Deployment, "worker.build_id": w.BuildID} {
		if !deploymentName.MatchString(v) {
			f.add(key, f.show(v), "must be empty, or up to 128 letters, digits and any of - _ + @")
		}
	}
	if w.BuildID != "" && w.Deployment == "" {
		f.add("worker.build_id", f.show(w.BuildID), "means nothing without worker.deployment")
	}
}

// deploymentName leaves out what separates the name of a deployment from its
// version in Temporal: a dot and a colon.
var deploymentName = regexp.MustCompile(`^[A-Za-z0-9_+@-]{0,128}$`)

func (e Encryption) validate(f *faults) {
	for id, key := range e.Keys {
		at := "encryption.keys." + id
		if id == "" || len(id) > maxKeyID {
			f.add(at, "", "must have an id of 1 to %d characters", maxKeyID)
		}
		if raw, err := base64.StdEncoding.DecodeString(string(key)); err != nil || len(raw) != keyBytes {
			f.add(at, "", "must be %d bytes in base64, as openssl rand -base64 %d makes them", keyBytes, keyBytes)
		}
	}
	if _, ok := e.Keys[e.ActiveKey]; !ok && e.ActiveKey != "" {
		f.add("encryption.active_key", f.show(e.ActiveKey), "must be one of encryption.keys")
	}
}

func (l LLM) validate(agents Agents, f *faults) {
	if agents.uses(ProviderGemini) && l.Gemini.APIKey == "" {
		f.add("llm.gemini.api_key", "", "is required, as an agent has the provider gemini (demo needs none)")
	}
	if agents.uses(ProviderOpenAI) && l.OpenAI.APIKey == "" && l.OpenAI.BaseURL == "" {
		f.add("llm.openai.api_key", "", "is required, or llm.openai.base_url, as an agent has the provider openai")
	}
	if l.Gemini.Endpoint != "" {
		webURL(f, "llm.gemini.endpoint", l.Gemini.Endpoint)
	}
	if l.OpenAI.BaseURL != "" {
		webURL(f, "llm.openai.base_url", l.OpenAI.BaseURL)
	}
	for model, price := range l.Prices {
		key := "llm.prices." + model
		if model == "" {
			f.add(key, "", "must name a model")
		}
		number(f, key+".input", price.Input, 0, maxPrice)
		number(f, key+".output", price.Output, 0, maxPrice)
	}
}

func (a Agent) validate(key string, f *faults) {
	oneOf(f, key+".provider", a.Provider, ProviderGemini, ProviderOpenAI, ProviderDemo)
	if a.Provider == ProviderOpenAI && a.Model == "" {
		f.add(key+".model", "", "is required, as the provider is openai")
	}
	between(f, key+".max_output_tokens", a.MaxOutputTokens, 1, maxTokens)
	if a.Temperature != nil {
		number(f, key+".temperature", *a.Temperature, 0, maxTemperature)
	}
}

func (r Response) validate(f *faults) {
	between(f, "response.min_wait_seconds", r.MinWaitSeconds, 0, daySeconds)
	number(f, "response.jitter_ratio", r.JitterRatio, 0, 1)
	between(f, "response.max_wait_seconds", r.MaxWaitSeconds, 0, weekSeconds)
	atLeastMinWait(f, "response.max_wait_seconds", r.MaxWaitSeconds, r.MinWaitSeconds)
	between(f, "response.max_delay_seconds", r.MaxDelaySeconds, 0, daySeconds)
	between(f, "response.follow_up_wait_seconds", r.FollowUpWaitSeconds, 0, daySeconds)
	between(f, "response.max_message_age_seconds", r.MaxMessageAgeSeconds, 1, monthSeconds)
	aboveQuietTime(f, "response.max_message_age_seconds", r.MaxMessageAgeSeconds, r.MinWaitSeconds, r.MaxWaitSeconds, r.JitterRatio)
	between(f, "response.daily_calls", r.DailyCalls, 0, maxCalls)
	between(f, "response.daily_tokens", r.DailyTokens, 0, maxDailyTokens)
	quiet(f, "response.quiet_hours", r.QuietHours)
	between(f, "response.channel_messages_limit", r.ChannelMessagesLimit, 1, maxMessages)
	between(f, "response.active_channel_days", r.ActiveChannelDays, 1, maxDays)
	between(f, "response.thread_memory_days", r.ThreadMemoryDays, 1, maxDays)
	between(f, "response.idle_close_hours", r.IdleCloseHours, 1, maxHours)
}

func (m Memory) validate(f *faults) {
	between(f, "memory.interval_seconds", m.IntervalSeconds, 1, weekSeconds)
	between(f, "memory.short_term_window_hours", m.ShortTermWindowHours, 1, maxHours)
	between(f, "memory.long_term_summary_max_tokens", m.LongTermSummaryMaxTokens, 1, maxTokens)
	between(f, "memory.short_term_summary_max_tokens", m.ShortTermSummaryMaxTokens, 1, maxTokens)
}

func (r Retention) validate(response Response, f *faults) {
	kept(f, "retention.ledger_days", r.LedgerDays, leastKept)
	kept(f, "retention.messages_days", r.MessagesDays, leastKept)
	kept(f, "retention.memory_versions_days", r.MemoryVersionsDays, 1)
	// Catch-up would store again what is not kept, and memory would miss it.
	if threads := response.ThreadMemoryDays; r.MessagesDays != 0 && r.MessagesDays <= threads {
		f.add("retention.messages_days", strconv.Itoa(r.MessagesDays),
			"must be more than response.thread_memory_days, which is %d, or 0 for ever", threads)
	}
}

func kept(f *faults, key string, days, least int) {
	if days != 0 && (days < least || days > mostKept) {
		f.add(key, strconv.Itoa(days), "must be a whole number from %d to %d, or 0 for ever", least, mostKept)
	}
}

func timeZone(f *faults, key, v string) {
	if _, err := time.LoadLocation(v); err != nil || v == "" || v == "Local" {
		f.add(key, f.show(v), "must be the IANA name of a time zone, as UTC or Asia/Tokyo")
	}
}

func quiet(f *faults, key, v string) {
	if _, err := ParseQuietHours(v); err != nil {
		f.add(key, f.show(v), "must be HH:MM-HH:MM from one time of day to another, as 22:00-07:00, or empty")
	}
}

func between(f *faults, key string, v, low, high int) {
	if v < low || v > high {
		f.add(key, strconv.Itoa(v), "must be a whole number from %d to %d", low, high)
	}
}

func number(f *faults, key string, v float64, low, high int) {
	if math.IsNaN(v) || v < float64(low) || v > float64(high) {
		f.add(key, fmt.Sprint(v), "must be a number from %d to %d", low, high)
	}
}

func oneOf[T ~string](f *faults, key string, v T, allowed ...T) {
	if slices.Contains(allowed, v) {
		return
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	f.add(key, f.show(string(v)), "must be one of %s", strings.Join(names, ", "))
}

func webURL(f *faults, key, v string) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		f.add(key, strconv.Quote(redactURL(v)), "must be an http:// or https:// address")
	}
}

func address(f *faults, key, v string) {
	_, port, err := net.SplitHostPort(v)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || n < 0 || n > math.MaxUint16 {
		f.add(key, f.show(v), "must be HOST:PORT or :PORT with a port from 0 to 65535")
	}
}
