package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"
)

// Notice takes the place of a reply that Slack has refused.
type Notice struct {
	Text string
	// Reason becomes the decision's reason, followed by why the reply was refused.
	Reason string
	// Channel is the direct message where it is posted; "" for the place of the reply.
	Channel string
}

// ReplaceWithNotice replaces a reply whose first part was refused with a notice: the first part is
// composed again with the notice as its text and without buttons, and the other parts are deleted. In
// place of a reaction its character is said. It reports whether it replaced anything: not if nothing was
// refused, or if the notice itself was.
func (s *Store) ReplaceWithNotice(ctx context.Context, reply string, n Notice) (replaced bool, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var refused []outboxRow
		if err := s.locked(tx).Where("reply = ? AND part = 0 AND state = ? AND (text <> ? OR reaction <> '')", reply,
			Failed, n.Text).Find(&refused).Error; err != nil || len(refused) == 0 {
			return err
		}
		first := refused[0]
		change := map[string]any{"state": Composed, "text": n.Text, "proposes": false, "feedback": false,
			"reaction": ""}
		if first.Reaction != "" && first.Text != "" {
			change["text"] = first.Text
		}
		if n.Channel != "" {
			change["channel_id"], change["thread_ts"] = n.Channel, ""
		}
		if err := tx.Model(&outboxRow{}).Where("key = ?", first.Key).Updates(change).Error; err != nil {
			return err
		}
		if err := tx.Where("reply = ? AND part > 0", reply).Delete(&outboxRow{}).Error; err != nil {
			return err
		}
		replaced = true
		return tx.Model(&Decision{}).Where("key = ?", first.Decision).Update("reason", n.Reason+": "+first.Error).Error
	})
	if err != nil {
		return false, fmt.Errorf("replace reply %s with a notice: %w", reply, err)
	}
	return replaced, nil
}

// Relocation is another place for the rest of a reply.
type Relocation struct {
	// From is the first part that goes there. Slack refused it.
	From            Part
	Channel, Thread string
	// Text takes the place of From's text.
	Text string
	// Reason becomes the decision's reason, followed by why the part was refused.
	Reason string
}

// RelocateReply has a part that was refused, and those after it, posted in another place. It returns ErrUnderWay if the
// part is no longer as m has it.
func (s *Store) RelocateReply(ctx context.Context, m Relocation) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var rest []outboxRow
		from := m.From
		if err := s.locked(tx).Where("reply = ? AND part >= ?", from.Reply, from.Number).Order("part").Find(&rest).
			Error; err != nil {
			return err
		}
		if len(rest) == 0 || rest[0].State != Failed || rest[0].Attempts != from.Attempts ||
			rest[0].ChannelID != from.Channel || rest[0].ThreadTS != from.Thread {
			return ErrUnderWay
		}
		if err := tx.Model(&outboxRow{}).
			Where("reply = ? AND part >= ? AND state IN ?", from.Reply, from.Number, []Delivery{Composed, Failed}).
			Updates(map[string]any{"state": Composed, "channel_id": m.Channel, "thread_ts": m.Thread, "slot_us": 0}).
			Error; err != nil {
			return err
		}
		if err := tx.Model(&outboxRow{}).Where("key = ?", from.Key).Update("text", m.Text).Error; err != nil {
			return err
		}
		return tx.Model(&Decision{}).Where("key = ?", from.Decision).Update("reason", m.Reason+": "+from.Error).Error
	})
	if err != nil {
		return fmt.Errorf("relocate reply %s: %w", m.From.Reply, err)
	}
	return nil
}
