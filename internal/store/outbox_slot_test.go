package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// checkSlot tries to begin a part and checks its wait; without one, an attempt begins.
func (db database) checkSlot(t *testing.T, p Part, want time.Duration, why string) {
	t.Helper()
	if wait, err := db.BeginSend(t.Context(), p, time.Second, time.Minute); err != nil || wait != want {
		t.Errorf("%s: wait %v, %v; want %v", why, wait, err, want)
	}
}

// post begins to post something in a channel, if its slot has come.
func (db database) post(ctx context.Context, channel string, pace time.Duration) (wait time.Duration, err error) {
	p := parts(rand.Text(), "text")
	p[0].Channel = channel
	if err := db.Compose(ctx, p, Decision{Key: p[0].Reply}); err != nil {
		return 0, err
	}
	return db.BeginSend(ctx, p[0], pace, time.Minute)
}

func TestSlotsAreAPaceApart(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		other.now = db.clock.now
		const n = 12
		var all []Part
		for i := range n {
			all = append(all, db.compose(t, parts(fmt.Sprint("r", i), "text"))...)
		}
		var begun atomic.Int32
		waits := make([]time.Duration, 2*n)
		noErrors(t, concurrently(2*n, func(i int) (err error) { // two workers have the same part in hand
			waits[i], err = []*Store{db.Store, other}[i%2].BeginSend(t.Context(), all[i/2], time.Second, time.Minute)
			if errors.Is(err, ErrUnderWay) { // the other worker had begun the first part
				return nil
			}
			if err == nil && waits[i] == 0 {
				begun.Add(1)
			}
			return err
		}))
		if begun.Load() != 1 {
			t.Errorf("%d attempts began, want 1", begun.Load())
		}
		slices.Sort(waits)
		for i, wait := range waits {
			if want := time.Duration(i/2) * time.Second; wait != want {
				t.Errorf("wait %d is %v, want %v", i, wait, want)
			}
		}
		if wait, err := db.post(t.Context(), "C2", time.Second); err != nil || wait != 0 {
			t.Errorf("in another channel: wait %v, %v", wait, err)
		}
	})
}

func TestSlotIsKeptUntilUsedOrMissed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		again := func(p Part) Part {
			t.Helper()
			must(t, db.EndSend(t.Context(), p, Composed, time.Time{}, "rate limited"))
			return db.parts(t, p.Reply)[0]
		}
		first, second := db.compose(t, parts("r1", "text"))[0], db.compose(t, parts("r2", "text"))[0]
		third := db.compose(t, parts("r3", "text"))[0]
		db.checkSlot(t, first, 0, "the first")
		db.checkSlot(t, second, time.Second, "the second")
		db.checkSlot(t, second, time.Second, "the second again")
		db.clock.advance(time.Second + 999*time.Millisecond)
		db.checkSlot(t, second, 0, "the second, a little late")
		second = again(second)
		db.checkSlot(t, second, time.Millisecond, "a part that has used its slot")
		db.checkSlot(t, third, 1001*time.Millisecond, "the third")
		first = again(first)
		db.checkSlot(t, first, 2001*time.Millisecond, "the first, which missed its slot")
		db.clock.advance(time.Hour)
		db.checkSlot(t, third, 0, "the third after an hour")
		db.checkSlot(t, first, time.Second, "the first after an hour: past slots are not used all at once")
	})
}

// A clock that was ahead during a post and is set back does not delay other posts by as much.
func TestClockSetBackDelaysNoSlot(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		first, second := db.compose(t, parts("r1", "text"))[0], db.compose(t, parts("r2", "text"))[0]
		long := db.compose(t, parts("long", "one", "two"))
		db.clock.advance(9 * time.Hour)
		db.checkSlot(t, first, 0, "by a clock that is ahead")
		db.checkSlot(t, second, time.Second, "the next, by the same clock")
		db.clock.advance(-9 * time.Hour)
		db.checkSlot(t, long[0], 0, "by the clock that is put back")
		db.checkSlot(t, second, 2*time.Second, "the one that had a slot nine hours ahead")
		db.checkSlot(t, long[1], time.Second, "the rest of what is under way")

		// A long queue is no such clock.
		for i := range 20 {
			db.checkSlot(t, db.compose(t, parts(fmt.Sprint("line ", i), make([]string, 60)...))[0], time.Duration(3+60*i)*time.Second, "in line")
		}
	})
}

