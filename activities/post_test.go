package activities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/slack"
	"myao/internal/store"
)

const postMessage = "chat.postMessage"

// place is somewhere a reply can go.
var places = map[string]func(b *bench) Task{
	"thread":    func(b *bench) Task { return inThread(b.say("hello?")) },
	"top level": func(b *bench) Task { return atTopLevel(b.say("hello?")) },
	"direct message": func(b *bench) Task {
		dm := b.workspace.AddChannel(sandbox.DM, "", b.alice.ID, b.workspace.Bot().UserID)
		return atTopLevel(b.sayIn(dm, "hello?"))
	},
}

func TestPost(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url benchOption) {
		b := newBench(t, url)
		for name, place := range places {
			task := place(b)
			task.Decision = "run/" + name
			b.compose(task, "Hello **alice**.")
			got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
			if err != nil || got.Result != conversation.Done {
				t.Fatalf("%s: got %+v, %v", name, got, err)
			}
			posts := b.workspace.Posts()
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
			// A workflow that is reset comes here again.
			calls := len(b.workspace.Calls())
			if got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err != nil || got.Result != conversation.Done {
				t.Errorf("%s, again: got %+v, %v", name, got, err)
			}
			if len(b.workspace.Calls()) != calls {
				t.Errorf("%s: Slack was called again for a reply that is sent", name)
			}
		}
		if n := len(b.workspace.Posts()); n != len(places) {
			t.Errorf("%d posts, want %d", n, len(places))
		}
	})
}

// Whatever Slack or the network does to a call, one message stands in the end.
func TestAReplyIsPostedExactlyOnceUnderEveryFault(t *testing.T) {
	t.Parallel()
	lost := sandbox.Fault{LoseAnswer: true}
	for name, fault := range map[string]sandbox.Fault{
		"503":             {Status: 503},
		"500":             {Status: 500},
		"a proxy's 403":   {Status: 403},
		"connection lost": lost,
		"internal_error":  {Error: "internal_error"},
		"fatal_error":     {Error: "fatal_error"},
		"garbled":         {Garble: true},
	} {
		for place := range places {
			for _, effect := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, effect %v", name, place, effect), func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					task := places[place](b)
					b.compose(task, "Hello.")
					fault := fault
					fault.Method, fault.Times, fault.AfterEffect = postMessage, 1, effect
					b.workspace.Faults().Add(fault)
					got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
					b.postedOnce(task, got, errs, 1)
				})
			}
		}
	}
	t.Run("every one of them in turn", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		task := inThread(b.say("hello?"))
		b.compose(task, "Hello.")
		for _, fault := range []sandbox.Fault{{Status: 503}, {LoseAnswer: true}, {Status: 429, RetryAfter: "1"}, {Garble: true, AfterEffect: true}} {
			fault.Method, fault.Times = postMessage, 1
			b.workspace.Faults().Add(fault)
		}
		got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
		b.postedOnce(task, got, errs, 4)
	})
	t.Run("the message is hidden for a while", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		task := inThread(b.say("hello?"))
		b.compose(task, "Hello.")
		b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, AfterEffect: true, LoseAnswer: true, Hide: 1500 * time.Millisecond})
		got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
		b.postedOnce(task, got, errs, 1)
	})
	t.Run("nor can it be looked for", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		task := inThread(b.say("hello?"))
		b.compose(task, "Hello.")
		b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, AfterEffect: true, Status: 503})
		b.workspace.Faults().Add(sandbox.Fault{Method: "conversations.replies", Times: 1, Status: 503})
		b.workspace.Faults().Add(sandbox.Fault{Method: "conversations.replies", Times: 1, Status: 403})
		b.workspace.Faults().Add(sandbox.Fault{Method: "conversations.replies", Times: 1, Status: 429, RetryAfter: "1"})
		got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
		b.postedOnce(task, got, errs, 4)
	})
}

