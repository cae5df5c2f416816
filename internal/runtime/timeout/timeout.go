// Package timeout bounds how long something may take.
package timeout

import (
	"context"
	"time"
)

type extended struct{}

// After is context.WithTimeout, except under Extend.
func After(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, Of(ctx, d))
}

// Of returns a limit as it is under ctx.
func Of(ctx context.Context, d time.Duration) time.Duration {
	if ctx.Value(extended{}) != nil {
		return max(d, time.Hour)
	}
	return d
}

// Extend makes every limit an hour, unless it is longer. It is for tests: their machine may stand still for longer
// than a limit, which is not what they are about.
func Extend(ctx context.Context) context.Context { return context.WithValue(ctx, extended{}, true) }
