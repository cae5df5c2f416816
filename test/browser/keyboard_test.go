package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tabTo presses Tab until an element has the focus. It fails the test if the focus is invisible
// anywhere on the way.
func (tb *tab) tabTo(selector string, with ...chromedp.Modifier) {
	tb.t.Helper()
	for range 120 {
		tb.press(kb.Tab, with...)
		if unseen := eval[string](tb, `(e => {
			if (!e || e === document.body) return "";
			const s = getComputedStyle(e), r = e.getBoundingClientRect();
			const seen = e.matches(":focus-visible") && (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1 || s.boxShadow !== "none")
				// there the caret shows it, and the field around it
				|| e.closest(".composer, .editing") && e.matches("textarea, input");
			return seen && r.width > 0 && r.height > 0 && r.right > 0 && r.left < innerWidth ? "" : e.outerHTML.slice(0, 200);
		})(document.activeElement)`); unseen != "" {
			tb.t.Errorf("the focus cannot be seen at %s", unseen)
		}
		if tb.is(fmt.Sprintf(`document.activeElement?.matches(%s)`, quote(selector))) {
			return
		}
	}
	tb.t.Fatalf("no Tab leads to %s\n%s", selector, tb.sight())
}

func testKeyboard(t *testing.T, w *world) {
	l := desktop
	l.hash = "#channel=random"
	tb := w.open(t, l)
	tb.tabTo("a.skip")
	tb.press(kb.Enter)
	tb.await("the skip link to lead to the composer", `document.activeElement.id === "text-main"`)
	tb.write("root for the keyboard")
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, "root for the keyboard")

	// To the newest message by arrow key, then to its buttons by Tab.
	tb.tabTo("#messages", chromedp.ModifierShift)
	tb.press(kb.ArrowUp)
	tb.await("the newest message to have the focus", `document.activeElement.matches("#messages li.message")`)
	for !tb.is(`document.activeElement.innerText.includes("root for the keyboard")`) { // other tests write here, too
		tb.press(kb.ArrowUp)
	}
	tb.tabTo(`[aria-label="Reply in thread"]`)
	tb.press(kb.Enter)
	tb.await("the thread's composer to have the focus", `document.activeElement.id === "text-thread"`)
	tb.write("Does the keyboard suffice?")
	tb.press(kb.Enter)
	tb.awaitPhase("waiting")
	tb.tabTo("#drop")
	tb.press(kb.Enter)
	tb.awaitPhase("idle")
	tb.await("the order in the story", `/alice dropped/.test(document.getElementById("mind-story").innerText)`)
	if focus := eval[string](tb, `document.activeElement === document.body ? "" : document.activeElement.outerHTML.slice(0, 80)`); focus == "" {
		t.Error("disabling the focused button loses the focus")
	}
}

// During a Japanese composition Enter accepts a word and Escape cancels it. The page must ignore both.
func testInputMethod(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	compose := func(text string) {
		call(tb, input.ImeSetComposition, input.ImeSetCompositionParams{Text: text, SelectionStart: int64(len([]rune(text))), SelectionEnd: int64(len([]rune(text)))})
	}
	// taken presses a key that belongs to the input method. Safari sends the key that ends a
	// composition afterwards, with keyCode 229.
	taken := func(key string, code int64) {
		call(tb, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kb.KeyRawDown, Key: key, Code: key, WindowsVirtualKeyCode: code})
	}
	w.say(t, "general", "alice", "日本語の話", "")
	root := message(mainList, "日本語の話")
	tb.tool(root, "Reply in thread")
	tb.await("the thread to open", `document.activeElement.id === "text-thread"`)
	compose("にほんご")
	taken("Enter", 13)
	taken("Escape", 27)
	tb.write("日本語")
	taken("Enter", 229)
	taken("Escape", 229)
	if got := eval[string](tb, `document.activeElement.id + ": " + document.activeElement.value`); got != "text-thread: 日本語" {
		t.Errorf("the keys of the input method leave %q", got)
	}
	tb.press(kb.Enter)
	tb.awaitMessage(threadList, "日本語")

	tb.tool(root, "Edit message")
	tb.await("the text to be edited", `document.activeElement.value === "日本語の話"`)
	compose("です")
	taken("Escape", 27)
	tb.write("です")
	taken("Enter", 229)
	tb.write("。")
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, "日本語の話です。")
}

