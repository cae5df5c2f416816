package store

import (
	"slices"
	"testing"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func withFiles(m chat.Message, ids ...string) chat.Message {
	for _, id := range ids {
		m.Files = append(m.Files, chat.File{ID: id, Name: id + ".txt", MIME: "text/plain"})
	}
	return m
}

func TestFiles(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		elsewhere := withFiles(said(at(9), ""), "F9")
		elsewhere.Channel = "C2"
		deleted := withFiles(said(at(8), at(1)), "F8")
		deleted.Deleted = true
		for _, m := range []chat.Message{
			withFiles(said(at(1), ""), "F1"), withFiles(said(at(2), at(1)), "F2", "F3"), said(at(3), at(1)),
			withFiles(said(at(4), ""), "F4"), withFiles(said(at(5), at(4)), "F5", "F2"), withFiles(said(at(6), ""), ""), deleted, elsewhere,
			withFiles(said(at(7), ""), "F7"),
		} {
			must(t, errOf(db.Record(t.Context(), m, keep(m))))
		}
		must(t, db.db.Create(&forgottenRow{TeamID: team, ChannelID: channel, TS: at(7)}).Error)
		for thread, want := range map[string][]string{"": {"F5", "F2", "F4", "F3", "F1"}, at(1): {"F2", "F3", "F1", "F5", "F4"}} {
			files, err := db.Files(t.Context(), chat.Conversation{Team: team, Channel: channel, Thread: thread}, 20)
			got := mapRows(files, func(f StoredFile) string { return f.ID })
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("in %q: %v, %v; want %v", thread, got, err, want)
			}
		}
	})
}

// The event of a mention has no files. Slack's history adds them, and nothing else.
func TestHistoryAddsFiles(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		edited := said(at(2), "")
		edited.Revision = at(3)
		for _, m := range []chat.Message{said(at(1), ""), edited, withFiles(said(at(4), ""), "F4")} {
			must(t, errOf(db.Record(t.Context(), m, keep(m, conversation.Addressed))))
		}
		read := []chat.Message{withFiles(said(at(1), ""), "F1"), withFiles(said(at(2), ""), "F2"), withFiles(said(at(4), ""), "F5")}
		read[0].Text = "as Slack has it now"
		must(t, db.SaveHistory(t.Context(), read))
		for ts, want := range map[string][]chat.File{at(1): read[0].Files, at(2): nil, at(4): withFiles(said(at(4), ""), "F4").Files} {
			got, err := db.Message(t.Context(), team, channel, ts)
			if err != nil || !slices.Equal(got.Files, want) || got.Text != "text of "+ts {
				t.Errorf("%s: %+v, %v; want the files %v", ts, got, err, want)
			}
		}
		var row messageRow
		if err := db.db.Where("ts = ?", at(1)).Take(&row).Error; err != nil || !row.Handled {
			t.Errorf("the event is forgotten: %+v, %v", row, err)
		}
	})
}
