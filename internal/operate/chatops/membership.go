package chatops

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"myao/internal/slack"
)

const (
	// membershipFor is how long an answer about a person's channels counts.
	membershipFor = 30 * time.Second
	// membershipTimeout is how long Slack may take to answer, and membershipPages how many pages of 999
	// channels are read. What comes after them counts as channels that the person is not in.
	membershipTimeout = 3 * time.Second
	membershipPages   = 5
)

// ChannelLister lists the channels that a user is in.
type ChannelLister interface {
	ConversationsOf(ctx context.Context, user, cursor string) (slack.ChannelPage, error)
}

// Membership knows which channels people are in. Create it with NewMembership.
type Membership struct {
	slack  ChannelLister
	clock  func() time.Time
	logger *slog.Logger

	mu    sync.Mutex
	known map[string]memberOf // by user
}

// memberOf is the ids of the channels that a person is in, as Slack said at an instant.
type memberOf struct {
	channels []string
	at       time.Time
}

// NewMembership returns a Membership that asks Slack.
func NewMembership(s ChannelLister, clock func() time.Time, logger *slog.Logger) *Membership {
	return &Membership{slack: s, clock: clock, logger: logger, known: map[string]memberOf{}}
}

// Of returns the ids of the channels that a user is in, as far as the bot may know. It is none if Slack
// does not answer.
func (m *Membership) Of(ctx context.Context, user string) []string {
	now := m.clock()
	m.mu.Lock()
	maps.DeleteFunc(m.known, func(_ string, k memberOf) bool { return now.Sub(k.at) >= membershipFor })
	known, ok := m.known[user]
	m.mu.Unlock()
	if ok {
		return known.channels
	}
	ctx, cancel := context.WithTimeout(ctx, membershipTimeout)
	defer cancel()
	var channels []string
	for page, cursor := 0, ""; page < membershipPages; page++ {
		got, err := m.slack.ConversationsOf(ctx, user, cursor)
		if err != nil {
			m.logger.WarnContext(ctx, "channels of a user not known; only public ones are shown", "user", user, "error",
				err)
			return nil
		}
		for _, c := range got.Channels {
			channels = append(channels, c.ID)
		}
		if cursor = got.Next; cursor == "" {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[user] = memberOf{channels, now}
	return channels
}
