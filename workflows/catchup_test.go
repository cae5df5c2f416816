package workflows

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/temporal"

	"myao/internal/conversation"
)

func TestCatchUpKeepsTheOrderOfChannels(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{members: []string{"C9", "C1", "C5", "C2", "C7"}})
	if err := c.run(CatchUp, CatchUpInput{}); err != nil {
		t.Fatal(err)
	}
	c.wants(
		"0s channels",
		"1s catch up together C9 C1 C5 C2 C7",
	)
	returned(t, c, CatchUpOutput{Channels: 5, Read: 15, New: 10, Taken: 5})
	want := map[string]limits{
		"Channels": {minute, time.Hour, 10 * second, conversation.TaskQueue},
		"CatchUp":  {30 * minute, time.Hour, 15 * second, conversation.TaskQueue},
	}
	if !reflect.DeepEqual(c.limits, want) {
		t.Errorf("limits %v, want %v", c.limits, want)
	}
}

func TestCatchUpReadsSeveralChannelsInOneActivity(t *testing.T) {
	t.Parallel()
	var members []string
	for n := range 5*channelsPerActivity/2 + 1 {
		members = append(members, fmt.Sprintf("C%03d", n))
	}
	c := newBackgroundEnv(t, workspace{members: members})
	if err := c.run(CatchUp, CatchUpInput{PauseSeconds: 7}); err != nil {
		t.Fatal(err)
	}
	want := []string{"0s channels"}
	for i, at := range []string{"1s", "1s", "20m1s"} {
		want = append(want, at+" catch up together "+strings.Join(members[i*channelsPerActivity:min((i+1)*channelsPerActivity, len(members))], " ")+", pausing 7 s")
	}
	c.wants(want...)
	if c.most["CatchUp"] != catchUpConcurrency {
		t.Errorf("at most %d at a time, want %d", c.most["CatchUp"], catchUpConcurrency)
	}
}

func TestCatchUpAtStartListsFirstAndReadsThreads(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{members: []string{"C1", "C2"}})
	if err := c.run(CatchUp, CatchUpInput{Start: true}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s sync", "1s channels", "2s catch up C1 and threads", "2s catch up C2 and threads")
	returned(t, c, CatchUpOutput{Channels: 2, Read: 6, New: 4, Taken: 2})
}

func TestCatchUpContinuesWithoutTheListing(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{members: []string{"C1"}, fails: refuses("sync")})
	if err := c.run(CatchUp, CatchUpInput{Start: true}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s channels", "0s sync", "1s catch up C1 and threads") // at the same time by this clock
}

func TestAChannelThatFailsStopsNoOther(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{members: []string{"C1", "C2", "C3", "C4"}, fails: refuses("catch up C1", "catch up C3")})
	if err := c.run(CatchUp, CatchUpInput{}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s channels", "1s catch up together C1 C2 C3 C4", "4m1s catch up C1", "4m1s catch up C3") // once more, one by one
	returned(t, c, CatchUpOutput{Channels: 4, Failed: 2, Read: 6, New: 4, Taken: 2})
	var metadata sdkpb.WorkflowMetadata
	if value, err := c.QueryWorkflow("__temporal_workflow_metadata"); err != nil || value.Get(&metadata) != nil ||
		metadata.GetCurrentDetails() != "4 of 4 channels read: 6 messages, 4 of them new, 2 taken up; 2 failed" {
		t.Errorf("the Web UI says %q, %v", metadata.GetCurrentDetails(), err)
	}
}

func TestCatchUpWithNothingToReadEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   CatchUpInput
		want []string
	}{
		"no channels":          {CatchUpInput{}, []string{"0s channels"}},
		"no channels at start": {CatchUpInput{Start: true}, []string{"0s sync", "1s channels"}},
		"an empty list":        {CatchUpInput{Left: []string{}}, []string{"0s channels"}}, // the same as none
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newBackgroundEnv(t, workspace{})
			if err := c.run(CatchUp, test.in); err != nil {
				t.Fatal(err)
			}
			c.wants(test.want...)
			returned(t, c, CatchUpOutput{})
		})
	}
}

