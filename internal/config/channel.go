package config

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"myao/internal/conversation"
)

// Channel is what the file says of one channel. Nil and empty inherit.
type Channel struct {
	// Mode is when the bot speaks here; empty is ModeJudge.
	Mode Mode `yaml:"mode"`
	// Bots is what other bots' messages set off here; empty is BotsIgnore.
	Bots Bots `yaml:"bots"`
	// Persona is added to the persona's system prompt here.
	Persona string `yaml:"persona"`
	// Model writes the replies here, in place of agents.response's, of the same provider.
	Model string `yaml:"model"`
	// TimeZone is the IANA name of the channel's zone: that of its days and quiet hours.
	// Empty is Config.TimeZone.
	TimeZone string `yaml:"time_zone"`

	// The rest stands in for the keys of Response, in the same units.

	MinWaitSeconds       *int     `yaml:"min_wait_seconds"`
	JitterRatio          *float64 `yaml:"jitter_ratio"`
	MaxWaitSeconds       *int     `yaml:"max_wait_seconds"`
	MaxDelaySeconds      *int     `yaml:"max_delay_seconds"`
	FollowUpWaitSeconds  *int     `yaml:"follow_up_wait_seconds"`
	MaxMessageAgeSeconds *int     `yaml:"max_message_age_seconds"`
	DailyCalls           *int     `yaml:"daily_calls"`
	DailyTokens          *int     `yaml:"daily_tokens"`
	QuietHours           *string  `yaml:"quiet_hours"`
}

// Mode is when the bot speaks in a channel.
type Mode = conversation.Mode

// The modes.
const (
	ModeJudge   = conversation.ModeJudge
	ModeMention = conversation.ModeMention
	ModeAll     = conversation.ModeAll
	ModeOff     = conversation.ModeOff
)

// Bots is what the messages of other bots set off.
type Bots string

// The ways to treat other bots.
const (
	BotsIgnore Bots = "ignore"
	BotsJudge  Bots = "judge"
)

// ChannelSettings are the settings that hold in one channel: the file's own,
// the rest from Response.
type ChannelSettings struct {
	Mode Mode
	Bots Bots
	// Persona is added to the persona's system prompt; empty: nothing is.
	Persona string
	// Model writes the replies, of the provider of agents.response.
	Model string
	// Zone is that of the channel's days and quiet hours.
	Zone *time.Location

	MinWait       time.Duration
	JitterRatio   float64 // 0–1, of MinWait
	MaxWait       time.Duration
	MaxDelay      time.Duration
	FollowUpWait  time.Duration
	MaxMessageAge time.Duration

	// DailyCalls and DailyTokens bound the calls of models in a day, and their tokens,
	// in and out; 0: nothing does.
	DailyCalls, DailyTokens int
	// QuietHours are by the clock of Zone.
	QuietHours QuietHours
}

// HasBudget reports whether anything bounds what a day may cost.
func (s ChannelSettings) HasBudget() bool { return s.DailyCalls > 0 || s.DailyTokens > 0 }

// Exhausted reports whether a day's calls and tokens leave nothing for another call.
func (s ChannelSettings) Exhausted(calls, tokens int) bool {
	return s.DailyCalls > 0 && calls >= s.DailyCalls || s.DailyTokens > 0 && tokens >= s.DailyTokens
}

// StartOfDay is when the channel's day began that a moment lies in.
func (s ChannelSettings) StartOfDay(now time.Time) time.Time {
	year, month, day := now.In(s.Zone).Date()
	return Midnight(year, month, day, s.Zone)
}

// InQuietHours reports whether a moment lies in the channel's quiet hours.
func (s ChannelSettings) InQuietHours(now time.Time) bool {
	return s.QuietHours.Contains(now.In(s.Zone))
}

// ChannelFacts is what the settings of a channel depend on.
type ChannelFacts struct {
	ID string
	// Name is without the "#"; empty where it is not known.
	Name string
}

// Channel returns the settings of a channel. Those under its ID win over those under its name.
func (c Config) Channel(f ChannelFacts) ChannelSettings {
	_, own := c.channel(f)
	s := c.Response.with(own)
	s.Model = cmp.Or(own.Model, c.Agents.Response.Model)
	s.Zone = c.zone(cmp.Or(own.TimeZone, c.TimeZone))
	return s
}

// channel is what the file says of a channel, and the key in Channels under which it does.
func (c Config) channel(f ChannelFacts) (key string, own Channel) {
	for _, key := range []string{f.ID, normalChannel(f.ID), normalChannel(f.Name)} {
		if ch, ok := c.Channels[key]; ok && key != "" {
			return key, ch
		}
	}
	return "", Channel{}
}

// LeavesSettingsBehind reports whether settings stand under an id that a channel had before, and none under
// the one that it has now.
func (c Config) LeavesSettingsBehind(before, now string) bool {
	_, old := c.Channels[before]
	_, moved := c.Channels[now]
	return old && !moved
}

// HasNamedChannels reports whether the settings of any channel stand under a name,
// so that Channel depends on names.
func (c Config) HasNamedChannels() bool {
	for key := range c.Channels {
		if !channelID.MatchString(key) {
			return true
		}
	}
	return false
}

func (r Response) with(ch Channel) ChannelSettings {
	quiet, _ := ParseQuietHours(or(ch.QuietHours, r.QuietHours)) // none, of a Config that Load did not return
	return ChannelSettings{
		Mode:          cmp.Or(ch.Mode, ModeJudge),
		Bots:          cmp.Or(ch.Bots, BotsIgnore),
		Persona:       ch.Persona,
		MinWait:       seconds(or(ch.MinWaitSeconds, r.MinWaitSeconds)),
		JitterRatio:   or(ch.JitterRatio, r.JitterRatio),
		MaxWait:       seconds(or(ch.MaxWaitSeconds, r.MaxWaitSeconds)),
		MaxDelay:      seconds(or(ch.MaxDelaySeconds, r.MaxDelaySeconds)),
		FollowUpWait:  seconds(or(ch.FollowUpWaitSeconds, r.FollowUpWaitSeconds)),
		MaxMessageAge: seconds(or(ch.MaxMessageAgeSeconds, r.MaxMessageAgeSeconds)),
		DailyCalls:    or(ch.DailyCalls, r.DailyCalls),
		DailyTokens:   or(ch.DailyTokens, r.DailyTokens),
		QuietHours:    quiet,
	}
}

func or[T any](own *T, inherited T) T {
	if own != nil {
		return *own
	}
	return inherited
}

// channelID is the form of Slack's ids of channels, DMs and old private groups.
var channelID = regexp.MustCompile(`^[CDG][A-Z0-9]{6,}$`)

// normalChannel is the one form of a channel's key: an id as it is, a name
// without "#" and in lower case, as Slack keeps names.
func normalChannel(key string) string {
	key = strings.TrimPrefix(strings.TrimSpace(key), "#")
	if channelID.MatchString(key) {
		return key
	}
	return strings.ToLower(key)
}
