package conversation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// endPromise records the oldest end of a promise, which is due again at next unless that is zero.
func (w *workshop) endPromise(next time.Time) {
	w.t.Helper()
	e := w.ends[0]
	w.ends = w.ends[1:]
	w.apply(PromiseEnded{ID: e.ID, Number: e.Number, Next: next})
}

// withPromise answers a mention by a reply with a promise that is due in an hour.
func withPromise(t *testing.T) *workshop {
	w := newWorkshop(t)
	w.change(Addressed, asked, "")
	w.finish()
	post := w.work.(Post)
	w.work = nil
	w.apply(Posted{Epoch: post.Epoch, Result: Done, Promised: []OpenPromise{{ID: "m", TS: asked, Author: "U1", DueAt: w.now.Add(time.Hour), Number: 1}}})
	if w.work != nil || w.s.Phase != Idle || len(w.s.Promises) != 1 {
		t.Fatalf("after the reply: %T, %+v", w.work, w.s)
	}
	return w
}

// due lets time pass until the promise is due, and checks that it is turned to then.
func (w *workshop) due() {
	w.t.Helper()
	w.now = w.s.Promises[0].DueAt.Add(-time.Second)
	w.apply(Tick{})
	if _, early := w.work.(Check); early {
		w.t.Fatal("turned to early")
	}
	w.now = w.now.Add(time.Second)
	w.apply(Tick{})
	c, ok := w.work.(Check)
	if !ok || c.Occasion != w.s.Promises[0].occasion() || c.Trigger.TS != asked {
		w.t.Fatalf("when it is due: %T%+v", w.work, w.work)
	}
}

func (w *workshop) checks(c Checked) {
	w.t.Helper()
	c.Epoch = w.work.(Check).Epoch
	w.work = nil
	w.apply(c)
}

// over checks how the promise ended at its time of some number, and that nothing is left of it.
func (w *workshop) over(number, told int, want ...PromiseEnd) {
	w.t.Helper()
	for len(w.ends) > 0 {
		w.endPromise(time.Time{})
	}
	key := Occasion{Promise: "m", Number: number}.String()
	if got := w.ended[key]; !slices.Equal(got, want) || w.told[key] != told || len(w.s.Promises) > 0 {
		w.t.Errorf("ended %q, told %d times, left %+v; want %q, %d", got, w.told[key], w.s.Promises, want, told)
	}
	if w.work == nil && w.s.Occasion != (Occasion{}) {
		w.t.Errorf("telling %s", w.s.Occasion)
	}
}

