package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/language/terms"
	"myao/internal/runtime/telemetry"
)

// HookEvent is what another program has sent to a hook, as a channel of that hook has it. It is material, and no
// message of a conversation.
type HookEvent struct {
	ID        int64 `gorm:"primaryKey;autoIncrement"`
	TeamID    string
	ChannelID string
	// Hook is the hook's name in the configuration.
	Hook string
	// Delivery identifies the delivery: a hash.
	Delivery   string
	Text       string
	Terms      string
	ReceivedUS int64 `gorm:"column:received_us"`
}

// TableName implements gorm's schema.Tabler.
func (HookEvent) TableName() string { return "hook_events" }

// Received is when it came.
func (e HookEvent) Received() time.Time { return instant(e.ReceivedUS) }

// IncomingEvent is an event on its way into the database.
type IncomingEvent struct {
	Hook, Text string
	// Delivery is the same for each repetition of the event, for ever or, if Within is set, for so long.
	Delivery string
	Within   time.Duration
}

// hookSettles is how long after an event the promises that wait for one are looked at: events come in bursts, and one
// look judges them all.
const hookSettles = 5 * time.Second

// HookChannels returns the channels that the bot knows by ids, and those where it is a member by names.
func (s *Store) HookChannels(ctx context.Context, ids, names []string) (channels []chat.Scope, err error) {
	var rows []channelRow
	if err := s.db.WithContext(ctx).Select("team_id", "channel_id").Where("NOT archived").
		Where("? OR (member AND ?)", s.inList("channel_id", ids), s.inList("name", names)).
		Order("team_id, channel_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the channels of a hook: %w", err)
	}
	return mapRows(rows, func(r channelRow) chat.Scope { return chat.Scope{Team: r.TeamID, Channel: r.ChannelID} }), nil
}

// SaveHookEvent saves an event for channels, in the order of HookChannels, and has the promises there looked at that
// wait for one of its hook. It commits both together. fresh is false if the event was known in all of them. It returns
// the conversations with something new to relay.
func (s *Store) SaveHookEvent(ctx context.Context, e IncomingEvent, channels []chat.Scope) (fresh bool,
	targets []Target, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		fresh, targets = false, nil
		for _, c := range channels {
			// Ids are in the order of commits then, and no look ends meanwhile.
			if err := s.lockChannel(tx, c); err != nil {
				return err
			}
			known := tx.Model(&HookEvent{}).Where("team_id = ? AND channel_id = ? AND hook = ? AND delivery = ?", c.Team,
				c.Channel, e.Hook, e.Delivery)
			now := s.nowMicros()
			if e.Within > 0 {
				known = known.Where("received_us > ?", now-e.Within.Microseconds())
			}
			var n int64
			if err := known.Count(&n).Error; err != nil {
				return err
			}
			if n > 0 {
				continue
			}
			fresh = true
			found, _ := terms.Index(e.Text)
			if err := tx.Create(&HookEvent{TeamID: c.Team, ChannelID: c.Channel, Hook: e.Hook, Delivery: e.Delivery,
				Text: e.Text, Terms: " " + strings.Join(found, " ") + " ", ReceivedUS: now}).Error; err != nil {
				return err
			}
			woken, err := s.wakePromises(ctx, tx, c, e.Hook, now)
			if err != nil {
				return err
			}
			targets = append(targets, woken...)
		}
		return nil
	})
	if err != nil {
		return false, nil, fmt.Errorf("save an event of hook %s: %w", e.Hook, err)
	}
	return fresh, targets, nil
}

// wakePromises has the promises of a channel looked at soon that wait for an event of a hook. One that is to be looked
// at already is not told again: a look sees all events. One whose confirmation is not posted yet begins with it.
func (s *Store) wakePromises(ctx context.Context, tx *gorm.DB, channel chat.Scope, hook string,
	now int64) (targets []Target, err error) {
	var waiting []Promise
	if err := s.locked(tx).Where("team_id = ? AND channel_id = ? AND until_hook = ? AND until_hook <> '' AND "+
		"state = 'open' AND woken_us = 0 AND due_us > ?", channel.Team, channel.Channel, hook, now).Order("id").
		Find(&waiting).Error; err != nil {
		return nil, err
	}
	for _, p := range waiting {
		p.WokenUS = now + hookSettles.Microseconds()
		if err := tx.Model(&Promise{}).Where("id = ?", p.ID).Update("woken_us", p.WokenUS).Error; err != nil {
			return nil, err
		}
		if p.ShownTS == "" {
			continue
		}
		c := p.change(conversation.Moved, p.reference(), now)
		c.OrderedBy, c.Trace = "hook:"+hook, telemetry.Traceparent(ctx)
		if err := tx.Create(&c).Error; err != nil {
			return nil, err
		}
		targets = append(targets, Target{Conversation: p.Conversation()})
	}
	return targets, nil
}

