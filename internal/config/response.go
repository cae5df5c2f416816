package config

import "time"

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
	// NamedWaitSeconds is the quiet time after a message that calls the bot by its name, in seconds.
	NamedWaitSeconds int `yaml:"named_wait_seconds"`
	// MaxMessageAgeSeconds is the age from which on a message is not answered any more, in seconds.
	MaxMessageAgeSeconds int `yaml:"max_message_age_seconds"`
	// MinConfidence is how sure a judgment must be for its yes to count, 0–1.
	MinConfidence float64 `yaml:"min_confidence"`
	// SecondLook is which judged replies the judge reads again before they are posted.
	SecondLook SecondLook `yaml:"second_look"`
	// ThreadAs is how an answer in a thread is given the thread's messages.
	ThreadAs ThreadAs `yaml:"thread_as"`
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
	// ChannelMessagesLimit is how many of a channel's newest messages a prompt shows, at most.
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

// ThreadAs is how an answer in a thread is given the thread's messages.
type ThreadAs string

// The choices of ThreadAs.
const (
	// ThreadAsTranscript is as a part of the system text.
	ThreadAsTranscript ThreadAs = "transcript"
	// ThreadAsTurns is as chat turns: the bot's own as the assistant's, others' as the user's.
	ThreadAsTurns ThreadAs = "turns"
)

// ActiveChannel is ActiveChannelDays as a duration.
func (r Response) ActiveChannel() time.Duration { return days(r.ActiveChannelDays) }

// ThreadMemory is ThreadMemoryDays as a duration.
func (r Response) ThreadMemory() time.Duration { return days(r.ThreadMemoryDays) }

// IdleClose is IdleCloseHours as a duration.
func (r Response) IdleClose() time.Duration { return hours(r.IdleCloseHours) }
