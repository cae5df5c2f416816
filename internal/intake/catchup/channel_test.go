package catchup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
)

const (
	minutes = time.Minute
	hours   = time.Hour
	days    = 24 * time.Hour
)

func TestMissedMessagesAreRecordedOldestFirst(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := setup(t, options{url: url})
		root := b.say(5*days, "an old question")
		b.say(50*minutes, "one")
		three := b.say(40*minutes, "three")
		b.Workspace.SayAsApp(b.General, workspace.App{BotID: "B2", Name: "robot"}, "five", workspace.At(noon.Add(-20*minutes)))
		b.Workspace.Say(b.General, b.Workspace.Bot().UserID, "six", workspace.At(noon.Add(-19*minutes)))
		b.Workspace.Join(b.General, b.Workspace.AddUser("bob").ID)
		b.say(10*minutes, b.Mention("seven"))
		b.say(45*minutes, b.Mention("two"), workspace.InThread(root))
		b.say(30*minutes, "four", workspace.InThread(three))

		got := b.catchUp()
		b.wantTaken("one, @two, three, four, five, six, @seven")
		if want := (Result{Read: 8, New: 8, Taken: 5}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		b.wantChanges(`channel said "one"`, `channel said "three"`, `channel addressed "seven"`,
			`thread addressed "two"`, `thread said "four"`, `thread addressed "seven"`)

		// Again there is nothing: neither for catch-up nor in events that come late.
		if got := b.catchUp(); got.New != 0 || got.Taken != 0 {
			t.Errorf("a second pass: %+v", got)
		}
		b.wantTaken("")
		if n := b.hear(b.standing(three)); n != 0 {
			t.Errorf("the event of a message that was taken is news to %d conversations", n)
		}
	})
}

func TestOnlyRecentMessagesAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	root := b.say(3*days, "root")
	b.say(13*hours, "too old")
	b.say(12*hours+time.Second, b.Mention("a little too old"), workspace.InThread(root))
	b.say(12*hours, "just young enough")
	b.say(11*hours, b.Mention("young"), workspace.InThread(root))
	if got := b.catchUp(); got.New != 5 {
		t.Errorf("got %+v, want all stored", got)
	}
	b.wantTaken("just young enough, @young")
}

func TestNothingBeforeTheChannelWasKnownIsRecorded(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{})
	b.say(2*days, "long ago")
	b.say(hours, b.Mention("before"))
	b.sync()
	b.Time.Set(noon.Add(time.Hour))
	b.say(-hours, "after")
	if got := b.catchUp(); got.New != 3 {
		t.Errorf("got %+v, want all stored", got)
	}
	b.wantTaken("after")
}

func TestALiveMessageDoesNotHideTheGapBeforeIt(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := setup(t, options{url: url})
		root := b.say(2*days, "root")
		b.say(3*hours, "missed")
		b.say(2*hours, b.Mention("missed too"), workspace.InThread(root))
		b.hear(b.standing(b.say(hours, "heard")))
		b.hear(b.standing(b.say(hours, "heard in the thread", workspace.InThread(root))))
		b.catchUp()
		b.wantTaken("missed, @missed too")
		b.Time.Set(noon.Add(10 * time.Minute))
		b.say(-5*minutes, "later")
		b.catchUp()
		b.wantTaken("later")
	})
}

func TestSilentChannel(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{})
	b.sync()
	for range 3 {
		if got := b.catchUp(); got != (Result{}) {
			t.Errorf("got %+v", got)
		}
	}
	// Nothing was there a day ago, so the first word is not missed however late it is read.
	first := b.say(-hours, "the first word")
	b.Time.Set(noon.Add(3 * 24 * time.Hour))
	b.catchUp()
	if _, err := b.Store.Message(t.Context(), "T1", b.General, first); err != nil {
		t.Error(err)
	}
}

func TestAMessageSeenBeforeItsEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	root := b.say(3*days, "root")
	seen := b.say(2*hours, b.Mention("seen when the bot was called by another"), workspace.InThread(root))
	gone := b.say(2*hours, b.Mention("deleted since"), workspace.InThread(root))
	if err := b.Store.SaveHistory(t.Context(), []chat.Message{b.standing(seen), b.standing(gone)}); err != nil {
		t.Fatal(err)
	}
	b.Workspace.Delete(b.General, gone)
	b.catchUp()
	b.wantTaken("@seen when the bot was called by another")
	b.wantChanges(`thread addressed "seen when the bot was called by another"`)
	if n := b.hear(b.standing(seen)); n != 0 {
		t.Errorf("its event, when it comes, is news to %d conversations", n)
	}
	// One that Slack shows so late that its thread's mark is past it.
	b.say(0, "newest", workspace.InThread(root))
	b.catchUp()
	b.wantTaken("newest")
	shown := b.say(hours, "shown late", workspace.InThread(root))
	if err := b.Store.SaveHistory(t.Context(), []chat.Message{b.standing(shown)}); err != nil {
		t.Fatal(err)
	}
	b.catchUp()
	b.wantTaken("shown late")
}

func TestReplySentToTheChannelIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	root := b.say(20*days, "root")
	b.say(3*hours, "reply", workspace.InThread(root))
	b.say(2*hours, b.Mention("to all"), workspace.InThread(root), workspace.Broadcast())
	b.catchUp()
	b.wantTaken("reply, @to all") // the reply before it in the thread was missed, too
	b.wantChanges(`thread said "reply"`, `thread addressed "to all"`)
}

func TestMissedEdits(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := setup(t, options{url: url})
		old := b.say(30*hours, "old")
		same := b.say(4*hours, "same")
		heard := b.say(3*hours, "heard")
		deleted := b.say(3*hours, "deleted")
		missed := b.say(2*hours, "missed")
		for _, ts := range []string{old, same, heard, deleted} {
			b.hear(b.standing(ts))
		}
		if _, err := b.record(slack.MessageEvent{Kind: slack.Deleted, Message: b.standing(deleted)}); err != nil {
			t.Fatal(err)
		}
		for ts, text := range map[string]string{
			old: b.Mention("old"), same: "same", heard: b.Mention("heard"), deleted: "undeleted", missed: b.Mention("missed"),
		} {
			b.Workspace.Edit(b.General, ts, text)
		}
		b.catchUp()
		b.wantTaken("@heard, @missed")
		b.wantChanges(`channel said "old"`, `channel said "same"`, `channel said "heard"`, `channel said ""`, `channel deleted ""`,
			`thread addressed "heard"`, `channel addressed "heard"`, `thread addressed "missed"`, `channel addressed "missed"`)
		// The old one is stored, and no more.
		if m, err := b.Store.Message(t.Context(), "T1", b.General, old); err != nil || m.Text != b.Mention("old") || m.Revision == "" {
			t.Errorf("got %+v, %v, want it as edited", m, err)
		}
		b.catchUp()
		b.wantTaken("")
		// The events of edits that were taken come late.
		for _, ts := range []string{heard, missed} {
			m := b.standing(ts)
			targets, err := b.record(slack.MessageEvent{Kind: slack.Edited, Message: m, Mention: true, HasPrevious: true, Previous: "before"})
			if err != nil || len(targets) != 0 {
				t.Errorf("late event of the edit of %q: %v, %v", m.Text, targets, err)
			}
		}
	})
}

func TestRefusalLeavesTheMark(t *testing.T) {
	t.Parallel()
	second := func(c workspace.Call) bool { return c.Args.Get("cursor") != "" }
	for name, tc := range map[string]struct {
		fault workspace.Fault
		code  string
		after time.Duration
	}{
		"429 on the second page":  {fault: workspace.Fault{Method: "conversations.history", Match: second, Status: 429, RetryAfter: "7"}, code: "ratelimited", after: 7 * time.Second},
		"an error on the second":  {fault: workspace.Fault{Method: "conversations.history", Match: second, Error: "fatal_error"}, code: "fatal_error"},
		"garbage on the second":   {fault: workspace.Fault{Method: "conversations.history", Match: second, Garble: true}, code: "unreadable_answer"},
		"the bot has been thrown": {fault: workspace.Fault{Method: "conversations.history", Error: "not_in_channel"}, code: "not_in_channel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{Config: workspace.Config{PageSize: 2}})
			for i := range 5 {
				b.say(time.Duration(10-i)*minutes, fmt.Sprint(i))
			}
			before := b.marks()
			tc.fault.Times = 1
			b.Workspace.Faults().Add(tc.fault)
			_, err := b.Channel(t.Context(), b.General)
			var e *slack.Error
			if !errors.As(err, &e) || e.Code != tc.code || e.RetryAfter != tc.after {
				t.Fatalf("got %v", err)
			}
			if got := b.marks(); got != before {
				t.Errorf("marks moved from %+v to %+v", before, got)
			}
			b.wantTaken("")
			got := b.catchUp()
			b.wantTaken("0, 1, 2, 3, 4")
			if want := 5; tc.code != "not_in_channel" && got.New >= want {
				t.Errorf("%d of %d are new: the first page was lost", got.New, want)
			}
		})
	}
}

