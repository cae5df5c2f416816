package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// ErrOverruled is returned for a memory that may contain what it must not: since the run began,
// somebody has had something forgotten or corrected, or has rolled a memory back.
var ErrOverruled = errors.New("an order has changed the memory meanwhile")

// ForgetResult is what Forget has done.
type ForgetResult struct {
	// Versions is how many texts were deleted.
	Versions int `json:"versions"`
	// Scopes are the scopes that lost a current memory.
	Scopes []chat.Scope `json:"scopes"`
}

// Forget deletes what is remembered of a scope for good: it empties the text of every version, and
// keeps the rows with who ordered it. From then on memories are made only from messages sent later,
// and the workspace's only from channels' memories made later. So that nothing returns indirectly,
// Forget also empties what may have been made from the scope:
//
//   - for a channel: its threads, and the versions of the workspace that have it among their
//     sources;
//   - for a thread: everything made since it began from its channel, which contains it; from the
//     channel's other threads, whose runs see the channel's memory; and from the workspace with
//     that channel. An older long-term memory becomes current again.
//
// The next runs make the rest of what was lost again, from the remaining messages. The messages
// themselves stay, and replies are still written with the recent ones, but tools no longer find or
// read them.
//
// by is who ordered it (cli:NAME, slack:U…), id the order's id: a repeated order does nothing. A
// run that is making such a memory meanwhile gets ErrOverruled.
func (s *Store) Forget(ctx context.Context, scope chat.Scope, by, id string) (ForgetResult, error) {
	return s.forget(ctx, forgetting{scope: scope, from: chat.Time(scope.Thread), by: by, id: id})
}

// ForgetMessages is Forget for some messages of a channel, by ts, as if they were a thread that
// began with the earliest of them.
func (s *Store) ForgetMessages(
	ctx context.Context, team, channel string, ts []string, by, id string,
) (ForgetResult, error) {
	f := forgetting{scope: chat.Scope{Team: team, Channel: channel}, ts: ts, by: by, id: id}
	for _, one := range ts {
		if at := chat.Time(one); f.from.IsZero() || at.Before(f.from) {
			f.from = at
		}
	}
	return s.forget(ctx, f)
}

// forgetting is one order to forget.
type forgetting struct {
	scope  chat.Scope
	ts     []string // of messages; empty for the whole scope
	from   time.Time
	by, id string
	until  int64
}

// maxClockSkew is how far the clocks of Slack and of the machines that make decisions and memories
// may differ. The door refuses everything beyond it (slack.MaxSkew).
const maxClockSkew = 5 * time.Minute

func (s *Store) forget(ctx context.Context, f forgetting) (done ForgetResult, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		done = ForgetResult{Scopes: []chat.Scope{}}
		fresh, err := s.insertOrder(tx, Order{ID: f.id, Scope: f.scope, Kind: "forget", By: f.by,
			Subject: strings.Join(f.ts, " ")})
		if err != nil || !fresh {
			return err
		}
		return s.forgetIn(tx, f, &done)
	})
	if err != nil {
		return ForgetResult{}, fmt.Errorf("forget %s: %w", f.scope, err)
	}
	return done, nil
}

// forgetIn is forget without the order.
func (s *Store) forgetIn(tx *gorm.DB, f forgetting, done *ForgetResult) error {
	if err := dropSnapshots(tx, f.scope.Team); err != nil {
		return err
	}
	if err := s.forgetIndexed(tx, f); err != nil {
		return err
	}
	if err := s.lockChannel(tx, f.scope); err != nil {
		return err
	}
	// Other transactions that save the workspace's memory wait, even its first one.
	workspace := scopeRow{TeamID: f.scope.Team}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&workspace).Error; err != nil {
		return err
	}
	if err := ofScope(s.locked(tx), chat.Scope{Team: f.scope.Team}).Take(&workspace).Error; err != nil {
		return err
	}
	var newest int64
	if err := tx.Model(&forgottenRow{}).Where("team_id = ?", f.scope.Team).Select("COALESCE(MAX(until_us), 0)").
		Scan(&newest).Error; err != nil {
		return err
	}
	f.until = max(s.nowMicros(), newest+1) // each order gets a later time than the one before
	if err := f.mark(tx); err != nil {
		return err
	}
	if !f.scope.Workspace() {
		if err := f.emptyChannel(tx, done); err != nil {
			return err
		}
	}
	return f.emptyWorkspace(tx, done)
}

