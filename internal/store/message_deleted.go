package store

import (
	"errors"
	"maps"
	"slices"

	"gorm.io/gorm"
)

// dropWith takes away what goes with messages of a channel that were deleted, by their ts: the notes, promises and
// proposals that they asked for, and what was looked up in answer to them or shows them. Promises and proposals are
// withdrawn; who decided about them stays. A call that has begun goes on (EndProposal).
func (s *Store) dropWith(tx *gorm.DB, team, channel string, ts ...string) error {
	of := func(column string) *gorm.DB {
		return tx.Where("team_id = ? AND channel_id = ? AND "+column+" IN ?", team, channel, ts)
	}
	if err := of("ts").Delete(&noteRow{}).Error; err != nil {
		return err
	}
	if err := s.closeProposals(of("trigger_ts"), ProposalWithdrawn, ProposalOpen, ProposalApproved); err != nil {
		return err
	}
	withdrawn := of("trigger_ts").Model(&Promise{}).Where("state = 'open'").
		Updates(map[string]any{"state": PromiseWithdrawn, "held_us": 0, "ended_us": s.nowMicros()})
	if withdrawn.Error != nil {
		return withdrawn.Error
	}
	s.metrics.endPromise(PromiseWithdrawn, withdrawn.RowsAffected)
	return s.blankWith(tx, true, team, channel, ts...)
}

