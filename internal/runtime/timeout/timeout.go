// Package timeout bounds how long something may take.
package timeout

import (
	"context"
	"time"
)

type extended struct{}

// After is context.WithTimeout, except under Extend.
func After(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Value(extended{}) != nil {
		d = max(d, time.Hour)
	}
	return context.WithTimeout(ctx, d)
}

// Extend makes every limit of After an hour. It is for tests: their machine may stand still for longer than a limit,
// which is not what they are about.
func Extend(ctx context.Context) context.Context { return context.WithValue(ctx, extended{}, true) }
