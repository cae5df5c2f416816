package store

import (
	"errors"
	"testing"

	"myao/internal/chat"
)

// deleted is a message as the event of its deletion leaves it.
func deleted(m chat.Message) chat.Message {
	m.Deleted, m.Text, m.Files, m.Revision = true, "", nil, ""
	return m
}

// A note goes with the message that asked for it, whether that is stored or has been pruned, and nothing
// brings it back.
func TestNotesGoWithTheirMessage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: channel, Name: "one"})
		stored, pruned, stays := said(chat.TS(day(90)), ""), said(chat.TS(day(91)), ""), said(chat.TS(day(1)), "")
		note := func(m chat.Message) error {
			return errOf(db.AddNote(t.Context(), team, channel, "step/"+m.TS, chat.Note{TS: m.TS, Author: "U1", Text: "note of " + m.TS}))
		}
		for _, m := range []chat.Message{stored, pruned, stays} {
			db.store(t, m)
			must(t, note(m))
		}
		db.exec(t, "DELETE FROM messages WHERE ts = ?", pruned.TS)
		for _, m := range []chat.Message{stored, pruned} {
			db.record(t, m, keep(deleted(m)))
		}
		late := said(chat.TS(day(89)), "") // it is deleted while its answer is under way
		db.record(t, late, keep(deleted(late)))
		if err := note(late); !errors.Is(err, ErrDeleted) {
			t.Errorf("a note of a deleted message: %v, want ErrDeleted", err)
		}
		db.prune(t, all)
		db.wantRows(t, 1, "messages", "TRUE")
		shown, err := db.Notes(t.Context(), team, channel)
		if err != nil || len(shown) != 1 || shown[0].TS != stays.TS {
			t.Errorf("in prompts: %+v, %v", shown, err)
		}
		home, _, err := db.NewestNotes(t.Context(), team, []string{channel}, 10)
		if err != nil || len(home) != 1 || home[0].TS != stays.TS {
			t.Errorf("on Home: %+v, %v", home, err)
		}
	})
}
