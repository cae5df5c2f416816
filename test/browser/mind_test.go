package browser

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"myao/internal/llm"
	"myao/internal/llm/demo"
	"myao/test/testserver"
)

// slowQuestion returns the variant of a question to which the demo model answers yes with the
// longest delay.
func slowQuestion(t *testing.T, question string) string {
	t.Helper()
	best, longest := "", 0
	for _, end := range []string{"?", " today?", ", by chance?", " now?", ", roughly?", "? Anybody?", ", then?", "??"} {
		text := question + end
		r, err := demo.New().Generate(t.Context(), llm.Request{
			Purpose: llm.PurposeJudgment, Schema: llm.VerdictSchema(600),
			System: "**2026-01-01 10:00:00** alice:\n" + text + "\n\n---\n",
		})
		testserver.Must(t, err)
		var v struct {
			Delay int `json:"delay_seconds"`
		}
		testserver.Must(t, json.Unmarshal([]byte(r.Text), &v))
		if v.Delay > longest {
			best, longest = text, v.Delay
		}
	}
	if best == "" {
		t.Fatalf("the demo model answers every variant of %q without a delay", question)
	}
	return best
}

// topic begins a thread that no other test uses, and opens the page at it. Tests of the mind need
// their own conversation.
func (w *world) topic(t *testing.T, text string) (tb *tab, thread string) {
	t.Helper()
	thread = w.say(t, "random", "bob", text, "")
	l := desktop
	l.hash = "#channel=random&thread=" + thread
	tb = w.open(t, l)
	tb.awaitMind(text)
	return tb, thread
}

// awaitMind waits until the mind shows the thread of a message.
func (tb *tab) awaitMind(text string) {
	tb.t.Helper()
	tb.await("the thread's own mind", fmt.Sprintf(`document.getElementById("mind-title").innerText.includes(%s) && %s`, quote(text), phase))
}

// openThread opens the thread of a message.
func (tb *tab) openThread(text string) {
	tb.t.Helper()
	tb.awaitMessage(mainList, text)
	root := message(mainList, text)
	tb.tool(root, "Reply in thread")
	tb.awaitMessage(threadList, text)
	tb.awaitMind(text)
}

const phase = `document.getElementById("mind-phase").dataset.phase`

// awaitPhase waits until the mind shows one of these phases and returns it.
func (tb *tab) awaitPhase(phases ...string) string {
	tb.t.Helper()
	wanted, err := json.Marshal(phases)
	testserver.Must(tb.t, err)
	tb.await("the phase "+strings.Join(phases, " or "), fmt.Sprintf("%s.includes(%s)", wanted, phase))
	return eval[string](tb, phase)
}

// due returns when the countdown ends.
func (tb *tab) due() time.Time {
	tb.t.Helper()
	at, err := time.Parse(time.RFC3339, eval[string](tb, `document.getElementById("mind-due").dataset.due ?? ""`))
	if err != nil {
		tb.t.Fatalf("when it is due: %v", err)
	}
	return at
}

// awaitTime waits until a time has well passed.
func awaitTime(t *testing.T, what string, at time.Time) {
	t.Helper()
	await(t, what, func() bool { return time.Since(at) > 1500*time.Millisecond })
}

// held asks a question whose answer is delayed for some seconds, and reports whether the page shows
// the delay. A busy machine may miss it.
func (tb *tab) held(composer, question string) bool {
	tb.t.Helper()
	before := eval[int](tb, posted)
	tb.send(composer, slowQuestion(tb.t, question))
	tb.await("a reply to be held back", fmt.Sprintf(`%s === "delaying" || %s > %d`, phase, posted, before))
	return tb.is(phase + ` === "delaying"`)
}

// tries is how often a test repeats what a busy machine can miss.
const tries = 20

// decision is an expression for the newest decision in the story.
const decision = `document.querySelector("#mind-story li[data-decision]")`

// posted is an expression for the number of decisions in the story that were posted.
const posted = `document.querySelectorAll('#mind-story li[data-outcome="posted"]').length`

