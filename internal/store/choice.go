package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/telemetry"
)

// Choice is what a proposal and a promise have in common: each is offered under a reply, and somebody may decide
// about it.
type Choice struct {
	ID        string `gorm:"primaryKey" json:"id"` // that of its step
	TeamID    string `json:"-"`
	ChannelID string `json:"channel"`
	// ChannelName is only set where it is shown.
	ChannelName string `gorm:"-" json:"channel_name,omitempty"`
	ThreadTS    string `gorm:"column:thread_ts" json:"thread"` // "" at the top level
	// TriggerTS is the ts of the message that asked, Asker the user id of its author.
	TriggerTS string `gorm:"column:trigger_ts" json:"trigger_ts"`
	Asker     string `json:"asked_by"`
	// Decision is the key of the decision whose reply offers it.
	Decision string `json:"-"`
	// ShownTS is the ts of the message that offers it; "" before that is posted.
	ShownTS  string `gorm:"column:shown_ts" json:"shown_ts,omitempty"`
	StoredUS int64  `gorm:"column:stored_us" json:"-"`
	EndedUS  int64  `gorm:"column:ended_us" json:"-"`
}

// Conversation is where it is offered.
func (c Choice) Conversation() chat.Conversation {
	return chat.Conversation{Team: c.TeamID, Channel: c.ChannelID, Thread: c.ThreadTS}
}

// Stored is when it was made, Ended when it ended; zero while it is open.
func (c Choice) Stored() time.Time { return instant(c.StoredUS) }
func (c Choice) Ended() time.Time  { return instantOrZero(c.EndedUS) }

func (c Choice) change(kind conversation.Kind, revision string, now int64) changeRow {
	return changeRow{
		WorkflowID: c.Conversation().ID(), TeamID: c.TeamID, TS: c.TriggerTS, SentUS: micros(chat.Time(c.TriggerTS)),
		Kind: string(kind), Revision: revision, StoredUS: now,
	}
}

// choice is a Proposal or a Promise.
type choice interface {
	Proposal | Promise
	Conversation() chat.Conversation
	change(kind conversation.Kind, revision string, now int64) changeRow
	reference() string
	TableName() string
}

// choiceNamed returns a choice of a kind, or ErrNotFound.
func choiceNamed[C choice](tx *gorm.DB, kind, id string) (c C, err error) {
	var rows []C
	if err := tx.Where("id = ?", id).Find(&rows).Error; err != nil {
		return c, fmt.Errorf("read %s %s: %w", kind, id, err)
	}
	if len(rows) == 0 {
		return c, fmt.Errorf("%s %s: %w", kind, id, ErrNotFound)
	}
	return rows[0], nil
}

// showChoices records that the choices of a decision stand under a message.
func showChoices[C choice](tx *gorm.DB, decision, ts string) error {
	return tx.Model(new(C)).Where("decision = ? AND shown_ts = ''", decision).Update("shown_ts", ts).Error
}

// ChoiceFilter says which choices Proposals and Promises return.
type ChoiceFilter struct {
	Team string
	// Channel and Thread narrow it to a place; "" is any. TopLevel narrows it to the top level of Channel.
	Channel, Thread string
	TopLevel        bool
	// Channels narrows it to some channels; nil is any.
	Channels []string
	// Asker narrows promises to what somebody asked for; "" is anybody.
	Asker string
	// All includes those that have ended.
	All bool
	// Limit is how many: promises that are open are those due first, and otherwise these are the newest.
	Limit int
}

// choices returns the choices that people have seen: those that meet the condition open or, with All, all.
func choices[C choice](s *Store, ctx context.Context, f ChoiceFilter, open, order string) (rows []C, err error) {
	q := s.db.WithContext(ctx).Where("team_id = ? AND shown_ts <> ''", f.Team)
	if f.All {
		order = "stored_us DESC, id"
	} else {
		q = q.Where(open)
	}
	if f.Channel != "" {
		q = q.Where("channel_id = ?", f.Channel)
	}
	if f.Channels != nil {
		q = q.Where("?", s.inList("channel_id", f.Channels))
	}
	if f.Asker != "" {
		q = q.Where("asker = ?", f.Asker)
	}
	if f.Thread != "" || f.TopLevel {
		q = q.Where("thread_ts = ?", f.Thread)
	}
	err = q.Order(order).Limit(f.Limit).Find(&rows).Error
	return rows, err
}

