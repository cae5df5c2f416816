package browser

import (
	"fmt"
	"strings"
	"testing"
)

// TestTour takes the whole tour by its buttons.
func TestTour(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	w := start(t)
	tb := w.open(t, desktop)
	panel := one("#tour-panel")
	tb.click(one("#tour"))
	tb.await("the tour to begin", shown(panel))
	for n, step := range []struct {
		outcome string // of the newest decision
		replies int
	}{{"posted", 1}, {"posted", 1}, {"withdrawn", 0}, {"posted", 2}, {"posted", 3}, {"", 0}} {
		tb.await(fmt.Sprintf("step %d", n+1), fmt.Sprintf(`%[1]s.dataset.step === "%[2]d" && !%[1]s.dataset.done`, panel, n+1))
		title := tb.text(one("#tour-title"))
		// On a busy machine a delay may be over before the page can show it. The step then says so
		// and can be repeated.
		var said []string
		for range 3 {
			said = nil
			before := len(w.channel(t, "general").Messages)
			tb.click(one("#tour-do"))
			tb.await("the step to be under way", fmt.Sprintf("!%s.dataset.done", panel))
			tb.await("the step to be over", fmt.Sprintf("%s.dataset.done", panel))
			replies := 0
			for _, m := range w.channel(t, "general").Messages[before:] {
				said = append(said, m.Text)
				if m.BotID != "" {
					replies++
				}
			}
			if replies > step.replies {
				t.Errorf("%s: the bot said %d things, want %d: %q", title, replies, step.replies, said)
			}
			if tb.is(fmt.Sprintf(`%s.dataset.done === "true"`, panel)) {
				if replies != step.replies {
					t.Errorf("%s: the bot said %d things, want %d: %q", title, replies, step.replies, said)
				}
				break
			}
			t.Logf("%s: %s", title, tb.text(one("#tour-text")))
		}
		if !tb.is(fmt.Sprintf(`%s.dataset.done === "true"`, panel)) {
			t.Errorf("%s: did not happen in three tries", title)
		}
		if len(said) == 0 {
			t.Fatalf("%s: there are no messages", title)
		}
		if step.outcome != "" && !tb.is(string(decided(step.outcome))) {
			t.Errorf("%s: no decision has the outcome %s", title, step.outcome)
		}
		if step.outcome == "" && !strings.Contains(eval[string](tb, `document.getElementById("mind-memories").textContent`), said[0]) {
			t.Errorf("%s: %q is not remembered", title, said[0])
		}
		if n == 0 && !strings.Contains(said[len(said)-1], "/archives/"+w.channel(t, "random").ID+"/p") {
			t.Errorf("%s: it cites nothing: %q", title, said)
		}
		tb.click(one("#tour-next"))
	}
	tb.await("the tour to end", "!"+shown(panel))
	tb.await("the worker to run", `/running/i.test(document.getElementById("worker-state").innerText)`)
}