func TestCatchUpContinuesAsNewWithTheRest(t *testing.T) {
	t.Parallel()
	var members []string
	for n := range 2*channelsPerRun + 1 {
		members = append(members, fmt.Sprintf("C%04d", n))
	}
	of := workspace{members: members, fails: refuses("catch up C0000", "catch up C1000")}
	var got []string
	in := CatchUpInput{Start: true}
	for left := len(members) - channelsPerRun; ; left -= channelsPerRun {
		c := newBackgroundEnv(t, of)
		err := c.run(CatchUp, in)
		for _, l := range c.record {
			got = append(got, l.what)
		}
		if err == nil {
			returned(t, c, CatchUpOutput{Channels: 1001, Failed: 2, Read: 3 * 999, New: 2 * 999, Taken: 999})
			break
		}
		in = continuedInput[CatchUpInput](t, err, "CatchUp")
		if !in.Start || len(in.Left) != left {
			t.Fatalf("continues with start %v and %d channels, want true and %d", in.Start, len(in.Left), left)
		}
	}
	want := []string{"sync", "channels"}
	for _, m := range members {
		want = append(want, "catch up "+m+" and threads")
	}
	if d := difference(got, want); d != nil {
		t.Errorf("not as wanted: %q", d)
	}
	// Two run concurrently, and none starts long before its turn.
	at := map[string]int{}
	for i, what := range got {
		at[what] = i
	}
	for i, what := range want {
		if n := at[what] - i; n < -1 || n > 1 {
			t.Errorf("%s has place %d, want %d", what, at[what], i)
		}
	}
}

func TestCatchUpFailsWhenTheChannelsCannotBeRead(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{fails: refuses("channels")})
	if err := c.run(CatchUp, CatchUpInput{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("ended with %v", err)
	}
}

func TestCancelledCatchUpEndsAsCancelled(t *testing.T) {
	t.Parallel()
	for at, want := range map[time.Duration]int{ // activities that have started by then
		500 * time.Millisecond:  1, // the listing
		1500 * time.Millisecond: 2, // the channels
		30 * time.Second:        4,
	} {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			c := newBackgroundEnv(t, workspace{members: []string{"C1", "C2", "C3"}})
			c.RegisterDelayedCallback(c.CancelWorkflow, at)
			if err := c.run(CatchUp, CatchUpInput{Start: true}); !temporal.IsCanceledError(err) {
				t.Errorf("ended with %v, want canceled", err)
			}
			if n := len(c.lines()); n != want {
				t.Errorf("%d activities, want %d: %q", n, want, c.lines())
			}
		})
	}
}

// At the start each channel has an activity of its own, with its own retries.
func TestCatchUpAtStartReadsEachChannelAlone(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{members: []string{"C1", "C2", "C3"}, fails: refuses("catch up C2")})
	if err := c.run(CatchUp, CatchUpInput{Start: true}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s sync", "1s channels", "2s catch up C1 and threads", "2s catch up C2 and threads", "2s catch up C3 and threads")
	returned(t, c, CatchUpOutput{Channels: 3, Failed: 1, Read: 6, New: 4, Taken: 2})
	want := limits{10 * minute, time.Hour, 10 * second, conversation.TaskQueue}
	if c.limits["CatchUp"] != want || c.most["CatchUp"] != catchUpConcurrency {
		t.Errorf("limits %v, at most %d at a time; want %v and %d", c.limits["CatchUp"], c.most["CatchUp"], want, catchUpConcurrency)
	}
}

func TestChannelSync(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{})
	if err := c.run(ChannelSync); err != nil {
		t.Fatal(err)
	}
	c.wants("0s sync")
	if want := map[string]limits{"SyncChannels": {15 * minute, time.Hour, 10 * second, conversation.TaskQueue}}; !reflect.DeepEqual(c.limits, want) {
		t.Errorf("limits %v, want %v", c.limits, want)
	}
	c = newBackgroundEnv(t, workspace{fails: refuses("sync")})
	if err := c.run(ChannelSync); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("ended with %v", err)
	}
}
