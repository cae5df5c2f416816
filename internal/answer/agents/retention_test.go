package agents

import (
	"errors"
	"testing"
	"time"

	"myao/internal/store"
)

// Pruning remembered messages costs no call, and keeps the long-term memory. The short-term memory
// of a channel that was quiet that long is cleared.
func TestPrunedMessagesCostNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		const day = 24 * time.Hour
		prune := func() {
			t.Helper()
			if err := b.Store.Prune(t.Context(), store.Cutoffs{Messages: b.now.Add(-32 * day)}, func(string, int) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		b.addChannels(public("C1", "general"))
		old := b.say("C1", 40*day, "the launch is on Friday")
		prune()
		if _, err := b.Store.Message(t.Context(), "T1", "C1", old.TS); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of a channel that was never remembered it is there: %v", err)
		}
		old = b.say("C1", 40*day, "the launch is on Friday")
		b.wantKinds("at first", b.remember(channel("C1"), -39*day), channelShort, channelLong)
		long, _ := b.currentMemories(channel("C1"))
		late := b.say("C1", 39*day-time.Hour, "not taken in yet")
		prune()
		for ts, want := range map[string]error{old.TS: store.ErrNotFound, late.TS: nil} {
			if _, err := b.Store.Message(t.Context(), "T1", "C1", ts); !errors.Is(err, want) {
				t.Errorf("message %s: %v, want %v", ts, err, want)
			}
		}
		b.wantKinds("what is not taken in yet", b.remember(channel("C1"), -38*day), channelShort, channelLong)
		if again, _ := b.currentMemories(channel("C1")); again.Version != 2 {
			t.Errorf("long-term memory %+v", again)
		}
		prune()
		b.wantKinds("once all is pruned", b.remember(channel("C1"), 0))
		again, short := b.currentMemories(channel("C1"))
		if again.Version != 2 || again.ID == long.ID || short.Text != "" {
			t.Errorf("in force are %+v and %+v", again, short)
		}
		b.wantKinds("again", b.remember(channel("C1"), time.Minute))
	})
}