// decided is the newest decision in the story with an outcome.
func decided(outcome string) element {
	return one(fmt.Sprintf(`#mind-story li[data-outcome=%q]`, outcome))
}

func (tb *tab) awaitOutcome(outcome string) {
	tb.t.Helper()
	tb.await("a decision with the outcome "+outcome, string(decided(outcome)))
}

func testMind(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about the mind")
	tb.awaitPhase("idle")
	if tb.is(shown(one("#mind-due"))) {
		t.Errorf("idle, and still counting down: %q", tb.text(one("#mind-due")))
	}
	question, counted, delayed := "", false, false
	for n := 0; n < tries && !(counted && delayed); n++ {
		if n > 0 {
			tb.awaitPhase("idle")
		}
		question = slowQuestion(t, fmt.Sprintf("Does anybody know what <b>it</b> thinks of number %d", n))
		tb.send("#text-thread", question)
		tb.awaitPhase("waiting", "judging", "delaying", "replying")
		counted = tb.countsDown(t) || counted
		tb.await("the next phase", phase+` !== "waiting"`)
		delayed = tb.awaitPhase("delaying", "replying", "idle") == "delaying" || delayed
	}
	if !counted || !delayed {
		t.Fatalf("in %d tries it was seen counting down: %v, holding back: %v", tries, counted, delayed)
	}
	verdict := func() string { return tb.text(one("#mind-verdict")) }
	await(t, "the verdict", func() bool { return strings.Contains(verdict(), "question mark") })
	for what, pattern := range map[string]string{
		"confidence": `/confidence\s+(0\.9|90)/i`, "delay": `/delay\s+[1-9]\d* s/i`, "tokens": `/tokens\s+[1-9]\d* in, [1-9]\d* out/i`,
	} {
		if !tb.is(pattern + `.test(document.getElementById("mind-verdict").innerText)`) {
			t.Errorf("the verdict does not tell the %s:\n%s", what, verdict())
		}
	}
	tb.await("the decision to be told as carried out", decision+`.dataset.outcome === "posted"`)
	tb.awaitPhase("idle")

	tb.click(decided("posted").in("button.prompt"))
	tb.await("the prompt", `document.getElementById("prompt").open && document.getElementById("prompt-text").innerText.includes("anybody know what")`)
	if got := w.answers(t, "random", thread); !slices.ContainsFunc(got, func(said string) bool { return strings.Contains(w.typed(t, said), question) }) {
		t.Errorf("the answers are %q, none to %q", got, question)
	}
	// The prompt may escape characters with backslashes; ignore them.
	if said := tb.text(one("#prompt-text")); !strings.Contains(strings.ReplaceAll(said, `\`, ""), question) || !strings.Contains(said, "should_respond") {
		t.Errorf("the prompt lacks the question or the answer:\n%s", said)
	}
	tb.press(kb.Escape)
	tb.await("Escape to close the prompt", `!document.getElementById("prompt").open`)
	tb.checkLink(t, thread)
}

// Closing a prompt returns the focus to its button, even if the button was redrawn meanwhile.
func testPrompt(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about a prompt")
	tb.send("#text-thread", "@myao what is a prompt?")
	w.awaitAnswer(t, "random", thread)
	tb.awaitOutcome("posted")
	tb.awaitPhase("idle")
	tb.click(decided("posted").in("button.prompt"))
	tb.await("the prompt", `document.getElementById("prompt").open && document.getElementById("prompt-text").innerText.includes("what is a prompt")`)
	w.Post("edit", map[string]any{"channel": w.channel(t, "random").ID, "user": w.user(t, "alice"), "ts": w.find(t, "random", "@myao what is a prompt?"), "text": "@myao what was a prompt?" + strings.Repeat(".", 34) + "🙂🙂🙂"})
	tb.await("the decision to tell of the edited message", fmt.Sprintf(`/what was a prompt/.test(%s?.innerText)`, decided("posted")))
	if !tb.is(string(decided("posted")) + ".innerText.isWellFormed()") {
		t.Error("what it tells of the message ends in half an emoji")
	}
	tb.press(kb.Escape)
	tb.await("Escape to close the prompt", `!document.getElementById("prompt").open`)
	tb.await("the focus to be at the button again", `document.activeElement.matches("#mind-story button.prompt")`)
}

// countsDown watches the countdown to the judgment and reports whether it saw it go down.
func (tb *tab) countsDown(t *testing.T) bool {
	t.Helper()
	// The shown seconds, the real seconds, and the due time; null once no time is shown.
	look := func() []float64 {
		return eval[[]float64](tb, `(e => `+phase+` === "waiting" && /\d/.test(e.innerText) ? [parseFloat(/[\d.]+/.exec(e.innerText)), (Date.parse(e.dataset.due) - Date.now()) / 1000, Date.parse(e.dataset.due)] : null)(document.getElementById("mind-due"))`)
	}
	began := look()
	if began == nil {
		return false
	}
	if math.Abs(began[0]-began[1]) > 2 {
		t.Errorf("it says %.1f s, and it is due in %.1f s", began[0], began[1])
	}
	missed := false
	await(t, "the countdown to go down", func() bool {
		now := look()
		missed = now == nil || now[2] != began[2]
		return missed || now[0] < began[0]
	})
	return !missed
}

// checkLink checks that the link to Temporal's Web UI leads to the thread's workflow.
func (tb *tab) checkLink(t *testing.T, thread string) {
	t.Helper()
	link := one("#mind-link")
	tb.await("a link to Temporal's Web UI", shown(link))
	if got := eval[string](tb, fmt.Sprintf("%[1]s.target + ' ' + %[1]s.rel", link)); !strings.HasPrefix(got, "_blank ") || !strings.Contains(got, "noopener") {
		t.Errorf("the link opens as %q", got)
	}
	href := eval[string](tb, fmt.Sprintf("%s.href", link))
	escaped := url.PathEscape("thread/" + "T0SANDBOX" + "/" + tb.w.channel(t, "random").ID + "/" + thread)
	if !strings.HasPrefix(href, tb.w.UI+"/namespaces/sandbox/workflows/"+escaped) {
		t.Errorf("the link leads to %s", href)
	}
	for _, address := range []string{href, tb.w.UI + "/api/v1/namespaces/sandbox/workflows/" + escaped} {
		resp, err := http.Get(address)
		testserver.Must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", address, resp.Status)
		}
	}
}

func testWithdrawn(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about withdrawing")
	for n := range tries {
		if !tb.held("#text-thread", fmt.Sprintf("Where is the key of room %d", n)) {
			continue
		}
		answer := fmt.Sprintf("In the drawer, <i>number %d</i>.", n)
		before := eval[int](tb, posted)
		answered := w.say(t, "random", "bob", answer, thread)
		// Another decision, about the root of the thread, may have been withdrawn by what others say in the channel.
		withdrawn := saying(`#mind-story li[data-outcome="withdrawn"]`, "bob wrote “"+answer)
		tb.await("the reply to be posted, or withdrawn by bob's answer", fmt.Sprintf("%s || %s > %d", withdrawn, posted, before))
		if !tb.is(string(withdrawn)) {
			continue // the reply was already being posted
		}
		tb.awaitPhase("idle")
		for _, m := range w.channel(t, "random").Messages {
			if m.BotID != "" && m.ThreadTS == thread && m.TS > answered {
				t.Errorf("it was withdrawn, and still said: %s", m.Text)
			}
		}
		return
	}
	t.Errorf("nothing was withdrawn in %d tries", tries)
}

func testAnswerNow(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about answering now")
	if !tb.is(`document.getElementById("answer-now").disabled && document.getElementById("drop").disabled`) {
		t.Error("what waits can be ordered about while nothing does")
	}
	tb.send("#text-thread", "How long does it take?")
	tb.awaitPhase("waiting")
	tb.click(one("#answer-now"))
	w.awaitAnswer(t, "random", thread)
	tb.awaitOutcome("posted")
	tb.await("the order in the story", `/alice wanted an answer now/.test(document.getElementById("mind-story").innerText)`)
	if said := tb.text(decided("posted")); strings.Contains(said, "confidence") {
		t.Errorf("it was told to answer, and still judged:\n%s", said)
	}
	tb.awaitPhase("idle")
	if got := w.answers(t, "random", thread); len(got) != 1 {
		t.Errorf("it answered %d times: %q", len(got), got)
	}
}

func testDrop(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about dropping")
	tb.become("carol")
	tb.send("#text-thread", "Shall we?")
	tb.awaitPhase("waiting")
	due := tb.due()
	tb.click(one("#drop"))
	tb.awaitPhase("idle")
	tb.await("the order in the story", `/carol dropped/.test(document.getElementById("mind-story").innerText)`)
	awaitTime(t, "the time at which it would have judged", due)
	if got := w.answers(t, "random", thread); len(got) != 0 {
		t.Errorf("it was dropped, and says %q", got)
	}
}

func testSilence(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about silence")
	mute := one("#mute")
	silent := func(on bool) {
		t.Helper()
		tb.await(fmt.Sprintf("the silence to be %v", on), fmt.Sprintf(`%[1]s.ariaPressed === "%[2]v" && %[1]s.innerText === "%[3]s" && %[4]s === %[2]v`,
			mute, on, map[bool]string{true: "Unmute", false: "Mute"}[on], "!!"+shown(one("#mind-problem"))))
	}
	silent(false)
	for n, hush := range []func(){
		func() { tb.click(mute) },
		func() {
			tb.click(one("#snooze"))
			tb.press(kb.Enter) // the first choice has the focus
		},
	} {
		hush()
		silent(true)
		asked := fmt.Sprintf("@myao are you there, %d?", n)
		tb.send("#text-thread", asked)
		tb.await("the mention to be passed over", fmt.Sprintf(`[...document.querySelectorAll("#mind-story li")].some(e => /silent|dropped/.test(e.dataset.outcome) && e.innerText.includes(%s))`, quote(asked)))
		if got := w.answers(t, "random", thread); len(got) != n {
			t.Errorf("it is silent, and says %q", got)
		}
		tb.click(mute)
		silent(false)
		tb.send("#text-thread", fmt.Sprintf("@myao and now, %d?", n))
		await(t, "an answer again", func() bool { return len(w.answers(t, "random", thread)) == n+1 })
		tb.awaitPhase("idle")
	}
	tb.await("the orders in the story", `["muted", "snoozed", "ended the silence"].every(o => document.getElementById("mind-story").innerText.includes("alice " + o))`)
}

func testMemories(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.visit("secret-plans") // with few other messages: the demo model remembers only the newest lines
	tb.awaitPhase("idle")
	tb.send("#text-main", "For the record: the kettle is <u>blue</u> since 1997.")
	tb.awaitPhase("waiting")
	tb.click(one("#remember"))
	tb.await("the memory", `document.getElementById("mind-memories").textContent.includes("the kettle is <u>blue</u> since 1997")`)
}

// testLookingUp shows the page a state in which tools run, which is over too soon to be seen, and
// then has a file read.
func testLookingUp(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about looking up")
	said := eval[string](tb, `Promise.all([import("./mind.js"), import("./state.js")]).then(([{ mind }, { emit }]) => {
		const steps = [{ tool: "search_messages", done: true }, { tool: "read_thread" }, { tool: "search_messages" }];
		mind.latest = { ...mind.latest, state: { ...mind.latest.state, phase: "replying", work: { ...mind.latest.state.work, steps } } };
		emit("mind");
		return document.getElementById("mind-why").textContent + "\n" + document.querySelector(".thread .presence").textContent;
	})`)
	for _, part := range []string{"It is searching messages, reading a thread (1 of 3 done)", "\nmyao is searching messages, reading a thread …"} {
		if !strings.Contains(said, part) {
			t.Errorf("lacks %q: %s", part, said)
		}
	}
	tb.click(one("#text-thread"))
	tb.paste("#text-thread", sharedFile{"the plan.md", "text/markdown", []byte("the launch moves to Thursday")})
	tb.write("@myao what do you think?")
	tb.press(kb.Enter)
	w.awaitAnswer(t, "random", thread)
	if got := w.answers(t, "random", thread)[0]; !strings.Contains(got, "the launch moves to Thursday") {
		t.Errorf("the answer does not have the file: %s", got)
	}
	tb.await("the file in the story", `/read_file “the plan.md”: [\d,]+ ms, [\d,]+ characters/.test(document.getElementById("mind-story").innerText)`)
}

// testNotes tests that a note is told with its tool, listed, and taken back by keyboard.
func testNotes(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about notes")
	tb.send("#text-thread", "@myao remember that the lamp is <i>green</i>.")
	note := saying("#mind-notes li", "the lamp is <i>green</i>")
	tb.await("the note", shown(note))
	w.awaitAnswer(t, "random", thread)
	tb.await("the step in the story", `/remember “the lamp is <i>green<\/i>”: [\d,]+ ms, [\d,]+ characters/.test(document.getElementById("mind-story").innerText)`)
	tb.axe("a note")
	eval[bool](tb, string(note.in("button"))+`.focus() ?? true`)
	tb.press(kb.Enter)
	tb.await("the note to go", `!document.getElementById("mind-notes").innerText.includes("green")`)
	if got := tb.focused(); !strings.Contains(got, "mind-notes") {
		t.Errorf("the focus is at %s", got)
	}
}

// testPromises tests that a promise is counted down in its thread and named in its channel, and cancelled by
// keyboard; and that one that is kept says so.
func testPromises(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about promises")
	tb.send("#text-thread", "@myao remind me in 2 hours to feed <i>the cat</i>.")
	promise := saying("#mind-promises li[data-state=open]", "feed <i>the cat</i>")
	tb.await("the promise", shown(promise))
	if left := tb.text(promise.in("[role=timer]")); !strings.HasPrefix(left, "in 1:5") && left != "in 2:00 h" {
		t.Errorf("it counts down: %q", left)
	}
	w.awaitAnswer(t, "random", thread)
	tb.axe("a promise")
	tb.click(one("#close"))
	tb.await("the promise in its channel", shown(promise.in("button.quoted")))
	tb.click(promise.in("button.quoted"))
	tb.await("its thread", fmt.Sprintf(`document.getElementById("mind-title").innerText.startsWith("Thread") && %s`, shown(promise)))
	eval[bool](tb, string(promise.in("button.small"))+`.focus() ?? true`)
	tb.press(kb.Enter)
	tb.await("the promise to be cancelled", shown(saying("#mind-promises li[data-state=cancelled]", "cancelled by alice")))
	if got := tb.focused(); !strings.Contains(got, "mind-promises") {
		t.Errorf("the focus is at %s", got)
	}
	tb.await("the outcome under the message", string(saying(threadList+" li.message .context", "cancelled by @alice")))
	tb.axe("a promise that has ended")
	tb.send("#text-thread", "@myao remind me in 1 second to stretch")
	tb.await("the promise to be kept", shown(saying("#mind-promises li[data-state=kept]", "stretch")))
	tb.await("it in the story", string(saying("#mind-story strong", "Kept its promise")))
}

// testButtons tests that a proposal's text stands as it is, that its buttons work by keyboard, and that
// what the bot answers to a click is shown. The proposal is none that the bot knows.
func testButtons(t *testing.T, w *world) {
	tb, thread := w.topic(t, "about buttons")
	const blocks = `[{"type":"markdown","text":"I **propose** this."},
		{"type":"section","text":{"type":"plain_text","text":"desk › create_ticket\n• title: <b>*door*</b> <@U0BOT> https://example.com/","emoji":false}},
		{"type":"actions","elements":[{"type":"button","action_id":"myao_approve","value":"none","text":{"type":"plain_text","text":"Approve"},"style":"primary"},
			{"type":"button","action_id":"myao_decline","value":"none","text":{"type":"plain_text","text":"Decline"}}]}]`
	bot := func(method string, args url.Values) (ts string) {
		t.Helper()
		args.Set("token", w.secrets[0])
		args.Set("channel", w.channel(t, "random").ID)
		resp, err := http.PostForm(w.URL+"/api/"+method, args)
		testserver.Must(t, err)
		defer func() { _ = resp.Body.Close() }()
		var answer struct{ TS, Error string }
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Error != "" {
			t.Fatalf("%s: %v, %s", method, err, answer.Error)
		}
		return answer.TS
	}
	ts := bot("chat.postMessage", url.Values{"thread_ts": {thread}, "text": {"I propose this."}, "blocks": {blocks}})
	shownAs := "desk › create_ticket\n• title: <b>*door*</b> <@U0BOT> https://example.com/"
	tb.awaitMessage(threadList, "• title:")
	proposal := message(threadList, "• title:")
	if got := tb.text(proposal.in(".proposed")); got != shownAs || !tb.is(string(proposal.in(".text strong"))) || tb.is(string(proposal.in(".proposed *"))) {
		t.Errorf("it shows %q", got)
	}
	tb.axe("a proposal")
	eval[bool](tb, string(proposal.in(".actions .primary"))+".focus() ?? true")
	tb.press(kb.Enter)
	tb.await("the answer to the click", string(saying(threadList+" .ephemeral", "I no longer know of this proposal")))
	bot("chat.update", url.Values{"ts": {ts}, "text": {"I propose this."}, "blocks": {`[{"type":"markdown","text":"I **propose** this."},{"type":"context","elements":[{"type":"mrkdwn","text":"Approved by <@` + w.user(t, "alice") + `>."}]}]`}})
	tb.await("the outcome in place of the buttons", fmt.Sprintf(`%[1]s && !%[1]s.querySelector("button.primary")`, saying(threadList+" li.message", "Approved by @alice.")))
	if tb.is(`document.activeElement === document.body`) {
		t.Error("the update loses the focus")
	}
}

// testRating tests that an answer is rated by keyboard, that the window for the reason takes and gives back
// the focus, and that only the writer sees the vote.
func testRating(t *testing.T, w *world) {
	asked := "@myao how do I rate this?"
	thread := w.say(t, "random", "bob", asked, "")
	w.awaitAnswer(t, "random", thread)
	l := desktop
	l.hash = "#channel=random&thread=" + thread
	tb := w.open(t, l)
	down := one(threadList + ` .rating [data-vote="down"]`)
	tb.await("the buttons", string(down))
	closed := `!document.getElementById("modal").open`
	for _, entered := range []bool{true, false} {
		eval[bool](tb, string(down)+".focus() ?? true")
		tb.press(kb.Enter)
		tb.await("the window", `document.getElementById("modal").open && document.activeElement.matches("#modal textarea")`)
		tb.axe("the window for the reason")
		if entered {
			tb.write("It is <b>wrong</b>.")
			tb.press(kb.Tab)
			tb.press(kb.Tab)
			tb.press(kb.Enter)
		} else {
			tb.press(kb.Escape)
		}
		tb.await("the window to close", closed)
		if !tb.is(`document.activeElement.matches('[data-vote="down"]')`) {
			t.Error("the focus does not return to the button")
		}
		tb.await("the vote to be marked", string(down)+`.getAttribute("aria-pressed") === "true"`)
		tb.axe("a vote")
	}
	if other := w.open(t, l); !other.is(`[...document.querySelectorAll("[data-vote]")].every(b => b.getAttribute("aria-pressed") === "false")`) {
		t.Error("somebody else sees the vote")
	}
}
