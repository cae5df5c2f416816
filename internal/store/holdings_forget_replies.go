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

// naming is the condition that a row of the workspace may name the person in a text.
func (e *eraser) naming(h holding) condition { return e.mentioned(h.texts...).and(ofTeam(e.Team)) }

// snapshots deletes all of them: any may hold something of the person. They come before opinions, since one is only
// saved with its snapshot.
func (e *eraser) snapshots(h holding) error { return e.remove(h.whole(), ofTeam(e.Team)) }

// proposals empties those that the person asked for, and withdraws them if they wait for a decision or their call. So
// it is with those of others that wait and name the person: a call is not changed that people have read. From all
// others only the name goes. What others decided stays.
func (e *eraser) proposals(h holding) error {
	match := h.ofPerson(e.User).or(e.mentioned(h.texts...)).and(ofTeam(e.Team))
	return sweep(e.sweeper, h.whole(), match, func(tx *gorm.DB, rows []map[string]any) (changed int, err error) {
		for _, r := range rows {
			update, state := e.without(h, r), ProposalState(r["state"].(string))
			waits := state == ProposalOpen || state == ProposalApproved
			if r["asker"] == e.User || waits && update["input"] != r["input"] {
				update["input"], update["output"] = noInput, ""
				if waits {
					update["state"], update["ended_us"] = ProposalWithdrawn, e.nowMicros()
					e.metrics.end(ProposalWithdrawn, 1)
				}
			}
			if state == ProposalBegun && update["input"] != r["input"] {
				// it is not repeated otherwise than people have read it
				update["idempotent"] = false
			}
			if err := tx.Table(h.table).Where("id = ?", r["id"]).Updates(update).Error; err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	})
}

// opinions takes away the reasons that name the person.
func (e *eraser) opinions(h holding) error {
	return sweep(e.sweeper, h.whole(), e.naming(h),
		func(tx *gorm.DB, rows []Opinion) (changed int, err error) {
			named := slices.DeleteFunc(rows, func(o Opinion) bool { return !e.names(o.Reason) })
			ids := mapRows(named, func(o Opinion) int64 { return o.ID })
			return len(ids), tx.Model(&Opinion{}).Where("id IN ?", ids).Update("reason", aboutForgotten).Error
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

// aboutForgottenMessages is which of some triggers, as channel and ts, were messages of a forgotten person.
func (e *eraser) aboutForgottenMessages(tx *gorm.DB, triggers [][2]string) (map[[2]string]bool, error) {
	asked := map[string][]string{} // ts by channel
	for _, t := range triggers {
		asked[t[0]] = append(asked[t[0]], t[1])
	}
	found := map[[2]string]bool{}
	for _, channel := range slices.Sorted(maps.Keys(asked)) {
		var ts []string
		if err := tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts IN ? AND "+isForgotten, e.Team,
			channel, asked[channel]).Pluck("ts", &ts).Error; err != nil {
			return nil, err
		}
		for _, one := range ts {
			found[[2]string{channel, one}] = true
		}
	}
	return found, nil
}

// about is the channel and ts of the message that a decision is about.
func (d Decision) about() [2]string {
	c, _ := chat.ParseConversation(d.WorkflowID)
	return [2]string{c.Channel, d.TriggerTS}
}

func (e *eraser) decisions(h holding) error {
	match := where("reason <> ? AND reason <> '' OR gist <> '' OR outcome_by = ?", aboutForgotten, e.orderedBy()).
		and(whereNamed(inConversation, map[string]any{"team": e.Team}))
	return sweep(e.sweeper, h.whole(), match, func(tx *gorm.DB, rows []Decision) (changed int, err error) {
		forgotten, err := e.aboutForgottenMessages(tx, mapRows(rows, Decision.about))
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
			if forgotten[d.about()] || e.names(d.Reason+"\n"+d.Gist) {
				changed++
				if err := blankDecisions(tx, d.Key); err != nil {
					return 0, err
				}
			}
		}
		return changed, nil
	})
}

func (e *eraser) outbox(h holding) error {
	match := where("text <> ''").and(ofTeam(e.Team))
	return sweep(e.sweeper, h.whole(), match, func(tx *gorm.DB, rows []outboxRow) (changed int, err error) {
		forgotten, err := e.aboutForgottenMessages(tx, mapRows(rows, outboxRow.asked))
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
	steps := part{table: "steps", by: along{"id", ""},
		within: where("team_id = ? AND channel_id = ?", c.Team, c.Channel)}
	match := where("stored_us >= ? AND stored_us <= ? AND (input <> ? OR output <> '')", micros(since), e.until,
		noInput)
	return sweep(e.sweeper, steps, match, func(tx *gorm.DB, rows []Step) (int, error) {
		return len(rows), e.blankSteps(tx, rows)
	})
}

// steps empties what was looked up for other replies, where it names the person.
func (e *eraser) steps(h holding) error {
	return sweep(e.sweeper, h.whole(), e.naming(h), func(tx *gorm.DB, rows []Step) (int, error) {
		named := slices.DeleteFunc(rows, func(st Step) bool { return !e.names(st.Input + "\n" + st.Output) })
		return len(named), e.blankSteps(tx, named)
	})
}

func (e *eraser) turns(h holding) error {
	return sweep(e.sweeper, h.whole(), e.naming(h), func(tx *gorm.DB, rows []Turn) (int, error) {
		named := slices.DeleteFunc(rows, func(t Turn) bool { return !e.names(t.Text + "\n" + t.Opaque) })
		return len(named), e.blankSteps(tx, mapRows(named, func(t Turn) Step {
			return Step{Decision: t.Decision, StoredUS: t.MadeUS}
		}))
	})
}
