package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// StepState is how far a step has come. A step in StepRunning whose worker dies is begun again.
type StepState string

const (
	StepWaiting StepState = "waiting"
	StepRunning StepState = "running"
	StepDone    StepState = "done"
	// StepRefused: it is past a limit, and was not tried.
	StepRefused StepState = "refused"
	// StepProposed: it acts, so people decide about it (Proposal).
	StepProposed StepState = "proposed"
)

// Step is one call of a Turn.
type Step struct {
	ID        string `gorm:"primaryKey" json:"id"`
	TeamID    string `json:"team_id"`
	ChannelID string `json:"channel_id"`
	ThreadTS  string `json:"thread_ts"`
	// TriggerTS is the ts of the message that is answered.
	TriggerTS string `json:"trigger_ts"`
	Decision  string `json:"decision"`
	Round     int    `json:"round"`
	// Position is its place in the turn, from 0.
	Position int    `json:"position"`
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	// Input is what the model wrote, which may be anything.
	Input string    `json:"input"`
	State StepState `json:"state"`
	// Output is what the model is told. Failed is set if that is an error.
	Output   string `json:"output"`
	Failed   bool   `json:"failed"`
	Attempts int    `json:"attempts"`
	StoredUS int64  `json:"stored_us"`
	// BeganUS is when the first attempt began, 0 if none has.
	BeganUS int64 `json:"began_us"`
	EndedUS int64 `json:"ended_us"`
	// Proposal is what SaveTurn saves with a step in StepProposed: Asker, Server, Idempotent and LapsesUS of it, and
	// Input if that is not the step's. It is not read.
	Proposal *Proposal `gorm:"-" json:"-"`
}

// TableName implements gorm's schema.Tabler.
func (Step) TableName() string { return "steps" }

// Ended reports whether the step has a result.
func (s Step) Ended() bool { return s.State != StepWaiting && s.State != StepRunning }

// Began is when the first attempt began; zero if none has.
func (s Step) Began() time.Time { return instantOrZero(s.BeganUS) }

// Took is the time from the beginning of the first attempt to the end; zero if it has not ended.
func (s Step) Took() time.Duration {
	if s.BeganUS == 0 || s.EndedUS == 0 {
		return 0
	}
	return time.Duration(s.EndedUS-s.BeganUS) * time.Microsecond
}

// stepID is the same each time the same call is saved.
func stepID(decision string, round, position int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", decision, round, position))
	return hex.EncodeToString(sum[:10])
}

// Steps returns the steps of a decision, in order.
func (s *Store) Steps(ctx context.Context, decision string) ([]Step, error) {
	var steps []Step
	if err := s.db.WithContext(ctx).Where("decision = ?", decision).Order("round, position").Find(&steps).
		Error; err != nil {
		return nil, fmt.Errorf("read steps of %s: %w", decision, err)
	}
	return steps, nil
}

// StepsBefore returns the steps of a step's decision that come before it, in order.
func (s *Store) StepsBefore(ctx context.Context, id string) ([]Step, error) {
	var steps []Step
	if err := s.db.WithContext(ctx).Raw(`SELECT s.* FROM steps one JOIN steps s ON s.decision = one.decision AND (s.round < one.round OR s.round = one.round AND s.position < one.position)
		WHERE one.id = ? ORDER BY s.round, s.position`, id).Scan(&steps).Error; err != nil {
		return nil, fmt.Errorf("read steps before %s: %w", id, err)
	}
	return steps, nil
}

// StepFigures is a step without its texts: Input and Output are not read.
type StepFigures struct {
	Step
	// Size is the length of Output in characters.
	Size int
}

// StepsFor returns the steps of some decisions, by their keys, in order.
func (s *Store) StepsFor(ctx context.Context, decisions []string) ([]StepFigures, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var steps []StepFigures
	if err := s.db.WithContext(ctx).Model(&Step{}).
		Select("id, decision, round, position, tool, state, failed, attempts, began_us, ended_us, LENGTH(output) AS "+
			"size").
		Where("decision IN ?", decisions).Order("decision, round, position").Find(&steps).Error; err != nil {
		return nil, fmt.Errorf("read steps of decisions: %w", err)
	}
	return steps, nil
}

// BegunStep is a step, and what decides whether it is carried out.
type BegunStep struct {
	Step
	// Given is set if nobody waits for the step any more: its decision has an outcome.
	Given bool
	// Asker is the user id of the author of the message that is answered; "" if it is unknown or
	// deleted.
	Asker string
	// ChannelName is empty for a direct message, and if Slack was never asked.
	ChannelName string
	Readers
}

