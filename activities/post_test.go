package activities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
	"myao/test/llmtest"
)

const postMessage = "chat.postMessage"

// places are the kinds of conversations that a reply can go to.
var places = map[string]func(b *bundle) Task{
	"thread":    func(b *bundle) Task { return inThread(b.say("hello?")) },
	"top level": func(b *bundle) Task { return atTopLevel(b.say("hello?")) },
	"direct message": func(b *bundle) Task {
		dm := b.Workspace.AddChannel(workspace.DM, "", b.Alice.ID, b.Workspace.Bot().UserID)
		return atTopLevel(b.sayIn(dm, "hello?"))
	},
}

func TestPost(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		for name, place := range places {
			task := place(b)
			task.Decision = "run/" + name
			b.compose(task, "Hello **alice**.")
			got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
			if err != nil || got.Result != conversation.Done {
				t.Fatalf("%s: got %+v, %v", name, got, err)
			}
			posts := b.Workspace.Posts()
			p := posts[len(posts)-1]
			if p.Channel != task.Conversation.Channel || p.ThreadTS != task.Conversation.Thread || !strings.Contains(p.Text, "Hello") {
				t.Errorf("%s: posted %+v", name, p)
			}
			row := b.outbox(task)[0]
			if row.State != store.Sent || row.SentTS != p.TS || row.Attempts != 1 {
				t.Errorf("%s: the outbox has %+v", name, row)
			}
			if m, err := b.Store.Message(t.Context(), "T1", p.Channel, p.TS); err != nil || !m.Own || m.Text != "Hello **alice**." || m.ThreadTS != task.Conversation.Thread {
				t.Errorf("%s: the bot remembers %+v, %v", name, m, err)
			}
			if d := b.decision(task); d.Outcome != "posted" || d.OutcomeBy != task.replyKey() {
				t.Errorf("%s: the ledger has %+v", name, d)
			}
			// A reset workflow posts again.
			calls := len(b.Workspace.Calls())
			if got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err != nil || got.Result != conversation.Done {
				t.Errorf("%s, again: got %+v, %v", name, got, err)
			}
			if len(b.Workspace.Calls()) != calls {
				t.Errorf("%s: Slack was called again for a reply that is sent", name)
			}
		}
		if n := len(b.Workspace.Posts()); n != len(places) {
			t.Errorf("%d posts, want %d", n, len(places))
		}
	})
}

// Whatever Slack or the network does to a call of Post or PostAtOnce, there is one message in the end.
func TestPostedExactlyOnceUnderEveryFault(t *testing.T) {
	t.Parallel()
	lost := workspace.Fault{LoseAnswer: true}
	for name, fault := range map[string]workspace.Fault{
		"503":             {Status: 503},
		"500":             {Status: 500},
		"a proxy's 403":   {Status: 403},
		"connection lost": lost,
		"internal_error":  {Error: "internal_error"},
		"fatal_error":     {Error: "fatal_error"},
		"garbled":         {Garble: true},
	} {
		for place := range places {
			for i := range 4 {
				effect, atOnce := i%2 == 0, i < 2
				t.Run(fmt.Sprintf("%s, %s, effect %v, at once %v", name, place, effect, atOnce), func(t *testing.T) {
					t.Parallel()
					b := setup(t)
					task := places[place](b)
					b.compose(task, "Hello.")
					fault := fault
					fault.Method, fault.Times, fault.AfterEffect = postMessage, 1, effect
					b.Workspace.Faults().Add(fault)
					failed := 1
					if atOnce {
						failed = 0
						if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task}); err == nil {
							t.Errorf("at once: got %+v, want an error", got)
						}
					}
					got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
					b.wantPostedOnce(task, got, errs, failed)
				})
			}
		}
	}
	t.Run("every one of them in turn", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		task := inThread(b.say("hello?"))
		b.compose(task, "Hello.")
		for _, fault := range []workspace.Fault{{Status: 503}, {LoseAnswer: true}, {Status: 429, RetryAfter: "1"}, {Garble: true, AfterEffect: true}} {
			fault.Method, fault.Times = postMessage, 1
			b.Workspace.Faults().Add(fault)
		}
		got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
		b.wantPostedOnce(task, got, errs, 4)
	})
	t.Run("the message is hidden for a while", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		task := inThread(b.say("hello?"))
		b.compose(task, "Hello.")
		b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, AfterEffect: true, LoseAnswer: true, Hide: 1500 * time.Millisecond})
		got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
		b.wantPostedOnce(task, got, errs, 1)
	})
	t.Run("and the lookup fails", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		task := inThread(b.say("hello?"))
		b.compose(task, "Hello.")
		b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, AfterEffect: true, Status: 503})
		b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Times: 1, Status: 503})
		b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Times: 1, Status: 403})
		b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.replies", Times: 1, Status: 429, RetryAfter: "1"})
		got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
		b.wantPostedOnce(task, got, errs, 4)
	})
}

