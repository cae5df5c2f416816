package conversation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// workshop drives a state machine in a thread with proposals, and counts what it does about each.
type workshop struct {
	t     *testing.T
	s     *State
	now   time.Time
	work  Effect // Judge, Compose, Look or Post in flight
	acts  []ProposalRef
	shown map[string][]string // what was asked to be shown of each proposal: "" or how it was closed
	acted map[string]int
	told  map[string]int // occasions that were posted
	// ends are the ends of promises that are being recorded, ended all of them by the occasion's key.
	ends  []EndPromise
	ended map[string][]PromiseEnd
}

func newWorkshop(t *testing.T) *workshop {
	w := &workshop{t: t, s: New(chat.Conversation{Team: "T", Channel: "C", Thread: "1.000001"}), now: start, shown: map[string][]string{}, acted: map[string]int{}, told: map[string]int{}, ended: map[string][]PromiseEnd{}}
	w.s.Policy = Policy{MinWait: 60, MaxWait: 600, MaxDelay: 300, FollowUpWait: 5, IdleClose: 3600}
	return w
}

func (w *workshop) apply(e Event) {
	w.t.Helper()
	for _, f := range w.s.Apply(e, w.now) {
		switch f := f.(type) {
		case Cancel:
			w.work = nil
		case Act:
			w.acts = append(w.acts, f.ProposalRef)
			w.acted[f.ID]++
		case ShowProposal:
			w.shown[f.ID] = append(w.shown[f.ID], f.Close)
		case EndPromise:
			w.ends = append(w.ends, f)
			key := Occasion{Promise: f.ID, Number: f.Number}.String()
			w.ended[key] = append(w.ended[key], f.End)
		case Settle:
		default:
			if w.work != nil {
				w.t.Fatalf("%T while %T is in flight", f, w.work)
			}
			w.work = f
		}
	}
}

func (w *workshop) change(kind Kind, ts, revision string) {
	w.t.Helper()
	w.apply(Changes{{TS: ts, Kind: kind, Revision: revision, Author: "U1", Mention: kind == Addressed}})
}

// finish ends the work in flight well. A post opens proposals.
func (w *workshop) finish(opened ...OpenProposal) {
	w.t.Helper()
	f := w.work
	w.work = nil
	switch f := f.(type) {
	case Judge:
		w.apply(Judged{Epoch: f.Epoch})
	case Check:
		w.apply(Checked{Epoch: f.Epoch, Result: CheckKeep})
	case Compose:
		w.apply(Composed{Epoch: f.Epoch, Round: f.Round, Result: Done})
	case Post:
		if f.Occasion != (Occasion{}) {
			w.told[f.Occasion.String()]++
		}
		w.apply(Posted{Epoch: f.Epoch, Result: Done, Opened: opened})
	default:
		w.t.Fatalf("nothing to finish: %T", f)
	}
}

// judge ends the judgment in flight with a yes.
func (w *workshop) judge() {
	w.t.Helper()
	f := w.work.(Judge)
	w.work = nil
	w.apply(Judged{Epoch: f.Epoch, Verdict: chat.Verdict{ShouldRespond: true}})
}

// endAct ends the oldest call in flight.
func (w *workshop) endAct(tell bool) {
	w.t.Helper()
	ref := w.acts[0]
	w.acts = w.acts[1:]
	w.apply(Acted{ID: ref.ID, Tell: tell, Asker: "U1"})
}

const asked = "10.000001"

// proposed answers a mention by a reply with one proposal.
func proposed(t *testing.T, id string) *workshop {
	w := newWorkshop(t)
	w.change(Addressed, asked, "")
	w.finish()
	w.finish(OpenProposal{ID: id, TS: asked, LapsesAt: w.now.Add(24 * time.Hour)})
	if w.work != nil || w.s.Phase != Idle || len(w.s.Proposals) != 1 {
		t.Fatalf("after the reply: %T, %+v", w.work, w.s)
	}
	return w
}

func (w *workshop) expect(acted, told int, shown ...string) {
	w.t.Helper()
	if w.acted["p"] != acted || w.told["step/p"] != told || !slices.Equal(w.shown["p"], shown) {
		w.t.Errorf("acted %d times, told %d, shown %q; want %d, %d, %q", w.acted["p"], w.told["step/p"], w.shown["p"], acted, told, shown)
	}
}