// postedOnce checks that a reply of one part stands in Slack once, after some failed attempts.
func (b *bench) postedOnce(task Task, got ReplyOutput, errs []error, failed int) {
	b.t.Helper()
	if got.Result != conversation.Done || len(errs) != failed {
		b.t.Errorf("got %+v after %v, want %d failed attempts", got, errs, failed)
	}
	posts := b.workspace.Posts()
	if len(posts) != 1 || posts[0].ThreadTS != task.Conversation.Thread {
		b.t.Errorf("%d posts: %+v", len(posts), posts)
		return
	}
	if row := b.outbox(task)[0]; row.State != store.Sent || row.SentTS != posts[0].TS || row.Error != "" {
		b.t.Errorf("the outbox has %+v", row)
	}
	if d := b.decision(task); d.Outcome != "posted" {
		b.t.Errorf("the ledger has %+v", d)
	}
}

// Slack may still be at work on a call when its caller has given up.
func TestAPostThatTakesEffectAfterItsTimeout(t *testing.T) {
	t.Parallel()
	const patience, late = 3 * time.Second, 4 * time.Second
	var calls atomic.Int32
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	b := newBench(t, func(s *benchSettings) {
		s.http = http.Client{Timeout: patience}
		s.wrap = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, postMessage) || calls.Add(1) > 1 {
					h.ServeHTTP(w, r)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				again := r.Clone(context.WithoutCancel(r.Context()))
				again.Body = io.NopCloser(bytes.NewReader(body))
				group.Go(func() {
					<-time.After(late)
					h.ServeHTTP(httptest.NewRecorder(), again)
				})
				<-r.Context().Done()
			})
		}
	})
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
	group.Wait()
	b.postedOnce(task, got, errs, 1)
}

func TestSlackIsLeftAloneForAsLongAsItSays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "30"})
	_, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
	app := applicationError(t, err)
	if app.NextRetryDelay() != 30*time.Second || app.NonRetryable() || app.Type() != typeRateLimited {
		t.Errorf("got %v after %s", app, app.NextRetryDelay())
	}
	if row := b.outbox(task)[0]; row.State != store.Composed || row.LeasedUntil.After(time.Now()) {
		t.Errorf("the outbox has %+v, want it ready for the next attempt", row)
	}
}

func TestAnErrorThatCannotPassEndsTheReply(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"not_in_channel", "is_archived", "channel_not_found", "invalid_auth", "msg_too_long"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			task := inThread(b.say("hello?"))
			b.compose(task, "Hello.")
			b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, Error: code})
			_, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
			if app := applicationError(t, err); !app.NonRetryable() || !strings.Contains(app.Message(), code) {
				t.Errorf("got %v", app)
			}
			if row := b.outbox(task)[0]; row.State != store.Failed || !strings.Contains(row.Error, code) {
				t.Errorf("the outbox has %+v", row)
			}
			// A workflow that is reset does not try again.
			got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
			if err != nil || got.Result != conversation.Failed {
				t.Errorf("again: got %+v, %v", got, err)
			}
			if d := b.decision(task); d.Outcome != "failed" || !strings.Contains(d.OutcomeBy, code) {
				t.Errorf("the ledger has %+v", d)
			}
			if n := len(b.workspace.Posts()); n != 0 {
				t.Errorf("%d posts", n)
			}
		})
	}
}