// HookEvents returns the events for which a promise waits and that it has not seen, the first ones first. Of more than
// maxChars characters it returns those that fit, and at least one.
func (s *Store) HookEvents(ctx context.Context, p Promise, maxChars int) (events []HookEvent, err error) {
	if p.Until == "" {
		return nil, nil
	}
	if err := unseenEvents(s.db.WithContext(ctx), p).Order("id").Limit(maxEventsSeen).Find(&events).Error; err != nil {
		return nil, fmt.Errorf("read the events of hook %s: %w", p.Until, err)
	}
	for i, e := range events {
		if maxChars -= len(e.Text); maxChars < 0 && i > 0 {
			return events[:i], nil
		}
	}
	return events, nil
}

// maxEventsSeen is how many events one look sees.
const maxEventsSeen = 50

func unseenEvents(tx *gorm.DB, p Promise) *gorm.DB {
	return tx.Model(&HookEvent{}).Where("team_id = ? AND channel_id = ? AND hook = ? AND id > ?", p.TeamID, p.ChannelID,
		p.Until, p.SeenEvent)
}

// WaitOn records that the events up to seen were not what an open promise waits for. It returns the promise as it is
// then: it is looked at again soon if others have come meanwhile. With a time it is looked at then, with the same
// events: no look could be had.
func (s *Store) WaitOn(ctx context.Context, id string, seen int64, again time.Time) (p Promise, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = choiceNamed[Promise](tx, "promise", id); err != nil {
			return err
		}
		if err := s.lockChannel(tx, chat.Scope(p.Conversation().Top())); err != nil {
			return err
		}
		p.SeenEvent, p.WokenUS, p.HeldUS = max(p.SeenEvent, seen), microsOrZero(again), 0
		if again.IsZero() {
			var more int64
			if err := unseenEvents(tx, p).Count(&more).Error; err != nil {
				return err
			}
			if more > 0 {
				p.WokenUS = s.nowMicros() + hookSettles.Microseconds()
			}
		}
		return tx.Model(&Promise{}).Where("id = ?", id).
			Updates(map[string]any{"seen_event": p.SeenEvent, "woken_us": p.WokenUS, "held_us": 0}).Error
	})
	if err != nil {
		return Promise{}, fmt.Errorf("wait on for %s: %w", id, err)
	}
	return p, nil
}

// searchedEvents is in how many of a channel's newest events a search looks.
const searchedEvents = 5000

// SearchHookEvents finds events of the channel Here with any of a text's words, those with more of them first, then
// the newest. They are seen in the channels of their hook and nowhere else.
func (s *Store) SearchHookEvents(ctx context.Context, q SearchQuery) (events []HookEvent, err error) {
	asked := terms.Query(q.Text)
	if len(asked) == 0 || q.Channel != "" && q.Channel != q.Here || len(q.Authors) > 0 {
		return nil, nil
	}
	var score []string
	var args []any
	for _, t := range asked[:min(len(asked), maxSought)] {
		word := " " + t.Text
		if !t.Prefix {
			word += " "
		}
		has := "INSTR(terms, ?)"
		if s.sqlite == "" {
			has = "STRPOS(terms, ?)"
		}
		score, args = append(score, "CASE WHEN "+has+" > 0 THEN 1 ELSE 0 END"), append(args, word)
	}
	newest := s.db.WithContext(ctx).Model(&HookEvent{}).Where("team_id = ? AND channel_id = ?", q.Team, q.Here).
		Order("id DESC").Limit(searchedEvents)
	found := s.db.WithContext(ctx).Table("(?) n", newest).Select("n.*, "+strings.Join(score, " + ")+" AS score", args...)
	found = s.db.WithContext(ctx).Table("(?) f", found).Where("score > 0 AND received_us >= ?", microsOrZero(q.From))
	if !q.To.IsZero() {
		found = found.Where("received_us < ?", micros(q.To))
	}
	if err := found.Order("score DESC, id DESC").Limit(q.Limit).
		Select("id, team_id, channel_id, hook, delivery, text, terms, received_us").Find(&events).Error; err != nil {
		return nil, fmt.Errorf("search the events of hooks: %w", err)
	}
	return events, nil
}

// HooksReceived is when the newest event of each hook came, as far as they are kept.
func (s *Store) HooksReceived(ctx context.Context) (map[string]time.Time, error) {
	var rows []HookEvent
	if err := s.db.WithContext(ctx).Model(&HookEvent{}).Select("hook, MAX(received_us) AS received_us").Group("hook").
		Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read when events of hooks came: %w", err)
	}
	newest := map[string]time.Time{}
	for _, r := range rows {
		newest[r.Hook] = r.Received()
	}
	return newest, nil
}
