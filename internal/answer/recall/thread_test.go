package recall

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
)

// setupThread returns a bundle whose threads come from a workspace. Its database is empty.
func setupThread(t *testing.T, config workspace.Config) (b *bundle, say func(n int) (root string)) {
	b = setupIn(t, inprocess.New(t, inprocess.Options{Sandbox: config, At: noon}))
	b.Threads, b.ThreadLimit = b.Client, 3
	return b, func(n int) string {
		root := b.Workspace.Say(b.General, b.Alice.ID, "the root")
		for i := range n {
			b.Workspace.Say(b.General, b.Alice.ID, fmt.Sprintf("reply %d", i), workspace.InThread(root))
		}
		return root
	}
}

// buildAddressed returns the messages in the context if the bot is addressed in a thread.
func (b *bundle) buildAddressed(channel, root string) chat.ChannelMessages {
	b.Helper()
	r, err := b.Build(b.Context(), chat.Conversation{Team: "T1", Channel: channel, Thread: root}, true, "")
	if err != nil {
		b.Fatal(err)
	}
	return r.Conversation
}

// textsOf joins the texts of all messages.
func textsOf(c chat.ChannelMessages) string {
	var texts []string
	for _, m := range c.All() {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, ", ")
}

func TestAddressedReadsNewestReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replies, pageSize int
		repeat            bool
		want              string
		omitted           int
	}{
		{replies: 0, want: "the root"},
		{replies: 2, want: "the root, reply 0, reply 1"},
		{replies: 3, want: "the root, reply 0, reply 1, reply 2"},
		{replies: 4, want: "the root, reply 1, reply 2, reply 3", omitted: 1},
		{replies: 11, pageSize: 2, want: "the root, reply 8, reply 9, reply 10", omitted: 8},
		{replies: 11, pageSize: 3, repeat: true, want: "the root, reply 8, reply 9, reply 10", omitted: 8},
	} {
		t.Run(fmt.Sprintf("%d replies, pages of %d", c.replies, c.pageSize), func(t *testing.T) {
			t.Parallel()
			b, say := setupThread(t, workspace.Config{PageSize: c.pageSize, RepeatRoot: c.repeat})
			b.MessagesLimit = 1 // does not apply to this thread
			root := say(c.replies)
			told := b.buildAddressed(b.General, root)
			if got := textsOf(told); got != c.want || told.Omitted != c.omitted || told.Unread {
				t.Errorf("got %q, %d omitted, unread %t; want %q, %d and nothing unread", got, told.Omitted, told.Unread, c.want, c.omitted)
			}
			// The replies are saved: a context without Slack has them, too.
			b.Threads, b.MessagesLimit = nil, 50
			kept := b.build(b.General, root)
			if got, want := len(kept.Target()), len(told.All()); got != want {
				t.Errorf("%d messages in the database, want %d", got, want)
			}
		})
	}
}

// What is to be answered is shown, however much has been said since.
func TestMessageToAnswerIsShown(t *testing.T) {
	t.Parallel()
	for _, addressed := range []bool{true, false} {
		b, say := setupThread(t, workspace.Config{})
		root := say(12)
		var asked string
		for _, m := range b.Workspace.Messages(b.General) {
			if m.Text == "reply 4" {
				asked = m.TS
			}
		}
		b.ThreadLimit = 20
		b.buildAddressed(b.General, root) // saves the replies
		b.ThreadLimit, b.MessagesLimit = 3, 3
		r, err := b.Build(b.Context(), chat.Conversation{Team: "T1", Channel: b.General, Thread: root}, addressed, asked)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textsOf(r.Conversation), "the root, reply 4, reply 9, reply 10, reply 11"; got != want || r.Conversation.Omitted != 8 {
			t.Errorf("addressed %v: got %q, %d omitted; want %q", addressed, got, r.Conversation.Omitted, want)
		}
	}
}