// Other posts do not come between the parts of a reply.
func TestSlotsOfAReplyFollowEachOther(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		long, short := db.compose(t, parts("long", "one", "two", "three")), db.compose(t, parts("short", "text"))
		db.checkSlot(t, long[0], 0, "the first part")
		db.checkSlot(t, short[0], 3*time.Second, "another reply")
		db.checkSlot(t, long[2], 2*time.Second, "the third part")
		db.checkSlot(t, long[1], time.Second, "the second part, when the first is under way")
		db.clock.advance(2 * time.Second)
		db.checkSlot(t, long[1], 2*time.Second, "the second part, too late")
		db.checkSlot(t, long[2], 3*time.Second, "the third part stays behind it")
	})
}

// Any number of workers take a channel's parts in any order, return when they were told to, and
// post: a pace apart, each in its slot, without an unused slot.
func TestNoSlotIsWasted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for seed := range uint64(3) {
			random := mathrand.New(mathrand.NewPCG(seed, 1))
			start := db.clock.now()
			type due struct {
				part Part
				at   time.Time
				slot time.Time // the slot of its last answer
			}
			var waiting []due
			const n, pace, patient = 25, time.Second, 3 * time.Second
			for i := range n {
				p := parts(fmt.Sprint(seed, "/", i), "text")
				p[0].Channel = fmt.Sprint("C", 10+seed)
				waiting = append(waiting, due{part: db.compose(t, p)[0], at: start.Add(time.Duration(random.IntN(1000)) * time.Millisecond)})
			}
			var posted, slots []time.Time
			for len(waiting) > 0 {
				slices.SortStableFunc(waiting, func(a, b due) int { return a.at.Compare(b.at) })
				// A second worker at the same time, with an attempt that was given up for dead.
				next := waiting[0]
				waiting = waiting[1:]
				db.clock.advance(max(next.at.Sub(db.clock.now()), 0))
				now := db.clock.now()
				var begun atomic.Int32
				waits := make([]time.Duration, 2)
				noErrors(t, concurrently(2, func(i int) error {
					wait, err := db.BeginSend(t.Context(), next.part, pace, time.Minute)
					if err == nil && wait == 0 {
						begun.Add(1)
					}
					if waits[i] = wait; errors.Is(err, ErrUnderWay) {
						return nil
					}
					return err
				}))
				if waits[0] != waits[1] || (waits[0] == 0) != (begun.Load() == 1) {
					t.Fatalf("one part has two slots, in %v and in %v; %d attempts began", waits[0], waits[1], begun.Load())
				}
				if next.slot.Add(pace).After(now) {
					if want := max(next.slot.Sub(now), 0); waits[0] != want {
						t.Errorf("seed %d: a part with a slot in %v waits %v", seed, want, waits[0])
					}
				} else {
					next.slot = now.Add(waits[0])
				}
				switch wait := waits[0]; {
				case wait > patient: // Temporal's timers are inexact: it comes back a little before or after its slot
					late := time.Duration(random.IntN(2900)) * time.Millisecond
					next.at = now.Add(wait - 2*time.Second + late)
					waiting = append(waiting, next)
				case wait > 0:
					next.at = now.Add(wait)
					waiting = append(waiting, next)
				default:
					posted, slots = append(posted, now), append(slots, next.slot)
				}
			}
			if !slices.IsSortedFunc(slots, func(a, b time.Time) int { return cmp.Compare(a.UnixMicro(), b.UnixMicro()) }) {
				t.Errorf("seed %d: not posted in the order of slots: %v", seed, slots)
			}
			for i, slot := range slots {
				if i > 0 && slot.Sub(slots[i-1]) != pace {
					t.Errorf("seed %d: slot %d is %v after the one before", seed, i, slot.Sub(slots[i-1]))
				}
				if late := posted[i].Sub(slot); late < 0 || late >= pace {
					t.Errorf("seed %d: posted %v after its slot", seed, late)
				}
			}
			if len(slots) != n {
				t.Errorf("seed %d: %d posted, want %d", seed, len(slots), n)
			}
			db.clock.advance(time.Hour)
		}
	})
}

