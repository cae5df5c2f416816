package workspace

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// misbehaving returns the misbehaviours that are on, as the page is told.
func (b *fixture) misbehaving(t *testing.T) []string {
	t.Helper()
	_, raw, _ := b.do(t, "GET", "/sandbox/state", "", nil)
	var state struct{ Misbehaviour []Misbehaviour }
	if err := json.Unmarshal([]byte(raw), &state); err != nil || len(state.Misbehaviour) != len(misbehaviour) {
		t.Fatalf("%v: %s", err, raw)
	}
	var on []string
	for _, m := range state.Misbehaviour {
		if m.On {
			on = append(on, m.Name)
		}
	}
	if got := b.Misbehaving(); got == nil || !slices.Equal(got, on) {
		t.Errorf("the page is told %v, Misbehaving returns %v", on, got)
	}
	return on
}

func (b *fixture) misbehave(t *testing.T, name string, on bool) {
	t.Helper()
	if status, text := b.page(t, "misbehave", pageRequest{Name: name, On: on}); status != 204 {
		t.Fatalf("%s: %d %s", name, status, text)
	}
}

func TestMisbehaviourStaysUntilItIsSwitchedOff(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	post := func(text string) (int, error) {
		t.Helper()
		before := len(b.Messages(b.general))
		_, _, err := b.api.PostMessage(b.general, slack.MsgOptionText(text, false))
		return len(b.Messages(b.general)) - before, err
	}
	var limited *slack.RateLimitedError
	for _, c := range []struct {
		name    string
		posted  int
		refused func(error) bool
	}{
		{"limited", 0, func(err error) bool { return errors.As(err, &limited) && limited.RetryAfter == 5*time.Second }},
		{"lost", 1, func(err error) bool { return err != nil }},
		{"broken", 1, func(err error) bool { return strings.Contains(err.Error(), "503") }},
		{"down", 0, func(err error) bool { return strings.Contains(err.Error(), "503") }},
	} {
		b.misbehave(t, c.name, true)
		b.misbehave(t, c.name, true) // switching on twice changes nothing
		for i := range 3 {
			if posted, err := post(c.name); posted != c.posted || err == nil || !c.refused(err) {
				t.Errorf("%s, post %d: %d posted, %v", c.name, i, posted, err)
			}
		}
		if got := b.misbehaving(t); !slices.Equal(got, []string{c.name}) {
			t.Errorf("on: %v, want %s", got, c.name)
		}
		b.misbehave(t, c.name, false)
		b.misbehave(t, c.name, false)
		if posted, err := post("well again"); posted != 1 || err != nil || len(b.misbehaving(t)) != 0 {
			t.Errorf("%s is off: %d posted, %v; on: %v", c.name, posted, err, b.misbehaving(t))
		}
	}
	b.events(t)

	// The page must not switch off a fault that a test has added.
	off := b.Faults().Add(Fault{Method: "auth.test", Error: "fatal_error"})
	b.misbehave(t, "broken", true)
	b.misbehave(t, "limited", true)
	if got := b.misbehaving(t); !slices.Equal(got, []string{"limited", "broken"}) {
		t.Errorf("on: %v", got)
	}
	b.misbehave(t, "broken", false)
	b.misbehave(t, "limited", false)
	if _, err := b.api.AuthTest(); err == nil {
		t.Error("the page switched off a fault that it did not switch on")
	}
	off()
}

func TestEventMisbehaviourStaysUntilItIsSwitchedOff(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	// The third delivery comes 5 s after the first; the test does not wait for it.
	twice := func(text string) {
		t.Helper()
		b.Say(b.general, b.alice, text)
		if err := b.Await(within(t, time.Minute), func() bool {
			n := 0
			for _, d := range b.Deliveries() {
				if strings.Contains(string(d.Body), text) {
					n++
				}
			}
			return n >= 2
		}); err != nil {
			t.Errorf("%s was not delivered again", text)
		}
	}
	b.misbehave(t, "again", true)
	twice("one")
	twice("two")
	if got := b.misbehaving(t); !slices.Equal(got, []string{"again"}) {
		t.Errorf("on: %v", got)
	}
	b.misbehave(t, "again", false)
	if got := b.misbehaving(t); len(got) != 0 {
		t.Errorf("on: %v", got)
	}

	changes, cancel := b.hub.subscribe()
	defer cancel()
	// told waits until the pages learn that the faults have changed.
	told := func(want ...string) {
		t.Helper()
		for timeout := time.After(time.Minute); ; {
			select {
			case c := <-changes:
				if c.Kind != "faults" {
					continue
				}
				if got := b.misbehaving(t); !slices.Equal(got, want) {
					t.Errorf("on: %v, want %v", got, want)
				}
				return
			case <-timeout:
				t.Fatal("the pages were not told that the faults have changed")
			}
		}
	}
	b.misbehave(t, "order", true)
	told("order")
	b.misbehave(t, "order", false)
	told()
	b.misbehave(t, "order", true)
	told("order")
	b.Say(b.general, b.alice, "overtaken")
	told() // the fault is for one event
	b.Say(b.general, b.alice, "overtaking")
	var order []string
	if err := b.Await(within(t, time.Minute), func() bool {
		order = nil
		for _, d := range b.Deliveries() {
			for _, text := range []string{"overtaken", "overtaking"} {
				if strings.Contains(string(d.Body), `"`+text+`"`) {
					order = append(order, text)
				}
			}
		}
		return len(order) == 2
	}); err != nil || order[0] != "overtaking" {
		t.Errorf("delivered %v, %v", order, err)
	}
}
