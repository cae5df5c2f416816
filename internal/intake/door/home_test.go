package door

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"testing"

	"myao/internal/operate/chatops"
	"myao/internal/slack"
)

// heldHome tells who is shown their Home tab, and then waits for release.
type heldHome struct{ shown, release chan string }

func (h heldHome) Publish(_ context.Context, v chatops.Viewer, notice slack.Answer) error {
	h.shown <- fmt.Sprintf("%s %v %s", v.User, v.Outsider, notice.Text)
	<-h.release
	return nil
}

func (heldHome) Click(_ context.Context, b slack.BlockAction, v chatops.Viewer) (notice slack.Answer, result string) {
	return slack.Answer{Text: b.Value + " by " + v.User}, "done"
}

func (heldHome) Wrong(context.Context, slack.ViewSubmission, slack.Identity) map[string]string {
	return nil
}

func (heldHome) Submit(context.Context, slack.ViewSubmission, chatops.Viewer) (notice slack.Answer, result string) {
	return notice, "done"
}

// clickHome delivers an interaction and returns the door's answer.
func (b *bundle) clickHome(t *testing.T, payload string) int {
	t.Helper()
	body := url.Values{"payload": {payload}}.Encode()
	status, _ := b.postTo(t, interactions, body, sign(body, secret, noon), false)
	return status
}

// However often somebody opens their Home tab, it is built once at a time, and once more at the end.
func TestHomeCoalesces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	home := heldHome{make(chan string, 8), make(chan string)}
	b.Home = home
	b.directory.guests = map[string]bool{"UGUEST": true}
	open := func(user string) {
		t.Helper()
		if status := b.deliver(t, callback(fmt.Sprintf(`{"type":"app_home_opened","user":%q,"channel":"D1","tab":"home"}`, user))); status != http.StatusOK {
			t.Errorf("answered %d", status)
		}
	}
	next := func(want string) {
		t.Helper()
		if got := <-home.shown; got != want {
			t.Errorf("shown to %q, want %q", got, want)
		}
	}
	open("U1")
	next("U1 false ")
	for range 10 {
		open("U1")
	}
	click := `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"container":{"type":"view"},"actions":[{"action_id":"myao_home_mute","value":"C1"}]}`
	if status := b.clickHome(t, click); status != http.StatusOK {
		t.Errorf("a click is answered %d", status)
	}
	for noticed := false; !noticed; runtime.Gosched() {
		b.homes.mu.Lock()
		noticed = b.homes.building["U1"].notice.Text != ""
		b.homes.mu.Unlock()
	}
	home.release <- ""
	next("U1 false C1 by U1")
	home.release <- ""
	open("UGUEST")
	next("UGUEST true ")
	home.release <- ""
	b.directory.failUsers(errors.New("away"))
	open("UNEW") // nobody knows whether they are a guest
	next("UNEW true ")
	home.release <- ""
	if len(home.shown) > 0 {
		t.Errorf("shown once more, to %s", <-home.shown)
	}
}

// Somebody who opens the direct message with an agent gets suggestions.
func TestSuggestedPrompts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if status := b.deliver(t, callback(`{"type":"app_home_opened","user":"U1","channel":"D1","tab":"messages"}`)); status != http.StatusOK {
		t.Errorf("answered %d", status)
	}
	if got := <-b.directory.suggested; got != "3 in D1" {
		t.Errorf("suggested %s", got)
	}
}
