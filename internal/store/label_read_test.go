package store

import (
	"context"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/evaluate/evidence"
)

// decided saves a judgment about a message, made n seconds after noon.
func (db database) decided(t *testing.T, key string, c chat.Conversation, trigger string, n int) Decision {
	t.Helper()
	sure := 0.5
	d := Decision{Key: key, WorkflowID: c.ID(), TriggerTS: trigger, Source: "judgment", Confidence: &sure, Outcome: conversation.Silent, DecidedUS: micros(noon.Add(time.Duration(n) * time.Second))}
	db.insert(t, &d)
	return d
}

func TestLabelsThatPeopleChecked(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		hindsight := func(decision string, k label.Kind, weight float64) Label {
			return Label{TeamID: team, ChannelID: channel, Decision: decision, Kind: k, Truth: k.Truth(), Weight: weight}
		}
		top := chat.Conversation{Team: team, Channel: channel}
		for i, key := range []string{"a", "b", "c"} {
			db.decided(t, key, top, at(i), i)
		}
		err := db.SaveHindsight(ctx, Decision{Key: "c", DecidedUS: 1}, []Label{hindsight("a", label.Answered, 0.6), hindsight("a", label.Mentioned, 0.9), hindsight("b", label.Answered, 0.6)})
		for _, l := range []Label{
			{TeamID: team, Decision: "a", Truth: label.Speak, LabelledBy: "cli:ann"}, {TeamID: team, Decision: "a", Truth: label.Silent, LabelledBy: "cli:bob"},
			{TeamID: team, Decision: "c", Truth: label.Either, LabelledBy: "cli:ann"}, {TeamID: "T9", Decision: "b", Truth: label.Speak, LabelledBy: "cli:eve"},
		} {
			if err == nil {
				err = db.SaveLabel(ctx, l)
			}
		}
		checked, wrong := db.CheckedLabels(ctx, team)
		if err != nil || wrong != nil || len(checked) != 2 || len(checked[0]) != 3 || len(checked[1]) != 1 || checked[1][0].Truth != label.Either {
			t.Errorf("checked %+v, %v, %v", checked, err, wrong)
		}
		if p := evidence.Measure(checked); p[label.Answered].K != 1 || p[label.Mentioned].K != 0 || p[label.Mentioned].N != 1 {
			t.Errorf("a newer answer of a person does not count: %+v", p)
		}
		counts, err := db.LabelCounts(ctx, team)
		if want := []LabelCount{{label.Answered, label.Silent, 2}, {label.Human, label.Either, 1}, {label.Human, label.Silent, 1}, {label.Mentioned, label.Speak, 1}}; err != nil || !slices.Equal(counts, want) {
			t.Errorf("counted %+v, %v", counts, err)
		}
	})
}

// What somebody who labels reads is the conversation, not the rest of the channel, and nothing that was deleted.
func TestAround(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		message := func(n int, thread string) chat.Message {
			m := said(at(n), thread)
			db.store(t, m)
			return m
		}
		for n := range 5 {
			message(n, "")
		}
		gone := message(5, "")
		gone.Deleted = true
		db.store(t, gone)
		message(6, at(3)) // of another thread
		message(11, at(4))
		message(12, "")
		message(13, "")
		message(int(label.Window.Seconds())+20, "")
		must(t, db.PutReaction(t.Context(), Reaction{Team: team, Channel: channel, TS: at(3), User: "U2", Name: "eyes", At: noon}))
		top, thread := chat.Conversation{Team: team, Channel: channel}, chat.Conversation{Team: team, Channel: channel, Thread: at(4)}
		for _, test := range []struct {
			name   string
			of     Decision
			want   []string
			before int
		}{
			{"the top level", db.decided(t, "a", top, at(4), 10), []string{at(2), at(3), at(4), at(11), at(12), at(13)}, 3},
			{"a thread", db.decided(t, "b", thread, at(11), 11), []string{at(4), at(11)}, 2},
			{"a deleted trigger", db.decided(t, "c", top, at(5), 10), nil, 0},
		} {
			messages, before, err := db.Around(context.Background(), test.of, 3)
			var ts []string
			for _, m := range messages {
				ts = append(ts, m.TS)
				if m.TS == at(3) && (len(m.Reactions) != 1 || m.Reactions[0] != (chat.Reaction{Name: "eyes", UserID: "U2"})) {
					t.Errorf("%s: reactions %+v", test.name, m.Reactions)
				}
			}
			if err != nil || before != test.before || !slices.Equal(ts, test.want) {
				t.Errorf("%s: %q, %d before, %v", test.name, ts, before, err)
			}
		}
	})
}