func TestHistoryIsNotHandled(t *testing.T) {
	t.Parallel()
	b, say := setupThread(t, workspace.Config{})
	root := say(2)
	b.buildAddressed(b.General, root)
	m := b.Workspace.Messages(b.General)[1]
	known := store.Known{}
	_, err := b.Database.Record(t.Context(), chat.Message{Team: "T1", Channel: b.General, TS: m.TS, ThreadTS: root}, func(k store.Known) store.Entry {
		known = k
		return store.Entry{}
	})
	if err != nil || known.Message == nil || known.Handled {
		t.Errorf("known as %+v, %v; want seen and not handled", known, err)
	}
	// A deletion and an edit that came as events stay.
	gone := chat.Message{Team: "T1", Channel: b.General, TS: m.TS, ThreadTS: root, Deleted: true}
	edited := chat.Message{Team: "T1", Channel: b.General, TS: b.Workspace.Messages(b.General)[2].TS, ThreadTS: root, UserID: "U1", Text: "edited", Revision: chat.TS(noon.AddDate(9, 0, 0))}
	b.say(gone, edited)
	if got, want := textsOf(b.buildAddressed(b.General, root)), "the root, edited"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestThreadFromDatabaseWhereSlackFails(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]workspace.Fault{
		"503": {Status: 503}, "429": {Status: 429, RetryAfter: "7200"}, "missing scope": {Error: "missing_scope"},
	} {
		fault.Method = "conversations.replies"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, say := setupThread(t, workspace.Config{})
			root := say(5)
			b.say(chat.Message{Channel: b.General, TS: root, UserID: "U1", Text: "the root"},
				chat.Message{Channel: b.General, TS: chat.TS(chat.Time(root).Add(time.Microsecond)), ThreadTS: root, UserID: "U1", Text: "heard"})
			b.Workspace.Faults().Add(fault)
			c := b.buildAddressed(b.General, root)
			if got, want := textsOf(c), "the root, heard"; got != want || !c.Unread || c.Omitted != 0 {
				t.Errorf("got %q, %d omitted, unread %t; want what the database has, and more that is unread", got, c.Omitted, c.Unread)
			}
		})
	}
}

// Pages read before a failure are saved, and are in the context with what the database has.
func TestPagesBeforeAFailureCount(t *testing.T) {
	t.Parallel()
	b, say := setupThread(t, workspace.Config{PageSize: 5})
	root := say(12)
	last := b.Workspace.Messages(b.General)[12].TS
	b.say(chat.Message{Channel: b.General, TS: last, ThreadTS: root, UserID: "U1", Text: "heard"})
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Error: "missing_scope", Match: workspace.LaterPage})
	c := b.buildAddressed(b.General, root)
	if got, want := textsOf(c), "the root, reply 2, reply 3, heard"; got != want || !c.Unread || c.Omitted != 2 {
		t.Errorf("got %q, %d omitted, unread %t; want %q, 2 and unread", got, c.Omitted, c.Unread, want)
	}
	if len(c.Thread(root)) != 4 || len(b.build(b.General, root).Target()) != 5 {
		// the database has one more than the context
		t.Error("what was read is not stored")
	}
}

func TestTransientFailuresAreRetried(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]workspace.Fault{
		"429": {Status: 429, RetryAfter: "0.05", Times: 2},
		"503": {Status: 503, Times: 1}, "lost": {LoseAnswer: true, Times: 1},
		"on a later page": {Status: 429, RetryAfter: "0.05", Times: 2, Match: workspace.LaterPage},
	} {
		fault.Method = "conversations.replies"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, say := setupThread(t, workspace.Config{PageSize: 4})
			root := say(6)
			b.Workspace.Faults().Add(fault)
			c := b.buildAddressed(b.General, root)
			if got, want := textsOf(c), "the root, reply 3, reply 4, reply 5"; got != want || c.Unread || c.Omitted != 3 {
				t.Errorf("got %q, %d omitted, unread %t; want %q, 3 and nothing unread", got, c.Omitted, c.Unread, want)
			}
		})
	}
}

