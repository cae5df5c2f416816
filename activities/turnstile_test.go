package activities

import (
	"fmt"
	"testing"
	"time"
)

// Thirty promises that are due at once begin in three seconds, each after one wait at most. Those that are due
// seldom begin at once, and a turn that nobody takes costs no other its own.
func TestTurnstile(t *testing.T) {
	t.Parallel()
	var p Turnstile
	now := time.Unix(1000, 0)
	waits := map[string]time.Duration{}
	for i := range 30 {
		key := fmt.Sprint(i)
		waits[key] = p.wait(key, now)
	}
	for i := range 30 {
		key := fmt.Sprint(i)
		want := time.Duration(i) * promisePace
		if want <= slotLead {
			want = 0
		}
		if waits[key] != want {
			t.Errorf("%s waits %s, want %s", key, waits[key], want)
		}
		if want > 0 {
			if again := p.wait(key, now.Add(want-slotLead)); again != 0 {
				t.Errorf("%s, %s later, still waits %s", key, want-slotLead, again)
			}
		}
	}
	if len(p.turns) != 0 {
		t.Errorf("keeps the turns %v", p.turns)
	}
	for range 30 { // one of them is never seen again
		p.wait("lost", now.Add(time.Minute))
		p.wait("other", now.Add(time.Minute))
	}
	if wait := p.wait("later", now.Add(2*time.Hour)); wait != 0 {
		t.Errorf("later: waits %s", wait)
	}
}
