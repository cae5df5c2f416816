package config

import "time"

// Budget limits the model calls of a day, and their input and output tokens; 0 is no limit.
type Budget struct{ Calls, Tokens int }

// Limited reports whether there is any limit.
func (b Budget) Limited() bool { return b.Calls > 0 || b.Tokens > 0 }

// Used returns the share that is used of the limit that is nearest: 1 where it is reached, and more
// beyond. Without a limit it is 0.
func (b Budget) Used(calls, tokens int) (share float64) {
	if b.Calls > 0 {
		share = float64(calls) / float64(b.Calls)
	}
	if b.Tokens > 0 {
		share = max(share, float64(tokens)/float64(b.Tokens))
	}
	return share
}

// Exhausted reports whether a day's calls and tokens have reached a limit.
func (b Budget) Exhausted(calls, tokens int) bool { return b.Used(calls, tokens) >= 1 }

// WorkspaceBudget is the budget of the whole workspace.
func (c Config) WorkspaceBudget() Budget {
	return Budget{Calls: c.Response.WorkspaceDailyCalls, Tokens: c.Response.WorkspaceDailyTokens}
}

// StartOfDay returns when the current day of TimeZone began.
func (c Config) StartOfDay(now time.Time) time.Time { return startOfDay(now, c.Location()) }

func startOfDay(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	return Midnight(year, month, day, zone)
}
