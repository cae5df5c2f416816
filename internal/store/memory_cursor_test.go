package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestCurrentCursor(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		gone, edited := said(at(50), at(2)), said(at(4), at(2))
		gone.Deleted, edited.Revision = true, at(9)
		db.store(t, said(at(1), ""), said(at(2), ""), said(at(3), at(2)), edited, gone, said(at(5), ""),
			in("C2", said(at(60), "")))
		after := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
		thread := func(n int) chat.Scope { return chat.Scope{Team: team, Channel: channel, Thread: at(n)} }
		for _, test := range []struct {
			scope chat.Scope
			since time.Time
			want  Cursor
		}{
			{theChannel, time.Time{}, Cursor{Newest: after(5), Revision: at(9), Count: 5}},
			{theChannel, after(3), Cursor{Since: after(3), Newest: after(5), Revision: at(9), Count: 3}},
			{theChannel, after(5), Cursor{Since: after(5), Newest: after(5), Count: 1}},
			{theChannel, after(6), Cursor{Since: after(6)}},
			{theChannel, after(5).In(time.FixedZone("elsewhere", 3600)), Cursor{Since: after(5), Newest: after(5), Count: 1}},
			{thread(2), after(4), Cursor{Newest: after(4), Revision: at(9), Count: 3}},
			{thread(1), after(4), Cursor{Newest: after(1), Count: 1}},
			{thread(99), after(4), Cursor{}},
			{chat.Scope{Team: "T2", Channel: channel}, time.Time{}, Cursor{}},
			{workspace, after(4), Cursor{}},
		} {
			if got := db.cursor(t, test.scope, test.since); got != test.want {
				t.Errorf("%s since %v:\ngot  %+v\nwant %+v", test.scope, test.since, got, test.want)
			}
		}
	})
}

// The workspace's cursor changes with the current memories of public channels that the bot is in.
func TestCurrentCursorOfTheWorkspace(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		public, private, left := chat.Scope{Team: team, Channel: "C1"}, chat.Scope{Team: team, Channel: "C2"}, chat.Scope{Team: team, Channel: "C3"}
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2", Private: true}, Channel{ID: "C3"})
		check := func(what string, newest time.Time, count int) {
			t.Helper()
			if got, want := db.cursor(t, workspace, noon), (Cursor{Newest: newest, Count: count}); got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		db.remember(t, noon, left)
		db.clock.advance(time.Second)
		db.remember(t, noon, public)
		made := db.clock.now()
		db.clock.advance(time.Second)
		db.remember(t, noon, private, aThread, workspace)
		check("a public channel", made, 4)
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2", Private: true})
		check("a channel left", made, 2)
		db.draft(t, public, chat.ShortTerm, "draft", Cursor{})
		check("a draft", made, 2)
		db.save(t, MemoryUpdate{Scope: public, Short: WithdrawMemory, Read: noon})
		check("a memory withdrawn", made, 1)
		db.remember(t, noon, public)
		check("made anew", db.clock.now(), 2)
		db.sync(t, Channel{ID: "C1", Private: true}, Channel{ID: "C2", Private: true})
		check("made private", time.Time{}, 0)
	})
}

// changeModel is what a test knows was said, to compare with what the database finds changed.
type changeModel struct {
	database
	rand     *rand.Rand
	messages []chat.Message
	edits    int
	// seen is each scope's content when it was remembered.
	seen map[chat.Scope]string
	// since is from when each channel was remembered.
	since map[string]time.Time
}

const window = 24 * time.Hour

// content is a scope's content as text.
func (w *changeModel) content(s chat.Scope, since time.Time) string {
	var b strings.Builder
	for _, m := range w.messages {
		mine := m.Channel == s.Channel && !m.Deleted
		if s.Thread == "" {
			mine = mine && !m.Time().Before(since)
		} else {
			mine = mine && (m.TS == s.Thread || m.ThreadTS == s.Thread)
		}
		if mine {
			fmt.Fprintf(&b, "%s %s\n", m.TS, m.Revision)
		}
	}
	return b.String()
}

