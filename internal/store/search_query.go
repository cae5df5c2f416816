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
	TS          string `json:"ts"`
	ThreadTS    string `json:"thread_ts"`
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

// findMessages looks for each term separately, newest messages first, so that a common term does not crowd out a rare
// one, and ranks what it finds. @looks finds messages by term: the number of the term, and whether it is one of the
// common terms, which are looked for lately.
const findMessages = `
	WITH visible AS MATERIALIZED (SELECT c.channel_id FROM channels c WHERE c.team_id = @team AND @seen AND NOT @kept),
	asked AS MATERIALIZED (SELECT q.no, q.found, q.matched, q.known FROM @asked),
	looked AS MATERIALIZED (@looks),
	used AS MATERIALIZED (
		SELECT no FROM asked WHERE found = ''
		UNION ALL SELECT no FROM (SELECT no FROM looked WHERE NOT lately GROUP BY no ORDER BY COUNT(*), no LIMIT @use) r
	),
	hits AS MATERIALIZED (
		SELECT id, length, terms FROM (
			SELECT l.*, ROW_NUMBER() OVER (PARTITION BY id ORDER BY lately) AS nth FROM looked l WHERE lately OR no IN (SELECT no FROM used)
		) n WHERE nth = 1 ORDER BY lately, id DESC LIMIT @newest_matches
	),
	matches AS MATERIALIZED (
		SELECT h.id, h.length, a.no, a.known FROM hits h JOIN asked a ON @matches WHERE a.matched <> '' AND a.no IN (SELECT no FROM used)
	),
	counted AS (
		SELECT id, length / (SELECT mean_length FROM search_state) AS length, CASE WHEN known > found THEN known ELSE found END AS found,
			(SELECT CAST(messages AS DOUBLE PRECISION) FROM search_state) AS messages
		FROM (SELECT id, length, known, COUNT(*) OVER (PARTITION BY no) AS found FROM matches) n
	),
	best AS (
		SELECT id, ROUND(CAST(1000000 * SUM(
			LN(1 + (CASE WHEN messages > found THEN messages - found ELSE 0 END + 0.5) / (found + 0.5)) * (@k1 + 1) / (1 + @k1 * (1 - @b + @b * length))
		) AS NUMERIC)) AS score
		FROM counted GROUP BY id ORDER BY 2 DESC, 1 DESC LIMIT @limit
	)
	SELECT m.team_id, m.channel_id, m.ts, m.thread_ts, m.user_id, m.bot_id, m.through, m.own, m.name, m.text, m.files, m.revision, COALESCE(c.name, '') AS channel_name
	FROM best b JOIN search s ON s.id = b.id
	JOIN messages m ON m.team_id = s.team_id AND m.channel_id = s.channel_id AND m.ts = s.ts AND m.stored_us = s.stored_us AND NOT m.deleted
	LEFT JOIN channels c ON c.team_id = s.team_id AND c.channel_id = s.channel_id
	ORDER BY b.score DESC, b.id DESC`

// findable is the condition that a search may find a message s of search, whose channel's visibility is known.
const findable = `s.team_id = @team AND (s.channel_id IN (SELECT channel_id FROM visible)) IS TRUE AND NOT (s.channel_id = @here AND @except) AND NOT (s.own AND @others)`

// findQuery asks for the messages of a search, the best first. What may be seen is part of every look.
func (s *Store) findQuery(f finding, into *[]foundRow) (query, error) {
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
	args := map[string]any{
		"team": f.team, "here": f.here, "seen": seenFrom(f.team, f.here), "kept": s.keptFrom(f.here),
		// gorm writes an empty list as NULL, which would exclude everything
		"except": s.inList("s.ts", append([]string{"0"}, f.except...)), "others": f.others,
		"asked": set.table(), "matches": verbatim(s.matches()), "use": verbatim(f.use), "from": f.from, "to": f.to,
		"newest_matches": verbatim(newestMatches), "newest_messages": verbatim(newestMessages),
		"k1": verbatim(bm25K1), "b": verbatim(bm25B), "limit": f.limit, "common": s.any(common),
	}
	args["looks"] = s.looks(asked, len(common) > 0, args)
	return named(findMessages, into, args), nil
}

const (
	// lookForTerms is a search's looks in Postgres. An addition keeps it from reading all ids of a period, which may be
	// all there are.
	lookForTerms = `SELECT a.no, h.*, FALSE AS lately FROM asked a CROSS JOIN LATERAL (
			SELECT s.id, s.length, s.terms FROM search s WHERE s.terms @@ CAST(a.found AS TSQUERY) AND ` + newestInPeriod + `
		) h WHERE a.found <> ''`
	lookLately = ` UNION ALL SELECT -1, h.*, TRUE FROM (
			SELECT s.id, s.length, s.terms FROM (SELECT * FROM search WHERE team_id = @team AND id <= @to ORDER BY id DESC LIMIT @newest_messages) s
			WHERE s.terms @@ CAST(@common AS TSQUERY) AND ` + newestInPeriod + `) h`
	newestInPeriod = "s.id + 0 BETWEEN @from AND @to AND " + findable + " ORDER BY s.id DESC LIMIT @newest_matches"

	// lookForTerm is one look in SQLite, and lookSince its beginning for the common terms.
	lookForTerm = `SELECT * FROM (
		SELECT @no AS no, s.id, s.length, s.terms, @lately AS lately FROM search_by_term t CROSS JOIN search s ON s.id = t.rowid
		WHERE search_by_term MATCH @match AND t.rowid BETWEEN @since AND @to AND ` + findable + ` ORDER BY t.rowid DESC LIMIT @newest_matches)`
	lookSince = "MAX(@from, (SELECT MIN(id) FROM (SELECT id FROM search WHERE team_id = @team AND id <= @to " +
		"ORDER BY id DESC LIMIT @newest_messages)))"
)

// looks is @looks of findMessages.
func (s *Store) looks(asked []askedTerm, common bool, args map[string]any) clause.Expression {
	if s.sqlite == "" {
		sql := lookForTerms
		if common {
			sql += lookLately
		}
		return clause.NamedExpr{SQL: sql, Vars: []any{args}}
	}
	var looks []any
	look := func(no int, lately bool, match string, since any) {
		looks = append(looks, clause.NamedExpr{SQL: lookForTerm, Vars: []any{args, map[string]any{
			"no": verbatim(no), "lately": verbatim(lately), "match": match, "since": since}}})
	}
	for _, a := range asked {
		if a.Found != "" {
			look(a.No, false, a.Found, args["from"])
		}
	}
	if common {
		look(-1, true, args["common"].(string), clause.NamedExpr{SQL: lookSince, Vars: []any{args}})
	}
	return clause.Expr{SQL: strings.Join(slices.Repeat([]string{"?"}, len(looks)), " UNION ALL "), Vars: looks}
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
