package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Channel is what the file sets for one channel. Nil and empty values inherit.
type Channel struct {
	// Mode is when the bot speaks here; empty is ModeJudge.
	Mode Mode `yaml:"mode"`
	// Bots are the other bots that are judged here; nil is BotsIgnore.
	Bots Bots `yaml:"bots"`
	// Remember is where what is remembered of the channel may be read; empty is
	// RememberEverywhere.
	Remember Remember `yaml:"remember"`
	// Persona is added to the persona's system prompt here.
	Persona string `yaml:"persona"`
	// Model writes the replies here, instead of the model of agents.response. The provider stays.
	Model string `yaml:"model"`
	// TimeZone is the IANA name of the time zone of the channel's days and quiet hours; empty is
	// Config.TimeZone.
	TimeZone string `yaml:"time_zone"`
	// Language is that of the prompts, and of what the bot says without a model, here; empty is Config.Language.
	Language chat.Language `yaml:"language"`
	// Tone is how the bot is to sound here. It cannot change what the bot does.
	Tone *string `yaml:"tone"`
	// Locked keeps people from setting anything here in Slack; nil is Config.Locked.
	Locked *bool `yaml:"locked"`

	// Tools narrows tools.enabled here. Nil inherits; an empty list allows none.
	Tools []string `yaml:"tools"`
	// PostTo replaces tools.post_to for what is asked here. Nil inherits; an empty list allows none.
	PostTo Places `yaml:"post_to"`

	// The following override the same keys of Response, in the same units. A new one also needs a
	// field in Response and in ChannelSettings, a default, a rule, and a line in Response.with.

	MinWaitSeconds       *int     `yaml:"min_wait_seconds"`
	JitterRatio          *float64 `yaml:"jitter_ratio"`
	MaxWaitSeconds       *int     `yaml:"max_wait_seconds"`
	MaxDelaySeconds      *int     `yaml:"max_delay_seconds"`
	FollowUpWaitSeconds  *int     `yaml:"follow_up_wait_seconds"`
	NamedWaitSeconds     *int     `yaml:"named_wait_seconds"`
	MaxMessageAgeSeconds *int     `yaml:"max_message_age_seconds"`
	MinConfidence        *float64 `yaml:"min_confidence"`
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

// Remember is where memories of a channel and its threads may be read.
type Remember string

// The places where memories may be read.
const (
	// RememberEverywhere is wherever the channel itself may be read.
	RememberEverywhere Remember = "everywhere"
	// RememberHere is the channel alone: the memory of the workspace is made without it.
	RememberHere Remember = "here"
	// RememberNowhere makes no memories of the channel, and shows none.
	RememberNowhere Remember = "nowhere"
)

// ChannelSettings are the settings that apply to one channel: its own, and otherwise those of
// Response.
type ChannelSettings struct {
	Mode     Mode
	Bots     Bots
	Remember Remember
	// Names are those by which the bot is called here.
	Names []string
	// Persona is added to the persona's system prompt; it may be empty.
	Persona string
	// Model writes the replies. Its provider is that of agents.response.
	Model string
	// Tools are the names of the tools that a model is offered here, without those of MCP servers.
	Tools []string
	// MCPTools are the tools of MCP servers, as SERVER__TOOL, to which the channel narrows those that its
	// servers allow. Nil is all.
	MCPTools []string
	// PostTo are the channels to which post_message may post what is asked here.
	PostTo Places
	// Hooks are the names of those whose events can be found and waited for here.
	Hooks []string
	// Zone is the time zone of the channel's days and quiet hours.
	Zone *time.Location
	// Language is that of the prompts, and of what the bot says without a model.
	Language chat.Language
	// Tone is how the bot is to sound; it may be empty.
	Tone string
	// ModeInSlack is set where people have set Mode in Slack.
	ModeInSlack bool

	MinWait       time.Duration
	JitterRatio   float64 // 0–1, of MinWait
	MaxWait       time.Duration
	MaxDelay      time.Duration
	FollowUpWait  time.Duration
	NamedWait     time.Duration
	MaxMessageAge time.Duration
	MinConfidence float64 // 0–1: a yes below it is silence

	// DailyCalls and DailyTokens limit the model calls of a day, and their input and output
	// tokens; 0 is no limit.
	DailyCalls, DailyTokens int
	// QuietHours are local times of Zone.
	QuietHours QuietHours
}

// Budget is DailyCalls and DailyTokens.
func (s ChannelSettings) Budget() Budget { return Budget{Calls: s.DailyCalls, Tokens: s.DailyTokens} }

// Policy returns the timing of a channel's conversations.
func (c Config) Policy(s ChannelSettings) conversation.Policy {
	whole := func(d time.Duration) int { return int(d / time.Second) }
	return conversation.Policy{
		MinWait: whole(s.MinWait), Jitter: s.JitterRatio, MaxWait: whole(s.MaxWait), MaxDelay: whole(s.MaxDelay),
		FollowUpWait: whole(s.FollowUpWait),
		NamedWait:    whole(s.NamedWait),
		IdleClose:    whole(c.Response.IdleClose()),
	}
}

// StartOfDay returns when the channel's current day began.
func (s ChannelSettings) StartOfDay(now time.Time) time.Time { return startOfDay(now, s.Zone) }

// InQuietHours reports whether a time is within the channel's quiet hours.
func (s ChannelSettings) InQuietHours(now time.Time) bool {
	return s.QuietHours.Contains(now.In(s.Zone))
}

// QuietUntil returns when the channel's quiet hours that hold a time are over.
func (s ChannelSettings) QuietUntil(now time.Time) time.Time {
	return s.QuietHours.End(now.In(s.Zone)).UTC()
}

// ChannelFacts is what the settings of a channel depend on.
type ChannelFacts struct {
	ID string
	// Name is without the "#"; empty where it is not known.
	Name string
	// Set is what people have set of it in Slack; nil where it was not read.
	Set chat.Set
}

// Channel returns the settings of a channel. Those that people have set in Slack win over those under its ID, these
// over those under its name, and all over those of the workspace that ForWorkspace resolved.
func (c Config) Channel(f ChannelFacts) ChannelSettings {
	own, set := c.inForce(f)
	s := c.Response.with(own)
	_, s.ModeInSlack = set["mode"]
	s.Language = cmp.Or(own.Language, c.Language)
	s.Names = chat.Persona(c.Persona).AllNames()
	s.Model = cmp.Or(own.Model, c.Agents.Response.Model)
	s.Tools = c.Tools.Enabled
	if own.Tools != nil || s.Remember == RememberNowhere {
		s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(name string) bool {
			return own.Tools != nil && !slices.Contains(own.Tools, name) || name == chat.ToolRemember &&
				s.Remember == RememberNowhere
		})
	}
	if own.Tools != nil {
		s.MCPTools = slices.DeleteFunc(slices.Clone(own.Tools),
			func(name string) bool { return !c.MCP.toolOfServer(name) })
		if s.MCPTools == nil {
			s.MCPTools = []string{}
		}
	}
	if s.PostTo = own.PostTo; s.PostTo == nil {
		s.PostTo = c.Tools.PostTo
	}
	s.Hooks = c.hooksIn(f)
	s.Zone = c.zone(cmp.Or(own.TimeZone, c.TimeZone))
	return s
}

