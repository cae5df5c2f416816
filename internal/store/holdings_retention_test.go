package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// In these tests everything is kept for forty days, and days count back from noon.
const keptDays = 40

// day is n days before noon.
func day(n int) time.Time { return noon.AddDate(0, 0, -n) }

// dayUS is day in microseconds.
func dayUS(n int) int64 { return micros(day(n)) }

var all = Cutoffs{Ledger: day(keptDays), Messages: day(keptDays), MemoryVersions: day(keptDays)}

// prune prunes completely, and returns the number of deleted rows by table.
func (db database) prune(t *testing.T, h Cutoffs) map[string]int {
	t.Helper()
	gone := map[string]int{}
	must(t, db.Prune(t.Context(), h, func(table string, rows int) error {
		if rows > 0 {
			gone[table] += rows
		}
		return nil
	}))
	return gone
}

// insert writes rows as they are.
func (db database) insert(t *testing.T, rows ...any) {
	t.Helper()
	for _, r := range rows {
		must(t, db.db.Create(r).Error)
	}
}

// left is the remaining values of a column, sorted.
func (db database) left(t *testing.T, table, column string) (values []string) {
	t.Helper()
	must(t, db.db.Table(table).Order(column).Pluck(column, &values).Error)
	slices.Sort(values)
	return values
}

func TestPruneLedger(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		// Rows named "gone" must be deleted. The changes are in the order of arrival.
		relayed := func(days int) *int64 { us := dayUS(days); return &us }
		for _, c := range []changeRow{
			{WorkflowID: "gone", Kind: "said", StoredUS: dayUS(60), RelayedUS: relayed(60)},
			{WorkflowID: "waits", Kind: "said", StoredUS: dayUS(60)},
			{WorkflowID: "relayed lately", Kind: "said", StoredUS: dayUS(60), RelayedUS: relayed(2)},
			{WorkflowID: "addressed, with its message", Kind: "addressed", SentUS: dayUS(39), StoredUS: dayUS(50), RelayedUS: relayed(50)},
			{WorkflowID: "gone, addressed", Kind: "addressed", SentUS: dayUS(50), StoredUS: dayUS(50), RelayedUS: relayed(50)},
			{WorkflowID: "gone, deleted", Kind: "deleted", StoredUS: dayUS(41), RelayedUS: relayed(41)},
			{WorkflowID: "young", Kind: "said", StoredUS: dayUS(39), RelayedUS: relayed(39)},
		} {
			db.insert(t, &c)
		}
		for key, d := range map[string]Decision{
			"gone": {Outcome: "silent", DecidedUS: dayUS(41)}, "gone, posted": {Outcome: "posted", DecidedUS: dayUS(400)},
			"pending": {Outcome: "pending", DecidedUS: dayUS(400)}, "young": {Outcome: "silent", DecidedUS: dayUS(40)},
		} {
			d.Key = key
			db.insert(t, &d)
		}
		for reply, states := range map[string][]Delivery{
			"gone": {Sent}, "gone, of two": {Sent, Sent}, "gone, failed": {Failed, Composed}, "gone, failed later": {Sent, Failed, Composed},
			"composed": {Composed}, "begun": {Sent, Sending}, "half": {Sent, Composed},
			"gone, given up": {Composed}, "gone, of unknown end": {Sending},
		} {
			decision := "pending"
			if reply == "gone, given up" || reply == "gone, of unknown end" {
				decision = "young" // and was settled
			}
			for i, state := range states {
				db.insert(t, &outboxRow{Key: fmt.Sprint(reply, "/", i), Reply: reply, Part: i, State: state, Decision: decision, ReadUS: dayUS(50) + int64(i)})
			}
		}
		db.insert(t, &outboxRow{Key: "young/0", Reply: "young", State: Sent, ReadUS: dayUS(39)})
		for what, days := range map[string]int{"gone": 41, "young": 39} {
			db.insert(t, &callRow{Purpose: what, CalledUS: dayUS(days)}, &orderRow{ID: what, Kind: "drop", OrderedUS: dayUS(days)})
		}
		db.insert(t, &orderRow{ID: "carried out", Kind: "mute", OrderedUS: dayUS(60)})

		// What was looked up, and what people think of the reply, goes with the decision that it was for.
		us := dayUS(400)
		for _, key := range []string{"gone", "gone, posted", "gone, withdrawn before it was decided", "pending", "young"} {
			db.insert(t, &Turn{Decision: key, MadeUS: us}, &Step{ID: key, Decision: key, StoredUS: us},
				&StepFile{StepID: key, Data: []byte{0}}, &Proposal{Choice: Choice{ID: key, Decision: key, StoredUS: us}},
				&Vote{Part: key, Decision: key, VotedUS: us}, &Label{Decision: key, LabelledUS: us},
				&Opinion{Decision: key, GivenUS: us})
		}
		// A promise goes when it ended long ago, not when it was made long ago.
		db.insert(t, &Promise{Choice: Choice{ID: "open", StoredUS: us}, State: PromiseOpen},
			&Promise{Choice: Choice{ID: "ended lately", StoredUS: us, EndedUS: dayUS(39)}, State: PromiseKept},
			&Promise{Choice: Choice{ID: "gone", StoredUS: us, EndedUS: dayUS(41)}, State: PromiseReleased})

		want := map[string]int{
			"changes": 3, "decisions": 2, "outbox": 1 + 2 + 2 + 3 + 1 + 1, "model_calls": 1, "orders": 1, "promises": 1, "step_files": 5,
			"turns": 3, "steps": 3, "proposals": 3, "feedback": 3, "labels": 3, "opinions": 3,
		}
		if got := db.prune(t, all); !maps.Equal(got, want) {
			t.Errorf("gone are %v, want %v", got, want)
		}
		for table, column := range map[string]string{
			"changes": "workflow_id", "decisions": "key", "outbox": "reply", "model_calls": "purpose", "orders": "id", "promises": "id",
			"turns": "decision", "steps": "id", "proposals": "id", "feedback": "part", "labels": "decision", "opinions": "decision",
		} {
			for _, name := range db.left(t, table, column) {
				if strings.HasPrefix(name, "gone") {
					t.Errorf("%s: %q is there", table, name)
				}
			}
		}
		for name, parts := range map[string]int{"composed": 1, "begun": 2, "half": 2, "young": 1} {
			if got := db.parts(t, name); len(got) != parts {
				t.Errorf("reply %s has %d parts, want %d", name, len(got), parts)
			}
		}
		if got := db.prune(t, all); len(got) != 0 {
			t.Errorf("once more, gone are %v", got)
		}
	})
}

