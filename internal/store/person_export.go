package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// ExportPerson reads everything that the database holds of a person, in small steps.
func (s *Store) ExportPerson(ctx context.Context, p chat.Person, step SweepStep) (PersonExport, error) {
	x := exporter{sweeper: sweeper{s, ctx, step}, theirs: map[[2]string]bool{}, PersonExport: PersonExport{
		Team: p.Team, User: p.User, Messages: []ExportedMessage{}, Reactions: []ExportedReaction{}, Orders: []Order{},
		Decisions: []ExportedDecision{}, Replies: []ExportedReply{}, Steps: []ExportedStep{}, Promises: []Promise{},
		Memories: []Memory{}, Notes: []ExportedNote{}, Feedback: []ExportedVote{},
	}}
	for _, do := range []func() error{x.person, x.messages, x.reactions, x.orders, x.decisions, x.snapshots, x.replies,
		x.steps, x.proposals, x.promises, x.memories, x.notes, x.feedback} {
		if err := do(); err != nil {
			return PersonExport{}, fmt.Errorf("export a person: %w", err)
		}
	}
	return x.PersonExport, nil
}

type exporter struct {
	sweeper
	PersonExport
	theirs map[[2]string]bool   // their messages, by channel and ts
	wrote  map[string]time.Time // since when, by channel (wroteSince)
}

// read is sweep without a change.
func read[R any, K int64 | string](x *exporter, table string, within condition, column string, match condition,
	add func(R)) error {
	return sweep[R, K](x.sweeper, table, within, column, match, func(_ *gorm.DB, rows []R) (int, error) {
		for _, r := range rows {
			add(r)
		}
		return 0, nil
	})
}

func (x *exporter) person() error {
	db := x.db.WithContext(x.ctx)
	var names []userRow
	if err := db.Where("team_id = ? AND user_id = ?", x.Team, x.User).Find(&names).Error; err != nil {
		return err
	}
	var outside []outsiderRow
	if err := db.Where("team_id = ? AND user_id = ?", x.Team, x.User).Order("channel_id").Find(&outside).
		Error; err != nil {
		return err
	}
	var err error
	if x.Forgotten, err = x.sweeper.Forgotten(x.ctx, chat.Person{Team: x.Team, User: x.User}); err != nil {
		return err
	}
	if x.wrote, err = wroteSince(db, chat.Person{Team: x.Team, User: x.User}); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(x.wrote)) {
		x.Wrote = append(x.Wrote, ExportedWriting{id, x.wrote[id]})
	}
	x.Name = first(names).Name
	x.Zone, x.Guest, x.Stranger = first(names).TimeZone, first(names).GuestUS > 0, first(names).Stranger
	x.Outside = mapRows(outside, func(r outsiderRow) ExportedPresence {
		return ExportedPresence{r.ChannelID, instantOrZero(r.SeenUS), instantOrZero(r.LeftUS)}
	})
	return nil
}

// eachChannel calls do for the part of a table that a channel has.
func (x *exporter) eachChannel(table string, do func(within condition) error) error {
	ids, err := x.channelsIn(table, x.Team)
	for _, id := range ids {
		if err == nil {
			err = do(where("team_id = ? AND channel_id = ?", x.Team, id))
		}
	}
	return err
}

func (x *exporter) messages() error {
	return x.eachChannel("messages", func(within condition) error {
		return read[messageRow, string](x, "messages", within, "ts", where("user_id = ?", x.User), func(r messageRow) {
			m := r.message()
			x.theirs[[2]string{r.ChannelID, r.TS}] = true
			x.Messages = append(x.Messages, ExportedMessage{m.Channel, m.TS, m.ThreadTS, instant(r.SentUS), m.Text,
				m.Files, m.Revision, m.Deleted})
		})
	})
}

func (x *exporter) reactions() error {
	return x.eachChannel("reactions", func(within condition) error {
		return read[reactionRow, string](x, "reactions", within, "ts", where("user_id = ?", x.User),
			func(r reactionRow) {
				x.Reactions = append(x.Reactions, ExportedReaction{r.ChannelID, r.TS, r.Name, instantOrZero(r.AddedUS),
					r.RemovedUS >= r.AddedUS})
			})
	})
}

func (x *exporter) orders() error {
	by := orderedByUser(x.User)
	return read[orderRow, string](x, "orders", condition{}, "id", where("team_id = ? AND ordered_by = ?", x.Team, by),
		func(r orderRow) {
			x.Orders = append(x.Orders, r.order())
		})
}

func (x *exporter) decisions() error {
	at := map[string]int{} // in Decisions, by key
	if err := read[Decision, string](x, "decisions", condition{}, "key", where("TRUE"), func(d Decision) {
		c, err := chat.ParseConversation(d.WorkflowID)
		if err == nil && c.Team == x.Team && x.theirs[[2]string{c.Channel, d.TriggerTS}] {
			at[d.Key] = len(x.Decisions)
			x.Decisions = append(x.Decisions, ExportedDecision{
				d.WorkflowID, d.TriggerTS, d.Source, d.Rule, d.ShouldRespond, d.Reason, d.Gist, d.Confidence,
				string(d.Outcome), instant(d.DecidedUS), nil,
			})
		}
	}); err != nil {
		return err
	}
	return read[Opinion, int64](x, "opinions", condition{}, "id", where("team_id = ?", x.Team), func(o Opinion) {
		if i, theirs := at[o.Decision]; theirs {
			x.Decisions[i].Opinions = append(x.Decisions[i].Opinions, ExportedOpinion{o.Judge, o.ShouldRespond,
				o.Reason, o.Confidence, instant(o.GivenUS)})
		}
	})
}

