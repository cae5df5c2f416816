package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Withhold sets the channels whose memories are withheld. Call it before the Store is used.
func (s *Store) Withhold(w chat.Withheld) {
	s.withheld, s.withholding = w, ""
	if len(w.Inside.IDs)+len(w.Inside.Names)+len(w.InsideTeams) == 0 {
		return
	}
	told := fmt.Appendf(nil, "{%v %v %v}", w.Inside, w.Nowhere, w.IDs) // without teams as ever: another is another memory
	if len(w.InsideTeams) > 0 {
		told = fmt.Append(told, w.InsideTeams, w.NowhereTeams, w.Exempt)
	}
	s.withholding = fingerprint(told)
}

func fingerprint(told []byte) string {
	sum := sha256.Sum256(told)
	return hex.EncodeToString(sum[:8])
}

// withholdingIn is the fingerprint of what is withheld in a workspace: by the file, and by what is set in Slack.
func (s *Store) withholdingIn(db *gorm.DB, team string) (string, error) {
	var set []string
	err := db.Table("channels").Where("team_id = ? AND remember <> ''", team).Order("channel_id").
		Pluck("channel_id || ' ' || remember", &set).Error
	if err != nil || len(set) == 0 {
		return s.withholding, err
	}
	return fingerprint(fmt.Append(nil, s.withholding, set)), nil
}

// keptFrom is the condition that a channel c keeps to itself what is said in it, and that the
// reader in the channel here is elsewhere. With here empty the reader is the workspace itself.
//
// Every query that finds messages of one channel for another uses it besides seenFrom.
func (s *Store) keptFrom(here string) clause.Expr { return anyOf(s.inside(here)) }

// withheldFrom is the condition that the memories of a channel c are withheld from a reader in the
// channel here. Those of a channel that is not remembered are withheld inside it, too.
func (s *Store) withheldFrom(here string) clause.Expr {
	return anyOf(slices.Concat(s.inside(here), s.nowhere()))
}

// unremembered is the condition that a channel c is not to be remembered.
func (s *Store) unremembered() clause.Expr { return anyOf(s.nowhere()) }

// The values of the setting remember by which memories are withheld.
const (
	rememberHere    = "here"
	rememberNowhere = "nowhere"
)

// inside and nowhere are the conditions for the channels that are withheld: by what people have set in Slack, and
// otherwise by the file.
func (s *Store) inside(except string) []clause.Expr {
	return s.withheldBy(s.withheld.Inside, s.withheld.InsideTeams, except, rememberHere, rememberNowhere)
}
func (s *Store) nowhere() []clause.Expr {
	return s.withheldBy(s.withheld.Nowhere, s.withheld.NowhereTeams, "", rememberNowhere)
}

func (s *Store) withheldBy(k chat.ChannelKeys, teams []string, except string, set ...string) []clause.Expr {
	terms, locked := s.among(k, teams, except), s.settingsLocked()
	for i := range terms {
		terms[i] = clause.Expr{SQL: "? AND (c.remember = '' OR ?)", Vars: []any{terms[i], locked}}
	}
	return append(terms, clause.Expr{SQL: "c.remember IN ? AND c.remember <> '' AND c.channel_id <> ? AND NOT ?",
		Vars: []any{set, except, locked}})
}

// settingsLocked is the condition that nothing that is set of a channel c in Slack counts.
func (s *Store) settingsLocked() clause.Expr {
	locks, teams := s.withheld.Locks, clause.Expr{SQL: "FALSE"}
	switch {
	case locks.All && len(locks.Free.Teams) > 0:
		teams = clause.Expr{SQL: "NOT ?", Vars: []any{s.isOneOf("c.team_id", locks.Free.Teams)}}
	case locks.All:
		teams = clause.Expr{SQL: "TRUE"}
	case len(locks.Locked.Teams) > 0:
		teams = s.isOneOf("c.team_id", locks.Locked.Teams)
	}
	own := s.among(locks.Locked.Channels, nil, "")
	if teams.SQL == "FALSE" {
		return anyOf(own)
	}
	return anyOf(append(own, clause.Expr{SQL: "? AND NOT ?",
		Vars: []any{teams, anyOf(s.among(locks.Free.Channels, nil, ""))}}))
}

// among is the conditions, each with an index, of which one holds if a channel c is one of some
// channels, or in one of some teams and not exempt, but not except. Ids win over names, as they do for all settings.
func (s *Store) among(k chat.ChannelKeys, teams []string, except string) (terms []clause.Expr) {
	if len(k.IDs) > 0 {
		terms = append(terms, clause.Expr{SQL: "? AND c.channel_id <> ?", Vars: []any{s.isOneOf("c.channel_id", k.IDs),
			except}})
	}
	if len(k.Names) > 0 {
		own := clause.Expr{SQL: "FALSE"}
		if len(s.withheld.IDs) > 0 {
			own = s.isOneOf("c.channel_id", s.withheld.IDs)
		}
		terms = append(terms, clause.Expr{SQL: "? AND NOT ? AND c.channel_id <> ?",
			Vars: []any{s.isOneOf("c.name", k.Names), own, except}})
	}
	if len(teams) > 0 {
		terms = append(terms, clause.Expr{SQL: "? AND NOT ? AND c.channel_id <> ?",
			Vars: []any{s.isOneOf("c.team_id", teams), anyOf(s.among(s.withheld.Exempt, nil, "")), except}})
	}
	return terms
}

// anyOf is the condition that one of some conditions holds. It is flat, because SQLite uses the
// indexes of alternatives only then.
func anyOf(terms []clause.Expr) clause.Expr {
	if len(terms) == 0 {
		return clause.Expr{SQL: "FALSE"}
	}
	either := clause.Expr{SQL: "(?" + strings.Repeat(" OR ?", len(terms)-1) + ")"}
	for _, t := range terms {
		either.Vars = append(either.Vars, t)
	}
	return either
}

// isOneOf is inList for few values, which are at least one. Postgres searches an index for them,
// where it would join them with the table.
func (s *Store) isOneOf(column string, values []string) clause.Expr {
	if s.sqlite != "" {
		return s.inList(column, values)
	}
	// a pointer, because gorm would expand a slice
	return clause.Expr{SQL: column + " = ANY(CAST(? AS TEXT[]))", Vars: []any{&values}}
}