// failingThreads fails a number of times.
type failingThreads struct {
	times, asked int
	err          error
}

func (r *failingThreads) Replies(context.Context, string, string, slack.Range, slack.Identity) (slack.Page, error) {
	if r.asked++; r.asked <= r.times {
		return slack.Page{}, r.err
	}
	return slack.Page{}, nil
}

func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	limited := func(d time.Duration) error {
		return &slack.Error{Method: "conversations.replies", Kind: slack.RateLimited, RetryAfter: d}
	}
	for name, tt := range map[string]struct {
		failingThreads
		asked  int
		waited time.Duration
		fails  bool
	}{
		"as long as Slack says":        {failingThreads{times: 2, err: limited(3 * time.Second)}, 3, 6 * time.Second, false},
		"three tries":                  {failingThreads{times: 3, err: limited(time.Second)}, 3, 2 * time.Second, true},
		"half a second":                {failingThreads{times: 1, err: limited(0)}, 2, pagePause, false},
		"not beyond the end":           {failingThreads{times: 1, err: limited(threadTimeout)}, 1, 0, true},
		"not beyond what is left":      {failingThreads{times: 2, err: limited(5 * time.Second)}, 2, 5 * time.Second, true},
		"not for what does not pass":   {failingThreads{times: 1, err: &slack.Error{Kind: slack.Final}}, 1, 0, true},
		"not for what is no refusal":   {failingThreads{times: 1, err: errors.New("broken")}, 1, 0, true},
		"not where nothing is refused": {failingThreads{}, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := &threadReader{Builder: &Builder{Threads: &tt.failingThreads, Clock: time.Now}}
				err := r.read(t.Context())
				if waited := time.Since(began); waited != tt.waited || tt.failingThreads.asked != tt.asked || (err != nil) != tt.fails {
					t.Errorf("asked %d times in %v, %v; want %d in %v, failing %t", tt.failingThreads.asked, waited, err, tt.asked, tt.waited, tt.fails)
				}
			})
		})
	}
}

// longThread is a thread with more pages than are read from its beginning. The parent is on every
// page.
type longThread struct {
	root         string
	said         []time.Time // in order
	page         int
	noLatest     bool // the parent does not name its newest reply
	ignoresRange bool // the beginning of a range has no effect
	pages        int
	tick         func()
}

func (l *longThread) Replies(_ context.Context, _, _ string, r slack.Range, _ slack.Identity) (slack.Page, error) {
	l.pages++
	if l.tick != nil {
		l.tick()
	}
	message := func(ts, thread, text string) chat.Message {
		return chat.Message{Team: "T1", Channel: "C1", TS: ts, ThreadTS: thread, UserID: "U1", Text: text}
	}
	p := slack.Page{Messages: []chat.Message{message(l.root, "", "the root")}, Threads: map[string]string{l.root: chat.TS(l.said[len(l.said)-1])}}
	if l.noLatest {
		p.Threads = nil
	}
	first, _ := strconv.Atoi(r.Cursor)
	for i, at := range l.said {
		if i < first || !l.ignoresRange && at.Before(chat.Time(r.Oldest)) {
			continue
		}
		if len(p.Messages) > l.page {
			p.Next = strconv.Itoa(i)
			break
		}
		p.Messages = append(p.Messages, message(chat.TS(at), l.root, fmt.Sprintf("reply %d", i)))
	}
	return p, nil
}

func timesEvery(pause time.Duration, n int) (times []time.Time) {
	for i := range n {
		times = append(times, noon.Add(time.Duration(i+1)*pause))
	}
	return times
}