// changed is the scopes that a memory run must read again.
func (w *changeModel) changed() (scopes []chat.Scope) {
	start := w.clock.now().Add(-window)
	threads := map[chat.Scope]bool{}
	for s := range w.seen {
		threads[s] = s.Thread != ""
	}
	channels := map[string]bool{}
	for _, m := range w.messages {
		channels[m.Channel] = true
		since, ok := w.since[m.Channel]
		if !ok {
			since = start
		}
		if m.ThreadTS != "" && !m.Deleted && !m.Time().Before(since) {
			threads[chat.Scope{Team: team, Channel: m.Channel, Thread: m.ThreadTS}] = true
		}
	}
	for s, candidate := range threads {
		if candidate && w.content(s, time.Time{}) != w.seen[s] {
			scopes = append(scopes, s)
		}
	}
	for id := range channels {
		s := chat.Scope{Team: team, Channel: id}
		since, ok := w.since[id]
		if !ok {
			since = start
		}
		if w.content(s, since) != w.seen[s] {
			scopes = append(scopes, s)
		}
	}
	slices.SortFunc(scopes, func(a, b chat.Scope) int { return strings.Compare(a.String(), b.String()) })
	return scopes
}

// changedInDatabase is the same according to the database, a few at a time.
func (w *changeModel) changedInDatabase(t *testing.T) (scopes []chat.Scope) {
	t.Helper()
	now := w.clock.now()
	for _, page := range []func(after chat.Scope, limit int) ([]chat.Scope, error){
		func(after chat.Scope, limit int) ([]chat.Scope, error) {
			return w.ChangedThreads(t.Context(), team, now.Add(-window), now.Add(-1000*window), after, limit)
		},
		func(after chat.Scope, limit int) ([]chat.Scope, error) {
			return w.ChangedChannels(t.Context(), team, now.Add(-window), after, limit)
		},
	} {
		var after chat.Scope
		for {
			found, err := page(after, 2)
			if err != nil {
				t.Fatal(err)
			}
			scopes = append(scopes, found...)
			if len(found) < 2 {
				break
			}
			after = found[1]
		}
	}
	slices.SortFunc(scopes, func(a, b chat.Scope) int { return strings.Compare(a.String(), b.String()) })
	return scopes
}

// step makes something happen and describes it.
func (w *changeModel) step(t *testing.T, late bool) string {
	t.Helper()
	pick := func(wanted func(chat.Message) bool) *chat.Message {
		var found []*chat.Message
		for i := range w.messages {
			if wanted(w.messages[i]) {
				found = append(found, &w.messages[i])
			}
		}
		if len(found) == 0 {
			return nil
		}
		return found[w.rand.IntN(len(found))]
	}
	there := func(m chat.Message) bool { return !m.Deleted }
	switch w.rand.IntN(7) {
	case 0:
		if m := pick(there); m != nil {
			w.edits++
			m.Text, m.Revision = "edited", chat.TS(w.clock.now().Add(time.Duration(w.edits)*time.Microsecond))
			w.store(t, *m)
			return "an edit of " + m.TS
		}
	case 1:
		if m := pick(there); m != nil {
			m.Deleted, m.Text, m.Revision = true, "", ""
			w.store(t, *m)
			return "a deletion of " + m.TS
		}
	case 2:
		if m := pick(there); m != nil {
			must(t, w.SaveHistory(t.Context(), []chat.Message{*m}))
			w.store(t, *m)
			return "nothing but " + m.TS + " told again"
		}
	case 3:
		w.clock.advance(time.Duration(w.rand.IntN(30)) * time.Hour)
		return "time"
	}
	m := in([]string{"C1", "C2"}[w.rand.IntN(2)], said(chat.TS(w.clock.now()), ""))
	what := "a message"
	if late {
		m.TS = chat.TS(w.clock.now().Add(-time.Duration(w.rand.IntN(int(2 * window)))))
		what = "a message that comes late"
	}
	if slices.ContainsFunc(w.messages, func(o chat.Message) bool { return o.TS == m.TS }) {
		return "nothing"
	}
	parent := pick(func(o chat.Message) bool {
		return o.Channel == m.Channel && o.ThreadTS == "" && o.Time().Before(m.Time())
	})
	if parent != nil && w.rand.IntN(3) > 0 {
		m.ThreadTS = parent.TS
	}
	w.messages = append(w.messages, m)
	slices.SortFunc(w.messages, func(a, b chat.Message) int { return strings.Compare(a.TS, b.TS) })
	if w.rand.IntN(2) == 0 {
		must(t, w.SaveHistory(t.Context(), []chat.Message{m}))
		return fmt.Sprint(what, " from history ", m.TS, " in ", of(m).ID())
	}
	w.store(t, m)
	return fmt.Sprint(what, " ", m.TS, " in ", of(m).ID())
}

