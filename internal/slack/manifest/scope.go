package manifest

import (
	"slices"

	"myao/internal/config"
)

// Scope is an OAuth scope of the bot token.
type Scope struct {
	Name string
	// Reason says what the bot needs it for.
	Reason string
	// Extra is set where the bot works without the scope, and lacks only what Reason names.
	Extra bool
}

// Scopes returns the scopes that a configuration needs, in the order of the manifest. Metadata on
// the bot's own messages needs no further scope: metadata.message:read is for apps that subscribe
// to events about the metadata of others.
func Scopes(c config.Config) []Scope {
	scopes := []Scope{
		{Name: "app_mentions:read", Reason: "hear mentions"},
		{Name: "channels:history", Reason: "public channels it is in: hear them, and read what it did not hear"},
		{Name: "channels:read", Reason: "which it is in, what they are called, who can read them, and whether guests do"},
		{Name: "groups:history", Reason: "the same for private channels"},
		{Name: "groups:read", Reason: "the same for private channels"},
		{Name: "im:history", Reason: "the same for direct messages"},
		{Name: "im:read", Reason: "the same for direct messages"},
		{Name: "mpim:history", Reason: "the same for group direct messages", Extra: true},
		{Name: "mpim:read", Reason: "the same for group direct messages", Extra: true},
		{Name: "chat:write", Reason: "speak"},
		{Name: "users:read", Reason: "names of people and of other apps, who is a guest, and which app the bot " +
			"itself is of"},
		{Name: "files:read", Reason: "read the files that people attach; without it read_file is not offered",
			Extra: true},
		{Name: "im:write", Reason: "tell whoever asked for a reminder in a direct message where its channel is gone",
			Extra: true},
		{Name: "commands", Reason: c.Slack.Command + ", and the shortcut of a message", Extra: true},
	}
	reactions := "who has taken something on: judgments see reactions"
	if c.Slack.HushReaction != "" {
		reactions += "; :" + c.Slack.HushReaction + ": says that a message wants no answer"
	}
	if c.Slack.AnswerReaction != "" {
		reactions += "; :" + c.Slack.AnswerReaction + ": has a message answered"
	}
	scopes = append(scopes, Scope{Name: "reactions:read", Reason: reactions, Extra: true})
	if c.Slack.React {
		scopes = append(scopes, Scope{Name: "reactions:write",
			Reason: "answer thanks by an emoji (slack.react); without it the bot writes", Extra: true})
	}
	return scopes
}

// AgentScope is what an app with an agent view needs to suggest prompts.
const AgentScope = "assistant:write"

// Names returns the names of scopes, in their order.
func Names(scopes []Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = s.Name
	}
	return names
}

// Missing returns the scopes that a configuration needs and a token does not have, in their order.
func Missing(c config.Config, has []string) []Scope {
	return slices.DeleteFunc(Scopes(c), func(s Scope) bool { return slices.Contains(has, s.Name) })
}

// events returns the events that the app subscribes to. channel_id_changed needs only the scopes
// for private channels, those about members the scopes that list channels, and
// user_guest_status_changed that for users. app_home_opened, app_uninstalled, tokens_revoked and those about an
// organisation's grants need none.
func events(c config.Config) []string {
	events := []string{
		"app_mention", "message.channels", "message.groups", "message.im", "message.mpim", "channel_id_changed",
		"reaction_added", "reaction_removed",
		"member_joined_channel", "member_left_channel", "user_guest_status_changed", "app_home_opened",
		"app_uninstalled", "tokens_revoked",
	}
	if c.Slack.Installable() {
		events = append(events, "team_access_granted", "team_access_revoked")
	}
	return events
}
