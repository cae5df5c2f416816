package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"myao/internal/chat"
)

// make makes a memory of a scope current, as a memory run does.
func (db database) make(t *testing.T, s chat.Scope, term chat.Term, text string, sources ...string) Memory {
	t.Helper()
	r := MemoryUpdate{Scope: s, Cursor: db.cursor(t, s, time.Time{}), Read: db.clock.now()}
	must(t, db.SaveDraft(t.Context(), Memory{Scope: s, Term: term, Text: text, Origin: "model", Sources: sources, Made: db.clock.now()}, r.Cursor))
	if r.Short = RenewMemory; term == chat.LongTerm {
		r.Long, r.Short = RenewMemory, KeepMemory
	}
	db.save(t, r)
	current := db.current(t, s)
	if term == chat.LongTerm {
		return *current.Long
	}
	return *current.Short
}

// texts is the texts of all versions of a term, the oldest first.
func (db database) texts(t *testing.T, s chat.Scope, term chat.Term) (texts []string) {
	t.Helper()
	versions, err := db.MemoryVersions(t.Context(), s, term, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Backward(versions) {
		texts = append(texts, m.Text)
	}
	return texts
}

// memoryInput is the ts that a memory of the channel would be made from, in order.
func (db database) memoryInput(t *testing.T) (ts []string) {
	t.Helper()
	said, omitted, err := db.ChannelMemoryInput(t.Context(), team, channel, time.Time{}, 100)
	if err != nil || omitted != 0 {
		t.Fatal(omitted, err)
	}
	for _, m := range said {
		ts = append(ts, m.TS)
	}
	slices.Sort(ts)
	return slices.Compact(ts)
}

const operator = "cli:ann"

// withMemories makes memories of a thread, its channel and the workspace, two versions each, an
// hour apart. There is another channel as well.
func (db database) withMemories(t *testing.T) (thread, other chat.Scope) {
	t.Helper()
	thread, other = chat.Scope{Team: team, Channel: channel, Thread: at(60)}, chat.Scope{Team: team, Channel: "C2"}
	db.sync(t, Channel{ID: channel, Name: "one"}, Channel{ID: "C2", Name: "two"})
	db.store(t, said(at(0), ""), said(at(60), ""), said(at(61), thread.Thread), in("C2", said(at(2), "")))
	for i := range 2 {
		n := fmt.Sprint(" ", i+1)
		db.clock.advance(time.Hour)
		db.make(t, thread, chat.ShortTerm, "thread"+n, at(60), at(61))
		short := db.make(t, theChannel, chat.ShortTerm, "short"+n)
		long := db.make(t, theChannel, chat.LongTerm, "long"+n, at(0), at(60), at(61))
		others := db.make(t, other, chat.LongTerm, "other"+n, at(2))
		db.make(t, workspace, chat.ShortTerm, "lately"+n, fmt.Sprint("C1/", short.ID))
		sources := []string{fmt.Sprint("C2/", others.ID)}
		if i > 0 {
			sources = append(sources, fmt.Sprint("C1/", long.ID))
		}
		db.make(t, workspace, chat.LongTerm, "all"+n, sources...)
	}
	db.clock.advance(time.Hour)
	return thread, other
}

func TestForgetAChannel(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread, other := db.withMemories(t)
		must(t, db.SaveDraft(t.Context(), Memory{Scope: theChannel, Term: chat.LongTerm, Text: "half done"}, db.cursor(t, theChannel, noon)))
		got, err := db.Forget(t.Context(), theChannel, operator, "o1")
		want := ForgetResult{Versions: 9, Scopes: []chat.Scope{theChannel, thread, workspace}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		db.wantRows(t, 0, "memories", "channel_id = 'C1' AND text <> ''")
		// it is known who had them forgotten
		db.wantRows(t, 0, "memories", "forgotten_us > 0 AND forgotten_by <> ?", operator)
		for _, s := range []chat.Scope{theChannel, thread} {
			if long, short := db.currentTexts(t, s); long != "" || short != "" {
				t.Errorf("of %s current is %q, %q", s, long, short)
			}
		}
		// The workspace's version from before the channel was among its sources contains nothing of it.
		if long, short := db.currentTexts(t, workspace); long != "all 1" || short != "" {
			t.Errorf("of the workspace current is %q, %q", long, short)
		}
		if got, want := db.texts(t, workspace, chat.LongTerm), []string{"all 1", ""}; !slices.Equal(got, want) {
			t.Errorf("versions of the workspace: %q, want %q", got, want)
		}
		if got, want := db.texts(t, other, chat.LongTerm), []string{"other 1", "other 2"}; !slices.Equal(got, want) {
			t.Errorf("the other channel: %q, want %q", got, want)
		}
		versions, err := db.MemoryVersions(t.Context(), theChannel, chat.LongTerm, 1)
		if m := versions[0]; err != nil || m.ForgottenBy != operator || !m.Forgotten.Equal(db.clock.now()) || len(m.Sources) != 3 || m.Made.IsZero() {
			t.Errorf("what is left of a version: %+v, %v", m, err)
		}
		orders, err := db.Orders(t.Context(), team, channel, time.Time{}, 10)
		if want := []Order{{ID: "o1", Scope: theChannel, Kind: "forget", By: operator, At: db.clock.now()}}; err != nil || !reflect.DeepEqual(orders, want) {
			t.Errorf("orders %+v, %v; want %+v", orders, err, want)
		}
		// It is made again from newer messages: none yet.
		if got := db.memoryInput(t); len(got) != 0 {
			t.Errorf("memory would be made of %v", got)
		}
		changed, err := db.ChangedChannels(t.Context(), team, noon, chat.Scope{}, 10)
		if err != nil || !slices.Contains(changed, theChannel) || slices.Contains(changed, other) {
			t.Errorf("to be remembered: %v, %v", changed, err)
		}
		db.clock.advance(time.Minute)
		fresh := said(chat.TS(db.clock.now()), thread.Thread)
		db.store(t, fresh)
		if got, want := db.memoryInput(t), []string{fresh.TS}; !slices.Equal(got, want) {
			t.Errorf("memory would be made of %v, want %v", got, want)
		}
		if said, omitted, err := db.ThreadMemoryInput(t.Context(), thread, 10); err != nil || omitted != 0 || len(said) != 1 || said[0].TS != fresh.TS {
			t.Errorf("the thread's: %v, %d, %v", said, omitted, err)
		}
		// A repeated order does nothing.
		db.make(t, theChannel, chat.LongTerm, "long 3", fresh.TS)
		if again, err := db.Forget(t.Context(), theChannel, operator, "o1"); err != nil || again.Versions != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
		if long, _ := db.currentTexts(t, theChannel); long != "long 3" {
			t.Errorf("current is %q", long)
		}
		if n := db.current(t, theChannel).Long.Version; n != 3 {
			t.Errorf("the new version is %d, want 3", n)
		}
	})
}

