package store

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func TestPendingChangesAreInOrderOfTSThenOfArrival(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread := said("5.000000", "") // a short ts, which does not sort as a string
		add := func(ts string, kind conversation.Kind, revision string) {
			m := said(ts, thread.TS)
			m.Revision = revision
			db.record(t, m, keep(m, kind))
		}
		add("20.000000", conversation.Said, "")
		add("9.000000", conversation.Edited, "11.000000")
		add("9.000000", conversation.Said, "")
		add("9.5", conversation.Said, "")
		add("9.000000", conversation.Deleted, "")
		c := chat.Conversation{Team: team, Channel: channel, Thread: thread.TS}
		got := mapRows(db.pending(t, c), func(w PendingChange) string { return w.Change.ID() })
		want := []string{"9.000000/edited/11.000000", "9.000000/said/", "9.000000/deleted/", "9.5/said/", "20.000000/said/"}
		if !slices.Equal(got, want) {
			t.Errorf("waiting: %q\nwant     %q", got, want)
		}
		first, err := db.PendingChanges(t.Context(), c.ID(), 2)
		if err != nil || len(first) != 2 || first[0].Change.ID() != want[0] {
			t.Errorf("limit 2: %v, %v", first, err)
		}
		if other := db.pending(t, chat.Conversation{Team: team, Channel: channel}); len(other) != 0 {
			t.Errorf("at the top level waits %v", other)
		}
	})
}

// claim claims a conversation for 30 seconds, and returns the ids of its pending changes.
func (db database) claim(t *testing.T, c chat.Conversation, relay string) (ids []int64) {
	t.Helper()
	taken, err := db.Claim(t.Context(), c.ID(), relay, db.clock.now().Add(30*time.Second), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range taken {
		ids = append(ids, w.ID)
	}
	return ids
}

func (db database) release(t *testing.T, c chat.Conversation, relay string, more bool) {
	t.Helper()
	if got, err := db.Release(t.Context(), c.ID(), relay); err != nil || got != more {
		t.Errorf("released by %s: more waits %v, %v; want %v", relay, got, err, more)
	}
}

func TestClaimReturnsPendingChanges(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(5), at(1))
		later := conversation.Change{TS: m.TS, Kind: conversation.Edited, Revision: at(9), FollowUp: true, Named: true, By: "slack:U1"}
		db.record(t, m, func(Known) Entry {
			return Entry{Message: &m, Changes: []Change{{Conversation: of(m), Change: later, Trace: "00-1-2-01"}}}
		})
		for _, n := range []int{4, 3} {
			m := said(at(n), at(1))
			db.record(t, m, keep(m, conversation.Said))
		}
		want := db.pending(t, of(m))
		if len(want) != 3 || want[2].Change != later || want[2].Trace != "00-1-2-01" {
			t.Fatalf("waiting: %+v", want)
		}
		got, err := db.Claim(t.Context(), of(m).ID(), "a", noon.Add(time.Minute), 5)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("taken %+v, %v\nwant  %+v", got, err, want)
		}
		if got, err := db.Claim(t.Context(), of(m).ID(), "a", noon.Add(time.Minute), 2); err != nil || !slices.Equal(got, want[:2]) {
			t.Errorf("taken %+v, %v\nwant  the first two", got, err)
		}
	})
}

func TestClaimIsExclusiveUntilItEnds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		db.record(t, m, keep(m, conversation.Said))
		c := of(m)
		take := func(relay string, want bool, why string) {
			t.Helper()
			if got := db.claim(t, c, relay); (len(got) == 1) != want {
				t.Errorf("%s: taken %v; want %v", why, got, want)
			}
		}
		take("a", true, "free")
		take("b", false, "another's")
		take("a", true, "renewed")
		db.release(t, c, "b", false)
		take("b", false, "released by somebody whose it was not")
		db.clock.advance(30 * time.Second)
		take("b", false, "to the last instant")
		db.clock.advance(time.Microsecond)
		take("b", true, "its relay is dead")
		take("a", false, "lost to b")
		db.release(t, c, "a", false)
		take("a", false, "released by its former holder")
		db.release(t, c, "b", true)
		take("a", true, "released")
	})
}

func TestClaimOfNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		db.store(t, m)
		if got := db.claim(t, of(m), "a"); got != nil {
			t.Errorf("taken %v without a change", got)
		}
		db.wantRows(t, 0, "conversations", "TRUE")
		db.release(t, of(m), "a", false)
		db.record(t, m, keep(m, conversation.Edited))
		ids := db.claim(t, of(m), "a")
		if err := db.MarkRelayed(t.Context(), ids); len(ids) != 1 || err != nil {
			t.Fatal(ids, err)
		}
		db.release(t, of(m), "a", false)
		if got := db.claim(t, of(m), "b"); got != nil {
			t.Errorf("taken %v, which was relayed", got)
		}
		// Now b does not hold it.
		db.record(t, m, keep(m, conversation.Deleted))
		if got := db.claim(t, of(m), "a"); len(got) != 1 {
			t.Errorf("taken %v, want the deletion", got)
		}
	})
}

// A relay that finds the conversation leased gives up; Release reports its change.
func TestReleaseReportsNewChanges(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m, next := said(at(1), ""), said(at(2), "")
		db.record(t, m, keep(m, conversation.Said))
		ids := db.claim(t, of(m), "a")
		other := said(at(3), at(1))
		for _, m := range []chat.Message{next, other} {
			db.record(t, m, keep(m, conversation.Said))
		}
		if got := db.claim(t, of(m), "b"); got != nil {
			t.Errorf("taken %v from another relay", got)
		}
		must(t, db.MarkRelayed(t.Context(), ids))
		db.release(t, of(m), "a", true)
		must(t, db.MarkRelayed(t.Context(), db.claim(t, of(m), "b")))
		db.release(t, of(m), "b", false) // whatever is pending elsewhere
	})
}

func TestOneOfRacingRelaysClaims(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		other.now = db.clock.now
		m := said(at(1), "")
		db.record(t, m, keep(m, conversation.Said))
		for round := range 10 { // the first one inserts the conversation's row
			var won atomic.Int32
			noErrors(t, concurrently(8, func(i int) error {
				taken, err := []*Store{db.Store, other}[i%2].Claim(t.Context(), of(m).ID(), fmt.Sprint(round, i), db.clock.now().Add(time.Second), 5)
				if len(taken) > 0 {
					won.Add(1)
				}
				return err
			}))
			if won.Load() != 1 {
				t.Fatalf("round %d: %d have taken it, want 1", round, won.Load())
			}
			db.clock.advance(2 * time.Second)
		}
	})
}

func TestBacklog(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		backlog := func(limit int) []string {
			t.Helper()
			left, err := db.Backlog(t.Context(), limit)
			if err != nil {
				t.Fatal(err)
			}
			return workflowIDs(left)
		}
		size := func(count int, oldest time.Time) {
			t.Helper()
			n, since, err := db.BacklogSize(t.Context())
			if err != nil || n != count || !since.Equal(oldest) || since.Location() != time.UTC {
				t.Errorf("backlog of %d since %v, %v; want %d since %v", n, since, err, count, oldest)
			}
		}
		size(0, time.Time{})
		if got := backlog(10); len(got) != 0 {
			t.Errorf("backlog of an empty database: %v", got)
		}
		// The longest wait comes first, whatever the messages' times.
		late, early := said(at(9), at(8)), said(at(3), at(2))
		for _, m := range []chat.Message{late, early, said(at(10), at(8))} {
			db.record(t, m, keep(m, conversation.Said))
			db.clock.advance(time.Second)
		}
		size(3, noon)
		if got, want := backlog(10), []string{of(late).ID(), of(early).ID()}; !reflect.DeepEqual(got, want) {
			t.Errorf("backlog %v, want %v", got, want)
		}
		if got := backlog(1); len(got) != 1 || got[0] != of(late).ID() {
			t.Errorf("backlog %v, want the oldest", got)
		}
		if taken := db.claim(t, of(late), "a"); len(taken) != 2 {
			t.Fatalf("taken %v", taken)
		}
		if got := backlog(10); len(got) != 1 || got[0] != of(early).ID() {
			t.Errorf("backlog with a relay at work: %v", got)
		}
		db.clock.advance(2 * time.Minute)
		if got := backlog(10); len(got) != 2 {
			t.Errorf("backlog after the relay's death: %v", got)
		}
		for _, m := range []chat.Message{late, early} {
			for _, w := range db.pending(t, of(m)) {
				must(t, db.MarkRelayed(t.Context(), []int64{w.ID}))
			}
		}
		size(0, time.Time{})
		if got := backlog(10); len(got) != 0 {
			t.Errorf("backlog with nothing waiting: %v", got)
		}
	})
}