// channel returns a channel's own settings and their key in Channels; the key is empty if there are
// none.
func (c Config) channel(f ChannelFacts) (key string, own Channel) {
	for _, key := range []string{f.ID, normalChannel(f.ID), normalChannel(f.Name)} {
		if ch, ok := c.Channels[key]; ok && key != "" {
			return key, ch
		}
	}
	return "", Channel{}
}

// Withheld returns the channels whose Remember withholds memories, in all workspaces.
func (c Config) Withheld() (w chat.Withheld) {
	w.Locks.All = c.Locked
	for _, id := range slices.Sorted(maps.Keys(c.Workspaces)) {
		if locked := c.Workspaces[id].Locked; locked != nil {
			teams := &w.Locks.Of(*locked).Teams
			*teams = append(*teams, id)
		}
		switch c.Workspaces[id].Remember {
		case RememberNowhere:
			w.NowhereTeams = append(w.NowhereTeams, id)
			fallthrough
		case RememberHere:
			w.InsideTeams = append(w.InsideTeams, id)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Channels)) {
		remember, isID := c.Channels[key].Remember, channelID.MatchString(key)
		if isID {
			w.IDs = append(w.IDs, key)
		}
		if locked := c.Channels[key].Locked; locked != nil {
			w.Locks.Of(*locked).Channels.Add(key, isID)
		}
		if remember != "" && len(w.InsideTeams) > 0 {
			w.Exempt.Add(key, isID)
		}
		if remember == RememberHere || remember == RememberNowhere {
			w.Inside.Add(key, isID)
		}
		if remember == RememberNowhere {
			w.Nowhere.Add(key, isID)
		}
	}
	return w
}

