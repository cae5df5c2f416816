package config

import "time"

// Retention is how long the database keeps rows that are no longer in use; 0 is for ever.
type Retention struct {
	// LedgerDays is how long the ledger is kept: deliveries, decisions, posts, orders and model
	// calls.
	LedgerDays int `yaml:"ledger_days"`
	// MessagesDays is how long messages are kept, a thread from its newest reply on.
	MessagesDays int `yaml:"messages_days"`
	// MemoryVersionsDays is how long replaced versions of memories are kept.
	MemoryVersionsDays int `yaml:"memory_versions_days"`
	// UninstalledDays is how long everything of a workspace is kept that has uninstalled the app.
	UninstalledDays int `yaml:"uninstalled_days"`
}

// LedgerSince returns the time from which on the ledger is complete; the zero time if it is never
// pruned.
func (r Retention) LedgerSince(now time.Time) time.Time { return cutoff(now, r.LedgerDays) }

// MessagesSince is LedgerSince for messages.
func (r Retention) MessagesSince(now time.Time) time.Time { return cutoff(now, r.MessagesDays) }

// MemoryVersionsSince is LedgerSince for replaced versions of memories.
func (r Retention) MemoryVersionsSince(now time.Time) time.Time {
	return cutoff(now, r.MemoryVersionsDays)
}

// UninstalledBefore returns the time before which a workspace must have uninstalled the app for everything of it to be
// deleted; the zero time if nothing is.
func (r Retention) UninstalledBefore(now time.Time) time.Time { return cutoff(now, r.UninstalledDays) }

func cutoff(now time.Time, keptDays int) time.Time {
	if keptDays == 0 {
		return time.Time{}
	}
	return now.Add(-days(keptDays))
}
