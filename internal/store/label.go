package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/language/phrases"
)

// Label is what one kind of evidence, or a person, says of a decision.
type Label struct {
	ID        int64       `gorm:"primaryKey" json:"-"`
	TeamID    string      `json:"-"`
	ChannelID string      `json:"-"`
	Decision  string      `json:"-"` // key
	Kind      label.Kind  `json:"kind"`
	Truth     label.Truth `json:"truth"`
	Weight    float64     `json:"weight"`
	// TS is the message that shows it; empty if none does.
	TS   string `json:"ts,omitempty"`
	AtUS int64  `gorm:"column:at_us" json:"-"` // of the evidence
	// LabelledBy is cli:NAME for a person's label, and empty for hindsight's.
	LabelledBy string `json:"by,omitempty"`
	LabelledUS int64  `gorm:"column:labelled_us" json:"-"`
}

// TableName implements gorm's schema.Tabler.
func (Label) TableName() string { return "labels" }

// At is when the evidence was given.
func (l Label) At() time.Time { return instant(l.AtUS) }

// hindsightRow says up to which decision hindsight has come. There is one.
type hindsightRow struct {
	ID        int `gorm:"primaryKey"`
	DecidedUS int64
	Decision  string
}

func (hindsightRow) TableName() string { return "hindsight" }

// unlabelledRules are those by which people or their settings wanted silence, whatever was said.
var unlabelledRules = []conversation.Rule{
	conversation.RuleModeOff, conversation.RuleModeMention, conversation.RuleSilenced, conversation.RuleQuietHours,
	conversation.RuleStopped,
	conversation.RuleOverBudget, conversation.RuleNothingLeft,
}

// Unlabelled is the next judgments that hindsight has not looked at, the oldest first, at most limit: those
// made before a time, by the model or by a rule that says something about the talk.
func (s *Store) Unlabelled(ctx context.Context, before time.Time, limit int) ([]Decision, error) {
	var at hindsightRow
	var rows []Decision
	err := s.db.WithContext(ctx).Take(&at, 1).Error
	if err == nil {
		err = s.db.WithContext(ctx).Where("key <> '' AND decided_us >= ? AND decided_us < ? AND (decided_us > ? OR "+
			"key > ?)", at.DecidedUS, micros(before), at.DecidedUS, at.Decision).
			Where("source IN ('judgment', 'rule') AND outcome <> 'pending' AND rule NOT IN ?", unlabelledRules).
			Order("decided_us, key").Limit(limit).Find(&rows).Error
	}
	if err != nil {
		return nil, fmt.Errorf("read decisions without labels: %w", err)
	}
	return rows, nil
}

// maxFollowing bounds how many messages, reactions and orders after a decision are read.
const maxFollowing = 50