// blankWith empties what quotes messages of a channel that were edited or are gone, by their ts: what was looked up in
// answer to them or shows them and, if they are gone, the proposals and promises that they asked for, as far as these
// have ended. A reply that is still written goes on without the results that show what is gone; its other texts go when
// it ends (endLookups).
func (s *Store) blankWith(tx *gorm.DB, gone bool, team, channel string, ts ...string) error {
	for some := range slices.Chunk(ts, 20) { // of more than that, the databases would read whole tables
		if err := s.blankWithFew(tx, gone, team, channel, some); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) blankWithFew(tx *gorm.DB, gone bool, team, channel string, ts []string) error {
	of := func(column string) *gorm.DB {
		return tx.Where("team_id = ? AND channel_id = ? AND "+column+" IN ?", team, channel, ts)
	}
	if gone {
		if err := errors.Join(
			of("trigger_ts").Model(&Proposal{}).Where("NOT "+unfinished).
				Updates(map[string]any{"input": noInput, "output": ""}).Error,
			of("trigger_ts").Model(&Promise{}).Where("state <> 'open'").
				Updates(map[string]any{"what": "", "unless": ""}).Error,
		); err != nil {
			return err
		}
	}
	var shown []string // steps that show them
	if err := of("ts").Model(&quoteRow{}).Pluck("step_id", &shown).Error; err != nil {
		return err
	}
	var steps, showing []Step
	if err := errors.Join(
		of("trigger_ts").Select("decision, stored_us").Find(&steps).Error, tx.Where("id IN ?", shown).
			Select("decision, stored_us").Find(&showing).Error,
	); err != nil {
		return err
	}
	ended, _, err := s.lookupsEnded(tx, append(steps, showing...))
	if err != nil {
		return err
	}
	if err := blankLookups(tx, ended); err != nil || !gone || len(shown) == 0 {
		return err
	}
	return errors.Join(
		tx.Where("step_id IN ?", shown).Delete(&StepFile{}).Error,
		tx.Model(&Step{}).Where("id IN ? AND decision NOT IN ?", shown, append(ended, "")).
			Update("output", hiddenOutput).Error,
	)
}

// lookupsEnded returns the decisions of some steps: those that have an outcome, or whose run was lost, and those whose
// reply is still written.
func (s *Store) lookupsEnded(tx *gorm.DB, steps []Step) (ended, underWay []string, err error) {
	oldest := map[string]int64{} // step, by decision
	for _, st := range steps {
		if at, ok := oldest[st.Decision]; !ok || st.StoredUS < at {
			oldest[st.Decision] = st.StoredUS
		}
	}
	if len(oldest) == 0 {
		return nil, nil, nil
	}
	if err := tx.Model(&Decision{}).Where("key IN ? AND outcome <> 'pending'", slices.Collect(maps.Keys(oldest))).
		Pluck("key", &ended).Error; err != nil {
		return nil, nil, err
	}
	for _, decision := range ended {
		delete(oldest, decision)
	}
	for decision, at := range oldest {
		if at < s.nowMicros()-maxReplyAge.Microseconds() {
			ended = append(ended, decision)
		} else {
			underWay = append(underWay, decision)
		}
	}
	return ended, underWay, nil
}

// blankSteps empties what was looked up for the decisions of some steps, or has endLookups do it where the reply is
// still written: it goes on with what it has.
func (s *Store) blankSteps(tx *gorm.DB, steps []Step) error {
	ended, underWay, err := s.lookupsEnded(tx, steps)
	if err != nil {
		return err
	}
	if err := blankLookups(tx, ended); err != nil || len(underWay) == 0 {
		return err
	}
	return tx.Exec("INSERT INTO quotes (step_id, team_id, channel_id, ts) SELECT id, team_id, channel_id, CAST(? AS "+
		"TEXT) FROM steps WHERE decision IN ? ON CONFLICT DO NOTHING",
		noMessage, underWay).Error
}

const (
	// noInput is the input of a call whose own is gone: an object, as a reader of the column expects.
	noInput = "{}"
	// hiddenOutput is what a model gets in place of a result that shows a message that is gone.
	hiddenOutput = "(left out: it was deleted)"
)

// blankLookups empties what was looked up for decisions. What was called, when and by which model stays.
func blankLookups(tx *gorm.DB, decisions []string) error {
	if len(decisions) == 0 {
		return nil
	}
	return errors.Join(
		dropFiles(tx, decisions...),
		tx.Model(&Step{}).Where("decision IN ?", decisions).Updates(map[string]any{"input": noInput, "output": ""}).
			Error,
		tx.Model(&Turn{}).Where("decision IN ?", decisions).Updates(map[string]any{"text": "", "opaque": ""}).Error,
	)
}

// dropFiles deletes the files that the results of decisions' steps show.
func dropFiles(tx *gorm.DB, decisions ...string) error {
	return tx.Where("step_id IN (?)", tx.Model(&Step{}).Where("decision IN ?", decisions).Select("id")).
		Delete(&StepFile{}).Error
}

// endLookups takes away what nobody needs once a decision has its outcome: the files, and all texts if a message that
// was answered or shown has been deleted or edited since, or if blankSteps asked for that.
func endLookups(tx *gorm.DB, decision string) error {
	const changed = "(m.deleted OR m.revision <> '' AND m.stored_us > s.stored_us)"
	var looked struct{ Steps, Stale int64 }
	if err := tx.Raw(`SELECT COUNT(*) AS steps, COALESCE(SUM(CASE WHEN
			EXISTS (SELECT 1 FROM messages m WHERE m.team_id = s.team_id AND m.channel_id = s.channel_id AND m.ts = s.trigger_ts AND `+changed+`)
			OR EXISTS (SELECT 1 FROM quotes q JOIN messages m ON m.team_id = q.team_id AND m.channel_id = q.channel_id AND m.ts = q.ts WHERE q.step_id = s.id AND `+changed+`)
			OR EXISTS (SELECT 1 FROM quotes q WHERE q.step_id = s.id AND q.ts = ?)
			THEN 1 ELSE 0 END), 0) AS stale
		FROM steps s WHERE s.decision = ?`, noMessage, decision).Scan(&looked).Error; err != nil || looked.Steps == 0 {
		return err
	}
	if looked.Stale > 0 {
		return blankLookups(tx, []string{decision})
	}
	return dropFiles(tx, decision)
}
