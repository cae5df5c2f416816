package workflows

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func channels(ids ...string) (scopes []chat.Scope) {
	for _, id := range ids {
		scopes = append(scopes, chat.Scope{Team: "T1", Channel: id})
	}
	return scopes
}

func threads(channel string, ts ...string) (scopes []chat.Scope) {
	for _, ts := range ts {
		scopes = append(scopes, chat.Scope{Team: "T1", Channel: channel, Thread: ts})
	}
	return scopes
}

func TestMemoryGoesFromNarrowToBroadScopes(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{
		threads:  [][]chat.Scope{threads("C1", "1.0", "2.0", "3.0", "4.0", "5.0"), threads("C2", "6.0")},
		channels: [][]chat.Scope{channels("C1"), channels("C2")},
	})
	if err := c.run(Memory, MemoryInput{MaxConcurrent: 4}); err != nil {
		t.Fatal(err)
	}
	c.wants(
		"0s survey threads",
		"1s remember T1 thread C1/1.0", "1s remember T1 thread C1/2.0", "1s remember T1 thread C1/3.0", "1s remember T1 thread C1/4.0",
		"1m1s remember T1 thread C1/5.0",
		"2m1s survey threads after thread C1/5.0",
		"2m2s remember T1 thread C2/6.0",
		"3m2s survey channels",
		"3m3s remember T1 channel C1",
		"4m3s survey channels after channel C1",
		"4m4s remember T1 channel C2",
		"5m4s remember T1 workspace",
	)
	returned(t, c, MemoryOutput{Threads: 6, Channels: 2, Workspace: true, Calls: 6 + 2*2 + 2})
}

func TestMemoryWithNothingNewAsksForTheWorkspaceOnly(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{})
	if err := c.run(Memory, MemoryInput{}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s survey threads", "1s survey channels", "2s remember T1 workspace")
	returned(t, c, MemoryOutput{})
}

func TestMemoryKeepsItsTime(t *testing.T) {
	t.Parallel()
	at := noon.Add(-time.Hour)
	c := newBackgroundEnv(t, workspace{threads: [][]chat.Scope{threads("C1", "1.0")}, channels: [][]chat.Scope{channels("C1")}})
	if err := c.run(Memory, MemoryInput{At: at}); err != nil {
		t.Fatal(err)
	}
	for _, l := range c.lines() {
		if !strings.HasSuffix(l, asOf(at)) {
			t.Errorf("%s: want it%s", l, asOf(at))
		}
	}
}

func TestAScopeThatFailsStopsNoOther(t *testing.T) {
	t.Parallel()
	of := workspace{
		threads:  [][]chat.Scope{threads("C1", "1.0", "2.0", "3.0", "4.0", "5.0")},
		channels: [][]chat.Scope{channels("C1", "C2")},
	}
	for _, test := range []struct {
		name  string
		fails []string
		want  MemoryOutput
	}{
		{"threads", []string{"remember T1 thread C1/1.0", "remember T1 thread C1/3.0"},
			MemoryOutput{Threads: 3, Channels: 2, Workspace: true, Failed: 2, Calls: 9}},
		{"a channel", []string{"remember T1 channel C1"}, MemoryOutput{Threads: 5, Channels: 1, Workspace: true, Failed: 1, Calls: 9}},
		{"the workspace", []string{"remember T1 workspace"}, MemoryOutput{Threads: 5, Channels: 2, Failed: 1, Calls: 9}},
		{"all", []string{"remember"}, MemoryOutput{Failed: 8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newBackgroundEnv(t, of)
			c.of.fails = refuses(test.fails...)
			if err := c.run(Memory, MemoryInput{}); err != nil {
				t.Fatal(err)
			}
			returned(t, c, test.want)
			if n := len(c.lines()); n != 2+8 {
				t.Errorf("%d activities: %q", n, c.lines())
			}
		})
	}
}

func TestAScopeIsRetried(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{channels: [][]chat.Scope{channels("C1")}})
	c.of.fails = func(what string, attempt int) error {
		if strings.HasPrefix(what, "remember T1 channel") && attempt < 4 {
			return errModel
		}
		return nil
	}
	if err := c.run(Memory, MemoryInput{}); err != nil {
		t.Fatal(err)
	}
	again := "remember T1 channel C1"
	c.wants("0s survey threads", "1s survey channels", "2s "+again, "3s "+again, "5s "+again, "9s "+again, "1m9s remember T1 workspace")
	returned(t, c, MemoryOutput{Channels: 1, Workspace: true, Calls: 4})
}

