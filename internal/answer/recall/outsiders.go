package recall

import (
	"context"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// standingMaxAge is how long the last answer of Slack about a user counts while Slack gives no newer
// one. After that nobody knows whether the user is a guest.
const standingMaxAge = 7 * 24 * time.Hour

// outsiders reports whether somebody reads the channel who may know nothing of other channels: a
// guest, a member of another workspace, or an author whom Slack has not described yet. It saves
// who was found, so that other readers of the database see the same. known holds the authors, as
// Slack described them for this context. It returns an error if that cannot be saved: what a tool finds
// later would hold for a channel without outsiders.
//
// In a direct message the author is the only reader. In a workspace with guests Slack is asked for
// the channel's members, once.
func (b *Builder) outsiders(
	ctx context.Context, c chat.Conversation, messages []chat.Message, known store.Names,
) (bool, error) {
	alone, listed := known.OutsidersRead, time.Time{}
	if known.MembersDue && !c.Direct() {
		switch n, at, err := b.Directory.RefreshMembers(ctx, c.Team, c.Channel, nameTimeout); {
		case err != nil:
			b.Logger.WarnContext(ctx, "cannot tell whether guests read the channel; nothing of other channels is shown",
				"conversation", c.ID(), "error", err)
			alone = true
		default:
			alone, listed = alone || n > 0, at
		}
	}
	authors := map[string]time.Time{} // when each of them last wrote
	for _, m := range messages {
		if at := m.Time(); !m.Own && m.UserID != "" && m.BotID == "" && at.After(authors[m.UserID]) {
			authors[m.UserID] = at
		}
	}
	seen := map[string]time.Time{}
	for id, wrote := range authors {
		user, was := known.Users[id], known.Presences[id]
		unknown := user.Name == "" || b.Clock().Sub(user.Refreshed) > standingMaxAge
		left := wrote.Before(was.Left) || !unknown && wrote.Before(listed) // the list says who is there
		if user.Bot || left || !unknown && !user.Outsider() {
			continue
		}
		alone = true
		if wrote.After(was.Seen) {
			seen[id] = wrote
		}
	}
	if err := b.Store.SeeOutsiders(ctx, c.Team, c.Channel, seen); err != nil {
		return true, err
	}
	return alone || c.Direct() && len(authors) == 0, nil
}
