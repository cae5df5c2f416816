package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/language/terms"
)

// askedTerm is a term as the statement gets it.
type askedTerm struct {
	No      int    `json:"no"`
	Found   string `json:"found"`   // the query that finds messages for it; empty for a common term
	Matched string `json:"matched"` // says whether a message has it; empty for a pair
	Known   int64  `json:"known"`   // in how many messages it stands; 0: that is to be counted
}

func (askedTerm) TableName() string { return "asked" }

// find runs a search. err is that of its preparation.
func (s *Store) find(ctx context.Context, f finding, err error) ([]chat.Found, error) {
	if err == nil && f.limit > 0 && len(f.sought)+len(f.common) > 0 {
		var rows []foundRow
		var q query
		if q, err = s.findQuery(f, &rows); err == nil {
			err = runBatch(s.db.WithContext(ctx), q)
		}
		if err == nil {
			return mapRows(rows, foundRow.found), nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("search messages: %w", err)
	}
	return nil, nil
}

type foundRow struct {
	TeamID      string `json:"team_id"`
	ChannelID   string `json:"channel_id"`
	TS          string `gorm:"column:ts" json:"ts"`
	ThreadTS    string `gorm:"column:thread_ts" json:"thread_ts"`
	UserID      string `json:"user_id"`
	BotID       string `json:"bot_id"`
	Through     string `json:"through"`
	Own         bool   `json:"own"`
	Name        string `json:"name"`
	Text        string `json:"text"`
	Files       string `json:"files"`
	Revision    string `json:"revision"`
	ChannelName string `json:"channel_name"`
}

func (r foundRow) found() chat.Found {
	return chat.Found{ChannelName: r.ChannelName, Message: messageRow{
		TeamID: r.TeamID, ChannelID: r.ChannelID, TS: r.TS, ThreadTS: r.ThreadTS, UserID: r.UserID, BotID: r.BotID,
		Through: r.Through,
		Own:     r.Own, Name: r.Name, Text: r.Text, Files: r.Files, Revision: r.Revision,
	}.message()}
}

// findQuery asks for the messages of a search, the best first. It looks for each term separately,
// newest messages first, so that a common term does not crowd out a rare one. What may be seen is
// part of every such look, and the limits are part of the statement's text.
func (s *Store) findQuery(f finding, into *[]foundRow) (query, error) {
	except := append([]string{"0"}, f.except...) // gorm writes an empty list as NULL, which would exclude everything
	visible := clause.Expr{SQL: `s.team_id = ? AND (s.channel_id IN (SELECT channel_id FROM visible)) IS TRUE AND NOT (s.channel_id = ? AND ?) AND NOT (s.own AND ?)`,
		Vars: []any{f.team, f.here, s.inList("s.ts", except), f.others}}
	var asked []askedTerm
	for _, t := range f.sought {
		asked = append(asked, askedTerm{No: len(asked), Found: s.all(f, t), Matched: s.matched(t)})
	}
	var common []terms.Term
	for _, t := range f.common {
		asked = append(asked, askedTerm{No: len(asked), Matched: s.matched(t.Term), Known: t.messages})
		common = append(common, t.Term)
	}
	if len(f.pair) > 0 {
		asked = append(asked, askedTerm{No: len(asked), Found: s.all(f, f.pair...)})
	}
	set, err := newRowset(s.db, asked)
	if err != nil {
		return query{}, err
	}
	looks, args := s.looks(f, asked, common, visible)
	sql := fmt.Sprintf(`
		WITH visible AS MATERIALIZED (SELECT c.channel_id FROM channels c WHERE c.team_id = ? AND ? AND NOT ?),
		asked AS MATERIALIZED (SELECT q.no, q.found, q.matched, q.known FROM %[1]s),
		looked AS MATERIALIZED (%[2]s),
		used AS MATERIALIZED (
			SELECT no FROM asked WHERE found = ''
			UNION ALL SELECT no FROM (SELECT no FROM looked WHERE NOT lately GROUP BY no ORDER BY COUNT(*), no LIMIT %[3]d) r
		),
		hits AS MATERIALIZED (
			SELECT id, length, terms FROM (
				SELECT l.*, ROW_NUMBER() OVER (PARTITION BY id ORDER BY lately) AS nth FROM looked l WHERE lately OR no IN (SELECT no FROM used)
			) n WHERE nth = 1 ORDER BY lately, id DESC LIMIT %[4]d
		),
		matches AS MATERIALIZED (
			SELECT h.id, h.length, a.no, a.known FROM hits h JOIN asked a ON %[5]s WHERE a.matched <> '' AND a.no IN (SELECT no FROM used)
		),
		counted AS (
			SELECT id, length / (SELECT mean_length FROM search_state) AS length, CASE WHEN known > found THEN known ELSE found END AS found,
				(SELECT CAST(messages AS DOUBLE PRECISION) FROM search_state) AS messages
			FROM (SELECT id, length, known, COUNT(*) OVER (PARTITION BY no) AS found FROM matches) n
		),
		best AS (
			SELECT id, ROUND(CAST(1000000 * SUM(
				LN(1 + (CASE WHEN messages > found THEN messages - found ELSE 0 END + 0.5) / (found + 0.5)) * %[6]g / (1 + %[7]g * (%[8]g + %[9]g * length))
			) AS NUMERIC)) AS score
			FROM counted GROUP BY id ORDER BY 2 DESC, 1 DESC LIMIT ?
		)
		SELECT m.team_id, m.channel_id, m.ts, m.thread_ts, m.user_id, m.bot_id, m.through, m.own, m.name, m.text, m.files, m.revision, COALESCE(c.name, '') AS channel_name
		FROM best b JOIN search s ON s.id = b.id
		JOIN messages m ON m.team_id = s.team_id AND m.channel_id = s.channel_id AND m.ts = s.ts AND m.stored_us = s.stored_us AND NOT m.deleted
		LEFT JOIN channels c ON c.team_id = s.team_id AND c.channel_id = s.channel_id
		ORDER BY b.score DESC, b.id DESC`,
		set.sql, looks, f.use, newestMatches, s.matches(), bm25K1+1, bm25K1, 1-bm25B, bm25B)
	return query{sql, slices.Concat([]any{f.team, seenFrom(f.team, f.here), s.keptFrom(f.here), set.arg}, args,
		[]any{f.limit}), into}, nil
}

// looks is the part of a search that finds messages by term, with its arguments. no is
// the number of the term. lately marks what was found for common terms.
func (s *Store) looks(f finding, asked []askedTerm, common []terms.Term, visible clause.Expr) (sql string, args []any) {
	if s.sqlite == "" {
		// An addition keeps Postgres from reading all ids of a period, which may be all there are.
		newest := fmt.Sprintf("s.id + 0 BETWEEN ? AND ? AND ? ORDER BY s.id DESC LIMIT %d", newestMatches)
		sql = `SELECT a.no, h.*, FALSE AS lately FROM asked a CROSS JOIN LATERAL (
				SELECT s.id, s.length, s.terms FROM search s WHERE s.terms @@ CAST(a.found AS TSQUERY) AND ` + newest + `
			) h WHERE a.found <> ''`
		args = []any{f.from, f.to, visible}
		if len(common) > 0 {
			sql += fmt.Sprintf(` UNION ALL SELECT -1, h.*, TRUE FROM (
				SELECT s.id, s.length, s.terms FROM (SELECT * FROM search WHERE id <= ? ORDER BY id DESC LIMIT %d) s WHERE s.terms @@ CAST(? AS TSQUERY) AND %s) h`, newestMessages, newest)
			args = append(args, f.to, s.any(common), f.from, f.to, visible)
		}
		return sql, args
	}
	look := func(no int, lately bool, match, since string, sinceArgs ...any) string {
		args = append(append(append(args, match), sinceArgs...), f.to, visible)
		return fmt.Sprintf(`SELECT * FROM (
			SELECT %d AS no, s.id, s.length, s.terms, %t AS lately FROM search_by_term t CROSS JOIN search s ON s.id = t.rowid
			WHERE search_by_term MATCH ? AND t.rowid BETWEEN %s AND ? AND ? ORDER BY t.rowid DESC LIMIT %d)`, no, lately, since, newestMatches)
	}
	var all []string
	for _, a := range asked {
		if a.Found != "" {
			all = append(all, look(a.No, false, a.Found, "?", f.from))
		}
	}
	if len(common) > 0 {
		since := fmt.Sprintf("MAX(?, (SELECT MIN(id) FROM (SELECT id FROM search WHERE id <= ? ORDER BY id DESC "+
			"LIMIT %d)))", newestMessages)
		all = append(all, look(-1, true, s.any(common), since, f.from, f.to))
	}
	return strings.Join(all, " UNION ALL "), args
}

// all is the full-text query for messages that have all of some terms and match a search's
// restrictions.
func (s *Store) all(f finding, sought ...terms.Term) string {
	var parts []string
	for _, t := range sought {
		parts = append(parts, s.quoted(t))
	}
	for _, alternatives := range f.must {
		var either []terms.Term
		for _, text := range alternatives {
			either = append(either, terms.Term{Text: text})
		}
		parts = append(parts, "("+s.any(either)+")")
	}
	if s.sqlite != "" {
		return strings.Join(parts, " AND ")
	}
	return strings.Join(parts, " & ")
}

// any is the full-text query for messages that have any of some terms.
func (s *Store) any(sought []terms.Term) string {
	var parts []string
	for _, t := range sought {
		parts = append(parts, s.quoted(t))
	}
	if s.sqlite != "" {
		return strings.Join(parts, " OR ")
	}
	return strings.Join(parts, " | ")
}

// quoted is a term in the language of the database's full-text queries.
func (s *Store) quoted(t terms.Term) string {
	quoted, suffix := `"`+strings.ReplaceAll(t.Text, `"`, `""`)+`"`, " *"
	if s.sqlite == "" {
		quoted, suffix = "'"+strings.NewReplacer("'", "''", `\`, `\\`).Replace(t.Text)+"'", ":*"
	}
	if t.Prefix {
		quoted += suffix
	}
	return quoted
}

// matched is what matches compares with the terms of a message.
func (s *Store) matched(t terms.Term) string {
	switch {
	case s.sqlite == "":
		return s.quoted(t)
	case t.Prefix:
		return " " + t.Text
	}
	return " " + t.Text + " "
}

// matches is the condition that a found message h has a term a.
func (s *Store) matches() string {
	if s.sqlite != "" {
		return "INSTR(h.terms, a.matched) > 0"
	}
	return "h.terms @@ CAST(a.matched AS TSQUERY)"
}
