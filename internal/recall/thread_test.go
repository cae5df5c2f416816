package recall

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"myao/internal/chat"
	"myao/internal/sandbox"
	"myao/internal/slack"
	"myao/internal/store"
)

// thread is a bundle whose threads are those of a workspace that nobody told it of.
func thread(t *testing.T, config sandbox.Config) (b *bundle, w *sandbox.Workspace, channel string, say func(n int) (root string)) {
	b = setup(t)
	config.Team, config.BotToken = "T1", "xoxb-recall"
	w = sandbox.New(config)
	t.Cleanup(w.Close)
	api := httptest.NewServer(w.Handler())
	t.Cleanup(api.Close)
	b.Threads, b.ThreadLimit = slack.New(slack.Config{Token: config.BotToken, APIURL: api.URL + "/api/"}), 3
	alice := w.AddUser("alice")
	channel = w.AddChannel(sandbox.Public, "general", w.Bot().UserID, alice.ID)
	return b, w, channel, func(n int) string {
		root := w.Say(channel, alice.ID, "the root")
		for i := range n {
			w.Say(channel, alice.ID, fmt.Sprintf("reply %d", i), sandbox.InThread(root))
		}
		return root
	}
}

// called is the conversation as it is told when the bot is called into a thread.
func (b *bundle) called(channel, root string) chat.ChannelMessages {
	b.Helper()
	r, err := b.Build(b.Context(), chat.Conversation{Team: "T1", Channel: channel, Thread: root}, true)
	if err != nil {
		b.Fatal(err)
	}
	return r.Conversation
}

// said is the texts of all messages.
func said(c chat.ChannelMessages) string {
	var texts []string
	for _, m := range c.All() {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, ", ")
}

func TestAddressedInAThreadReadsItsNewestReplies(t *testing.T) {
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
			b, _, channel, say := thread(t, sandbox.Config{PageSize: c.pageSize, RepeatRoot: c.repeat})
			b.MessagesLimit = 1 // this thread has a limit of its own
			root := say(c.replies)
			told := b.called(channel, root)
			if got := said(told); got != c.want || told.Omitted != c.omitted || told.Unread {
				t.Errorf("got %q, %d omitted, unread %t; want %q, %d and nothing unread", got, told.Omitted, told.Unread, c.want, c.omitted)
			}
			// It is stored as it was read: who is not addressed finds it in the database.
			b.Threads, b.MessagesLimit = nil, 50
			kept := b.build(channel, root)
			if got, want := len(kept.Target()), len(told.All()); got != want {
				t.Errorf("%d messages in the database, want %d", got, want)
			}
		})
	}
}

func TestWhatIsReadFromSlackIsNotHandled(t *testing.T) {
	t.Parallel()
	b, w, channel, say := thread(t, sandbox.Config{})
	root := say(2)
	b.called(channel, root)
	m := w.Messages(channel)[1]
	known := store.Known{}
	_, err := b.Store.Record(t.Context(), chat.Message{Team: "T1", Channel: channel, TS: m.TS, ThreadTS: root}, func(k store.Known) store.Entry {
		known = k
		return store.Entry{}
	})
	if err != nil || known.Message == nil || known.Handled {
		t.Errorf("known as %+v, %v; want seen and not handled", known, err)
	}
	// What an event has brought stays: a deletion, and an edit.
	gone := chat.Message{Team: "T1", Channel: channel, TS: m.TS, ThreadTS: root, Deleted: true}
	edited := chat.Message{Team: "T1", Channel: channel, TS: w.Messages(channel)[2].TS, ThreadTS: root, UserID: "U1", Text: "edited", Revision: chat.TS(noon.AddDate(9, 0, 0))}
	b.say(gone, edited)
	if got, want := said(b.called(channel, root)), "the root, edited"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSlackThatFailsLeavesTheDatabase(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"503": {Status: 503}, "429": {Status: 429, RetryAfter: "30"}, "missing scope": {Error: "missing_scope"},
	} {
		fault.Method = "conversations.replies"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w, channel, say := thread(t, sandbox.Config{})
			root := say(5)
			b.say(chat.Message{Channel: channel, TS: root, UserID: "U1", Text: "the root"},
				chat.Message{Channel: channel, TS: chat.TS(chat.Time(root).Add(time.Microsecond)), ThreadTS: root, UserID: "U1", Text: "heard"})
			w.Faults().Add(fault)
			c := b.called(channel, root)
			if got, want := said(c), "the root, heard"; got != want || !c.Unread || c.Omitted != 0 {
				t.Errorf("got %q, %d omitted, unread %t; want what the database has, and more that is unread", got, c.Omitted, c.Unread)
			}
		})
	}
}

