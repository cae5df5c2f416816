package store

import (
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// snapshot keeps what a decision of C1 has read by now: two messages, and a note.
func (db database) snapshot(t *testing.T, decision string) {
	t.Helper()
	must(t, db.SaveSnapshot(t.Context(), Snapshot{
		Decision: decision, Team: team, Channel: channel, Messages: []chat.Message{said(at(1), ""), said(at(2), at(1))}, Notes: []string{at(0)}, Read: db.clock.now(), Data: []byte(decision),
	}))
}

// lease is the key of what is leased; "" for nothing.
func (db database) lease(t *testing.T, by string) string {
	t.Helper()
	got, err := db.LeaseSnapshot(t.Context(), by, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got == nil {
		return ""
	}
	if got.Team != team || got.Channel != channel || string(got.Data) != got.Decision || !got.Read.Before(db.clock.now().Add(time.Second)) {
		t.Errorf("leased is %+v", got)
	}
	return got.Decision
}

func TestLeaseSnapshot(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(0), ""), said(at(1), ""), said(at(2), at(1)))
		for _, key := range []string{"one", "two", "one"} {
			db.snapshot(t, key)
			db.clock.advance(time.Second)
		}
		want := func(step, by, key string) {
			t.Helper()
			if got := db.lease(t, by); got != key {
				t.Errorf("%s: %q is leased, want %q", step, got, key)
			}
		}
		want("the oldest", "a", "one")
		want("another run", "b", "two")
		want("nothing is free", "c", "")
		want("its own again, after a crash", "a", "one")
		must(t, db.PutOffSnapshot(t.Context(), "one", time.Hour))
		want("put off", "a", "")
		db.clock.advance(2 * time.Minute)
		want("the lease is over", "a", "two")
		must(t, db.DropSnapshot(t.Context(), "two"))
		db.clock.advance(time.Hour)
		if got, err := db.LeaseSnapshot(t.Context(), "c", time.Minute); err != nil || got == nil || got.Decision != "one" || got.Attempts != 3 {
			t.Errorf("leased is %+v, %v; want it for the third time", got, err)
		}
		if n, err := db.CountSnapshots(t.Context(), team); n != 1 || err != nil {
			t.Errorf("%d are left, %v", n, err)
		}
	})
}

// Nobody is asked about what was deleted, edited or forgotten meanwhile, nor about what is too old.
func TestSnapshotsThatMustNotBeUsed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		deleted, edited, note := said(at(2), at(1)), said(at(1), ""), said(at(0), "")
		deleted.Deleted, note.Deleted, edited.Revision = true, true, at(60)
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"})
		for name, change := range map[string]func(){
			"deleted":           func() { db.store(t, deleted) },
			"edited":            func() { db.store(t, edited) },
			"a note's message":  func() { db.store(t, note) },
			"a missing message": func() { db.exec(t, "DELETE FROM messages WHERE ts = ?", at(1)) },
			"a forgotten memory": func() { // of another channel, which may be in it
				must(t, errOf(db.Forget(t.Context(), chat.Scope{Team: team, Channel: "C2"}, operator, "f1")))
			},
			"a forgotten person": func() {
				must(t, db.ForgetPerson(t.Context(), chat.Person{Team: team, User: "U9"}, operator, "f2", noStep))
			},
			"a note taken back": func() {
				n, err := db.AddNote(t.Context(), team, channel, "step", chat.Note{TS: at(0), Text: "x"})
				if err != nil {
					t.Fatal(err)
				}
				if found, err := db.ForgetNote(t.Context(), theChannel, n.ID, "s", operator); err != nil || !found {
					t.Fatal(found, err)
				}
			},
			"a day": func() { db.clock.advance(maxSnapshotAge + time.Second) },
		} {
			db.exec(t, "DELETE FROM messages")
			db.store(t, said(at(0), ""), said(at(1), ""), said(at(2), at(1)))
			db.clock.advance(time.Hour) // beyond the skew of clocks
			db.snapshot(t, name)
			if got := db.lease(t, "a"); got != name {
				t.Errorf("%s: before it %q is leased", name, got)
			}
			var late []snapshotRow // as if it were saved by a judgment that has read before
			must(t, db.db.Find(&late).Error)
			change()
			db.exec(t, "DELETE FROM snapshots")
			db.insert(t, &late)
			if got, left := db.lease(t, "a"), db.count(t, "snapshots", "TRUE"); got != "" || left > 0 {
				t.Errorf("%s: %q is leased, %d are left", name, got, left)
			}
		}
		db.store(t, said(at(0), ""), said(at(1), ""), said(at(2), at(1)))
		db.snapshot(t, "x")
		must(t, errOf(db.Forget(t.Context(), chat.Scope{Team: team, Channel: "C2"}, operator, "f3")))
		if n := db.count(t, "snapshots", "TRUE"); n > 0 {
			t.Errorf("%d snapshots outlast what was forgotten", n)
		}
	})
}

