package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Order is something that somebody told the bot to do.
type Order struct {
	// ID identifies the order, however often it is carried out.
	ID string `json:"id"`
	// Scope is what it is about: a channel, a thread, or the workspace, for memories and for a mute
	// everywhere.
	Scope chat.Scope `json:"scope"`
	// Kind is answer-now, drop, snooze, mute, unmute, hush, retract, forget, rollback, correct or export, or move
	// if Slack has given the channel another id.
	Kind string `json:"kind"`
	// By is who ordered it: cli:NAME or slack:U…. For a move it is the cause:
	// starter:channel_id_changed, followed by /C… for the orders that the move carried over.
	By string `json:"by"`
	// Subject is the ts of a message, the term and version of a memory, how many cases were exported or messages handed
	// over again, or the other channel id.
	Subject string `json:"subject,omitempty"`
	// Until is the end of a snooze or mute, otherwise zero.
	Until time.Time `json:"until,omitzero"`
	// At is when it was given; zero means now.
	At time.Time `json:"at"`
}

type orderRow struct {
	ID        string `gorm:"primaryKey"`
	TeamID    string
	ChannelID string
	ThreadTS  string
	Kind      string
	OrderedBy string
	Subject   string
	UntilUS   int64
	OrderedUS int64
}

func (orderRow) TableName() string { return "orders" }

func (s *Store) orderRow(o Order) orderRow {
	row := orderRow{
		ID: o.ID, TeamID: o.Scope.Team, ChannelID: o.Scope.Channel, ThreadTS: o.Scope.Thread, Kind: o.Kind,
		OrderedBy: o.By,
		Subject:   o.Subject, UntilUS: microsOrZero(o.Until), OrderedUS: microsOrZero(o.At),
	}
	if row.OrderedUS == 0 {
		row.OrderedUS = s.nowMicros()
	}
	return row
}

func (r orderRow) scope() chat.Scope {
	return chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}
}

func (r orderRow) order() Order {
	return Order{
		ID: r.ID, Scope: r.scope(), Kind: r.Kind, By: r.OrderedBy, Subject: r.Subject, Until: instantOrZero(r.UntilUS),
		At: instant(r.OrderedUS),
	}
}

// insertOrder records an order and reports whether it is new. An existing one stays as it is.
func (s *Store) insertOrder(tx *gorm.DB, o Order) (fresh bool, err error) {
	row := s.orderRow(o)
	put := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if put.Error != nil {
		return false, fmt.Errorf("record order %s: %w", o.ID, put.Error)
	}
	return put.RowsAffected > 0, nil
}

// everywhere is the key under which the silence of a whole workspace is kept among the silences of
// conversations. No workflow has such an id.
func everywhere(team string) string { return "team/" + team }

// silenceKey is the key of what an order silences.
func silenceKey(scope chat.Scope) string {
	if scope.Workspace() {
		return everywhere(scope.Team)
	}
	return chat.Conversation(scope).ID()
}

// setSilence silences something until a time. If the key has a row, its column becomes the
// expression onConflict, which may use the new value (excluded) and the old one.
func setSilence(tx *gorm.DB, key string, untilUS int64, onConflict string) error {
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "workflow_id"}},
		DoUpdates: clause.Assignments(map[string]any{"silenced_until_us": gorm.Expr(onConflict)}),
	}).Create(&conversationRow{WorkflowID: key, TeamID: teamOf(key), SilencedUntilUS: untilUS}).Error
}

// ErrOrderIDTaken is returned for an order whose id belongs to another order.
var ErrOrderIDTaken = errors.New("another order has this id")

// ApplyOrder records an order. A snooze, mute or unmute also sets until when its conversation, or
// with an empty channel the whole workspace, is silent, in the same transaction. A repeated order does nothing, so that
// a mute that arrives again does not undo an unmute. ApplyOrder returns ErrOrderIDTaken if the id belongs to an order
// of another kind or scope.
func (s *Store) ApplyOrder(ctx context.Context, o Order) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		fresh, err := s.insertOrder(tx, o)
		if err != nil {
			return err
		}
		if !fresh {
			var existing orderRow
			if err := tx.Where("id = ?", o.ID).Take(&existing).Error; err != nil {
				return err
			}
			if existing.scope() != o.Scope || existing.Kind != o.Kind {
				return ErrOrderIDTaken
			}
			return nil
		}
		if !slices.Contains([]string{"snooze", "mute", "unmute"}, o.Kind) {
			return nil
		}
		// As its workflow does: conversation.Unsilenced.
		if o.Kind == conversation.UpdateUnmute && !o.Scope.Workspace() {
			if err := openPromisesIn(tx, chat.Conversation(o.Scope)).Update("held_us", 0).Error; err != nil {
				return err
			}
		}
		return setSilence(tx, silenceKey(o.Scope), microsOrZero(o.Until), "excluded.silenced_until_us")
	})
	if err != nil {
		return fmt.Errorf("apply order %s: %w", o.ID, err)
	}
	return nil
}

