package store

import (
	"slices"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// hushable decides like the planner: it relays a message, and that somebody has hushed it.
func hushable(m chat.Message) func(Known) Entry {
	return func(k Known) Entry {
		if k.Handled {
			return Entry{}
		}
		kinds := []conversation.Kind{conversation.Said}
		if k.Hushed != "" {
			kinds = append(kinds, conversation.Hushed)
		}
		return keep(m, kinds...)(k)
	}
}

// hushing decides like the door for a reaction.
func hushing(m chat.Message, by string) func(Known) Entry {
	return func(k Known) Entry {
		entry := Entry{Order: Hush(m, by)}
		if k.Handled {
			entry.Changes = keep(m, conversation.Hushed)(k).Changes
		}
		return entry
	}
}

func (db database) kinds(t *testing.T, m chat.Message) (kinds []conversation.Kind) {
	t.Helper()
	for _, w := range db.pending(t, of(m)) {
		if w.TS == m.TS {
			kinds = append(kinds, w.Kind)
		}
	}
	return kinds
}

func TestHushBeforeItsMessage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		for _, by := range []string{"slack:U1", "slack:U2"} {
			if targets := db.record(t, m, hushing(m, by)); len(targets) != 0 {
				t.Errorf("told %v of a message that nobody knows", targets)
			}
		}
		if k := db.known(t, m); k.Message != nil || k.Hushed != "slack:U1" {
			t.Errorf("known is %+v", k)
		}
		db.wantRows(t, 1, "orders", "kind = 'hush' AND ordered_by = 'slack:U1' AND subject = ?", m.TS)
		db.record(t, m, hushable(m))
		if got, want := db.kinds(t, m), []conversation.Kind{conversation.Said, conversation.Hushed}; !slices.Equal(got, want) {
			t.Errorf("passed on %v, want %v", got, want)
		}
		if k := db.known(t, m); k.Hushed != "" {
			t.Errorf("told of a hush that has been passed on: %+v", k)
		}
	})
}

// Whichever comes first, and however close the other follows, both a message and its hush are
// relayed, the hush last.
func TestHushAndMessageAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		for i := range 20 {
			m := said(at(i), "")
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := db.Record(t.Context(), m, hushable(m)); err != nil {
					t.Error(err)
				}
			})
			both.Go(func() {
				if _, err := other.Record(t.Context(), m, hushing(m, "slack:U1")); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			if got, want := db.kinds(t, m), []conversation.Kind{conversation.Said, conversation.Hushed}; !slices.Equal(got, want) {
				t.Fatalf("try %d: passed on %v, want %v", i, got, want)
			}
		}
	})
}

func TestReplyProgress(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		check := func(ts string, begun, posted bool, when string) {
			t.Helper()
			b, p, err := db.ReplyProgress(t.Context(), team, channel, ts)
			if err != nil || b != begun || p != posted {
				t.Errorf("%s: begun %v, posted %v, %v; want %v, %v", when, b, p, err, begun, posted)
			}
		}
		p := Part{Key: "k", Reply: "r", Team: team, Channel: channel, Trigger: at(1), Text: "x"}
		check(at(1), false, false, "before")
		must(t, db.Compose(t.Context(), []Part{p}, Decision{Key: "d"}))
		check(at(1), false, false, "composed")
		p.State = Composed
		db.begin(t, p, time.Minute, true, "first")
		check(at(1), true, false, "being sent")
		must(t, db.MarkPosted(t.Context(), p, chat.Message{Team: team, Channel: channel, TS: at(2), Own: true}))
		check(at(1), true, true, "sent")
		check(at(2), false, false, "another message")
	})
}