// On a narrow screen the mind is a drawer and the thread replaces the channel.
func testKeyboardNarrow(t *testing.T, w *world) {
	thread := w.say(t, "random", "bob", "root for a narrow keyboard", "")
	tb := w.open(t, look{width: 360, height: 740, hash: "#channel=random&thread=" + thread})
	tb.awaitMessage(threadList, "root for a narrow keyboard")
	tb.tabTo("#open-mind")
	tb.press(kb.Enter)
	tb.await("the mind to open, and to have the focus", shown(one("#mind"))+` && document.getElementById("mind").contains(document.activeElement)`)
	w.say(t, "random", "carol", "And here?", thread)
	tb.awaitPhase("waiting")
	tb.tabTo("#drop")
	tb.press(" ")
	tb.awaitPhase("idle")
	tb.await("the order in the story", `/alice dropped/.test(document.getElementById("mind-story").innerText)`)
	tb.press(kb.Escape)
	tb.await("Escape to close the mind, and give the focus back", "!"+shown(one("#mind"))+` && document.activeElement.id === "open-mind"`)
	tb.tabTo("a.skip")
	tb.press(kb.Enter)
	tb.await("the skip link to lead to a composer", `["text-main", "text-thread"].includes(document.activeElement.id) && `+shown("document.activeElement"))
}

// The line about what the bot is doing must not move the messages, which would slip away under
// the mouse.
func testSteady(t *testing.T, w *world) {
	for name, l := range map[string]look{"phone": {width: 360, height: 740, phone: true}, "desktop": desktop} {
		t.Run(name, func(t *testing.T) {
			tb := w.open(t, l)
			tb.awaitPhase("idle")
			const room = `document.getElementById("messages").clientHeight`
			idle := eval[int](tb, room)
			w.say(t, "general", "bob", "steady on the "+name, "")
			tb.await("the bot to be seen at the composer", shown(one(".presence span")))
			if waiting := eval[int](tb, room); waiting != idle || idle == 0 {
				t.Errorf("the messages have %d px while it waits, and %d px while it does not", waiting, idle)
			}
			w.Post("mind/order", map[string]any{"channel": w.channel(t, "general").ID, "user": w.user(t, "alice"), "order": "drop"})
			tb.awaitPhase("idle")
		})
	}
}

// Nothing slides if the visitor prefers reduced motion.
func testStill(t *testing.T, w *world) {
	for _, still := range []bool{false, true} {
		tb := w.open(t, look{width: 360, height: 740, still: still})
		moves := eval[int](tb, `(document.getElementById("open-mind").click(), document.body.offsetWidth, document.getAnimations().filter(a => a.effect.getComputedTiming().duration > 1).length)`)
		if (moves > 0) == still {
			t.Errorf("wanting nothing to move: %v; what moves when the mind opens: %d", still, moves)
		}
	}
}

// ── narrow screens ────────────────────────────────────────────────────────────

// wide lists elements that are wider than the screen or than their vertically scrolling container.
const wide = `[
	...(document.documentElement.scrollWidth > innerWidth ? ["the page: " + document.documentElement.scrollWidth] : []),
	...[...document.querySelectorAll("#messages, #replies, .side .scroll, #mind .scroll, #prompt-text, #tour-panel, #bar, #controls")]
		.filter(e => e.checkVisibility() && e.clientWidth && e.scrollWidth > e.clientWidth + 1).map(e => (e.id || e.className) + ": " + e.scrollWidth + " in " + e.clientWidth),
	...[...document.querySelectorAll("button, textarea, input, a")].filter(e => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".sr, .skip, #prompt-tabs"))
		.map(e => [e, e.getBoundingClientRect()]).filter(([e, r]) => r.width > 1 && (r.left < -1 && r.right > 0 || r.right > innerWidth + 1 && r.left < innerWidth)).map(([e, r]) => "cut off: " + e.outerHTML.slice(0, 120)),
]`

