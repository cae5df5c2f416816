package store

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"myao/internal/chat"
)

var (
	workspace  = chat.Scope{Team: team}
	theChannel = chat.Scope{Team: team, Channel: channel}
	aThread    = chat.Scope{Team: team, Channel: channel, Thread: at(1)}
)

// text is a memory's text in the tests.
func text(s chat.Scope, term chat.Term) string { return fmt.Sprintf("%s memory of %s", term, s) }

func (db database) draft(t *testing.T, s chat.Scope, term chat.Term, text string, c Cursor) {
	t.Helper()
	must(t, db.SaveDraft(t.Context(), Memory{Scope: s, Term: term, Text: text, Origin: "model", Made: db.clock.now()}, c))
}

func (db database) cursor(t *testing.T, s chat.Scope, since time.Time) Cursor {
	t.Helper()
	c, err := db.CurrentCursor(t.Context(), s, since)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (db database) current(t *testing.T, s chat.Scope) CurrentMemory {
	t.Helper()
	current, err := db.CurrentMemory(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return current
}

func (db database) save(t *testing.T, r MemoryUpdate) {
	t.Helper()
	must(t, db.SaveMemories(t.Context(), r))
}

// remember makes the memories of scopes again, as a memory run does.
func (db database) remember(t *testing.T, since time.Time, scopes ...chat.Scope) {
	t.Helper()
	for _, s := range scopes {
		r := MemoryUpdate{Scope: s, Cursor: db.cursor(t, s, since), Read: db.clock.now()}
		for _, term := range s.Terms() {
			db.draft(t, s, term, text(s, term), r.Cursor)
			if term == chat.LongTerm {
				r.Long = RenewMemory
			} else {
				r.Short = RenewMemory
			}
		}
		db.save(t, r)
	}
}

// currentTexts is a scope's current texts; "" for none.
func (db database) currentTexts(t *testing.T, s chat.Scope) (long, short string) {
	t.Helper()
	current := db.current(t, s)
	if current.Long != nil {
		long = current.Long.Text
	}
	if current.Short != nil {
		short = current.Short.Text
	}
	return long, short
}

func TestMemoryKeepsItsOrigin(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for _, scope := range []chat.Scope{workspace, theChannel, aThread} {
			if got := db.current(t, scope); !reflect.DeepEqual(got, CurrentMemory{}) {
				t.Errorf("of a %s never remembered: %+v", scope, got)
			}
			want := Memory{
				Scope: scope, Term: chat.ShortTerm, Text: "言葉 with 'quotes' and $1 ?\nlines", Origin: "model", Model: "m-1",
				TokensOut: 20, Sources: []string{at(1), at(2)}, Made: noon.Add(-time.Minute),
			}
			c := Cursor{Since: noon.Add(-time.Hour), Newest: noon.Add(time.Microsecond), Revision: at(3), Count: 2}
			must(t, db.SaveDraft(t.Context(), want, c))
			got, err := db.Draft(t.Context(), scope, chat.ShortTerm, c)
			want.ID = got.ID
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("draft %+v, %v\nwant  %+v", got, err, want)
			}
			// A draft is not current.
			if got := db.current(t, scope); got.Known {
				t.Errorf("with a draft: %+v", got)
			}
			if got, err := db.MemoryVersions(t.Context(), scope, chat.ShortTerm, 10); err != nil || len(got) != 0 {
				t.Errorf("versions with a draft: %+v, %v", got, err)
			}
			db.save(t, MemoryUpdate{Scope: scope, Short: RenewMemory, Cursor: c, Read: noon})
			want.Version = 1
			if got, want := db.current(t, scope), (CurrentMemory{Short: &want, Cursor: c, Known: true, Read: noon}); !reflect.DeepEqual(got, want) {
				t.Errorf("current %+v\nwant     %+v", got, want)
			}
			if got, err := db.MemoryVersions(t.Context(), scope, chat.ShortTerm, 10); err != nil || !reflect.DeepEqual(got, []Memory{want}) {
				t.Errorf("versions %+v, %v", got, err)
			}
		}
	})
}

