package recall

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
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

func (b *bundle) addressed(channel, root string) (texts []string, omitted int) {
	b.Helper()
	r, err := b.Build(b.Context(), chat.Conversation{Team: "T1", Channel: channel, Thread: root}, true)
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range r.Target() {
		texts = append(texts, m.Text)
	}
	return texts, r.Conversation.Omitted
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
			root := say(c.replies)
			texts, omitted := b.addressed(channel, root)
			if got := strings.Join(texts, ", "); got != c.want || omitted != c.omitted {
				t.Errorf("got %q and %d omitted, want %q and %d", got, omitted, c.want, c.omitted)
			}
			// It is stored as it was read: who is not addressed finds it in the database.
			b.Threads = nil
			kept := b.build(channel, root)
			if got := len(kept.Target()); got != len(texts) {
				t.Errorf("%d messages in the database, want %d", got, len(texts))
			}
		})
	}
}

func TestWhatIsReadFromSlackIsNotHandled(t *testing.T) {
	t.Parallel()
	b, w, channel, say := thread(t, sandbox.Config{})
	root := say(2)
	b.addressed(channel, root)
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
	texts, _ := b.addressed(channel, root)
	if want := []string{"the root", "edited"}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

func TestSlackThatFailsLeavesTheDatabase(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"503": {Status: 503}, "429": {Status: 429, RetryAfter: "30"}, "missing scope": {Error: "missing_scope"},
		"on a later page": {Status: 500, When: func(c sandbox.Call) bool { return c.Args.Get("cursor") != "" }},
	} {
		fault.Method = "conversations.replies"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w, channel, say := thread(t, sandbox.Config{PageSize: 2})
			root := say(5)
			b.say(chat.Message{Channel: channel, TS: root, UserID: "U1", Text: "the root"},
				chat.Message{Channel: channel, TS: chat.TS(chat.Time(root).Add(time.Microsecond)), ThreadTS: root, UserID: "U1", Text: "heard"})
			w.Faults().Add(fault)
			texts, _ := b.addressed(channel, root)
			if want := "the root"; len(texts) == 0 || texts[0] != want {
				t.Errorf("got %q, want what the database has", texts)
			}
			if slices.Contains(texts, "reply 4") {
				t.Errorf("got %q, which Slack did not tell", texts)
			}
		})
	}
}

// endless is a thread of more pages than anybody reads.
type endless struct{ pages int }

func (e *endless) Replies(context.Context, string, string, slack.Range, slack.Identity) (slack.Page, error) {
	e.pages++
	return slack.Page{Next: fmt.Sprint(e.pages)}, nil
}

func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := &endless{}
	b.Threads, b.ThreadLimit = e, 20
	b.say(chat.Message{TS: at(0), UserID: "U1", Text: "the root"})
	if texts, _ := b.addressed("C1", at(0)); !slices.Equal(texts, []string{"the root"}) || e.pages != threadPages {
		t.Errorf("got %q after %d pages, want the database after %d", texts, e.pages, threadPages)
	}
}

func TestTopLevelDoesNotAskSlack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Threads, b.ThreadLimit = nil, 20 // asking would panic
	b.say(chat.Message{TS: at(0), UserID: "U1", Text: "hello"})
	if texts, _ := b.addressed("C1", ""); !slices.Equal(texts, []string{"hello"}) {
		t.Errorf("got %q", texts)
	}
}