// A judge has one opinion about a decision, and none about what was forgotten while it was asked.
func TestOpinions(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(0), ""), said(at(1), ""), said(at(2), at(1)))
		confidence := 0.8
		for _, key := range []string{"one", "two"} {
			db.insert(t, &Decision{Key: key, WorkflowID: "channel/T1/C1", Source: "judgment", Confidence: &confidence, Outcome: conversation.Silent, DecidedUS: micros(db.clock.now())})
			db.snapshot(t, key)
			db.clock.advance(time.Second)
		}
		give := func(decision, judge, reason string) bool {
			t.Helper()
			there, err := db.SaveOpinion(t.Context(), Opinion{TeamID: team, ChannelID: channel, Decision: decision, Judge: judge, Reason: reason, Confidence: &confidence})
			if err != nil {
				t.Fatal(err)
			}
			db.clock.advance(time.Second)
			return there
		}
		if !give("two", "a", "first") || !give("two", "a", "again") || !give("two", "b", "other") || !give("one", "a", "older") {
			t.Error("a snapshot is said to be gone")
		}
		must(t, db.DropSnapshot(t.Context(), "one"))
		if give("one", "b", "too late") {
			t.Error("saved without a snapshot")
		}
		if got, err := db.LatestOpinions(t.Context(), "channel/T1/C1"); err != nil || len(got) != 2 || got[0].Reason != "first" || got[1].Reason != "other" {
			t.Errorf("about the latest: %+v, %v", got, err)
		}
		all, err := db.ComparedOpinions(t.Context(), OpinionFilter{Team: team, Channel: channel})
		if err != nil || len(all) != 3 || all[0].Reason != "older" || all[0].About.Key != "one" || *all[2].About.Confidence != confidence {
			t.Errorf("compared: %+v, %v", all, err)
		}
		if since, err := db.ComparedOpinions(t.Context(), OpinionFilter{Team: team, Since: all[1].Given()}); err != nil || len(since) != 2 {
			t.Errorf("compared since then: %+v, %v", since, err)
		}
		if none, err := db.ComparedOpinions(t.Context(), OpinionFilter{Team: team, Channel: "C2"}); err != nil || len(none) != 0 {
			t.Errorf("of another channel: %+v, %v", none, err)
		}
		// They go with their decisions, and what nobody was asked about after a day.
		db.clock.advance(48 * time.Hour)
		if gone := db.prune(t, Cutoffs{}); gone["snapshots"] != 1 || gone["opinions"] != 0 {
			t.Errorf("pruned: %v", gone)
		}
		if gone := db.prune(t, Cutoffs{Ledger: db.clock.now()}); gone["decisions"] != 2 || gone["opinions"] != 3 {
			t.Errorf("pruned with the ledger: %v", gone)
		}
	})
}

// What the judges of shadow cost counts for no channel's budget.
func TestShadowSpendsNoChannelsBudget(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for _, purpose := range []string{"judgment", purposeShadow, purposeShadow} {
			must(t, db.SaveCall(t.Context(), Call{Scope: theChannel, Purpose: purpose, TokensIn: 10}))
		}
		calls, tokens, err := db.Spent(t.Context(), team, channel, noon)
		each, errEach := db.SpentByChannel(t.Context(), team, noon)
		shadow, errShadow := db.SpentOnShadow(t.Context(), noon)
		if calls != 1 || tokens != 10 || err != nil || each[channel].Calls != 1 || errEach != nil || shadow != (Spending{2, 20}) || errShadow != nil {
			t.Errorf("the channel %d calls and %d tokens, by channel %v, shadow %v: %v, %v, %v", calls, tokens, each, shadow, err, errEach, errShadow)
		}
		if later, err := db.SpentOnShadow(t.Context(), noon.Add(time.Second)); err != nil || later.Calls != 0 {
			t.Errorf("since later: %v, %v", later, err)
		}
	})
}
