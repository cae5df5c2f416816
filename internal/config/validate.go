package config

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"myao/internal/chat"
)

const (
	maxKeyID = 64
	keyBytes = 32 // AES-256
)

// normalise gives values that can be written in several ways their normal form.
func (c *Config) normalise() {
	if c.Slack.APIURL != "" && !strings.HasSuffix(c.Slack.APIURL, "/") {
		c.Slack.APIURL += "/"
	}
	for _, emoji := range []*string{&c.Slack.HushReaction, &c.Slack.AnswerReaction} {
		*emoji = chat.EmojiName(strings.Trim(*emoji, ":"))
	}
	c.Server.PublicURL = strings.TrimRight(c.Server.PublicURL, "/")
}

// normaliseChannels gives the keys of the channels their normal form.
func (c *Config) normaliseChannels(f *faults) {
	channels := make(map[string]Channel, len(c.Channels))
	first := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(c.Channels)) {
		normal := normalChannel(key)
		if normal == "" {
			f.add("channels."+key, nil, "must name a channel")
			continue
		}
		if other, twice := first[normal]; twice {
			f.add("channels."+key, nil, "is the same channel as channels.%s", other)
			continue
		}
		first[normal] = key
		channels[normal] = c.Channels[key]
	}
	c.Channels, c.File.channels = channels, first
}

// validate checks that required values are set, and what values require of each other.
func (c *Config) validate(f *faults) {
	c.validateInstallation(f)
	if c.Slack.SigningSecret == "" && !c.Slack.SocketMode() {
		f.add("slack.signing_secret", nil, "is required unless slack.app_token chooses Socket Mode")
	}
	if c.Slack.AnswerReaction != "" && c.Slack.AnswerReaction == c.Slack.HushReaction {
		f.add("slack.answer_reaction", c.Slack.AnswerReaction, "must be another emoji than slack.hush_reaction")
	}
	if c.Worker.BuildID != "" && c.Worker.Deployment == "" {
		f.add("worker.build_id", c.Worker.BuildID, "has no effect without worker.deployment")
	}
	c.Encryption.validate(f)
	c.validateAgents(f)
	if _, ok := c.LLM.Prices[""]; ok {
		f.add("llm.prices.", nil, "must name a model")
	}
	c.Response.validate(f)
	c.MCP.validate(f, "")
	c.validateHooks(f)
	c.Shadow.validate(f)
	for key, own := range c.Channels {
		own.validate("channels."+key, "channel", c.Response, f)
		c.validateTools("channels."+key, own.Tools, f)
	}
	c.validateWorkspaces(f)
	// Catch-up would store deleted messages again, and memory would lack them.
	if kept, threads := c.Retention.MessagesDays, c.Response.ThreadMemoryDays; kept != 0 && kept <= threads {
		f.add("retention.messages_days", kept,
			"must be more than response.thread_memory_days, which is %d, or 0 for ever", threads)
	}
}

// validateInstallation checks that there is a workspace, or that workspaces can install the app.
func (c Config) validateInstallation(f *faults) {
	if c.Slack.ClientID == "" {
		if c.Slack.BotToken == "" {
			f.add("slack.bot_token", nil, "is required: the app's bot token, xoxb-…; or slack.client_id, by which "+
				"workspaces install the app")
		}
		if c.Slack.ClientSecret != "" {
			f.add("slack.client_secret", nil, "has no effect without slack.client_id")
		}
		return
	}
	if c.Slack.ClientSecret == "" {
		f.add("slack.client_secret", nil, "is required with slack.client_id: the app's client secret")
	}
	if c.Server.PublicURL == "" {
		f.add("server.public_url", nil, "is required with slack.client_id: the https:// address where Slack and people "+
			"reach the starter")
	}
	if c.Encryption.ActiveKey == "" {
		f.add("encryption.active_key", nil, "is required with slack.client_id: the tokens of workspaces are stored "+
			"encrypted")
	}
	if allowed := c.Slack.AllowedWorkspaces; len(allowed) > 1 && slices.Contains(allowed, AnyWorkspace) {
		f.add("slack.allowed_workspaces", nil, `must be ["*"] alone, or ids of workspaces and organisations`)
	}
}

