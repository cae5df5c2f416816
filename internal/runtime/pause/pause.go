// Package pause waits, unless the context ends first.
package pause

import (
	"context"
	"time"
)

// For waits for a time and reports whether it passed before the context ended. Where there is
// nothing to wait for, it returns true at once.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
