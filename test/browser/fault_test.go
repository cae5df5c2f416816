package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestFaults tests the faults that affect all visitors, one after the other in a separate sandbox.
func TestFaults(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	w := start(t)
	tb := w.open(t, desktop)
	for _, c := range []struct {
		name string
		test func(*testing.T, *tab)
	}{
		{"duplicate events", testAgain},
		{"rate limited", testLimited},
		{"posts refused", testDown},
		{"answer lost", testLost},
		{"posted, but 503", testBroken},
		{"out of order", testOrder},
		{"model down", testModelDown},
		{"worker killed", testKilled},
	} {
		if !t.Run(c.name, func(t *testing.T) { c.test(t, tb.of(t)) }) {
			t.FailNow() // a fault left on would fail the other tests
		}
	}
}

// of returns the same tab for a subtest.
func (tb *tab) of(t *testing.T) *tab {
	return &tab{t: t, w: tb.w, ctx: tb.ctx}
}

// fault switches a fault on or off.
func (tb *tab) fault(name string, on bool) {
	tb.t.Helper()
	button := one(fmt.Sprintf("#bar button[data-fault=%q]", name))
	tb.click(button)
	tb.await(fmt.Sprintf("%s to be %v", name, on), fmt.Sprintf(`%s.ariaPressed === "%v"`, button, on))
}

// mention mentions the bot at the top level and opens the mention's thread.
func (tb *tab) mention(text string) (thread string) {
	tb.t.Helper()
	tb.send("#text-main", "@myao "+text)
	tb.openThread(text)
	return tb.w.find(tb.t, "general", "@myao "+text)
}

// answeredOnce waits until the thread is idle and checks that it has one answer.
func (tb *tab) answeredOnce(thread string) {
	tb.t.Helper()
	tb.awaitOutcome("posted")
	tb.awaitPhase("idle")
	if got := tb.w.answers(tb.t, "general", thread); len(got) != 1 {
		tb.t.Errorf("there are %d answers, want one: %q", len(got), got)
	}
	if got := eval[int](tb, fmt.Sprintf("document.querySelectorAll(%s).length", quote(threadList+" .badge"))); got != 1 {
		tb.t.Errorf("the page shows %d answers, want one", got)
	}
}

// Slack refuses every post until the fault is switched off.
func testLimited(t *testing.T, tb *tab) { refused(t, tb, "limited") }
func testDown(t *testing.T, tb *tab)    { refused(t, tb, "down") }

func refused(t *testing.T, tb *tab, fault string) {
	tb.fault(fault, true)
	thread := tb.mention("is it refused, " + fault + "?")
	tb.await("the page to say that Slack fails", `/slack fails/i.test(document.getElementById("mind-why").innerText)`)
	const again = `/[2-9] tries/.test(` + decision + `?.innerText)`
	tb.await("a second try", again)
	if got := tb.w.answers(t, "general", thread); len(got) != 0 {
		t.Errorf("Slack refuses every post, and there is %q", got)
	}
	tb.fault(fault, false)
	tb.w.awaitAnswer(t, "general", thread)
	tb.answeredOnce(thread)
	tb.await("its tries to be told", again)
}

// However often Slack's answer is lost, the bot looks for the post before it retries.
func testLost(t *testing.T, tb *tab)   { postedOnce(t, tb, "lost") }
func testBroken(t *testing.T, tb *tab) { postedOnce(t, tb, "broken") }

func postedOnce(t *testing.T, tb *tab, fault string) {
	tb.fault(fault, true)
	thread := tb.mention("is the answer " + fault + "?")
	tb.w.awaitAnswer(t, "general", thread)
	tb.answeredOnce(thread)
	tb.fault(fault, false)
}

func testAgain(t *testing.T, tb *tab) {
	tb.fault("again", true)
	thread := tb.mention("is it said again?")
	heard := time.Now()
	tb.w.awaitAnswer(t, "general", thread)
	tb.answeredOnce(thread)
	awaitTime(t, "the last delivery, 5 s after the first", heard.Add(5*time.Second))
	tb.fault("again", false)
	tb.answeredOnce(thread)
	if got := eval[int](tb, `document.querySelectorAll("#mind-story li[data-decision]").length`); got != 1 {
		t.Errorf("it made %d decisions about one message", got)
	}
}

// A message delivered late is answered all the same. The fault applies to one event.
func testOrder(t *testing.T, tb *tab) {
	tb.fault("order", true)
	thread := tb.mention("is it overtaken?")
	tb.await("the switch to be off again", `document.querySelector('#bar button[data-fault="order"]').ariaPressed === "false"`)
	tb.w.say(t, "general", "bob", "this overtakes it", thread)
	tb.w.awaitAnswer(t, "general", thread)
	tb.answeredOnce(thread)
}

func testModelDown(t *testing.T, tb *tab) {
	tb.fault("model", true)
	thread := tb.mention("is the model down?")
	tb.await("the trouble to be told of", phase+` === "replying" && /model.* is down/i.test(document.getElementById("mind-why").innerText)`)
	if got := tb.w.answers(t, "general", thread); len(got) != 0 {
		t.Errorf("the model is down, and there is %q", got)
	}
	tb.fault("model", false)
	tb.w.awaitAnswer(t, "general", thread)
	tb.answeredOnce(thread)
	tb.await("the failed calls in the story", `/failed: \w+/.test(`+string(decided("posted"))+`.innerText)`)
}

func testKilled(t *testing.T, tb *tab) {
	w := tb.w
	thread := w.say(t, "general", "bob", "about being killed", "")
	tb.openThread("about being killed")
	worker := func(state string) {
		t.Helper()
		tb.await("the worker to be "+state, fmt.Sprintf(`new RegExp(%s, "i").test(document.getElementById("worker-state").innerText)`, quote(state)))
	}
	worker("running")
	for n := range tries {
		before := len(w.answers(t, "general", thread))
		if !tb.held("#text-thread", fmt.Sprintf("Who has killed number %d", n)) {
			continue
		}
		due := tb.due()
		tb.click(one("#worker"))
		worker("dead")
		tb.await("the mind to tell of it", shown(one("#mind-problem"))+` && /worker is dead/i.test(document.getElementById("mind-problem").innerText)`)
		awaitTime(t, "the reply to be due", due)
		survives := len(w.answers(t, "general", thread)) == before
		if survives {
			if got := tb.text(one("#mind-due")); !strings.Contains(got, "due") {
				t.Errorf("of what is due it says %q", got)
			}
			if !tb.is(`document.getElementById("drop").disabled`) {
				t.Error("a dead worker can be told to drop")
			}
			tb.axe("a dead worker")
		}
		tb.click(one("#worker"))
		worker("running")
		await(t, "the reply", func() bool { return len(w.answers(t, "general", thread)) > before })
		tb.await("the warning to be gone", "!"+shown(one("#mind-problem")))
		tb.awaitPhase("idle")
		if got := w.answers(t, "general", thread); len(got) != before+1 {
			t.Fatalf("there are %d answers, want %d: %q", len(got), before+1, got)
		}
		if survives {
			return
		}
	}
	t.Errorf("no reply waited when the worker was killed, in %d tries", tries)
}
