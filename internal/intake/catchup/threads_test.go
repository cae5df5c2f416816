package catchup

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/sandbox/workspace"
)

func TestWhichThreadsAreRead(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	quiet := b.say(5*days, "quiet")
	b.say(4*days, "long ago", workspace.InThread(quiet))
	fresh := b.say(6*days, "nobody had replied to this")
	ancient := b.say(20*days, "ancient")
	b.hear(b.standing(b.say(3*days, "known", workspace.InThread(ancient))))
	unknown := b.say(20*days, "too old to be looked for")
	near := b.say(3*hours, "near")
	b.say(3*hours, b.Mention("in fresh"), workspace.InThread(fresh))
	b.say(2*hours, b.Mention("in ancient"), workspace.InThread(ancient))
	b.say(2*hours, b.Mention("in unknown"), workspace.InThread(unknown))
	b.say(1*hours, b.Mention("in near"), workspace.InThread(near))

	b.catchUp()
	b.wantTaken("near, @in fresh, @in ancient, @in near")
	if got := b.calls("conversations.replies"); got != 3 {
		t.Errorf("%d threads were read, want 3", got)
	}
	if got := b.marks(); got.ThreadsRead != noon || chat.Time(got.ThreadsCaughtUpTo) != noon.Add(-hours) {
		t.Errorf("marks %+v", got)
	}
	b.Time.Set(noon.Add(59 * minutes))
	b.catchUp()
	b.wantTaken("")
}

// TestUnknownNewestReplies reads every thread, however quiet, if Slack does not send the newest reply.
func TestUnknownNewestReplies(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	root := b.say(5*days, "root")
	b.say(hours, b.Mention("hello"), workspace.InThread(root))
	b.Slack = untold{b.Slack}
	b.catchUp()
	b.wantTaken("@hello")
}

type untold struct{ Slack }

func (u untold) History(ctx context.Context, channel string, r slack.Range, own slack.Identity) (slack.Page, error) {
	page, err := u.Slack.History(ctx, channel, r, own)
	for parent := range page.Threads {
		page.Threads[parent] = ""
	}
	return page, err
}

func TestDeletedThread(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	gone, there := b.say(20*days, "gone"), b.say(20*days, "there")
	for _, root := range []string{gone, there} {
		b.hear(b.standing(b.say(2*days, "known", workspace.InThread(root))))
	}
	b.say(hours, "missed", workspace.InThread(there))
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Error: "thread_not_found",
		Match: func(c workspace.Call) bool { return c.Args.Get("ts") == gone }})
	b.catchUp()
	b.wantTaken("missed")
	if got := b.marks().ThreadsRead; got != noon {
		t.Errorf("threads read %s", got)
	}
}

// TestARefusalWhileThreadsAreRead has Slack refuse after ten threads. What was read is recorded, the marks
// stay, and the next call reads only the rest.
func TestARefusalWhileThreadsAreRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		parent    time.Duration
		markMoves bool
	}{
		"under new messages": {parent: 10 * hours},
		"under old messages": {parent: 3 * days, markMoves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{})
			for i := range 20 {
				root := b.say(tc.parent-time.Duration(i)*minutes, "root")
				b.say(2*hours-time.Duration(i)*minutes, fmt.Sprint(i), workspace.InThread(root))
			}
			b.say(hours, "top")
			before := b.marks()
			calls := 0
			off := b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Status: 429, RetryAfter: "9",
				Match: func(workspace.Call) bool { calls++; return calls > 10 }})
			r, err := b.Channel(t.Context(), b.General)
			var e *slack.Error
			if !errors.As(err, &e) || e.RetryAfter != 9*time.Second {
				t.Fatalf("got %v", err)
			}
			if r.Taken < 11 {
				t.Errorf("got %+v, want what was read taken", r)
			}
			after := b.marks()
			if moved := after.CaughtUpTo != before.CaughtUpTo; moved != tc.markMoves || after.ThreadsCaughtUpTo != before.ThreadsCaughtUpTo || after.ThreadsRead != before.ThreadsRead {
				t.Errorf("marks from %+v to %+v", before, after)
			}
			off()
			history := b.calls("conversations.history")
			b.catchUp()
			if got := b.calls("conversations.replies"); got != 10+1+10 {
				t.Errorf("%d calls, want 10, the refused one, and 10 more", got)
			}
			if got := b.calls("conversations.history") - history; got > 2 {
				t.Errorf("history was read again: %d calls", got)
			}
			if got := len(b.changes()); got != 20+1+map[bool]int{false: 20}[tc.markMoves] {
				t.Errorf("%d changes: %q", got, b.changes())
			}
		})
	}
}

// A thread that Slack cannot show does not keep the top level from being read.
func TestUnreadableThread(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	broken := b.say(10*hours, "broken")
	b.say(2*hours, "reply", workspace.InThread(broken))
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Error: "internal_error",
		Match: func(c workspace.Call) bool { return c.Args.Get("ts") == broken }})
	round := func(at time.Duration) {
		t.Helper()
		b.Time.Set(noon.Add(at))
		if _, err := b.Channel(t.Context(), b.General); err == nil {
			t.Fatal("the thread was read")
		}
	}
	round(0)
	b.recorder.taken()
	b.say(-minutes, b.Mention("missed"))
	listed := b.calls("conversations.history")
	round(minutes)
	round(2 * minutes)
	if got := b.calls("conversations.history"); got != listed {
		t.Errorf("the history was listed %d times more for the next tries", got-listed)
	}
	round(5 * minutes)
	round(10 * minutes)
	b.wantTaken("@missed")
}