func TestPruneKeepsForEver(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		us := dayUS(4000)
		db.insert(t, &changeRow{WorkflowID: "w", Kind: "addressed", SentUS: us, StoredUS: us, RelayedUS: &us}, &Decision{Key: "d", Outcome: "silent", DecidedUS: us},
			&outboxRow{Key: "o", Reply: "o", State: Sent, ReadUS: us}, &callRow{CalledUS: us}, &orderRow{ID: "o", OrderedUS: us},
			&messageRow{TeamID: team, ChannelID: channel, TS: chat.TS(day(4000)), SentUS: us, StoredUS: us}, &channelRow{TeamID: team, ChannelID: channel},
			&memoryRow{TeamID: team, Version: 1, MadeUS: us}, &memoryRow{TeamID: team, Version: 2, MadeUS: us}, &forgottenRow{TeamID: team, UntilUS: us})
		if got := db.prune(t, Cutoffs{}); len(got) != 0 {
			t.Errorf("for ever: gone are %v", got)
		}
		// A change that addresses the bot is kept as long as its message.
		want := map[string]int{"decisions": 1, "outbox": 1, "model_calls": 1, "orders": 1}
		if got := db.prune(t, Cutoffs{Ledger: day(keptDays)}); !maps.Equal(got, want) {
			t.Errorf("of the ledger, gone are %v, want %v", got, want)
		}
		want = map[string]int{"changes": 1, "messages": 1, "memories": 1}
		if got := db.prune(t, all); !maps.Equal(got, want) {
			t.Errorf("then gone are %v, want %v", got, want)
		}
		db.wantRows(t, 1, "forgotten", "until_us = ?", us) // what was forgotten does not come back
	})
}

func TestPruneMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		// One line per channel: messages of so many days ago, with their replies after a colon;
		// then what is left, in order of time.
		channels := map[string]struct {
			said  string
			setup func(channel string)
			left  string
		}{
			"by age":                        {said: "60 41 40 39 1", left: "40 39 1"},
			"a thread as its newest reply":  {said: "60:59,50,39 58:57,41 56:55,40", left: "60 59 56 55 50 40 39"},
			"deleted ones":                  {said: "-60 59:-39 58:57,-38 -1", left: "-39 -38 -1"},
			"not taken in by memory":        {said: "80 79 60:59 45 42 39", setup: db.saveChannelCursor(t, 50, 46), left: "45 42 39"},
			"not taken in of a thread":      {said: "60:59,45 58", setup: db.saveChannelCursor(t, 50, 46), left: "60 59 45"},
			"not taken in for long":         {said: "85 81 79 60", setup: db.saveChannelCursor(t, 90, 86), left: "79 60"},
			"taken in, and quiet since":     {said: "45 44 43", setup: db.saveChannelCursor(t, 45, 42), left: ""},
			"forgotten, to be remade":       {said: "60 45", setup: db.saveChannelCursor(t, 50, 0), left: "45"},
			"a thread remembered lately":    {said: "60:59 58:57", setup: db.saveThreadCursor(t, 60, 39), left: "60 59"},
			"a thread remembered long ago":  {said: "60:59 58:57", setup: db.saveThreadCursor(t, 60, 41), left: ""},
			"seen, and not heard of":        {said: "60 39", setup: func(c string) { db.exec(t, "UPDATE messages SET handled = FALSE WHERE channel_id = ?", c) }, left: "39"},
			"in a channel that was left":    {said: "60 39", setup: func(c string) { db.exec(t, "UPDATE channels SET member = FALSE WHERE channel_id = ?", c) }, left: "39"},
			"of a conversation that is old": {said: "300:299,298 297", left: ""},
		}
		for name, c := range channels {
			db.fill(t, name, c.said)
			if c.setup != nil {
				c.setup(name)
			}
		}
		db.prune(t, all)
		for name, c := range channels {
			if got := db.remaining(t, name); got != c.left {
				t.Errorf("%s: of %q is left %q, want %q", name, c.said, got, c.left)
			}
		}
		if got := db.prune(t, all); len(got) != 0 {
			t.Errorf("once more, gone are %v", got)
		}
	})
}

// After a long outage of Temporal, pending messages are still read.
func TestPruneKeepsPendingMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.fill(t, "C1", "60 50")
		db.fill(t, "C2", "59 51 50 49")
		db.insert(t, &changeRow{WorkflowID: "channel/T1/C2", TS: chat.TS(day(51)), SentUS: dayUS(51), Kind: "said", StoredUS: dayUS(51)})
		db.prune(t, all)
		if c1, c2 := db.remaining(t, "C1"), db.remaining(t, "C2"); c1 != "50" || c2 != "51 50 49" {
			t.Errorf("left are %q and %q", c1, c2)
		}
	})
}

func (db database) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	must(t, db.db.Exec(sql, args...).Error)
}

// fill fills a channel with messages of so many days ago: in "60:59,-58 57", 60 is the parent of 59
// and of 58, which was deleted.
func (db database) fill(t *testing.T, channel, said string) {
	t.Helper()
	row := func(days, thread string) *messageRow {
		var n, parent int
		_, _ = fmt.Sscan(strings.TrimPrefix(days, "-"), &n)
		r := messageRow{TeamID: team, ChannelID: channel, SentUS: dayUS(n), TS: chat.TS(day(n)), Handled: true, Deleted: days[0] == '-', StoredUS: dayUS(n)}
		if thread != "" {
			_, _ = fmt.Sscan(thread, &parent)
			r.ThreadTS = chat.TS(day(parent))
		}
		return &r
	}
	db.insert(t, &channelRow{TeamID: team, ChannelID: channel, Member: true})
	for _, one := range strings.Fields(said) {
		parent, replies, _ := strings.Cut(one, ":")
		db.insert(t, row(parent, ""))
		for reply := range strings.SplitSeq(replies, ",") {
			if reply != "" {
				db.insert(t, row(reply, parent))
			}
		}
	}
}

// remaining is what is left, in the format of fill.
func (db database) remaining(t *testing.T, channel string) string {
	t.Helper()
	var rows []messageRow
	must(t, db.db.Where("channel_id = ?", channel).Order("sent_us").Find(&rows).Error)
	var left []string
	for _, r := range rows {
		days := fmt.Sprint(int(noon.Sub(instant(r.SentUS)).Hours() / 24))
		if r.Deleted {
			days = "-" + days
		}
		left = append(left, days)
	}
	return strings.Join(left, " ")
}