func TestDraftsBelongToOneCursor(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		c := Cursor{Since: noon, Newest: noon.Add(time.Second), Revision: at(3), Count: 2}
		db.draft(t, theChannel, chat.LongTerm, "one", c)
		with := func(change func(c *Cursor)) Cursor { d := c; change(&d); return d }
		for name, other := range map[string]struct {
			chat.Scope
			chat.Term
			Cursor
		}{
			"another since":      {theChannel, chat.LongTerm, with(func(c *Cursor) { c.Since = noon.Add(time.Microsecond) })},
			"no since":           {theChannel, chat.LongTerm, with(func(c *Cursor) { c.Since = time.Time{} })},
			"another newest":     {theChannel, chat.LongTerm, with(func(c *Cursor) { c.Newest = noon })},
			"another revision":   {theChannel, chat.LongTerm, with(func(c *Cursor) { c.Revision = at(4) })},
			"another count":      {theChannel, chat.LongTerm, with(func(c *Cursor) { c.Count++ })},
			"another term":       {theChannel, chat.ShortTerm, c},
			"another channel":    {chat.Scope{Team: team, Channel: "C2"}, chat.LongTerm, c},
			"the workspace":      {workspace, chat.LongTerm, c},
			"another team":       {chat.Scope{Team: "T2", Channel: channel}, chat.LongTerm, c},
			"one of its threads": {aThread, chat.LongTerm, c},
		} {
			if _, err := db.Draft(t.Context(), other.Scope, other.Term, other.Cursor); !errors.Is(err, ErrNotFound) {
				t.Errorf("of %s: %v, want ErrNotFound", name, err)
			}
		}
		later := c
		later.Count++
		db.draft(t, theChannel, chat.LongTerm, "two", later)
		if _, err := db.Draft(t.Context(), theChannel, chat.LongTerm, c); !errors.Is(err, ErrNotFound) {
			t.Errorf("the draft that was replaced: %v, want ErrNotFound", err)
		}
		if got, err := db.Draft(t.Context(), theChannel, chat.LongTerm, later); err != nil || got.Text != "two" {
			t.Errorf("got %q, %v", got.Text, err)
		}
		db.wantRows(t, 1, "memories", "TRUE")
		// A draft from another cursor does not become current.
		if err := db.SaveMemories(t.Context(), MemoryUpdate{Scope: theChannel, Long: RenewMemory, Cursor: c, Read: noon}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
		if got := db.current(t, theChannel); got.Known {
			t.Errorf("a failed save left %+v", got)
		}
	})
}

func TestEmptyMemoryIsRefused(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for _, text := range []string{"", " \n\t"} {
			if err := db.SaveDraft(t.Context(), Memory{Scope: theChannel, Term: chat.LongTerm, Text: text}, Cursor{}); err == nil {
				t.Errorf("%q is kept", text)
			}
		}
	})
}

func TestSaveMemories(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		cursor := func(n int) Cursor { return Cursor{Since: noon, Newest: noon, Count: n} }
		for n, step := range []struct {
			drafts      string // terms
			long, short MemoryAction
			wantLong    string // the step whose memory is current, "" for none
			wantShort   string
			fails       bool
		}{
			{"long short", RenewMemory, RenewMemory, "0", "0", false},
			{"short", KeepMemory, RenewMemory, "0", "1", false},
			{"long short", KeepMemory, RenewMemory, "0", "2", false}, // the long draft is dropped
			{"", RenewMemory, KeepMemory, "0", "2", true},
			{"short", RenewMemory, RenewMemory, "0", "2", true}, // all or nothing
			{"", "", WithdrawMemory, "0", "", false},
			{"long short", RenewMemory, RenewMemory, "6", "6", false},
			{"", WithdrawMemory, KeepMemory, "", "6", false},
			{"", "make", KeepMemory, "", "6", true},
		} {
			for _, term := range []chat.Term{chat.LongTerm, chat.ShortTerm} {
				if len(step.drafts) > 0 && (step.drafts == string(term) || step.drafts == "long short") {
					db.draft(t, theChannel, term, fmt.Sprint(n), cursor(n))
				}
			}
			before := db.current(t, theChannel)
			err := db.SaveMemories(t.Context(), MemoryUpdate{Scope: theChannel, Long: step.long, Short: step.short, Cursor: cursor(n), Read: noon.Add(time.Duration(n))})
			if (err != nil) != step.fails {
				t.Errorf("step %d: %v", n, err)
			}
			if long, short := db.currentTexts(t, theChannel); long != step.wantLong || short != step.wantShort {
				t.Errorf("step %d: current are %q and %q, want %q and %q", n, long, short, step.wantLong, step.wantShort)
			}
			after := db.current(t, theChannel)
			if step.fails && !reflect.DeepEqual(after, before) {
				t.Errorf("step %d failed, and left\n%+v\nafter %+v", n, after, before)
			}
			if !step.fails && (after.Cursor != cursor(n) || db.count(t, "memories", "version = 0") != 0) {
				t.Errorf("step %d: cursor %+v, %d drafts", n, after.Cursor, db.count(t, "memories", "version = 0"))
			}
		}
		for term, want := range map[chat.Term]string{chat.LongTerm: "2:6 1:0 ", chat.ShortTerm: "4:6 3:2 2:1 1:0 "} {
			versions, err := db.MemoryVersions(t.Context(), theChannel, term, 10)
			got := ""
			for _, m := range versions {
				got += fmt.Sprintf("%d:%s ", m.Version, m.Text)
			}
			if err != nil || got != want {
				t.Errorf("versions of %s: %s, %v; want %s", term, got, err, want)
			}
		}
		if got, err := db.MemoryVersions(t.Context(), theChannel, chat.ShortTerm, 2); err != nil || len(got) != 2 || got[0].Version != 4 {
			t.Errorf("the newest two: %+v, %v", got, err)
		}
	})
}

