package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Move says that Slack has given a channel another id.
type Move struct {
	Team, From, To string
	// Mute is until when the channel is muted because of the move; zero if it is not.
	Mute time.Time
}

const movedBy = "starter:channel_id_changed/"

// by is the author of the orders that a move causes.
func (m Move) by() string { return movedBy + m.From }

// MovedFrom is the channel's former id if the order was caused by a move, otherwise "".
func (o Order) MovedFrom() string {
	from, ok := strings.CutPrefix(o.By, movedBy)
	if !ok {
		return ""
	}
	return from
}

// MoveChannel carries mutes and snoozes of a channel and its threads, and what people have set of it in Slack, over to
// its new id, in one transaction, by orders that name the cause. It does so once, so that repeating a move does not
// undo an unmute. If Slack has already reported that the new id was replaced as well, the mutes go
// on to the newest id.
//
// The bot leaves the old channel, and both ids become private: Slack changes the ids of private
// channels only. Messages, memories and promises stay with the old id. When such a promise is due, Slack
// refuses the post there, and whoever asked is told in a direct message.
func (s *Store) MoveChannel(ctx context.Context, m Move) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		for next, been := m, map[string]bool{}; next.To != "" && !been[next.From]; {
			if err := s.move(tx, next); err != nil {
				return err
			}
			been[next.From] = true
			next = Move{Team: m.Team, From: next.To}
			var err error
			if next.To, err = movedTo(tx, m.Team, next.From); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("move channel %s to %s: %w", m.From, m.To, err)
	}
	return nil
}

// Became reports whether a channel is another one, or has become it by moves.
func (s *Store) Became(ctx context.Context, team, from, to string) (bool, error) {
	same, err := becameIn(s.db.WithContext(ctx), team, from, to)
	if err != nil {
		return false, fmt.Errorf("read where channel %s went: %w", from, err)
	}
	return same, nil
}

func becameIn(tx *gorm.DB, team, from, to string) (same bool, err error) {
	for at, been := from, map[string]bool{}; at != "" && !been[at]; {
		if at == to {
			return true, nil
		}
		been[at] = true
		if at, err = movedTo(tx, team, at); err != nil {
			return false, err
		}
	}
	return false, nil
}

// movedTo is the id that a channel has got by a move; "" if it was not moved.
func movedTo(tx *gorm.DB, team, channel string) (to string, err error) {
	err = tx.Model(&orderRow{}).Where("id = ?", Move{Team: team, From: channel}.id()).Select("subject").Scan(&to).Error
	return to, err
}

// id is the id of the order that records where a channel went.
func (m Move) id() string { return "move/" + m.Team + "/" + m.From }

func (s *Store) move(tx *gorm.DB, m Move) error {
	closed := s.nowMicros()
	rows := []channelUpdate{
		{TeamID: m.Team, ChannelID: m.From, Private: true, ClosedUS: closed},
		{TeamID: m.Team, ChannelID: m.To, Private: true, ClosedUS: closed},
	}
	// one order for all writers
	slices.SortFunc(rows, func(a, b channelUpdate) int { return strings.Compare(a.ChannelID, b.ChannelID) })
	// This comes first: a concurrent move of either channel waits here, and then sees this one's
	// result.
	if err := saveChannelUpdates(tx, rows); err != nil {
		return err
	}
	if err := tx.Model(&channelRow{}).Where("team_id = ? AND channel_id = ?", m.Team, m.From).Update("member", false).
		Error; err != nil {
		return err
	}
	gone := Order{ID: m.id(), Scope: chat.Scope{Team: m.Team, Channel: m.From}, Kind: "move",
		By: strings.TrimSuffix(movedBy, "/"), Subject: m.To}
	if _, err := s.insertOrder(tx, gone); err != nil {
		return err
	}
	if err := moveSet(tx, m); err != nil {
		return err
	}
	silent, err := s.silencedIn(tx, m.Team, m.From)
	if err != nil {
		return err
	}
	if m.Mute.After(silent[""]) {
		silent[""] = m.Mute
	}
	for _, thread := range slices.Sorted(maps.Keys(silent)) {
		if err := s.carryOver(tx, m, thread, silent[thread]); err != nil {
			return err
		}
	}
	return nil
}

