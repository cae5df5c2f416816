package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// promise is made in the thread of the first message and due in an hour.
func (db database) promise(id string) Promise {
	return Promise{
		Choice: Choice{ID: id, TeamID: team, ChannelID: channel, ThreadTS: at(1), TriggerTS: at(2), Decision: "run/" + id, Asker: "U1"},
		What:   "look",
		Zone:   "Asia/Tokyo",
		DueUS:  db.nowMicros() + time.Hour.Microseconds(),
	}
}

// made saves a promise, and shows it if ts is set.
func (db database) made(t *testing.T, p Promise, ts string) Promise {
	t.Helper()
	p, err := db.AddPromise(t.Context(), p, PromiseLimits{Conversation: 20})
	if err == nil && ts != "" {
		var shown []Promise
		if shown, err = db.ShowPromises(t.Context(), p.Decision, ts); len(shown) == 1 {
			p = shown[0]
		}
	}
	if err != nil || p.State != PromiseOpen || p.Number != 1 || p.FirstUS != p.DueUS || p.ShownTS != ts {
		t.Fatalf("made %+v, %v", p, err)
	}
	return p
}

// changesOf is the changes of promises that a conversation is told, newest last, as kind and revision.
func (db database) changesOf(t *testing.T, c chat.Conversation) (told []string) {
	t.Helper()
	for _, w := range db.pending(t, c) {
		if w.TS != at(2) {
			t.Errorf("the change is %+v", w.Change)
		}
		told = append(told, string(w.Kind)+" "+w.Revision)
	}
	return told
}

func TestAddPromise(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		first := db.made(t, db.promise("a"), "")
		other := db.promise("a")
		other.What, other.DueUS = "something else", 1
		if got, err := db.AddPromise(t.Context(), other, PromiseLimits{Conversation: 1}); err != nil || got != first {
			t.Errorf("its step once more: %+v, %v", got, err)
		}
		if _, err := db.AddPromise(t.Context(), db.promise("b"), PromiseLimits{Conversation: 1}); !errors.Is(err, ErrTooManyPromises) {
			t.Errorf("one too many: %v", err)
		}
		elsewhere := db.promise("c")
		elsewhere.ThreadTS = ""
		if _, err := db.AddPromise(t.Context(), elsewhere, PromiseLimits{Conversation: 1}); err != nil {
			t.Errorf("in another conversation: %v", err)
		}
		must(t, errOf(db.EndPromise(t.Context(), "a", 1, PromiseKept, "", time.Time{})))
		if _, err := db.AddPromise(t.Context(), db.promise("b"), PromiseLimits{Conversation: 1}); err != nil {
			t.Errorf("after another has ended: %v", err)
		}
		if _, err := db.Promise(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("no such promise: %v", err)
		}
	})
}

// The calls of one turn run side by side, and a worker that was taken for dead may still be at it.
func TestAddPromisesAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(1), ""))
		refused := 0
		for _, err := range concurrently(12, func(i int) error {
			_, err := db.AddPromise(t.Context(), db.promise(fmt.Sprint(i%6)), PromiseLimits{Conversation: 3})
			return err
		}) {
			if errors.Is(err, ErrTooManyPromises) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if n := db.count(t, "promises", "TRUE"); n != 3 || refused != 6 {
			t.Errorf("%d are made and %d calls refused, want 3 and 6", n, refused)
		}
	})
}