func TestProposals(t *testing.T) {
	t.Run("approved", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Approved, asked, "p")
		w.change(Approved, asked, "p") // the relay resends
		w.endAct(true)
		if c, ok := w.work.(Compose); !ok || c.Occasion != (Occasion{Step: "p"}) || c.Trigger.TS != asked || !c.Addressed {
			t.Fatalf("composes %+v", w.work)
		}
		w.finish()
		w.finish()
		w.expect(1, 1, "", "")
		if w.s.Phase != Idle || w.s.busy() || w.s.Occasion != (Occasion{}) {
			t.Errorf("in the end %+v", w.s)
		}
	})
	t.Run("declined", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Declined, asked, "p")
		w.expect(0, 0, "")
	})
	t.Run("lapses while somebody waits for a judgment", func(t *testing.T) {
		w := proposed(t, "p")
		w.now = w.now.Add(24*time.Hour - time.Second)
		w.change(Said, "20.000001", "")
		if next := w.s.NextTick(); !next.Equal(w.now.Add(time.Second)) {
			t.Errorf("next tick %s", next)
		}
		w.now = w.now.Add(time.Second)
		w.apply(Tick{})
		w.expect(0, 0, CloseLapsed)
		if w.s.Phase != Waiting {
			t.Errorf("phase %s", w.s.Phase)
		}
	})
	t.Run("the message is deleted", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Deleted, asked, "")
		w.expect(0, 0, CloseWithdrawn)
	})
	t.Run("deleted while it is posted", func(t *testing.T) {
		w := newWorkshop(t)
		w.change(Addressed, asked, "")
		w.finish()
		w.change(Deleted, asked, "")
		w.finish(OpenProposal{ID: "p", TS: asked, LapsesAt: w.now.Add(time.Hour)})
		w.expect(0, 0, CloseWithdrawn)
	})
	t.Run("deleted before it is told", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Approved, asked, "p")
		w.change(Deleted, asked, "")
		w.endAct(true)
		w.expect(1, 0, "", "")
	})
	t.Run("clicked before the post is known", func(t *testing.T) {
		w := newWorkshop(t)
		w.change(Addressed, asked, "")
		w.finish()
		w.change(Approved, asked, "p")
		w.endAct(true) // told after the post
		w.finish(OpenProposal{ID: "p", TS: asked, LapsesAt: w.now.Add(time.Hour)})
		if len(w.s.Proposals) != 0 {
			t.Errorf("open: %+v", w.s.Proposals)
		}
		w.finish()
		w.finish()
		w.expect(1, 1, "", "", "") // the last one when it is known where
	})
	t.Run("told before what waits, which is not forgotten", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Approved, asked, "p")
		w.change(Said, "20.000001", "")
		w.endAct(true)
		w.change(Addressed, "30.000001", "") // is answered next, and serves what was said before
		w.finish()
		w.finish()
		c, ok := w.work.(Compose)
		if !ok || c.Occasion != (Occasion{}) || c.Trigger.TS != "30.000001" || len(w.s.Served) != 1 {
			t.Fatalf("composes %+v, serves %+v", w.work, w.s.Served)
		}
		w.expect(1, 1, "", "")
	})
	t.Run("told at once when the reply before it is withdrawn", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Approved, asked, "p")
		w.change(Said, "20.000001", "")
		w.now = w.s.NextTick()
		w.apply(Tick{})
		w.judge()
		w.endAct(true) // while that is being composed
		w.change(Said, "30.000001", "")
		if c, ok := w.work.(Compose); !ok || c.Occasion != (Occasion{Step: "p"}) {
			t.Fatalf("composes %+v", w.work)
		}
		w.finish()
		w.finish()
		w.expect(1, 1, "", "")
		if w.s.Phase != Waiting || len(w.s.Pending) != 2 {
			t.Errorf("then %+v", w.s)
		}
	})
	t.Run("withdrawn while the conversation was elsewhere", func(t *testing.T) { // the database says so
		w := newWorkshop(t)
		w.change(Approved, asked, "p")
		w.endAct(false)
		w.expect(1, 0, "", "")
		if w.s.busy() || w.s.Phase != Idle {
			t.Errorf("in the end %+v", w.s)
		}
	})
	t.Run("overdue, and lost with its run", func(t *testing.T) { // the database says how far it has come
		w := newWorkshop(t)
		w.change(Overdue, asked, "p")
		w.change(Approved, asked, "p")
		w.endAct(true)
		w.finish()
		w.finish()
		w.expect(1, 1, CloseLapsed, "")
	})
	t.Run("overdue, and known", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Approved, asked, "p")
		w.change(Overdue, asked, "p")
		w.endAct(true)
		w.finish()
		w.finish()
		w.expect(1, 1, "", "")
	})
	t.Run("stays open over an idle day, in a new run", func(t *testing.T) {
		w := proposed(t, "p")
		w.now = w.now.Add(2 * time.Hour)
		if w.s.ShouldClose(w.now) || !w.s.ShouldRenew(w.now) {
			t.Error("closes with an open proposal")
		}
		w.s.Renew(w.now)
		if next := w.s.NextTick(); !next.Equal(w.now.Add(time.Hour)) {
			t.Errorf("next tick %s", next)
		}
	})
	t.Run("stop withdraws the telling", func(t *testing.T) {
		w := proposed(t, "p")
		w.change(Approved, asked, "p")
		w.endAct(true)
		w.apply(Changes{{TS: "40.000001", Kind: Addressed, Author: "U1", Mention: true, Stop: true}})
		c, ok := w.work.(Compose)
		if !ok || c.Occasion != (Occasion{}) || c.Stop != Stopped {
			t.Errorf("composes %+v", w.work)
		}
	})
}