// Two workers advance the same reply: while one records posted parts, others begin to post them and
// their own events arrive, without a deadlock.
func TestSlotsAndPostsDoNotDeadlock(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for n := range 10 {
			p := db.compose(t, parts(fmt.Sprint("r", n), "one", "two"))
			// a minute apart, so that the channel's row is written
			first, second := said(at(200*n), ""), said(at(200*n+100), "")
			do := []func(context.Context) error{
				func(ctx context.Context) error { return db.MarkPosted(ctx, p[0], first) },
				func(ctx context.Context) error { return errOf(db.MarkReplied(ctx, p[1], second)) },
				func(ctx context.Context) error {
					_, err := db.Record(ctx, second, func(k Known) Entry {
						if k.Message != nil {
							return Entry{}
						}
						return Entry{Message: &second}
					})
					return err
				},
				func(ctx context.Context) error { return db.Compose(ctx, p, Decision{Key: p[0].Decision}) },
				func(ctx context.Context) error { return db.Settle(ctx, p[0].Decision, "withdrawn", "") },
				func(ctx context.Context) error { return errOf(db.BeginSend(ctx, p[1], time.Second, time.Minute)) },
				func(ctx context.Context) error { return errOf(db.BeginSend(ctx, p[0], time.Second, time.Minute)) },
			}
			noErrors(t, concurrently(2*len(do), func(i int) error {
				err := within(t, patience, "the reply", do[i%len(do)])
				if errors.Is(err, ErrUnderWay) {
					return nil
				}
				return err
			}))
		}
	})
}

// A deleted message is not answered; a reply that has begun is finished.
func TestDeletedMessageIsNotAnswered(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		question := said(at(2), "")
		for n, known := range []bool{false, true} { // whether the part waits for a slot
			p, long := db.compose(t, parts(fmt.Sprint("r", n), "text"))[0], db.compose(t, parts(fmt.Sprint("long", n), "one", "two"))
			if known {
				db.checkSlot(t, p, 0, "while it is there")
				must(t, db.EndSend(t.Context(), p, Composed, time.Time{}, "rate limited"))
				p = db.parts(t, p.Reply)[0]
				db.clock.advance(time.Minute)
				db.begin(t, long[0], time.Minute, true, "the first part")
				db.clock.advance(time.Minute)
			}
			question.Deleted = true
			db.store(t, question)
			for _, p := range []Part{p, db.parts(t, long[0].Reply)[0]} {
				for range 2 {
					if _, err := db.BeginSend(t.Context(), p, time.Second, time.Minute); !errors.Is(err, ErrDeleted) {
						t.Errorf("waiting for a slot %v: %v, want ErrDeleted", known, err)
					}
				}
				if row := db.row(t, p.Key); row.State != p.State || row.Attempts != p.Attempts || row.SlotUS != 0 {
					t.Errorf("waiting for a slot %v: the outbox has %+v", known, row)
				}
			}
			db.checkSlot(t, long[1], 0, "the second part, since no slot was used")
			question.Deleted = false
			db.store(t, question)
			db.clock.advance(time.Hour)
		}
	})
}

// delete records a message and its deletion.
func (db database) delete(t *testing.T, m chat.Message) {
	t.Helper()
	db.record(t, m, keep(m, conversation.Said))
	m.Deleted, m.Text = true, ""
	db.record(t, m, keep(m, conversation.Deleted))
}

// A reply may repeat a message of its conversation that was deleted after it was composed.
func TestDeletionOutdatesReply(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.delete(t, said(at(3), at(1)))
		db.clock.advance(time.Second)
		p := db.compose(t, parts("r", "one", "two"))
		top := parts("top", "text")
		top[0].Thread = ""
		db.compose(t, top)
		check := func(when string, thread, here error) {
			t.Helper()
			for _, test := range []struct {
				part *Part
				want error
			}{{&p[0], thread}, {&p[1], nil}, {&top[0], here}} { // a reply that has begun is finished
				_, err := db.BeginSend(t.Context(), *test.part, noPace, time.Minute)
				if !errors.Is(err, test.want) {
					t.Errorf("%s, part %s: %v, want %v", when, test.part.Key, err, test.want)
				}
				if err != nil {
					continue
				}
				must(t, db.EndSend(t.Context(), *test.part, Composed, time.Time{}, "rate limited"))
				test.part.Attempts++
			}
		}
		check("deleted before", nil, nil)
		db.clock.advance(time.Second)
		db.delete(t, said(at(4), at(7)))
		check("deleted in another thread", nil, nil)
		db.delete(t, said(at(5), at(1)))
		check("deleted in the thread", OutdatedError{at(5)}, nil)
		db.delete(t, said(at(6), ""))
		check("deleted at the top level", OutdatedError{at(5)}, OutdatedError{at(6)})
		db.clock.advance(time.Second)
		db.delete(t, said(at(2), "")) // what they answer
		check("deleted altogether", ErrDeleted, ErrDeleted)
	})
}

