package activities

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/storetest"
	"myao/test/testserver"
)

// proxy forwards between a program and Postgres, and notes the completed statements.
type proxy struct {
	url string

	mu   sync.Mutex
	done []string // as in "UPDATE 1"; with BEGIN and COMMIT
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	w := &proxy{}
	w.url = testserver.Intercept(t, target, func(program, postgres net.Conn) {
		var asked sync.WaitGroup
		asked.Go(func() { _, _ = io.Copy(postgres, program); _ = postgres.Close() })
		w.forward(program, postgres)
		_ = program.Close()
		asked.Wait()
	})
	return w
}

// forward copies Postgres's messages to the program: a byte for the kind, then the length, which
// includes itself (postgresql.org/docs/current/protocol-message-formats.html).
func (w *proxy) forward(program io.Writer, postgres io.Reader) {
	in := bufio.NewReader(postgres)
	for {
		head, err := in.Peek(5)
		if err != nil {
			return
		}
		message := make([]byte, 1+binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(in, message); err != nil {
			return
		}
		if message[0] == 'C' { // a statement is complete
			w.mu.Lock()
			w.done = append(w.done, strings.TrimRight(string(message[5:]), "\x00"))
			w.mu.Unlock()
		}
		if _, err := program.Write(message); err != nil {
			return
		}
	}
}

// take returns the statements completed since the last call.
func (w *proxy) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := w.done
	w.done = nil
	return done
}

// A reply takes three commits in Postgres: one to compose it, one before the call of Slack, and one
// after it. Each statement is a round trip, and each commit a write to the disk.
func TestStatementsOfAReply(t *testing.T) { // alone: its statements have five seconds
	w := newProxy(t, storetest.Postgres(t)) // a copy, as migrations through the proxy take long
	b := setup(t, withDatabase(w.url))
	task := inThread(b.say("hello?"))
	var before []string
	b.Slack = &hookedSlack{Client: b.Slack.(*slack.Client), before: func() { before = w.take() }}
	w.take()
	b.compose(task, "Hello.")
	composed := w.take()
	if got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err != nil || got.Result != conversation.Done {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, c := range []struct {
		when      string
		got, want []string
	}{
		{"to compose", composed, []string{"BEGIN", "SELECT 0", "INSERT 0 1", "INSERT 0 1", "COMMIT"}},
		{"before the call", before, []string{"UPDATE 1"}},
		{"after the call", w.take(), []string{"BEGIN", "UPDATE 1", "INSERT 0 1", "INSERT 0 0", "UPDATE 1", "SELECT 1", "COMMIT"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.when, c.got, c.want)
		}
	}
}

// The number of statements of a judgment and of a reply does not depend on how many messages there
// are.
func TestStatementCountIsConstant(t *testing.T) {
	t.Parallel()
	w := newProxy(t, storetest.Postgres(t))
	b := setup(t, withDatabase(w.url), withModel(func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return llmtest.No("nothing to add")
		}
		return llmtest.Text("Hello.")
	}))
	b.settings.DailyCalls = 1000
	b.limitWorkspace(config.Budget{Calls: 1000}) // it is read once
	root := b.say("who can help?", workspace.At(time.Now().Add(-time.Hour)))
	fill := func(from, to int) {
		var said []chat.Message
		for n := from; n < to; n++ {
			m := chat.Message{Team: "T1", Channel: b.General, TS: chat.TS(root.Time().Add(time.Duration(n) * time.Millisecond)), UserID: b.Alice.ID, Text: "well"}
			if n%2 == 0 {
				m.ThreadTS = root.TS
			}
			said = append(said, m)
		}
		if err := b.Store.SaveHistory(t.Context(), said); err != nil {
			t.Fatal(err)
		}
	}
	said := 1
	b.judge(atTopLevel(root)) // Slack is asked for names
	for _, many := range []int{10, 2000} {
		fill(said, many)
		said = many
		top, mention := b.say("is anybody there?"), b.say("hello, bot")
		reply := b.record(chat.Message{Team: "T1", Channel: b.General, TS: chat.TS(time.Now()), ThreadTS: root.TS, UserID: b.Alice.ID, Text: "and you?"})
		inThere := atTopLevel(reply)
		inThere.Conversation.Thread = root.TS
		for _, test := range []struct {
			what string
			run  func()
			want int
		}{
			// The facts, the context, the names, the call, the decision.
			{"a judgment at the top level", func() { b.judge(atTopLevel(top)) }, 5},
			{"a judgment in a thread", func() { b.judge(inThere) }, 5},
			// The outbox is read and written, too.
			{"a reply to a mention", func() { b.reply(inThread(mention), true) }, 7},
			{"a reply that is composed", func() { b.reply(inThread(mention), true) }, 1},
		} {
			w.take()
			test.run()
			done := slices.DeleteFunc(w.take(), func(tag string) bool { return tag == "BEGIN" || tag == "COMMIT" })
			if len(done) != test.want {
				t.Errorf("with %d messages %s takes the statements %q, want %d", many, test.what, done, test.want)
			}
		}
	}
}
