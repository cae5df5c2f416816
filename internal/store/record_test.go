package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// newRecording is a recording as Record makes it.
func newRecording(ctx context.Context, m chat.Message, decide func(Known) Entry) *recording {
	return &recording{
		ctx: ctx, message: m, key: rowKey(m.Team, m.Channel, m.TS), decide: decide, first: decide(Known{}), done: make(chan struct{}),
	}
}

// newRecordings is recordings of n messages from the i-th on, in ten channels, every second one in
// a thread.
func newRecordings(t *testing.T, i, n int) (group []*recording) {
	for range n {
		m := said(at(i), "")
		m.Channel = fmt.Sprint("C", i%10)
		if i%2 == 1 {
			m.ThreadTS = at(-1 - i%6)
		}
		group = append(group, newRecording(t.Context(), m, keep(m, conversation.Said)))
		i++
	}
	return group
}

// Record needs four statements, whatever the number of messages and whatever was recorded before.
func TestStatementsOfRecord(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(-1), ""))
		count := func(name string, want int, run func(ctx context.Context, s *Store) error) {
			t.Helper()
			statements := db.statements(t, run)
			if len(statements) != want {
				t.Errorf("%s: %d statements, want %d", name, len(statements), want)
			}
			for _, st := range statements {
				if len(st.vars) > 4 {
					t.Errorf("%s: the text of a statement depends on how much it is about: %d arguments of %s", name, len(st.vars), st.sql)
				}
			}
		}
		record := func(m chat.Message, decide func(Known) Entry) func(context.Context, *Store) error {
			return func(ctx context.Context, s *Store) error { return errOf(s.Record(ctx, m, decide)) }
		}
		commit := func(group []*recording) func(context.Context, *Store) error {
			return func(ctx context.Context, s *Store) error { return s.commit(ctx, group) }
		}
		top, reply := said(at(100), ""), said(at(201), at(-1))
		count("a message at the top level", 4, record(top, keep(top, conversation.Said, conversation.Addressed)))
		count("a reply", 4, record(reply, keep(reply, conversation.Said)))
		next := said(at(202), at(-1))
		count("a reply in a channel that is known to be active", 3, record(next, keep(next, conversation.Said)))
		known := 2
		if db.sqlite != "" { // SQLite runs the queries one after the other
			known = 4
		}
		count("its twin", known, record(next, hushable(next)))
		count("a lone message", 4, commit(newRecordings(t, 1000, 1)))
		count("a hundred", 4, commit(newRecordings(t, 2000, 100)))
		for range 3 {
			for _, n := range newRecordings(t, 3000, 100) {
				n.message.Channel = channel
				db.store(t, n.message)
			}
		}
		count("a hundred among others", 4, commit(newRecordings(t, 4000, 100)))
		count("a hundred that are known", known, commit(newRecordings(t, 4000, 100)))
	})
}

func TestRecordGroup(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		known := newRecordings(t, 0, 10)
		for _, n := range known[:5] { // read from Slack's history
			db.record(t, n.message, func(Known) Entry { return Entry{Message: &n.message} })
		}
		for _, n := range known[5:] {
			db.store(t, n.message)
		}
		hushed := newRecording(t.Context(), said(at(50), ""), hushable(said(at(50), "")))
		db.record(t, hushed.message, hushing(hushed.message, "slack:U1"))
		group := slices.Concat(newRecordings(t, 100, 20), known, []*recording{hushed})
		for _, n := range known {
			n.decide = hushable(n.message) // changes nothing for a handled message
		}
		must(t, db.commit(t.Context(), group))
		for _, n := range group {
			i := slices.Index(known, n)
			alone, targets := i >= 0 && i < 5, 1
			switch {
			case i >= 0:
				targets = 0
			case n == hushed:
				targets = 2
			}
			if n.ungrouped != alone || len(n.targets) != targets {
				t.Errorf("%s: alone %v, %d targets, want %v and %d", n.key, n.ungrouped, len(n.targets), alone, targets)
			}
			for _, c := range n.targets {
				if c.Conversation != of(n.message) {
					t.Errorf("%s: target %s", n.key, c.ID())
				}
			}
		}
		db.wantRows(t, 26, "messages", "handled")
		db.wantRows(t, 22, "changes", "TRUE")
		if got, want := db.kinds(t, hushed.message), []conversation.Kind{conversation.Said, conversation.Hushed}; !slices.Equal(got, want) {
			t.Errorf("of a hushed message %v is passed on, want %v", got, want)
		}
	})
}

// Each recording of a group gets the earlier messages of its thread, but not newer ones of the same
// group.
func TestGroupPassesEarlierMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		own := said(at(2), at(1))
		own.Own, own.UserID = true, "UBOT"
		db.store(t, said(at(1), ""), own)
		var mu sync.Mutex
		before := map[string]string{}
		var group []*recording
		for _, m := range []chat.Message{said(at(4), at(1)), said(at(3), at(1)), said(at(5), ""), said(at(6), at(5))} {
			group = append(group, newRecording(t.Context(), m, func(k Known) Entry {
				mu.Lock()
				defer mu.Unlock()
				before[seconds([]chat.Message{m})] = seconds(k.Before)
				if len(k.Before) > 1 && (!k.Before[1].Own || k.Before[1].UserID != "UBOT" || k.Before[0].Own || k.Before[0].UserID != "U1") {
					t.Errorf("before it stands %+v", k.Before)
				}
				return keep(m)(k)
			}))
		}
		must(t, db.commit(t.Context(), group))
		for m, want := range map[string]string{"03 ": "01 02 ", "04 ": "01 02 03 ", "05 ": "", "06 ": "05 "} {
			if before[m] != want {
				t.Errorf("before %sstand %s, want %s", m, before[m], want)
			}
		}
	})
}