// Slack may fail at one form of a message, and take a plainer one. It is looked for each time before.
func TestPlainerFormAfterErrorsOfSlack(t *testing.T) {
	t.Parallel()
	blocks := func(c workspace.Call) bool { return c.Args.Get("blocks") != "" }
	for name, c := range map[string]struct {
		faults []workspace.Fault
		failed int
		plain  bool
	}{
		"internal_error":              {[]workspace.Fault{{Error: "internal_error", Match: blocks}}, 2, true},
		"503":                         {[]workspace.Fault{{Status: 503, Match: blocks}}, 2, true},
		"fatal_error, then refused":   {[]workspace.Fault{{Error: "fatal_error", Times: 1}, {Error: "invalid_blocks", Match: blocks}}, 1, true},
		"once":                        {[]workspace.Fault{{Error: "internal_error", Times: 1}}, 1, false},
		"posted at the second":        {[]workspace.Fault{{Error: "internal_error", Times: 1}, {Error: "internal_error", Times: 1, AfterEffect: true}}, 2, false},
		"between limits and timeouts": {[]workspace.Fault{{Error: "internal_error", Times: 1}, {Status: 429, RetryAfter: "1", Times: 2}, {LoseAnswer: true, Times: 1}}, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			task := inThread(b.say("hello?"))
			b.compose(task, "Hello **alice**.")
			for _, fault := range c.faults {
				fault.Method = postMessage
				b.Workspace.Faults().Add(fault)
			}
			got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
			b.wantPostedOnce(task, got, errs, c.failed)
			if p := b.Workspace.Posts()[0]; (len(p.Blocks) == 0) != c.plain || p.Text != "Hello *alice*." {
				t.Errorf("posted %q with blocks %s", p.Text, p.Blocks)
			}
			if looked := len(b.Workspace.Calls("conversations.replies")); looked == 0 {
				t.Error("not looked for")
			}
		})
	}
}

// A message that is a day older than its answer is not a reason to read a day of the channel.
func TestLateReplyIsLookedForFromItsFirstAttempt(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url)
		task := atTopLevel(b.say("hello?", workspace.At(time.Now().Add(-24*time.Hour))))
		b.compose(task, "Hello.")
		for range 2 {
			b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Status: 503})
		}
		got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
		b.wantPostedOnce(task, got, errs, 2)
		var from []string
		for _, c := range b.Workspace.Calls("conversations.history") {
			from = append(from, c.Args.Get("oldest"))
		}
		posted := chat.Time(b.Workspace.Posts()[0].TS)
		if len(from) < 2 || from[0] != from[len(from)-1] || posted.Sub(chat.Time(from[0])) > time.Hour {
			t.Errorf("looked for it from %q on; it was posted at %s", from, posted)
		}
	})
}

// wantPostedOnce fails unless a reply of one part was posted once, after some failed attempts.
func (b *bundle) wantPostedOnce(task Task, got ReplyOutput, errs []error, failed int) {
	b.Helper()
	if got.Result != conversation.Done || len(errs) != failed {
		b.Errorf("got %+v after %v, want %d failed attempts", got, errs, failed)
	}
	posts := b.Workspace.Posts()
	if len(posts) != 1 || posts[0].ThreadTS != task.Conversation.Thread {
		b.Errorf("%d posts: %+v", len(posts), posts)
		return
	}
	if row := b.outbox(task)[0]; row.State != store.Sent || row.SentTS != posts[0].TS || row.Error != "" {
		b.Errorf("the outbox has %+v", row)
	}
	if d := b.decision(task); d.Outcome != "posted" {
		b.Errorf("the ledger has %+v", d)
	}
}

