package activities

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
	"myao/sandbox/workspace"
)

const days = 24 * time.Hour

// setClockAhead sets the activities' clock ahead.
func (b *bundle) setClockAhead(d time.Duration) {
	b.Clock = func() time.Time { return time.Now().Add(d) }
}

func TestPrune(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		counters := prometheus.NewRegistry()
		b.Metrics = NewMetrics(counters)
		task := atTopLevel(b.say("how many dwarfs?"))
		b.compose(task, "Seven.")
		if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err != nil {
			t.Fatal(err)
		}
		prune := func(what string, want map[string]int) {
			t.Helper()
			got, err := runWithoutInput(b.Prune)
			if err != nil || got.Unfinished || !maps.Equal(got.Deleted, want) {
				t.Errorf("%s: %+v, %v; want %v", what, got, err, want)
			}
		}
		b.setClockAhead(4000 * days)
		prune("for ever", nil)
		b.setClockAhead(39 * days)
		b.Retention = config.Retention{LedgerDays: 40, MessagesDays: 60}
		prune("before its time", nil)
		b.setClockAhead(41 * days)
		prune("the ledger", map[string]int{"decisions": 1, "outbox": 1})
		b.setClockAhead(61 * days)
		prune("the messages", map[string]int{"messages": 2})
		families, err := counters.Gather()
		if err != nil {
			t.Fatal(err)
		}
		counted := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "myao_rows_pruned_total" {
					counted[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
		want := map[string]float64{
			"messages": 2, "changes": 0, "decisions": 1, "outbox": 1, "model_calls": 0, "orders": 0, "memories": 0, "conversations": 0, "steps": 0, "turns": 0,
			"proposals": 0, "feedback": 0, "labels": 0, "opinions": 0, "promises": 0, "snapshots": 0, "reactions": 0,
		}
		if !maps.Equal(counted, want) {
			t.Errorf("counted are %v, want %v", counted, want)
		}
	})
}

// An attempt stops before its deadline and reports that it is unfinished.
func TestPruneStopsInTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := atTopLevel(b.say("how many dwarfs?"))
	b.compose(task, "Seven.")
	b.setClockAhead(100 * days)
	b.Retention = config.Retention{LedgerDays: 40, MessagesDays: 60}
	ctx, cancel := context.WithTimeout(t.Context(), pruneReserve-time.Second)
	defer cancel()
	for _, want := range []map[string]int{{"messages": 1}, {}} {
		if got, err := b.Prune(ctx, Of{}); err != nil || !got.Unfinished || !maps.Equal(got.Deleted, want) {
			t.Errorf("%+v, %v; want %v and more", got, err, want)
		}
	}
	if got, err := runWithoutInput(b.Prune); err != nil || got.Unfinished {
		t.Errorf("with more time: %+v, %v", got, err)
	}
}