// What Slack has told before it fails is stored, and shown with what the database has.
func TestWhatWasReadBeforeAFailureCounts(t *testing.T) {
	t.Parallel()
	b, w, channel, say := thread(t, sandbox.Config{PageSize: 5})
	root := say(12)
	last := w.Messages(channel)[12].TS
	b.say(chat.Message{Channel: channel, TS: last, ThreadTS: root, UserID: "U1", Text: "heard"})
	w.Faults().Add(sandbox.Fault{Method: "conversations.replies", Error: "missing_scope", Match: sandbox.LaterPage})
	c := b.called(channel, root)
	if got, want := said(c), "the root, reply 2, reply 3, heard"; got != want || !c.Unread || c.Omitted != 2 {
		t.Errorf("got %q, %d omitted, unread %t; want %q, 2 and unread", got, c.Omitted, c.Unread, want)
	}
	if len(c.Thread(root)) != 4 || len(b.build(channel, root).Target()) != 5 { // the database has one more than is shown
		t.Error("what was read is not stored")
	}
}

func TestFailuresThatPassAreWaitedFor(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"429": {Status: 429, RetryAfter: "0.05", Times: 2},
		"503": {Status: 503, Times: 1}, "lost": {LoseAnswer: true, Times: 1},
		"on a later page": {Status: 429, RetryAfter: "0.05", Times: 2, Match: sandbox.LaterPage},
	} {
		fault.Method = "conversations.replies"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w, channel, say := thread(t, sandbox.Config{PageSize: 4})
			root := say(6)
			w.Faults().Add(fault)
			c := b.called(channel, root)
			if got, want := said(c), "the root, reply 3, reply 4, reply 5"; got != want || c.Unread || c.Omitted != 3 {
				t.Errorf("got %q, %d omitted, unread %t; want %q, 3 and nothing unread", got, c.Omitted, c.Unread, want)
			}
		})
	}
}

// refusing refuses so often, in a bubble where time costs nothing.
type refusing struct {
	times, asked int
	err          error
}

func (r *refusing) Replies(context.Context, string, string, slack.Range, slack.Identity) (slack.Page, error) {
	if r.asked++; r.asked <= r.times {
		return slack.Page{}, r.err
	}
	return slack.Page{}, nil
}

func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	limited := func(d time.Duration) error {
		return &slack.Error{Method: "conversations.replies", Kind: slack.RateLimited, RetryAfter: d}
	}
	for name, tt := range map[string]struct {
		refusing
		asked  int
		waited time.Duration
		fails  bool
	}{
		"as long as Slack says":        {refusing{times: 2, err: limited(3 * time.Second)}, 3, 6 * time.Second, false},
		"three tries":                  {refusing{times: 3, err: limited(time.Second)}, 3, 2 * time.Second, true},
		"half a second":                {refusing{times: 1, err: limited(0)}, 2, pagePause, false},
		"not beyond the end":           {refusing{times: 1, err: limited(threadTimeout)}, 1, 0, true},
		"not beyond what is left":      {refusing{times: 2, err: limited(5 * time.Second)}, 2, 5 * time.Second, true},
		"not for what does not pass":   {refusing{times: 1, err: &slack.Error{Kind: slack.Final}}, 1, 0, true},
		"not for what is no refusal":   {refusing{times: 1, err: errors.New("broken")}, 1, 0, true},
		"not where nothing is refused": {refusing{}, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := &threadReader{Builder: &Builder{Threads: &tt.refusing, Clock: time.Now}}
				err := r.read(t.Context())
				if waited := time.Since(began); waited != tt.waited || tt.refusing.asked != tt.asked || (err != nil) != tt.fails {
					t.Errorf("asked %d times in %v, %v; want %d in %v, failing %t", tt.refusing.asked, waited, err, tt.asked, tt.waited, tt.fails)
				}
			})
		})
	}
}

// long is a thread of more pages than are read from its beginning, its replies said at
// some times; it gives the parent on each answer.
type long struct {
	root   string
	said   []time.Time // in order
	page   int
	untold bool // the parent does not tell of its newest reply
	deaf   bool // asking for a part of it is in vain
	pages  int
	tick   func()
}