func TestFindEndOfLongThread(t *testing.T) {
	t.Parallel()
	const limit = 20
	for name, tt := range map[string]struct {
		longThread
		heard   bool // the newest reply came as an event
		omitted int
		unread  bool
	}{
		"a minute each":           {longThread{said: timesEvery(time.Minute, 5000), page: 200}, false, chat.CountAtMost, false},
		"a second each":           {longThread{said: timesEvery(time.Second, 5000), page: 200}, false, chat.CountAtMost, false},
		"in a burst":              {longThread{said: timesEvery(time.Microsecond, 5000), page: 200}, false, chat.CountAtMost, false},
		"a day each":              {longThread{said: timesEvery(24*time.Hour, 2000), page: 200}, false, chat.CountAtMost, false},
		"a burst, and a late one": {longThread{said: append(timesEvery(time.Second, 4000), noon.AddDate(0, 1, 0)), page: 200}, false, chat.CountAtMost, false},
		"small pages":             {longThread{said: timesEvery(time.Minute, 2000), page: 10}, false, 200, true},
		"latest in the database":  {longThread{said: timesEvery(time.Minute, 5000), page: 200, noLatest: true}, true, chat.CountAtMost, false},
		"latest unknown":          {longThread{said: timesEvery(time.Minute, 5000), page: 200, noLatest: true}, false, chat.CountAtMost, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			tt.root = at(0)
			end := tt.said[len(tt.said)-1]
			b.Time.Set(end.Add(time.Minute))
			if tt.heard {
				b.Time.Set(end.AddDate(1, 0, 0))
				b.say(chat.Message{TS: chat.TS(end), ThreadTS: tt.root, UserID: "U1", Text: fmt.Sprintf("reply %d", len(tt.said)-1)})
			}
			b.Threads, b.ThreadLimit = &tt.longThread, limit
			c := b.buildAddressed("C1", tt.root)
			want := []string{"the root"}
			for i := len(tt.said) - limit; i < len(tt.said); i++ {
				want = append(want, fmt.Sprintf("reply %d", i))
			}
			if got, want := textsOf(c), strings.Join(want, ", "); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if c.Omitted < tt.omitted || c.Unread != tt.unread {
				t.Errorf("%d omitted, unread %t; want at least %d, %t", c.Omitted, c.Unread, tt.omitted, tt.unread)
			}
			if most := maxThreadPages + maxEndTries*pagesPerTry; tt.pages > most {
				t.Errorf("%d pages were asked for, want %d at most", tt.pages, most)
			}
		})
	}
}

func TestEndNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := &longThread{root: at(0), said: timesEvery(time.Second, 5000), page: 10, ignoresRange: true}
	b.Threads, b.ThreadLimit = l, 3
	c := b.buildAddressed("C1", l.root)
	if got, want := textsOf(c), "the root, reply 197, reply 198, reply 199"; got != want || c.Omitted != 197 || !c.Unread {
		t.Errorf("got %q, %d omitted, unread %t; want %q, 197 and unread", got, c.Omitted, c.Unread, want)
	}
	if want := maxThreadPages + maxEndTries*pagesPerTry; l.pages != want {
		t.Errorf("%d pages were asked for, want %d", l.pages, want)
	}
}

// A slow Slack leaves time for the end of the thread.
func TestTimeLeftForTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := &longThread{root: at(0), said: timesEvery(time.Minute, 1000), page: 100, tick: func() { b.Time.Set(b.Time.Now().Add(threadTimeout / 4)) }}
	b.Threads, b.ThreadLimit = l, 2
	c := b.buildAddressed("C1", l.root)
	if got, want := textsOf(c), "the root, reply 998, reply 999"; got != want || c.Omitted < 198 || !c.Unread || l.pages != 3 {
		t.Errorf("got %q, %d omitted, unread %t after %d pages; want %q, 198, unread, 3", got, c.Omitted, c.Unread, l.pages, want)
	}
}

func TestTopLevelReadsNothingFromSlack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Threads, b.ThreadLimit = nil, 20 // asking would panic
	b.say(chat.Message{TS: at(0), UserID: "U1", Text: "hello"})
	if c := b.buildAddressed("C1", ""); textsOf(c) != "hello" || c.Unread {
		t.Errorf("got %q, unread %t", textsOf(c), c.Unread)
	}
}