// saveChannelCursor saves a channel's cursor that begins so many days ago and was read so many days
// ago; 0: it was forgotten since.
func (db database) saveChannelCursor(t *testing.T, since, read int) func(channel string) {
	return func(channel string) {
		row := scopeRow{TeamID: team, ChannelID: channel, SinceUS: dayUS(since), ReadUS: dayUS(read)}
		if read == 0 {
			row.ReadUS = 0
		}
		db.insert(t, &row)
	}
}

func (db database) saveThreadCursor(t *testing.T, parent, updated int) func(channel string) {
	return func(channel string) {
		db.insert(t, &scopeRow{TeamID: team, ChannelID: channel, ThreadTS: chat.TS(day(parent)), UpdatedUS: dayUS(updated)})
	}
}

// The memory of a quiet channel loses pruned messages from its short-term part, as if people had
// deleted them, and keeps the rest. Nothing else looks changed.
func TestPruneAndMemory(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		quiet, busy := chat.Scope{Team: team, Channel: "C1"}, chat.Scope{Team: team, Channel: "C2"}
		old, live := chat.Scope{Team: team, Channel: "C2", Thread: chat.TS(day(60))}, chat.Scope{Team: team, Channel: "C2", Thread: chat.TS(day(50))}
		db.fill(t, "C1", "60 59")
		db.fill(t, "C2", "60:59 50:49,2 1")
		db.clock.at = day(58)
		db.remember(t, day(60), quiet, busy, old)
		db.clock.at = day(1)
		db.remember(t, day(2), busy, live)
		db.clock.at = noon
		changed := func() (scopes []chat.Scope) {
			t.Helper()
			threads, err := db.ChangedThreads(t.Context(), team, day(1), day(7), chat.Scope{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			channels, err := db.ChangedChannels(t.Context(), team, day(1), chat.Scope{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			return append(threads, channels...)
		}
		if got := changed(); len(got) != 0 {
			t.Fatalf("before: %v", got)
		}
		if got, want := db.prune(t, Cutoffs{Messages: day(keptDays)}), map[string]int{"messages": 4}; !maps.Equal(got, want) {
			t.Errorf("gone are %v, want %v", got, want)
		}
		if got := changed(); !reflect.DeepEqual(got, []chat.Scope{quiet}) {
			t.Errorf("changed are %v, want %v", got, quiet)
		}
	})
}

func TestPruneMemoryVersions(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		id := func(scope chat.Scope, term chat.Term, version, days int, text string) *int64 {
			row := memoryRow{
				TeamID: scope.Team, ChannelID: scope.Channel, ThreadTS: scope.Thread, Term: string(term), Version: version, Text: text, MadeUS: dayUS(days),
			}
			db.insert(t, &row)
			return &row.ID
		}
		id(theChannel, chat.LongTerm, 1, 60, "gone")
		rolledBack := id(theChannel, chat.LongTerm, 2, 59, "current")
		id(theChannel, chat.LongTerm, 3, 58, "gone too")
		id(theChannel, chat.LongTerm, 4, 39, "young")
		id(theChannel, chat.LongTerm, 5, 38, "newest")
		id(theChannel, chat.LongTerm, 0, 60, "draft")
		id(theChannel, chat.ShortTerm, 6, 60, "gone short")
		id(theChannel, chat.ShortTerm, 7, 59, "newest, withdrawn")
		only := id(aThread, chat.ShortTerm, 1, 60, "current, of a thread")
		id(workspace, chat.LongTerm, 1, 60, "gone, of the workspace")
		newest := id(workspace, chat.LongTerm, 2, 59, "current, of the workspace")
		db.insert(t, &scopeRow{TeamID: team, ChannelID: channel, LongID: rolledBack}, &scopeRow{TeamID: team, LongID: newest},
			&scopeRow{TeamID: team, ChannelID: channel, ThreadTS: aThread.Thread, ShortID: only})
		if got, want := db.prune(t, all), map[string]int{"memories": 4}; !maps.Equal(got, want) {
			t.Errorf("gone are %v, want %v", got, want)
		}
		for _, text := range db.left(t, "memories", "text") {
			if strings.HasPrefix(text, "gone") {
				t.Errorf("%q is there", text)
			}
		}
		// The current memory can be read, and the next version gets the next number.
		if long, _ := db.currentTexts(t, theChannel); long != "current" {
			t.Errorf("current is %q", long)
		}
		db.remember(t, noon, theChannel)
		for term, want := range map[chat.Term]int{chat.LongTerm: 6, chat.ShortTerm: 8} {
			if got, err := db.MemoryVersions(t.Context(), theChannel, term, 1); err != nil || got[0].Version != want {
				t.Errorf("the next %s memory is %+v, %v; want version %d", term, got, err, want)
			}
		}
		if _, err := db.Rollback(t.Context(), theChannel, chat.LongTerm, 1, "cli:ann", "order"); !errors.Is(err, ErrNotFound) {
			t.Errorf("rolled back to what is gone: %v", err)
		}
	})
}

