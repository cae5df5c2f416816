package temporal

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	name, down, asked := "general", error(nil), 0
	n := NewNames(func(context.Context, string, string) (string, error) {
		asked++
		return name, down
	}, func() time.Time { return now })
	for _, step := range []struct {
		what    string
		do      func()
		channel string
		want    string
		asks    int
	}{
		{"asked for the first time", func() {}, "C1", "general", 1},
		{"renamed a moment ago", func() { name = "lobby" }, "C1", "general", 0},
		{"of another channel", func() {}, "C2", "lobby", 1},
		{"a direct message", func() {}, "D1", "", 0},
		{"after a while", func() { now = now.Add(nameFor) }, "C1", "lobby", 1},
		{"when the database is away", func() { now, down = now.Add(nameFor), errors.New("away") }, "C1", "lobby", 1},
		{"and one that is not known", func() { name = "" }, "C3", "", 1},
		{"nor now", func() { down = nil }, "C3", "", 1},
		{"but now", func() { name = "attic" }, "C3", "attic", 1},
	} {
		step.do()
		before := asked
		if got := n.Name(t.Context(), "T1", step.channel); got != step.want || asked-before != step.asks {
			t.Errorf("%s: %q after %d questions, want %q after %d", step.what, got, asked-before, step.want, step.asks)
		}
	}
	for i := range 3 * namesKept {
		n.Name(t.Context(), "T1", fmt.Sprint("C", i))
	}
	if len(n.known) > namesKept {
		t.Errorf("%d names are kept", len(n.known))
	}
}
