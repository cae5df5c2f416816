package slack

// Identity is who this bot is, as auth.test tells (docs.slack.dev/reference/methods/auth.test).
type Identity struct {
	TeamID   string
	UserID   string
	BotID    string
	Name     string
	TeamName string
	// URL is the workspace's address, such as https://example.slack.com/.
	URL string
}