// Silences is until when conversations are silenced, by workflow id, and workspaces, by everywhere,
// for those that are or were.
type Silences map[string]time.Time

// Until is until when a conversation is silenced, directly, through the top level of its channel or
// everywhere: silencing a channel includes its threads. It is zero if it never was.
func (s Silences) Until(c chat.Conversation) time.Time {
	until := s.Everywhere(c.Team)
	for _, at := range []time.Time{s[c.ID()], s[c.Top().ID()]} {
		if at.After(until) {
			until = at
		}
	}
	return until
}

// Everywhere is until when the bot is muted in a whole workspace; zero if it never was.
func (s Silences) Everywhere(team string) time.Time { return s[everywhere(team)] }

// Silenced is until when conversations, the top levels of their channels and their workspaces are
// silenced.
func (s *Store) Silenced(ctx context.Context, conversations ...chat.Conversation) (Silences, error) {
	if len(conversations) == 0 {
		return Silences{}, nil
	}
	var rows []silenceRow
	if err := runBatch(s.db.WithContext(ctx), silenceQuery(conversations, &rows)); err != nil {
		return nil, fmt.Errorf("read silenced conversations: %w", err)
	}
	return silences(rows), nil
}

type silenceRow struct {
	WorkflowID      string `json:"workflow_id"`
	SilencedUntilUS int64  `json:"silenced_until_us"`
}

// silenceQuery asks for Silences.
func silenceQuery(conversations []chat.Conversation, into *[]silenceRow) query {
	ids := make([]string, 0, 2*len(conversations)+1)
	for i, c := range conversations {
		ids = append(ids, c.ID(), c.Top().ID())
		if i == 0 || c.Team != conversations[i-1].Team {
			ids = append(ids, everywhere(c.Team))
		}
	}
	return query{"SELECT workflow_id, silenced_until_us FROM conversations WHERE workflow_id IN ? AND " +
		"silenced_until_us > 0", []any{ids}, into}
}

func silences(rows []silenceRow) Silences {
	until := make(Silences, len(rows))
	for _, r := range rows {
		until[r.WorkflowID] = instant(r.SilencedUntilUS)
	}
	return until
}

// SilencedUntil is the latest time until which any of the conversations is silenced
// (Silences.Until).
func (s *Store) SilencedUntil(ctx context.Context, conversations ...chat.Conversation) (until time.Time, err error) {
	silenced, err := s.Silenced(ctx, conversations...)
	for _, c := range conversations {
		if at := silenced.Until(c); at.After(until) {
			until = at
		}
	}
	return until, err
}

// MutesEverywhere is the orders that muted the bot in a whole workspace or ended that, since a time
// and the last one before it, the oldest first, at most limit.
func (s *Store) MutesEverywhere(ctx context.Context, team string, since time.Time, limit int) ([]Order, error) {
	var rows []orderRow
	const of = "team_id = ? AND channel_id = '' AND kind IN ('mute', 'unmute') AND ordered_us "
	if err := s.db.WithContext(ctx).Where(of+">= COALESCE((SELECT MAX(ordered_us) FROM orders WHERE "+of+"< ?), 0)",
		team, team, microsOrZero(since)).
		Order("ordered_us, id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read mutes everywhere: %w", err)
	}
	return mapRows(rows, orderRow.order), nil
}

// MutedEverywhere is the order that muted the bot in a whole workspace; nil if none is in force.
func (s *Store) MutedEverywhere(ctx context.Context, team string) (*Order, error) {
	var rows []orderRow
	if err := s.db.WithContext(ctx).
		Where("team_id = ? AND channel_id = '' AND kind = ? AND EXISTS (SELECT 1 FROM conversations c WHERE "+
			"c.workflow_id = ? AND c.silenced_until_us > ?)",
			team, conversation.UpdateMute, everywhere(team), s.nowMicros()).Order("ordered_us DESC, id").Limit(1).
		Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read whether the bot is muted everywhere: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	o := rows[0].order()
	return &o, nil
}

// MutedWorkspaces is the orders of MutedEverywhere for the workspaces that the database knows
// (Teams).
func (s *Store) MutedWorkspaces(ctx context.Context) (mutes []Order, err error) {
	teams, err := s.Teams(ctx)
	if err != nil {
		return nil, err
	}
	for _, team := range teams {
		o, err := s.MutedEverywhere(ctx, team)
		if err != nil {
			return nil, err
		}
		if o != nil {
			mutes = append(mutes, *o)
		}
	}
	return mutes, nil
}
