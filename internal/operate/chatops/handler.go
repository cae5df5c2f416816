// Package chatops is what people do with the bot from within Slack: the slash command, and the Home tab with its
// buttons. A command says what the bot is doing in a channel, or orders it; it applies to the channel where it was
// typed, and no other. Answers are Slack's mrkdwn, visible only to the user who asked. Except for notes and promises,
// they contain nothing that people wrote.
package chatops

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/language/words"
	"myao/internal/operate/operator"
	"myao/internal/runtime/required"
	"myao/internal/slack"
	"myao/internal/store"
)

// Operator carries out orders and lists conversations.
type Operator interface {
	// Order returns an *operator.Refused, an *operator.PausedError, operator.ErrNoWorker or operator.ErrNoServer.
	Order(ctx context.Context, c chat.Conversation, update string, order conversation.Order, id string) error
	Conversations(ctx context.Context, f operator.Filter) ([]operator.Listed, error)
	// ForgetPerson begins to take a person out of the database.
	ForgetPerson(ctx context.Context, p chat.Person) error
}

// Directory knows channels.
type Directory interface {
	// Absent reports whether the bot is not in a channel.
	Absent(ctx context.Context, team, channel string) bool
	Settings(ctx context.Context, team, channel string) config.ChannelSettings
	// Facts are what the settings of a channel depend on.
	Facts(ctx context.Context, team, channel string) config.ChannelFacts
}

// Handler answers the slash command. Create one with New.
type Handler struct {
	Config    config.Config
	Store     *store.Store
	Operator  Operator
	Directory Directory
	// Members knows who is in which channels.
	Members *Membership
	// CheckTemporal returns an error when Temporal does not answer. It is called before any
	// other call to Temporal, whose client would retry until its context ends.
	CheckTemporal func(ctx context.Context) error
	Clock         func() time.Time
	Logger        *slog.Logger
}

// New returns a handler that has all it needs. It panics with the name of a field that is missing.
func New(h *Handler) *Handler { return required.Fields(h) }

// The results of a command, for the metrics.
const (
	done    = "done"
	refused = "refused"
	unknown = "unknown"
	failed  = "failed"
)

// request is the command that is being answered.
type request struct {
	slack.Command
	own          slack.Identity
	conversation chat.Conversation // at the channel's top level
	args         []string          // after the subcommand
	outsider     bool              // a guest, or somebody of another company, who is no operator
	button       *slack.HomeButton // shown below the answer
}

// subcommand is what follows the slash command.
type subcommand struct {
	permission config.Permission
	// action completes "You may not …".
	action string
	run    func(*Handler, context.Context, request) (text, result string)
	// noArguments is set where arguments are refused: whoever adds one wants something that
	// the subcommand does not do.
	noArguments bool
	// anywhere is set where it does not matter whether the bot is in the channel.
	anywhere bool
}

var subcommands = map[string]subcommand{
	"status":   {config.MayStatus, "see what is waiting here", (*Handler).status, true, false},
	"why":      {config.MayWhy, "read my reasons here", (*Handler).why, false, false},
	"snooze":   {config.MaySnooze, "snooze me here", (*Handler).snooze, false, false},
	"mute":     {config.MayMute, "mute me here", (*Handler).mute, true, false},
	"unmute":   {config.MayMute, "unmute me here", (*Handler).unmute, true, false},
	"promises": {config.MayStatus, "see what I have promised here", (*Handler).promises, true, false},
	"notes":    {config.MayNotes, "see the notes of this channel", (*Handler).notes, false, false},
	"settings": {config.MayStatus, "see my settings here", (*Handler).settings, false, false},
	"forget":   {config.MayForget, "have me forget this channel", (*Handler).forget, false, false},
	"stop":     {config.MayStop, "stop me everywhere", (*Handler).stop, true, true},
	"go":       {config.MayStop, "let me speak again everywhere", (*Handler).unstop, true, true},
}

// Answer answers a command, as answer does, in the language of its channel.
func (h *Handler) Answer(
	ctx context.Context, c slack.Command, own slack.Identity, outsider bool,
) (a slack.Answer, what, result string) {
	a.Text, what, result = h.in(ctx, own.TeamID, c.Channel).answer(ctx, c, own, outsider, &a.Button)
	return a, what, result
}

// in is the handler with the language of a channel.
func (h *Handler) in(ctx context.Context, team, channel string) *Handler {
	here := *h
	here.Config.Language = cmp.Or(h.Directory.Settings(ctx, team, channel).Language, h.Config.Language)
	return &here
}

// answer answers a command. outsider is set if a guest or somebody of another company typed it. what
// is the subcommand and result how it ended, for the metrics.
func (h *Handler) answer(
	ctx context.Context, c slack.Command, own slack.Identity, outsider bool, button *slack.HomeButton,
) (text, what, result string) {
	typed := strings.Fields(c.Text)
	if len(typed) == 0 || strings.EqualFold(typed[0], "help") {
		return h.usage(c.Name), "help", done
	}
	what = strings.ToLower(typed[0])
	o, ok := subcommands[what]
	if !ok {
		return h.say("I do not know the command `%s`.", quoted(typed[0])) + "\n" + h.usage(c.Name), "help", unknown
	}
	if what == "forget" && len(typed) > 1 && strings.EqualFold(typed[1], "me") {
		// which is everybody's right, wherever they are
		text, result = h.forgetMe(ctx,
			request{Command: c, own: own, conversation: chat.Conversation{Team: own.TeamID, Channel: c.Channel},
				args: typed[2:]})
		return text, "forget_me", result
	}
	if !h.Config.Slack.May(c.User, outsider, o.permission) {
		return MayNot(h.Config, outsider, o.permission, o.action), what, refused
	}
	if !o.anywhere && h.Directory.Absent(ctx, own.TeamID, c.Channel) {
		return h.say("I am not in this conversation, so I know nothing about it. Invite me first."), what, refused
	}
	if o.noArguments && len(typed) > 1 {
		text = h.say("I did nothing: `%s` takes no arguments.", what)
		if what == "mute" {
			text += " " + h.say("To silence me for a while, use `%s snooze 2h`.", quoted(c.Name))
		}
		return text + "\n" + h.usage(c.Name), what, refused
	}
	text, result = o.run(h, ctx, request{
		Command: c, own: own, conversation: chat.Conversation{Team: own.TeamID, Channel: c.Channel}, args: typed[1:],
		outsider: outsider && !h.Config.Slack.IsOperator(c.User), button: button,
	})
	return text, what, result
}

// say returns a sentence in the configured language.
func (h *Handler) say(sentence string, args ...any) string {
	return words.In(h.Config.Language).Say(sentence, args...)
}

// by is the user as orders and the ledger name them.
func (r request) by() string { return "slack:" + r.User }

// id is the id of the order. It is the same when Slack delivers the command again.
func (r request) id() string { return "slack/" + r.ID }

// internalError logs an error, and answers without its text, which is not for users.
func (h *Handler) internalError(ctx context.Context, r request, what string, err error) (text, result string) {
	h.Logger.ErrorContext(ctx, "command not carried out", "order", what, "conversation", r.conversation.ID(), "user",
		r.User, "error", err)
	return h.say("That did not work because of an internal error. My log has the details."), failed
}