// Somebody who addressed the bot is told that there is no answer, once, where Slack takes that.
func TestWhatSlackRefusesIsExcused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault     sandbox.Fault
		parts     []string
		addressed bool
		posts     []string // parts of what stands in Slack
		calls     int
		outcome   conversation.Outcome
	}{
		"the text":               {sandbox.Fault{Times: 1, Error: "msg_too_long"}, []string{"Hello."}, true, []string{"sorry"}, 2, "posted"},
		"the first of two parts": {sandbox.Fault{Times: 1, Error: "msg_too_long"}, []string{"Hello,", "alice."}, true, []string{"sorry"}, 2, "posted"},
		"the second of two parts": {sandbox.Fault{Error: "msg_too_long", Match: func(c sandbox.Call) bool { return strings.Contains(c.Args.Get("text"), "alice") }},
			[]string{"Hello,", "alice."}, true, []string{"hello"}, 2, "pending"},
		"everything":            {sandbox.Fault{Error: "is_archived"}, []string{"Hello."}, true, nil, 2, "pending"},
		"what nobody waits for": {sandbox.Fault{Times: 1, Error: "msg_too_long"}, []string{"Hello."}, false, nil, 1, "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			task := inThread(b.say("hello?"))
			b.compose(task, c.parts...)
			c.fault.Method = postMessage
			b.workspace.Faults().Add(c.fault)
			got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task, Addressed: c.addressed})
			if c.outcome == "posted" {
				if err != nil || got.Result != conversation.Done {
					t.Errorf("got %+v, %v", got, err)
				}
			} else if app := applicationError(t, err); !app.NonRetryable() || !strings.Contains(app.Message(), c.fault.Error) {
				t.Errorf("got %v", app)
			}
			posts := b.workspace.Posts()
			if len(posts) != len(c.posts) {
				t.Fatalf("%d posts: %+v", len(posts), posts)
			}
			for i, want := range c.posts {
				if !strings.Contains(strings.ToLower(posts[i].Text), want) {
					t.Errorf("posted %q, want %q", posts[i].Text, want)
				}
			}
			calls := 0
			for _, call := range b.workspace.Calls() {
				if call.Method == postMessage {
					calls++
				}
			}
			if calls != c.calls {
				t.Errorf("posted %d times, want %d", calls, c.calls)
			}
			d := b.decision(task)
			if told := strings.Contains(d.Reason, "refused") && strings.Contains(d.Reason, c.fault.Error); d.Outcome != c.outcome || c.outcome == "posted" && !told {
				t.Errorf("the ledger has %+v", d)
			}
		})
	}
}

// The worker dies when it has written down that Slack refuses: the next attempt excuses.
func TestARefusalIsExcusedAfterACrash(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, Error: "msg_too_long"})
	if _, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
		t.Fatal("not refused")
	}
	for range 2 { // and once only
		if got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task, Addressed: true}); err != nil || got.Result != conversation.Done {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if posts := b.workspace.Posts(); len(posts) != 1 || b.decision(task).Outcome != "posted" {
		t.Errorf("%+v; the ledger has %+v", posts, b.decision(task))
	}
}

// An error that passes and has left nothing behind is tried again without a look.
func TestADefiniteErrorThatPasses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, Error: "team_added_to_org"})
	_, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
	if app := applicationError(t, err); app.NonRetryable() {
		t.Fatalf("got %v", app)
	}
	if row := b.outbox(task)[0]; row.State != store.Composed {
		t.Errorf("the outbox has %+v", row)
	}
	if got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err != nil || got.Result != conversation.Done {
		t.Errorf("again: %+v, %v", got, err)
	}
	for _, c := range b.workspace.Calls() {
		if c.Method == "conversations.replies" {
			t.Error("Slack was asked for a message that cannot be there")
		}
	}
}

func TestAReplyThatIsNotInTheOutbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := attempt[ReplyOutput](b.Post, PostInput{Task: inThread(b.say("hello?"))})
	if app := applicationError(t, err); !app.NonRetryable() {
		t.Errorf("got %v", app)
	}
}