func TestPruneConversations(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		soon, ago := micros(noon.Add(time.Hour)), micros(noon.Add(-2*time.Hour))
		for id, row := range map[string]conversationRow{
			"gone": {}, "gone, snoozed once": {SilencedUntilUS: ago}, "gone, left by a relay": {ClaimedBy: "a", ClaimedUntilUS: ago},
			"muted": {SilencedUntilUS: soon}, "leased": {ClaimedBy: "a", ClaimedUntilUS: soon},
			"leased a moment ago": {ClaimedBy: "a", ClaimedUntilUS: micros(noon.Add(-time.Minute))}, "waits": {},
		} {
			row.WorkflowID = id
			db.insert(t, &row)
		}
		db.insert(t, &changeRow{WorkflowID: "waits", Kind: "said", StoredUS: dayUS(1)})
		if got, want := db.prune(t, Cutoffs{}), map[string]int{"conversations": 3}; !maps.Equal(got, want) {
			t.Errorf("gone are %v, want %v", got, want)
		}
		if got, want := db.left(t, "conversations", "workflow_id"), []string{"leased", "leased a moment ago", "muted", "waits"}; !slices.Equal(got, want) {
			t.Errorf("left are %q, want %q", got, want)
		}
	})
}

// A conversation without a row is served as before, and its mute is unchanged.
func TestPrunedConversationIsServed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m, muted := said(at(1), ""), said(at(2), at(1))
		for _, c := range []chat.Message{m, muted} {
			db.record(t, c, keep(c, conversation.Said))
			changes, err := db.Claim(t.Context(), of(c).ID(), "relay", noon.Add(time.Minute), 10)
			if err != nil || len(changes) != 1 {
				t.Fatalf("%+v, %v", changes, err)
			}
			must(t, db.MarkRelayed(t.Context(), []int64{changes[0].ID}))
			must(t, errOf(db.Release(t.Context(), of(c).ID(), "relay")))
		}
		until := noon.AddDate(100, 0, 0)
		must(t, db.ApplyOrder(t.Context(), Order{ID: "1", Scope: chat.Scope(of(muted)), Kind: "mute", By: "cli:ann", Until: until, At: noon}))
		if got, want := db.prune(t, all), map[string]int{"conversations": 1}; !maps.Equal(got, want) {
			t.Errorf("gone are %v, want %v", got, want)
		}
		if got, err := db.SilencedUntil(t.Context(), of(muted)); err != nil || !got.Equal(until) {
			t.Errorf("muted until %s, %v; want %s", got, err, until)
		}
		next := said(at(3), "")
		db.record(t, next, keep(next, conversation.Said))
		if backlog, err := db.Backlog(t.Context(), 10); err != nil || !slices.Equal(backlog, []BacklogItem{{WorkflowID: of(m).ID()}}) {
			t.Errorf("backlog %v, %v", backlog, err)
		}
		if changes, err := db.Claim(t.Context(), of(next).ID(), "another", noon.Add(time.Minute), 10); err != nil || len(changes) != 1 {
			t.Errorf("%+v, %v", changes, err)
		}
	})
}

