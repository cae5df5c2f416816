package store

import (
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// leaseGrace is how long an expired lease is kept, because clocks differ.
const leaseGrace = time.Hour

// conversations deletes rows without lease and silence. They are created again when needed. A stop
// stays as long as messages do, and what SaveLost saved for a day.
func (p pruning) conversations(messages time.Time) error {
	return walk[string](p, prunable{
		table: "conversations", walkColumn: "workflow_id", ageColumn: "claimed_until_us",
		condition: where("silenced_until_us < ? AND stopped_us <= ? AND lost_us < ? AND NOT EXISTS (SELECT 1 FROM "+
			"changes c WHERE c.workflow_id = conversations.workflow_id AND c.relayed_us IS NULL)",
			micros(p.now), microsOrZero(messages), micros(p.now.Add(-lostKept))),
	}, micros(p.now.Add(-leaseGrace)))
}

// messages goes through the channels and prunes those that have a message older than the cutoff. ts
// sorts by time.
func (p pruning) messages(horizon time.Time) error {
	if horizon.IsZero() {
		return nil
	}
	var waiting *int64
	if err := p.db.Model(&changeRow{}).Where("relayed_us IS NULL").Select("MIN(sent_us)").Scan(&waiting).
		Error; err != nil {
		return err
	}
	for after := (chat.Scope{}); ; {
		var channels []struct {
			Team, Channel string
			Aged          bool
		}
		if err := p.db.Model(&channelRow{}).Where("(team_id, channel_id) > (?, ?)", after.Team, after.Channel).
			Select(`team_id AS team, channel_id AS channel, COALESCE((
				SELECT MIN(m.ts) FROM messages m WHERE m.team_id = channels.team_id AND m.channel_id = channels.channel_id
			) < ?, FALSE) AS aged`, chat.TS(horizon)).
			Order("team_id, channel_id").Limit(pruneChunk).Scan(&channels).Error; err != nil {
			return err
		}
		for _, c := range channels {
			after = chat.Scope{Team: c.Team, Channel: c.Channel}
			if !c.Aged {
				continue
			}
			before, err := p.memoryCutoff(after, horizon)
			if err != nil {
				return err
			}
			if waiting != nil {
				before = min(before, *waiting)
			}
			if err := p.channel(after, before, horizon); err != nil {
				return err
			}
		}
		if len(channels) < pruneChunk {
			return nil
		}
	}
}

// memoryCutoff is the cutoff for a channel's messages. It is earlier if memory has yet to read
// older messages: those sent since its cursor begins and stored since it last read. It waits for
// memory at most as long again, because memory may be switched off for the channel.
func (p pruning) memoryCutoff(channel chat.Scope, horizon time.Time) (before int64, err error) {
	before = micros(horizon)
	var scopes []scopeRow
	if err := ofScope(p.db, channel).Find(&scopes).Error; err != nil || len(scopes) == 0 ||
		scopes[0].SinceUS >= before {
		return before, err
	}
	again := 2*before - micros(p.now)
	var first *int64
	err = p.db.Model(&messageRow{}).
		Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND sent_us < ? AND NOT deleted AND stored_us >= ?",
			channel.Team, channel.Channel, max(scopes[0].SinceUS, again), before, scopes[0].ReadUS).
		Select("MIN(sent_us)").Scan(&first).Error
	if first != nil {
		before = *first
	}
	return before, err
}

// sameThread is the condition that rows {r} belong to a message's thread.
const sameThread = "{r}.team_id = messages.team_id AND {r}.channel_id = messages.channel_id " +
	"AND {r}.thread_ts = CASE WHEN messages.thread_ts = '' THEN messages.ts ELSE messages.thread_ts END"

// channel deletes a channel's messages that were sent before a time, what the search index has of
// them, and the reactions to them. A thread, its parent included, is deleted when all of it is older, and when its
// memory was not updated since the cutoff; otherwise the next run would treat its messages as deleted by people.
func (p pruning) channel(c chat.Scope, before int64, horizon time.Time) error {
	of := func(rows string) string { return strings.ReplaceAll(sameThread, "{r}", rows) }
	if err := walk[string](p, prunable{
		table: "messages", walkColumn: "ts", ageColumn: "sent_us", within: where("team_id = ? AND channel_id = ?",
			c.Team, c.Channel),
		condition: where("COALESCE((SELECT MAX(reply.sent_us) FROM messages reply WHERE "+of("reply")+
			" AND NOT reply.deleted), 0) < ? "+
			"AND COALESCE((SELECT scope.updated_us FROM memory_scopes scope WHERE "+of("scope")+"), 0) < ?", before,
			micros(horizon)),
		first: keepWriters,
		along: func(tx *gorm.DB, after, upTo any) error {
			if err := unindexAbsent(tx, where("team_id = ? AND channel_id = ? AND ts > ? AND ts <= ?", c.Team,
				c.Channel, after, upTo)); err != nil {
				return err
			}
			return p.blankPruned(tx, c, after, upTo)
		},
	}, before); err != nil {
		return err
	}
	return walk[string](p, prunable{
		table: "reactions", walkColumn: "ts", ageColumn: "added_us", within: where("team_id = ? AND channel_id = ?",
			c.Team, c.Channel),
		condition: where("NOT EXISTS (SELECT 1 FROM messages m WHERE m.team_id = reactions.team_id AND m.channel_id " +
			"= reactions.channel_id AND m.ts = reactions.ts)"),
	}, before)
}

// blankPruned empties what quotes messages of a channel, from after one ts and up to another, that are not there any
// more.
func (p pruning) blankPruned(tx *gorm.DB, c chat.Scope, after, upTo any) error {
	const span = " WHERE team_id = ? AND channel_id = ? AND {ts} > ? AND {ts} <= ? AND NOT EXISTS (SELECT 1 FROM " +
		"messages m WHERE m.team_id = {from}.team_id AND m.channel_id = {from}.channel_id AND m.ts = {from}.{ts})"
	var parts []string
	var args []any
	for _, from := range [][2]string{{"quotes", "ts"}, {"steps", "trigger_ts"}, {"proposals", "trigger_ts"},
		{"promises", "trigger_ts"}} {
		parts = append(parts, strings.NewReplacer("{from}", from[0], "{ts}", from[1]).
			Replace("SELECT {ts} AS ts FROM {from}"+span))
		args = append(args, c.Team, c.Channel, after, upTo)
	}
	var gone []string
	if err := tx.Raw(strings.Join(parts, " UNION "), args...).Scan(&gone).Error; err != nil || len(gone) == 0 {
		return err
	}
	return p.store.blankWith(tx, true, c.Team, c.Channel, gone...)
}