// FuzzProposals checks that nothing is acted on or told twice, and that nothing that was approved stays
// undone or untold, whatever else happens; and that a state survives its form in a new run.
func FuzzProposals(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorkshop(t)
		n, approved, excused := 0, map[string]bool{}, map[string]bool{}
		ts := func(i int) string { return fmt.Sprintf("%d.000001", 10+i) }
		for range 60 {
			w.now = w.now.Add(time.Duration(r.IntN(100)) * time.Second)
			switch r.IntN(9) {
			case 0:
				n++
				w.change(Addressed, ts(n), "")
			case 1:
				n++
				w.change(Said, ts(n), "")
			case 2, 3:
				if _, ok := w.work.(Judge); ok && r.IntN(2) == 0 {
					w.judge()
				} else if w.work != nil {
					var opened []OpenProposal
					if p, ok := w.work.(Post); ok && p.Occasion == (Occasion{}) && p.Addressed {
						opened = append(opened, OpenProposal{ID: "p" + p.Trigger.TS, TS: p.Trigger.TS, LapsesAt: w.now.Add(time.Duration(r.IntN(1000)) * time.Second)})
					}
					w.finish(opened...)
				}
			case 4:
				if len(w.s.Proposals) > 0 {
					p := w.s.Proposals[r.IntN(len(w.s.Proposals))]
					approved[p.ID] = true
					w.change(Approved, p.TS, p.ID)
					if r.IntN(4) == 0 {
						w.change(Overdue, p.TS, p.ID)
					}
				}
			case 5:
				if len(w.acts) > 0 {
					w.endAct(true)
				}
			case 6:
				w.apply(Tick{})
			case 7:
				if n > 0 && r.IntN(4) == 0 {
					gone := ts(1 + r.IntN(n))
					excused["p"+gone] = true
					w.change(Deleted, gone, "")
				}
			case 8:
				raw, err := json.Marshal(w.s)
				if err != nil {
					t.Fatal(err)
				}
				w.s = &State{}
				if err := json.Unmarshal(raw, w.s); err != nil {
					t.Fatal(err)
				}
			}
			if len(w.s.Untold) > 0 && w.s.Phase != Replying {
				t.Fatalf("not told: %+v", w.s)
			}
		}
		for range 200 { // everything ends
			switch {
			case len(w.acts) > 0:
				w.endAct(true)
			case w.work != nil:
				w.finish()
			default:
				w.now = w.now.Add(time.Hour)
				w.apply(Tick{})
			}
		}
		if w.s.busy() || w.s.Phase != Idle {
			t.Fatalf("in the end %+v", w.s)
		}
		for id, times := range w.acted {
			if times != 1 || !approved[id] {
				t.Errorf("%s: acted %d times, approved %v", id, times, approved[id])
			}
			if told := w.told["step/"+id]; told > 1 || told == 0 && !excused[id] {
				t.Errorf("%s: told %d times", id, told)
			}
		}
		for id := range approved {
			if w.acted[id] == 0 {
				t.Errorf("%s was approved and not acted on", id)
			}
		}
	})
}
