package operator

import (
	"testing"

	"myao/internal/conversation"
)

func TestShow(t *testing.T) {
	w := newWorld(t, false)
	state, run, err := w.Show(t.Context(), thread)
	if err != nil || run != (Run{}) || state.Phase != conversation.Idle || state.Conversation != thread {
		t.Errorf("of which nothing was heard: %+v, %+v, %v", state, run, err)
	}
	w.says(thread, 3600, conversation.Waiting)
	state, run, err = w.Show(t.Context(), thread)
	if err != nil || !run.Running || run.ID == "" || run.Started.IsZero() || !run.Closed.IsZero() || len(state.Pending) != 1 || state.DueAt.IsZero() {
		t.Errorf("waiting: %+v, %+v, %v", state, run, err)
	}
	if err := w.Client.CancelWorkflow(t.Context(), thread.ID(), ""); err != nil {
		t.Fatal(err)
	}
	w.closed(thread)
	state, run, err = w.Show(t.Context(), thread)
	if err != nil || run.Running || run.ID == "" || run.Closed.IsZero() || state.Phase != conversation.Idle {
		t.Errorf("closed: %+v, %+v, %v", state, run, err)
	}
}