func (x *exporter) snapshots() error {
	var broken error
	err := read[snapshotRow, string](x, "snapshots", condition{}, "decision", where("team_id = ?", x.Team),
		func(r snapshotRow) {
			var messages map[string]string
			if err := json.Unmarshal([]byte(r.Messages), &messages); err != nil {
				broken = err
			}
			var theirs []string
			for _, ts := range slices.Sorted(maps.Keys(messages)) {
				if x.theirs[[2]string{r.ChannelID, ts}] {
					theirs = append(theirs, ts)
				}
			}
			if len(theirs) > 0 {
				x.Snapshots = append(x.Snapshots, ExportedSnapshot{r.ChannelID, theirs, instant(r.ReadUS)})
			}
		})
	return errors.Join(err, broken)
}

func (x *exporter) replies() error {
	return read[outboxRow, string](x, "outbox", condition{}, "key", where("team_id = ?", x.Team), func(r outboxRow) {
		if x.theirs[r.asked()] {
			x.Replies = append(x.Replies, ExportedReply{r.ChannelID, r.ThreadTS, r.TriggerTS, r.SentTS, string(r.State),
				r.Text})
		}
	})
}

func (x *exporter) steps() error {
	at := map[string]int{} // in Steps, by id
	if err := x.eachChannel("steps", func(within condition) error {
		return read[Step, string](x, "steps", within, "id", where("TRUE"), func(st Step) {
			if x.theirs[[2]string{st.ChannelID, st.TriggerTS}] {
				at[st.ID] = len(x.Steps)
				x.Steps = append(x.Steps, ExportedStep{st.ChannelID, st.ThreadTS, st.TriggerTS, st.Tool, st.Input,
					instant(st.StoredUS), nil})
			}
		})
	}); err != nil {
		return err
	}
	for ids := range slices.Chunk(slices.Collect(maps.Keys(at)), sweepChunk) {
		var files []struct {
			StepID string
			ExportedFile
		}
		if err := x.db.WithContext(x.ctx).Table("step_files").Select("step_id, name, mime, LENGTH(data) AS size").
			Where("step_id IN ?", ids).Order("step_id, position").Scan(&files).Error; err != nil {
			return err
		}
		for _, f := range files {
			st := &x.Steps[at[f.StepID]]
			st.Files = append(st.Files, f.ExportedFile)
		}
	}
	return nil
}

func (x *exporter) proposals() error {
	return x.eachChannel("proposals", func(within condition) error {
		return read[Proposal, string](x, "proposals", within, "id", where("TRUE"), func(p Proposal) {
			if x.theirs[[2]string{p.ChannelID, p.TriggerTS}] || p.DecidedBy == orderedByUser(x.User) {
				p.Asker = x.own(p.Asker)
				x.Proposals = append(x.Proposals, p)
			}
		})
	})
}

func (x *exporter) promises() error {
	match := where("team_id = ? AND (asker = ? OR ended_by = ?)", x.Team, x.User, orderedByUser(x.User))
	return read[Promise, string](x, "promises", condition{}, "id", match, func(p Promise) {
		p.Asker = x.own(p.Asker)
		x.Promises = append(x.Promises, p)
	})
}

// own leaves out who asked for what the person only decided about or ended.
func (x *exporter) own(asker string) string {
	if asker == x.User {
		return asker
	}
	return ""
}

// memories follows the sources. A memory is made after its sources, so that one pass in the order of
// their ids finds all.
func (x *exporter) memories() error {
	made := map[string]bool{}       // the memories that were found, by Source
	goesOn := map[chat.Scope]bool{} // scopes of those whose text the next version is made from
	return read[memoryRow, int64](x, "memories", condition{}, "id", where("team_id = ? AND version > 0 AND text <> ''",
		x.Team), func(r memoryRow) {
		m := r.memory()
		continues := m.Term == chat.LongTerm || r.ThreadTS != ""
		since, pruned := x.wrote[r.ChannelID]
		if !(continues && goesOn[m.Scope]) && !(pruned && !instant(r.MadeUS).Before(since)) &&
			!slices.ContainsFunc(m.Sources, func(source string) bool {
				return made[source] || r.ChannelID != "" && x.theirs[[2]string{r.ChannelID, source}]
			}) {
			return
		}
		goesOn[m.Scope] = goesOn[m.Scope] || continues
		made[Source(r.ChannelID, r.ID)] = true
		x.Memories = append(x.Memories, m)
	})
}

func (x *exporter) notes() error {
	return read[noteRow, int64](x, "notes", condition{}, "id", where("team_id = ? AND author = ?", x.Team, x.User),
		func(r noteRow) {
			x.Notes = append(x.Notes, ExportedNote{r.ChannelID, r.note()})
		})
}

func (x *exporter) feedback() error {
	return sweep[Vote, int64](x.sweeper, "feedback", condition{}, "id", where("team_id = ? AND user_id = ?", x.Team,
		x.User), func(tx *gorm.DB, votes []Vote) (int, error) {
		sent := map[string]string{} // ts by key
		var parts []outboxRow
		if err := tx.Where("key IN ?", mapRows(votes, func(v Vote) string { return v.Part })).Find(&parts).
			Error; err != nil {
			return 0, err
		}
		for _, p := range parts {
			sent[p.Key] = p.SentTS
		}
		for _, v := range votes {
			x.Feedback = append(x.Feedback, ExportedVote{v.ChannelID, sent[v.Part], v.Value, v.Reason,
				instant(v.VotedUS)})
		}
		return 0, nil
	})
}
