package activities

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// runWithoutInput makes one attempt of an activity without input.
func runWithoutInput[T any](do func(context.Context, Of) (T, error)) (T, error) {
	return runOnce[T](do, Of{})
}

func TestSyncChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		bot := b.Workspace.Bot().UserID
		other := b.Workspace.AddChannel(workspace.Public, "other", bot)
		third := b.Workspace.AddChannel(workspace.Private, "third", bot)
		for _, c := range []struct {
			what    string
			happens func()
			want    SyncOutput
		}{
			{"at first", func() {}, SyncOutput{Joined: 3}},
			{"and again", func() {}, SyncOutput{}},
			{"after a change", func() {
				b.Workspace.Leave(other, bot)
				b.Workspace.Rename(third, "fourth")
			}, SyncOutput{Left: 1, Renamed: 1}},
			{"after another", func() {
				b.Workspace.Join(other, bot)
				b.Workspace.Archive(third, true)
			}, SyncOutput{Joined: 1, Archived: 1}},
		} {
			c.happens()
			if got, err := runWithoutInput(b.SyncChannels); err != nil || got != c.want {
				t.Errorf("%s: %+v, %v; want %+v", c.what, got, err, c.want)
			}
		}
	})
}

func TestChannels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bot := b.Workspace.Bot().UserID
	other := b.Workspace.AddChannel(workspace.Public, "other", bot)
	left := b.Workspace.AddChannel(workspace.Public, "left", bot)
	b.syncChannels()
	b.sayIn(b.General, "hello?", workspace.At(time.Now().Add(-time.Hour)))
	b.sayIn(other, "hello?")
	b.Workspace.Leave(left, bot)
	b.syncChannels()
	got, err := runWithoutInput(b.ListChannels)
	if want := []string{other, b.General}; err != nil || !slices.Equal(got.Channels, want) {
		t.Errorf("got %v, %v; want %v, the most recently active first", got.Channels, err, want)
	}
}

func TestCatchUp(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		b.syncChannels()
		b.say("heard")
		missed := b.Workspace.Say(b.General, b.Alice.ID, b.Mention("are you there?"))
		reply := b.Workspace.Say(b.General, b.Alice.ID, "are you?", workspace.InThread(missed))
		got, err := runOnce[CatchUpOutput](b.CatchUp, CatchUpInput{Channels: []string{b.General}})
		if err != nil || got.New != 2 || got.Taken != 2 || got.Read < 3 {
			t.Errorf("got %+v, %v; want 2 new, and taken", got, err)
		}
		for _, ts := range []string{missed, reply} {
			if m, err := b.Store.Message(t.Context(), "T1", b.General, ts); err != nil || m.UserID != b.Alice.ID {
				t.Errorf("%s: %+v, %v", ts, m, err)
			}
		}
		if got, err := runOnce[CatchUpOutput](b.CatchUp, CatchUpInput{Channels: []string{b.General}}); err != nil || got.New != 0 || got.Taken != 0 {
			t.Errorf("again: %+v, %v; want nothing new", got, err)
		}
	})
}

// The newest history does not show replies in old threads. With Threads set they are all read.
func TestCatchUpThreads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.syncChannels()
	parent := b.say("who comes to the party?", workspace.At(time.Now().Add(-72*time.Hour)))
	b.say("I do", workspace.InThread(parent.TS), workspace.At(time.Now().Add(-71*time.Hour)))
	in := CatchUpInput{Channels: []string{b.General}}
	for _, want := range []CatchUpOutput{{}, {New: 1, Taken: 1}} {
		got, err := runOnce[CatchUpOutput](b.CatchUp, in)
		if got.Read = 0; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		b.Workspace.Say(b.General, b.Alice.ID, "me too", workspace.InThread(parent.TS))
	}
}

func TestCatchUpErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.syncChannels()
	for name, c := range map[string]struct {
		fault workspace.Fault
		kind  string
		after time.Duration
	}{
		"rate limited":  {workspace.Fault{Status: 429, RetryAfter: "30"}, typeRateLimited, 30 * time.Second},
		"unavailable":   {workspace.Fault{Status: 503}, typeUnavailable, 0},
		"connection":    {workspace.Fault{LoseAnswer: true}, typeUnavailable, 0},
		"key refused":   {workspace.Fault{Error: "invalid_auth"}, typeFinal, 0},
		"scope missing": {workspace.Fault{Error: "missing_scope"}, typeFinal, 0},
	} {
		for method, do := range map[string]func() error{
			"users.conversations": func() error { _, err := runWithoutInput(b.SyncChannels); return err },
			"conversations.history": func() error {
				_, err := runOnce[CatchUpOutput](b.CatchUp, CatchUpInput{Channels: []string{b.General}})
				return err
			},
		} {
			c.fault.Method = method
			off := b.Workspace.Faults().Add(c.fault)
			err := do()
			off()
			if err == nil {
				t.Errorf("%s, %s: no error", name, method)
				continue
			}
			if app := applicationError(t, err); app.Type() != c.kind || app.NextRetryDelay() != c.after {
				t.Errorf("%s, %s: %s after %s: %v; want %s after %s", name, method, app.Type(), app.NextRetryDelay(), app, c.kind, c.after)
			}
		}
	}
}