// A workflow that was reset to a time long ago reaches messages whose decisions are pruned. They are
// not answered. A message recorded since then is, however old it is.
func TestPrunedDecisionsAreNotMadeAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		b.Retention = config.Retention{LedgerDays: 40}
		for name, c := range map[string]struct {
			said, again time.Duration // before now, and after it
			revision    string
			result      conversation.Result
			posts       int
		}{
			"a recent message":          {again: 39 * days, result: conversation.Done, posts: 1},
			"an old message":            {again: 41 * days, result: conversation.Silenced, posts: 1},
			"recorded late":             {said: 100 * days, again: 39 * days, result: conversation.Done, posts: 1},
			"recorded late, long ago":   {said: 100 * days, again: 41 * days, result: conversation.Silenced, posts: 1},
			"an edit of an old message": {again: 41 * days, revision: chat.TS(time.Now().Add(40 * days)), result: conversation.Done, posts: 2},
		} {
			b.setClockAhead(0)
			before := len(b.Workspace.Posts())
			m := b.say(b.Mention("how many dwarfs? ")+name, workspace.At(time.Now().Add(-c.said)))
			task := inThread(m)
			if _, err := b.Store.Record(t.Context(), m, func(store.Known) store.Entry {
				return store.Entry{Changes: []store.Change{{
					Conversation: task.Conversation, Change: conversation.Change{TS: m.TS, Kind: conversation.Addressed},
				}}}
			}); err != nil {
				t.Fatal(err)
			}
			answer := func() conversation.Result {
				t.Helper()
				got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true})
				if err == nil && got.Result == conversation.Done {
					got, err = runOnce[ReplyOutput](b.Post, PostInput{Task: task})
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return got.Result
			}
			if got := answer(); got != conversation.Done {
				t.Fatalf("%s: at first %s", name, got)
			}
			b.setClockAhead(c.again)
			if _, err := runWithoutInput(b.Prune); err != nil {
				t.Fatal(err)
			}
			task.Revision = c.revision
			if got := answer(); got != c.result {
				t.Errorf("%s: again %s, want %s", name, got, c.result)
			}
			if got := len(b.Workspace.Posts()) - before; got != c.posts {
				t.Errorf("%s: %d posts, want %d", name, got, c.posts)
			}
			if c.result != conversation.Silenced {
				continue
			}
			if d := b.decision(task); d.Rule != string(conversation.RuleLapsed) || d.Outcome != "silent" || d.Reason == "" {
				t.Errorf("%s: the ledger has %+v", name, d)
			}
			if got, err := runOnce[ReplyOutput](b.Compose, ComposeInput{Task: task, Addressed: true, Notice: true}); err != nil || got.Result != conversation.Silenced {
				t.Errorf("%s: a note: %+v, %v", name, got, err)
			}
		}
	})
}

// A run logs one line with counts, and no deleted text.
func TestPruneLogs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	log := &strings.Builder{}
	b.Logger = slog.New(slog.NewTextHandler(log, nil))
	b.say("secret")
	b.setClockAhead(100 * days)
	b.Retention = config.Retention{MessagesDays: 60}
	if _, err := runWithoutInput(b.Prune); err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(log.String()))
	if len(lines) != 1 || !strings.Contains(lines[0], "msg=pruned finished=true") || !strings.Contains(lines[0], "messages=1") || strings.Contains(lines[0], "secret") {
		t.Errorf("the log has %q", lines)
	}
}

// What is stored of a workspace goes some time after it has uninstalled the app; the workspace of the token stays.
func TestPruneWorkspaces(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		ctx := t.Context()
		own := b.Own.TeamID
		b.say("how many dwarfs?")
		for _, team := range []string{own, "T1LEFT", "T2HERE"} {
			if err := b.Store.SaveUsers(ctx, team, store.User{ID: "U1", Name: "Ann"}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Store.SaveInstallation(ctx, store.Installation{ID: team}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Store.EndInstallation(ctx, team, time.Now(), store.InstallationUninstalled, store.AppUninstalled); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Store.SaveInstallation(ctx, store.Installation{ID: "T2HERE"}); err != nil {
			t.Fatal(err)
		}
		prune := func(what string, want ...string) {
			t.Helper()
			if got, err := runWithoutInput(b.Prune); err != nil || got.Unfinished {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
			var left []string
			for _, team := range []string{own, "T1LEFT", "T2HERE"} {
				known, err := b.Store.Users(ctx, team, []string{"U1"})
				if err != nil {
					t.Fatal(err)
				}
				if len(known) > 0 {
					left = append(left, team)
				}
			}
			if !slices.Equal(left, want) {
				t.Errorf("%s: left are %v, want %v", what, left, want)
			}
		}
		b.Retention = config.Retention{UninstalledDays: 30}
		b.setClockAhead(31 * days)
		prune("by one token", own, "T1LEFT", "T2HERE")
		b.Installable = true
		b.setClockAhead(29 * days)
		prune("before its time", own, "T1LEFT", "T2HERE")
		b.Retention, b.Clock = config.Retention{}, func() time.Time { return time.Now().Add(400 * days) }
		prune("for ever", own, "T1LEFT", "T2HERE")
		b.Retention = config.Retention{UninstalledDays: 30}
		prune("in time", own, "T2HERE")
	})
}