func TestEndPromise(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		registry := prometheus.NewRegistry()
		db.metrics = NewMetrics(registry)
		p := db.made(t, db.promise("a"), at(9))
		must(t, db.HoldPromises(t.Context(), p.Conversation(), p.Due().Add(time.Hour)))
		later, never := p.Due().Add(24*time.Hour), time.Time{}
		for _, step := range []struct {
			name   string
			number int
			state  PromiseState
			by     string
			next   time.Time
			// What it is then.
			open  PromiseState
			times int
			due   time.Time
		}{
			{"kept, and again", 1, PromiseKept, "", later, PromiseOpen, 2, later},
			{"recorded once more", 1, PromiseKept, "", later.Add(time.Hour), PromiseOpen, 2, later},
			{"not kept, and again", 2, PromiseFailed, "", later.Add(time.Hour), PromiseOpen, 3, later.Add(time.Hour)},
			{"skipped, and again", 3, PromiseCancelled, "silenced", later.Add(2 * time.Hour), PromiseOpen, 4, later.Add(2 * time.Hour)},
			{"settled, so that no next time counts", 4, PromiseReleased, "", later.Add(3 * time.Hour), PromiseReleased, 4, later.Add(2 * time.Hour)},
			{"ended before", 4, PromiseCancelled, "quiet", never, PromiseReleased, 4, later.Add(2 * time.Hour)},
		} {
			db.clock.advance(time.Second)
			got, err := db.EndPromise(t.Context(), p.ID, step.number, step.state, step.by, step.next)
			if err != nil || got.State != step.open || got.Number != step.times || !got.Due().Equal(step.due) || got.HeldUS != 0 || got.EndedBy != "" {
				t.Errorf("%s: %+v, %v", step.name, got, err)
			}
			if saved, err := db.Promise(t.Context(), p.ID); err != nil || saved != got {
				t.Errorf("%s: returned %+v, saved %+v, %v", step.name, got, saved, err)
			}
		}
		ended := counted(t, registry, "myao_promises_ended_total")
		if ended["kept"] != 1 || ended["failed"] != 1 || ended["released"] != 1 {
			t.Errorf("counted %v", ended)
		}
		if _, err := db.EndPromise(t.Context(), "none", 1, PromiseKept, "", never); !errors.Is(err, ErrNotFound) {
			t.Errorf("no such promise: %v", err)
		}
	})
}

func TestCancelPromise(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		registry := prometheus.NewRegistry()
		db.metrics = NewMetrics(registry)
		p := db.made(t, db.promise("a"), at(9))
		got, first, targets, err := db.CancelPromise(t.Context(), p.ID, "slack:U2")
		if err != nil || !first || got.State != PromiseCancelled || got.EndedBy != "slack:U2" || got.EndedUS == 0 || !slices.Equal(targets, []Target{{Conversation: p.Conversation(), Awaited: true}}) {
			t.Errorf("cancelled: %+v, %v, %v, %v", got, first, targets, err)
		}
		if got, first, targets, err := db.CancelPromise(t.Context(), p.ID, "slack:U3"); err != nil || first || got.EndedBy != "slack:U2" || targets != nil {
			t.Errorf("a second click: %+v, %v, %v, %v", got, first, targets, err)
		}
		if got, moved, targets, err := db.MovePromise(t.Context(), p.ID, noon, "slack:U3"); err != nil || moved || got.DueUS != p.DueUS || targets != nil {
			t.Errorf("moved: %+v, %v, %v, %v", got, moved, targets, err)
		}
		changes := db.pending(t, p.Conversation())
		if want := (conversation.Change{TS: at(2), Kind: conversation.Cancelled, Revision: p.ID, By: "slack:U2", Author: "U1"}); len(changes) != 1 || changes[0].Change != want {
			t.Errorf("told %+v, want %+v", changes, want)
		}
		if ended := counted(t, registry, "myao_promises_ended_total"); ended["cancelled"] != 1 {
			t.Errorf("counted %v", ended)
		}
		if _, _, _, err := db.CancelPromise(t.Context(), "none", "slack:U2"); !errors.Is(err, ErrNotFound) {
			t.Errorf("no such promise: %v", err)
		}
	})
}

// Either a promise is cancelled, and its conversation told, or it has ended in the ordinary way.
func TestCancelWhileItEnds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for i := range 10 {
			p := db.promise(fmt.Sprint(i))
			p.ThreadTS = at(10 + i)
			p = db.made(t, p, at(9))
			cancelled := false
			noErrors(t, concurrently(2, func(i int) (err error) {
				if i == 0 {
					_, cancelled, _, err = db.CancelPromise(t.Context(), p.ID, "slack:U2")
				} else {
					_, err = db.EndPromise(t.Context(), p.ID, 1, PromiseKept, "", time.Time{})
				}
				return err
			}))
			want, told := PromiseKept, 0
			if cancelled {
				want, told = PromiseCancelled, 1
			}
			if got, err := db.Promise(t.Context(), p.ID); err != nil || got.State != want {
				t.Errorf("cancelled %v: %+v, %v", cancelled, got, err)
			}
			if changes := db.pending(t, p.Conversation()); len(changes) != told {
				t.Errorf("cancelled %v: told %+v", cancelled, changes)
			}
		}
	})
}

