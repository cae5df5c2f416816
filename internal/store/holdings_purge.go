package store

import (
	"cmp"
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
// A silence that has not ended stays, and while the bot is in it the channel's own row, what is set of it in Slack, and
// who reads it. Slack's
// history brings back nothing that was sent by then. What is sent later is stored as ever.
//
// PurgeChannel returns ErrInUse and changes nothing while a reply is being posted or a change waits to
// be relayed. It works in small transactions and tells step after each. It may be killed at any time,
// and ends the same when it is repeated. by is who ordered it; a repeated id records nothing more.
func (s *Store) PurgeChannel(ctx context.Context, team, channel, by, id string, step SweepStep) error {
	p := purger{sweeper: s.sweeper(ctx, step), Conversation: chat.Conversation{Team: team, Channel: channel}, by: by}
	err := p.begin()
	for _, h := range holdings {
		if err == nil && h.purge != nil {
			err = h.purge(p, h)
		}
	}
	if err == nil {
		err = p.end(id)
	}
	if err != nil {
		return fmt.Errorf("purge channel %s: %w", channel, err)
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
	for table, busy := range map[string]condition{
		"outbox":  where("leased_until_us > ?", p.nowMicros()).and(p.own().or(p.elsewhere())),
		"changes": where("relayed_us IS NULL").and(p.topLevel().or(p.threads())),
	} {
		var n int64
		if err := busy.apply(p.db.Table(table)).Count(&n).Error; err != nil {
			return err
		}
		if n > 0 {
			return ErrInUse
		}
	}
	if err := markErased(p.db, erasedRow{TeamID: p.Team, ChannelID: p.Channel, UntilUS: p.nowMicros()}); err != nil {
		return err
	}
	// The mark that this leaves has a memory run that began before begin again.
	return p.transaction(p.ctx, func(tx *gorm.DB) error {
		return p.forgetIn(tx, forgetting{scope: chat.Scope{Team: p.Team, Channel: p.Channel}, by: p.by},
			&ForgetResult{})
	})
}

// rows deletes the channel's rows.
func (p purger) rows(h holding) error { return p.remove(p.part(h, p.own()), condition{}) }

// part is the part of a table that is found by the index of a channel or conversation.
func (p purger) part(h holding, within condition) part {
	return part{table: h.table, within: within, by: cmp.Or(h.channel, h.key)}
}

// conversations deletes the rows that have the workflow id of one of the channel's conversations.
func (p purger) conversations(h holding) error { return p.ofConversations(h, condition{}) }

func (p purger) ofConversations(h holding, match condition) error {
	if err := p.remove(p.part(h, p.topLevel()), match); err != nil {
		return err
	}
	h.channel = along{"workflow_id", ""}
	return p.remove(p.part(h, p.threads()), match)
}

// silences deletes conversations without a silence, or whose silence has ended.
func (p purger) silences(h holding) error {
	return p.ofConversations(h, where("silenced_until_us <= ?", p.nowMicros()))
}

func (p purger) messages(h holding) error {
	return p.walk(p.part(h, p.own()), func(chunk part) (deleted int, err error) {
		err = p.transaction(p.ctx, func(tx *gorm.DB) error {
			var ts []string
			if err := chunk.of(tx, condition{}).Pluck("ts", &ts).Error; err != nil {
				return err
			}
			gone := chunk.of(tx, condition{}).Delete(nil)
			deleted = int(gone.RowsAffected)
			if gone.Error != nil {
				return gone.Error
			}
			return errors.Join(unindexAbsent(tx, p.own()), p.blankWith(tx, true, p.Team, p.Channel, ts...))
		})
		return deleted, err
	})
}

func (p purger) outbox(h holding) error {
	if err := p.rows(h); err != nil {
		return err
	}
	h.channel = along{"reply", ""}
	return p.remove(p.part(h, p.elsewhere()), condition{})
}

// modelCalls keeps what calls cost the channel.
func (p purger) modelCalls(h holding) error {
	return p.walk(p.part(h, p.own()), func(chunk part) (int, error) {
		placed := chunk.of(p.db, where("thread_ts <> '' OR decision <> ''")).
			Updates(map[string]any{"thread_ts": "", "decision": ""})
		return int(placed.RowsAffected), placed.Error
	})
}

func (p purger) writers(holding) error { return p.own().apply(p.db).Delete(&writerRow{}).Error }

// forgotten deletes marks. That of the whole channel stays, and includes them.
func (p purger) forgotten(holding) error {
	return p.own().apply(p.db).Where("thread_ts <> '' OR ts <> ''").Delete(&forgottenRow{}).Error
}

func (p purger) end(id string) error {
	return p.transaction(p.ctx, func(tx *gorm.DB) error {
		gone := p.own().apply(tx).Where("NOT member").Delete(&channelRow{})
		if gone.Error != nil {
			return gone.Error
		}
		if gone.RowsAffected > 0 {
			if err := errors.Join(p.own().apply(tx).Delete(&outsiderRow{}).Error,
				p.own().apply(tx).Delete(&settingRow{}).Error); err != nil {
				return err
			}
		}
		_, err := p.insertOrder(tx, Order{ID: id, Scope: chat.Scope{Team: p.Team, Channel: p.Channel}, Kind: "purge",
			By: p.by})
		return err
	})
}