// Two processes record hundreds of new and of equal messages at once: each message exists once, and
// each change was reported once.
func TestManyConcurrentRecordsLoseNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		const messages, events = 150, 3
		stores := []*Store{db.Store, open(t, db.url)}
		var mu sync.Mutex
		told := map[string]int{}
		noErrors(t, concurrently(messages*events, func(i int) error {
			m := said(at(i/events), "")
			m.Channel = fmt.Sprint("C", i/events%7)
			top, thread := of(m), chat.Conversation{Team: team, Channel: m.Channel, Thread: m.TS}
			targets, err := stores[i%2].Record(t.Context(), m, func(k Known) Entry {
				if k.Handled {
					return Entry{}
				}
				c := conversation.Change{TS: m.TS, Kind: conversation.Addressed}
				return Entry{Message: &m, Handled: true, Changes: []Change{{Conversation: thread, Change: c}, {Conversation: top, Change: c}}}
			})
			mu.Lock()
			defer mu.Unlock()
			for _, c := range targets {
				if c.Awaited != (c.Conversation == thread) {
					t.Errorf("target %+v, want only the thread awaited", c)
				}
				told[c.ID()+" "+m.TS]++
			}
			return err
		}))
		for name, want := range map[string]int{"messages": messages, "changes": 2 * messages, "channels": 7} {
			if got := db.count(t, name, "TRUE"); got != want {
				t.Errorf("%d %s, want %d", got, name, want)
			}
		}
		for what, n := range told {
			if n != 1 {
				t.Errorf("told of %s %d times", what, n)
			}
		}
		if len(told) != 2*messages {
			t.Errorf("told of %d changes, want %d", len(told), 2*messages)
		}
	})
}

// A message that the database refuses fails, and nothing else in its group.
func TestRefusedMessageFailsAlone(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		poison := "a\x00b"
		if db.sqlite != "" {
			poison = "poison"
			db.exec(t, "CREATE TRIGGER refuse BEFORE INSERT ON messages WHEN NEW.text = 'poison' BEGIN SELECT RAISE(ABORT, 'no'); END")
		}
		const n = 100
		for i, err := range concurrently(n, func(i int) error {
			m := said(at(i), "")
			if i%40 == 7 {
				m.Text = poison
			}
			_, err := db.Record(t.Context(), m, keep(m, conversation.Said))
			return err
		}) {
			if (err != nil) != (i%40 == 7) {
				t.Errorf("message %d: %v", i, err)
			}
		}
		db.wantRows(t, n-3, "changes", "TRUE")
		db.wantRows(t, n-3, "messages", "TRUE")
	})
}

// A group and SaveHistory take the same rows at the same time without a deadlock.
func TestGroupAndHistoryDoNotDeadlock(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		for round := range 15 {
			var read []chat.Message
			var group []*recording
			for i := range 30 {
				m := said(at(100*round+i), "")
				read = append(read, m)
				group = append(group, newRecording(t.Context(), m, keep(m, conversation.Said)))
			}
			slices.Reverse(read)
			noErrors(t, concurrently(3, func(i int) error {
				switch i {
				case 0:
					return other.SaveHistory(t.Context(), read)
				case 1:
					return db.commit(t.Context(), group)
				default:
					return other.SaveHistory(t.Context(), read[5:25])
				}
			}))
		}
	})
}

func TestGroupKeepsTheTraceOfEach(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		const n = 20
		traced := func(i int) context.Context {
			return trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{15: byte(i + 1)}, SpanID: trace.SpanID{7: 1}, TraceFlags: trace.FlagsSampled,
			}))
		}
		noErrors(t, concurrently(n, func(i int) error {
			m := said(at(i), "")
			_, err := db.Record(traced(i), m, keep(m, conversation.Said))
			return err
		}))
		for i, w := range db.pending(t, chat.Conversation{Team: team, Channel: channel}) {
			if want := fmt.Sprintf("00-%032x-%016x-01", i+1, 1); w.TS != at(i) || w.Trace != want {
				t.Errorf("%s has trace %s, want %s", w.TS, w.Trace, want)
			}
		}
	})
}

// A caller whose context ends returns at once, and the rest of its group is committed.
func TestRecordGivesUpWithItsContext(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		m := said(at(0), "")
		row, err := newMessageRow(m, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		tx := other.db.Begin() // occupies the message's row, and in SQLite the file
		must(t, errors.Join(tx.Error, tx.Create(&row).Error))
		stays := make(chan error, 1)
		go func() {
			_, err := db.Record(t.Context(), m, keep(m, conversation.Said))
			stays <- err
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := db.Record(ctx, m, keep(m, conversation.Said)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the cancelled caller gets %v", err)
		}
		must(t, tx.Rollback().Error)
		if err := <-stays; err != nil {
			t.Errorf("the remaining caller gets %v", err)
		}
		db.wantRows(t, 1, "changes", "TRUE")
	})
}
