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
	// The form of the settings says what is wrong, and stays open. Slack opens none three seconds after the click.
	settings := secretButton + `?.parentElement.querySelector("button:last-of-type")`
	tb.await("the form", `document.getElementById("modal").open || (Date.now() - (window.asked || 0) > 5000 && (window.asked = Date.now(), `+settings+`.click()), false)`)
	tb.axe("the form of the settings")
	eval[bool](tb, `!(document.getElementById("modal-field-2").value = "late") || true`)
	tb.click(one("#modal-submit"))
	tb.await("what is wrong", `document.querySelector("#modal[open] #problem")?.textContent.includes("quiet_hours = \"late\": must be HH:MM-HH:MM")`)
	tb.press(kb.Escape)
	tb.await("the form to close", `!document.getElementById("modal").open`)
	tb.become("carol")
	tb.await("the channel again", `document.getElementById("home").hidden && document.activeElement.id === "text-main"`)
	tb.click(one("#open-home"))
	tb.await("carol's Home tab", `document.getElementById("home").innerText.includes("Where I read along")`)
	if tb.is(`document.getElementById("home").innerText.includes("secret-plans")`) {
		t.Error("carol is shown a private channel where she is no member")
	}
}
