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

// A transcript that was read is found, and stays when Slack later tells only its beginning.
func TestSaveTranscript(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m, deleted := said(at(1), ""), withFiles(said(at(2), ""), "F2")
		m.Text, deleted.Deleted = "", true
		clip := chat.File{ID: "F1", Name: "note.m4a", MIME: "audio/mp4", Transcript: chat.Transcript{Pending: true}}
		m.Files = []chat.File{{ID: "F0", Name: "plan.txt"}, clip}
		for _, m := range []chat.Message{m, deleted} {
			must(t, errOf(db.Record(t.Context(), m, keep(m))))
		}
		db.index(t)
		whole := chat.Transcript{Text: "the lighthouse is closed on Monday"}
		for id, m := range map[string]chat.Message{"F1": m, "F2": deleted, "F3": said(at(3), "")} {
			must(t, db.SaveTranscript(t.Context(), m, chat.File{ID: id, Transcript: whole}))
		}
		db.index(t)
		if found, err := db.Search(t.Context(), SearchQuery{Team: team, Here: channel, Limit: 9, Text: "lighthouse"}); err != nil || len(found) != 1 || found[0].Files[1].Transcript != whole {
			t.Errorf("found %+v, %v", found, err)
		}
		if got, err := db.Message(t.Context(), team, channel, at(2)); err != nil || got.Files[0].Transcript != (chat.Transcript{}) {
			t.Errorf("a deleted message: %+v, %v", got, err)
		}
		m.Files[1].Transcript = chat.Transcript{Text: "the lighthouse", Cut: true}
		must(t, db.SaveHistory(t.Context(), []chat.Message{m}))
		m.Text = "with words"
		must(t, errOf(db.Record(t.Context(), m, keep(m))))
		if got, err := db.Message(t.Context(), team, channel, at(1)); err != nil || got.Text != "with words" || got.Files[1].Transcript != whole {
			t.Errorf("after an edit: %+v, %v", got, err)
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