// choicesWith returns the choices that have one of the given values in a column. Without values it returns none.
func choicesWith[C choice](s *Store, ctx context.Context, column string, values []string,
	order string) (rows []C, err error) {
	if len(values) > 0 {
		err = s.db.WithContext(ctx).Where(column+" IN ?", values).Order(order).Find(&rows).Error
	}
	return rows, err
}

// decide has somebody decide about a choice, and records the change that tells its conversation. set changes the row
// and returns the columns, or nil if the choice is not open any more. Whoever is first decides.
func decide[C choice](s *Store, ctx context.Context, id string, kind conversation.Kind, by string,
	set func(c *C, now int64) map[string]any) (c C, first bool, targets []Target, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if c, err = choiceNamed[C](s.locked(tx), "choice", id); err != nil {
			return err
		}
		now := s.nowMicros()
		columns := set(&c, now)
		if first = columns != nil; !first {
			return nil
		}
		if err := tx.Model(new(C)).Where("id = ?", id).Updates(columns).Error; err != nil {
			return err
		}
		change := c.change(kind, id, now)
		change.OrderedBy, change.Trace = by, telemetry.Traceparent(ctx)
		targets = []Target{{Conversation: c.Conversation(), Awaited: true}}
		return tx.Create(&change).Error
	})
	return c, first, targets, err
}

const (
	// overdueAfter is how long a conversation may take to turn to a choice whose time has come.
	overdueAfter = 5 * time.Minute
	// handOverAgain is how long after it was told of something late a conversation is told again: it may be lost again.
	handOverAgain = time.Hour
	// overdueLimit is how many choices are handed over at once.
	overdueLimit = 100
)

// workflowOf is the workflow id of a row's conversation, as chat.Conversation.ID makes it. {of} is its table.
const workflowOf = `CASE thread_ts WHEN '' THEN 'channel/' || {of}.team_id || '/' || channel_id ELSE 'thread/' || {of}.team_id || '/' || channel_id || '/' || thread_ts END`

// toldLately is the condition that a change c waits for the relay, or was relayed since a time.
const toldLately = "(c.relayed_us IS NULL OR c.relayed_us > ?)"

// tellAgain records a change, or has one that was relayed long ago relayed again.
func (s *Store) tellAgain(tx *gorm.DB, c *changeRow) *gorm.DB {
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "workflow_id"}, {Name: "ts"}, {Name: "kind"}, {Name: "revision"}},
		DoUpdates: clause.Assignments(map[string]any{"relayed_us": nil, "stored_us": c.StoredUS}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "changes.relayed_us <= ?",
			Vars: []any{c.StoredUS - handOverAgain.Microseconds()}}}},
	}).Create(c)
}

// handOver tells conversations of their choices that are late, by changes of a kind: their runs may have been
// terminated, or lost with their namespace. It returns those that have a new change, for each choice once an hour.
// The late ones meet a condition with the time before which they should have ended; reference is the SQL of
// choice.reference.
func handOver[C choice](s *Store, ctx context.Context, kind conversation.Kind, reference, order, condition string,
	args ...any) (targets []Target, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var late []C
		if err := tx.Where(condition, args...).
			Where("NOT EXISTS (SELECT 1 FROM changes c WHERE c.workflow_id = "+strings.ReplaceAll(workflowOf, "{of}", (*new(C)).TableName())+
				" AND c.ts = trigger_ts AND c.kind = ? AND c.revision = "+reference+" AND "+toldLately+")",
				kind, s.nowMicros()-handOverAgain.Microseconds()).
			Order(order).Limit(overdueLimit).Find(&late).Error; err != nil {
			return err
		}
		targets = nil
		for _, c := range late {
			change := c.change(kind, c.reference(), s.nowMicros())
			added := s.tellAgain(tx, &change)
			if added.Error != nil {
				return added.Error
			}
			if added.RowsAffected > 0 { // no other starter was faster
				targets = append(targets, Target{Conversation: c.Conversation()})
			}
		}
		return nil
	})
	return targets, err
}
