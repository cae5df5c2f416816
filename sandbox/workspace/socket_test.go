package workspace

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// listen runs a Socket Mode client that acknowledges the requests for which take returns true.
func (b *fixture) listen(t *testing.T, take func(socketmode.Request) bool) {
	t.Helper()
	b.connect(t, func(client *socketmode.Client, e socketmode.Event) {
		if e.Type == socketmode.EventTypeEventsAPI && take(*e.Request) {
			client.Ack(*e.Request)
		}
	})
}

// connect runs a Socket Mode client until the test ends, and returns once it is connected.
func (b *fixture) connect(t *testing.T, handle func(*socketmode.Client, socketmode.Event)) {
	t.Helper()
	client := socketmode.New(b.api)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); client.RunContext(ctx) }()
	go func() {
		for e := range client.Events {
			handle(client, e)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	err := b.Await(within(t, time.Minute), func() bool { return len(b.Calls()) > 0 })
	for deadline := time.Now().Add(time.Minute); !b.socket.used() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if err != nil || !b.socket.used() {
		t.Fatal("never connected")
	}
}

func TestSocketModeRetriesAndReconnects(t *testing.T) {
	t.Parallel()
	// Events come again until they are acknowledged, however long a client takes for that, or to connect.
	retries := slices.Repeat([]time.Duration{20 * time.Millisecond}, 3000)
	b := setup(t, Config{RetryAfter: retries, AckTimeout: 200 * time.Millisecond})
	type seen struct {
		text  string
		retry int
	}
	got := make(chan seen, 3*len(retries)) // never blocks the client
	b.listen(t, func(r socketmode.Request) bool {
		var in envelope
		if err := json.Unmarshal(r.Payload, &in); err != nil {
			t.Error(err)
		}
		text, _ := in.Event["text"].(string)
		got <- seen{text, r.RetryAttempt}
		return text != "slow" || r.RetryAttempt > 0
	})
	// await passes over what comes in between: an acknowledgement may be late, and its event then comes again.
	await := func(text string, retry int) {
		t.Helper()
		for end := time.After(time.Minute); ; {
			select {
			case s := <-got:
				if s.text == text && s.retry >= retry {
					return
				}
			case <-end:
				t.Fatalf("%q did not come %d times", text, retry+1)
			}
		}
	}
	b.Say(b.general, b.alice, "hello")
	await("hello", 0)
	b.Say(b.general, b.alice, "slow")
	await("slow", 0)
	await("slow", 1)
	b.events(t) // waits for the acknowledgement
	b.DisconnectSockets("refresh_requested")
	b.Say(b.general, b.alice, "while away")
	await("while away", 0)
	if err := b.AwaitDeliveries(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	over := map[string]bool{}
	for _, d := range b.Deliveries() {
		if over[d.ID] {
			t.Errorf("%q was delivered again after its acknowledgement", d.Event.Text)
		}
		over[d.ID] = d.Err == ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.got) != 0 {
		t.Errorf("%d events went by HTTP", len(b.got))
	}
}

func TestSocketTicketIsValidOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	_, url, err := b.api.StartSocketModeContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slack.New("x", slack.OptionAPIURL(b.url+"/api/"), slack.OptionAppLevelToken("xapp-other")).AuthTest(); err == nil {
		t.Error("a foreign token passes")
	}
	for i, want := range []bool{true, false} {
		conn, _, err := dial(url)
		if (err == nil) != want {
			t.Errorf("connection %d: %v", i, err)
		}
		if conn != nil {
			defer conn.Close()
		}
	}
}

// Browsers let any page open a socket to this machine and post to it. Only unguessable URLs
// keep those pages out; a counter can be guessed.
func TestTicketsAndResponseURLsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	var tickets, answers [2]string
	for i := range 2 {
		_, url, err := b.api.StartSocketModeContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tickets[i], answers[i] = url, b.Command(b.general, b.alice, "/myao").url
	}
	for _, of := range [][2]string{tickets, answers} {
		uncounted := func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}
		if strings.Map(uncounted, of[0]) == strings.Map(uncounted, of[1]) {
			t.Errorf("after %s comes %s", of[0], of[1])
		}
	}
}

func dial(url string) (*websocket.Conn, *http.Response, error) {
	return websocket.DefaultDialer.Dial(url, nil)
}