// Followed is a judgment and what followed it, as hindsight needs them, in order of time. bot is the bot's user id.
func (s *Store) Followed(
	ctx context.Context, d Decision, bot string,
) (of label.Decision, events []label.Event, err error) {
	c, err := chat.ParseConversation(d.WorkflowID)
	if err != nil {
		return of, nil, err
	}
	from, to := d.DecidedUS, d.DecidedUS+label.Window.Microseconds()
	var triggers, said []messageRow
	var parts []outboxRow
	var orders []orderRow
	own := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ?", c.Team, c.Channel).Session(&gorm.Session{})
	for _, err := range []error{
		own.Where("ts = ?", d.TriggerTS).Find(&triggers).Error,
		own.Where("thread_ts IN ? AND sent_us > ? AND sent_us <= ? AND NOT deleted AND NOT own",
			[]string{c.Thread, threadUnder(c, d.TriggerTS)}, from, to).
			Order("sent_us").Limit(maxFollowing).Find(&said).Error,
		own.Where("trigger_ts = ? AND decision = ? AND sent_ts <> ''", d.TriggerTS, d.Key).Find(&parts).Error,
		own.Where("ordered_us > ? AND ordered_us <= ? AND (kind = ? AND thread_ts = ? OR kind IN ? AND thread_ts IN ?)",
			from, to, conversation.UpdateAnswerNow, c.Thread,
			[]string{conversation.UpdateMute, conversation.UpdateSnooze}, []string{c.Thread, ""}).Order("ordered_us").
			Limit(maxFollowing).Find(&orders).Error,
	} {
		if err != nil {
			return of, nil, fmt.Errorf("read what followed decision %s: %w", d.Key, err)
		}
	}
	trigger := first(triggers)
	of = label.Decision{
		At: d.Decided(), Asker: trigger.UserID, Trigger: d.TriggerTS, Question: d.asked(trigger), Outcome: d.Outcome,
		By:      d.OutcomeBy,
		Delayed: d.ShouldRespond && d.DelaySeconds != nil && *d.DelaySeconds > 0,
	}
	sent := []string{d.TriggerTS}
	for _, p := range parts {
		sent = append(sent, p.SentTS)
		if at := chat.Time(p.SentTS); p.Reaction == "" && (of.Posted.IsZero() || at.Before(of.Posted)) {
			of.Posted = at
		}
	}
	for _, m := range said {
		by := m.UserID
		if m.BotID != "" {
			by = ""
		}
		events = append(events, label.Event{
			At: instant(m.SentUS), What: label.Said, By: by, TS: m.TS, Mention: chat.Mentions(m.Text, bot),
			Thanks: phrases.Acknowledges(m.Text, nil),
		})
	}
	for _, o := range orders {
		events = append(events, label.Event{At: instant(o.OrderedUS), What: label.Ordered, Name: o.Kind})
	}
	if d.Outcome == conversation.Retracted && d.SettledUS != nil {
		events = append(events, label.Event{At: instant(*d.SettledUS), What: label.Ordered, Name: string(d.Outcome),
			ToReply: true})
	}
	reacted, err := s.reactedTo(ctx, c, d, sent)
	if err != nil {
		return of, nil, err
	}
	votes, err := s.Feedback(ctx, []string{d.Key})
	if err != nil {
		return of, nil, err
	}
	for _, v := range votes {
		events = append(events, label.Event{At: instant(v.VotedUS), What: label.Voted, By: v.UserID, Name: v.Value,
			ToReply: true})
	}
	events = append(events, reacted...)
	slices.SortStableFunc(events, func(a, b label.Event) int { return a.At.Compare(b.At) })
	return of, events, nil
}

// threadUnder is the thread under a top-level message; that of the conversation elsewhere.
func threadUnder(c chat.Conversation, ts string) string {
	if c.TopLevel() {
		return ts
	}
	return c.Thread
}

// asked reports whether the judged messages ask something.
func (d Decision) asked(trigger messageRow) bool {
	var s conversation.Features
	if json.Unmarshal([]byte(d.Signals), &s) == nil {
		return s.Question
	}
	return chat.AsksQuestion(trigger.Text)
}

// reactedTo is the reactions after a decision to its trigger and to the messages of its reply.
func (s *Store) reactedTo(ctx context.Context, c chat.Conversation, d Decision, ts []string) ([]label.Event, error) {
	var rows []reactionRow
	if err := s.db.WithContext(ctx).
		Where("team_id = ? AND channel_id = ? AND ts IN ? AND added_us > ? AND added_us > removed_us", c.Team,
			c.Channel, ts, d.DecidedUS).
		Order("added_us").Limit(maxFollowing).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read reactions after decision %s: %w", d.Key, err)
	}
	return mapRows(rows, func(r reactionRow) label.Event {
		name, _, _ := strings.Cut(r.Name, "::")
		return label.Event{At: instant(r.AddedUS), What: label.Reacted, By: r.UserID, TS: r.TS, Name: name,
			ToReply: r.TS != d.TriggerTS}
	}), nil
}