func TestFailingInTheMiddle(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := setup(t, options{url: url, Config: workspace.Config{PageSize: 2}})
		root := b.say(2*days, "root")
		for i := range 6 {
			b.say(time.Duration(10-i)*minutes, fmt.Sprint(i), workspace.InThread(map[bool]string{true: root}[i%2 == 1]))
		}
		before := b.marks()
		broken := errors.New("broken")
		b.recorder.fail = func(n int) error { return map[bool]error{true: broken}[n == 2] }
		if _, err := b.Channel(t.Context(), b.General); !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b.wantTaken("0, 1")
		b.recorder.fail = func(n int) error {
			if n == 1 {
				cancel()
			}
			return nil
		}
		if _, err := b.Channel(ctx, b.General); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		b.recorder.taken()
		if got := b.marks(); got != before {
			t.Errorf("marks moved from %+v to %+v", before, got)
		}
		b.recorder.fail = nil
		b.catchUp()
		b.wantTaken("3, 4, 5")
		b.wantChanges(`channel said "0"`, `thread said "1"`, `channel said "2"`, `thread said "3"`, `channel said "4"`, `thread said "5"`)
	})
}

// closing is a Slack that stops the process after its nth answer.
type closing struct {
	Slack
	left int
	stop func()
}

func (c *closing) History(ctx context.Context, channel string, r slack.Range, own slack.Identity) (slack.Page, error) {
	page, err := c.Slack.History(ctx, channel, r, own)
	if c.left--; c.left == 0 {
		c.stop()
	}
	return page, err
}

func TestStoppedBeforeAPageIsStored(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 3; n++ {
		b := setup(t, options{Config: workspace.Config{PageSize: 2}})
		for i := range 6 {
			b.say(time.Duration(10-i)*minutes, fmt.Sprint(i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		slackAsItIs := b.Slack
		b.Slack = &closing{Slack: slackAsItIs, left: n, stop: cancel}
		if _, err := b.Channel(ctx, b.General); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		b.Slack = slackAsItIs
		b.catchUp()
		b.wantTaken("0, 1, 2, 3, 4, 5")
	}
}

func TestMessagePostedWhileHistoryIsRead(t *testing.T) {
	t.Parallel()
	b := setup(t, options{Config: workspace.Config{PageSize: 2}})
	for i := range 6 {
		b.say(time.Duration(10-i)*minutes, fmt.Sprint(i))
	}
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.history", Match: workspace.LaterPage, Times: 1,
		Alter: func(map[string]any) { b.say(minutes, "meanwhile") }})
	b.catchUp()
	b.wantTaken("0, 1, 2, 3, 4, 5")
	if got := b.marks().CaughtUpTo; chat.Time(got) != noon.Add(-5*minutes) {
		t.Errorf("mark %s, want the newest that was listed", got)
	}
	b.catchUp()
	b.wantTaken("meanwhile")
}

func TestTwoPassesAtOnce(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := setup(t, options{url: url, Config: workspace.Config{PageSize: 3}})
		var want []string
		for i := range 20 {
			b.say(time.Duration(30-i)*minutes, fmt.Sprint(i))
			want = append(want, fmt.Sprintf("channel said %q", fmt.Sprint(i)))
		}
		taken := make(chan int)
		for range 2 {
			go func() {
				r, err := b.Channel(context.WithoutCancel(t.Context()), b.General)
				if err != nil {
					t.Error(err)
				}
				taken <- r.Taken
			}()
		}
		if got := <-taken + <-taken; got != 20 {
			t.Errorf("%d changes were made, want 20", got)
		}
		b.wantChanges(want...)
	})
}

func TestUnlistedChannel(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{})
	if _, err := b.Channel(t.Context(), b.General); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if b.calls("conversations.history") != 0 {
		t.Error("its history was read")
	}
}

func TestALongHistoryIsReadInSeveralCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, options{Config: workspace.Config{PageSize: 1, OldestPageFirst: true}})
	var want []string
	for i := range maxRecentPages + 50 {
		b.say(11*hours-time.Duration(i)*minutes, fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
	}
	before := b.marks()
	if got := b.catchUp(); !got.Unfinished || got.New != maxRecentPages || b.marks() != before || !strings.Contains(b.log.String(), "long history") {
		t.Errorf("got %+v and marks %+v; want a part read, and said so\n%s", got, b.marks(), b.log)
	}
	b.wantTaken("")
	b.say(-minutes, "meanwhile")
	b.Time.Set(noon.Add(5 * minutes))
	if got := b.catchUp(); got.Unfinished || got.New != 51 {
		t.Errorf("got %+v, want the rest", got)
	}
	b.wantTaken(strings.Join(append(want, "meanwhile"), ", "))
}

// What an interrupted pass listed long ago may be deleted by now, and is not answered.
func TestStalePass(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		other bool // another process has read the channel since
		taken string
	}{
		{"at once", 0, false, "@edited, @in a thread, @never mind, @still there"},
		{"after minutes", listingLifetime, false, "@edited, @in a thread, @never mind, @still there"},
		{"after more", listingLifetime + time.Second, false, "@edited, @in a thread, @still there"},
		{"after hours", 5 * hours, false, "@edited, @in a thread, @still there"},
		{"after another", 5 * hours, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{Config: workspace.Config{PageSize: 2}})
			b.say(23*hours, "oldest")
			root := b.say(22*hours, "root")
			old := b.say(13*hours, "old")
			young := b.say(4*hours, "young")
			b.say(3*hours, b.Mention("in a thread"), workspace.InThread(root))
			deleted := b.say(hours, b.Mention("never mind"))
			b.say(30*minutes, b.Mention("still there"))
			for _, ts := range []string{old, young} {
				b.hear(b.standing(ts))
				b.Workspace.Edit(b.General, ts, b.Mention("edited"))
			}
			pages := 0
			off := b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.history", Error: "internal_error", Match: func(workspace.Call) bool {
				pages++
				return pages > 2
			}})
			if got, err := b.Channel(t.Context(), b.General); err == nil || got.Read != 4 {
				t.Fatalf("got %+v, %v, want two pages read", got, err)
			}
			off()
			b.wantTaken("")
			b.Workspace.Delete(b.General, deleted) // without an event
			if c.other {
				if _, err := b.another().Channel(t.Context(), b.General); err != nil {
					t.Fatal(err)
				}
				b.recorder.taken()
			}
			b.Time.Set(noon.Add(c.after))
			b.catchUp()
			b.wantTaken(c.taken)
			if m, err := b.Store.Message(t.Context(), "T1", b.General, old); err != nil || m.Text != b.Mention("edited") {
				t.Errorf("got %+v, %v, want the old one as edited", m, err)
			}
			// a continued pass has read threads as of its beginning
			read := noon
			if c.after > listingLifetime {
				read = noon.Add(c.after)
			}
			if got := b.marks(); chat.Time(got.CaughtUpTo) != noon.Add(-30*minutes) || !got.ThreadsRead.Equal(read) {
				t.Errorf("marks %+v, want all read", got)
			}
		})
	}
}

func TestLongHistoryWithCallsFarApart(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, options{Config: workspace.Config{PageSize: 1}})
	for i := range 2 * maxRecentPages {
		b.say(20*hours-time.Duration(i)*minutes, fmt.Sprint(i))
	}
	b.say(hours, b.Mention("young"))
	if got := b.catchUp(); !got.Unfinished {
		t.Fatalf("got %+v, want a part read", got)
	}
	b.Time.Set(noon.Add(hours))
	if got := b.catchUp(); !got.Unfinished {
		t.Fatalf("got %+v, want another", got)
	}
	b.wantTaken("")
	b.Time.Set(noon.Add(2 * hours))
	if got := b.catchUp(); got.Unfinished {
		t.Errorf("got %+v, want the rest", got)
	}
	b.wantTaken("@young")
}

