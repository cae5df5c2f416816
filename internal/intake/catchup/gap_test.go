package catchup

import (
	"testing"
	"time"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
)

func TestWhenAllChannelsAreRead(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := setup(t, options{url: url})
		beat := func(at time.Time) {
			t.Helper()
			if err := b.Store.SaveStarter(t.Context(), store.Starter{ID: "s", Beat: at, Settled: true}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(when string, want int64) {
			t.Helper()
			if got, err := b.Due(t.Context()); err != nil || got != want {
				t.Errorf("%s: gap %d, %v; want %d", when, got, err, want)
			}
		}
		read := func(gap int64) {
			t.Helper()
			ids, total, err := b.Unread(t.Context(), gap, nil, 10)
			if err != nil || total != 1 || len(ids) != 1 || ids[0] != b.General {
				t.Fatalf("unread %q of %d, %v", ids, total, err)
			}
			b.catchUp()
			if ids, _, err := b.Unread(t.Context(), gap, nil, 10); err != nil || len(ids) > 0 {
				t.Fatalf("still unread: %q, %v", ids, err)
			}
		}
		want("no starter was ever there", 1)
		beat(noon)
		want("the gap is still open", 1)
		read(1)
		closed := time.Now().Truncate(time.Microsecond) // by the clock of the database
		b.Time.Set(closed)
		beat(closed.Add(-time.Minute))
		want("nothing was missed", 0)
		beat(closed.Add(-time.Minute - time.Second))
		want("the last starter is gone", 2)
		beat(closed.Add(2 * minutes))
		want("its clock is wrong", 3)
		read(3)
		b.Time.Set(closed.Add(23 * hours))
		beat(closed.Add(23 * hours))
		want("within a day", 0)
		b.Time.Set(closed.Add(25 * hours))
		beat(closed.Add(25 * hours))
		want("a day later", 4)
	})
}

// A pass that began before a gap, and was interrupted, does not mark the channel as read since. The next call
// reads again what was missed meanwhile, in old threads, too.
func TestGapWhileAPassIsInterrupted(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	known := b.say(3*days, "known")
	b.hear(b.standing(known))
	b.hear(b.standing(b.say(2*days, "reply", workspace.InThread(known))))
	fresh := b.say(2*hours, "fresh")
	b.say(hours, "in fresh", workspace.InThread(fresh))
	open := func() {
		t.Helper()
		if err := b.Store.OpenGap(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	unread := func(want int) {
		t.Helper()
		if ids, _, err := b.Unread(t.Context(), 2, nil, 10); err != nil || len(ids) != want {
			t.Errorf("unread: %q, %v; want %d", ids, err, want)
		}
	}
	open()
	off := b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Status: 429, RetryAfter: "9"})
	if _, err := b.Channel(t.Context(), b.General); err == nil {
		t.Fatal("the thread was read")
	}
	off()
	b.recorder.taken()
	b.say(-minutes, b.Mention("in known"), workspace.InThread(known))
	open()
	unread(1)
	b.Time.Set(noon.Add(2 * minutes))
	b.catchUp()
	b.wantTaken("in fresh, @in known")
	unread(0)
}
