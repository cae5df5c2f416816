package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"myao/test/testserver"
)

// vicious are texts that try to run code on others' pages. Each must show as it was typed.
var vicious = []string{
	`<script>window.owned=1</script>`,
	`</script><script>window.owned=2</script>`,
	`<img src=x onerror="window.owned=3">`,
	`<svg onload=window.owned=4><a href="javascript:window.owned=4">x</a></svg>`,
	`[click](javascript:window.owned=5)`,
	`<javascript:window.owned=6|click>`,
	`"><iframe srcdoc="<script>parent.owned=7</script>">`,
	`&lt;img src=x onerror=window.owned=8&gt;`,
	`&amp;lt;script&amp;gt; &#60;b&#62;`,
	`<!channel|<img src=x onerror=window.owned=9>>`,
	`<style>*{display:none}</style><base href=//example.com/>`,
	`{{state}} ${window.owned=10} <%= 1 %>`,
}

// leaks is an expression that lists every sign that typed text became code or markup.
const leaks = `[
	window.owned === undefined ? "" : "it ran: " + window.owned,
	...[...document.querySelectorAll("iframe, object, embed, base, style, img:not([src^='sandbox/file?id=']), body script, [onerror], [onload], svg a")].map(e => "an element: " + e.outerHTML),
	...[...document.querySelectorAll("a[href]")].filter(a => !["http:", "https:", "mailto:"].includes(a.protocol)).map(a => "a link: " + a.href),
].filter(Boolean)`

func (tb *tab) safe(where string) {
	tb.t.Helper()
	for _, leak := range eval[[]string](tb, leaks) {
		tb.t.Errorf("%s: %s", where, leak)
	}
}

func testMarkup(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	for _, text := range vicious {
		tb.send("#text-main", text)
		tb.awaitMessage(mainList, text)
	}
	tb.safe("messages")

	// A link leads to its address only, whatever the text around it.
	tb.send("#text-main", `see https://example.com/?a="><script>window.owned=11</script> and javascript:window.owned=12`)
	link := message(mainList, "window.owned=12").in("a")
	tb.await("the link", string(link))
	if href := eval[string](tb, fmt.Sprintf("%s.href", link)); !strings.HasPrefix(href, "https://example.com/") || strings.ContainsAny(href, `<>"`) {
		t.Errorf("the link leads to %s", href)
	}

	// In an edit and as a file's name.
	tb.send("#text-main", "harmless")
	mine := message(mainList, "harmless")
	tb.tool(mine, "Edit message")
	tb.await("the text to be edited", `document.activeElement.value === "harmless"`)
	const edited = `edited <img src=x onerror="window.owned=13"> &lt;b&gt;`
	eval[bool](tb, "document.activeElement.select() ?? true")
	tb.write(edited)
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, edited)
	tb.tool(message(mainList, edited), "Edit message")
	tb.await("what was typed to be edited again, as it was typed", fmt.Sprintf("document.activeElement.value === %s", quote(edited)))
	tb.press(kb.Escape)
	const file = `<img src=x onerror="window.owned=14">.html`
	tb.paste("#text-main", sharedFile{file, "text/html", []byte(`<script>window.owned=14</script>`)})
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, file)
	tb.safe("an edit and a file")

	// In the mind: the thread's title, the story, the verdict's reason, the prompt, and what screen
	// readers read out. Also in the bot's answer.
	root := `<b onclick="window.owned=15">root</b>`
	tb.send("#text-main", root)
	tb.openThread(root)
	question := `@myao <img src=x onerror="window.owned=16"> &lt;script&gt;?`
	tb.send("#text-thread", question)
	tb.awaitMessage(threadList, question)
	tb.awaitOutcome("posted")
	tb.await("the answer to quote it", fmt.Sprintf(`[...document.querySelectorAll("#replies .badge")].some(e => e.closest("li").innerText.includes(%s))`, quote(`<img src=x onerror="window.owned=16">`)))
	tb.await("the story to quote it", fmt.Sprintf("%s.innerText.includes(%s)", decided("posted"), quote(`<img src=x onerror="window.owned=16">`)))
	tb.safe("the thread and the mind")
	tb.click(decided("posted").in("button.prompt"))
	tb.await("the prompt to quote it", `document.getElementById("prompt-text").innerText.replaceAll("\\", "").includes('<img src=x onerror="window.owned=16">')`)
	tb.safe("the prompt")
	tb.press(kb.Escape)
	announced := `<img src=x onerror="window.owned=17">`
	w.say(t, "general", "bob", announced, w.find(t, "general", root))
	tb.await("it to be read out", fmt.Sprintf(`document.getElementById("announce").innerText.includes(%s)`, quote(announced)))
	tb.safe("what is read out")

	// A newly opened page has the messages in its embedded state.
	again := w.open(t, look{width: 1440, height: 900, hash: "#channel=general"})
	for _, text := range slices.Concat(vicious, []string{edited, file, root}) {
		again.awaitMessage(mainList, text)
	}
	again.safe("the page opened anew")
	tb.safe("all of it")
}