func (tb *tab) fits(state string) {
	tb.t.Helper()
	tb.await("animations to end", resting)
	for _, w := range eval[[]string](tb, wide) {
		tb.t.Errorf("%s does not fit: %s", state, w)
	}
}

func testNarrow(t *testing.T, w *world) {
	long := strings.Repeat("Donaudampfschiff", 12)
	thread := w.say(t, "general", "bob", "narrow root "+long, "")
	c, bob := w.channel(t, "general").ID, w.user(t, "bob")
	for _, said := range []map[string]any{
		{"text": "@myao " + long + " https://example.com/" + long + " `" + long + "`\n```\n" + long + " " + long + "\n```"},
		{"files": []sharedFile{{long + ".png", "image/png", []byte(long)}, {long + ".txt", "text/plain", []byte(long)}}},
	} {
		said["channel"], said["user"], said["thread"] = c, bob, thread
		w.Post("say", said)
	}
	for name, l := range map[string]look{"phone": {width: 360, height: 740, phone: true}, "small window": {width: 360, height: 400}, "tablet": {width: 820, height: 1100}} {
		t.Run(name, func(t *testing.T) {
			tb := w.open(t, l)
			tb.awaitMessage(mainList, long)
			tb.fits("the channel")
			tb.awaitMessage(mainList, "narrow root")
			tb.click(message(mainList, "narrow root").in("button.replies"))
			tb.awaitMessage(threadList, long+".png")
			tb.await("the answer", `document.querySelectorAll("#replies .badge").length > 0`)
			tb.awaitOutcome("posted")
			tb.fits("the thread")
			for _, d := range []struct{ button, drawer, close string }{
				{"#open-side", "#side", ""}, {"#open-mind", "#mind", "#close-mind"}, {"#open-faults", `#bar [data-fault="model"]`, ""},
			} {
				if !tb.is(shown(one(d.button))) {
					continue // the screen is wide enough to show it always
				}
				open, shut := shown(one(d.drawer)), "!"+shown(one(d.drawer))
				expanded := func(on bool) {
					t.Helper()
					tb.await(fmt.Sprintf("%s to be expanded: %v", d.button, on), fmt.Sprintf(`%s.ariaExpanded === "%v"`, one(d.button), on))
				}
				tb.await(d.drawer+" to be closed", shut)
				tb.click(one(d.button))
				tb.await(d.drawer+" to open", open)
				expanded(true)
				tb.fits(d.drawer)
				tb.press(kb.Escape)
				tb.await("Escape to close "+d.drawer, shut)
				expanded(false)
				if d.close == "" {
					continue
				}
				tb.click(one(d.button))
				tb.await(d.drawer+" to open", open)
				tb.click(decided("posted").in("button.prompt"))
				tb.await("the prompt", `document.getElementById("prompt").open && document.getElementById("prompt-text").innerText.includes("Donaudampfschiff")`)
				tb.fits("the prompt")
				tb.press(kb.Escape)
				tb.await("Escape to close the prompt alone", `!document.getElementById("prompt").open && `+open)
				tb.click(one(d.close))
				tb.await(d.close+" to close "+d.drawer, shut)
			}
			tb.click(one("#close"))
			tb.await("the thread to close", "!"+shown(one("aside.thread"))+" && "+shown(one("#text-main")))
			tb.click(one("#tour"))
			tb.await("the tour", shown(one("#tour-title")))
			tb.fits("the tour")
			tb.click(one("#tour-end"))
			tb.await("the tour to end", "!"+shown(one("#tour-title")))
		})
	}
}
