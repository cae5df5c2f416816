package slack

import (
	"slices"
	"time"

	"github.com/slack-go/slack/slackevents"
)

// Uninstalled reports that tokens are no longer valid, since the app was uninstalled
// (docs.slack.dev/reference/events/app_uninstalled) or somebody revoked them
// (docs.slack.dev/reference/events/tokens_revoked). Slack may send both, in any order, and late: the app
// may be installed again by then.
type Uninstalled struct {
	// Cause is the type of the event.
	Cause string
	// At is when it happened, UTC, to the second; zero if Slack does not say.
	At time.Time

	bots []string // whose tokens were revoked
}

// Revokes reports whether the token of a bot user is no longer valid. The tokens of other users, which an app
// may have as well, do not matter.
func (u Uninstalled) Revokes(bot string) bool {
	return u.Cause == string(slackevents.AppUninstalled) || slices.Contains(u.bots, bot)
}

func decodeUninstalled(env Envelope, own Identity) (Event, error) {
	u := Uninstalled{Cause: env.EventType, At: env.at}
	tokens, _ := env.event.object("tokens")
	tokens.decode("bot", &u.bots)
	known := own != Identity{}
	if known && !u.Revokes(own.UserID) || !known && u.Cause == string(slackevents.TokensRevoked) && len(u.bots) == 0 {
		return nil, ignored("tokens of others were revoked")
	}
	return u, nil
}