// SaveHindsight saves labels that hindsight gives to decisions, and that it has come up to one of them. Labels
// that are there already stay.
func (s *Store) SaveHindsight(ctx context.Context, upTo Decision, labels []Label) error {
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		for i := range labels {
			labels[i].LabelledUS = s.nowMicros()
		}
		if len(labels) > 0 {
			if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&labels).Error; err != nil {
				return err
			}
		}
		return tx.Model(&hindsightRow{}).Where("id = 1 AND (decided_us < ? OR decided_us = ? AND decision < ?)",
			upTo.DecidedUS, upTo.DecidedUS, upTo.Key).
			Updates(map[string]any{"decided_us": upTo.DecidedUS, "decision": upTo.Key}).Error
	})
	if err != nil {
		return fmt.Errorf("save labels up to decision %s: %w", upTo.Key, err)
	}
	return nil
}

// SaveLabel saves what a person says of a decision. Their newer answer replaces an older one.
func (s *Store) SaveLabel(ctx context.Context, l Label) error {
	l.Kind, l.Weight, l.LabelledUS = label.Human, 1, s.nowMicros()
	l.AtUS = l.LabelledUS
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "decision"}, {Name: "kind"}},
		DoUpdates: clause.AssignmentColumns([]string{"truth", "at_us", "labelled_by", "labelled_us"}),
	}).Create(&l).Error; err != nil {
		return fmt.Errorf("save the label of decision %s: %w", l.Decision, err)
	}
	return nil
}

// LabelsOf is the labels of some decisions, by their keys, the weightiest of each first.
func (s *Store) LabelsOf(ctx context.Context, decisions []string) ([]Label, error) {
	if len(decisions) == 0 {
		return nil, nil
	}
	var rows []Label
	if err := s.db.WithContext(ctx).Where("decision IN ?", decisions).Order("decision, weight DESC, at_us").Find(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	return rows, nil
}

// LabelFilter selects labelled decisions. Zero values select everything.
type LabelFilter struct {
	Team, Channel string
	Since         time.Time // decided since then
	// Scored restricts to decisions in which the model gave a verdict.
	Scored bool
	// Unlabelled also selects decisions without labels, which hindsight has looked at.
	Unlabelled bool
	Limit      int // the newest; 0 for all
}

// Judged is a decision with its labels.
type Judged struct {
	Decision
	Labels []Label
}

// LabelledDecisions is the judgments that a filter selects, with their labels, the newest first.
func (s *Store) LabelledDecisions(ctx context.Context, f LabelFilter) ([]Judged, error) {
	query := f.within().apply(s.db.WithContext(ctx).Model(&Decision{})).
		Where("source IN ('judgment', 'rule') AND decided_us >= ?", microsOrZero(f.Since))
	if f.Scored {
		query = query.Where("confidence IS NOT NULL")
	}
	if !f.Unlabelled {
		query = query.Where("EXISTS (SELECT 1 FROM labels l WHERE l.decision = decisions.key)")
	}
	if f.Limit > 0 {
		query = query.Limit(f.Limit)
	}
	var rows []Decision
	if err := query.Order("decided_us DESC, key DESC").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read labelled decisions: %w", err)
	}
	out := make([]Judged, len(rows))
	at := map[string]int{}
	for i, d := range rows {
		out[i].Decision, at[d.Key] = d, i
	}
	for chunk := range slices.Chunk(rows, 500) {
		labels, err := s.LabelsOf(ctx, mapRows(chunk, func(d Decision) string { return d.Key }))
		if err != nil {
			return nil, err
		}
		for _, l := range labels {
			out[at[l.Decision]].Labels = append(out[at[l.Decision]].Labels, l)
		}
	}
	return out, nil
}

// within is the condition on the workflow ids that the filter selects.
func (f LabelFilter) within() condition {
	if f.Channel != "" {
		top := chat.Conversation{Team: f.Team, Channel: f.Channel}
		threads := threadsOf(top)
		return where("workflow_id = ? OR "+threads.sql, append([]any{top.ID()}, threads.args...)...)
	}
	channels, threads := below("workflow_id", "channel/"+f.Team), below("workflow_id", "thread/"+f.Team)
	return where(channels.sql+" OR "+threads.sql, append(channels.args, threads.args...)...)
}