func TestCancelledMemoryEndsAsCancelled(t *testing.T) {
	t.Parallel()
	of := workspace{
		threads:  [][]chat.Scope{threads("C1", "1.0", "2.0", "3.0", "4.0", "5.0")},
		channels: [][]chat.Scope{channels("C1")},
	}
	for call, what := range map[int]string{
		1: "the survey of threads", 5: "four threads", 7: "the survey of channels", 8: "a channel", 9: "the workspace",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newBackgroundEnv(t, of)
			c.cancelAt = call
			if err := c.run(Memory, MemoryInput{}); !temporal.IsCanceledError(err) {
				t.Errorf("ended with %v, want canceled", err)
			}
			if n := len(c.lines()); n != call {
				t.Errorf("%d activities, want %d: %q", n, call, c.lines())
			}
		})
	}
}

// However often a run continues as new, its parts together do what one run does.
func TestMemoryContinuesAsNewWhereItWas(t *testing.T) {
	t.Parallel()
	of := workspace{
		threads:  [][]chat.Scope{threads("C1", "1.0"), threads("C2", "2.0", "3.0"), threads("C3", "4.0")},
		channels: [][]chat.Scope{channels("C1", "C2"), channels("C3")},
		fails:    refuses("remember T1 thread C2/3.0"),
	}
	var got []string
	in, start, runs := MemoryInput{}, noon, 1
	for ; ; runs++ {
		c := newBackgroundEnv(t, of)
		c.SetStartTime(start)
		c.SetContinueAsNewSuggested(true)
		err := c.run(Memory, in)
		for _, l := range c.record {
			got = append(got, l.what)
		}
		if err == nil {
			returned(t, c, MemoryOutput{Threads: 3, Channels: 3, Workspace: true, Failed: 1, Calls: 3 + 6 + 2})
			break
		}
		in, start = continuedInput[MemoryInput](t, err, "Memory"), c.Now()
		if !in.At.Equal(noon) {
			t.Fatalf("continues as of %s, want %s", in.At, noon)
		}
	}
	want := []string{
		"survey threads", "remember T1 thread C1/1.0",
		"survey threads after thread C1/1.0", "remember T1 thread C2/2.0", "remember T1 thread C2/3.0",
		"survey threads after thread C2/3.0", "remember T1 thread C3/4.0",
		"survey channels", "remember T1 channel C1", "remember T1 channel C2",
		"survey channels after channel C2", "remember T1 channel C3", "remember T1 workspace",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || runs != 5 {
		t.Errorf("in %d runs\n\t%s\nwant in 5\n\t%s", runs, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestFanOutIsBounded(t *testing.T) {
	t.Parallel()
	var many []chat.Scope
	for n := range 30 {
		many = append(many, threads("C1", ts(n+1))...)
	}
	c := newBackgroundEnv(t, workspace{threads: [][]chat.Scope{many}})
	c.of.fails = func(what string, attempt int) error { // so that they do not run in step
		if attempt <= len(what)%3 {
			return errModel
		}
		return nil
	}
	if err := c.run(Memory, MemoryInput{MaxConcurrent: 6}); err != nil {
		t.Fatal(err)
	}
	returned(t, c, MemoryOutput{Threads: 30, Calls: 30})
	if c.most["Remember"] != 6 || c.most["FindScopes"] != 1 {
		t.Errorf("at a time: %v, want %d", c.most, 6)
	}
	want := map[string]limits{
		"FindScopes": {minute, time.Hour, 10 * second, conversation.TaskQueue},
		"Remember":   {5 * minute, time.Hour, 10 * second, conversation.ModelTaskQueue},
	}
	if !reflect.DeepEqual(c.limits, want) {
		t.Errorf("limits %v, want %v", c.limits, want)
	}
}

// Schedules keep the inputs of their runs for years.
func TestInputsInJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   any
		want string
	}{
		{MemoryInput{}, `{"at":"0001-01-01T00:00:00Z","after":{"team":""},"done":{"threads":0,"channels":0,"workspace":false,"calls":0}}`},
		{CatchUpInput{}, `{"done":{"channels":0,"read":0}}`},
		{CatchUpAllInput{Left: []string{"C1"}}, `{"left":["C1"],"done":{"channels":0,"read":0}}`},
	} {
		if got, err := json.Marshal(test.in); err != nil || string(got) != test.want {
			t.Errorf("%+v: %s, %v; want %s", test.in, got, err, test.want)
		}
	}
	var memory MemoryInput
	if err := json.Unmarshal([]byte(`{}`), &memory); err != nil || !reflect.DeepEqual(memory, MemoryInput{}) {
		t.Errorf("from {}: %v", fmt.Sprint(memory, err))
	}
}
