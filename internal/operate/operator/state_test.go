package operator

import (
	"reflect"
	"testing"

	"myao/internal/conversation"
)

func TestShow(t *testing.T) {
	w := newWorld(t, false)
	state, run, err := w.show(thread)
	if err != nil || !reflect.DeepEqual(run, Run{}) || state.Phase != conversation.Idle || state.Conversation != thread {
		t.Errorf("an unknown conversation: %+v, %+v, %v", state, run, err)
	}
	w.says(thread, 3600, conversation.Waiting)
	state, run, err = w.show(thread)
	if err != nil || !run.Running || run.ID == "" || run.Started.IsZero() || !run.Closed.IsZero() || run.Ended != "" || len(state.Pending) != 1 || state.DueAt.IsZero() {
		t.Errorf("waiting: %+v, %+v, %v", state, run, err)
	}
	if err := w.Client.CancelWorkflow(t.Context(), thread.ID(), ""); err != nil {
		t.Fatal(err)
	}
	w.closed(thread)
	state, run, err = w.show(thread)
	if err != nil || run.Running || run.ID == "" || run.Closed.IsZero() || run.Ended != "Canceled" || state.Phase != conversation.Idle {
		t.Errorf("closed: %+v, %+v, %v", state, run, err)
	}
	w.says(thread, 3600, conversation.Waiting)
	if err := w.Client.TerminateWorkflow(t.Context(), thread.ID(), "", "stuck"); err != nil {
		t.Fatal(err)
	}
	state, run, err = w.show(thread)
	if err != nil || run.Running || run.Closed.IsZero() || run.Ended != "Terminated" || len(state.Pending) != 1 {
		t.Errorf("terminated: %+v, %+v, %v", state, run, err)
	}
}
