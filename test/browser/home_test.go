package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// secretButton is the first button of #secret-plans in the Home tab.
const secretButton = `[...document.querySelectorAll("#home .text")].filter(n => n.innerText.startsWith("#secret-plans")).at(-1)?.nextElementSibling?.querySelector("button")`

// The Home tab of the bot is opened and used by the keyboard, and shows each person their own.
func testHome(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.tabTo("#open-home")
	tb.press(kb.Enter)
	tb.await("the Home tab", `document.getElementById("home").innerText.includes("Where I read along")`)
	// The bot may still be learning where it is, and the tab is built only when it is opened.
	tb.await("its channels", secretButton+`?.innerText === "Be silent for an hour" || (Date.now() - (window.opened || 0) > 1000 && (window.opened = Date.now(), document.getElementById("open-home").click()), false)`)
	tb.axe("the Home tab")
	tb.await("the button to take the focus", `(b => { b.focus(); return document.activeElement === b; })(`+secretButton+`)`)
	tb.press(kb.Enter)
	tb.await("the silence", secretButton+`?.innerText === "Let me speak again"`)
	tb.await("the focus to stay with the channel", `document.activeElement === `+secretButton)
	tb.press(kb.Enter)
	tb.await("the end of the silence", secretButton+`?.innerText === "Be silent for an hour"`)
	tb.become("carol")
	tb.await("the channel again", `document.getElementById("home").hidden && document.activeElement.id === "text-main"`)
	tb.click(one("#open-home"))
	tb.await("carol's Home tab", `document.getElementById("home").innerText.includes("Where I read along")`)
	if tb.is(`document.getElementById("home").innerText.includes("secret-plans")`) {
		t.Error("carol is shown a private channel where she is no member")
	}
}