func TestPromises(t *testing.T) {
	t.Run("kept", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.finish()
		if c, ok := w.work.(Compose); !ok || c.Occasion != (Occasion{Promise: "m", Number: 1}) || !c.Addressed || c.Notice {
			t.Fatalf("composes %+v", w.work)
		}
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
		if !w.s.ShouldClose(w.now.Add(time.Hour)) {
			t.Error("does not close")
		}
	})
	t.Run("released in silence", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.checks(Checked{Result: CheckRelease})
		w.over(1, 0, PromiseReleased)
	})
	t.Run("kept in its own words, where no model can be asked", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.checks(Checked{Result: CheckPlain})
		if c, ok := w.work.(Compose); !ok || !c.Notice {
			t.Fatalf("composes %+v", w.work)
		}
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
	})
	t.Run("kept in its own words, where none are composed", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.finish()
		c := w.work.(Compose)
		w.work = nil
		w.apply(Composed{Epoch: c.Epoch, Result: Failed})
		if c, ok := w.work.(Compose); !ok || !c.Notice {
			t.Fatalf("composes %+v", w.work)
		}
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
	})
	t.Run("a message begins it again, and is judged after it", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.finish()
		w.change(Said, "50.000001", "")
		if w.work != nil {
			t.Fatalf("goes on with %T", w.work)
		}
		w.apply(Tick{})
		w.finish()
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
		if w.s.Phase != Waiting || len(w.s.Pending) != 1 {
			t.Errorf("then %+v", w.s)
		}
	})
	t.Run("nothing begins it again when it is late", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.now = w.now.Add(11 * time.Minute)
		w.change(Said, "50.000001", "")
		if _, ok := w.work.(Check); !ok || len(w.s.Later) != 1 {
			t.Fatalf("%T, %+v", w.work, w.s)
		}
	})
	t.Run("whoever addresses the bot goes first", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.change(Addressed, "50.000001", "")
		w.apply(Tick{})
		if c, ok := w.work.(Compose); !ok || c.Occasion != (Occasion{}) || c.Trigger.TS != "50.000001" {
			t.Fatalf("composes %+v", w.work)
		}
		w.finish()
		w.finish()
		w.apply(Tick{})
		w.finish()
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
	})
	t.Run("what waits for a judgment waits again after it", func(t *testing.T) {
		w := withPromise(t)
		w.now = w.s.Promises[0].DueAt.Add(-10 * time.Second)
		w.change(Said, "50.000001", "")
		w.now = w.now.Add(10 * time.Second)
		w.apply(Tick{})
		w.finish()
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
		if w.s.Phase != Waiting {
			t.Errorf("then %+v", w.s)
		}
	})
	t.Run("held up, and let go again by an unmute", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		until := w.now.Add(9 * time.Hour)
		w.checks(Checked{Result: CheckHold, Until: until})
		if next := w.s.NextPromise(); !next.Equal(until) || w.work != nil {
			t.Fatalf("next at %s, %T", next, w.work)
		}
		w.now = w.now.Add(time.Hour)
		w.apply(Tick{})
		w.apply(Unsilenced{})
		w.apply(Tick{})
		w.finish()
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
	})
	t.Run("an order to be silent holds it up, an order to drop it cancels it", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.apply(Drop{By: "ops", Silence: true})
		if w.work != nil || len(w.s.Promises) != 1 || w.s.Promises[0].Ended != "" || w.s.Phase != Idle {
			t.Fatalf("muted: %T %+v", w.work, w.s)
		}
		w.now = w.now.Add(recheck)
		w.apply(Tick{})
		w.finish()
		w.apply(Drop{By: "ops"})
		w.over(1, 0, PromiseCancelled)
	})
	t.Run("cancelled while it is composed", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.finish()
		w.apply(Changes{{TS: asked, Kind: Cancelled, Revision: "m", By: "slack:U1"}})
		w.over(1, 0)
		if w.work != nil || len(w.shown["m"]) != 1 || w.s.Phase != Idle {
			t.Errorf("%T, shown %q", w.work, w.shown["m"])
		}
	})
	t.Run("cancelled before its reply is known to be posted", func(t *testing.T) {
		w := newWorkshop(t)
		w.change(Addressed, asked, "")
		w.finish()
		post := w.work.(Post)
		w.work = nil
		w.apply(Changes{{TS: asked, Kind: Cancelled, Revision: "m", By: "slack:U1"}})
		w.apply(Posted{Epoch: post.Epoch, Result: Done, Promised: []OpenPromise{{ID: "m", TS: asked, DueAt: w.now.Add(time.Hour), Number: 1}}})
		w.over(1, 0)
	})
	t.Run("the message that asked is deleted", func(t *testing.T) {
		for _, working := range []bool{false, true} {
			w := withPromise(t)
			if working {
				w.due()
			}
			w.change(Deleted, asked, "")
			w.over(1, 0, PromiseWithdrawn)
			if w.work != nil || w.s.Phase != Idle {
				t.Errorf("%T, %+v", w.work, w.s)
			}
		}
	})
	t.Run("an edit of the message that asked changes nothing", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.apply(Changes{{TS: asked, Kind: Edited, Revision: "1"}})
		w.finish()
		w.finish()
		w.finish()
		w.over(1, 1, PromiseKept)
		if w.s.Phase != Idle {
			t.Errorf("then %s", w.s.Phase)
		}
	})
	t.Run("stop ends it while it is under way", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.finish()
		w.apply(Changes{{TS: "50.000001", Kind: Addressed, Author: "U1", Mention: true, Stop: true}})
		if c, ok := w.work.(Compose); !ok || c.Stop != Stopped || c.Occasion != (Occasion{}) {
			t.Fatalf("composes %+v", w.work)
		}
		w.over(1, 0, PromiseCancelled)
	})
	t.Run("moved", func(t *testing.T) {
		w := withPromise(t)
		sooner := PromiseRef{"m", 1, w.now.Add(time.Minute).UTC()}
		w.apply(Changes{{TS: asked, Kind: Moved, Revision: sooner.String(), Author: "U1"}})
		w.due()
		if !w.now.Equal(sooner.Due) {
			t.Errorf("due at %s, want %s", w.now, sooner.Due)
		}
		later := PromiseRef{"m", 1, w.now.Add(time.Hour).UTC()}
		w.apply(Changes{{TS: asked, Kind: Moved, Revision: later.String(), Author: "U1", By: "ops"}})
		if w.work != nil || w.s.Phase != Idle {
			t.Errorf("goes on with %T", w.work)
		}
		w.due()
	})
	t.Run("handed over to a run that does not know it", func(t *testing.T) {
		w := newWorkshop(t)
		late := Changes{{TS: asked, Kind: Due, Revision: PromiseRef{"m", 3, w.now.Add(-time.Hour)}.String(), Author: "U1"}}
		w.apply(late)
		w.apply(late)
		w.apply(Tick{})
		w.finish()
		w.finish()
		w.finish()
		w.over(3, 1, PromiseKept)
	})
	t.Run("repeats when the last time is recorded", func(t *testing.T) {
		w := withPromise(t)
		w.due()
		w.finish()
		w.finish()
		w.finish()
		w.now = w.now.Add(time.Hour)
		w.apply(Tick{}) // nothing is due while the end is being recorded
		if w.work != nil {
			t.Fatalf("%T", w.work)
		}
		w.endPromise(w.now.Add(time.Hour))
		w.due()
		w.checks(Checked{Result: CheckRelease})
		w.over(2, 0, PromiseReleased)
	})
	t.Run("an idle day with it ends in a new run, which goes on with what is recorded", func(t *testing.T) {
		w := withPromise(t)
		w.s.Promises[0].DueAt = w.now.Add(48 * time.Hour)
		w.now = w.now.Add(2 * time.Hour)
		if w.s.ShouldClose(w.now) || !w.s.ShouldRenew(w.now) {
			t.Error("closes with an open promise")
		}
		w.s.Renew(w.now)
		w.due()
		w.finish()
		w.finish()
		w.finish()
		if f := w.s.InFlight(); len(f) != 1 || f[0] != (EndPromise{"m", asked, 1, PromiseKept, ""}) {
			t.Errorf("the next run resumes %+v", f)
		}
	})
}

