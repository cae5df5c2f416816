package store

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// turn takes the turn of a part and checks how long it is to wait.
func (db database) turn(t *testing.T, p Part, want time.Duration, why string) {
	t.Helper()
	if wait, err := db.Turn(t.Context(), p, time.Second); err != nil || wait != want {
		t.Errorf("%s: wait %v, %v; want %v", why, wait, err, want)
	}
}

func TestTurnsLieAPaceApart(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		other.now = db.clock.now
		const n = 12
		var all []Part
		for i := range n {
			all = append(all, db.compose(t, parts(fmt.Sprint("r", i), "text"))...)
		}
		waits := make([]time.Duration, 2*n)
		noErrors(t, atOnce(2*n, func(i int) (err error) { // two workers have the same part in hand
			waits[i], err = []*Store{db.Store, other}[i%2].Turn(t.Context(), all[i/2], time.Second)
			return err
		}))
		slices.Sort(waits)
		for i, wait := range waits {
			if want := time.Duration(i/2) * time.Second; wait != want {
				t.Errorf("wait %d is %v, want %v", i, wait, want)
			}
		}
		elsewhere := parts("elsewhere", "text")
		elsewhere[0].Channel = "C2"
		db.turn(t, db.compose(t, elsewhere)[0], 0, "in another channel")
	})
}

func TestATurnIsKeptUntilItIsUsedOrMissed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		first, second := db.compose(t, parts("r1", "text"))[0], db.compose(t, parts("r2", "text"))[0]
		third := db.compose(t, parts("r3", "text"))[0]
		db.turn(t, first, 0, "the first")
		db.turn(t, second, time.Second, "the second")
		db.turn(t, second, time.Second, "the second again")
		db.clock.advance(time.Second + 999*time.Millisecond)
		db.turn(t, second, 0, "the second, a little late")
		db.begin(t, second, time.Minute, true, "the second")
		if err := db.EndSend(t.Context(), second, Composed, time.Time{}, "rate limited"); err != nil {
			t.Fatal(err)
		}
		db.turn(t, db.parts(t, "r2")[0], time.Millisecond, "what has used its turn")
		db.turn(t, third, 1001*time.Millisecond, "the third")
		db.turn(t, first, 2001*time.Millisecond, "the first, whose turn is over")
		db.clock.advance(time.Hour)
		db.turn(t, third, 0, "the third after an hour")
		db.turn(t, first, time.Second, "the first after an hour: turns long past are not had all at once")
	})
}

// What others post does not come between the parts of a reply.
func TestTheTurnsOfAReplyFollowEachOther(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		long, short := db.compose(t, parts("long", "one", "two", "three")), db.compose(t, parts("short", "text"))
		db.turn(t, long[0], 0, "the first part")
		db.turn(t, short[0], 3*time.Second, "another reply")
		db.turn(t, long[2], 2*time.Second, "the third part")
		db.turn(t, long[1], time.Second, "the second part")
		db.begin(t, long[0], time.Minute, true, "the first part")
		db.turn(t, long[1], time.Second, "the second part, when the first is under way")
		db.clock.advance(2 * time.Second)
		db.turn(t, long[1], 2*time.Second, "the second part, too late")
		db.turn(t, long[2], 3*time.Second, "the third part stays behind it")
	})
}

// As many workers as there are take the parts of a channel, in any order, come back
// when they were told to, and post: a pace apart, each in its turn, and no turn is
// wasted.
func TestNoTurnIsWasted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for seed := range uint64(3) {
			random := rand.New(rand.NewPCG(seed, 1))
			began := db.clock.now()
			type due struct {
				part Part
				at   time.Time
			}
			var waiting []due
			const n, pace, patient = 25, time.Second, 3 * time.Second
			for i := range n {
				p := parts(fmt.Sprint(seed, "/", i), "text")
				p[0].Channel = fmt.Sprint("C", 10+seed)
				waiting = append(waiting, due{db.compose(t, p)[0], began.Add(time.Duration(random.IntN(1000)) * time.Millisecond)})
			}
			var mu sync.Mutex
			var posted, turns []time.Time
			for len(waiting) > 0 {
				slices.SortStableFunc(waiting, func(a, b due) int { return a.at.Compare(b.at) })
				// Two workers at the same instant: the other has an attempt that is thought dead.
				now := waiting[0]
				waiting = waiting[1:]
				db.clock.advance(max(now.at.Sub(db.clock.now()), 0))
				waits := make([]time.Duration, 2)
				noErrors(t, atOnce(2, func(i int) (err error) {
					waits[i], err = db.Turn(t.Context(), now.part, pace)
					return err
				}))
				if waits[0] != waits[1] {
					t.Fatalf("one part has two turns: in %v and in %v", waits[0], waits[1])
				}
				switch wait := waits[0]; {
				case wait > patient: // as long as Temporal takes, it comes back before its turn or a little after it
					late := time.Duration(random.IntN(2900)) * time.Millisecond
					waiting = append(waiting, due{now.part, db.clock.now().Add(wait - 2*time.Second + late)})
				case wait > 0:
					waiting = append(waiting, due{now.part, db.clock.now().Add(wait)})
				default:
					turn := instant(db.row(t, now.part.Key).TurnUS)
					db.begin(t, now.part, time.Minute, true, "in its turn")
					mu.Lock()
					posted, turns = append(posted, db.clock.now()), append(turns, turn)
					mu.Unlock()
				}
			}
			if !slices.IsSortedFunc(turns, func(a, b time.Time) int { return cmp.Compare(a.UnixMicro(), b.UnixMicro()) }) {
				t.Errorf("seed %d: not posted in the order of turns: %v", seed, turns)
			}
			for i, turn := range turns {
				if i > 0 && turn.Sub(turns[i-1]) != pace {
					t.Errorf("seed %d: turn %d is %v after the one before", seed, i, turn.Sub(turns[i-1]))
				}
				if late := posted[i].Sub(turn); late < 0 || late >= pace {
					t.Errorf("seed %d: posted %v after its turn", seed, late)
				}
			}
			if len(turns) != n {
				t.Errorf("seed %d: %d posted, want %d", seed, len(turns), n)
			}
			db.clock.advance(time.Hour)
		}
	})
}

// row is a part as the outbox has it.
func (db database) row(t *testing.T, key string) outboxRow {
	t.Helper()
	var row outboxRow
	if err := db.db.WithContext(t.Context()).Where("key = ?", key).Take(&row).Error; err != nil {
		t.Fatal(err)
	}
	return row
}

// Two workers bring the same reply on: while one writes down that its first part is
// posted the other takes a turn. Neither holds what the other waits for.
func TestTurnsAndPostsDoNotLockEachOther(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for n := range 10 {
			p := db.compose(t, parts(fmt.Sprint("r", n), "one", "two"))
			errs := atOnce(6, func(i int) error {
				return within(t, 20*time.Second, "the reply", func(ctx context.Context) error {
					if i%2 == 0 {
						return db.Posted(ctx, p[0], said(at(n), ""))
					}
					_, err := db.Turn(ctx, p[0], time.Second)
					return err
				})
			})
			noErrors(t, errs)
		}
	})
}