// After any messages, edits and deletions, exactly the scopes in which something happened look
// different, and none does because time has passed.
func TestCursorsDetectChanges(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		seed := rand.Uint64()
		w := &changeModel{database: db, rand: rand.New(rand.NewPCG(seed, 1)), seen: map[chat.Scope]string{}, since: map[string]time.Time{}}
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2", Private: true})
		var happened []string
		for range 150 {
			// A late message may cancel out a deletion, so remember everything before and after.
			want := w.changed()
			late := len(want) == 0 && w.rand.IntN(2) == 0
			happened = append(happened, w.step(t, late))
			want = w.changed()
			if got := w.changedInDatabase(t); !slices.Equal(got, want) {
				t.Fatalf("seed %d, after\n%s\nthe changed are %v, want %v", seed, strings.Join(happened, "\n"), got, want)
			}
			if !late && w.rand.IntN(3) > 0 {
				continue
			}
			since := w.clock.now().Add(-window)
			for _, s := range want {
				db.remember(t, since, s)
				if s.Thread == "" {
					w.since[s.Channel] = since
				}
				w.seen[s] = w.content(s, since)
				happened = append(happened, "remembered "+s.String())
			}
			if got, want := w.changedInDatabase(t), w.changed(); !slices.Equal(got, want) {
				t.Fatalf("seed %d, after\n%s\nthe changed are %v, want %v", seed, strings.Join(happened, "\n"), got, want)
			}
		}
	})
}

func TestChangedSkipsChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2", Archived: true}, Channel{ID: "C3"}, Channel{ID: "C4"}, Channel{ID: "C5"})
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2", Archived: true}, Channel{ID: "C4"}, Channel{ID: "C5"})
		for _, id := range []string{"C1", "C2", "C3", "C9"} { // here, archived, left, unknown
			db.store(t, in(id, said(at(1), "")), in(id, said(at(2), at(1))))
		}
		old := func(n int) string { return chat.TS(noon.Add(-window).Add(time.Duration(n) * time.Second)) }
		db.store(t, in("C4", said(old(-2), "")), in("C4", said(old(-1), old(-2))), // before the window
			in("C5", said(old(-1), "")), in("C5", said(old(0), old(-1)))) // at its beginning
		elsewhere := said(at(1), "")
		elsewhere.Team = "T2"
		db.store(t, elsewhere)
		since := noon.Add(-window)
		threads, err := db.ChangedThreads(t.Context(), team, since, since, chat.Scope{}, 10)
		if want := []chat.Scope{{Team: team, Channel: "C1", Thread: at(1)}, {Team: team, Channel: "C5", Thread: old(-1)}}; err != nil || !slices.Equal(threads, want) {
			t.Errorf("threads %v, %v; want %v", threads, err, want)
		}
		channels, err := db.ChangedChannels(t.Context(), team, since, chat.Scope{}, 10)
		if want := []chat.Scope{{Team: team, Channel: "C1"}, {Team: team, Channel: "C5"}}; err != nil || !slices.Equal(channels, want) {
			t.Errorf("channels %v, %v; want %v", channels, err, want)
		}
	})
}

// A quiet thread is checked as long as it is recalled, because a deleted reply must not survive in
// its summary.
func TestOldThreadsAreCheckedWhileRecalled(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: channel})
		reply := said(at(2), at(1))
		db.store(t, said(at(1), ""), reply)
		db.remember(t, noon, aThread)
		db.clock.advance(3 * window)
		db.remember(t, db.clock.now().Add(-window), theChannel)
		reply.Deleted = true
		db.store(t, reply)
		for recalled, want := range map[time.Time]int{noon: 1, noon.Add(time.Microsecond): 0} {
			got, err := db.ChangedThreads(t.Context(), team, db.clock.now().Add(-window), recalled, chat.Scope{}, 10)
			if err != nil || len(got) != want {
				t.Errorf("recalled since %v: %v, %v; want %d", recalled, got, err, want)
			}
		}
		db.save(t, MemoryUpdate{Scope: aThread, Short: WithdrawMemory, Cursor: db.cursor(t, aThread, noon), Read: noon})
		if got, err := db.ChangedThreads(t.Context(), team, noon, noon, chat.Scope{}, 10); err != nil || len(got) != 0 {
			t.Errorf("once it is withdrawn: %v, %v", got, err)
		}
	})
}