// A call may still take effect after its caller timed out, and after it was looked for in vain.
func TestPostTakesEffectAfterItsTimeout(t *testing.T) {
	t.Parallel()
	late := &lateTransport{}
	b := setup(t, func(o *inprocess.Options) { o.Client = &http.Client{Transport: late} })
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
	b.wantPostedOnce(task, got, errs, 1)
	if late.held == nil || late.lookups < 2 {
		t.Errorf("looked for %d times", late.lookups)
	}
}

// lateTransport has the first post time out, and take effect after the next lookup.
type lateTransport struct {
	held    *http.Request
	lookups int
}

func (l *lateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, postMessage) && l.held == nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		l.held = r.Clone(context.WithoutCancel(r.Context()))
		l.held.Body = io.NopCloser(bytes.NewReader(body))
		httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
		return nil, os.ErrDeadlineExceeded
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if strings.HasSuffix(r.URL.Path, "conversations.replies") && err == nil {
		if l.lookups++; l.lookups == 1 {
			var posted *http.Response
			if posted, err = http.DefaultTransport.RoundTrip(l.held); err == nil {
				err = posted.Body.Close()
			}
		}
	}
	return answer, err
}

func TestRateLimitedPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "30"})
	_, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
	app := applicationError(t, err)
	if app.NextRetryDelay() != 30*time.Second || app.NonRetryable() || app.Type() != typeRateLimited {
		t.Errorf("got %v after %s", app, app.NextRetryDelay())
	}
	if row := b.outbox(task)[0]; row.State != store.Composed || row.LeasedUntil.After(time.Now()) {
		t.Errorf("the outbox has %+v, want it ready for the next attempt", row)
	}
}

func TestFinalErrorEndsTheReply(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"not_in_channel", "is_archived", "channel_not_found", "invalid_auth", "msg_too_long"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			task := inThread(b.say("hello?"))
			b.compose(task, "Hello.")
			b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Error: code})
			_, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
			if app := applicationError(t, err); !app.NonRetryable() || !strings.Contains(app.Message(), code) {
				t.Errorf("got %v", app)
			}
			if row := b.outbox(task)[0]; row.State != store.Failed || !strings.Contains(row.Error, code) {
				t.Errorf("the outbox has %+v", row)
			}
			// A reset workflow does not try again.
			got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
			if err != nil || got.Result != conversation.Failed {
				t.Errorf("again: got %+v, %v", got, err)
			}
			if d := b.decision(task); d.Outcome != "failed" || !strings.Contains(d.OutcomeBy, code) {
				t.Errorf("the ledger has %+v", d)
			}
			if n := len(b.Workspace.Posts()); n != 0 {
				t.Errorf("%d posts", n)
			}
		})
	}
}

// Whoever addressed the bot gets a note, once, unless Slack refuses that, too.
func TestNoteForARefusedReply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault     workspace.Fault
		parts     []string
		addressed bool
		posts     []string // words in the posts
		calls     int
		outcome   conversation.Outcome
	}{
		"the text":               {workspace.Fault{Times: 1, Error: "msg_too_long"}, []string{"Hello."}, true, []string{"sorry"}, 2, "posted"},
		"the first of two parts": {workspace.Fault{Times: 1, Error: "msg_too_long"}, []string{"Hello,", "alice."}, true, []string{"sorry"}, 2, "posted"},
		"the second of two parts": {workspace.Fault{Error: "msg_too_long", Match: func(c workspace.Call) bool { return strings.Contains(c.Args.Get("text"), "alice") }},
			[]string{"Hello,", "alice."}, true, []string{"hello"}, 2, "pending"},
		"everything":    {workspace.Fault{Error: "is_archived"}, []string{"Hello."}, true, nil, 2, "pending"},
		"not addressed": {workspace.Fault{Times: 1, Error: "msg_too_long"}, []string{"Hello."}, false, nil, 1, "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			task := inThread(b.say("hello?"))
			b.compose(task, c.parts...)
			c.fault.Method = postMessage
			b.Workspace.Faults().Add(c.fault)
			got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task, Addressed: c.addressed})
			if c.outcome == "posted" {
				if err != nil || got.Result != conversation.Done {
					t.Errorf("got %+v, %v", got, err)
				}
			} else if app := applicationError(t, err); !app.NonRetryable() || !strings.Contains(app.Message(), c.fault.Error) {
				t.Errorf("got %v", app)
			}
			posts := b.Workspace.Posts()
			if len(posts) != len(c.posts) {
				t.Fatalf("%d posts: %+v", len(posts), posts)
			}
			for i, want := range c.posts {
				if !strings.Contains(strings.ToLower(posts[i].Text), want) {
					t.Errorf("posted %q, want %q", posts[i].Text, want)
				}
			}
			if calls := b.postCalls(); calls != c.calls {
				t.Errorf("posted %d times, want %d", calls, c.calls)
			}
			d := b.decision(task)
			if says := strings.Contains(d.Reason, "refused") && strings.Contains(d.Reason, c.fault.Error); d.Outcome != c.outcome || c.outcome == "posted" && !says {
				t.Errorf("the ledger has %+v", d)
			}
		})
	}
}