func TestInterruptedPassOfALeftChannelIsDropped(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	breakOff := func(channel string) {
		t.Helper()
		defer b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.history", Error: "internal_error"})()
		if _, err := b.Channel(t.Context(), channel); err == nil {
			t.Fatal("it did not break off")
		}
	}
	other := b.Workspace.AddChannel(workspace.Public, "other", b.Workspace.Bot().UserID, b.Alice.ID)
	b.sync()
	breakOff(b.General)
	b.Time.Set(noon.Add(unfinishedLifetime))
	breakOff(other)
	if len(b.unfinished) != 2 {
		t.Errorf("%d passes are kept, want both", len(b.unfinished))
	}
	b.Time.Set(noon.Add(unfinishedLifetime + time.Second))
	breakOff(other)
	if len(b.unfinished) != 1 || b.unfinished[other] == nil {
		t.Errorf("%d passes are kept, want the other channel's", len(b.unfinished))
	}
}

func TestALongThreadIsReadInSeveralCalls(t *testing.T) {
	t.Parallel()
	b := setup(t, options{Config: workspace.Config{PageSize: 1, RepeatRoot: true}})
	root := b.say(3*days, "root")
	var want []string
	for i := range maxThreadPages + 20 {
		b.say(11*hours-time.Duration(i)*10*time.Second, fmt.Sprint(i), workspace.InThread(root))
		want = append(want, fmt.Sprint(i))
	}
	before := b.marks().ThreadsCaughtUpTo
	if got, after := b.catchUp(), b.marks().ThreadsCaughtUpTo; !got.Unfinished || after != before {
		t.Errorf("got %+v and mark %s, want a part read and %s", got, after, before)
	}
	b.wantTaken(strings.Join(want[:maxThreadPages], ", ")) // Slack returns the oldest first, so there is no gap
	if got := b.catchUp(); got.Unfinished {
		t.Errorf("got %+v", got)
	}
	b.wantTaken(strings.Join(want[maxThreadPages:], ", "))
}

// TestPassFinishesDespiteRefusals has Slack refuse every 25th call.
func TestPassFinishesDespiteRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t, options{Config: workspace.Config{PageSize: 2}})
	var want []string
	for i := range 100 {
		ts := b.say(11*hours-time.Duration(i)*5*minutes, fmt.Sprintf("%d", i))
		b.say(11*hours-time.Duration(i)*5*minutes-minutes, fmt.Sprintf("re %d", i), workspace.InThread(ts))
		want = append(want, fmt.Sprintf("channel said %q", fmt.Sprintf("%d", i)), fmt.Sprintf("thread said %q", fmt.Sprintf("re %d", i)))
	}
	var n atomic.Int64
	b.Workspace.Faults().Add(workspace.Fault{Status: 429, Match: func(workspace.Call) bool { return n.Add(1)%25 == 0 }})
	refused := 0
	for more := true; more; {
		r, err := b.Channel(t.Context(), b.General)
		var e *slack.Error
		switch {
		case errors.As(err, &e) && e.Kind == slack.RateLimited:
			if refused++; refused > 40 {
				t.Fatal("no end")
			}
		case err != nil:
			t.Fatal(err)
		default:
			more = r.Unfinished
		}
	}
	if refused == 0 {
		t.Error("never refused")
	}
	b.wantChanges(want...)
}

// endless is a Slack whose listings never end.
type endless struct {
	Slack
	circle bool
	pages  int
}

func (e *endless) next() string {
	e.pages++
	if e.circle {
		return fmt.Sprint(e.pages % 3)
	}
	return fmt.Sprint(e.pages)
}

func (e *endless) History(context.Context, string, slack.Range, slack.Identity) (slack.Page, error) {
	return slack.Page{Next: e.next()}, nil
}

func (e *endless) Conversations(context.Context, string) (slack.ChannelPage, error) {
	return slack.ChannelPage{Next: e.next()}, nil
}

func TestEndlessListings(t *testing.T) {
	t.Parallel()
	for _, circle := range []bool{true, false} {
		b := setup(t, options{})
		before := b.marks()
		e := &endless{Slack: b.Slack, circle: circle}
		b.Slack = e
		want, most := errEndless, maxRecentPages
		if circle {
			want, most = errCursorLoop, 4
		}
		if _, err := b.Channel(t.Context(), b.General); !errors.Is(err, want) || e.pages > most {
			t.Errorf("history: got %v after %d pages", err, e.pages)
		}
		e.pages = 0
		if _, err := b.Sync(t.Context()); !errors.Is(err, want) || e.pages > maxListPages {
			t.Errorf("listing: got %v after %d pages", err, e.pages)
		}
		if got := b.marks(); got != before {
			t.Errorf("channel changed from %+v to %+v", before, got)
		}
	}
}