// An unmute of a thread ends what holds up its promises, and those of no other, as in its workflow.
func TestUnmuteEndsHold(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := db.promise("other")
		other.ThreadTS = at(7)
		all := []Promise{db.made(t, db.promise("a"), at(9)), db.made(t, other, at(9))}
		for _, p := range all {
			must(t, db.HoldPromises(t.Context(), p.Conversation(), p.Due().Add(time.Hour)))
		}
		must(t, db.ApplyOrder(t.Context(), Order{ID: "1", Scope: chat.Scope(all[0].Conversation()), Kind: conversation.UpdateUnmute}))
		for i, p := range all {
			if got, err := db.Promise(t.Context(), p.ID); err != nil || got.Held().IsZero() != (i == 0) {
				t.Errorf("%s is held until %s, %v", p.ID, got.Held(), err)
			}
		}
	})
}

func TestMovePromise(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := db.made(t, db.promise("a"), at(9))
		must(t, db.HoldPromises(t.Context(), p.Conversation(), p.Due().Add(time.Hour)))
		early, late := micros(noon.Add(30*time.Minute)), micros(noon.Add(5*time.Hour))
		for _, move := range []struct {
			name    string
			due     int64
			want    int64
			targets int
		}{
			{"to earlier", early, early, 1},
			{"to the same time", early, early, 0},
			{"away", late, late, 1},
			{"back", early, early + 1, 1}, // so that the change is not one that the conversation has had
			{"away once more", late, late + 1, 1},
		} {
			got, moved, targets, err := db.MovePromise(t.Context(), p.ID, instant(move.due), "slack:U2")
			if err != nil || !moved || got.DueUS != move.want || got.HeldUS != 0 || got.FirstUS != p.FirstUS || len(targets) != move.targets {
				t.Errorf("%s: %+v, %v, %v, %v", move.name, got, moved, targets, err)
			}
			if saved, err := db.Promise(t.Context(), p.ID); err != nil || saved != got {
				t.Errorf("%s: returned %+v, saved %+v, %v", move.name, got, saved, err)
			}
		}
		var want []string
		for _, us := range []int64{early, late, early + 1, late + 1} {
			want = append(want, fmt.Sprintf("moved a/1/%d", us))
		}
		if got := db.changesOf(t, p.Conversation()); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		if c := db.pending(t, p.Conversation())[0]; c.By != "slack:U2" || c.Author != "U1" {
			t.Errorf("the change is %+v", c.Change)
		}
		if _, _, _, err := db.MovePromise(t.Context(), "none", noon, "slack:U2"); !errors.Is(err, ErrNotFound) {
			t.Errorf("no such promise: %v", err)
		}
	})
}

func TestHandOverPromises(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p, held, ended, lost := db.made(t, db.promise("a"), at(9)), db.promise("held"), db.made(t, db.promise("ended"), at(9)), db.made(t, db.promise("lost"), "")
		held.ThreadTS = "" // another conversation
		held = db.made(t, held, at(9))
		must(t, db.HoldPromises(t.Context(), held.Conversation(), held.Due().Add(10*time.Hour)))
		must(t, errOf(db.EndPromise(t.Context(), ended.ID, 1, PromiseReleased, "", time.Time{})))
		told := map[string][]string{}
		handsOver := func(when string, of ...Promise) {
			t.Helper()
			targets, err := db.HandOverPromises(t.Context())
			if err != nil || len(targets) != len(of) {
				t.Fatalf("%s: handed over %v, %v; want %d", when, targets, err, len(of))
			}
			for i, p := range of {
				id := p.Conversation().ID()
				told[id] = append(told[id], fmt.Sprintf("due %s/%d/%d", p.ID, p.Number, p.DueUS))
				if targets[i] != (Target{Conversation: p.Conversation()}) {
					t.Errorf("%s: told is %+v", when, targets[i])
				}
				if got := db.changesOf(t, p.Conversation()); !slices.Equal(got, told[id]) {
					t.Errorf("%s: told %q, want %q", when, got, told[id])
				}
			}
		}
		counts := func(when string, want PromiseCounts) {
			t.Helper()
			if got, err := db.CountPromises(t.Context()); err != nil || got.Open != want.Open || got.Late != want.Late || !got.Oldest.Equal(want.Oldest) {
				t.Errorf("%s: counted %+v, %v; want %+v", when, got, err, want)
			}
		}
		db.clock.advance(time.Hour + overdueAfter)
		handsOver("not late yet")
		counts("not late yet", PromiseCounts{Open: 2})
		db.clock.advance(time.Millisecond)
		counts("late", PromiseCounts{Open: 2, Late: 1, Oldest: p.Due()})
		handsOver("late", p)
		handsOver("late, once more")
		p, err := db.EndPromise(t.Context(), p.ID, 1, PromiseKept, "", p.Due().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		db.clock.advance(time.Hour)
		handsOver("late for its second time", p)
		db.clock.advance(9*time.Hour - time.Millisecond)
		handsOver("held until five minutes ago")
		db.clock.advance(time.Millisecond)
		counts("long after", PromiseCounts{Open: 2, Late: 2, Oldest: p.Due()})
		handsOver("no longer held", held)
		if got, err := db.Promise(t.Context(), lost.ID); err != nil || got.State != PromiseOpen {
			t.Errorf("its reply may yet be posted: %+v, %v", got, err)
		}
		db.clock.advance(unshownPromises)
		handsOver("a day later")
		if got, err := db.Promise(t.Context(), lost.ID); err != nil || got.State != PromiseWithdrawn || got.EndedUS == 0 {
			t.Errorf("its reply was never posted: %+v, %v", got, err)
		}
	})
}

