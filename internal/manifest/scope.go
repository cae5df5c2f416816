package manifest

import "myao/internal/config"

// Scope is something that the bot's token has to be allowed.
type Scope struct {
	Name string
	// Reason is what it is for.
	Reason string
	// Extra is set where the bot hears and speaks without it, and only what the reason
	// names is missing.
	Extra bool
}

// Scopes are those that this configuration needs, in the order of the manifest. Metadata on
// the bot's own messages needs none beyond them: metadata.message:read is for apps that
// subscribe to events about the metadata of others.
func Scopes(c config.Config) []Scope {
	scopes := []Scope{
		{Name: "app_mentions:read", Reason: "hear mentions"},
		{Name: "channels:history", Reason: "public channels it is in: hear them, and read what it did not hear"},
		{Name: "channels:read", Reason: "which it is in, what they are called, who can read them"},
		{Name: "groups:history", Reason: "the same for private channels"},
		{Name: "groups:read", Reason: "the same for private channels"},
		{Name: "im:history", Reason: "the same for direct messages"},
		{Name: "im:read", Reason: "the same for direct messages"},
		{Name: "mpim:history", Reason: "the same for group direct messages", Extra: true},
		{Name: "mpim:read", Reason: "the same for group direct messages", Extra: true},
		{Name: "chat:write", Reason: "speak"},
		{Name: "users:read", Reason: "names of people and of other apps, and which app the bot itself is of"},
		{Name: "commands", Reason: c.Slack.Command + ", and the shortcut of a message", Extra: true},
	}
	if c.Slack.HushReaction != "" {
		scopes = append(scopes, Scope{
			Name: "reactions:read", Reason: "the reaction :" + c.Slack.HushReaction + ":, which says that a message wants no answer", Extra: true,
		})
	}
	return scopes
}

// Names are the names of scopes, in their order.
func Names(scopes []Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = s.Name
	}
	return names
}

// events are what Slack shall tell the bot of. channel_id_changed asks for no scope beyond
// those for private channels.
func events(c config.Config) []string {
	events := []string{"app_mention", "message.channels", "message.groups", "message.im", "message.mpim", "channel_id_changed"}
	if c.Slack.HushReaction != "" {
		events = append(events, "reaction_added")
	}
	return events
}