// A page of another site in the same browser can neither read nor write.
func testForeign(t *testing.T, w *world) {
	evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte("<!doctype html><title>evil</title>"))
	}))
	t.Cleanup(evil.Close)
	ctx, end := chromedp.NewContext(w.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	testserver.Must(t, chromedp.Do(ctx, chromedp.Navigate(evil.URL)))
	tb := &tab{t: t, w: w, ctx: ctx}
	say := fmt.Sprintf(`{"channel":%q,"user":%q,"text":"said by another site"}`, w.channel(t, "general").ID, w.user(t, "alice"))
	for _, c := range []struct{ name, path, options string }{
		{"a write with JSON", "/sandbox/say", `{method: "POST", headers: {"Content-Type": "application/json"}, body: ` + quote(say) + `}`},
		{"a write without asking", "/sandbox/say", `{method: "POST", mode: "no-cors", body: ` + quote(say) + `}`},
		{"a kill", "/sandbox/mind/worker", `{method: "POST", mode: "no-cors", body: '{"do":"kill"}'}`},
		{"a read", "/sandbox/state", `{}`},
		{"a read of the mind", "/sandbox/mind", `{}`},
		{"a read of prompts", "/sandbox/mind/prompts?decision=x", `{}`},
	} {
		got := eval[string](tb, fmt.Sprintf(`fetch(%s, %s).then(r => r.type === "opaque" ? "opaque" : r.text(), e => "refused")`, quote(w.URL+c.path), c.options))
		if got != "refused" && got != "opaque" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if got := eval[string](tb, fmt.Sprintf(`new Promise(done => { const s = new EventSource(%s); s.onmessage = e => { s.close(); done(e.data); }; s.onerror = () => { s.close(); done("refused"); }; })`, quote(w.URL+"/sandbox/changes"))); got != "refused" {
		t.Errorf("another site hears: %s", got)
	}
	w.Post("say", map[string]any{"channel": w.channel(t, "random").ID, "user": w.user(t, "alice"), "files": []sharedFile{{"cat.png", "image/png", picture(t)}}})
	for _, m := range append(w.channel(t, "general").Messages, w.channel(t, "random").Messages...) {
		if strings.Contains(m.Text, "another site") {
			t.Errorf("the workspace has taken %q", m.Text)
		}
		for _, f := range m.Files {
			if seen := eval[string](tb, fmt.Sprintf(`new Promise(done => { const i = new Image(); i.onload = () => done("a picture"); i.onerror = () => done("refused"); i.src = %s; })`, quote(w.URL+"/sandbox/file?id="+f.ID))); seen != "refused" {
				t.Errorf("another site sees: %s", seen)
			}
		}
	}
	own := w.open(t, desktop)
	own.await("the worker to be alive", `/running/i.test(document.getElementById("worker-state").innerText)`)
}
