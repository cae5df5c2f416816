package config

import "slices"

// Slack is the access to the workspaces, and what their users may do with the bot.
type Slack struct {
	// BotToken is the app's bot token (xoxb-…) of one workspace. It is required unless ClientID is set.
	BotToken Secret `yaml:"bot_token"`
	// ClientID and ClientSecret let workspaces install the app: the OAuth client is the app's.
	ClientID     string `yaml:"client_id"`
	ClientSecret Secret `yaml:"client_secret"`
	// AllowedWorkspaces are the ids of the workspaces and organisations that may install it, or AnyWorkspace alone.
	AllowedWorkspaces []string `yaml:"allowed_workspaces"`
	// SigningSecret verifies Slack's requests. It is required unless AppToken is set.
	SigningSecret Secret `yaml:"signing_secret"`
	// AppToken (xapp-…) chooses Socket Mode instead of HTTP requests from Slack. In channels that workspaces share it
	// tells for which of them an event is.
	AppToken Secret `yaml:"app_token"`
	// HTTP chooses HTTP requests although there is an AppToken.
	HTTP bool `yaml:"http"`
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
	// AnswerReaction is the name, without colons, of the emoji that has the bot answer a message; empty for none.
	AnswerReaction string `yaml:"answer_reaction"`
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
	MayAnswerNow Permission = "answer_now" // have a message answered at once, by a shortcut or a reaction
	MayNotes     Permission = "notes"      // see the notes of a channel, and take them back
	MayApprove   Permission = "approve"    // decide about what the bot proposes to somebody else
	MayForget    Permission = "forget"     // delete the memory of a channel
	MaySettings  Permission = "settings"   // set how the bot behaves in a channel that one is in
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

// AnyWorkspace stands for every workspace in Slack.AllowedWorkspaces.
const AnyWorkspace = "*"

// Installable reports whether workspaces install the app.
func (s Slack) Installable() bool { return s.ClientID != "" }

// MayInstall reports whether AllowedWorkspaces has a workspace or its organisation. Either id may be empty.
func (s Slack) MayInstall(team, organisation string) bool {
	return slices.ContainsFunc(s.AllowedWorkspaces, func(id string) bool {
		return id == AnyWorkspace || id != "" && (id == team || id == organisation)
	})
}

// SocketMode reports whether events come through Slack's Socket Mode.
func (s Slack) SocketMode() bool { return s.AppToken != "" && !s.HTTP }