// A worker may die anywhere; another one goes on from what stands in the outbox.
func TestACrashBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	const held = 1500 * time.Millisecond // what is left of the dead worker's lease
	begin := func(b *bench, task Task, n int) store.Part {
		p := b.outbox(task)[n]
		b.begin(p, held)
		return p
	}
	send := func(b *bench, p store.Part) string {
		ts, err := b.Slack.Post(b.t.Context(), slack.Post{Channel: p.Channel, ThreadTS: p.Thread, Text: p.Text, Key: p.Key})
		if err != nil {
			b.t.Fatal(err)
		}
		return ts
	}
	said := func(p store.Part, ts string) chat.Message {
		return chat.Message{Team: p.Team, Channel: p.Channel, TS: ts, ThreadTS: p.Thread, Own: true, Text: p.Text}
	}
	write := func(b *bench, p store.Part, ts string) {
		if err := b.Store.MarkPosted(b.t.Context(), p, said(p, ts)); err != nil {
			b.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		dies  func(b *bench, task Task)
		waits bool // for the dead worker's lease, since its message is not found
	}{
		"before anything":              {func(*bench, Task) {}, false},
		"before the call":              {func(b *bench, task Task) { begin(b, task, 0) }, true},
		"after the call":               {func(b *bench, task Task) { send(b, begin(b, task, 0)) }, false},
		"after it was written down":    {func(b *bench, task Task) { p := begin(b, task, 0); write(b, p, send(b, p)) }, false},
		"before the call, second part": {func(b *bench, task Task) { p := begin(b, task, 0); write(b, p, send(b, p)); begin(b, task, 1) }, true},
		"after the call, second part":  {func(b *bench, task Task) { p := begin(b, task, 0); write(b, p, send(b, p)); send(b, begin(b, task, 1)) }, false},
		"after all was written down": {func(b *bench, task Task) {
			p := begin(b, task, 0)
			write(b, p, send(b, p))
			last := begin(b, task, 1)
			if _, err := b.Store.MarkReplied(b.t.Context(), last, said(last, send(b, last))); err != nil {
				b.t.Fatal(err)
			}
		}, false},
		"before the ledger, as with an older worker": {func(b *bench, task Task) {
			for n := range 2 {
				p := begin(b, task, n)
				write(b, p, send(b, p))
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			task := inThread(b.say("hello?"))
			b.compose(task, "First.", "Second.")
			began := time.Now()
			c.dies(b, task)
			got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
			if err != nil || got.Result != conversation.Done {
				t.Fatalf("got %+v, %v", got, err)
			}
			if want := []string{"First.", "Second."}; !slices.Equal(b.posted(), want) {
				t.Errorf("posted %q, want %q", b.posted(), want)
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

// stoppable is Slack with a worker that stops at a certain point.
type stoppable struct {
	*slack.Client
	before, after func()
}

func (s *stoppable) Post(ctx context.Context, p slack.Post) (string, error) {
	if s.before != nil {
		s.before()
	}
	ts, err := s.Client.Post(ctx, p)
	if s.after != nil {
		s.after()
	}
	return ts, err
}

// A worker that is told to stop, or an attempt that is out of time, ends with its
// context canceled: what is known is written down all the same.
func TestACanceledAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(b *bench, s *stoppable, cancel func())
		state store.Delivery // afterwards
		posts int
	}{
		"before it begins": {func(_ *bench, _ *stoppable, cancel func()) { cancel() }, store.Composed, 0},
		"before the call":  {func(_ *bench, s *stoppable, cancel func()) { s.before = cancel }, store.Composed, 0},
		"after the call":   {func(_ *bench, s *stoppable, cancel func()) { s.after = cancel }, store.Sent, 1},
		"during the call": {func(b *bench, _ *stoppable, cancel func()) {
			b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, AfterEffect: true, Delay: 3 * time.Second})
			go func() {
				b.await("the effect of the call", func() bool { return len(b.workspace.Posts()) == 1 })
				cancel()
			}()
		}, store.Sending, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			task := inThread(b.say("hello?"))
			b.compose(task, "Hello.")
			s := &stoppable{Client: b.Slack.(*slack.Client)}
			b.Slack = s
			// The SDK says why it ends a context, and net/http passes that on in place of context.Canceled.
			ctx, because := context.WithCancelCause(t.Context())
			cancel := func() { because(serviceerror.NewDeadlineExceeded("a heartbeat was not answered")) }
			defer cancel()
			c.set(b, s, cancel)
			_, err := b.postReply(ctx, task)
			if c.state != store.Sent && err == nil {
				t.Error("no error")
			}
			if err != nil && applicationError(t, classify(err)).NonRetryable() {
				t.Errorf("%v is final: nobody would try again", err)
			}
			row := b.outbox(task)[0]
			held := time.Until(row.LeasedUntil) > settleTime // what was given up in the middle may come long after
			if row.State != c.state || held != (c.state == store.Sending) || len(b.workspace.Posts()) != c.posts {
				t.Errorf("the outbox has %+v, Slack %d posts; want %s, held %v, %d", row, len(b.workspace.Posts()), c.state, !held, c.posts)
			}
			s.before, s.after = nil, nil
			got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
			b.postedOnce(task, got, errs, 0)
		})
	}
}

// An attempt that was held up must not outlive its lease: by then another one
// has looked and may be posting.
func TestAnAttemptEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	s := &deadlined{Client: b.Slack.(*slack.Client), held: func() time.Time { return b.outbox(task)[0].LeasedUntil }}
	b.Slack = s
	if _, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err != nil {
		t.Fatal(err)
	}
	if left := s.leased.Sub(s.deadline); s.deadline.IsZero() || left < settleTime {
		t.Errorf("the call may last until %s before the lease is over, want %s for Slack to settle", left, settleTime)
	}
}