// The worker dies after it has saved the refusal, or PostAtOnce has met it. The next attempt posts the note.
func TestNoteForAnEarlierRefusal(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		b := setup(t)
		first := b.Post
		if atOnce {
			first = b.PostAtOnce
		}
		task := inThread(b.say("hello?"))
		b.compose(task, "Hello.")
		b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Error: "msg_too_long"})
		_, err := runOnce[ReplyOutput](first, PostInput{Task: task, Addressed: atOnce})
		if app := applicationError(t, err); !app.NonRetryable() {
			t.Errorf("got %v", app)
		}
		for range 2 { // the second posts nothing
			got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task, Addressed: true})
			b.wantPostedOnce(task, got, errs, 0)
		}
		if posts := b.Workspace.Posts(); len(posts) != 1 || posts[0].Text == "Hello." {
			t.Errorf("posted %+v, want the note alone", posts)
		}
	}
}

// After a transient error, which had no effect, the reply is posted again without a lookup.
func TestTransientErrorNeedsNoLookup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Error: "team_added_to_org"})
	_, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
	if app := applicationError(t, err); app.NonRetryable() {
		t.Fatalf("got %v", app)
	}
	if row := b.outbox(task)[0]; row.State != store.Composed {
		t.Errorf("the outbox has %+v", row)
	}
	if got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err != nil || got.Result != conversation.Done {
		t.Errorf("again: %+v, %v", got, err)
	}
	if len(b.Workspace.Calls("conversations.replies")) > 0 {
		t.Error("Slack was asked for a message that cannot be there")
	}
}

func TestReplyNotInTheOutbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := runOnce[ReplyOutput](b.Post, PostInput{Task: inThread(b.say("hello?"))})
	if app := applicationError(t, err); !app.NonRetryable() {
		t.Errorf("got %v", app)
	}
}

