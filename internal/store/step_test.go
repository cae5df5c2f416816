package store

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func TestSteps(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		where := chat.Conversation{Team: team, Channel: channel, Thread: at(1)}
		db.store(t, said(at(2), at(1)))
		turn := Turn{Decision: "run/1/x", Provider: "gemini", Model: "m", Text: "let me see", Opaque: `{"parts":[]}`, TokensIn: 3, TokensOut: 4, ReadUS: 6, Steps: []Step{
			{CallID: "c1", Tool: "search_messages", Input: `{"query":"x"}`, State: StepWaiting}, {CallID: "c2", Tool: "read_thread", State: StepRefused, Output: "too many", Failed: true},
		}}
		first, err := db.SaveTurn(t.Context(), where, at(2), turn)
		if err != nil || len(first) != 2 || first[0].ID == first[1].ID {
			t.Fatalf("saved %+v, %v", first, err)
		}
		other := turn
		other.Steps = []Step{{CallID: "c3", Tool: "read_channel", State: StepWaiting}}
		if again, err := db.SaveTurn(t.Context(), where, at(2), other); err != nil || !slices.Equal(again, first) {
			t.Errorf("saved again: %+v, %v; want %+v", again, err, first)
		}
		db.clock.advance(1000)
		for attempt := 1; attempt <= 2; attempt++ { // the first worker dies
			begun, err := db.BeginStep(t.Context(), first[0].ID)
			if err != nil || begun.State != StepRunning || begun.Attempts != attempt || begun.Given || begun.Asker != "U1" || begun.BeganUS == 0 {
				t.Errorf("begun: %+v, %v", begun, err)
			}
		}
		for _, output := range []string{"found", "found otherwise, too late"} {
			must(t, db.EndStep(t.Context(), first[0].ID, StepResult{Output: output, Files: []StepFile{{Name: output, MIME: "image/png", Data: []byte("\x00\xff")}, {Name: "b", Data: []byte{1}}}}))
		}
		if files, err := db.StepFiles(t.Context(), turn.Decision); err != nil || len(files) != 1 || len(files[first[0].ID]) != 2 ||
			!reflect.DeepEqual(files[first[0].ID][0], StepFile{StepID: first[0].ID, Name: "found", MIME: "image/png", Data: []byte("\x00\xff")}) {
			t.Errorf("files %+v, %v", files, err)
		}
		turns, err := db.Turns(t.Context(), turn.Decision)
		if err != nil || len(turns) != 1 || turns[0].Opaque != turn.Opaque || turns[0].Text != turn.Text || turns[0].MadeUS == 0 || len(turns[0].Steps) != 2 {
			t.Fatalf("turns %+v, %v", turns, err)
		}
		if st := turns[0].Steps[0]; st.State != StepDone || st.Output != "found" || st.Attempts != 2 || st.CallID != "c1" || st.EndedUS == 0 {
			t.Errorf("the step is %+v", st)
		}
		for _, st := range turns[0].Steps { // ended
			if begun, err := db.BeginStep(t.Context(), st.ID); err != nil || begun.Step != st {
				t.Errorf("begun again: %+v, %v", begun, err)
			}
		}
		if _, err := db.BeginStep(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("no such step: %v", err)
		}

		if before, err := db.StepsBefore(t.Context(), turns[0].Steps[1].ID); err != nil || len(before) != 1 || before[0] != turns[0].Steps[0] {
			t.Errorf("before the second step: %+v, %v", before, err)
		}

		figures, err := db.StepsFor(t.Context(), []string{"none", turn.Decision})
		if err != nil || len(figures) != 2 || figures[0].Size != len("found") || figures[0].Output != "" || figures[0].Attempts != 2 ||
			figures[1].State != StepRefused || !figures[1].Failed {
			t.Errorf("figures %+v, %v", figures, err)
		}

		// Once its decision has an outcome, nobody waits for a step.
		turn.Decision, turn.Steps = "run/2/x", turn.Steps[:1]
		later, err := db.SaveTurn(t.Context(), where, at(2), turn)
		if err != nil {
			t.Fatal(err)
		}
		db.insert(t, &Decision{Key: turn.Decision, Outcome: conversation.Dropped})
		if begun, err := db.BeginStep(t.Context(), later[0].ID); err != nil || !begun.Given || begun.State != StepWaiting || begun.Attempts != 0 {
			t.Errorf("of a dropped reply: %+v, %v", begun, err)
		}
	})
}