// Writers in the channel wait meanwhile, and no longer for many threads than for few.
func TestForgetCostsTheSameForManyThreads(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		asked := map[string]int{}
		for id, n := range map[string]int{"C1": 2, "C2": 20} {
			for i := range n {
				db.make(t, chat.Scope{Team: team, Channel: id, Thread: at(i)}, chat.ShortTerm, "thread")
			}
			asked[id] = len(db.statements(t, func(ctx context.Context, s *Store) error {
				got, err := s.Forget(ctx, chat.Scope{Team: team, Channel: id}, operator, "o"+id)
				if got.Versions != n || len(got.Scopes) != n {
					t.Errorf("%s: %+v", id, got)
				}
				return err
			}))
		}
		if asked["C1"] != asked["C2"] {
			t.Errorf("statements: %v", asked)
		}
	})
}

// A memory made before a thread began contains nothing of it, and stays.
func TestForgetThreadOrMessages(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, db database, thread chat.Scope) (ForgetResult, error){
		"thread": func(t *testing.T, db database, thread chat.Scope) (ForgetResult, error) {
			return db.Forget(t.Context(), thread, operator, "o1")
		},
		"messages": func(t *testing.T, db database, thread chat.Scope) (ForgetResult, error) {
			return db.ForgetMessages(t.Context(), team, channel, []string{chat.TS(chat.Time(thread.Thread).Add(time.Second)), thread.Thread}, operator, "o1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, db database) {
				old, other := db.withMemories(t)
				root := said(chat.TS(db.clock.now()), "")
				reply := said(chat.TS(db.clock.now().Add(time.Second)), root.TS)
				thread := chat.Scope{Team: team, Channel: channel, Thread: root.TS}
				db.clock.advance(10 * time.Minute)
				between := said(chat.TS(db.clock.now()), "")
				db.store(t, root, reply, between)
				db.make(t, thread, chat.ShortTerm, "thread 3", root.TS, reply.TS)
				db.make(t, old, chat.ShortTerm, "old thread 3")
				long := db.make(t, theChannel, chat.LongTerm, "long 3", root.TS, reply.TS)
				db.make(t, theChannel, chat.ShortTerm, "short 3")
				db.make(t, workspace, chat.LongTerm, "all 3", fmt.Sprint("C1/", long.ID))
				db.clock.advance(time.Minute)

				got, err := forget(t, db, thread)
				if err != nil || got.Versions != 5 || len(got.Scopes) != 4 {
					t.Errorf("%+v, %v", got, err)
				}
				for s, want := range map[chat.Scope]string{thread: "/", theChannel: "long 2/", old: "/", other: "other 2/", workspace: "all 2/lately 2"} {
					if long, short := db.currentTexts(t, s); long+"/"+short != want {
						t.Errorf("of %s current is %q, want %q", s, long+"/"+short, want)
					}
				}
				// Messages from in between are new again, forgotten ones are not.
				if got, want := db.memoryInput(t), []string{at(0), at(60), at(61), between.TS}; !slices.Equal(got, want) {
					t.Errorf("memory would be made of %v, want %v", got, want)
				}
				current := db.current(t, theChannel)
				if !current.Read.IsZero() || current.Cursor.Since.After(root.Time()) {
					t.Errorf("the channel has %+v", current)
				}
				if said, _, err := db.ThreadMemoryInput(t.Context(), thread, 10); err != nil || len(said) != 0 {
					t.Errorf("the thread's: %v, %v", said, err)
				}
				changed, err := db.ChangedThreads(t.Context(), team, noon, noon, chat.Scope{}, 10)
				if err != nil || !slices.Contains(changed, thread) || !slices.Contains(changed, old) {
					t.Errorf("threads to be remembered: %v, %v", changed, err)
				}
			})
		})
	}
}