// A worker may die at any step. Another one goes on from the outbox.
func TestCrashBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	const held = 1500 * time.Millisecond // the rest of the dead worker's lease
	begin := func(b *bundle, task Task, n int) store.Part {
		p := b.outbox(task)[n]
		b.beginSend(p, held)
		return p
	}
	send := func(b *bundle, p store.Part) string {
		ts, err := b.Slack.Post(b.Context(), slack.Post{Channel: p.Channel, ThreadTS: p.Thread, Text: p.Text, Key: p.Key})
		if err != nil {
			b.Fatal(err)
		}
		return ts
	}
	said := func(p store.Part, ts string) chat.Message {
		return chat.Message{Team: p.Team, Channel: p.Channel, TS: ts, ThreadTS: p.Thread, Own: true, Text: p.Text}
	}
	write := func(b *bundle, p store.Part, ts string) {
		if err := b.Store.MarkPosted(b.Context(), p, said(p, ts)); err != nil {
			b.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		dies  func(b *bundle, task Task)
		waits bool // for the end of the dead worker's lease, because its message is not found
	}{
		"before anything":              {func(*bundle, Task) {}, false},
		"before the call":              {func(b *bundle, task Task) { begin(b, task, 0) }, true},
		"after the call":               {func(b *bundle, task Task) { send(b, begin(b, task, 0)) }, false},
		"after it was saved":           {func(b *bundle, task Task) { p := begin(b, task, 0); write(b, p, send(b, p)) }, false},
		"before the call, second part": {func(b *bundle, task Task) { p := begin(b, task, 0); write(b, p, send(b, p)); begin(b, task, 1) }, true},
		"after the call, second part": {func(b *bundle, task Task) {
			p := begin(b, task, 0)
			write(b, p, send(b, p))
			send(b, begin(b, task, 1))
		}, false},
		"after all was saved": {func(b *bundle, task Task) {
			p := begin(b, task, 0)
			write(b, p, send(b, p))
			last := begin(b, task, 1)
			if _, err := b.Store.MarkReplied(b.Context(), last, said(last, send(b, last))); err != nil {
				b.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			task := inThread(b.say("hello?"))
			b.compose(task, "First.", "Second.")
			began := time.Now()
			c.dies(b, task)
			got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
			if err != nil || got.Result != conversation.Done {
				t.Fatalf("got %+v, %v", got, err)
			}
			if want := []string{"First.", "Second."}; !slices.Equal(b.postedTexts(), want) {
				t.Errorf("posted %q, want %q", b.postedTexts(), want)
			}
			if took := time.Since(began); c.waits && took < held {
				t.Errorf("posted again within %s, while the dead worker's attempt might have been under way until %s", took, held)
			}
			for _, p := range b.outbox(task) {
				if p.State != store.Sent {
					t.Errorf("the outbox has %+v", p)
				}
			}
			if d := b.decision(task); d.Outcome != "posted" {
				t.Errorf("the ledger has %+v", d)
			}
		})
	}
}

// hookedSlack calls functions before and after it posts.
type hookedSlack struct {
	*slack.Client
	before, after func()
}

func (s *hookedSlack) Post(ctx context.Context, p slack.Post) (string, error) {
	if s.before != nil {
		s.before()
	}
	ts, err := s.Client.Post(ctx, p)
	if s.after != nil {
		s.after()
	}
	return ts, err
}

// If the worker stops or the attempt times out, its context is cancelled. What is known is saved all
// the same.
func TestCanceledAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(b *bundle, s *hookedSlack, cancel func())
		state store.Delivery // afterwards
		posts int
	}{
		"before it begins": {func(_ *bundle, _ *hookedSlack, cancel func()) { cancel() }, store.Composed, 0},
		"before the call":  {func(_ *bundle, s *hookedSlack, cancel func()) { s.before = cancel }, store.Composed, 0},
		"after the call":   {func(_ *bundle, s *hookedSlack, cancel func()) { s.after = cancel }, store.Sent, 1},
		"during the call": {func(b *bundle, _ *hookedSlack, cancel func()) {
			b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, AfterEffect: true, Delay: time.Hour})
			go func() {
				b.await("the effect of the call", func() bool { return len(b.Workspace.Posts()) == 1 })
				cancel()
			}()
		}, store.Sending, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			task := inThread(b.say("hello?"))
			b.compose(task, "Hello.")
			s := &hookedSlack{Client: b.Slack.(*slack.Client)}
			b.Slack = s
			// The SDK cancels with a cause, which net/http returns instead of context.Canceled.
			ctx, because := context.WithCancelCause(timeout.Extend(t.Context()))
			cancel := func() { because(serviceerror.NewDeadlineExceeded("a heartbeat was not answered")) }
			defer cancel()
			c.set(b, s, cancel)
			_, _, err := b.postReply(ctx, task)
			if c.state != store.Sent && err == nil {
				t.Error("no error")
			}
			if err != nil && applicationError(t, classify(err)).NonRetryable() {
				t.Errorf("%v is final, and would not be retried", err)
			}
			row := b.outbox(task)[0]
			held := time.Until(row.LeasedUntil) > settleTime // a cancelled call may take effect later
			if row.State != c.state || held != (c.state == store.Sending) || len(b.Workspace.Posts()) != c.posts {
				t.Errorf("the outbox has %+v, Slack %d posts; want %s, held %v, %d", row, len(b.Workspace.Posts()), c.state, !held, c.posts)
			}
			s.before, s.after = nil, nil
			got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
			b.wantPostedOnce(task, got, errs, 0)
		})
	}
}