// A thread's parent is at the top level, whose change its deletion is, but it is read with the
// thread.
func TestDeletionOfTheParentOutdatesReply(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		parent := said(at(1), "") // as the parts have it
		db.record(t, parent, keep(parent, conversation.Said))
		db.delete(t, said(at(0), ""))
		db.clock.advance(time.Second)
		p := db.compose(t, parts("r", "text"))[0]
		db.clock.advance(time.Second)
		db.delete(t, said(at(3), ""))
		parent.Deleted, parent.Text = true, ""
		db.record(t, parent, keep(parent, conversation.Deleted))
		if _, err := db.BeginSend(t.Context(), p, noPace, time.Minute); !errors.Is(err, OutdatedError{at(1)}) {
			t.Errorf("%v, want it outdated by the thread's parent", err)
		}
		db.clock.advance(time.Second)
		anew := parts("r", "without it")
		p = db.compose(t, anew)[0]
		if _, err := db.BeginSend(t.Context(), p, noPace, time.Minute); err != nil {
			t.Errorf("composed anew, %v", err)
		}
	})
}

// No part is posted in a conversation that is silenced directly or with its channel.
func TestNothingIsPostedWhileSilenced(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		own := chat.Conversation{Team: team, Channel: channel, Thread: at(1)} // as the parts have it
		p := db.compose(t, parts("r", "one", "two"))
		topLevel := parts("top", "text")
		topLevel[0].Thread = ""
		top := db.compose(t, topLevel)[0]
		hour := db.clock.now().Add(time.Hour)
		for n, c := range []struct {
			silent       chat.Conversation
			until        time.Time
			thread, here error // in the thread, at the top level
		}{
			{own, hour, ErrSilenced, nil},
			{own, time.Time{}, nil, nil},
			{own.Top(), hour, ErrSilenced, ErrSilenced},
			{own.Top(), db.clock.now(), nil, nil}, // it ends now
			{chat.Conversation{Team: team, Channel: channel, Thread: at(2)}, hour, nil, nil},
			{chat.Conversation{Team: team, Channel: "C2"}, hour, nil, nil},
		} {
			must(t, db.ApplyOrder(t.Context(), Order{ID: fmt.Sprint(n), Scope: chat.Scope(c.silent), Kind: "snooze", Until: c.until}))
			for _, test := range []struct {
				part *Part
				want error
			}{{&p[0], c.thread}, {&p[1], c.thread}, {&top, c.here}} {
				_, err := db.BeginSend(t.Context(), *test.part, noPace, time.Minute)
				if !errors.Is(err, test.want) {
					t.Errorf("%s until %s, part %s: %v, want %v", c.silent.ID(), c.until, test.part.Key, err, test.want)
				}
				row := db.row(t, test.part.Key)
				if begun := row.Attempts > test.part.Attempts; begun != (test.want == nil) || row.SlotUS != 0 {
					t.Errorf("%s until %s: the outbox has %+v", c.silent.ID(), c.until, row)
				}
				if err == nil {
					must(t, db.EndSend(t.Context(), *test.part, Composed, time.Time{}, "rate limited"))
					test.part.Attempts++
				}
			}
		}
		if p := db.parts(t, "r"); p[0].Attempts != 4 || p[1].Attempts != 4 {
			t.Errorf("the outbox has %+v", p)
		}
	})
}

// A deletion that is committed while an attempt waits for its channel counts.
func TestDeletionWhileWaitingForTheChannel(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	question := said(at(2), "")
	db.store(t, question)
	p := db.compose(t, parts("r", "text"))[0]
	holder := db.db.WithContext(t.Context()).Begin()
	defer holder.Rollback()
	must(t, holder.Exec("SELECT 1 FROM channels FOR UPDATE").Error)
	begun := make(chan error, 1)
	go func() {
		_, err := db.BeginSend(t.Context(), p, time.Second, time.Minute)
		begun <- err
	}()
	db.awaitLockWait(t)
	question.Deleted = true
	db.store(t, question)
	holder.Rollback()
	if err := <-begun; !errors.Is(err, ErrDeleted) {
		t.Errorf("%v, want ErrDeleted", err)
	}
}

