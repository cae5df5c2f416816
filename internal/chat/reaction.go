package chat

// Reaction is an emoji that somebody has put under a message.
type Reaction struct {
	// Name is Slack's name of the emoji, without colons: "eyes", "+1::skin-tone-2".
	Name   string
	UserID string
	// User is the display name, or the id where no name is known.
	User string
}
