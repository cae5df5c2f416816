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
	x := exporter{sweeper: s.sweeper(ctx, step), theirs: map[[2]string]bool{}, decided: map[string]int{}}
	x.PersonExport = PersonExport{
		Team: p.Team, User: p.User, Messages: []ExportedMessage{}, Reactions: []ExportedReaction{}, Orders: []Order{},
		Decisions: []ExportedDecision{}, Replies: []ExportedReply{}, Steps: []ExportedStep{}, Promises: []Promise{},
		Memories: []Memory{}, Notes: []ExportedNote{}, Feedback: []ExportedVote{},
	}
	err := x.person()
	for _, h := range holdings {
		if err == nil && h.export != nil {
			err = h.export(&x, h)
		}
	}
	if err != nil {
		return PersonExport{}, fmt.Errorf("export a person: %w", err)
	}
	return x.PersonExport, nil
}

type exporter struct {
	sweeper
	PersonExport
	theirs  map[[2]string]bool   // their messages, by channel and ts
	decided map[string]int       // their decisions' places in Decisions, by key
	wrote   map[string]time.Time // since when, by channel (wroteSince)
}

// read is sweep without a change.
func read[R any](x *exporter, p part, match condition, add func(R)) error {
	return sweep(x.sweeper, p, match, func(_ *gorm.DB, rows []R) (int, error) {
		for _, r := range rows {
			add(r)
		}
		return 0, nil
	})
}