func TestPromisesAreListed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for i, p := range []struct{ id, channel, thread, shown string }{
			{"a", "C1", at(1), at(9)}, {"b", "C1", "", at(9)}, {"c", "C2", "", at(9)}, {"hidden", "C1", at(1), ""}, {"ended", "C1", at(1), at(9)},
		} {
			row := db.promise(p.id)
			row.ChannelID, row.ThreadTS = p.channel, p.thread
			if p.id == "a" {
				row.Asker = "U2"
			}
			row.DueUS -= int64(i) * 1e6 // those made first are due last
			db.made(t, row, p.shown)
			db.clock.advance(time.Millisecond)
		}
		must(t, errOf(db.EndPromise(t.Context(), "ended", 1, PromiseKept, "", time.Time{})))
		for name, test := range map[string]struct {
			filter ChoiceFilter
			want   []string
		}{
			"due first":   {ChoiceFilter{Team: team, Limit: 10}, []string{"c", "b", "a"}},
			"newest":      {ChoiceFilter{Team: team, All: true, Limit: 10}, []string{"ended", "c", "b", "a"}},
			"a few":       {ChoiceFilter{Team: team, Limit: 1}, []string{"c"}},
			"a channel":   {ChoiceFilter{Team: team, Channel: "C1", Limit: 10}, []string{"b", "a"}},
			"a thread":    {ChoiceFilter{Team: team, Channel: "C1", Thread: at(1), Limit: 10}, []string{"a"}},
			"a top level": {ChoiceFilter{Team: team, Channel: "C1", TopLevel: true, Limit: 10}, []string{"b"}},
			"of channels": {ChoiceFilter{Team: team, Channels: []string{"C2", "C3"}, Limit: 1}, []string{"c"}},
			"of none":     {ChoiceFilter{Team: team, Channels: []string{}, Limit: 10}, nil},
			"of somebody": {ChoiceFilter{Team: team, Asker: "U2", Limit: 1}, []string{"a"}},
			"elsewhere":   {ChoiceFilter{Team: "T2", Limit: 10}, nil},
		} {
			rows, err := db.Promises(t.Context(), test.filter)
			if got := mapRows(rows, func(p Promise) string { return p.ID }); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
			}
		}
		of, err := db.PromisesOf(t.Context(), "run/hidden", "run/a")
		if got := mapRows(of, func(p Promise) string { return p.ID }); err != nil || !slices.Equal(got, []string{"a", "hidden"}) {
			t.Errorf("of decisions: %q, %v", got, err)
		}
	})
}