// The workspace's memory is made from channels' memories, which must not bring back what was
// forgotten.
func TestForgetTheWorkspace(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		_, other := db.withMemories(t)
		got, err := db.Forget(t.Context(), workspace, operator, "o1")
		if want := (ForgetResult{Versions: 4, Scopes: []chat.Scope{workspace}}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		if long, short := db.currentTexts(t, theChannel); long != "long 2" || short != "short 2" {
			t.Errorf("the channel remembers %q, %q", long, short)
		}
		told := func(here string) (all []string) {
			t.Helper()
			k, err := db.Knowledge(t.Context(), team, here, time.Time{}, 10, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range k.Channels {
				all = append(all, c.LongTerm+c.ShortTerm)
			}
			slices.Sort(all)
			return all
		}
		if got, want := told(""), []string{"", ""}; !slices.Equal(got, want) {
			t.Errorf("the workspace knows %q, want %q", got, want)
		}
		if got, want := told(channel), []string{"long 2short 2", "other 2"}; !slices.Equal(got, want) {
			t.Errorf("the channel knows %q, want %q", got, want)
		}
		db.clock.advance(time.Minute)
		db.make(t, other, chat.LongTerm, "other 3")
		if got, want := told(""), []string{"", "other 3"}; !slices.Equal(got, want) {
			t.Errorf("the workspace knows %q, want %q", got, want)
		}
	})
}

