package pause

import (
	"context"
	"testing"
	"time"
)

func TestFor(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if For(ended, time.Hour) {
		t.Error("the time passed after the context had ended")
	}
	if !For(ended, 0) {
		t.Error("no time did not pass")
	}
	const d = 30 * time.Millisecond
	if began := time.Now(); !For(t.Context(), d) || time.Since(began) < d {
		t.Errorf("returned after %s, want at least %s", time.Since(began), d)
	}
}
