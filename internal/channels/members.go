package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/slack"
	"myao/internal/store"
)

// maxMemberPages bounds the members of a channel: a hundred thousand, at 200 a page.
const maxMemberPages = 500

// RefreshMembers has Slack list who is in a channel, for as long as within, and saves the outsiders
// among them. It returns how many there are. An incomplete list changes nothing. Errors of Slack are
// wrapped.
func (d *Directory) RefreshMembers(ctx context.Context, team, id string, within time.Duration) (outsiders int, err error) {
	ask, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := d.Clock()
	var members []string
	for page, cursor := 0, ""; ; page++ {
		if page == maxMemberPages {
			return 0, fmt.Errorf("list members of %s: %w", id, errors.New("slack returns too many pages"))
		}
		ids, next, err := d.Slack.Members(ask, id, cursor)
		if err != nil {
			return 0, fmt.Errorf("list members of %s: %w", id, err)
		}
		members = append(members, ids...)
		if cursor = next; cursor == "" {
			return d.Store.SaveMembers(ctx, team, id, members, asked)
		}
	}
}

// User returns what the store keeps of Slack's description of a user. asked is when Slack was
// asked.
func User(u slack.User, asked time.Time) store.User {
	return store.User{ID: u.ID, Name: u.Name, Bot: u.IsBot, Guest: u.Guest, Stranger: u.Stranger, Zone: cmp.Or(u.Zone, store.NoZone), Refreshed: asked}
}
