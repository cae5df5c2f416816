package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestTour takes the whole tour: its first step starts itself, the others by their buttons.
func TestTour(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	w := start(t)
	panel := one("#tour-panel")
	open, shut := shown(panel), "!"+shown(panel)

	// It starts itself once in a browser, moves nothing for who prefers that, and covers nothing
	// that somebody types.
	still := desktop
	still.newcomer, still.still = true, true
	careful := w.open(t, still)
	careful.await("the tour to open itself", open)
	if !careful.is(`document.getElementById("tour-do").innerText === "Show me" && !document.body.matches(".touring")`) {
		t.Errorf("the tour plays for a visitor who prefers reduced motion\n%s", careful.sight())
	}
	careful.do("load the page again", chromedp.Reload())
	first := desktop
	first.newcomer = true
	typing := first
	typing.away = true // else the tour may start before a slow machine has typed
	writer := w.open(t, typing)
	writer.write("half a sen")
	writer.comeBack()
	// The page looks every second whether to start the tour, once it knows the bot's mind.
	for name, tb := range map[string]*tab{"a second time": careful, "over what somebody types": writer} {
		tb.await("a moment in which the tour could start", `/running/.test(document.getElementById("worker-state")?.innerText) && performance.now() - (window.known ??= performance.now()) > 1500`)
		if tb.is(open) {
			t.Errorf("the tour starts itself %s", name)
		}
	}

	tb := w.open(t, first)
	tb.await("the tour to start itself", open)
	for n, step := range []struct {
		outcome string // of the newest decision
		replies int
	}{{"posted", 1}, {"posted", 1}, {"posted", 1}, {"posted", 2}, {"posted", 3}, {"", 0}} {
		tb.await(fmt.Sprintf("step %d", n+1), fmt.Sprintf(`%[1]s.dataset.step === "%[2]d" && !%[1]s.dataset.done`, panel, n+1))
		title := tb.text(one("#tour-title"))
		// On a busy machine a delay may be over before the page can show it. The step then says so
		// and can be repeated.
		var said []string
		for try := range 3 {
			said = nil
			before := 0
			if n+try > 0 { // else it plays already
				before = len(w.channel(t, "general").Messages)
				tb.click(one("#tour-do"))
			}
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
		switch n {
		case 0:
			if tb.focused() != "text-main" {
				t.Errorf("%s: took the focus from the composer\n%s", title, tb.sight())
			}
			if early := w.answers(t, "general", ""); len(early) > 0 {
				t.Errorf("%s: the bot answered the question to everybody: %q", title, early)
			}
		case 2:
			if !strings.Contains(said[len(said)-1], "/archives/"+w.channel(t, "random").ID+"/p") {
				t.Errorf("%s: it cites nothing: %q", title, said)
			}
			if !tb.is(string(one(threadList + ` .rating [aria-pressed="true"]`))) {
				t.Errorf("%s: the answer is not rated", title)
			}
		case 5: // a step under way ends for Escape, and for who begins to write
			for what, leave := range map[string]func(){
				"Escape": func() { tb.press(kb.Escape) },
				"typing": func() { tb.click(one("#text-main")); tb.write("my own words") },
			} {
				tb.click(one("#tour-do"))
				tb.await("the step to be under way", `document.body.matches(".touring")`)
				leave()
				tb.await(what+" to end the tour", shut+` && !document.body.matches(".touring") && document.activeElement.id === "text-main"`)
				tb.click(one("#tour"))
				tb.await("the tour to go on where it was", open+fmt.Sprintf(` && %s.dataset.step === "6"`, panel))
			}
		}
		tb.click(one("#tour-next"))
	}
	tb.await("the way to a workspace of one's own", fmt.Sprintf(`["starter init", "docs/connecting.md"].every(s => %s.innerText.includes(s))`, panel))
	tb.axe("the last page of the tour")
	tb.press(kb.Escape)
	tb.await("the tour to end", shut)
	if got := eval[string](tb, `document.getElementById("text-main").value`); got != "my own words" {
		t.Errorf("after the tour the composer holds %q", got)
	}
	tb.await("the worker to run", `/running/i.test(document.getElementById("worker-state").innerText)`)
}
