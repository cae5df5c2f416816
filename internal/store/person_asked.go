package store

import (
	"gorm.io/gorm"
)

// proposals empties those that the person asked for, and withdraws them if they wait for a decision or their call. So
// it is with those of others that wait and name the person: a call is not changed that people have read. From all
// others only the name goes. What others decided stays.
func (e *eraser) proposals() error {
	match := where("asker = ? OR decided_by = ?", e.User, e.orderedBy()).or(e.mentioned("input", "output"))
	return eraseIn(e, "proposals", "id", match, func(tx *gorm.DB, rows []Proposal) (changed int, err error) {
		for _, p := range rows {
			theirs, waits := p.Asker == e.User, p.State == ProposalOpen || p.State == ProposalApproved
			update := map[string]any{"input": e.anonymous(p.Input), "output": e.anonymous(p.Output)}
			if theirs {
				update["asker"] = ""
			}
			if p.DecidedBy == e.orderedBy() {
				update["decided_by"] = orderedByNobody
			}
			if theirs || waits && e.names(p.Input) {
				update["input"], update["output"] = noInput, ""
				if waits {
					update["state"], update["ended_us"] = ProposalWithdrawn, e.nowMicros()
					e.metrics.end(ProposalWithdrawn, 1)
				}
			}
			if p.State == ProposalBegun && update["input"] != p.Input {
				// it is not repeated otherwise than people have read it
				update["idempotent"] = false
			}
			if err := tx.Model(&Proposal{}).Where("id = ?", p.ID).Updates(update).Error; err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	})
}

func (e *eraser) changes() error {
	return sweep[changeRow, int64](e.sweeper, "changes", condition{}, "id",
		where("stored_us <= ? AND (author = ? OR ordered_by = ?)", e.until, e.User, e.orderedBy()),
		func(tx *gorm.DB, rows []changeRow) (int, error) {
			for _, r := range rows {
				update := map[string]any{}
				if r.Author == e.User {
					update["author"] = ""
				}
				if r.OrderedBy == e.orderedBy() {
					update["ordered_by"] = orderedByNobody
				}
				if err := tx.Model(&changeRow{}).Where("id = ?", r.ID).Updates(update).Error; err != nil {
					return 0, err
				}
			}
			return len(rows), nil
		})
}

func (e *eraser) orders() error {
	return sweep[orderRow, string](e.sweeper, "orders", condition{}, "id", where("ordered_by = ? AND ordered_us <= ?",
		e.orderedBy(), e.until), func(tx *gorm.DB, rows []orderRow) (int, error) {
		ids := mapRows(rows, func(r orderRow) string { return r.ID })
		return len(rows), tx.Model(&orderRow{}).Where("id IN ?", ids).Update("ordered_by", orderedByNobody).Error
	})
}

// memories takes names out of the memories that are left: what they were made from may be gone.
func (e *eraser) memories() error {
	ordered := where("ordered_by = ? OR forgotten_by = ?", e.orderedBy(), e.orderedBy())
	match := where("team_id = ?", e.Team).and(ordered.or(e.mentioned("text")))
	return sweep[memoryRow, int64](e.sweeper, "memories", condition{}, "id", match,
		func(tx *gorm.DB, rows []memoryRow) (int, error) {
			for _, r := range rows {
				update := map[string]any{"text": e.anonymous(r.Text)}
				if r.OrderedBy == e.orderedBy() {
					update["ordered_by"] = orderedByNobody
				}
				if r.ForgottenBy == e.orderedBy() {
					update["forgotten_by"] = orderedByNobody
				}
				if err := tx.Model(&memoryRow{}).Where("id = ?", r.ID).Updates(update).Error; err != nil {
					return 0, err
				}
			}
			return len(rows), nil
		})
}

// notes deletes the notes that the person asked for, and takes the person out of the others.
func (e *eraser) notes() error {
	match := where("team_id = ?", e.Team).and(where("author = ?", e.User).or(e.mentioned("text")))
	return sweep[noteRow, int64](e.sweeper, "notes", condition{}, "id", match,
		func(tx *gorm.DB, rows []noteRow) (int, error) {
			for _, r := range rows {
				change := tx.Model(&noteRow{}).Where("id = ?", r.ID)
				if r.Author == e.User {
					change = change.Delete(&noteRow{})
				} else {
					change = change.Update("text", e.anonymous(r.Text))
				}
				if change.Error != nil {
					return 0, change.Error
				}
			}
			return len(rows), nil
		})
}

// promises deletes the promises that the person asked for, and takes the person out of the others. A
// conversation finds one gone when it is due. They come before changes, since one that is late makes a
// change that names whoever asked.
func (e *eraser) promises() error {
	theirs := where("asker = ? OR ended_by = ?", e.User, e.orderedBy())
	match := where("team_id = ?", e.Team).and(theirs.or(e.mentioned("what", "unless")))
	return sweep[Promise, string](e.sweeper, "promises", condition{}, "id", match,
		func(tx *gorm.DB, rows []Promise) (int, error) {
			for _, r := range rows {
				change := tx.Model(&Promise{}).Where("id = ?", r.ID)
				if r.Asker == e.User {
					change = change.Delete(&Promise{})
				} else {
					update := map[string]any{"what": e.anonymous(r.What), "unless": e.anonymous(r.Unless)}
					if r.EndedBy == e.orderedBy() {
						update["ended_by"] = orderedByNobody
					}
					change = change.Updates(update)
				}
				if change.Error != nil {
					return 0, change.Error
				}
			}
			return len(rows), nil
		})
}

// feedback deletes the person's votes, and takes their name out of what others gave as reasons.
func (e *eraser) feedback() error {
	match := where("team_id = ? AND voted_us <= ?", e.Team, e.until).
		and(where("user_id = ?", e.User).or(e.mentioned("reason")))
	return sweep[Vote, int64](e.sweeper, "feedback", condition{}, "id", match,
		func(tx *gorm.DB, rows []Vote) (int, error) {
			for _, r := range rows {
				change := tx.Model(&Vote{}).Where("id = ?", r.ID)
				if r.UserID == e.User {
					change = change.Delete(&Vote{})
				} else {
					change = change.Update("reason", e.anonymous(r.Reason))
				}
				if change.Error != nil {
					return 0, change.Error
				}
			}
			return len(rows), nil
		})
}
