package browser

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// axeScript returns axe-core as `make axe` installs it, or "" where it is missing, because npm's
// registry does not answer.
var axeScript = sync.OnceValue(func() string {
	script, _ := os.ReadFile("../../.bin/axe.min.js")
	return string(script)
})

// finding is a problem that axe-core finds with elements of the page.
type finding struct {
	Rule  string   `json:"rule"`
	Help  string   `json:"help"`
	Where []string `json:"where"`
}

// axeRun runs all of axe-core's rules. If axe-core cannot decide whether a text has enough contrast,
// mostly because something may cover it, axeRun compares the text's colour with the nearest
// background behind it.
const axeRun = `axe.run({ resultTypes: ["violations", "incomplete"] }).then(found => {
	const numbers = c => { const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true }); pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); return [...pen.getImageData(0, 0, 1, 1).data]; };
	const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const over = (front, back) => front.slice(0, 3).map((v, i) => v * front[3] / 255 + back[i] * (1 - front[3] / 255)).concat(255);
	const behind = e => { const c = numbers(getComputedStyle(e).backgroundColor); return c[3] === 255 ? c : over(c, e.parentElement ? behind(e.parentElement) : [255, 255, 255, 255]); };
	const poor = e => {
		const style = getComputedStyle(e), back = behind(e), a = light(over(numbers(style.color), back)), b = light(back), size = parseFloat(style.fontSize);
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), enough = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
		return ratio < enough && ratio.toFixed(2) + " of " + enough;
	};
	const tell = (f, nodes) => ({ rule: f.id, help: f.help, where: nodes });
	return [
		...found.violations.map(f => tell(f, f.nodes.map(n => n.target.join(" ") + ": " + n.failureSummary))),
		...found.incomplete.filter(f => f.id === "color-contrast").map(f => tell(f, f.nodes.map(n => [n.target.join(" "), poor(document.querySelector(n.target.at(-1)))]).filter(([, p]) => p).map(p => p.join(": ")))),
	].filter(f => f.where.length);
})`

// axe fails the test for every accessibility problem of the page in its present state. Without
// axe-core it does nothing.
func (tb *tab) axe(state string) {
	tb.t.Helper()
	if axeScript() == "" {
		return
	}
	for _, f := range tb.findings() {
		tb.t.Errorf("%s: %s (%s):\n  %s", state, f.Help, f.Rule, strings.Join(f.Where, "\n  "))
	}
}

func (tb *tab) findings() []finding {
	tb.t.Helper()
	if !tb.is("window.axe") {
		get(tb, "load axe-core", chromedp.Evaluate[chromedp.Void](axeScript()+";0"))
	}
	tb.await("animations to end", resting) // colours must not be in transition
	return eval[[]finding](tb, axeRun)
}

// resting is an expression that is true when no animation runs, except endless ones.
const resting = `document.getAnimations().every(a => a.playState !== "running" || a.effect.getComputedTiming().iterations === Infinity)`

func testAccess(t *testing.T, w *world) {
	asked := "@myao what does axe find?"
	thread := w.say(t, "random", "bob", asked, "")
	w.awaitAnswer(t, "random", thread)
	hash := "#channel=random&thread=" + thread
	for name, l := range map[string]look{
		"light":       {width: 1440, height: 900, hash: hash},
		"dark":        {width: 1440, height: 900, hash: hash, dark: true},
		"light phone": {width: 360, height: 740, hash: hash, phone: true},
		"dark phone":  {width: 360, height: 740, hash: hash, phone: true, dark: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := w.open(t, l)
			tb.awaitOutcome("posted")
			w.say(t, "alice", "alice", "Are you there?", "") // the bot answers this
			tb.await("what is unread to be counted", `document.querySelector("#dms .mentions")`)
			tb.axe("the thread and its mind")

			// drawer opens a drawer, if the screen is so narrow that it has a button.
			drawer := func(button string, open element) (opened bool) {
				t.Helper()
				if !tb.is(shown(one(button))) {
					return false
				}
				tb.click(one(button))
				tb.await(button+" to open", shown(open))
				tb.axe(button)
				return true
			}
			if drawer("#open-side", one("#side")) {
				tb.press(kb.Escape)
			}
			if drawer("#open-faults", one(`#bar [data-fault="model"]`)) {
				tb.press(kb.Escape)
			}
			inDrawer := drawer("#open-mind", one("#mind"))
			tb.click(one("#snooze"))
			tb.await("the lengths of a snooze", shown(one("#snooze-for")))
			tb.axe("the lengths of a snooze")
			tb.press(kb.Escape)
			tb.click(decided("posted").in("button.prompt"))
			tb.await("the prompt", `document.getElementById("prompt").open && document.getElementById("prompt-text").innerText.includes("what does axe find")`)
			tb.axe("the prompt")
			tb.press(kb.Escape)
			if inDrawer {
				tb.press(kb.Escape)
			}
			tb.click(one("#close"))
			tb.click(one("#text-main"))
			tb.write("@")
			tb.await("people to be suggested", shown(one("#suggest-main")))
			tb.axe("the suggestions")
			tb.press(kb.Escape)
			tb.click(one("#tour"))
			tb.await("the tour", shown(one("#tour-title")))
			tb.axe("the tour")
		})
	}
	t.Run("what it finds", func(t *testing.T) {
		t.Parallel()
		if axeScript() == "" {
			t.Skip("there is no axe-core: `make axe` installs it")
		}
		tb := w.open(t, desktop)
		eval[bool](tb, `document.body.insertAdjacentHTML("beforeend", "<p class=grey>grey</p><p class=grey>grey, over who knows what</p><button></button>") ?? true`)
		eval[bool](tb, `[...document.querySelectorAll(".grey")].every((e, i) => e.style.cssText = "position: fixed; z-index: 99; color: #999; background: #fff " + (i ? "linear-gradient(#fff, #fff); top: 40px" : "; top: 0"))`)
		var found []string
		for _, f := range tb.findings() {
			for range f.Where {
				found = append(found, f.Rule)
			}
		}
		slices.Sort(found)
		same(t, "of what is wrong here, it finds", found, []string{"button-name", "color-contrast", "color-contrast", "region", "region"})
	})
}