// A repeated event of a message whose changes were pruned is nothing new.
func TestPrunedChangeIsNotRecordedAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.clock.at = day(60)
		m := said(chat.TS(day(60)), "")
		db.record(t, m, keep(m, conversation.Addressed, conversation.Said))
		var ids []int64
		for _, w := range db.pending(t, of(m)) {
			ids = append(ids, w.ID)
		}
		must(t, db.MarkRelayed(t.Context(), ids))
		db.clock.at = noon
		if got := db.prune(t, Cutoffs{Ledger: day(keptDays)}); got["changes"] != 1 {
			t.Errorf("gone are %v", got)
		}
		if got := db.known(t, m); !got.Handled || !got.Addressed || got.Message == nil {
			t.Errorf("known is %+v", got)
		}
	})
}

// Stopped at any step, Prune begins again and finds the rest. No statement takes more than a few
// rows.
func TestPruneContinuesAfterAStop(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		const n = 2*sweepChunk + 7
		var changes []changeRow
		var messages []messageRow
		var decisions []Decision
		var outbox []outboxRow
		for i := range n {
			sent := day(60).Add(time.Duration(i) * time.Second)
			us := micros(sent)
			changes = append(changes, changeRow{WorkflowID: "w", TS: chat.TS(sent), SentUS: us, Kind: "said", StoredUS: us, RelayedUS: &us})
			messages = append(messages, messageRow{TeamID: team, ChannelID: channel, TS: chat.TS(sent), SentUS: us, Handled: true, StoredUS: us})
			decisions = append(decisions, Decision{Key: fmt.Sprint("d", i), Outcome: "silent", DecidedUS: us})
			// Replies of two parts whose first one failed; some steps end between the parts.
			outbox = append(outbox, outboxRow{
				Key: fmt.Sprint("o", i), Reply: fmt.Sprint("r", (i+1)/2), Part: (i + 1) % 2, State: []Delivery{Composed, Failed}[i%2], ReadUS: us,
			})
		}
		outbox[0].State = Sent // a reply of one part
		db.insert(t, &channelRow{TeamID: team, ChannelID: channel})
		for _, insert := range []*gorm.DB{
			db.db.CreateInBatches(changes, 200), db.db.CreateInBatches(messages, 200), db.db.CreateInBatches(decisions, 200), db.db.CreateInBatches(outbox, 200),
		} {
			if insert.Error != nil {
				t.Fatal(insert.Error)
			}
		}
		stop := errors.New("stopped")
		gone := map[string]int{}
		for _, most := range []int{1, 2, 3, 1000} { // steps
			err := db.Prune(t.Context(), all, func(table string, rows int) error {
				gone[table] += rows
				if rows > sweepChunk+1 { // the other part of a reply is deleted as well
					t.Errorf("%d rows of %s at once", rows, table)
				}
				if most--; most == 0 {
					return stop
				}
				return nil
			})
			if stopped := most == 0; stopped != errors.Is(err, stop) || !stopped && err != nil {
				t.Fatal(err)
			}
		}
		if want := map[string]int{"messages": n, "changes": n, "decisions": n, "outbox": n}; !maps.Equal(gone, want) {
			t.Errorf("gone are %v, want %v", gone, want)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := db.Prune(ended, all, func(string, int) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("with its context ended: %v", err)
		}
	})
}

// The door and the prune job write at the same time, and so do two jobs if the first was given up
// for dead.
func TestPruneWhileRecording(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.insert(t, &channelRow{TeamID: team, ChannelID: channel})
		for i := range 300 {
			sent := day(60).Add(time.Duration(i) * time.Second)
			us := micros(sent)
			db.insert(t, &messageRow{TeamID: team, ChannelID: channel, TS: chat.TS(sent), SentUS: us, Handled: true, StoredUS: us},
				&changeRow{WorkflowID: "w", TS: chat.TS(sent), SentUS: us, Kind: "said", StoredUS: us, RelayedUS: &us})
		}
		// The oldest message gets a reply: the parent stays, if it still exists.
		parent := chat.TS(day(60))
		noErrors(t, concurrently(4, func(i int) error {
			if i < 2 {
				return db.Prune(t.Context(), all, func(string, int) error { return nil })
			}
			for j := range 20 {
				m := said(at(100*i+j), parent)
				if _, err := db.Record(t.Context(), m, keep(m, conversation.Said)); err != nil {
					return err
				}
			}
			return nil
		}))
		db.wantRows(t, 40, "messages", "thread_ts = ?", parent)
		db.wantRows(t, 40, "changes", "relayed_us IS NULL")
		db.wantRows(t, 0, "messages", "thread_ts = '' AND ts <> ?", parent)
	})
}