// A memory run that began before an order to forget begins again, wherever it was interrupted, and
// for every scope that may contain what was forgotten.
func TestConcurrentMemoryIsOverruled(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread, other := db.withMemories(t)
		unremembered := chat.Scope{Team: team, Channel: channel, Thread: at(0)}
		orders := map[string]func(id string) error{
			"forget the channel": func(id string) error { return errOf(db.Forget(t.Context(), theChannel, operator, id)) },
			"forget the thread":  func(id string) error { return errOf(db.Forget(t.Context(), thread, operator, id)) },
			"forget a message": func(id string) error {
				_, err := db.ForgetMessages(t.Context(), team, channel, []string{at(0)}, operator, id)
				return err
			},
		}
		n := 0
		for name, order := range orders {
			for _, s := range []chat.Scope{theChannel, thread, unremembered, workspace, other} {
				for _, drafted := range []bool{false, true} {
					n++
					c := db.cursor(t, s, noon)
					draft := func() error { return db.SaveDraft(t.Context(), Memory{Scope: s, Term: chat.ShortTerm, Text: "old"}, c) }
					if drafted {
						must(t, draft())
					}
					must(t, order(fmt.Sprint("o", n)))
					want := ErrOverruled
					if s == other {
						want = nil
					}
					if err := draft(); !errors.Is(err, want) {
						t.Errorf("%s while %s is remembered: the draft: %v", name, s, err)
					}
					if err := db.SaveMemories(t.Context(), MemoryUpdate{Scope: s, Short: RenewMemory, Cursor: c, Read: noon}); !errors.Is(err, want) {
						t.Errorf("%s while %s is remembered: %v", name, s, err)
					}
					if n := db.count(t, "memories", "text = 'old' AND channel_id <> 'C2'"); n != 0 {
						t.Errorf("%s while %s is remembered: %d texts are kept", name, s, n)
					}
					if current := db.current(t, s); current.Cursor.Ordered.Equal(c.Ordered) && s != other {
						t.Errorf("%s: %s stands as if nothing had been ordered", name, s)
					}
				}
			}
		}
	})
}

// Whatever the interleaving, no current memory was made from messages read before.
func TestForgetAndRememberAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.withMemories(t)
		db.Store.now = time.Now // the orders' clock must advance
		scopes := []chat.Scope{theChannel, workspace}
		for i := range 20 { // threads that are remembered once, for the first time
			scopes = append(scopes, chat.Scope{Team: team, Channel: channel, Thread: at(100 + i)})
		}
		var group sync.WaitGroup
		var done atomic.Int32
		remember := func(s chat.Scope) {
			c, err := db.CurrentCursor(t.Context(), s, noon)
			if err == nil {
				err = db.SaveDraft(t.Context(), Memory{Scope: s, Term: chat.ShortTerm, Text: c.Ordered.String(), Sources: []string{"C1/1"}}, c)
			}
			if err == nil {
				err = db.SaveMemories(t.Context(), MemoryUpdate{Scope: s, Short: RenewMemory, Cursor: c, Read: noon})
			}
			if err != nil && !errors.Is(err, ErrOverruled) {
				t.Error(err)
			}
		}
		for i := range 2 {
			done.Add(1)
			group.Go(func() {
				defer done.Add(-1)
				for j := range 10 {
					remember(scopes[i])
					remember(scopes[2+10*i+j])
				}
			})
		}
		group.Go(func() {
			for i := 0; done.Load() > 0; i++ {
				if _, err := db.Forget(t.Context(), theChannel, operator, fmt.Sprint("o", i)); err != nil {
					t.Error(err)
				}
			}
		})
		group.Wait()
		for _, s := range scopes {
			_, short := db.currentTexts(t, s)
			if now := db.cursor(t, s, noon).Ordered.String(); short != "" && short != now {
				t.Errorf("%s remembers what was read as of the order of %s, after that of %s", s, short, now)
			}
		}
	})
}