func (x *exporter) person() error {
	var names []userRow
	if err := x.db.Where("team_id = ? AND user_id = ?", x.Team, x.User).Find(&names).Error; err != nil {
		return err
	}
	var outside []outsiderRow
	if err := x.db.Where("team_id = ? AND user_id = ?", x.Team, x.User).Order("channel_id").Find(&outside).
		Error; err != nil {
		return err
	}
	var err error
	if x.Forgotten, err = x.sweeper.Forgotten(x.ctx, chat.Person{Team: x.Team, User: x.User}); err != nil {
		return err
	}
	if x.wrote, err = wroteSince(x.db, chat.Person{Team: x.Team, User: x.User}); err != nil {
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

func (x *exporter) messages(h holding) error {
	return x.inChannels(h, x.Team, func(p part) error {
		return read(x, p, h.ofPerson(x.User), func(r messageRow) {
			m := r.message()
			x.theirs[[2]string{r.ChannelID, r.TS}] = true
			x.Messages = append(x.Messages, ExportedMessage{m.Channel, m.TS, m.ThreadTS, instant(r.SentUS), m.Text,
				m.Files, m.Revision, m.Deleted})
		})
	})
}

func (x *exporter) reactions(h holding) error {
	return x.inChannels(h, x.Team, func(p part) error {
		return read(x, p, h.ofPerson(x.User), func(r reactionRow) {
			x.Reactions = append(x.Reactions, ExportedReaction{r.ChannelID, r.TS, r.Name, instantOrZero(r.AddedUS),
				r.RemovedUS >= r.AddedUS})
		})
	})
}

func (x *exporter) orders(h holding) error {
	return read(x, h.whole(), h.ofPerson(x.User).and(ofTeam(x.Team)), func(r orderRow) {
		x.Orders = append(x.Orders, r.order())
	})
}

func (x *exporter) settings(h holding) error {
	return read(x, h.whole(), h.ofPerson(x.User).and(ofTeam(x.Team)), func(r settingRow) {
		x.Settings = append(x.Settings, ExportedSetting{r.ChannelID, r.Setting, r.Value, r.IsSet, instant(r.SetUS)})
	})
}

func (x *exporter) decisions(h holding) error {
	return read(x, h.whole(), whereNamed(inConversation, map[string]any{"team": x.Team}), func(d Decision) {
		if x.theirs[d.about()] {
			x.decided[d.Key] = len(x.Decisions)
			x.Decisions = append(x.Decisions, ExportedDecision{
				d.WorkflowID, d.TriggerTS, d.Source, d.Rule, d.ShouldRespond, d.Reason, d.Gist, d.Confidence,
				string(d.Outcome), instant(d.DecidedUS), nil,
			})
		}
	})
}

func (x *exporter) opinions(h holding) error {
	return read(x, h.whole(), ofTeam(x.Team), func(o Opinion) {
		if i, theirs := x.decided[o.Decision]; theirs {
			x.Decisions[i].Opinions = append(x.Decisions[i].Opinions, ExportedOpinion{o.Judge, o.ShouldRespond,
				o.Reason, o.Confidence, instant(o.GivenUS)})
		}
	})
}

func (x *exporter) snapshots(h holding) error {
	var broken error
	err := read(x, h.whole(), ofTeam(x.Team), func(r snapshotRow) {
		var messages map[string]string
		broken = errors.Join(broken, json.Unmarshal([]byte(r.Messages), &messages))
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

func (x *exporter) replies(h holding) error {
	return read(x, h.whole(), ofTeam(x.Team), func(r outboxRow) {
		if x.theirs[r.asked()] {
			x.Replies = append(x.Replies, ExportedReply{r.ChannelID, r.ThreadTS, r.TriggerTS, r.SentTS, string(r.State),
				r.Text})
		}
	})
}

func (x *exporter) steps(h holding) error {
	at := map[string]int{} // in Steps, by id
	if err := read(x, h.whole(), ofTeam(x.Team), func(st Step) {
		if x.theirs[[2]string{st.ChannelID, st.TriggerTS}] {
			at[st.ID] = len(x.Steps)
			x.Steps = append(x.Steps, ExportedStep{st.ChannelID, st.ThreadTS, st.TriggerTS, st.Tool, st.Input,
				instant(st.StoredUS), nil})
		}
	}); err != nil {
		return err
	}
	for ids := range slices.Chunk(slices.Collect(maps.Keys(at)), sweepChunk) {
		var files []struct {
			StepID string
			ExportedFile
		}
		if err := x.db.Table("step_files").Select("step_id, name, mime, LENGTH(data) AS size").
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

func (x *exporter) proposals(h holding) error {
	return read(x, h.whole(), ofTeam(x.Team), func(p Proposal) {
		if x.theirs[[2]string{p.ChannelID, p.TriggerTS}] || p.DecidedBy == orderedByUser(x.User) {
			p.Asker = x.own(p.Asker)
			x.Proposals = append(x.Proposals, p)
		}
	})
}

func (x *exporter) promises(h holding) error {
	return read(x, h.whole(), h.ofPerson(x.User).and(ofTeam(x.Team)), func(p Promise) {
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
func (x *exporter) memories(h holding) error {
	made := map[string]bool{}       // the memories that were found, by Source
	goesOn := map[chat.Scope]bool{} // scopes of those whose text the next version is made from
	return read(x, h.whole(), where("version > 0 AND text <> ''").and(ofTeam(x.Team)), func(r memoryRow) {
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

func (x *exporter) notes(h holding) error {
	return read(x, h.whole(), h.ofPerson(x.User).and(ofTeam(x.Team)), func(r noteRow) {
		x.Notes = append(x.Notes, ExportedNote{r.ChannelID, r.note()})
	})
}

func (x *exporter) feedback(h holding) error {
	match := h.ofPerson(x.User).and(ofTeam(x.Team))
	return sweep(x.sweeper, h.whole(), match, func(tx *gorm.DB, votes []Vote) (int, error) {
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

func (x *exporter) installations(h holding) error {
	match := h.ofPerson(x.User).and(whereNamed(h.reach, map[string]any{"team": x.Team}))
	return read(x, h.whole(), match, func(r installationRow) {
		x.Installations = append(x.Installations, ExportedInstallation{r.ID, r.Name, instant(r.InstalledUS)})
	})
}
