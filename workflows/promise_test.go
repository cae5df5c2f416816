package workflows

import (
	"slices"
	"testing"
	"time"

	"myao/activities"
	"myao/internal/conversation"
	"myao/internal/operate/choice"
	"myao/internal/store"
)

// A promise of every Monday is kept at nine for five weeks, over a change of the clocks, although nobody says
// anything and each run continues as new after half a week. The conversation ends when the promise has.
func TestPromiseOfEveryMonday(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 3, 9, 9, 0, 0, 0, berlin) // the clocks change on the 29th
	row := store.Promise{Choice: store.Choice{ID: "p"}, Every: "week", Zone: berlin.String(), FirstUS: first.UnixMicro()}
	slow := policy
	slow.IdleClose = 84 * 3600

	run := newEnvAt(t, noon, conversation.Input{Conversation: thread})
	var posted, ended []string
	now := func() string { return run.Now().In(berlin).Format("2 Jan 15:04") }
	run.check = func(in activities.CheckInput) ending[activities.CheckOutput] {
		if want := (conversation.Occasion{Promise: "p", Number: len(posted) + 1}); in.Occasion != want {
			t.Errorf("looks whether %q is still wanted, want %q", in.Occasion, want)
		}
		return allSucceed().check(in)
	}
	run.post = func(in activities.PostInput) ending[activities.ReplyOutput] {
		if in.Occasion == (conversation.Occasion{}) {
			return promising("p", 1, first)
		}
		posted = append(posted, now())
		return result(conversation.Done)
	}
	run.end = func(in activities.EndPromiseInput) (e ending[activities.EndPromiseOutput]) {
		ended = append(ended, now())
		if in.Number < 5 { // or it was cancelled meanwhile
			e.out.Next = choice.NextDue(row, run.Now())
		}
		return e
	}
	run.at(0, func() { run.signal(slow, byAlice(addressed(1))...) })
	runs := 1
	for err := run.play(); err != nil; err = run.play() {
		in := continuedInput[conversation.Input](t, err, conversation.WorkflowType)
		if len(in.State.Promises) != 1 {
			t.Fatalf("run %d leaves the promises %+v", runs, in.State.Promises)
		}
		run, runs = run.nextRun(in), runs+1
	}
	if want := []string{"9 Mar 09:00", "16 Mar 09:00", "23 Mar 09:00", "30 Mar 09:00", "6 Apr 09:00"}; !slices.Equal(posted, want) || !slices.Equal(ended, want) {
		t.Errorf("posted at %q, ended at %q, want %q", posted, ended, want)
	}
	if runs < 6 || runs > 12 {
		t.Errorf("%d runs in five weeks", runs)
	}
}
