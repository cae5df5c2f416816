package catchup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
)

const (
	// maxRecentPages bounds how much of the top level one call reads: 40,000 messages. Slack allows
	// about fifty calls a minute, so that takes some minutes.
	maxRecentPages = 200
	// maxOlderPages bounds how much older history a pass reads to find old threads.
	maxOlderPages = 50
	// clockSkew is how far in the future the end of the history lies that is asked for, since Slack's
	// clock and ours may differ. Without an end, Slack does not say which page comes first.
	clockSkew = 24 * time.Hour
)

// errMore means that there is more than one call reads.
var errMore = errors.New("more pages than are read at once")

// span is a part of the top level that is not yet read, including its bounds. Its end moves back page
// by page.
type span struct {
	from, to time.Time
	done     bool
}

// readHistory reads a span, the newest page first, and saves each page. After an error, including
// errMore, the span holds the rest.
func (p *pass) readHistory(ctx context.Context, s *span, pages int) error {
	if s.done || !s.from.Before(s.to) {
		return nil
	}
	end := s.to
	r := slack.Range{Oldest: chat.TS(s.from), Latest: chat.TS(end)}
	var c cursor
	for range pages {
		r.Cursor = c.at
		page, err := p.Slack.History(ctx, p.channel.ID, r, p.Own)
		if err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		if err := p.savePage(ctx, page); err != nil {
			return err
		}
		for _, m := range page.Messages {
			s.to = earlier(s.to, m.Time())
			if s == &p.recent {
				p.newest = later(p.newest, m.Time())
			}
		}
		more, err := c.next(page.Next)
		if err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		if !more {
			s.done = true
			return nil
		}
	}
	if s.to.Equal(end) {
		return fmt.Errorf("read history: %w", errEndless) // empty pages: another call would return the same
	}
	return errMore
}
