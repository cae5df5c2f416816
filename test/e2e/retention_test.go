package e2e

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// The schedule deletes what is older than the configuration allows. A deleted message that
// catch-up reads again from Slack's history is not answered.
func TestRetention(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(1), configured("retention: {ledger_days: 32, messages_days: 33}"))
	s.pauseSchedules()
	ago := func(days int) workspace.SayOption { return workspace.At(time.Now().AddDate(0, 0, -days)) }
	old := s.Workspace.Say(s.general, s.alice.ID, s.mention("how many dwarfs?"), ago(40))
	root := s.Workspace.Say(s.general, s.alice.ID, "an old thread", ago(39))
	reply := s.Workspace.Say(s.general, s.bob.ID, "that goes on", workspace.InThread(root), ago(30))
	s.awaitStored(s.general, old, root, reply)
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.awaitStored(s.general, s.posts()[0].TS)

	gone := func(ts string) bool {
		_, err := s.store.Message(t.Context(), "T0E2E", s.general, ts)
		return errors.Is(err, store.ErrNotFound)
	}
	prune := func() {
		t.Helper()
		testserver.Must(t, s.Client.ScheduleClient().GetHandle(t.Context(), "retention").Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	}
	lone := s.Workspace.Say(s.general, s.alice.ID, "nobody replied to this", ago(38))
	s.awaitStored(s.general, lone)
	s.await("all changes to be relayed", func() bool { // unrelayed messages are not deleted
		n, _, err := s.store.BacklogSize(t.Context())
		return err == nil && n == 0
	})
	prune()
	s.await("the old message to go", func() bool { return gone(lone) })
	// A thread is as old as its newest reply; the bot answered today.
	for what, ts := range map[string]string{"the question": old, "the parent": root, "the reply": reply, "the answer": s.posts()[0].TS} {
		if gone(ts) {
			t.Errorf("%s is gone", what)
		}
	}
	s.catchUpAll()
	prune()
	s.Workspace.Say(s.general, s.bob.ID, s.mention("and today?"))
	s.await("another answer", func() bool { return len(s.posts()) == 2 })
}