// BeginStep counts an attempt at a step, unless the step has ended or nobody waits for it. It returns
// the step with that attempt, or ErrNotFound.
func (s *Store) BeginStep(ctx context.Context, id string) (BegunStep, error) {
	var begun BegunStep
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var rows []Step
		if err := s.locked(tx).Where("id = ?", id).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return ErrNotFound
		}
		begun = BegunStep{Step: rows[0]}
		st := &begun.Step
		var known struct {
			Outcome, Asker, Name string
			readersRow
		}
		if err := tx.Raw(`SELECT COALESCE((SELECT outcome FROM decisions WHERE key = ?), '') AS outcome,
				COALESCE((SELECT user_id FROM messages WHERE team_id = ? AND channel_id = ? AND ts = ? AND NOT deleted), '') AS asker,
				COALESCE((SELECT name FROM channels WHERE team_id = ? AND channel_id = ?), '') AS name, ?`,
			st.Decision, st.TeamID, st.ChannelID, st.TriggerTS, st.TeamID, st.ChannelID,
			readersOf(st.TeamID, st.ChannelID)).Scan(&known).Error; err != nil {
			return err
		}
		begun.Asker, begun.ChannelName, begun.Readers = known.Asker, known.Name, known.readers()
		begun.Given = known.Outcome != "" && known.Outcome != "pending"
		if st.Ended() || begun.Given {
			return nil
		}
		st.State, st.Attempts = StepRunning, st.Attempts+1
		if st.BeganUS == 0 {
			st.BeganUS = s.nowMicros()
		}
		return tx.Model(&Step{}).Where("id = ?", id).
			Updates(map[string]any{"state": st.State, "attempts": st.Attempts, "began_us": st.BeganUS}).Error
	})
	if err != nil {
		return BegunStep{}, fmt.Errorf("begin step %s: %w", id, err)
	}
	return begun, nil
}

// StepResult is what a step has found.
type StepResult struct {
	Output string
	Failed bool
	// Files are what it shows besides.
	Files []StepFile
	// Quotes are the messages that it shows, or whose files.
	Quotes []Quote
}

// Quote names a message by its channel and ts.
type Quote struct{ Channel, TS string }

// quoteRow is a message that a step's result shows. It is deleted with its step.
type quoteRow struct {
	StepID    string `gorm:"primaryKey"`
	TeamID    string
	ChannelID string `gorm:"primaryKey"`
	TS        string `gorm:"primaryKey"`
}

func (quoteRow) TableName() string { return "quotes" }

// EndStep saves what a step has found. The first result stays. Of a reply that nobody waits for any more
// nothing is kept but that the step has ended.
func (s *Store) EndStep(ctx context.Context, id string, r StepResult) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		var st Step
		if err := tx.Where("id = ?", id).Select("team_id, decision").Limit(1).Find(&st).Error; err != nil {
			return err
		}
		given, err := s.hasOutcome(tx, st.Decision)
		if err != nil {
			return err
		}
		if given {
			r = StepResult{Failed: r.Failed}
		}
		ended := tx.Model(&Step{}).Where("id = ? AND state = ?", id, StepRunning).
			Updates(map[string]any{"state": StepDone, "output": r.Output, "failed": r.Failed,
				"ended_us": s.nowMicros()})
		if ended.Error != nil || ended.RowsAffected == 0 {
			return ended.Error
		}
		for i, f := range r.Files {
			f.StepID, f.TeamID, f.Position = id, st.TeamID, i
			if err := tx.Create(&f).Error; err != nil {
				return err
			}
		}
		if len(r.Quotes) == 0 {
			return nil
		}
		quotes := mapRows(r.Quotes, func(q Quote) quoteRow {
			return quoteRow{StepID: id, TeamID: st.TeamID,
				ChannelID: q.Channel, TS: q.TS}
		})
		return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&quotes).Error
	})
	if err != nil {
		return fmt.Errorf("end step %s: %w", id, err)
	}
	return nil
}

// hasOutcome reports whether nobody waits for what a decision looks up any more. It locks the decision, so that
// endLookups comes before it or after this transaction.
func (s *Store) hasOutcome(tx *gorm.DB, decision string) (bool, error) {
	var rows []Decision
	err := s.locked(tx).Where("key = ?", decision).Select("outcome").Find(&rows).Error
	return len(rows) > 0 && rows[0].Outcome != conversation.Pending, err
}

// StopThread keeps the bot out of a thread from the time on when a message was recorded that told it
// to stop, until somebody mentions it again (Facts.Stopped).
func (s *Store) StopThread(ctx context.Context, c chat.Conversation, ts string) error {
	if err := s.db.WithContext(ctx).Exec(`
		INSERT INTO conversations (workflow_id, team_id, stopped_us) SELECT workflow_id, CAST(? AS TEXT), MAX(stored_us) FROM changes WHERE workflow_id = ? AND ts = ? AND stop GROUP BY workflow_id
		ON CONFLICT (workflow_id) DO UPDATE SET stopped_us = excluded.stopped_us`, c.Team, c.ID(), ts).Error; err != nil {
		return fmt.Errorf("stop in %s: %w", c.ID(), err)
	}
	return nil
}
