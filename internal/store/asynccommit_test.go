package store

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"myao/internal/conversation"
)

// Postgres flushes what must not be lost, and does not wait for what may be.
func TestAsyncCommit(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		if db.sqlite != "" {
			t.Skip("SQLite has one setting for all")
		}
		m := said(at(1), "")
		db.record(t, m, keep(m, conversation.Said))
		id := of(m).ID()
		var ids []int64
		for _, c := range []struct {
			what, want string
			do         func(s *Store) error
		}{
			{"Claim", "off", func(s *Store) error {
				taken, err := s.Claim(t.Context(), id, "a", noon.Add(time.Minute), 10)
				for _, w := range taken {
					ids = append(ids, w.ID)
				}
				return err
			}},
			{"MarkRelayed", "off", func(s *Store) error { return s.MarkRelayed(t.Context(), ids) }},
			{"Release", "off", func(s *Store) error { return errOf(s.Release(t.Context(), id, "a")) }},
			{"SaveCall", "off", func(s *Store) error { return s.SaveCall(t.Context(), Call{Decision: "d"}) }},
			{"Decide", "on", func(s *Store) error { return s.Decide(t.Context(), Decision{Key: "d"}) }},
			{"Compose", "on", func(s *Store) error { return s.Compose(t.Context(), parts("r", "text"), Decision{Key: "d"}) }},
			{"BeginSend", "on", func(s *Store) error {
				_, err := s.BeginSend(t.Context(), parts("r", "text")[0], 0, time.Second)
				return err
			}},
			{"MarkReplied", "on", func(s *Store) error {
				_, err := s.MarkReplied(t.Context(), parts("r", "text")[0], said(at(2), ""))
				return err
			}},
		} {
			if err := db.db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Exec("SET LOCAL synchronous_commit = on").Error; err != nil {
					return err
				}
				if err := c.do(&Store{db: tx, now: db.now}); err != nil {
					return err
				}
				var got string
				if err := tx.Raw("SHOW synchronous_commit").Scan(&got).Error; err != nil {
					return err
				}
				if got != c.want {
					t.Errorf("%s is committed with synchronous_commit %s, want %s", c.what, got, c.want)
				}
				return nil
			}); err != nil {
				t.Fatal(c.what, err)
			}
		}
		if len(ids) != 1 {
			t.Errorf("%d changes were taken, want 1", len(ids))
		}
	})
}
