package slack

import (
	"slices"
	"time"
)

// Uninstalled reports that the bot's token is no longer valid, since the app was uninstalled
// (docs.slack.dev/reference/events/app_uninstalled) or somebody revoked the token
// (docs.slack.dev/reference/events/tokens_revoked).
type Uninstalled struct {
	// Cause is the type of the event.
	Cause string
	// At is when it happened, UTC, to the second; zero if Slack does not say.
	At time.Time
}

func decodeUninstalled(env Envelope, own Identity) (Event, error) {
	if env.EventType == "tokens_revoked" {
		tokens, _ := env.event.object("tokens")
		var bots []string // user ids
		if tokens.decode("bot", &bots); !slices.Contains(bots, own.UserID) {
			return nil, ignored("tokens of others were revoked")
		}
	}
	return Uninstalled{Cause: env.EventType, At: env.at}, nil
}
