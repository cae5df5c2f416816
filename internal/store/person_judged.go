package store

import (
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// blankDecisions takes away what models have said of decisions.
func blankDecisions(tx *gorm.DB, keys ...string) error {
	if err := tx.Model(&Opinion{}).Where("decision IN ?", keys).Update("reason", aboutForgotten).Error; err != nil {
		return err
	}
	return tx.Model(&Decision{}).Where("key IN ?", keys).Updates(map[string]any{"reason": aboutForgotten, "gist": ""}).
		Error
}

// snapshots deletes all of them: any may hold something of the person. They come first, since an opinion is
// only saved with its snapshot.
func (e *eraser) snapshots() error {
	return remove[string](e.sweeper, "snapshots", condition{}, "decision", where("team_id = ?", e.Team))
}

// opinions takes away the reasons that name the person.
func (e *eraser) opinions() error {
	match := where("team_id = ?", e.Team).and(e.mentioned("reason"))
	return sweep[Opinion, int64](e.sweeper, "opinions", condition{}, "id", match,
		func(tx *gorm.DB, rows []Opinion) (changed int, err error) {
			for _, o := range rows {
				if !e.names(o.Reason) {
					continue
				}
				changed++
				if err := tx.Model(&Opinion{}).Where("id = ?", o.ID).Update("reason", aboutForgotten).
					Error; err != nil {
					return 0, err
				}
			}
			return changed, nil
		})
}

// blankReplies empties replies in the outbox, and the bot's own messages that they became.
func (s *Store) blankReplies(tx *gorm.DB, rows []outboxRow) error {
	for _, r := range rows {
		if err := tx.Model(&outboxRow{}).Where("key = ?", r.Key).Update("text", "").Error; err != nil {
			return err
		}
		if r.SentTS == "" {
			continue
		}
		if err := s.blank(tx, chat.Conversation{Team: r.TeamID, Channel: r.ChannelID}, []string{r.SentTS}); err != nil {
			return err
		}
	}
	return nil
}

// aboutForgottenMessages is which of some triggers, as channel and ts, were messages of a forgotten
// person.
func (e *eraser) aboutForgottenMessages(tx *gorm.DB, triggers map[string][]string) (map[[2]string]bool, error) {
	found := map[[2]string]bool{}
	for _, channel := range slices.Sorted(maps.Keys(triggers)) {
		var ts []string
		if err := tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts IN ? AND "+isForgotten, e.Team,
			channel, triggers[channel]).
			Pluck("ts", &ts).Error; err != nil {
			return nil, err
		}
		for _, one := range ts {
			found[[2]string{channel, one}] = true
		}
	}
	return found, nil
}

func (e *eraser) decisions() error {
	match := where("reason <> ? AND reason <> '' OR gist <> '' OR outcome_by = ?", aboutForgotten, e.orderedBy())
	return sweep[Decision, string](e.sweeper, "decisions", condition{}, "key", match,
		func(tx *gorm.DB, rows []Decision) (changed int, err error) {
			triggers := map[string][]string{}
			channel := func(d Decision) string {
				c, err := chat.ParseConversation(d.WorkflowID)
				if err != nil || c.Team != e.Team {
					return ""
				}
				return c.Channel
			}
			for _, d := range rows {
				triggers[channel(d)] = append(triggers[channel(d)], d.TriggerTS)
			}
			forgotten, err := e.aboutForgottenMessages(tx, triggers)
			if err != nil {
				return 0, err
			}
			for _, d := range rows {
				if d.OutcomeBy == e.orderedBy() {
					changed++
					if err := tx.Model(&Decision{}).Where("key = ?", d.Key).Update("outcome_by", orderedByNobody).
						Error; err != nil {
						return 0, err
					}
				}
				if forgotten[[2]string{channel(d), d.TriggerTS}] || e.names(d.Reason+"\n"+d.Gist) {
					changed++
					if err := blankDecisions(tx, d.Key); err != nil {
						return 0, err
					}
				}
			}
			return changed, nil
		})
}

func (e *eraser) outbox() error {
	return sweep[outboxRow, string](e.sweeper, "outbox", condition{}, "key",
		where("team_id = ? AND text <> ''", e.Team), func(tx *gorm.DB, rows []outboxRow) (changed int, err error) {
			triggers := map[string][]string{}
			for _, r := range rows {
				triggers[r.asked()[0]] = append(triggers[r.asked()[0]], r.TriggerTS)
			}
			forgotten, err := e.aboutForgottenMessages(tx, triggers)
			if err != nil {
				return 0, err
			}
			for _, r := range rows {
				answers, names := forgotten[r.asked()], e.names(r.Text)
				switch {
				case answers || names && r.State != Composed && r.State != Sending:
					err = e.blankReplies(tx, []outboxRow{r})
				case names: // somebody else waits for it
					err = tx.Model(&outboxRow{}).Where("key = ?", r.Key).Update("text", e.anonymous(r.Text)).Error
				default:
					continue
				}
				if err != nil {
					return 0, err
				}
				changed++
			}
			return changed, nil
		})
}

// lookups empties what was looked up for replies in a channel since the person wrote there: any of it may quote them.
func (e *eraser) lookups(c chat.Conversation, since time.Time) error {
	within := where("team_id = ? AND channel_id = ?", c.Team, c.Channel)
	match := where("stored_us >= ? AND stored_us <= ? AND (input <> ? OR output <> '')", micros(since), e.until,
		noInput)
	return sweep[Step, string](e.sweeper, "steps", within, "id", match, func(tx *gorm.DB, rows []Step) (int, error) {
		return len(rows), e.blankSteps(tx, rows)
	})
}

// steps empties what was looked up for other replies, where it names the person.
func (e *eraser) steps() error {
	if err := eraseIn(e, "steps", "id", e.mentioned("input", "output"), func(tx *gorm.DB, rows []Step) (int, error) {
		named := slices.DeleteFunc(rows, func(st Step) bool { return !e.names(st.Input + "\n" + st.Output) })
		return len(named), e.blankSteps(tx, named)
	}); err != nil {
		return err
	}
	return eraseIn(e, "turns", "decision", e.mentioned("text", "opaque"), func(tx *gorm.DB, rows []Turn) (int, error) {
		var named []Step
		for _, t := range rows {
			if e.names(t.Text + "\n" + t.Opaque) {
				named = append(named, Step{Decision: t.Decision, StoredUS: t.MadeUS})
			}
		}
		return len(named), e.blankSteps(tx, named)
	})
}