func TestChannelMemoryInput(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		gone := said(at(9), "")
		gone.Deleted = true
		db.store(t, said(at(1), ""), said(at(2), ""), said(at(3), at(1)), said(at(4), at(2)), said(at(5), ""), said(at(6), at(2)), gone, in("C2", said(at(8), "")))
		for _, test := range []struct {
			since, limit int
			want         string
			omitted      int
		}{
			{0, 10, "01 02 03 04 05 06 ", 0},
			{3, 10, "01 02 03 04 05 06 ", 0},
			{5, 10, "02 05 06 ", 0},
			{7, 10, "", 0},
			{3, 2, "02 05 06 ", 2},
			{2, 2, "02 05 06 ", 2},
			{0, 2, "02 05 06 ", 3},
			{3, 4, "01 02 03 04 05 06 ", 0},
		} {
			said, omitted, err := db.ChannelMemoryInput(t.Context(), team, channel, noon.Add(time.Duration(test.since)*time.Second), test.limit)
			var all []chat.Message
			for _, m := range said {
				all = append(all, m.Message)
			}
			slices.SortFunc(all, func(a, b chat.Message) int { return strings.Compare(a.TS, b.TS) })
			if got := seconds(all); err != nil || got != test.want || omitted != test.omitted {
				t.Errorf("since %d, at most %d: %s, %d omitted, %v; want %s, %d", test.since, test.limit, got, omitted, err, test.want, test.omitted)
			}
		}
	})
}

// Stored changes when a reader must read a message again: when it is sent, edited, or read from
// Slack's history with another text. It does not change when its event follows.
func TestStoredIsTheTimeOfTheLastChange(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		remember := func() {
			t.Helper()
			must(t, db.SaveHistory(t.Context(), []chat.Message{m}))
		}
		want := noon
		for i, step := range []struct {
			news bool
			run  func()
		}{
			{true, remember},
			{false, remember},
			{true, func() { m.Text = "edited unheard"; remember() }},
			{false, func() { db.store(t, m) }},
			{true, func() { m.Text, m.Revision = "edited", at(2); db.store(t, m) }},
			{false, func() { db.store(t, m) }},
			{true, func() { m.Files = []chat.File{{ID: "F1"}}; db.store(t, m) }},
			{false, remember},
		} {
			db.clock.advance(time.Minute)
			if step.news {
				want = db.clock.now()
			}
			step.run()
			got, _, err := db.ChannelMemoryInput(t.Context(), team, channel, noon, 1)
			if err != nil || len(got) != 1 || got[0].Stored != want {
				t.Errorf("step %d: %+v, %v; want it stored at %v", i, got, err, want)
			}
		}
	})
}

func TestCountsAreBounded(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		top := chat.Conversation{Team: team, Channel: channel}
		for _, step := range []struct{ add, omitted int }{{chat.CountAtMost + 2, chat.CountAtMost - 1}, {1, chat.CountAtMost}, {1, chat.CountAtMost}} {
			var rows []messageRow
			there := db.count(t, "messages", "TRUE")
			for n := range step.add {
				row, err := newMessageRow(said(at(there+n), ""), true, 0)
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, row)
			}
			must(t, db.db.CreateInBatches(rows, 100).Error)
			if omitted := db.context(t, top, 3).Omitted; omitted != step.omitted {
				t.Errorf("a context omits %d, want %d", omitted, step.omitted)
			}
			if _, omitted, err := db.ChannelMemoryInput(t.Context(), team, channel, noon, 3); err != nil || omitted != step.omitted {
				t.Errorf("ChannelMemoryInput omits %d, %v; want %d", omitted, err, step.omitted)
			}
		}
	})
}