// Each mention opens a conversation of its own, and a person may ask in many channels: promises are counted for who
// asks, and for the channel.
func TestPromiseLimits(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.insert(t, &userRow{TeamID: team, UserID: "U1", Name: "Ann"}, &userRow{TeamID: team, UserID: "U3", Name: "Bo"}, &userRow{TeamID: team, UserID: "UGUEST", GuestUS: 1},
			&userRow{TeamID: team, UserID: "USTRANGER", Stranger: true})
		most, made := PromiseLimits{Conversation: 2, Channel: 4, Person: 3, Guest: 1}, 0
		add := func(asker, channel string) (Promise, error) {
			made++
			p := db.promise(fmt.Sprint(made))
			p.Asker, p.ChannelID, p.ThreadTS = asker, channel, at(made) // of another mention each
			return db.AddPromise(t.Context(), p, most)
		}
		for i, c := range []struct {
			asker, channel string
			want           TooManyPromises
		}{
			{"U1", "C1", TooManyPromises{}}, {"U1", "C2", TooManyPromises{}}, {"U1", "D1", TooManyPromises{}}, {"U1", "C1", TooManyPromises{Limit: 3}},
			{"UGUEST", "C1", TooManyPromises{}}, {"UGUEST", "C2", TooManyPromises{Limit: 1}},
			{"USTRANGER", "C2", TooManyPromises{}}, {"USTRANGER", "C1", TooManyPromises{Limit: 1}},
			{"U3", "C1", TooManyPromises{}}, {"U3", "C1", TooManyPromises{}}, {"U3", "C1", TooManyPromises{Limit: 4, Channel: true}}, {"U3", "C2", TooManyPromises{}},
			{"UNEVERDESCRIBED", "C2", TooManyPromises{}}, {"UNEVERDESCRIBED", "D2", TooManyPromises{Limit: 1}},
		} {
			_, err := add(c.asker, c.channel)
			if full, _ := errors.AsType[TooManyPromises](err); full != c.want || errors.Is(err, ErrTooManyPromises) != (c.want.Limit > 0) {
				t.Errorf("%d, %s in %s: %v, want %+v", i, c.asker, c.channel, err, c.want)
			}
		}
		must(t, errOf(db.EndPromise(t.Context(), "1", 1, PromiseKept, "", time.Time{})))
		if _, err := add("U1", "D1"); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		here := db.promise("here")
		here.Asker, here.ChannelID = "U8", "C8"
		db.insert(t, &userRow{TeamID: team, UserID: "U8"})
		for i := range 3 {
			here.ID = fmt.Sprint("here", i)
			_, err := db.AddPromise(t.Context(), here, most)
			if full, _ := errors.AsType[TooManyPromises](err); (full == TooManyPromises{Limit: 2, Conversation: true}) != (i == 2) {
				t.Errorf("in one conversation, %d: %v", i, err)
			}
		}
	})
}

// A conversation that is lost again after it was told is told again, an hour later.
func TestLostAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(1), ""), said(at(2), at(1)))
		late := db.made(t, db.promise("a"), at(9))
		proposed := db.propose(t, "run/1", at(2), false)
		tells := func(when string, want int) {
			t.Helper()
			promises, err := db.HandOverPromises(t.Context())
			if err != nil || len(promises) != want {
				t.Errorf("%s: promises are handed over to %v, %v; want %d", when, promises, err, want)
			}
			proposals, err := db.HandOverProposals(t.Context())
			if err != nil || len(proposals) != want {
				t.Errorf("%s: proposals are handed over to %v, %v; want %d", when, proposals, err, want)
			}
			if want > 0 {
				if waits := db.pending(t, late.Conversation()); len(waits) != 2 {
					t.Errorf("%s: to be relayed are %+v", when, waits)
				}
			}
		}
		db.clock.advance(2 * time.Hour)
		tells("late", 1)
		tells("once more", 0)
		db.clock.advance(2 * time.Hour)
		tells("not relayed yet", 0)
		db.exec(t, "UPDATE changes SET relayed_us = ?", db.nowMicros())
		db.clock.advance(handOverAgain - time.Second)
		tells("relayed lately", 0)
		db.clock.advance(time.Second)
		tells("lost again", 1)
		tells("lost again, once more", 0)
		db.exec(t, "UPDATE changes SET relayed_us = ?", db.nowMicros())
		db.clock.advance(handOverAgain)
		must(t, errOf(db.EndPromise(t.Context(), late.ID, 1, PromiseKept, "", time.Time{})))
		must(t, errOf(db.CloseProposal(t.Context(), proposed.ID, ProposalLapsed)))
		tells("ended", 0)
	})
}
