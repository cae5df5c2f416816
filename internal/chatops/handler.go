package chatops

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/operator"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/words"
)

// Operator carries orders out, and knows what waits.
type Operator interface {
	// Order returns an *operator.Refused, an *operator.PausedError, operator.ErrNoWorker or operator.ErrNoServer.
	Order(ctx context.Context, c chat.Conversation, update string, order conversation.Order, id string) error
	Conversations(ctx context.Context, f operator.Filter) ([]operator.Listed, error)
}

// Directory knows channels.
type Directory interface {
	// Absent reports whether the bot is not in a channel.
	Absent(ctx context.Context, team, channel string) bool
	Settings(ctx context.Context, team, channel string) config.ChannelSettings
}

// Handler answers the slash command. All fields are required.
type Handler struct {
	Config    config.Config
	Store     *store.Store
	Operator  Operator
	Directory Directory
	// CheckTemporal returns an error when Temporal is not there. It is asked before anything is
	// asked of Temporal itself, whose client would try for as long as it may.
	CheckTemporal func(ctx context.Context) error
	Clock         func() time.Time
	Logger        *slog.Logger
}

// The ways in which a command ends, for the metrics.
const (
	done    = "done"
	refused = "refused"
	unknown = "unknown"
	failed  = "failed"
)

// request is a command being answered.
type request struct {
	slack.Command
	own          slack.Identity
	conversation chat.Conversation // the channel's top level
	args         []string          // behind the order
}

// subcommand is something that can be typed behind the command.
type subcommand struct {
	permission config.Permission
	// action completes "You may not …".
	action string
	run    func(*Handler, context.Context, request) (text, result string)
	// bare: nothing goes behind it. What somebody adds is something that they want, and
	// would not get.
	noArguments bool
}

var subcommands = map[string]subcommand{
	"status": {config.MayStatus, "see what waits here", (*Handler).status, true},
	"why":    {config.MayWhy, "read my reasons here", (*Handler).why, false},
	"snooze": {config.MaySnooze, "snooze me here", (*Handler).snooze, false},
	"mute":   {config.MayMute, "mute me here", (*Handler).mute, true},
	"unmute": {config.MayMute, "unmute me here", (*Handler).unmute, true},
	"forget": {config.MayForget, "have me forget this channel", (*Handler).forget, false},
}

// Answer answers a command: what to say, what it was, and how it ended.
func (d *Handler) Answer(ctx context.Context, c slack.Command, own slack.Identity) (text, what, result string) {
	typed := strings.Fields(c.Text)
	if len(typed) == 0 || strings.EqualFold(typed[0], "help") {
		return d.usage(c.Name), "help", done
	}
	what = strings.ToLower(typed[0])
	o, ok := subcommands[what]
	if !ok {
		return d.say("I do not know `%s`.", quoted(typed[0])) + "\n" + d.usage(c.Name), "help", unknown
	}
	if !d.Config.Slack.May(c.User, o.permission) {
		return MayNot(d.Config, o.action), what, refused
	}
	if d.Directory.Absent(ctx, own.TeamID, c.Channel) {
		return d.say("I am not in this conversation, and know nothing of it. Invite me first."), what, refused
	}
	if o.noArguments && len(typed) > 1 {
		text = d.say("I have done nothing: nothing goes behind `%s`.", what)
		if what == "mute" {
			text += " " + d.say("For a time there is `%s snooze 2h`.", quoted(c.Name))
		}
		return text + "\n" + d.usage(c.Name), what, refused
	}
	text, result = o.run(d, ctx, request{
		Command: c, own: own, conversation: chat.Conversation{Team: own.TeamID, Channel: c.Channel}, args: typed[1:],
	})
	return text, what, result
}

// say is a sentence in the configuration's language.
func (d *Handler) say(sentence string, args ...any) string {
	return words.In(d.Config.Language).Say(sentence, args...)
}

// by is who asks, as orders and the ledger name them.
func (r request) by() string { return "slack:" + r.User }

// id names the order that the command is: the same when the command comes again.
func (r request) id() string { return "slack/" + r.ID }

// internalError is what is said of a failure that is not ours to explain to people.
func (d *Handler) internalError(ctx context.Context, r request, what string, err error) (text, result string) {
	d.Logger.ErrorContext(ctx, "command not carried out", "order", what, "conversation", r.conversation.ID(), "user", r.User, "error", err)
	return d.say("That did not work: something of mine is out of order. My log tells what."), failed
}
