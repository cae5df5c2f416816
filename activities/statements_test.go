package activities

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// statementLog reads from Postgres which statements it has executed.
type statementLog struct {
	*testing.T
	db *sql.DB
}

// count counts the statements that run takes, without those that begin and end transactions, and
// lists them.
func (s statementLog) count(run func()) (n int, list string) {
	s.Helper()
	if _, err := s.db.ExecContext(s.Context(), "SELECT pg_stat_statements_reset()"); err != nil {
		s.Fatal(err)
	}
	run()
	rows, err := s.db.QueryContext(s.Context(), `SELECT calls, query FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
		WHERE d.datname = current_database() AND query NOT LIKE '%pg_stat_statements%'`)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var calls int
		var query string
		if err := rows.Scan(&calls, &query); err != nil {
			s.Fatal(err)
		}
		n += calls
		list += fmt.Sprintf("\n%d× %.100s", calls, strings.Join(strings.Fields(query), " "))
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return n, list
}

// The number of statements of a judgment and of a reply does not depend on how many messages there
// are.
func TestStatementCountIsConstant(t *testing.T) {
	t.Parallel()
	server := testserver.StartPostgres(t, "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_utility=off")
	db, err := sql.Open("pgx", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE EXTENSION pg_stat_statements"); err != nil {
		t.Fatal(err)
	}
	b := setup(t, withDatabase(server.URL), withModel(func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return llmtest.No("nothing to add")
		}
		return llmtest.Text("Hello.")
	}))
	b.settings.DailyCalls = 1000
	b.limitWorkspace(config.Budget{Calls: 1000}) // it is read once
	root := b.say("who can help?", sandbox.At(time.Now().Add(-time.Hour)))
	fill := func(from, to int) {
		var said []chat.Message
		for n := from; n < to; n++ {
			m := chat.Message{Team: "T1", Channel: b.general, TS: chat.TS(root.Time().Add(time.Duration(n) * time.Millisecond)), UserID: b.alice.ID, Text: "well"}
			if n%2 == 0 {
				m.ThreadTS = root.TS
			}
			said = append(said, m)
		}
		if err := b.Store.SaveHistory(t.Context(), said); err != nil {
			t.Fatal(err)
		}
	}
	log := statementLog{t, db}
	said := 1
	b.judge(atTopLevel(root)) // Slack is asked for names
	for _, many := range []int{10, 2000} {
		fill(said, many)
		said = many
		top, mention := b.say("is anybody there?"), b.say("hello, bot")
		reply := b.record(chat.Message{Team: "T1", Channel: b.general, TS: chat.TS(time.Now()), ThreadTS: root.TS, UserID: b.alice.ID, Text: "and you?"})
		inThere := atTopLevel(reply)
		inThere.Conversation.Thread = root.TS
		for _, test := range []struct {
			what string
			run  func()
			want int
		}{
			// The facts, the context, the names, the call, the decision.
			{"a judgment at the top level", func() { b.judge(atTopLevel(top)) }, 5},
			{"a judgment in a thread", func() { b.judge(inThere) }, 5},
			// The outbox is read and written, too.
			{"a reply to a mention", func() { b.reply(inThread(mention), true) }, 7},
			{"a reply that is composed", func() { b.reply(inThread(mention), true) }, 1},
		} {
			if n, list := log.count(test.run); n != test.want {
				t.Errorf("with %d messages %s takes %d statements, want %d:%s", many, test.what, n, test.want, list)
			}
		}
	}
}
