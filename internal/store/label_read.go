package store

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation/label"
)

// Evidence is the label as package label weighs it.
func (l Label) Evidence() label.Label {
	return label.Label{Kind: l.Kind, Truth: l.Truth, Weight: l.Weight, At: l.At(), TS: l.TS}
}

// Evidence is all labels of the decision.
func (j Judged) Evidence() []label.Label { return mapRows(j.Labels, Label.Evidence) }

// Verdict is that of the model, before any threshold; the decision must have one.
func (j Judged) Verdict() label.Verdict {
	return label.Verdict{Wanted: j.Wanted, Confidence: *j.Confidence}
}

// LabelCount is how many labels of a kind say the same.
type LabelCount struct {
	Kind  label.Kind
	Truth label.Truth
	N     int
}

// LabelCounts counts a workspace's labels by kind and by what they say, in the order of these.
func (s *Store) LabelCounts(ctx context.Context, team string) (counts []LabelCount, err error) {
	if err := s.db.WithContext(ctx).Model(&Label{}).Select("kind, truth, count(*) AS n").Where("team_id = ?", team).
		Group("kind, truth").Order("kind, truth").Scan(&counts).Error; err != nil {
		return nil, fmt.Errorf("count labels: %w", err)
	}
	return counts, nil
}

// CheckedLabels is all labels of each decision in a workspace that a person has labelled, in a fixed order.
func (s *Store) CheckedLabels(ctx context.Context, team string) (decisions [][]label.Label, err error) {
	var rows []Label
	if err := s.db.WithContext(ctx).
		Where("team_id = ? AND decision IN (SELECT decision FROM labels WHERE kind = ? AND team_id = ?)", team,
			label.Human, team).
		Order("decision, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read labels that people have checked: %w", err)
	}
	for i, l := range rows {
		if i == 0 || rows[i-1].Decision != l.Decision {
			decisions = append(decisions, nil)
		}
		last := len(decisions) - 1
		decisions[last] = append(decisions[last], l.Evidence())
	}
	return decisions, nil
}

// Around is what people read around a decision, in order of time and with reactions: the last messages of its
// conversation before it, and the first within label.Window after it, at most limit of each, without deleted ones. The
// messages of a thread include its parent; those at the top level the thread under the trigger. earlier is how many
// came before the decision. There is nothing to read if the trigger is deleted or pruned.
func (s *Store) Around(ctx context.Context, d Decision, limit int) (messages []chat.Message, earlier int, err error) {
	c, err := chat.ParseConversation(d.WorkflowID)
	if err != nil {
		return nil, 0, err
	}
	here := func() *gorm.DB {
		return s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND NOT deleted AND (thread_ts IN ? OR ts "+
			"= ?)",
			c.Team, c.Channel, []string{c.Thread, threadUnder(c, d.TriggerTS)}, c.Thread).Limit(limit)
	}
	var before, follow []messageRow
	if err = here().Where("sent_us <= ?", d.DecidedUS).Order("sent_us DESC").Find(&before).Error; err == nil {
		err = here().Where("sent_us > ? AND sent_us <= ?", d.DecidedUS, d.DecidedUS+label.Window.Microseconds()).
			Order("sent_us").Find(&follow).Error
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read messages around decision %s: %w", d.Key, err)
	}
	if !slices.ContainsFunc(before, func(r messageRow) bool { return r.TS == d.TriggerTS }) {
		return nil, 0, nil
	}
	slices.Reverse(before)
	rows := append(before, follow...)
	var reactions []reactionRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = ? AND ts IN ? AND added_us > removed_us",
		c.Team, c.Channel, mapRows(rows, func(r messageRow) string { return r.TS })).Order("added_us DESC").
		Limit(reactionLimit).Find(&reactions).Error; err != nil {
		return nil, 0, fmt.Errorf("read reactions around decision %s: %w", d.Key, err)
	}
	return withReactions(mapRows(rows, messageRow.message), reactions), len(before), nil
}
