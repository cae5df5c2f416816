package timeout

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAfter(t *testing.T) {
	t.Parallel()
	ctx, cancel := After(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("ended with %v", ctx.Err())
	}
	// A limit is extended in a context that outlives its parent, too.
	began := time.Now()
	ctx, cancel = After(context.WithoutCancel(Extend(t.Context())), time.Nanosecond)
	if end, bounded := ctx.Deadline(); !bounded || end.Before(began.Add(time.Hour)) {
		t.Errorf("extended, it ends at %s: %v", end, bounded)
	}
	cancel()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("canceled, it ended with %v", ctx.Err())
	}
}