// mark records what memories must no longer be made from.
func (f forgetting) mark(tx *gorm.DB) error {
	rows := []forgottenRow{{TeamID: f.scope.Team, ChannelID: f.scope.Channel, ThreadTS: f.scope.Thread,
		UntilUS: f.until}}
	if len(f.ts) > 0 {
		rows = nil
		for _, ts := range slices.Compact(slices.Sorted(slices.Values(f.ts))) {
			rows = append(rows, forgottenRow{TeamID: f.scope.Team, ChannelID: f.scope.Channel, TS: ts,
				UntilUS: f.until})
		}
	}
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "team_id"}, {Name: "channel_id"}, {Name: "thread_ts"}, {Name: "ts"}},
		DoUpdates: clause.AssignmentColumns([]string{"until_us"}),
	}).Create(&rows).Error
}

// madeSince is the oldest time at which a version that may contain what is forgotten was made; 0
// includes all.
func (f forgetting) madeSince() int64 {
	if f.from.IsZero() {
		return 0
	}
	return micros(f.from.Add(-maxClockSkew))
}

func (f forgetting) emptyChannel(tx *gorm.DB, done *ForgetResult) error {
	of := func(db *gorm.DB) *gorm.DB {
		return db.Where("team_id = ? AND channel_id = ?", f.scope.Team, f.scope.Channel)
	}
	// With an empty Thread this condition depends on time alone.
	made := func(db *gorm.DB) *gorm.DB {
		return of(db).Where("(made_us >= ? OR thread_ts = ? AND thread_ts <> '')", f.madeSince(), f.scope.Thread)
	}
	if err := f.empty(tx, of, made, done); err != nil {
		return err
	}
	read := f.until
	if !f.from.IsZero() {
		read = micros(f.from)
	}
	return f.withdraw(tx, of, read, done)
}

// empty deletes the texts of versions, and all drafts.
func (f forgetting) emptyWorkspace(tx *gorm.DB, done *ForgetResult) error {
	of := func(db *gorm.DB) *gorm.DB { return ofScope(db, chat.Scope{Team: f.scope.Team}) }
	made := of
	if !f.scope.Workspace() {
		made = func(db *gorm.DB) *gorm.DB {
			return of(db).Where("made_us >= ? AND sources LIKE ?", f.madeSince(), `%"`+f.scope.Channel+`/%`)
		}
	}
	if err := f.empty(tx, of, made, done); err != nil {
		return err
	}
	return f.withdraw(tx, of, 0, done)
}

// empty takes the texts of versions away, and all drafts.
func (f forgetting) empty(tx *gorm.DB, of, made func(*gorm.DB) *gorm.DB, done *ForgetResult) error {
	if err := of(tx).Where("version = 0").Delete(&memoryRow{}).Error; err != nil {
		return err
	}
	emptied := made(tx.Model(&memoryRow{})).Where("forgotten_us = 0").
		Updates(map[string]any{"text": "", "forgotten_by": f.by, "forgotten_us": f.until})
	done.Versions += int(emptied.RowsAffected)
	return emptied.Error
}

// withdraw replaces current memories that were emptied. The newest older long-term memory with a
// text becomes current instead. The scope gets a cursor that never matches, so that the next run
// makes its memories again from messages sent since read. It updates all scopes together, so that
// other writers wait equally long however many threads a channel has.
func (f forgetting) withdraw(tx *gorm.DB, of func(*gorm.DB) *gorm.DB, read int64, done *ForgetResult) error {
	emptied := of(tx.Model(&memoryRow{})).Where("forgotten_us = ?", f.until).Select("id")
	holding := func() *gorm.DB {
		return of(tx.Model(&scopeRow{})).Where("long_id IN (?) OR short_id IN (?)", emptied, emptied)
	}
	var rows []scopeRow
	if err := holding().Order("thread_ts").Find(&rows).Error; err != nil || len(rows) == 0 {
		return err
	}
	for _, r := range rows {
		done.Scopes = append(done.Scopes, chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS})
	}
	since := gorm.Expr("?", read)
	if !f.from.IsZero() {
		since = gorm.Expr("CASE WHEN since_us < ? THEN since_us ELSE ? END", read, read)
	}
	return holding().Updates(map[string]any{
		"long_id": gorm.Expr(`(
			SELECT m.id FROM memories m
			WHERE m.team_id = memory_scopes.team_id AND m.channel_id = memory_scopes.channel_id AND m.thread_ts = memory_scopes.thread_ts
			AND m.term = ? AND m.version > 0 AND m.forgotten_us = 0 AND m.id <= memory_scopes.long_id
			ORDER BY m.version DESC LIMIT 1)`, string(chat.LongTerm)),
		"short_id": gorm.Expr("(SELECT m.id FROM memories m WHERE m.id = memory_scopes.short_id AND m.forgotten_us = 0)"),
		"since_us": since, "newest_us": 0, "revision": "", "count": neverSeen,
		"read_us": 0, "updated_us": gorm.Expr("CASE WHEN updated_us < ? THEN ? ELSE updated_us END", f.until, f.until),
	}).Error
}

// neverSeen is the count of a scope whose memories must be made again, whatever its messages are.
const neverSeen = -1