// A delayed attempt must end before its lease, because after it another attempt may post.
func TestAttemptEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	s := &deadlineSlack{Client: b.Slack.(*slack.Client), held: func() time.Time { return b.outbox(task)[0].LeasedUntil }}
	b.Slack = s
	// Where the machine stands still, an attempt is over before its call.
	var err error
	for tries := 0; tries < 20 && s.deadline.IsZero(); tries++ {
		_, _, err = b.postReply(t.Context(), task)
	}
	if s.leased.IsZero() {
		t.Fatal(err)
	}
	if left := s.leased.Sub(s.deadline); s.deadline.IsZero() || left < settleTime {
		t.Errorf("the call may last until %s before the lease is over, want %s for Slack to settle", left, settleTime)
	}
}

// deadlineSlack notes the deadline of a call and the end of its lease.
type deadlineSlack struct {
	*slack.Client
	held             func() time.Time
	deadline, leased time.Time
}

func (d *deadlineSlack) Post(ctx context.Context, p slack.Post) (string, error) {
	d.deadline, _ = ctx.Deadline()
	d.leased = d.held()
	return d.Client.Post(ctx, p)
}

// Two workers post the same reply: one that Temporal takes for dead, and the next one.
func TestTwoWorkersPostOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				options := []option{}
				if strings.Contains(t.Name(), "/postgres/") {
					if seed > 0 {
						t.SkipNow() // one database, one race
					}
					options = append(options, url)
				} else {
					t.Parallel()
				}
				b := setup(t, options...)
				task := inThread(b.say("hello?"))
				b.compose(task, "First.", "Second.")
				random := rand.New(rand.NewPCG(seed, 7))
				if seed%2 == 0 {
					b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, AfterEffect: true, LoseAnswer: true, Delay: time.Duration(random.IntN(300)) * time.Millisecond})
				}
				offsets := []time.Duration{0, time.Duration(random.IntN(50)) * time.Millisecond}
				var group sync.WaitGroup
				for _, offset := range offsets {
					group.Go(func() {
						<-time.After(offset)
						if got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task}); got.Result != conversation.Done {
							t.Errorf("got %+v after %v", got, errs)
						}
					})
				}
				group.Wait()
				if want := []string{"First.", "Second."}; !slices.Equal(b.postedTexts(), want) {
					t.Errorf("posted %q, want %q", b.postedTexts(), want)
				}
			})
		}
	})
}

// A worker is frozen after its attempt began. When it continues its lease is over and another worker
// has posted.
func TestFrozenWorkerDoesNotPost(t *testing.T) {
	t.Parallel()
	b := setup(t, withSlackTimeout)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	client := b.Slack.(*slack.Client)
	frozen := *b.Activities
	begun, thaw := make(chan struct{}), make(chan struct{})
	frozen.Slack = &hookedSlack{Client: client, before: func() { close(begun); <-thaw }}
	var group sync.WaitGroup
	group.Go(func() {
		for { // an attempt may be over before its call, where the machine stands still
			if _, _, err := frozen.postReply(t.Context(), task); err == nil {
				t.Error("the frozen worker has posted")
			}
			select {
			case <-begun:
				return
			case <-t.Context().Done():
				return
			default:
			}
		}
	})
	<-begun
	got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
	close(thaw)
	group.Wait()
	b.wantPostedOnce(task, got, errs, 0)
}

// After a reset a workflow may reach the same reply by another decision. The reply belongs to the
// decision that composed it.
func TestLedgerAfterAReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	again := task
	again.Decision, again.Epoch = "run/2", 2
	for _, other := range []Task{task, again} { // and another decision about the same reply
		if err := b.Store.Decide(t.Context(), store.Decision{Key: other.decisionKey(), WorkflowID: other.Conversation.ID(), Outcome: "pending"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: again}); err != nil || got.Result != conversation.Done {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if d := b.decision(task); d.Outcome != "posted" || d.OutcomeBy != task.replyKey() {
		t.Errorf("the ledger has %+v", d)
	}
	if d := b.decision(again); d.Outcome != "silent" || d.OutcomeBy != task.replyKey() {
		t.Errorf("the ledger has %+v of the decision that had nothing to post", d)
	}
}

// If a worker died in an attempt that had no effect, the attempt does not stay open in the outbox.
func TestDeletionBeforeThePost(t *testing.T) {
	t.Parallel()
	for _, attempted := range []bool{false, true} {
		b := setup(t)
		m := b.say("hello?")
		task := inThread(m)
		b.compose(task, "First.", "Second.")
		if attempted {
			b.beginSend(b.outbox(task)[0], time.Millisecond)
		}
		b.remove(m)
		for range 2 { // the second as if the first one's result was lost
			got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
			if err != nil || got.Result != conversation.Gone {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		if d := b.decision(task); d.Outcome != "withdrawn" || d.OutcomeBy != m.TS {
			t.Errorf("the ledger has %+v", d)
		}
		if row := b.outbox(task)[0]; row.State != store.Composed || (row.Error != "") != attempted || len(b.Workspace.Posts()) != 0 {
			t.Errorf("the outbox has %+v; %d posts", row, len(b.Workspace.Posts()))
		}
	}
}

// A reply is completed once its first part was posted.
func TestDeletionBetweenTwoParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.say("hello?")
	task := atTopLevel(m)
	b.compose(task, "First.", "Second.")
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "1", Match: func(c workspace.Call) bool {
		return strings.Contains(c.Args.Get("text"), "Second")
	}})
	if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
		t.Fatal("no error")
	}
	b.remove(m)
	got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
	if want := []string{"First.", "Second."}; got.Result != conversation.Done || !slices.Equal(b.postedTexts(), want) {
		t.Errorf("got %+v after %v, posted %q", got, errs, b.postedTexts())
	}
}