func (l *long) Replies(_ context.Context, _, _ string, r slack.Range, _ slack.Identity) (slack.Page, error) {
	l.pages++
	if l.tick != nil {
		l.tick()
	}
	message := func(ts, thread, text string) chat.Message {
		return chat.Message{Team: "T1", Channel: "C1", TS: ts, ThreadTS: thread, UserID: "U1", Text: text}
	}
	p := slack.Page{Messages: []chat.Message{message(l.root, "", "the root")}, Threads: map[string]string{l.root: chat.TS(l.said[len(l.said)-1])}}
	if l.untold {
		p.Threads = nil
	}
	first, _ := strconv.Atoi(r.Cursor)
	for i, at := range l.said {
		if i < first || !l.deaf && at.Before(chat.Time(r.Oldest)) {
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

func every(pause time.Duration, n int) (times []time.Time) {
	for i := range n {
		times = append(times, noon.Add(time.Duration(i+1)*pause))
	}
	return times
}

func TestTheEndOfALongThreadIsFound(t *testing.T) {
	t.Parallel()
	const limit = 20
	for name, tt := range map[string]struct {
		long
		heard   bool // the newest reply has come as an event
		omitted int
		unread  bool
	}{
		"a minute each":           {long{said: every(time.Minute, 5000), page: 200}, false, chat.CountAtMost, false},
		"a second each":           {long{said: every(time.Second, 5000), page: 200}, false, chat.CountAtMost, false},
		"in a burst":              {long{said: every(time.Microsecond, 5000), page: 200}, false, chat.CountAtMost, false},
		"a day each":              {long{said: every(24*time.Hour, 2000), page: 200}, false, chat.CountAtMost, false},
		"a burst, and a late one": {long{said: append(every(time.Second, 4000), noon.AddDate(0, 1, 0)), page: 200}, false, chat.CountAtMost, false},
		"small pages":             {long{said: every(time.Minute, 2000), page: 10}, false, 200, true},
		"the database tells":      {long{said: every(time.Minute, 5000), page: 200, untold: true}, true, chat.CountAtMost, false},
		"nobody tells":            {long{said: every(time.Minute, 5000), page: 200, untold: true}, false, chat.CountAtMost, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			tt.root = at(0)
			end := tt.said[len(tt.said)-1]
			b.now = end.Add(time.Minute)
			if tt.heard {
				b.now = end.AddDate(1, 0, 0)
				b.say(chat.Message{TS: chat.TS(end), ThreadTS: tt.root, UserID: "U1", Text: fmt.Sprintf("reply %d", len(tt.said)-1)})
			}
			b.Threads, b.ThreadLimit = &tt.long, limit
			c := b.called("C1", tt.root)
			want := []string{"the root"}
			for i := len(tt.said) - limit; i < len(tt.said); i++ {
				want = append(want, fmt.Sprintf("reply %d", i))
			}
			if got, want := said(c), strings.Join(want, ", "); got != want {
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

func TestWhereNoEndIsFoundThereIsMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := &long{root: at(0), said: every(time.Second, 5000), page: 10, deaf: true}
	b.Threads, b.ThreadLimit = l, 3
	c := b.called("C1", l.root)
	if got, want := said(c), "the root, reply 197, reply 198, reply 199"; got != want || c.Omitted != 197 || !c.Unread {
		t.Errorf("got %q, %d omitted, unread %t; want %q, 197 and unread", got, c.Omitted, c.Unread, want)
	}
	if want := maxThreadPages + maxEndTries*pagesPerTry; l.pages != want {
		t.Errorf("%d pages were asked for, want %d", l.pages, want)
	}
}

// A slow Slack is not read from the beginning until no time is left for the end.
func TestTimeIsLeftForTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := &long{root: at(0), said: every(time.Minute, 1000), page: 100, tick: func() { b.now = b.now.Add(threadTimeout / 4) }}
	b.Threads, b.ThreadLimit = l, 2
	c := b.called("C1", l.root)
	if got, want := said(c), "the root, reply 998, reply 999"; got != want || c.Omitted < 198 || !c.Unread || l.pages != 3 {
		t.Errorf("got %q, %d omitted, unread %t after %d pages; want %q, 198, unread, 3", got, c.Omitted, c.Unread, l.pages, want)
	}
}

func TestTopLevelDoesNotAskSlack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Threads, b.ThreadLimit = nil, 20 // asking would panic
	b.say(chat.Message{TS: at(0), UserID: "U1", Text: "hello"})
	if c := b.called("C1", ""); said(c) != "hello" || c.Unread {
		t.Errorf("got %q, unread %t", said(c), c.Unread)
	}
}