// deadlined notes until when a call may last, and until when its lease does.
type deadlined struct {
	*slack.Client
	held             func() time.Time
	deadline, leased time.Time
}

func (d *deadlined) Post(ctx context.Context, p slack.Post) (string, error) {
	d.deadline, _ = ctx.Deadline()
	d.leased = d.held()
	return d.Client.Post(ctx, p)
}

// Two workers have the same reply in hand: one that Temporal takes for dead, and the next.
func TestTwoWorkersPostOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url benchOption) {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				options := []benchOption{}
				if strings.Contains(t.Name(), "/postgres/") {
					if seed > 0 {
						t.SkipNow() // one database, one race
					}
					options = append(options, url)
				} else {
					t.Parallel()
				}
				b := newBench(t, options...)
				task := inThread(b.say("hello?"))
				b.compose(task, "First.", "Second.")
				random := rand.New(rand.NewPCG(seed, 7))
				if seed%2 == 0 {
					b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, AfterEffect: true, LoseAnswer: true, Delay: time.Duration(random.IntN(300)) * time.Millisecond})
				}
				offsets := []time.Duration{0, time.Duration(random.IntN(50)) * time.Millisecond}
				var group sync.WaitGroup
				for _, offset := range offsets {
					group.Go(func() {
						<-time.After(offset)
						if got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task}); got.Result != conversation.Done {
							t.Errorf("got %+v after %v", got, errs)
						}
					})
				}
				group.Wait()
				if want := []string{"First.", "Second."}; !slices.Equal(b.posted(), want) {
					t.Errorf("posted %q, want %q", b.posted(), want)
				}
			})
		}
	})
}

// A worker that stands still between its attempt's beginning and the call finds its time
// over when it moves again: somebody else has posted meanwhile.
func TestAFrozenWorkerDoesNotPostWhenItThaws(t *testing.T) {
	t.Parallel()
	b := newBench(t, impatient)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	client := b.Slack.(*slack.Client)
	frozen := *b.Activities
	begun, thaw := make(chan struct{}), make(chan struct{})
	frozen.Slack = &stoppable{Client: client, before: func() { close(begun); <-thaw }}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := frozen.postReply(t.Context(), task); err == nil {
			t.Error("the frozen worker thinks that it has posted")
		}
	})
	<-begun
	got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
	close(thaw)
	group.Wait()
	b.postedOnce(task, got, errs, 0)
}

