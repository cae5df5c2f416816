package inspector

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// remembers saves current memories for a scope.
func (w *fixture) remembers(s chat.Scope, text string, sources ...string) (ids map[chat.Term]int64) {
	w.t.Helper()
	ctx, db := w.t.Context(), w.operator.Store
	cursor, err := db.CurrentCursor(ctx, s, time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	r := store.MemoryUpdate{Scope: s, Cursor: cursor, Read: time.Now()}
	for _, term := range s.Terms() {
		if err := db.SaveDraft(ctx, store.Memory{Scope: s, Term: term, Text: fmt.Sprintf("%s-term %s", term, text), Origin: "model", Sources: sources}, cursor); err != nil {
			w.t.Fatal(err)
		}
		if term == chat.LongTerm {
			r.Long = store.RenewMemory
		} else {
			r.Short = store.RenewMemory
		}
	}
	if err := db.SaveMemories(ctx, r); err != nil {
		w.t.Fatal(err)
	}
	standing, err := db.CurrentMemory(ctx, s)
	if err != nil {
		w.t.Fatal(err)
	}
	ids = map[chat.Term]int64{chat.ShortTerm: standing.Short.ID}
	if standing.Long != nil {
		ids[chat.LongTerm] = standing.Long.ID
	}
	return ids
}

// A page shows the memories that the bot itself gets in the conversation: outside a private
// channel, nothing from it.
func TestMemoriesRespectVisibility(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	places := []store.Channel{
		{ID: "C1", Name: "general", Member: true}, {ID: "C2", Name: "random", Member: true},
		{ID: "G1", Name: "secret-plans", Member: true, Private: true}, {ID: "D1", Member: true, Private: true},
	}
	if _, err := w.operator.Store.SyncChannels(t.Context(), "T1", places); err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, p := range append(places, store.Channel{ID: "CODD"}) { // Slack was never asked about the last one
		ts := chat.TS(time.Now().Add(-time.Hour))
		w.keep(chat.Conversation{Team: "T1", Channel: p.ID}, ts, "hello")
		w.remembers(chat.Scope{Team: "T1", Channel: p.ID, Thread: ts}, "thread of "+p.ID)
		ids := w.remembers(chat.Scope{Team: "T1", Channel: p.ID}, "memory of "+p.ID)
		if p.ID == "C1" || p.ID == "C2" {
			sources = append(sources, store.Source(p.ID, ids[chat.LongTerm]))
		}
	}
	w.remembers(chat.Scope{Team: "T1"}, "memory of all", sources...)

	public := []string{"workspace long-term memory of all", "workspace short-term memory of all",
		"channel long-term memory of C1", "channel short-term memory of C1", "channel long-term memory of C2", "channel short-term memory of C2"}
	own := func(id string) []string {
		return []string{"thread short-term thread of " + id, "channel long-term memory of " + id, "channel short-term memory of " + id}
	}
	shows := func(id string, want ...string) {
		t.Helper()
		e := w.open("?channel="+id).await("the database's answer", func(e event) bool { return !strings.Contains(e.Problem, "database") })
		var got []string
		for _, m := range e.Memories {
			got = append(got, m.Scope+" "+m.Text)
			if !strings.HasPrefix(m.Text, string(m.Term)+"-term") || m.At.Before(w.began) || m.Scope != "workspace" && !strings.HasSuffix(m.Text, " of "+m.Channel) ||
				m.Scope == "thread" && !chat.ValidTS(m.Thread) {
				t.Errorf("in %s there is %+v", id, m)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("in %s is shown\n%s, want\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, id := range []string{"C1", "C2", "G1", "D1", "CODD"} {
		shows(id, append(own(id), public...)...)
	}
	shows("C404", public...)

	// When a channel becomes private, what was made from it disappears.
	places[1].Private, places[1].Refreshed = true, time.Now()
	if err := w.operator.Store.SaveChannel(t.Context(), "T1", places[1]); err != nil {
		t.Fatal(err)
	}
	shows("C1", own("C1")...)
	shows("C2", append(own("C2"), public...)...)
}

func TestMemoriesAreInPromptOrder(t *testing.T) {
	w := newWorld(t)
	w.Open(w.operator)
	if _, err := w.operator.Store.SyncChannels(t.Context(), "T1", []store.Channel{
		{ID: "C1", Name: "zoo", Member: true}, {ID: "C2", Name: "attic", Member: true},
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"C1", "C2"} {
		w.keep(chat.Conversation{Team: "T1", Channel: id}, chat.TS(time.Now()), "hello")
		w.remembers(chat.Scope{Team: "T1", Channel: id}, id)
	}
	for _, ts := range []string{"1700000002.000100", "1700000001.000100"} {
		w.remembers(chat.Scope{Team: "T1", Channel: "C1", Thread: ts}, ts)
	}
	w.remembers(chat.Scope{Team: "T1"}, "all")
	var got []string
	for _, m := range w.open("?channel=C1").next().Memories {
		got = append(got, m.Scope+" "+m.Name+" "+m.Text)
	}
	want := []string{
		"workspace  long-term all", "workspace  short-term all",
		"channel attic long-term C2", "channel attic short-term C2", "channel zoo long-term C1", "channel zoo short-term C1",
		"thread  short-term 1700000001.000100", "thread  short-term 1700000002.000100",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