func TestChangeRecordedSince(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m, c := said(at(1), ""), chat.Conversation{Team: team, Channel: channel}
		db.clock.at = day(50)
		db.record(t, m, keep(m, conversation.Addressed))
		db.clock.at = day(5)
		m.Revision = at(2)
		db.record(t, m, keep(m, conversation.Addressed))
		for _, test := range []struct {
			c            chat.Conversation
			ts, revision string
			want         bool
		}{
			{c, at(1), "", false}, {c, at(1), at(2), true}, {c, at(1), at(3), false}, {c, at(2), "", false},
			{chat.Conversation{Team: team, Channel: channel, Thread: at(1)}, at(1), at(2), false},
		} {
			if got, err := db.ChangeRecordedSince(t.Context(), test.c, test.ts, test.revision, day(keptDays)); err != nil || got != test.want {
				t.Errorf("%+v: %v, %v", test, got, err)
			}
		}
	})
}

// On most nights most channels have nothing to delete.
func TestPruneSkipsYoungChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		var asked []int
		for _, days := range []string{"39 1", "39:38 2", "41"} {
			for i := range 5 {
				db.fill(t, fmt.Sprint("C", len(asked), i), days)
			}
			asked = append(asked, len(db.statements(t, func(ctx context.Context, s *Store) error {
				return s.Prune(ctx, Cutoffs{Messages: day(keptDays)}, func(string, int) error { return nil })
			})))
		}
		if asked[1] != asked[0] || asked[2] < asked[1]+5 {
			t.Errorf("statements: %v", asked)
		}
	})
}

// readsAll matches plans that read or sort all of a large table.
var readsAll = regexp.MustCompile(`(?:Seq Scan on|SCAN) (?:messages|changes|decisions|outbox|orders|model_calls|memories|memory_scopes|conversations|turns|steps|promises)|Sort|TEMP B-TREE`)

// However much data there is, a step reads little more than it deletes.
// Whoever looks for a person goes through the tables likewise.
func TestPruneUsesIndexes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) database{"sqlite": migratedSQLite, "postgres": migratedPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			n := 10000
			db.seed(t, n)
			db.seedMemories(t, n)
			db.seedOutbox(t, n)
			db.seedLedger(t, n)
			db.seedOrders(t, n)
			db.seedReactions(t, n)
			db.exec(t, "UPDATE changes SET stored_us = sent_us, relayed_us = sent_us")
			db.exec(t, "INSERT INTO hook_events (team_id, channel_id, hook, delivery, text, terms, received_us) SELECT team_id, channel_id, 'ci', ts, 'x', ' x ', sent_us FROM messages")
			db.exec(t, "UPDATE outbox SET read_us = 1 + (SELECT MIN(sent_us) FROM messages)")
			db.exec(t, "INSERT INTO step_files (step_id, position, name, mime, data) SELECT id, 1, '', '', '' FROM steps") // a small table is read whole
			db.analyze(t)
			for _, st := range db.statements(t, func(ctx context.Context, s *Store) error {
				early := chat.Time(at(200))
				steps := map[string]int{}
				stop := errors.New("enough")
				for _, h := range []Cutoffs{{Messages: early}, {Ledger: chat.Time(at(n - n/5))}, {MemoryVersions: early}, {}} {
					err := s.Prune(ctx, h, func(table string, rows int) error {
						if steps[table]++; steps[table] > 3 {
							return stop
						}
						return nil
					})
					if err != nil && !errors.Is(err, stop) {
						return err
					}
				}
				for _, table := range []string{"messages", "changes", "memories", "conversations"} {
					if steps[table] == 0 {
						t.Errorf("no step of %s", table)
					}
				}
				return nil
			}) {
				if plan := db.explain(t, st.sql, st.vars); readsAll.MatchString(plan) {
					t.Errorf("%s\n%s", st.sql, plan)
				}
			}
			for _, st := range db.statements(t, func(ctx context.Context, s *Store) error {
				return errOf(s.ExportPerson(ctx, canary, noStep))
			}) {
				if plan := db.explain(t, st.sql, st.vars); strings.Contains(st.sql, " > ") && readsAll.MatchString(strings.ReplaceAll(plan, "Sort", "")) { // of one step's rows
					t.Errorf("%s\n%s", st.sql, plan)
				}
			}
		})
	}
}
