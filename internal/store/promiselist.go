package store

import (
	"context"
	"fmt"
)

// PromisesOf returns the promises that the replies of some decisions confirm, in the order in which they
// were made.
func (s *Store) PromisesOf(ctx context.Context, decisions ...string) ([]Promise, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var rows []Promise
	if err := s.db.WithContext(ctx).Where("decision IN ?", decisions).Order("stored_us, id").Find(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read promises of decisions: %w", err)
	}
	return rows, nil
}

// PromisesFor returns the promises with some ids.
func (s *Store) PromisesFor(ctx context.Context, ids []string) ([]Promise, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []Promise
	if err := s.db.WithContext(ctx).Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read promises: %w", err)
	}
	return rows, nil
}

// PromiseFilter says which promises Promises returns.
type PromiseFilter struct {
	Team string
	// Channel and Thread narrow it to a place; "" is any. TopLevel narrows it to the top level of Channel.
	Channel, Thread string
	TopLevel        bool
	// Channels narrows it to some channels; nil is any.
	Channels []string
	// Asker narrows it to what somebody asked for; "" is anybody.
	Asker string
	// All includes those that have ended.
	All bool
	// Limit is how many: those that are due first, and with All the newest.
	Limit int
}

// Promises returns promises that were confirmed in Slack: those due first come first or, with All, the
// newest.
func (s *Store) Promises(ctx context.Context, f PromiseFilter) ([]Promise, error) {
	q := s.db.WithContext(ctx).Where("team_id = ? AND shown_ts <> ''", f.Team)
	if f.All {
		q = q.Order("stored_us DESC, id")
	} else {
		q = q.Where("state = 'open'").Order("due_us, id")
	}
	if f.Channel != "" {
		q = q.Where("channel_id = ?", f.Channel)
	}
	if f.Channels != nil {
		q = q.Where("?", s.inList("channel_id", f.Channels))
	}
	if f.Asker != "" {
		q = q.Where("asker = ?", f.Asker)
	}
	if f.Thread != "" || f.TopLevel {
		q = q.Where("thread_ts = ?", f.Thread)
	}
	var rows []Promise
	if err := q.Limit(f.Limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read promises: %w", err)
	}
	return rows, nil
}