// One channel that cannot be read does not stop the others, and is reported.
func TestCatchUpWithSeveralChannels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.Workspace.AddChannel(workspace.Public, "other", b.Alice.ID, b.Workspace.Bot().UserID)
	b.syncChannels()
	b.Workspace.Say(other, b.Alice.ID, "does anybody hear me?")
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.history", Error: "internal_error", Match: func(c workspace.Call) bool {
		return c.Args.Get("channel") == b.General
	}})
	in := CatchUpInput{Channels: []string{b.General, other}, PauseSeconds: 1}
	began := time.Now()
	got, err := runOnce[CatchUpOutput](b.CatchUp, in)
	if err != nil || got.New != 1 || got.Taken != 1 || !slices.Equal(got.Failed, []string{b.General}) {
		t.Errorf("got %+v, %v; want one new, and %s failed", got, err, b.General)
	}
	if paused := time.Since(began); paused < 2*time.Second {
		t.Errorf("it took %v, and two pauses are two seconds", paused)
	}
	if _, err := runOnce[CatchUpOutput](b.CatchUp, CatchUpInput{Channels: []string{b.General}}); err == nil {
		t.Error("no error, though the only channel cannot be read")
	}
}

// Slack's rate limit is for the whole workspace, so the other channels wait, too.
func TestCatchUpAtARateLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.Workspace.AddChannel(workspace.Public, "other", b.Alice.ID, b.Workspace.Bot().UserID)
	b.syncChannels()
	b.Workspace.Say(other, b.Alice.ID, "does anybody hear me?")
	in := CatchUpInput{Channels: []string{b.General, other}}
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.history", Status: 429, RetryAfter: "2", Times: 1})
	began := time.Now()
	got, err := runOnce[CatchUpOutput](b.CatchUp, in)
	if err != nil || got.Taken != 1 || !slices.Equal(got.Failed, []string{b.General}) {
		t.Errorf("got %+v, %v; want one taken, and %s failed", got, err, b.General)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("it took %v, want at least the two seconds of the limit", took)
	}
	before := len(b.Workspace.Calls("conversations.history"))
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.history", Status: 429, RetryAfter: "7200"})
	_, err = runOnce[CatchUpOutput](b.CatchUp, in)
	if err == nil || applicationError(t, err).NextRetryDelay() != 2*time.Hour || len(b.Workspace.Calls("conversations.history")) != before+1 {
		t.Errorf("limited for hours: %v, after %d calls", err, len(b.Workspace.Calls("conversations.history"))-before)
	}
}

// A worker that stops does not wait for the end of a pause.
func TestCatchUpStopsWithItsWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.syncChannels()
	stop := make(chan struct{})
	once := sync.OnceFunc(func() { close(stop) })
	env := newEnvironment(b.CatchUp)
	env.SetWorkerStopChannel(stop)
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.history", Alter: func(map[string]any) { once() }})
	_, err := env.ExecuteActivity(b.CatchUp, CatchUpInput{Channels: []string{b.General}, PauseSeconds: 3600})
	if err == nil || !strings.Contains(err.Error(), "the worker stops") {
		t.Errorf("it ends with %v", err)
	}
}

// Where there may be several workspaces, the channels of one in which nothing happens are listed by catch-up once a day,
// and otherwise an hour later. One whose listing did not end is due again.
func TestIdleWorkspaceIsListedOnceADay(t *testing.T) {
	b := setup(t)
	of := Of{Team: b.Own.TeamID}
	due := func(after time.Duration, want ...string) {
		t.Helper()
		b.Clock = func() time.Time { return time.Now().Add(after) }
		out, err := runOnce[FindWorkspacesOutput](b.FindWorkspaces, FindWorkspacesInput{Job: "ChannelSync"})
		if err != nil || !slices.Equal(out.Teams, want) {
			t.Errorf("after %s: %v, %v; want %v", after, out.Teams, err, want)
		}
	}
	due(0, of.Team)
	due(0, of.Team)
	testserver.Must(t, testserver.ErrOf(runOnce[SyncOutput](b.SyncChannels, of)))
	due(time.Minute)
	due(24*time.Hour + time.Minute)
	due(25*time.Hour+time.Minute, of.Team)
}