// An attempt that need not wait begins in one statement. Otherwise that statement does nothing,
// does not wait, and more statements follow.
func TestAttemptBeginsInOneStatement(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	db.store(t, said(at(2), "")) // inserts the channel's row
	p, next, long := db.compose(t, parts("r", "text"))[0], db.compose(t, parts("next", "text"))[0], db.compose(t, parts("long", "one", "two"))[0]
	asked := db.statements(t, func(ctx context.Context, s *Store) error {
		return errOf(s.BeginSend(ctx, p, time.Second, time.Minute))
	})
	want := db.row(t, p.Key)
	want.State, want.Attempts, want.LeasedUntilUS, want.SlotUS = Sending, 1, micros(noon.Add(time.Minute)), 0
	if got := db.row(t, p.Key); len(asked) != 1 || got != want {
		t.Errorf("%d statements; the outbox has %+v", len(asked), got)
	}
	refused := func(p Part, why string) {
		t.Helper()
		before, slots := db.row(t, p.Key), db.count(t, "channels", "next_post_us > 0")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for _, which := range []clause.Expr{unchanged(p), untried(p.Reply)} {
			if begun, err := db.beginNow(ctx, which, time.Second, time.Minute); err != nil || len(begun) > 0 {
				t.Errorf("%s: begun %v, %v", why, begun, err)
			}
		}
		if after := db.row(t, p.Key); after != before || db.count(t, "channels", "next_post_us > 0") != slots {
			t.Errorf("%s: it became %+v", why, after)
		}
	}
	refused(p, "what another worker sends")
	refused(next, "when the channel's slot has not come")
	db.checkSlot(t, next, time.Second, "after another")
	db.clock.advance(1500 * time.Millisecond)
	refused(next, "a part with a slot of its own")
	db.clock.advance(time.Hour)
	refused(long, "what others follow")
	for _, table := range []string{"outbox", "channels"} {
		tx := db.db.WithContext(t.Context()).Begin()
		must(t, tx.Exec("SELECT 1 FROM "+table+" FOR UPDATE").Error)
		refused(next, "when somebody holds "+table)
		tx.Rollback()
	}
	db.checkSlot(t, next, 0, "when nobody does")
}

// A short reply without an attempt is read by the statement that begins it.
func TestReplyBeginsInOneStatement(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	db.store(t, said(at(2), ""))
	composed := db.compose(t, parts("r", "text"))[0]
	var begun *Part
	asked := db.statements(t, func(ctx context.Context, s *Store) (err error) {
		begun, err = s.BeginReply(ctx, "r", time.Second, time.Minute)
		return err
	})
	if begun == nil || *begun != composed || len(asked) != 1 {
		t.Errorf("%d statements returned %+v, want %+v", len(asked), begun, composed)
	}
	if row := db.row(t, composed.Key); row.State != Sending || row.Attempts != 1 || row.LeasedUntilUS != micros(noon.Add(time.Minute)) {
		t.Errorf("the outbox has %+v", row)
	}
	must(t, db.EndSend(t.Context(), *begun, Composed, time.Time{}, "rate limited"))
	db.clock.advance(time.Hour)
	gone := said(at(2), "") // what replies answer
	gone.Deleted = true
	db.store(t, gone)
	db.compose(t, parts("answer", "text"))
	outdated := parts("outdated", "text")
	outdated[0].Channel, outdated[0].Thread, outdated[0].Trigger = "C3", at(3), at(4)
	db.compose(t, outdated)
	silent := parts("silent", "text")
	silent[0].Channel, silent[0].Thread, silent[0].Trigger = "C2", at(3), at(4)
	db.compose(t, silent)
	muted := Order{ID: "1", Scope: chat.Scope{Team: team, Channel: "C2"}, Kind: "mute", Until: db.clock.now().Add(time.Hour)}
	must(t, db.ApplyOrder(t.Context(), muted))
	db.clock.advance(time.Second)
	elsewhere := said(at(5), at(3))
	elsewhere.Channel = "C3"
	db.delete(t, elsewhere)
	for why, reply := range map[string]string{
		"what was tried": "r", "what answers nothing any more": "answer", "what is outdated": "outdated", "what is silent": "silent",
		"what is not there": "none",
	} {
		if begun, err := db.BeginReply(t.Context(), reply, time.Second, time.Minute); err != nil || begun != nil {
			t.Errorf("%s: begun %+v, %v", why, begun, err)
		}
	}
}

// row is a part's row in the outbox.
func (db database) row(t *testing.T, key string) outboxRow {
	t.Helper()
	var row outboxRow
	must(t, db.db.WithContext(t.Context()).Where("key = ?", key).Take(&row).Error)
	return row
}

// awaitLockWait waits until a transaction in Postgres waits for a lock of another.
func (db database) awaitLockWait(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		var waits int64
		must(t, db.db.Raw("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waits).Error)
		if waits > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody waits")
		}
	}
}