func (e Encryption) validate(f *faults) {
	for id, key := range e.Keys {
		at := "encryption.keys." + id
		if id == "" || len(id) > maxKeyID {
			f.add(at, nil, "must have an id of 1 to %d characters", maxKeyID)
		}
		if raw, err := base64.StdEncoding.DecodeString(string(key)); err != nil || len(raw) != keyBytes {
			f.add(at, nil, "must be %d bytes in base64; openssl rand -base64 %d makes a key", keyBytes, keyBytes)
		}
	}
	if _, ok := e.Keys[e.ActiveKey]; !ok && e.ActiveKey != "" {
		f.add("encryption.active_key", e.ActiveKey, "must be one of encryption.keys")
	}
}

func (r Response) validate(f *faults) {
	atLeastMinWait(f, "response.max_wait_seconds", r.MaxWaitSeconds, r.MinWaitSeconds)
	aboveQuietTime(f, "response.max_message_age_seconds", r.MaxMessageAgeSeconds, r.MinWaitSeconds, r.MaxWaitSeconds,
		r.JitterRatio)
}

// validate checks the own values of a channel, or of a workspace, as kind says, against each other and against
// inherited ones. Inherited values are only checked where they are set.
func (ch Channel) validate(key, kind string, inherited Response, f *faults) {
	ch.Bots.validate(key+".bots", f)
	minWait, maxWait := orInherited(ch.MinWaitSeconds, inherited.MinWaitSeconds),
		orInherited(ch.MaxWaitSeconds, inherited.MaxWaitSeconds)
	switch {
	case ch.MaxWaitSeconds != nil:
		atLeastMinWait(f, key+".max_wait_seconds", maxWait, minWait)
	case ch.MinWaitSeconds != nil && minWait > maxWait && maxWait >= 0:
		f.add(key+".min_wait_seconds", minWait,
			"must be at most response.max_wait_seconds (%d), unless the %s sets its own max_wait_seconds", maxWait, kind)
	}
	if !ch.judges() {
		return // nothing waits for a judgment
	}
	jitter := orInherited(ch.JitterRatio, inherited.JitterRatio)
	if ch.MaxMessageAgeSeconds != nil {
		aboveQuietTime(f, key+".max_message_age_seconds", *ch.MaxMessageAgeSeconds, minWait, maxWait, jitter)
		return
	}
	var own string
	var value any
	switch {
	case ch.MinWaitSeconds != nil:
		own, value = ".min_wait_seconds", minWait
	case ch.JitterRatio != nil:
		own, value = ".jitter_ratio", jitter
	case ch.MaxWaitSeconds != nil:
		own, value = ".max_wait_seconds", maxWait
	default:
		return
	}
	if longest, age := longestQuietTime(minWait, maxWait, jitter), inherited.MaxMessageAgeSeconds; age <= longest &&
		age > 0 {
		f.add(key+own, value, "must keep the longest quiet time (now %d) below response.max_message_age_seconds "+
			"(%d), unless the %s sets its own max_message_age_seconds",
			longest, age, kind)
	}
}

// judges reports whether any message in the channel waits for a judgment.
func (ch Channel) judges() bool {
	mode := cmp.Or(ch.Mode, ModeJudge)
	return mode == ModeJudge || mode == ModeAll && ch.Bots.judgesAny()
}

func atLeastMinWait(f *faults, key string, maxWait, minWait int) {
	if maxWait < minWait && minWait <= daySeconds {
		f.add(key, maxWait, "must be at least min_wait_seconds, which is %d", minWait)
	}
}

// aboveQuietTime refuses an age that messages reach while they wait for their judgment. The rule
// too_old would then silence the bot almost always.
func aboveQuietTime(f *faults, key string, age, minWait, maxWait int, jitter float64) {
	if longest := longestQuietTime(minWait, maxWait, jitter); age <= longest {
		f.add(key, age, "must be more than the longest quiet time, which is %d with min_wait_seconds %d, "+
			"jitter_ratio %v and max_wait_seconds %d",
			longest, minWait, jitter, maxWait)
	}
}

// longestQuietTime is in whole seconds. It is 0 if one of its values has a fault of its own.
func longestQuietTime(minWait, maxWait int, jitter float64) int {
	if minWait < 0 || minWait > daySeconds || !(jitter >= 0 && jitter <= 1) {
		return 0
	}
	return min(int(float64(minWait)*(1+jitter)), maxWait)
}
