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
	"myao/internal/testserver"
)

// wire stands between a program and Postgres, and notes what Postgres says it has done.
type wire struct {
	url string

	mu   sync.Mutex
	done []string // as in "UPDATE 1"; with BEGIN and COMMIT
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	w := &wire{}
	w.url = testserver.Intercept(t, target, func(program, postgres net.Conn) {
		var asked sync.WaitGroup
		asked.Go(func() { _, _ = io.Copy(postgres, program); _ = postgres.Close() })
		w.read(program, postgres)
		_ = program.Close()
		asked.Wait()
	})
	return w
}

// read carries Postgres's messages to the program: a byte for the kind, then the length,
// which counts itself (postgresql.org/docs/current/protocol-message-formats.html).
func (w *wire) read(program io.Writer, postgres io.Reader) {
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

// take returns what was done since the last time.
func (w *wire) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := w.done
	w.done = nil
	return done
}

// What a reply costs in Postgres, where each statement is a way there and back, and each
// commit a write to the disk: one commit to compose it, one before the call of Slack, and
// one after it.
func TestWhatAReplyCosts(t *testing.T) {
	t.Parallel()
	w := newWire(t, testserver.Postgres(t))
	b := newBench(t, database(w.url))
	task := inThread(b.say("hello?"))
	var before []string
	b.Slack = &stoppable{Client: b.Slack.(*slack.Client), before: func() { before = w.take() }}
	w.take()
	b.compose(task, "Hello.")
	composed := w.take()
	if got, err := attempt[ReplyOutput](b.Post, PostInput{Task: task}); err != nil || got.Result != conversation.Done {
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