// FuzzPromises compares a conversation with a reference model of its promises: none is turned to before its
// time, kept twice, or lost, whatever else happens; and a state survives its form in a new run.
func FuzzPromises(f *testing.F) {
	for seed := range uint64(80) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorkshop(t)
		type promise struct {
			due    time.Time
			number int
			repeat bool
			over   bool // nothing more may come of it
		}
		model := map[string]*promise{}
		n := 0
		ts := func(i int) string { return fmt.Sprintf("%d.000001", 10+i) }
		idOf := func(ts string) string { return "m" + ts }
		check := func() { // that what has just begun is in time
			c, ok := w.work.(Check)
			if !ok {
				return
			}
			id, number := c.Occasion.Promise, c.Occasion.Number
			if p := model[id]; p == nil || p.over || p.number != number || w.now.Before(p.due) {
				t.Fatalf("at %s turned to %s, which is %+v", w.now, c.Occasion, p)
			}
		}
		end := func() {
			e := w.ends[0]
			p := model[e.ID]
			next := time.Time{}
			if p.number == e.Number && !p.over {
				if p.repeat && e.End == PromiseKept {
					p.number++
					p.due = w.now.Add(time.Duration(1+r.IntN(500)) * time.Second)
					next = p.due
				} else {
					p.over = true
				}
			}
			w.endPromise(next)
		}
		work := func(well bool) {
			switch f := w.work.(type) {
			case Check:
				id, number := f.Occasion.Promise, f.Occasion.Number
				p := model[id]
				switch c := (Checked{Result: CheckKeep}); {
				case p.over:
					w.checks(Checked{Result: CheckOver})
				case p.number != number || w.now.Before(p.due):
					w.checks(Checked{Result: CheckMoved, Until: p.due, Number: p.number})
				default:
					if !well {
						c.Result = []CheckResult{CheckKeep, CheckPlain, CheckRelease, CheckHold, CheckSkip}[r.IntN(5)]
						c.Until = w.now.Add(time.Duration(r.IntN(500)) * time.Second)
					}
					w.checks(c)
				}
			case Compose:
				result := Done
				if !well && r.IntN(4) == 0 {
					result = []Result{Failed, Silenced, Outdated}[r.IntN(3)]
				}
				w.work = nil
				w.apply(Composed{Epoch: f.Epoch, Round: f.Round, Result: result})
			case Post:
				var made []OpenPromise
				if f.Occasion == (Occasion{}) && f.Addressed && r.IntN(2) == 0 {
					id := idOf(f.Trigger.TS)
					if model[id] == nil {
						model[id] = &promise{due: w.now.Add(time.Duration(r.IntN(1000)) * time.Second), number: 1, repeat: !well && r.IntN(3) == 0}
					}
					if !model[id].over {
						made = append(made, OpenPromise{ID: id, TS: f.Trigger.TS, Author: "U1", DueAt: model[id].due, Number: model[id].number})
					}
				}
				result := Done
				if !well && r.IntN(5) == 0 {
					result = []Result{Failed, Silenced, Outdated, Gone}[r.IntN(4)]
				}
				if result != Done {
					for _, p := range made {
						delete(model, p.ID)
					}
					made = nil
				} else if f.Occasion != (Occasion{}) {
					w.told[f.Occasion.String()]++
				}
				w.work = nil
				w.apply(Posted{Epoch: f.Epoch, Result: result, Promised: made})
			case Judge:
				w.finish()
			}
		}
		pick := func() (id, ts string) {
			for _, p := range w.s.Promises {
				if r.IntN(2) == 0 {
					return p.ID, p.TS
				}
			}
			return "", ""
		}
		for range 120 {
			w.now = w.now.Add(time.Duration(r.IntN(60)) * time.Second)
			switch r.IntN(12) {
			case 0:
				n++
				w.change(Addressed, ts(n), "")
			case 1:
				n++
				w.change(Said, ts(n), "")
			case 2, 3, 4:
				work(false)
			case 5, 6:
				w.apply(Tick{})
			case 7:
				if len(w.ends) > 0 {
					end()
				}
			case 8:
				if id, ts := pick(); id != "" {
					model[id].over = true
					w.apply(Changes{{TS: ts, Kind: Cancelled, Revision: id, By: "slack:U1"}})
				}
			case 9:
				if id, ts := pick(); id != "" && !model[id].over {
					p := model[id]
					kind := Due
					if r.IntN(2) == 0 {
						kind, p.due = Moved, w.now.Add(time.Duration(r.IntN(300))*time.Second)
					}
					w.apply(Changes{{TS: ts, Kind: kind, Revision: PromiseRef{id, p.number, p.due}.String(), Author: "U1", By: "ops"}})
				}
			case 10:
				switch r.IntN(4) {
				case 0:
					w.apply(Drop{By: "ops"})
				case 1:
					w.apply(Drop{By: "ops", Silence: true})
				case 2:
					w.apply(Unsilenced{})
				case 3:
					w.change(Deleted, ts(1+r.IntN(n+1)), "")
				}
			case 11:
				raw, err := json.Marshal(w.s)
				if err != nil {
					t.Fatal(err)
				}
				w.s = &State{}
				if err := json.Unmarshal(raw, w.s); err != nil {
					t.Fatal(err)
				}
			}
			check()
		}
		for _, p := range model { // so that it comes to an end
			p.repeat = false
		}
		for range 400 {
			switch {
			case len(w.ends) > 0:
				end()
			case w.work != nil:
				work(true)
			default:
				w.now = w.now.Add(time.Hour)
				w.apply(Tick{})
			}
			check()
		}
		if w.s.busy() || w.s.Phase != Idle {
			t.Fatalf("in the end %+v", w.s)
		}
		for id, p := range model {
			if !p.over {
				t.Errorf("%s is lost: %+v", id, p)
			}
		}
		for key, times := range w.told {
			if times != 1 {
				t.Errorf("%s was kept %d times", key, times)
			}
		}
		for key, ends := range w.ended {
			if len(ends) != 1 {
				t.Errorf("%s ended %q", key, ends)
			}
		}
	})
}
