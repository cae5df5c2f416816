package workflows

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/temporal"

	"myao/internal/conversation"
)

func TestCatchUpAllContinuesAsNewWithTheRest(t *testing.T) {
	t.Parallel()
	var members []string
	for n := range 2*channelsPerRun + 1 {
		members = append(members, fmt.Sprintf("C%04d", n))
	}
	of := workspace{members: members, fails: refuses("catch up C0000", "catch up C1000")}
	var got []string
	in := CatchUpAllInput{}
	for left := len(members) - channelsPerRun; ; left -= channelsPerRun {
		c := newBackgroundEnv(t, of)
		err := c.run(CatchUpAll, in)
		for _, l := range c.record {
			got = append(got, l.what)
		}
		if err == nil {
			returned(t, c, CatchUpOutput{Channels: 1001, Failed: 2, Read: 3 * 999, New: 2 * 999, Taken: 999})
			break
		}
		in = continuedInput[CatchUpAllInput](t, err, "CatchUpAll")
		if len(in.Left) != left {
			t.Fatalf("continues with %d channels, want %d", len(in.Left), left)
		}
	}
	want := []string{"sync", "channels"}
	for _, m := range members {
		want = append(want, "catch up "+m+"")
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

func TestCatchUpAllFailsWhenTheChannelsCannotBeRead(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{fails: refuses("channels")})
	if err := c.run(CatchUpAll, CatchUpAllInput{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("ended with %v", err)
	}
}

func TestCancelledCatchUpAllEndsAsCancelled(t *testing.T) {
	t.Parallel()
	for call, what := range map[int]string{1: "the listing", 2: "the channels", 4: "two channels"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newBackgroundEnv(t, workspace{members: []string{"C1", "C2", "C3"}})
			c.cancelAt = call
			if err := c.run(CatchUpAll, CatchUpAllInput{}); !temporal.IsCanceledError(err) {
				t.Errorf("ended with %v, want canceled", err)
			}
			if n := len(c.lines()); n != call {
				t.Errorf("%d activities, want %d: %q", n, call, c.lines())
			}
		})
	}
}

// Each channel has an activity of its own, with its own retries.
func TestCatchUpAllReadsEachChannelAlone(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{members: []string{"C1", "C2", "C3"}, fails: refuses("catch up C2")})
	if err := c.run(CatchUpAll, CatchUpAllInput{}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s sync", "1s channels", "2s catch up C1", "2s catch up C2", "2s catch up C3")
	returned(t, c, CatchUpOutput{Channels: 3, Failed: 1, Read: 6, New: 4, Taken: 2})
	want := limits{10 * minute, time.Hour, 10 * second, conversation.TaskQueue}
	if c.limits["CatchUp"] != want || c.most["CatchUp"] != catchUpConcurrency {
		t.Errorf("limits %v, at most %d at a time; want %v and %d", c.limits["CatchUp"], c.most["CatchUp"], want, catchUpConcurrency)
	}
}

// The first channels are read each alone and without pauses, the others together. One that fails stops no other.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	var members []string
	for n := range promptChannels + channelsPerActivity + 2 {
		members = append(members, fmt.Sprintf("C%03d", n))
	}
	c := newBackgroundEnv(t, workspace{members: members, gap: &gap{}, fails: refuses("catch up C001", "catch up C101", "sync")})
	if err := c.run(CatchUp, CatchUpInput{PauseSeconds: 3}); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"due": true, "sync": true}
	for _, m := range members[:promptChannels] {
		want["catch up "+m+""] = true
	}
	for _, together := range [][]string{members[promptChannels : promptChannels+channelsPerActivity], members[promptChannels+channelsPerActivity:]} {
		want["catch up together "+strings.Join(together, " ")+", pausing 3 s"] = true
	}
	want["catch up C101, pausing 3 s"] = true // once more
	for _, l := range c.record {
		if !want[l.what] && l.what != "unread" {
			t.Errorf("not wanted, or twice: %s", l.what)
		}
		delete(want, l.what)
	}
	if len(want) > 0 {
		t.Errorf("wanted %v", want)
	}
	n := len(members) - 2
	returned(t, c, CatchUpOutput{Channels: n + 2, Failed: 2, Read: 3 * n, New: 2 * n, Taken: n})
	var metadata sdkpb.WorkflowMetadata
	if value, err := c.QueryWorkflow("__temporal_workflow_metadata"); err != nil || value.Get(&metadata) != nil ||
		metadata.GetCurrentDetails() != "122 of 122 channels read: 360 messages, 240 of them new, 120 taken up; 2 failed" {
		t.Errorf("the Web UI says %q, %v", metadata.GetCurrentDetails(), err)
	}
}

// A run that is stopped and begun again goes on with the channels that are unread, and where nearly all
// fail, it gives up.
func TestCatchUpGoesOn(t *testing.T) {
	t.Parallel()
	var members []string
	for n := range channelsPerRun + 250 {
		members = append(members, fmt.Sprintf("C%04d", n))
	}
	of := workspace{members: members, gap: &gap{}}
	c := newBackgroundEnv(t, of)
	c.RegisterDelayedCallback(c.CancelWorkflow, 20*time.Minute)
	if err := c.run(CatchUp, CatchUpInput{}); !temporal.IsCanceledError(err) {
		t.Fatal(err)
	}
	read := len(of.gap.read)
	if read < 20 || read > 60 {
		t.Fatalf("%d channels read in twenty minutes, two at a time", read)
	}
	c = newBackgroundEnv(t, of)
	in := continuedInput[CatchUpInput](t, c.run(CatchUp, CatchUpInput{}), "CatchUp")
	if in.Gap != 7 || len(in.Except) > 0 {
		t.Errorf("continues with %+v", in)
	}
	c = newBackgroundEnv(t, of)
	if err := c.run(CatchUp, in); err != nil {
		t.Fatal(err)
	}
	if want := (limits{30 * minute, time.Hour, 15 * second, conversation.TaskQueue}); c.limits["CatchUp"] != want {
		t.Errorf("limits of an activity that reads several channels: %v, want %v", c.limits["CatchUp"], want)
	}
	slices.Sort(of.gap.read)
	if !slices.Equal(of.gap.read, members) {
		t.Errorf("%d channels were read, want each of %d once", len(of.gap.read), len(members))
	}
	of.gap, of.fails = &gap{}, refuses("catch up")
	c = newBackgroundEnv(t, of)
	if err := c.run(CatchUp, CatchUpInput{}); err != nil {
		t.Fatal(err)
	}
	var out CatchUpOutput
	if err := c.GetWorkflowResult(&out); err != nil || out.Failed <= maxExcept || out.Failed == len(members) {
		t.Errorf("ended with %+v, %v", out, err)
	}
}

func TestChannelSync(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{})
	if err := c.run(ChannelSync, Of{}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s sync")
	if want := map[string]limits{"SyncChannels": {15 * minute, time.Hour, 10 * second, conversation.TaskQueue}}; !reflect.DeepEqual(c.limits, want) {
		t.Errorf("limits %v, want %v", c.limits, want)
	}
	c = newBackgroundEnv(t, workspace{fails: refuses("sync")})
	if err := c.run(ChannelSync, Of{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("ended with %v", err)
	}
}
