package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// ErrInUse is returned while a change of the channel is being relayed, or a reply posted there.
var ErrInUse = errors.New("something of it is being relayed or posted")

// PurgeChannel deletes what the database holds of a channel: messages, reactions, what conversations
// were told, the ledger, replies, promises, memories, orders; and the memories of the workspace that may
// be made from it. Of model calls the cost stays, with the channel's id and without the thread and the decision.
// A silence that has not ended stays, and while the bot is in it the channel's own row and who reads it. Slack's
// history brings back nothing that was sent by then. What is sent later is stored as ever.
//
// PurgeChannel returns ErrInUse and changes nothing while a reply is being posted or a change waits to
// be relayed. It works in small transactions and tells step after each. It may be killed at any time,
// and ends the same when it is repeated. by is who ordered it; a repeated id records nothing more.
func (s *Store) PurgeChannel(ctx context.Context, team, channel, by, id string, step SweepStep) error {
	p := purger{sweeper: sweeper{s, ctx, step}, Conversation: chat.Conversation{Team: team, Channel: channel}, by: by}
	for _, do := range []func() error{p.begin, p.messages, p.ledger, p.remembered, func() error { return p.end(id) }} {
		if err := do(); err != nil {
			return fmt.Errorf("purge channel %s: %w", channel, err)
		}
	}
	return nil
}

type purger struct {
	sweeper
	chat.Conversation // the channel's top level
	by                string
}

// own is the channel's part of a table.
func (p purger) own() condition { return where("team_id = ? AND channel_id = ?", p.Team, p.Channel) }

// elsewhere is the replies to the channel's messages that were posted in a direct message: their keys name the channel.
func (p purger) elsewhere() condition { return below("reply", p.Team+"/"+p.Channel) }

// topLevel and threads are the parts of a table with workflow ids.
func (p purger) topLevel() condition { return where("workflow_id = ?", p.ID()) }

func (p purger) threads() condition { return threadsOf(p.Conversation) }

// threadsOf is the condition that a workflow id is that of a thread in a channel, given by its top level.
func threadsOf(top chat.Conversation) condition {
	return below("workflow_id", strings.Replace(top.ID(), "channel/", "thread/", 1))
}

// below is the condition that a column begins with a path and a slash. An index serves it.
func below(column, path string) condition {
	return where(column+" > ? AND "+column+" < ?", path+"/", path+"0") // 0 follows / in ASCII
}

func (p purger) begin() error {
	db := p.db.WithContext(p.ctx)
	var busy int64
	for _, of := range []condition{p.own(), p.elsewhere()} {
		var sending int64
		if err := of.apply(db.Table("outbox")).Where("leased_until_us > ?", p.nowMicros()).Count(&sending).
			Error; err != nil {
			return err
		}
		busy += sending
	}
	for _, of := range []condition{p.topLevel(), p.threads()} {
		var waiting int64
		if err := of.apply(db.Table("changes")).Where("relayed_us IS NULL").Count(&waiting).Error; err != nil {
			return err
		}
		busy += waiting
	}
	if busy > 0 {
		return ErrInUse
	}
	if err := markErased(db, erasedRow{TeamID: p.Team, ChannelID: p.Channel, UntilUS: p.nowMicros()}); err != nil {
		return err
	}
	// The mark that this leaves has a memory run that began before begin again.
	return p.transaction(p.ctx, func(tx *gorm.DB) error {
		return p.forgetIn(tx, forgetting{scope: chat.Scope{Team: p.Team, Channel: p.Channel}, by: p.by},
			&ForgetResult{})
	})
}

func (p purger) messages() error {
	if err := inSteps[string](p.sweeper, "messages", p.own(), "ts", func(part func(*gorm.DB) *gorm.DB) (deleted int,
		err error) {
		err = p.transaction(p.ctx, func(tx *gorm.DB) error {
			var ts []string
			if err := part(tx).Pluck("ts", &ts).Error; err != nil {
				return err
			}
			gone := part(tx).Delete(nil)
			deleted = int(gone.RowsAffected)
			if gone.Error != nil {
				return gone.Error
			}
			return errors.Join(unindexAbsent(tx, p.own()), p.blankWith(tx, true, p.Team, p.Channel, ts...))
		})
		return deleted, err
	}); err != nil {
		return err
	}
	return remove[string](p.sweeper, "reactions", p.own(), "ts", condition{})
}