// The second of two workers has made one memory again when it finds everything done: the current
// memory stays the newest version.
func TestSaveMemoriesAfterAnotherWorker(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		c := Cursor{Since: noon, Newest: noon, Count: 1}
		r := MemoryUpdate{Scope: theChannel, Long: RenewMemory, Short: RenewMemory, Cursor: c, Read: noon}
		for _, term := range theChannel.Terms() {
			db.draft(t, theChannel, term, "the first's", c)
		}
		db.save(t, r)
		want := db.current(t, theChannel)
		for _, term := range theChannel.Terms() {
			db.draft(t, theChannel, term, "the second's", c)
			db.save(t, r)
			if got := db.current(t, theChannel); !reflect.DeepEqual(got, want) {
				t.Errorf("with another %s draft: current is %+v, want %+v", term, got, want)
			}
			if got := db.count(t, "memories", "version > 0"); got != 2 {
				t.Errorf("with another %s draft: %d versions, want 2", term, got)
			}
			must(t, ofScope(db.db, theChannel).Where("version = 0").Delete(&memoryRow{}).Error)
		}
	})
}

func TestConcurrentSaversLoseNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		stores := []*Store{db.Store, other}
		const rounds = 10
		for n := range rounds {
			c := Cursor{Since: noon, Newest: noon, Count: n}
			db.draft(t, theChannel, chat.LongTerm, fmt.Sprint(n), c)
			db.draft(t, theChannel, chat.ShortTerm, fmt.Sprint(n), c)
			noErrors(t, concurrently(6, func(i int) error {
				return stores[i%2].SaveMemories(t.Context(), MemoryUpdate{Scope: theChannel, Long: RenewMemory, Short: RenewMemory, Cursor: c, Read: noon})
			}))
			if long, short := db.currentTexts(t, theChannel); long != fmt.Sprint(n) || short != fmt.Sprint(n) {
				t.Errorf("round %d: current are %q and %q", n, long, short)
			}
		}
		db.wantRows(t, 2*rounds, "memories", "version > 0")
		// Two workers each draft and save. In every case the current memory is the newest
		// version and belongs to the cursor.
		noErrors(t, concurrently(6, func(i int) error {
			s := stores[i%2]
			for n := range rounds {
				c := Cursor{Since: noon, Newest: noon.Add(time.Duration(i+1) * time.Second), Count: n}
				if err := s.SaveDraft(t.Context(), Memory{Scope: theChannel, Term: chat.ShortTerm, Text: c.key()}, c); err != nil {
					return err
				}
				err := s.SaveMemories(t.Context(), MemoryUpdate{Scope: theChannel, Short: RenewMemory, Cursor: c, Read: noon})
				if err != nil && !errors.Is(err, ErrNotFound) { // another worker's draft has replaced it
					return err
				}
			}
			return nil
		}))
		current := db.current(t, theChannel)
		versions, err := db.MemoryVersions(t.Context(), theChannel, chat.ShortTerm, 1)
		if err != nil || !reflect.DeepEqual(*current.Short, versions[0]) || current.Short.Text != current.Cursor.key() {
			t.Errorf("current is %+v, the newest version %+v, the cursor %s, %v", current.Short, versions, current.Cursor.key(), err)
		}
		if long, _ := db.currentTexts(t, theChannel); long != fmt.Sprint(rounds-1) {
			t.Errorf("the long memory has become %q", long)
		}
		if gaps := db.count(t, "memories", "version > 0 AND term = 'short'"); gaps != versions[0].Version {
			t.Errorf("%d versions, the newest is %d", gaps, versions[0].Version)
		}
	})
}