// A reply that a workflow comes to again after it was reset, by another decision,
// belongs to the one that composed it.
func TestTheLedgerAfterAReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	again := task
	again.Decision, again.Epoch = "run/2", 2
	for _, other := range []Task{task, again} { // and one more that was judged before it came to the same
		if err := b.Store.Decide(t.Context(), store.Decision{Key: other.decisionKey(), WorkflowID: other.Conversation.ID(), Outcome: "pending"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if got, err := attempt[ReplyOutput](b.Post, PostInput{Task: again}); err != nil || got.Result != conversation.Done {
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

func TestADeletionBeforeThePost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.say("hello?")
	task := inThread(m)
	b.compose(task, "First.", "Second.")
	b.remove(m)
	got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
	if err != nil || got.Result != conversation.Gone {
		t.Fatalf("got %+v, %v", got, err)
	}
	if n := len(b.workspace.Posts()); n != 0 {
		t.Errorf("%d posts", n)
	}
	if d := b.decision(task); d.Outcome != "withdrawn" || d.OutcomeBy != m.TS {
		t.Errorf("the ledger has %+v", d)
	}
}

// An attempt that a worker died in, and that had no effect, is not left open in the outbox.
func TestADeletionAfterAnAttemptOfUnknownEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.say("hello?")
	task := inThread(m)
	b.compose(task, "First.", "Second.")
	b.begin(b.outbox(task)[0], time.Millisecond)
	b.remove(m)
	for range 2 { // the second as when the first one's end was lost
		got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
		if err != nil || got.Result != conversation.Gone {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if row := b.outbox(task)[0]; row.State != store.Composed || row.Error == "" || len(b.workspace.Posts()) != 0 {
		t.Errorf("the outbox has %+v; %d posts", row, len(b.workspace.Posts()))
	}
}

// A reply that has begun is brought to its end.
func TestADeletionInTheMiddleOfAReply(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.say("hello?")
	task := atTopLevel(m)
	b.compose(task, "First.", "Second.")
	b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "1", Match: func(c sandbox.Call) bool {
		return strings.Contains(c.Args.Get("text"), "Second")
	}})
	if _, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
		t.Fatal("no error")
	}
	b.remove(m)
	got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
	if want := []string{"First.", "Second."}; got.Result != conversation.Done || !slices.Equal(b.posted(), want) {
		t.Errorf("got %+v after %v, posted %q", got, errs, b.posted())
	}
}

// Slack allows about one message a second in a channel, whoever posts.
func TestThePaceOfAChannel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const replies = 4
	began := time.Now()
	var group sync.WaitGroup
	for n := range replies {
		task := inThread(b.say("hello?"))
		task.Decision = fmt.Sprint("run/", n)
		b.compose(task, "Hello.")
		group.Go(func() {
			got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
			if got.Result != conversation.Done {
				t.Errorf("got %+v after %v", got, errs)
			}
		})
	}
	group.Wait()
	posts := b.workspace.Posts()
	if len(posts) != replies {
		t.Fatalf("%d posts, want %d", len(posts), replies)
	}
	slices.SortFunc(posts, func(a, b sandbox.Post) int { return a.At.Compare(b.At) })
	// A call takes its time, so two may come nearer to each other than their turns;
	// but none comes before its own.
	for i, p := range posts {
		if took := p.At.Sub(began); took < time.Duration(i)*pace {
			t.Errorf("post %d came %s after the beginning", i, took)
		}
	}
	// Another channel has a pace of its own.
	other := b.workspace.AddChannel(sandbox.Public, "other", b.workspace.Bot().UserID, b.alice.ID)
	task := atTopLevel(b.sayIn(other, "hello?"))
	b.compose(task, "Hello.")
	if wait, err := b.Store.BeginSend(t.Context(), b.outbox(task)[0], pace, sendLease); err != nil || wait != 0 {
		t.Errorf("the other channel waits %s, %v", wait, err)
	}
}