// workflowIDs is the workflow ids of a backlog.
func workflowIDs(left []BacklogItem) []string {
	return mapRows(left, func(l BacklogItem) string { return l.WorkflowID })
}

// A busy channel does not fill the backlog: channels alternate, each in the order of its waiting,
// except that people who addressed the bot come first.
func TestBacklogAlternatesChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		n := 0
		add := func(channel, thread string, kind conversation.Kind) string {
			n++
			m := said(at(n), thread)
			m.Channel = channel
			db.record(t, m, keep(m, kind))
			return of(m).ID()
		}
		var storm []string
		for i := range 10 {
			storm = append(storm, add("C1", at(100+i), conversation.Said))
		}
		storm = append(storm, add("C1", "", conversation.Said)) // the top level counts as the same channel
		other, next := add("C10", at(200), conversation.Said), add("C10", at(201), conversation.Said)
		third := add("C2", "", conversation.Said)
		waiting := func(id string) []PendingChange {
			t.Helper()
			c, err := chat.ParseConversation(id)
			if err != nil {
				t.Fatal(err)
			}
			return db.pending(t, c)
		}
		backlog := func(limit int, want ...string) {
			t.Helper()
			left, err := db.Backlog(t.Context(), limit)
			if err != nil || !slices.Equal(workflowIDs(left), want) {
				t.Errorf("backlog %v, %v\nwant    %v", left, err, want)
			}
			for _, l := range left {
				if want := slices.ContainsFunc(waiting(l.WorkflowID), func(w PendingChange) bool { return w.Kind == conversation.Addressed }); l.Addressed != want {
					t.Errorf("%+v, want addressed: %v", l, want)
				}
			}
		}
		backlog(7, storm[0], other, third, storm[1], next, storm[2], storm[3])
		all := slices.Concat([]string{storm[0], other, third, storm[1], next}, storm[2:])
		backlog(100, all...)

		asked, again := add("C1", at(300), conversation.Addressed), add("C1", at(301), conversation.Addressed)
		late := add("C3", at(400), conversation.Addressed)
		backlog(8, asked, late, other, third, again, next, storm[0], storm[1])
		add("C10", at(201), conversation.Addressed) // an earlier message
		backlog(5, next, asked, late, third, again)
		must(t, db.MarkRelayed(t.Context(), []int64{waiting(asked)[0].ID}))
		backlog(4, next, again, late, third)
	})
}

// The cost of Backlog depends on how many conversations have pending changes, not on how many
// changes each has.
func TestBacklogStepsFromConversationToConversation(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	const conversations, each = 20, 500
	var rows []changeRow
	for i := range conversations * each {
		c := chat.Conversation{Team: team, Channel: channel, Thread: at(i % conversations)}
		rows = append(rows, changeRow{WorkflowID: c.ID(), TS: at(i), SentUS: int64(i), Kind: "said"})
	}
	relayed := int64(1)
	for i := range conversations * each { // those that addressed the bot and were relayed have another index
		rows = append(rows, changeRow{WorkflowID: "thread/relayed", TS: at(i), SentUS: int64(i), Kind: "addressed", RelayedUS: &relayed})
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
	db.analyze(t)
	for _, st := range db.statements(t, func(ctx context.Context, s *Store) error {
		left, err := s.Backlog(ctx, 2*conversations)
		if len(left) != conversations {
			t.Errorf("%d wait, want %d", len(left), conversations)
		}
		return err
	}) {
		plan := db.explain(t, st.sql, st.vars)
		if !strings.Contains(plan, "changes_addressed") {
			t.Errorf("those that address the bot are looked for without their index:\n%s", plan)
		}
		for _, step := range regexp.MustCompile(`actual rows=(\d+) loops=(\d+)`).FindAllStringSubmatch(plan, -1) {
			rows, _ := strconv.Atoi(step[1])
			loops, _ := strconv.Atoi(step[2])
			if rows*loops > 2*conversations {
				t.Fatalf("a step reads %d rows:\n%s", rows*loops, plan)
			}
		}
	}
}
