package store

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestRollback(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread, _ := db.withMemories(t)
		c := db.cursor(t, theChannel, noon)
		old, err := db.MemoryVersion(t.Context(), theChannel, chat.LongTerm, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Rollback(t.Context(), theChannel, chat.LongTerm, 1, operator, "o1")
		want := old
		want.ID, want.Version, want.Origin, want.By, want.Made = got.ID, 3, "operator", operator, db.clock.now()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
		if long, short := db.currentTexts(t, theChannel); long != "long 1" || short != "short 2" {
			t.Errorf("current is %q, %q", long, short)
		}
		if got, want := db.texts(t, theChannel, chat.LongTerm), []string{"long 1", "long 2", "long 1"}; !slices.Equal(got, want) {
			t.Errorf("versions %q, want %q", got, want)
		}
		orders, err := db.Orders(t.Context(), team, channel, time.Time{}, 10)
		if want := []Order{{ID: "o1", Scope: theChannel, Kind: "rollback", By: operator, Subject: "long/1", At: db.clock.now()}}; err != nil || !reflect.DeepEqual(orders, want) {
			t.Errorf("orders %+v, %v; want %+v", orders, err, want)
		}
		// A run that began before the order begins again; the thread's memory is not affected.
		if err := db.SaveDraft(t.Context(), Memory{Scope: theChannel, Term: chat.LongTerm, Text: "x"}, c); !errors.Is(err, ErrOverruled) {
			t.Errorf("a draft of before: %v", err)
		}
		if err := db.SaveMemories(t.Context(), MemoryUpdate{Scope: theChannel, Cursor: c, Read: noon}); !errors.Is(err, ErrOverruled) {
			t.Errorf("a memory of before: %v", err)
		}
		db.clock.advance(time.Minute)
		db.make(t, theChannel, chat.LongTerm, "long 4")
		db.make(t, thread, chat.ShortTerm, "thread 3")

		must(t, errOf(db.Forget(t.Context(), theChannel, operator, "o2")))
		for version, want := range map[int]error{1: ErrForgotten, 3: ErrForgotten, 9: ErrNotFound, 0: ErrNotFound} {
			if _, err := db.Rollback(t.Context(), theChannel, chat.LongTerm, version, operator, "o3"); !errors.Is(err, want) {
				t.Errorf("to version %d: %v, want %v", version, err, want)
			}
		}
		db.wantRows(t, 0, "orders", "id = 'o3'") // an order that was refused
	})
}

func TestCorrect(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread, _ := db.withMemories(t)
		c := db.cursor(t, theChannel, noon)
		old, err := db.MemoryVersion(t.Context(), theChannel, chat.LongTerm, 2)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Correct(t.Context(), theChannel, chat.LongTerm, "as it was", operator, "o1")
		want := old
		want.ID, want.Version, want.Text, want.Origin, want.By, want.Made, want.Model = got.ID, 3, "as it was", "operator", operator, db.clock.now(), ""
		want.TokensOut = 0
		if err != nil || !reflect.DeepEqual(got, want) || len(got.Sources) != 3 {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
		if long, short := db.currentTexts(t, theChannel); long != "as it was" || short != "short 2" {
			t.Errorf("current is %q, %q", long, short)
		}
		if got, want := db.texts(t, theChannel, chat.LongTerm), []string{"long 1", "long 2", "as it was"}; !slices.Equal(got, want) {
			t.Errorf("versions %q, want %q", got, want)
		}
		orders, err := db.Orders(t.Context(), team, channel, time.Time{}, 10)
		if want := []Order{{ID: "o1", Scope: theChannel, Kind: "correct", By: operator, Subject: "long/2", At: db.clock.now()}}; err != nil || !reflect.DeepEqual(orders, want) {
			t.Errorf("orders %+v, %v; want %+v", orders, err, want)
		}
		// A run that began before the order begins again, from the new text.
		if err := db.SaveMemories(t.Context(), MemoryUpdate{Scope: theChannel, Cursor: c, Read: noon}); !errors.Is(err, ErrOverruled) {
			t.Errorf("a memory of before: %v", err)
		}
		db.clock.advance(time.Minute)
		db.make(t, theChannel, chat.LongTerm, "long 4")
		if long, _ := db.currentTexts(t, theChannel); long != "long 4" {
			t.Errorf("then current is %q", long)
		}

		if _, err := db.Correct(t.Context(), thread, chat.ShortTerm, " \n", operator, "o2"); !errors.Is(err, errEmpty) {
			t.Errorf("an empty text: %v", err)
		}
		// Forgetting also empties a text that an operator wrote.
		must(t, errOf(db.Correct(t.Context(), workspace, chat.LongTerm, "of all", operator, "o3")))
		must(t, errOf(db.Forget(t.Context(), theChannel, operator, "o4")))
		if long, _ := db.currentTexts(t, workspace); long == "of all" {
			t.Error("what was forgotten is still told")
		}
		for _, scope := range []chat.Scope{theChannel, {Team: team, Channel: "C9"}} {
			if _, err := db.Correct(t.Context(), scope, chat.ShortTerm, "x", operator, "o2"); !errors.Is(err, ErrNotFound) {
				t.Errorf("no memory of %s is current: %v", scope, err)
			}
		}
		db.wantRows(t, 0, "orders", "id = 'o2'") // an order that was refused
	})
}

func TestMemoryOverviews(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread, other := db.withMemories(t)
		tell := func(channel string, limit int) (scopes []chat.Scope, texts int) {
			t.Helper()
			listed, err := db.MemoryOverviews(t.Context(), team, channel, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range listed {
				scopes = append(scopes, s.Scope)
				for _, m := range []*Memory{s.Long, s.Short} {
					if m != nil && (m.Text != "" || m.Version != 2 || m.Scope != s.Scope) {
						t.Errorf("%+v", m)
					}
					if m != nil {
						texts++
					}
				}
			}
			return scopes, texts
		}
		if got, n := tell("", 10); !slices.Equal(got, []chat.Scope{workspace, theChannel, other}) || n != 5 {
			t.Errorf("listed %v with %d memories", got, n)
		}
		if got, n := tell("", 2); !slices.Equal(got, []chat.Scope{workspace, theChannel}) || n != 4 {
			t.Errorf("at most two: %v with %d memories", got, n)
		}
		if got, n := tell(channel, 10); !slices.Equal(got, []chat.Scope{theChannel, thread}) || n != 3 {
			t.Errorf("of the channel %v with %d memories", got, n)
		}
	})
}
