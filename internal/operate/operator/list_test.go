package operator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

func TestConversations(t *testing.T) {
	for _, attributes := range []bool{true, false} {
		t.Run(fmt.Sprintf("attributes %v", attributes), func(t *testing.T) { testConversations(newWorld(t, attributes)) })
	}
}

func testConversations(w *fixture) {
	t, ctx := w.t, w.t.Context()
	elsewhere := chat.Conversation{Team: "T1", Channel: "C2"}
	w.says(slow, 0, conversation.Judging)
	w.says(thread, 1800, conversation.Waiting)
	w.says(top, 0, conversation.Delaying) // due before the thread
	w.says(elsewhere, 3000, conversation.Waiting)
	if err := w.Order(ctx, elsewhere, conversation.UpdateDrop, carol, ""); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	if err := w.Store.ApplyOrder(ctx, store.Order{ID: "1", Scope: chat.Scope{Team: "T1", Channel: "C1"}, Kind: "snooze", By: "cli:carol", Until: until}); err != nil {
		t.Fatal(err)
	}
	// A conversation may be too late for its list. With a worker it is in time for another one.
	list := func(f Filter) (all []Listed) {
		t.Helper()
		w.await("all to answer", func() bool {
			var err error
			if all, err = w.Conversations(ctx, f); err != nil {
				t.Fatal(err)
			}
			return !slices.ContainsFunc(all, Listed.phaseUnknown)
		})
		return all
	}
	// Temporal lists a conversation in the phase that it had some time ago.
	w.await("visibility", func() bool {
		for _, phase := range []conversation.Phase{conversation.Idle, conversation.Waiting, conversation.Delaying, conversation.Judging} {
			if len(list(Filter{Phases: []conversation.Phase{phase}})) != 1 {
				return false
			}
		}
		return len(list(Filter{})) == 4
	})
	for _, test := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"all, by when they are due", Filter{}, "delaying C1, waiting C1/1700000000.000100, judging C3, idle C2"},
		{"of a channel", Filter{Channel: "C1"}, "delaying C1, waiting C1/1700000000.000100"},
		{"of a workspace", Filter{Team: "T2"}, ""},
		{"of some channels", Filter{Channels: []string{"C2", "C3"}}, "judging C3, idle C2"},
		{"of some, behind others", Filter{Channels: []string{"C3"}, Limit: 1}, "judging C3"},
		{"of no channel", Filter{Channels: []string{}}, ""},
		{"of a channel with an odd id", Filter{Channel: "C'1"}, ""},
		{"in a phase", Filter{Phases: []conversation.Phase{conversation.Waiting}}, "waiting C1/1700000000.000100"},
		{"in two", Filter{Phases: []conversation.Phase{conversation.Idle, conversation.Delaying}}, "delaying C1, idle C2"},
		{"in none that there is", Filter{Phases: []conversation.Phase{conversation.Replying}}, ""},
		{"being judged", Filter{Phases: []conversation.Phase{conversation.Judging}}, "judging C3"},
		{"being judged, behind others that wait", Filter{Phases: []conversation.Phase{conversation.Judging}, Limit: 1}, "judging C3"},
		{"under way, or idle", Filter{Phases: []conversation.Phase{conversation.Judging, conversation.Replying, conversation.Idle}}, "judging C3, idle C2"},
		{"those that wait for nothing are left out first", Filter{Limit: 2}, "delaying C1, waiting C1/1700000000.000100"},
	} {
		if got := summaries(list(test.filter)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	for _, l := range list(Filter{Limit: 2}) {
		if l.Name != "general" || !l.Running || l.Pending == nil || *l.Pending != 1 || l.ID != l.Conversation.ID() || !l.Silenced.Equal(until) ||
			time.Until(l.DueAt) < time.Minute || time.Since(l.Since) > time.Hour {
			t.Errorf("%+v", l)
		}
	}
	if l := list(Filter{Channel: "C2"}); l[0].Name != "" || !l[0].DueAt.IsZero() || !l[0].Silenced.IsZero() || l[0].Pending == nil || *l[0].Pending != 0 {
		t.Errorf("%+v", l[0])
	}

	w.stop()
	// Each waits in vain for an answer, so all are asked for at once.
	ask := func(f Filter) <-chan []Listed {
		answer := make(chan []Listed, 1)
		go func() {
			all, err := w.Conversations(ctx, f)
			if err != nil {
				t.Error(err)
			}
			answer <- all
		}()
		return answer
	}
	waiting := ask(Filter{Phases: []conversation.Phase{conversation.Waiting}})
	delaying := ask(Filter{Channel: "C2", Phases: []conversation.Phase{conversation.Delaying}})
	none := ask(Filter{Team: "T2", Phases: []conversation.Phase{conversation.Judging}})
	all := <-waiting
	if len(all) == 0 {
		t.Error("without a worker, nothing is listed")
	}
	for _, l := range all {
		if l.Phase != Unknown || l.Pending != nil || l.Since.IsZero() || !l.Running {
			t.Errorf("without a worker: %+v", l)
		}
	}
	// The server knows phases only from workers. Only a worker can tell that no conversation is in
	// a phase.
	if got, want := summaries(<-delaying), "unknown C2"; got != want {
		t.Errorf("without a worker, in none that the server knows of: %s, want %s", got, want)
	}
	if got := summaries(<-none); got != "" {
		t.Errorf("without a worker, where nothing runs: %s", got)
	}
}

// summaries is "phase channel/thread" of each.
func summaries(all []Listed) string {
	var out []string
	for _, l := range all {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s/%s", l.Phase, l.Conversation.Channel, l.Conversation.Thread), "/"))
	}
	return strings.Join(out, ", ")
}

func TestPendingAsJSON(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]Listed{`"pending":0,`: {Pending: new(0)}, `"phase":"unknown","running":true`: {Phase: Unknown, Running: true}} {
		if got, err := json.Marshal(l); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func TestByDue(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	all := []Listed{
		{ID: "unknown", Phase: Unknown}, {ID: "idle", Phase: conversation.Idle, Since: at(1)}, {ID: "idle lately", Phase: conversation.Idle, Since: at(2)},
		{ID: "later", Phase: conversation.Delaying, DueAt: at(20)}, {ID: "judging", Phase: conversation.Judging}, {ID: "sooner", Phase: conversation.Waiting, DueAt: at(10)},
	}
	slices.SortFunc(all, byDue)
	var got []string
	for _, l := range all {
		got = append(got, l.ID)
	}
	if want := "sooner, later, judging, idle lately, idle, unknown"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
