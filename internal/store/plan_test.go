package store

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/testserver"
)

// The queries that every message asks walk along an index however much there is:
// in a channel with many threads, and behind many changes that were relayed.
func TestPlansWalkAlongAnIndex(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"sqlite": sqliteURL, "postgres": func(t *testing.T) string { return testserver.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t, url(t))
			n := 20000
			if db.sqlite != "" {
				n = 4000
			}
			db.seed(t, n)
			// A thread of one reply, a long one, and the top level, which is rare among replies.
			short, long := chat.Conversation{Team: team, Channel: channel, Thread: at(7)}, chat.Conversation{Team: team, Channel: channel, Thread: at(1)}
			top := chat.Conversation{Team: team, Channel: channel}
			reply := said(at(n), long.Thread)
			for _, test := range []struct {
				name string
				run  func(ctx context.Context, s *Store) error
			}{
				{"Recent of the top level", func(ctx context.Context, s *Store) error { _, _, err := s.Recent(ctx, top, 50, 50); return err }},
				{"Recent of a short thread", func(ctx context.Context, s *Store) error { _, _, err := s.Recent(ctx, short, 50, 50); return err }},
				{"Recent of a long thread", func(ctx context.Context, s *Store) error { _, _, err := s.Recent(ctx, long, 50, 50); return err }},
				{"Tail of the top level", func(ctx context.Context, s *Store) error { _, err := s.Tail(ctx, top, 20); return err }},
				{"Tail of a long thread", func(ctx context.Context, s *Store) error { _, err := s.Tail(ctx, long, 20); return err }},
				{"Message", func(ctx context.Context, s *Store) error { _, err := s.Message(ctx, team, channel, at(0)); return err }},
				{"Waiting", func(ctx context.Context, s *Store) error { _, err := s.Waiting(ctx, top.ID(), 200); return err }},
				{"Claim", func(ctx context.Context, s *Store) error { _, err := s.Claim(ctx, top.ID(), "a", noon); return err }},
				{"Relayed", func(ctx context.Context, s *Store) error { return s.Relayed(ctx, []int64{1, 2, 3}) }},
				{"Backlog", func(ctx context.Context, s *Store) error { _, err := s.Backlog(ctx, 200); return err }},
				{"BacklogSize", func(ctx context.Context, s *Store) error { _, _, err := s.BacklogSize(ctx); return err }},
				{"Record", func(ctx context.Context, s *Store) error {
					_, err := s.Record(ctx, reply, keep(reply, conversation.Addressed))
					return err
				}},
			} {
				scans, queries := db.scans(t, test.run)
				if queries == 0 {
					t.Errorf("%s asked nothing", test.name)
				}
				for _, scan := range scans {
					t.Errorf("%s is wasteful:\n%s", test.name, scan)
				}
			}
		})
	}
}

// seed makes a busy channel: one message of fifty stands at its top level, the rest
// in threads, half of them in one. All changes but a few are relayed.
func (db database) seed(t *testing.T, n int) {
	t.Helper()
	if err := db.db.Transaction(func(tx *gorm.DB) error {
		var rows []messageRow
		var changes []changeRow
		conversations := map[string]conversationRow{}
		for i := range n {
			m := said(at(i), "")
			switch {
			case i%50 == 0:
			case i%2 == 0:
				m.ThreadTS = at(1)
			default:
				m.ThreadTS = at(i / 50 * 50)
			}
			m.Channel = []string{channel, "C2", "C3"}[i%3]
			row, err := newMessageRow(m, true, 0)
			if err != nil {
				return err
			}
			rows = append(rows, row)
			relayed := int64(1)
			c := changeRow{WorkflowID: of(m).ID(), TS: m.TS, SentUS: row.SentUS, Kind: "said", RelayedUS: &relayed}
			if i%1000 == 0 {
				c.RelayedUS = nil
			}
			changes = append(changes, c)
			conversations[c.WorkflowID] = conversationRow{WorkflowID: c.WorkflowID}
		}
		var all []conversationRow
		for i := range n {
			all = append(all, conversationRow{WorkflowID: fmt.Sprint("thread/T1/C4/", i)})
		}
		for _, c := range conversations {
			all = append(all, c)
		}
		for _, insert := range []*gorm.DB{tx.CreateInBatches(rows, 500), tx.CreateInBatches(changes, 500), tx.CreateInBatches(all, 500)} {
			if insert.Error != nil {
				return insert.Error
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.db.Exec("ANALYZE").Error; err != nil {
		t.Fatal(err)
	}
}

// scans runs something and returns the plans of those of its statements that read
// much more than they return.
func (db database) scans(t *testing.T, run func(context.Context, *Store) error) (scans []string, queries int) {
	t.Helper()
	s := open(t, db.url)
	s.now = db.clock.now
	type statement struct {
		sql  string
		vars []any
	}
	var statements []statement
	note := func(tx *gorm.DB) {
		if sql := tx.Statement.SQL.String(); sql != "" {
			statements = append(statements, statement{sql, tx.Statement.Vars})
		}
	}
	for _, err := range []error{
		s.db.Callback().Query().After("gorm:query").Register("note", note),
		s.db.Callback().Update().After("gorm:update").Register("note", note),
		s.db.Callback().Row().After("gorm:row").Register("note", note),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, st := range statements {
		if plan := db.explain(t, st.sql, st.vars); db.wasteful(st.sql, plan) {
			scans = append(scans, st.sql+"\n"+plan)
		}
	}
	return scans, len(statements)
}

// wasteful reports whether a plan reads much more than it returns.
func (db database) wasteful(sql, plan string) bool {
	sorts := strings.Contains(sql, "messages") && strings.Contains(sql, "LIMIT")
	if db.sqlite == "" {
		return strings.Contains(plan, "Seq Scan on") || regexp.MustCompile(`Rows Removed by [A-Za-z ]*: \d{3}`).MatchString(plan) ||
			sorts && strings.Contains(plan, "Sort")
	}
	return regexp.MustCompile(`SCAN (messages|changes|c)(\n|$)`).MatchString(plan) ||
		strings.Contains(sql, "thread_ts = ") && !strings.Contains(plan, "thread_ts=?") ||
		sorts && strings.Contains(plan, "TEMP B-TREE FOR ORDER BY")
}

// explain is how the database carries a statement out; its effect is undone.
func (db database) explain(t *testing.T, sql string, vars []any) (plan string) {
	t.Helper()
	pool, err := db.db.DB()
	if err != nil {
		t.Fatal(err)
	}
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	how := "EXPLAIN (ANALYZE, TIMING OFF) "
	if db.sqlite != "" {
		how = "EXPLAIN QUERY PLAN "
	}
	rows, err := tx.QueryContext(t.Context(), how+sql, vars...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		line := make([]any, len(columns))
		for i := range line {
			line[i] = new(any)
		}
		if err := rows.Scan(line...); err != nil {
			t.Fatal(err)
		}
		plan += fmt.Sprintln(*line[len(line)-1].(*any))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
