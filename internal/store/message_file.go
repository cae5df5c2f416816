package store

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// StoredFile is a file, and the ts of the message that has it.
type StoredFile struct {
	chat.File
	TS string
}

// SaveTranscript saves the transcript of a message's file, and has the message indexed again. It does nothing if the
// message no longer has the file, as when it was deleted or forgotten.
func (s *Store) SaveTranscript(ctx context.Context, m chat.Message, f chat.File) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []messageRow
		if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND ts = ? AND NOT deleted", m.Team, m.Channel, m.TS).
			Find(&rows).Error; err != nil || len(rows) == 0 {
			return err
		}
		known := rows[0].message()
		i := slices.IndexFunc(known.Files, func(k chat.File) bool { return k.ID == f.ID })
		if i < 0 {
			return nil
		}
		known.Files[i].Transcript = f.Transcript
		row, err := newMessageRow(known, rows[0].Handled, s.nowMicros())
		if err != nil || row.sameContent(rows[0]) {
			return err
		}
		if err := unindex(tx, row.TeamID, row.ChannelID, row.TS); err != nil {
			return err
		}
		return tx.Save(&row).Error
	})
	if err != nil {
		return fmt.Errorf("save a transcript of message %s in %s: %w", m.TS, m.Channel, err)
	}
	return nil
}

// Files is the files of messages in a conversation's channel, each once: those of its thread first, then
// the newest of the channel. Those of deleted and forgotten messages are left out. Each part reads at most
// limit messages.
func (s *Store) Files(ctx context.Context, c chat.Conversation, limit int) ([]StoredFile, error) {
	var replies, parent, channel []messageRow
	const shared = "SELECT m.* FROM messages m WHERE m.team_id = ? AND m.channel_id = ? AND m.files <> '' AND NOT " +
		"m.deleted AND " + unforgotten
	newest := fmt.Sprintf(" ORDER BY m.sent_us DESC LIMIT %d", limit)
	queries := []query{{shared + newest, []any{c.Team, c.Channel}, &channel}}
	if !c.TopLevel() {
		queries = append(queries,
			query{shared + " AND m.thread_ts = ?" + newest, []any{c.Team, c.Channel, c.Thread}, &replies},
			query{shared + " AND m.ts = ?", []any{c.Team, c.Channel, c.Thread}, &parent})
	}
	if err := runBatch(s.db.WithContext(ctx), queries...); err != nil {
		return nil, fmt.Errorf("read the files of %s: %w", c.ID(), err)
	}
	var found []StoredFile
	seen := map[string]bool{}
	for _, m := range messages(slices.Concat(replies, parent, channel)) {
		for _, f := range m.Files {
			if f.ID != "" && !seen[f.ID] {
				seen[f.ID] = true
				found = append(found, StoredFile{f, m.TS})
			}
		}
	}
	return found, nil
}