// Slack allows about one message a second in a channel, whoever posts.
func TestPaceOfAChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const replies = 4
	began := time.Now()
	var group sync.WaitGroup
	for n := range replies {
		task := inThread(b.say("hello?"))
		task.Decision = fmt.Sprint("run/", n)
		b.compose(task, "Hello.")
		group.Go(func() {
			got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
			if got.Result != conversation.Done {
				t.Errorf("got %+v after %v", got, errs)
			}
		})
	}
	group.Wait()
	posts := b.Workspace.Posts()
	if len(posts) != replies {
		t.Fatalf("%d posts, want %d", len(posts), replies)
	}
	slices.SortFunc(posts, func(a, b workspace.Post) int { return a.At.Compare(b.At) })
	// Calls take time, so two posts may be closer than their slots. None is before its own slot.
	for i, p := range posts {
		if took := p.At.Sub(began); took < time.Duration(i)*pace {
			t.Errorf("post %d came %s after the beginning", i, took)
		}
	}
	// Another channel has a pace of its own.
	other := b.Workspace.AddChannel(workspace.Public, "other", b.Workspace.Bot().UserID, b.Alice.ID)
	task := atTopLevel(b.sayIn(other, "hello?"))
	b.compose(task, "Hello.")
	if wait, err := b.Store.BeginSend(t.Context(), b.outbox(task)[0], pace, sendLease); err != nil || wait != 0 {
		t.Errorf("the other channel waits %s, %v", wait, err)
	}
}

// An attempt with a long wait ends and frees the worker. Its part keeps its slot.
func TestLongWaitForASlot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	others, task := inThread(b.say("tell us all")), inThread(b.say("hello?"))
	b.compose(others, slices.Repeat([]string{"Much."}, 9)...)
	if _, err := b.Store.BeginSend(t.Context(), b.outbox(others)[0], 20*time.Second, sendLease); err != nil {
		t.Fatal(err)
	}
	b.compose(task, "Hello.")
	var waits []time.Duration
	for range 2 {
		_, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task})
		app := applicationError(t, err)
		if app.Type() != typeQueued || app.NonRetryable() || app.Category() != temporal.ApplicationErrorCategoryBenign {
			t.Errorf("got %v", app)
		}
		waits = append(waits, app.NextRetryDelay())
	}
	if first := 9*20*time.Second - slotLead; waits[0] > first || waits[0] < first-time.Minute || waits[1] >= waits[0] {
		t.Errorf("retried after %v, want a little less than %s", waits, first)
	}
	if row := b.outbox(task)[0]; row.State != store.Composed || row.Attempts != 0 {
		t.Errorf("the outbox has %+v", row)
	}
}