// silencedIn is until when a channel, under "", and its threads are muted or snoozed. It finds them
// by their orders, which are kept as long as they apply.
func (s *Store) silencedIn(tx *gorm.DB, team, channel string) (map[string]time.Time, error) {
	var threads []string
	if err := tx.Model(&orderRow{}).Where("team_id = ? AND channel_id = ? AND kind IN ('mute', 'snooze')", team,
		channel).
		Distinct().Pluck("thread_ts", &threads).Error; err != nil {
		return nil, err
	}
	silent := map[string]time.Time{}
	for some := range slices.Chunk(threads, 100) {
		byID := make(map[string]string, len(some))
		for _, thread := range some {
			byID[chat.Conversation{Team: team, Channel: channel, Thread: thread}.ID()] = thread
		}
		var rows []silenceRow
		if err := tx.Model(&conversationRow{}).Where("workflow_id IN ? AND silenced_until_us > ?",
			slices.Collect(maps.Keys(byID)), s.nowMicros()).
			Find(&rows).Error; err != nil {
			return nil, err
		}
		for _, r := range rows {
			silent[byID[r.WorkflowID]] = instant(r.SilencedUntilUS)
		}
	}
	return silent, nil
}

// carryOver silences a conversation of the new channel, unless that was done before. A longer
// silence stays.
func (s *Store) carryOver(tx *gorm.DB, m Move, thread string, until time.Time) error {
	c := chat.Conversation{Team: m.Team, Channel: m.To, Thread: thread}
	kind := "snooze"
	if until.Sub(instant(s.nowMicros())) > conversation.MaxSnooze {
		kind = "mute"
	}
	fresh, err := s.insertOrder(tx, Order{ID: "moved/" + m.From + "/" + c.ID(), Scope: chat.Scope(c), Kind: kind,
		By: m.by(), Until: until})
	if err != nil || !fresh {
		return err
	}
	return setSilence(tx, c.ID(), microsOrZero(until),
		"CASE WHEN excluded.silenced_until_us > conversations.silenced_until_us THEN excluded.silenced_until_us ELSE "+
			"conversations.silenced_until_us END")
}

// LatestSilenceOrder is the newest order to mute, snooze or unmute a conversation itself; the zero
// Order if there is none.
func (s *Store) LatestSilenceOrder(ctx context.Context, c chat.Conversation) (Order, error) {
	var rows []orderRow
	if err := s.db.WithContext(ctx).
		Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND kind IN ('mute', 'snooze', 'unmute')",
			c.Team, c.Channel, c.Thread).Order("ordered_us DESC, id").Limit(1).Find(&rows).Error; err != nil {
		return Order{}, fmt.Errorf("read latest silence order of %s: %w", c.ID(), err)
	}
	if len(rows) == 0 {
		return Order{}, nil
	}
	return rows[0].order(), nil
}

// MovedTo is the new ids of channels by their former ids, in order, for channels that were muted
// because of the move.
func (s *Store) MovedTo(ctx context.Context, from []string) (map[string][]string, error) {
	by := make([]string, len(from))
	for i, id := range from {
		by[i] = Move{From: id}.by()
	}
	var rows []orderRow
	if err := s.db.WithContext(ctx).Where("ordered_by IN ? AND thread_ts = ''", by).Order("channel_id").Find(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read moved channels: %w", err)
	}
	to := map[string][]string{}
	for _, r := range rows {
		to[r.order().MovedFrom()] = append(to[r.order().MovedFrom()], r.ChannelID)
	}
	return to, nil
}
