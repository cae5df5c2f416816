package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/language/terms"
)

// SearchQuery says what Search looks for.
type SearchQuery struct {
	Team string
	// Here is the channel of the reader; nothing is found that readers there may not see.
	Here string
	// Text holds the words; any of them may match.
	Text string
	// Channel and Authors restrict where and by whom it was said: ids, empty for any. An app is the
	// author by its user id, or by its bot id if it has none.
	Channel string
	Authors []string
	// From and To restrict when it was sent: from From on and before To. The zero time means any.
	From, To time.Time
	Limit    int
}

// SaidBeforeQuery says what SaidBefore looks for.
type SaidBeforeQuery struct {
	Team, Here string // as in SearchQuery
	// Texts is what is to be answered.
	Texts []string
	// Except are messages of the channel Here, by ts, that are not to be found.
	Except []string
	Limit  int
}

const (
	// newestMatches is how many matches of one term are considered, and of all terms together. Of
	// more, the newest are.
	newestMatches = 2000
	// maxSought is the most terms that a search uses.
	maxSought = 24
	// rarest is how many terms SaidBefore uses.
	rarest = 8
	// fullMatches is in about how many messages all terms together may stand that are looked for in
	// every message. The more common ones are looked for in the newest messages only, and in those
	// that have two of them.
	fullMatches = 3000
	// pairMatches is in how many messages the rarer one of two common terms may stand.
	pairMatches = 50_000
	// newestMessages are those in which the more common terms are looked for.
	newestMessages = 20_000
	// The usual parameters of BM25: how much repetition and length count.
	bm25K1, bm25B = 1.2, 0.75
)

// Search finds messages with any of a text's words, those with more and rarer words first
// (BM25, each word counted once a message). Deleted and forgotten messages are never found, others
// within seconds after they were stored.
//
// A channel's messages are found in it, and those of public channels also elsewhere, as seenFrom and
// keptFrom say. Both databases find the same messages in the same order.
func (s *Store) Search(ctx context.Context, q SearchQuery) ([]chat.Found, error) {
	asked := terms.Query(q.Text)
	if len(asked) > maxSought {
		asked = asked[:maxSought]
	}
	f := finding{team: q.Team, here: q.Here, from: microsOrZero(q.From), to: math.MaxInt64, limit: q.Limit, use: len(asked) + 1}
	if !q.To.IsZero() {
		f.to = micros(q.To) - 1
	}
	if q.Channel != "" {
		f.must = append(f.must, []string{channelTerm(q.Channel)})
	}
	if len(q.Authors) > 0 {
		var authors []string
		for _, id := range q.Authors {
			authors = append(authors, authorTerm(id))
		}
		f.must = append(f.must, authors)
	}
	common, err := s.commonTerms(ctx)
	if err == nil {
		f.seek(asked, common)
	}
	return s.find(ctx, f, err)
}

// SaidBefore finds messages with any of the rarest words of some texts, by others than this bot, in
// the order of Search. It is one statement.
func (s *Store) SaidBefore(ctx context.Context, q SaidBeforeQuery) ([]chat.Found, error) {
	f := finding{team: q.Team, here: q.Here, to: math.MaxInt64, limit: q.Limit, use: rarest, others: true, except: q.Except}
	common, err := s.commonTerms(ctx)
	if err == nil {
		f.sought = slices.DeleteFunc(terms.Query(q.Texts...), func(t terms.Term) bool { return common.messages[t.Text] > 0 })
	}
	return s.find(ctx, f, err)
}

// commonTerms is in about how many messages each common term stands.
type commonTerms struct {
	messages map[string]int64
	read     time.Time
}

// commonTermsAge is how long the common terms are not read again. They change slowly.
const commonTermsAge = 10 * time.Minute

func (s *Store) commonTerms(ctx context.Context) (*commonTerms, error) {
	now := s.now()
	if known := s.common.Load(); known != nil && now.Sub(known.read) < commonTermsAge {
		return known, nil
	}
	var rows []commonRow
	if err := s.db.WithContext(ctx).Find(&rows).Error; err != nil {
		return nil, err
	}
	known := &commonTerms{messages: make(map[string]int64, len(rows)), read: now}
	for _, r := range rows {
		known.messages[r.Term] = r.Messages
	}
	s.common.Store(known)
	return known, nil
}

// finding is one search.
type finding struct {
	team, here string
	// must restricts the matches: each has one term of each list.
	must [][]string
	// sought are looked for in all messages. The use rarest of them count, or of them and pair.
	sought []terms.Term
	use    int
	// common are looked for in the newest messages up to to. pair is two of them that are looked for
	// together in all messages; nil for none.
	common []commonTerm
	pair   []terms.Term
	// from and to are the first and the last id.
	from, to int64
	others   bool // leave out the bot's own messages
	except   []string
	limit    int
}

type commonTerm struct {
	terms.Term
	messages int64
}

// seek decides where each term is looked for.
func (f *finding) seek(asked []terms.Term, common *commonTerms) {
	if len(f.must) > 0 { // few messages match in any case
		f.sought = asked
		return
	}
	rarestFirst := slices.Clone(asked)
	slices.SortStableFunc(rarestFirst, func(a, b terms.Term) int { return cmp.Compare(common.messages[a.Text], common.messages[b.Text]) })
	all := int64(0)
	for _, t := range rarestFirst {
		n := common.messages[t.Text]
		if all += n; all <= fullMatches {
			f.sought = append(f.sought, t)
		} else {
			f.common = append(f.common, commonTerm{t, n})
		}
	}
	if len(f.common) > 1 && f.common[0].messages <= pairMatches {
		f.pair = []terms.Term{f.common[0].Term, f.common[1].Term}
	}
}

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
		TeamID: r.TeamID, ChannelID: r.ChannelID, TS: r.TS, ThreadTS: r.ThreadTS, UserID: r.UserID, BotID: r.BotID, Through: r.Through,
		Own: r.Own, Name: r.Name, Text: r.Text, Files: r.Files, Revision: r.Revision,
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
	return query{sql, slices.Concat([]any{f.team, seenFrom(f.team, f.here), s.keptFrom(f.here), set.arg}, args, []any{f.limit}), into}, nil
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
		since := fmt.Sprintf("MAX(?, (SELECT MIN(id) FROM (SELECT id FROM search WHERE id <= ? ORDER BY id DESC LIMIT %d)))", newestMessages)
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
