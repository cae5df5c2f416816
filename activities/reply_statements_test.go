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

	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store/storetest"
	"myao/internal/testserver"
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
func TestStatementsOfAReply(t *testing.T) {
	t.Parallel()
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
		{"after the call", w.take(), []string{"BEGIN", "UPDATE 1", "INSERT 0 1", "INSERT 0 0", "UPDATE 1", "COMMIT"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.when, c.got, c.want)
		}
	}
}