func (p purger) ledger() error {
	if err := remove[string](p.sweeper, "changes", p.topLevel(), "ts", condition{}); err != nil {
		return err
	}
	if err := remove[int64](p.sweeper, "decisions", p.topLevel(), "decided_us", condition{}); err != nil {
		return err
	}
	for _, table := range []string{"changes", "decisions"} {
		if err := remove[string](p.sweeper, table, p.threads(), "workflow_id", condition{}); err != nil {
			return err
		}
	}
	ended := where("silenced_until_us <= ?", p.nowMicros())
	for _, of := range []condition{p.topLevel(), p.threads()} {
		if err := remove[string](p.sweeper, "conversations", of, "workflow_id", ended); err != nil {
			return err
		}
	}
	if err := remove[string](p.sweeper, "outbox", p.own(), "trigger_ts", condition{}); err != nil {
		return err
	}
	if err := remove[string](p.sweeper, "outbox", p.elsewhere(), "reply", condition{}); err != nil {
		return err
	}
	if err := remove[string](p.sweeper, "steps", p.own(), "id", condition{}); err != nil {
		return err
	}
	if err := remove[string](p.sweeper, "proposals", p.own(), "id", condition{}); err != nil {
		return err
	}
	if err := remove[string](p.sweeper, "promises", p.own(), "id", condition{}); err != nil {
		return err
	}
	for _, table := range []string{"feedback", "labels", "opinions"} {
		if err := remove[int64](p.sweeper, table, p.own(), "id", condition{}); err != nil {
			return err
		}
	}
	for _, table := range []string{"turns", "snapshots"} {
		if err := remove[string](p.sweeper, table, p.own(), "decision", condition{}); err != nil {
			return err
		}
	}
	if err := remove[int64](p.sweeper, "orders", p.own(), "ordered_us", condition{}); err != nil {
		return err
	}
	if err := remove[int64](p.sweeper, "notes", p.own(), "id", condition{}); err != nil {
		return err
	}
	return inSteps[int64](p.sweeper, "model_calls", p.own(), "called_us", func(part func(*gorm.DB) *gorm.DB) (int,
		error) {
		placed := part(p.db.WithContext(p.ctx)).Where("thread_ts <> '' OR decision <> ''").
			Updates(map[string]any{"thread_ts": "", "decision": ""})
		return int(placed.RowsAffected), placed.Error
	})
}

func (p purger) remembered() error {
	for _, table := range []string{"memories", "memory_scopes"} {
		if err := remove[string](p.sweeper, table, p.own(), "thread_ts", condition{}); err != nil {
			return err
		}
		gone := p.own().apply(p.db.WithContext(p.ctx).Table(table)).Where("thread_ts = ''").Delete(nil)
		if gone.Error != nil {
			return gone.Error
		}
		if err := p.step(table, int(gone.RowsAffected), int(gone.RowsAffected)); err != nil {
			return err
		}
	}
	if err := p.own().apply(p.db.WithContext(p.ctx)).Delete(&writerRow{}).Error; err != nil {
		return err
	}
	// The mark of the whole channel stays, and includes these.
	return p.own().apply(p.db.WithContext(p.ctx)).Where("thread_ts <> '' OR ts <> ''").Delete(&forgottenRow{}).Error
}

func (p purger) end(id string) error {
	return p.transaction(p.ctx, func(tx *gorm.DB) error {
		gone := p.own().apply(tx).Where("NOT member").Delete(&channelRow{})
		if gone.Error != nil {
			return gone.Error
		}
		if gone.RowsAffected > 0 {
			if err := p.own().apply(tx).Delete(&outsiderRow{}).Error; err != nil {
				return err
			}
		}
		_, err := p.insertOrder(tx, Order{ID: id, Scope: chat.Scope{Team: p.Team, Channel: p.Channel}, Kind: "purge",
			By: p.by})
		return err
	})
}