// LeavesSettingsBehind reports whether a channel whose id changed has settings under the old id
// and none under the new one.
func (c Config) LeavesSettingsBehind(oldID, newID string) bool {
	_, old := c.Channels[oldID]
	_, moved := c.Channels[newID]
	return old && !moved
}

// HasNamedChannels reports whether any channel is set by its name. If not, Channel needs no
// names.
func (c Config) HasNamedChannels() bool {
	for _, h := range c.Hooks {
		if _, names := h.Places(); len(names) > 0 {
			return true
		}
	}
	for key := range c.Channels {
		if !channelID.MatchString(key) {
			return true
		}
	}
	return false
}

// with returns the settings of a channel, without its model and time zone.
func (r Response) with(ch Channel) ChannelSettings {
	quiet, _ := ParseQuietHours(orInherited(ch.QuietHours, r.QuietHours)) // Load has checked it
	if ch.Bots == nil {
		ch.Bots = BotsIgnore
	}
	return ChannelSettings{
		Mode:          cmp.Or(ch.Mode, ModeJudge),
		Bots:          ch.Bots,
		Remember:      cmp.Or(ch.Remember, RememberEverywhere),
		Persona:       ch.Persona,
		Tone:          orInherited(ch.Tone, ""),
		MinWait:       seconds(orInherited(ch.MinWaitSeconds, r.MinWaitSeconds)),
		JitterRatio:   orInherited(ch.JitterRatio, r.JitterRatio),
		MaxWait:       seconds(orInherited(ch.MaxWaitSeconds, r.MaxWaitSeconds)),
		MaxDelay:      seconds(orInherited(ch.MaxDelaySeconds, r.MaxDelaySeconds)),
		FollowUpWait:  seconds(orInherited(ch.FollowUpWaitSeconds, r.FollowUpWaitSeconds)),
		NamedWait:     seconds(orInherited(ch.NamedWaitSeconds, r.NamedWaitSeconds)),
		MaxMessageAge: seconds(orInherited(ch.MaxMessageAgeSeconds, r.MaxMessageAgeSeconds)),
		MinConfidence: orInherited(ch.MinConfidence, r.MinConfidence),
		DailyCalls:    orInherited(ch.DailyCalls, r.DailyCalls),
		DailyTokens:   orInherited(ch.DailyTokens, r.DailyTokens),
		QuietHours:    quiet,
	}
}

func orInherited[T any](own *T, inherited T) T {
	if own != nil {
		return *own
	}
	return inherited
}

// channelID matches Slack's ids of channels, direct messages and old private groups.
var channelID = regexp.MustCompile(`^[CDG][A-Z0-9]{6,}$`)

// normalChannel returns the normal form of a channel's key: an id unchanged; a name in lower case
// and without "#", as Slack keeps it.
func normalChannel(key string) string {
	key = strings.TrimPrefix(strings.TrimSpace(key), "#")
	if channelID.MatchString(key) {
		return key
	}
	return strings.ToLower(key)
}
