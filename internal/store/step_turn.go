package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Turn is a model's answer that asked for tools before it wrote a reply.
type Turn struct {
	// Decision is the key of the decision that the reply carries out. Round counts from 0.
	Decision  string `gorm:"primaryKey"`
	Round     int    `gorm:"primaryKey;autoIncrement:false"`
	TeamID    string
	ChannelID string
	// Provider and Model are what was asked.
	Provider string
	Model    string
	// Text is what the model wrote beside its calls.
	Text string
	// Opaque is the answer as its provider wants it back, as JSON.
	Opaque    string
	TokensIn  int
	TokensOut int
	ReadUS    int64
	MadeUS    int64
	// Steps are its calls, in order.
	Steps []Step `gorm:"-"`
}

// TableName implements gorm's schema.Tabler.
func (Turn) TableName() string { return "turns" }

// Read is when the conversation was read for the answer.
func (t Turn) Read() time.Time { return instant(t.ReadUS) }

// Made is when the answer was saved.
func (t Turn) Made() time.Time { return instant(t.MadeUS) }

// SaveTurn saves a turn of a reply, and its steps. trigger is the ts of the message that is answered.
// Each step needs CallID, Tool, Input, State, Output and Failed. SaveTurn returns the steps of the
// round. If another attempt has saved the round before, these are that attempt's.
func (s *Store) SaveTurn(ctx context.Context, c chat.Conversation, trigger string, t Turn) ([]Step, error) {
	now := s.nowMicros()
	t.TeamID, t.ChannelID, t.MadeUS = c.Team, c.Channel, now
	steps := slices.Clone(t.Steps)
	var proposals []Proposal
	for i := range steps {
		st := &steps[i]
		st.ID, st.TeamID, st.ChannelID, st.ThreadTS, st.TriggerTS = stepID(t.Decision, t.Round, i), c.Team, c.Channel,
			c.Thread, trigger
		st.Decision, st.Round, st.Position, st.StoredUS = t.Decision, t.Round, i, now
		if st.Ended() {
			st.EndedUS = now
		}
		if p := st.Proposal; p != nil {
			proposals = append(proposals, Proposal{
				Choice: Choice{
					ID: st.ID, TeamID: c.Team, ChannelID: c.Channel, ThreadTS: c.Thread, TriggerTS: trigger,
					Decision: t.Decision, Asker: p.Asker, StoredUS: now,
				},
				Server:     p.Server,
				Tool:       st.Tool,
				Input:      cmp.Or(p.Input, st.Input),
				Idempotent: p.Idempotent,
				State:      ProposalOpen,
				LapsesUS:   p.LapsesUS,
			})
			st.Proposal = nil
		}
	}
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if ended, err := s.hasOutcome(tx, t.Decision); err != nil {
			return err
		} else if ended { // nobody needs the texts
			t.Text, t.Opaque, proposals = "", "", nil
			for i := range steps {
				steps[i].Input = noInput
			}
		}
		created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&t)
		if created.Error != nil {
			return created.Error
		}
		if created.RowsAffected > 0 && len(steps) > 0 {
			if len(proposals) > 0 {
				if err := tx.Create(&proposals).Error; err != nil {
					return err
				}
			}
			return tx.Create(&steps).Error
		}
		steps = nil
		return tx.Where("decision = ? AND round = ?", t.Decision, t.Round).Order("position").Find(&steps).Error
	})
	if err != nil {
		return nil, fmt.Errorf("save turn %d of %s: %w", t.Round, t.Decision, err)
	}
	return steps, nil
}

// Turns returns the turns of a decision in order, with their steps.
func (s *Store) Turns(ctx context.Context, decision string) ([]Turn, error) {
	var turns []Turn
	if err := s.db.WithContext(ctx).Where("decision = ?", decision).Order("round").Find(&turns).Error; err != nil {
		return nil, fmt.Errorf("read turns of %s: %w", decision, err)
	}
	steps, err := s.Steps(ctx, decision)
	if err != nil {
		return nil, err
	}
	for i := range turns {
		for _, st := range steps {
			if st.Round == turns[i].Round {
				turns[i].Steps = append(turns[i].Steps, st)
			}
		}
	}
	return turns, nil
}
