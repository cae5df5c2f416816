package timeline

import (
	"maps"
	"slices"
	"testing"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
	"myao/test/storetest"
)

// A thread's timeline is complete, however much happened at the channel's top level since its
// parent, and however few of its messages are read.
func TestReadThreadInABusyChannel(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	hear := func(m store.StoredMessage, changes ...conversation.Change) {
		t.Helper()
		if _, err := db.Record(t.Context(), m.Message, func(store.Known) store.Entry {
			e := store.Entry{Message: &m.Message, Handled: true}
			for _, c := range changes {
				e.Changes = append(e.Changes, store.Change{Conversation: chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}, Change: c})
			}
			return e
		}); err != nil {
			t.Fatal(err)
		}
	}
	decide := func(key string, m store.StoredMessage) {
		t.Helper()
		if err := db.Decide(t.Context(), decided(key, m, 0, "silent")); err != nil {
			t.Fatal(err)
		}
	}
	parent, mention, last := heard(0), in(0, heard(maxRows+10)), in(0, heard(maxRows+11))
	hear(parent, conversation.Change{TS: parent.TS, Kind: conversation.Said})
	decide("parent", parent)
	busy := make([]conversation.Change, maxRows+1)
	for i := range busy {
		busy[i] = conversation.Change{TS: ts(1), Kind: conversation.Edited, Revision: ts(i + 2)}
	}
	for some := range slices.Chunk(busy, 1000) {
		hear(heard(1), some...)
	}
	hear(mention, conversation.Change{TS: mention.TS, Kind: conversation.Addressed})
	hear(last, conversation.Change{TS: last.TS, Kind: conversation.Said})

	const waits = "nothing decided yet: waiting to be relayed to its conversation"
	for name, test := range map[string]struct {
		options Options
		want    map[string]string // notes by the messages' ts
	}{
		"all":               {Options{}, map[string]string{parent.TS: "", mention.TS: waits, last.TS: waits}},
		"its newest":        {Options{Limit: 1}, map[string]string{parent.TS: "", last.TS: waits}},
		"since the mention": {Options{Since: mention.Time()}, map[string]string{parent.TS: "", mention.TS: waits, last.TS: waits}},
		"one message":       {Options{MessageTS: mention.TS}, map[string]string{mention.TS: waits}},
		"its parent":        {Options{MessageTS: parent.TS}, map[string]string{parent.TS: "", mention.TS: waits, last.TS: waits}},
	} {
		story, err := Read(t.Context(), db, chat.Conversation{Team: "T1", Channel: "C1", Thread: parent.TS}, test.options)
		if err != nil {
			t.Fatal(err)
		}
		notes, decisions := map[string]string{}, 0
		for _, e := range story.Entries {
			switch {
			case e.Message != nil:
				notes[e.Message.TS] = e.Message.Explanation
			case e.Decision != nil:
				decisions++
			}
		}
		if !maps.Equal(notes, test.want) {
			t.Errorf("%s: told %q, want %q", name, notes, test.want)
		}
		if _, there := test.want[parent.TS]; there != (decisions == 1) {
			t.Errorf("%s: told of %d decisions", name, decisions)
		}
	}
}
