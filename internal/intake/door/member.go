package door

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// userMaxAge is how long what Slack said about a user counts at the door.
const userMaxAge = 24 * time.Hour

// errWhoIs: Slack does not say who somebody is. Their event opens no gap, since reading channels again would not tell
// either: they count as an outsider until Slack lists them, and it sends the event again.
var errWhoIs = errors.New("slack does not say who it is")

// memberJoined records that an outsider joined a channel. While Slack does not say who joined, they
// count as one, and the event fails, so that Slack sends it again. When the bot joins, nobody knows
// who is there, and it introduces itself.
func (d room) memberJoined(ctx context.Context, m slack.Membership, own slack.Identity) error {
	if m.User == own.UserID {
		if err := d.Store.MembersUnknown(ctx, own.TeamID, m.Channel); err != nil {
			return err
		}
		return d.introduce(ctx, m, own)
	}
	user, unknown := d.whoIs(ctx, own.TeamID, m.User)
	if unknown == nil && !user.Outsider() {
		return fmt.Errorf("%w: a colleague joined", slack.ErrIgnored)
	}
	at := d.Clock()
	if m.At.After(at) {
		at = m.At
	}
	if err := d.Store.SeeOutsiders(ctx, own.TeamID, m.Channel, map[string]time.Time{m.User: at}); err != nil {
		return err
	}
	if refused, ok := errors.AsType[*slack.Error](unknown); unknown != nil && !(ok && refused.Kind == slack.Final) {
		return fmt.Errorf("learn who joined channel %s: %w: %w", m.Channel, errWhoIs, unknown)
	}
	d.Metrics.event("member")
	return nil
}

// Dropper drops what waits in a channel and its threads. id makes that idempotent.
type Dropper interface {
	DropInChannel(ctx context.Context, team, channel, by, id string) error
}

// byLeaving stands for the operator's name in the ledger where the bot left a channel.
const byLeaving = "leaving the channel"

// memberLeft records that an outsider left a channel. When the bot leaves, what waits there is dropped:
// it could not be posted. While that fails the event does, so that Slack sends it again.
func (d room) memberLeft(ctx context.Context, m slack.Membership, own slack.Identity) error {
	if m.At.IsZero() {
		m.At = d.Clock()
	}
	if m.User == own.UserID {
		d.Logger.WarnContext(ctx, "the bot is no longer in a channel; what waits there is dropped", "channel",
			m.Channel)
		if err := d.Dropper.DropInChannel(ctx, own.TeamID, m.Channel, byLeaving, "left/"+chat.TS(m.At)); err != nil {
			return fmt.Errorf("drop what waits in channel %s: %w", m.Channel, err)
		}
		d.Metrics.event("member")
		return nil
	}
	if err := d.Store.LeaveChannel(ctx, own.TeamID, m.Channel, m.User, m.At); err != nil {
		return err
	}
	d.Metrics.event("member")
	return nil
}

// guestChanged asks Slack about a user who became a guest, or is one no longer.
func (d room) guestChanged(ctx context.Context, e slack.GuestChanged, own slack.Identity) error {
	if _, err := d.refreshUser(ctx, own.TeamID, e.User); err != nil {
		return fmt.Errorf("learn whether user %s is a guest: %w: %w", e.User, errWhoIs, err)
	}
	d.Metrics.event("member")
	return nil
}

// whoIs returns what is known about a user. It asks Slack about those who are unknown, or known for
// longer than userMaxAge.
func (d room) whoIs(ctx context.Context, team, id string) (store.User, error) {
	known, err := d.Store.Users(ctx, team, []string{id})
	if err != nil {
		return store.User{}, err
	}
	if user := known[id]; d.Clock().Sub(user.Refreshed) <= userMaxAge {
		return user, nil
	}
	return d.refreshUser(ctx, team, id)
}

// refreshUser has Slack describe a user, and saves the answer. An answer that cannot be saved is
// only logged.
func (d room) refreshUser(ctx context.Context, team, id string) (store.User, error) {
	ask, cancel := context.WithTimeout(ctx, userTimeout)
	defer cancel()
	at := d.Clock()
	described, err := d.Slack.User(ask, id)
	if err != nil {
		return store.User{}, err
	}
	user := channels.User(described, at)
	if err := d.Store.SaveUsers(ctx, team, user); err != nil {
		d.Logger.WarnContext(ctx, "user not saved", "user", id, "error", err)
	}
	return user, nil
}
