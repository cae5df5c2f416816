package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// Vote is what somebody thinks of a reply of the bot. A person has one vote about a reply: the newest.
type Vote struct {
	ID        int64 `gorm:"primaryKey"`
	TeamID    string
	ChannelID string
	// Part is the key of the message with the buttons in the outbox.
	Part string
	// Decision is the key of the decision whose reply it is.
	Decision string
	UserID   string
	// Value is VoteUp or VoteDown.
	Value string
	// Reason is in the person's words, and may be empty.
	Reason  string
	VotedUS int64
}

// The values of a vote.
const (
	VoteUp   = "up"
	VoteDown = "down"
)

// TableName implements gorm's schema.Tabler.
func (Vote) TableName() string { return "feedback" }

// ErrElsewhere is returned for a vote under another message than that of the reply.
var ErrElsewhere = errors.New("it stands under another message")

// SaveVote records what a user thinks of the reply whose part has the buttons, and reports whether that
// is new: an older or repeated vote of theirs changes nothing. A vote that changes takes the reason of
// the one before away. channel and ts are where the buttons were used. It returns ErrNotFound if no such
// part has buttons, ErrElsewhere if it is another message, and ErrDeleted if the reply is gone.
func (s *Store) SaveVote(
	ctx context.Context, team, channel, ts, part, user, value string, at time.Time,
) (saved bool, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []outboxRow
		if err := tx.Where("key = ? AND team_id = ? AND feedback", part, team).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return ErrNotFound
		}
		reply := rows[0]
		if here, err := becameIn(tx, reply.TeamID, reply.ChannelID, channel); err != nil {
			return err
		} else if !here || reply.SentTS != "" && reply.SentTS != ts { // a ts that is not known yet was posted just now
			return ErrElsewhere
		}
		if reply.State == Retracted || reply.Text == "" {
			return ErrDeleted
		}
		voted := tx.Exec(`
			INSERT INTO feedback (team_id, channel_id, part, decision, user_id, value, reason, voted_us) VALUES (?, ?, ?, ?, ?, ?, '', ?)
			ON CONFLICT (part, user_id) DO UPDATE SET value = excluded.value, voted_us = excluded.voted_us,
				reason = CASE WHEN feedback.value = excluded.value THEN feedback.reason ELSE '' END
			WHERE excluded.voted_us > feedback.voted_us`,
			reply.TeamID, reply.ChannelID, reply.Key, reply.Decision, user, value, micros(at))
		saved = voted.RowsAffected > 0
		return voted.Error
	})
	if err != nil {
		return false, fmt.Errorf("save vote about %s: %w", part, err)
	}
	return saved, nil
}

// SaveVoteReason records why a user does not like a reply, and reports whether they still do not.
func (s *Store) SaveVoteReason(ctx context.Context, part, user, reason string) (saved bool, err error) {
	given := s.db.WithContext(ctx).Model(&Vote{}).Where("part = ? AND user_id = ? AND value = ?", part, user, VoteDown).
		Update("reason", Clean(reason))
	if given.Error != nil {
		return false, fmt.Errorf("save the reason of a vote about %s: %w", part, given.Error)
	}
	return given.RowsAffected > 0, nil
}

// Feedback returns what people think of the replies of some decisions, by their keys, the oldest votes
// first.
func (s *Store) Feedback(ctx context.Context, decisions []string) ([]Vote, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var votes []Vote
	if err := s.db.WithContext(ctx).Where("decision IN ?", decisions).Order("voted_us, id").Find(&votes).
		Error; err != nil {
		return nil, fmt.Errorf("read feedback: %w", err)
	}
	return votes, nil
}