// Who has a long time to wait does not do so in one of the worker's slots, and does not
// lose the turn by going away.
func TestALongWaitForATurnEndsTheAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	others, task := inThread(b.say("tell us all")), inThread(b.say("hello?"))
	b.compose(others, slices.Repeat([]string{"Much."}, 9)...)
	if _, err := b.Store.BeginSend(t.Context(), b.outbox(others)[0], 20*time.Second, sendLease); err != nil {
		t.Fatal(err)
	}
	b.compose(task, "Hello.")
	var waits []time.Duration
	for range 2 {
		_, err := attempt[ReplyOutput](b.Post, PostInput{Task: task})
		app := applicationError(t, err)
		if app.Type() != typeQueued || app.NonRetryable() || app.Category() != temporal.ApplicationErrorCategoryBenign {
			t.Errorf("got %v", app)
		}
		waits = append(waits, app.NextRetryDelay())
	}
	if first := 9*20*time.Second - turnLead; waits[0] > first || waits[0] < first-time.Minute || waits[1] >= waits[0] {
		t.Errorf("told to come again in %v, want a little less than %s", waits, first)
	}
	if row := b.outbox(task)[0]; row.State != store.Composed || row.Attempts != 0 {
		t.Errorf("the outbox has %+v", row)
	}
}

// A reply answers two messages; one of them, not the one that it is about, is deleted while
// it waits: it is composed anew, without what that said, though an attempt to post it was made.
func TestADeletionOfWhatAReplyAnswersBesides(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url benchOption) {
		b := newBench(t, url, answers(func(c llmtest.Call) llmtest.Reply {
			if strings.Contains(c.System, "hunter2") {
				return llmtest.Text("You said hunter2.")
			}
			return llmtest.Text("Hello.")
		}))
		root := b.say("shall we have a party?")
		secret := b.say("my password is hunter2", sandbox.InThread(root.TS))
		task := inThread(root)
		task.Trigger, task.Epoch = b.say("and you?", sandbox.InThread(root.TS)).TS, 1
		if got := b.reply(task, true); got != conversation.Done {
			t.Fatal(got)
		}
		b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "1"})
		if _, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
			t.Fatal("no error")
		}
		b.remove(secret)
		for range 2 { // the second as when the first one's end was lost
			if got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task}); got.Result != conversation.Outdated {
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
		got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
		if want := []string{"Hello."}; got.Result != conversation.Done || !slices.Equal(b.posted(), want) || len(b.model.Calls()) != 2 {
			t.Errorf("got %+v after %v, posted %q, %d calls", got, errs, b.posted(), len(b.model.Calls()))
		}
	})
}

// A mute stops what is composed already, however far it has come, and nobody is told.
func TestAMuteBeforeThePost(t *testing.T) {
	t.Parallel()
	for name, muted := range map[string]func(Task) chat.Conversation{
		"of the thread":  func(task Task) chat.Conversation { return task.Conversation },
		"of the channel": func(task Task) chat.Conversation { return task.Conversation.Top() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for found, c := range map[string]struct {
				before func(b *bench, task Task)
				said   []string
			}{
				"not tried": {},
				"rate limited": {before: func(b *bench, task Task) {
					p := b.outbox(task)[0]
					b.begin(p, time.Minute)
					if err := b.Store.EndSend(t.Context(), p, store.Composed, time.Time{}, "rate limited"); err != nil {
						t.Fatal(err)
					}
				}},
				"tried, with an end that is not known": {before: func(b *bench, task Task) { b.begin(b.outbox(task)[0], time.Millisecond) }},
				"posted in part": {said: []string{"First."}, before: func(b *bench, task Task) {
					b.workspace.Faults().Add(sandbox.Fault{Method: postMessage, Times: 1, Status: 429, RetryAfter: "1", Match: func(c sandbox.Call) bool {
						return strings.Contains(c.Args.Get("text"), "Second")
					}})
					if _, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
						t.Fatal("no error")
					}
				}},
			} {
				b := newBench(t)
				task := inThread(b.say("hello?"))
				b.compose(task, "First.", "Second.")
				if c.before != nil {
					c.before(b, task)
				}
				b.mute(muted(task), time.Hour)
				for range 2 { // the second as when the first one's end was lost
					got, errs := tries[ReplyOutput](t, b.Post, PostInput{Task: task})
					if got.Result != conversation.Silenced || !slices.Equal(b.posted(), c.said) {
						t.Errorf("%s: got %+v after %v, posted %q", found, got, errs, b.posted())
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