// A reply answers two messages. The one that is not its trigger is deleted while the reply waits.
// The reply is composed again without that message, even after an attempt to post it.
func TestDeletionOfAnotherAnsweredMessage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(func(c llmtest.Call) llmtest.Reply {
			if strings.Contains(c.System, "hunter2") {
				return llmtest.Text("You said hunter2.")
			}
			return llmtest.Text("Hello.")
		}))
		root := b.say("shall we have a party?")
		secret := b.say("my password is hunter2", workspace.InThread(root.TS))
		task := inThread(root)
		task.Trigger, task.Epoch = b.say("and you?", workspace.InThread(root.TS)).TS, 1
		if got := b.reply(task, true); got != conversation.Done {
			t.Fatal(got)
		}
		b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "1"})
		if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
			t.Fatal("no error")
		}
		b.remove(secret)
		for range 2 { // the second as if the first one's result was lost
			if got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task}); got.Result != conversation.Outdated {
				t.Fatalf("got %+v after %v", got, errs)
			}
		}
		if d := b.decision(task); d.Outcome != "withdrawn" || d.OutcomeBy != secret.TS {
			t.Errorf("the ledger has %+v", d)
		}
		task.Decision, task.Epoch = "run/2", 2
		for range 2 {
			if got := b.reply(task, true); got != conversation.Done {
				t.Fatal(got)
			}
		}
		got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
		if want := []string{"Hello."}; got.Result != conversation.Done || !slices.Equal(b.postedTexts(), want) || len(b.Model.Calls()) != 2 {
			t.Errorf("got %+v after %v, posted %q, %d calls", got, errs, b.postedTexts(), len(b.Model.Calls()))
		}
	})
}

// A mute stops a composed reply, whatever its state, without a note.
func TestMuteBeforeThePost(t *testing.T) {
	t.Parallel()
	for name, muted := range map[string]func(Task) chat.Conversation{
		"of the thread":  func(task Task) chat.Conversation { return task.Conversation },
		"of the channel": func(task Task) chat.Conversation { return task.Conversation.Top() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for found, c := range map[string]struct {
				before func(b *bundle, task Task)
				said   []string
			}{
				"not attempted": {},
				"rate limited": {before: func(b *bundle, task Task) {
					p := b.outbox(task)[0]
					b.beginSend(p, time.Minute)
					if err := b.Store.EndSend(t.Context(), p, store.Composed, time.Time{}, "rate limited"); err != nil {
						t.Fatal(err)
					}
				}},
				"attempted, with unknown outcome": {before: func(b *bundle, task Task) { b.beginSend(b.outbox(task)[0], time.Millisecond) }},
				"posted in part": {said: []string{"First."}, before: func(b *bundle, task Task) {
					b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "1", Match: func(c workspace.Call) bool {
						return strings.Contains(c.Args.Get("text"), "Second")
					}})
					if _, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
						t.Fatal("no error")
					}
				}},
			} {
				b := setup(t)
				task := inThread(b.say("hello?"))
				b.compose(task, "First.", "Second.")
				if c.before != nil {
					c.before(b, task)
				}
				b.mute(muted(task), time.Hour)
				for range 2 { // the second as if the first one's result was lost
					got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task})
					if got.Result != conversation.Silenced || !slices.Equal(b.postedTexts(), c.said) {
						t.Errorf("%s: got %+v after %v, posted %q", found, got, errs, b.postedTexts())
					}
				}
				if d := b.decision(task); d.Outcome != "silent" || d.OutcomeBy != string(conversation.RuleSilenced) {
					t.Errorf("%s: the ledger has %+v", found, d)
				}
				for _, p := range b.outbox(task)[len(c.said):] {
					if p.State != store.Composed {
						t.Errorf("%s: the outbox has %+v", found, p)
					}
				}
			}
		})
	}
}

// Nothing is posted while the bot is muted everywhere, not even to somebody who was forgotten.
func TestTellsNobodyWhileMutedEverywhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := ForgetPersonInput{Person: chat.Person{Team: b.Workspace.Team(), User: b.Alice.ID}, ID: "o1"}
	for i, c := range []struct {
		kind  string
		until time.Time
		posts int
	}{{conversation.UpdateMute, b.Clock().Add(conversation.MuteDuration), 0}, {conversation.UpdateUnmute, time.Time{}, 1}} {
		if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: fmt.Sprint("order", i), Scope: chat.Scope{Team: in.Person.Team}, Kind: c.kind, By: "cli:carol", Until: c.until}); err != nil {
			t.Fatal(err)
		}
		if _, err := runOnce[any](b.TellForgotten, in); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Workspace.Posts()); n != c.posts {
			t.Errorf("after %s: %d posts, want %d", c.kind, n, c.posts)
		}
	}
}
