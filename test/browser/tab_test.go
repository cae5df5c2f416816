package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab is one visitor's open page. At the end of each test it checks that no request has left the
// page's origin, no dialog has opened, no script has failed, and neither the page nor an
// address holds a secret.
type tab struct {
	t   *testing.T
	w   *world
	ctx context.Context

	mu       sync.Mutex
	requests []string
	outside  []string // what begins the addresses for which the test leaves the page on purpose
	troubles []string
	paused   []fetch.RequestID // held back by the test
	probed   fetch.RequestID   // the probe of holdBack that was held back
}

// look describes a visitor's screen.
type look struct {
	width, height int64
	dark, phone   bool
	still         bool   // prefers reduced motion
	newcomer      bool   // has never seen the tour, which may then start itself
	away          bool   // the page believes that it is hidden, until comeBack
	hash          string // of the address
}

var desktop = look{width: 1440, height: 900}

// open opens the page.
func (w *world) open(t *testing.T, l look) *tab {
	t.Helper()
	// A separate browser context is a separate window, so all tabs are in the foreground.
	tb := &tab{t: t, w: w}
	ctx, end := chromedp.NewContext(w.browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(tb.hear))
	tb.ctx = ctx
	t.Cleanup(func() {
		tb.checkPage()
		end()
	})
	scheme, motion := "light", "no-preference"
	if l.dark {
		scheme = "dark"
	}
	if l.still {
		motion = "reduce"
	}
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as this first call's context
		t.Fatalf("open a tab: %v", err)
	}
	call(tb, network.Enable, network.EnableParams{})
	call(tb, log.Enable, cdp.Empty{})
	call(tb, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(tb, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.phone})
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
	}})
	if !l.newcomer {
		call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `if (location.protocol === "http:") localStorage.setItem("tour", "seen")`})
	}
	if l.away {
		call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.away = true; Object.defineProperty(document, "hidden", { get: () => window.away })`})
	}
	tb.do("open the page", chromedp.Navigate(w.URL+"/"+l.hash))
	// Once connected, the page loads its state again.
	tb.await("the page to be connected", `document.getElementById("status").textContent === "connected" && `+loads+" > 0")
	return tb
}

// comeBack shows the page to a visitor who was away.
func (tb *tab) comeBack() {
	tb.t.Helper()
	eval[bool](tb, `window.away = false, document.dispatchEvent(new Event("visibilitychange"))`)
}

// loads is an expression for how often the page has loaded its state.
const loads = `performance.getEntriesByType("resource").filter(e => e.name.endsWith("/sandbox/state")).length`

// probe marks requests that are only to be held back, at an address that the server answers as without it.
const probe = "?probe"

// holdBack holds the answers back to the page's requests for a path from now on, until fetch.Disable. Chrome
// answers before the page's own process knows, which then still sends what it is asked for: so the page sends
// one probe after the other until one is held back.
func (tb *tab) holdBack(path string) {
	tb.t.Helper()
	held := func(path string) *fetch.RequestPattern {
		return &fetch.RequestPattern{URLPattern: "*/" + path, RequestStage: fetch.RequestStageResponse}
	}
	call(tb, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{held(path), held(path + probe)}})
	if !holds(tb.t, within, func() bool {
		eval[bool](tb, fmt.Sprintf("!!(window.probing ||= fetch(%q).finally(() => window.probing = null))", path+probe))
		tb.mu.Lock()
		defer tb.mu.Unlock()
		return tb.probed != ""
	}) {
		tb.t.Fatalf("requests for %s are not held back\n%s", path, tb.sight())
	}
	call(tb, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: tb.probed})
}

// request waits for the nth request that the test holds back.
func (tb *tab) request(nth int) (id fetch.RequestID) {
	tb.t.Helper()
	if !holds(tb.t, within, func() bool {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		if len(tb.paused) >= nth {
			id = tb.paused[nth-1]
		}
		return id != ""
	}) {
		tb.t.Fatalf("the page has not made %d requests\n%s", nth, tb.sight())
	}
	return id
}

func (tb *tab) hear(event any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		tb.requests = append(tb.requests, e.Request.URL)
	case *fetch.EventRequestPaused:
		if strings.HasSuffix(e.Request.URL, probe) {
			tb.probed = e.RequestID
		} else {
			tb.paused = append(tb.paused, e.RequestID)
		}
	case *network.EventWebSocketCreated:
		tb.requests = append(tb.requests, e.URL)
	case *page.EventJavascriptDialogOpening:
		tb.troubles = append(tb.troubles, fmt.Sprintf("a dialog opened: %s %q", e.Type, e.Message))
		go func() {
			_, _ = chromedp.Call(tb.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	case *runtime.EventExceptionThrown:
		tb.troubles = append(tb.troubles, "a script failed: "+(&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			said, _ := json.Marshal(e.Args)
			tb.troubles = append(tb.troubles, "the console has an error: "+string(said))
		}
	case *log.EventEntryAdded:
		// Ignore errors of the server, which tests provoke; refusals by the CSP are never expected.
		if e.Entry.Source != log.EntrySourceNetwork && e.Entry.Level == log.EntryLevelError {
			tb.troubles = append(tb.troubles, fmt.Sprintf("the log has an error: %s: %s", e.Entry.Source, e.Entry.Text))
		}
	}
}

// checkPage fails the test for what the page must never do.
func (tb *tab) checkPage() {
	tb.t.Helper()
	tb.mu.Lock()
	troubles, requests := slices.Clone(tb.troubles), slices.Clone(tb.requests)
	tb.mu.Unlock()
	for _, trouble := range troubles {
		tb.t.Error(trouble)
	}
	if len(requests) == 0 {
		tb.t.Error("no request was seen, so requests are not being watched")
	}
	for _, url := range requests {
		if !strings.HasPrefix(url, tb.w.URL+"/") && url != "data:," &&
			!slices.ContainsFunc(tb.outside, func(o string) bool { return strings.HasPrefix(url, o) }) {
			tb.t.Errorf("a request left the page's origin: %s", url)
		}
	}
	address := eval[string](tb, "location.href")
	if bare, _, _ := strings.Cut(address, "#"); bare != tb.w.URL+"/" {
		tb.t.Errorf("the page's address is now %s", address)
	}
	for _, secret := range tb.w.secrets {
		if slices.ContainsFunc(append(requests, address, eval[string](tb, "document.documentElement.outerHTML")), func(s string) bool { return strings.Contains(s, secret) }) {
			tb.t.Error("the page, or an address that it requested, holds a secret")
		}
	}
}

// do runs an action and fails the test if it fails or hangs.
func (tb *tab) do(what string, action chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	get(tb, what, action)
}

func get[T any](tb *tab, what string, action chromedp.Action[T]) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, within)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		tb.t.Fatalf("%s: %v", what, err)
	}
	return v
}

// call runs a command of the DevTools protocol.
func call[P, R any](tb *tab, command cdp.Command[P, R], params P) {
	tb.t.Helper()
	get(tb, command.Method, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, command, params)
	})
}

// ── looking ────────────────────────────────────────────────────────────────

// element is an expression for an element of the page; undefined or null if there is none.
type element string

// one is the first element that matches a selector.
func one(selector string) element {
	return element(fmt.Sprintf("document.querySelector(%s)", quote(selector)))
}

// saying is the last element that matches a selector and shows a text.
func saying(selector, text string) element {
	return element(fmt.Sprintf("[...document.querySelectorAll(%s)].findLast(e => e.innerText.includes(%s))", quote(selector), quote(text)))
}

// in is the first element inside e that matches a selector.
func (e element) in(selector string) element {
	return element(fmt.Sprintf("%s?.querySelector(%s)", e, quote(selector)))
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string that JSON cannot hold
	}
	return string(b)
}

// eval evaluates an expression; for a promise it returns the promise's value.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	return get(tb, "evaluate "+expression, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// is reports whether an expression is true.
func (tb *tab) is(expression string) bool {
	tb.t.Helper()
	return eval[bool](tb, "!!("+expression+")")
}

// await waits until an expression is true. If it fails, it shows the page's text.
func (tb *tab) await(what, expression string) {
	tb.t.Helper()
	if !holds(tb.t, within, func() bool { return tb.is(expression) }) {
		tb.t.Fatalf("waited %s in vain for %s: %s\n%s", within, what, expression, tb.sight())
	}
}

// sight describes the page for a failed test.
func (tb *tab) sight() string {
	tb.t.Helper()
	focus := eval[string](tb, `(e => e ? e.tagName + (e.id && "#" + e.id) + " " + JSON.stringify(e.value ?? e.innerText) : "nothing")(document.activeElement)`)
	return "The focus is at " + focus + ", and the page shows:\n" + eval[string](tb, "document.body.innerText")
}

// text returns an element's text, or "" if there is no such element.
func (tb *tab) text(e element) string {
	tb.t.Helper()
	return eval[string](tb, fmt.Sprintf("%s?.innerText ?? ''", e))
}

// texts returns the texts of all elements that match a selector.
func (tb *tab) texts(selector string) []string {
	tb.t.Helper()
	return eval[[]string](tb, fmt.Sprintf("[...document.querySelectorAll(%s)].map(e => e.innerText.trim())", quote(selector)))
}

// shown is an expression for whether an element is visible.
func shown(e element) string {
	return fmt.Sprintf("%s?.checkVisibility({ visibilityProperty: true, opacityProperty: true })", e)
}

// ── doing ──────────────────────────────────────────────────────────────────

// spot returns where the mouse can point at an element, or false if the element is missing,
// disabled or covered.
func (tb *tab) spot(e element) (x, y float64, ok bool) {
	tb.t.Helper()
	where := eval[[]float64](tb, fmt.Sprintf(`(e => {
		if (!e || e.disabled) return null;
		e.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
		const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2, top = document.elementFromPoint(x, y);
		return top && (e === top || e.contains(top)) ? [x, y] : null;
	})(%s)`, e))
	if where == nil {
		return 0, 0, false
	}
	return where[0], where[1], true
}

func (tb *tab) mouse(kind input.DispatchMouseEventType, x, y float64) {
	tb.t.Helper()
	p := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
	if kind != chromedp.MouseMoved {
		p.Button, p.ClickCount = input.MouseButtonLeft, 1
	}
	call(tb, input.DispatchMouseEvent, p)
}

// hold presses the mouse on an element as soon as it does not move and can be pointed at. Until
// then the mouse hovers over the elements in over, which may make the element appear.
func (tb *tab) hold(e element, over ...element) (release func()) {
	tb.t.Helper()
	var x, y float64
	if !holds(tb.t, within, func() bool {
		for _, o := range over {
			if x, y, ok := tb.spot(o); ok {
				tb.mouse(chromedp.MouseMoved, x, y)
			}
		}
		lastX, lastY := x, y
		var ok bool
		x, y, ok = tb.spot(e)
		return ok && x == lastX && y == lastY
	}) {
		tb.t.Fatalf("waited %s in vain until the mouse could point at %s\n%s", within, e, tb.sight())
	}
	tb.mouse(chromedp.MouseMoved, x, y)
	tb.mouse(chromedp.MousePressed, x, y)
	if tb.is(fmt.Sprintf(`%s?.matches(":not(:active)")`, e)) { // the element has moved: release and try again
		tb.mouse(chromedp.MouseMoved, 0, 0)
		tb.mouse(chromedp.MouseReleased, 0, 0)
		return tb.hold(e, over...)
	}
	return func() { tb.mouse(chromedp.MouseReleased, x, y) }
}

// click clicks an element with the mouse.
func (tb *tab) click(e element) {
	tb.t.Helper()
	tb.hold(e)()
}

// tool clicks one of the buttons that a message shows under the mouse.
func (tb *tab) tool(message element, label string) {
	tb.t.Helper()
	tb.hold(message.in(fmt.Sprintf(`[aria-label=%q]`, label)), message)()
}

// write inserts text at the focus, as an input method does.
func (tb *tab) write(text string) {
	tb.t.Helper()
	call(tb, input.InsertText, input.InsertTextParams{Text: text})
}

// press presses a key of package kb, or a character. Unlike chromedp.KeyEvent it lets the browser
// insert the text, so a key that the page handles itself inserts nothing.
func (tb *tab) press(key string, with ...chromedp.Modifier) {
	tb.t.Helper()
	var modifiers int64
	for _, m := range with {
		modifiers |= int64(m)
	}
	for _, r := range key {
		var down, up *input.DispatchKeyEventParams
		for _, e := range kb.Encode(r) {
			e.Modifiers |= modifiers
			switch e.Type {
			case kb.KeyRawDown, kb.KeyDown:
				down = e
			case kb.KeyChar:
				if modifiers&^int64(chromedp.ModifierShift) == 0 {
					down.Type, down.Text, down.UnmodifiedText = kb.KeyDown, e.Text, e.UnmodifiedText
				}
			case kb.KeyUp:
				up = e
			}
		}
		call(tb, input.DispatchKeyEvent, *down)
		call(tb, input.DispatchKeyEvent, *up)
	}
}

// ── the page's parts ───────────────────────────────────────────────────────

const (
	mainList   = "#messages"
	threadList = "#replies"
)

// message is the newest message in a list that shows a text.
func message(list, text string) element { return saying(list+" li.message", text) }

// awaitMessage waits until a list shows a text in a message.
func (tb *tab) awaitMessage(list, text string) {
	tb.t.Helper()
	tb.await(fmt.Sprintf("a message %q", text), string(message(list, text)))
}

// visit opens a channel, by its name in the list.
func (tb *tab) visit(name string) {
	tb.t.Helper()
	tb.click(element(fmt.Sprintf(`[...document.querySelectorAll("#channels button, #dms button")].find(e => e.querySelector(".name").innerText === %s)`, quote(name))))
	tb.await("the channel "+name, fmt.Sprintf(`["#" + %[1]s, %[1]s].includes(document.getElementById("title").innerText)`, quote(name)))
}

// become writes as another person from now on.
func (tb *tab) become(name string) {
	tb.t.Helper()
	tb.click(saying("#people button", name))
	tb.awaitWriter(name)
}

// writer returns the name of the selected writer.
func (tb *tab) writer() string {
	tb.t.Helper()
	return tb.text(one(`#people button[aria-pressed="true"] .name`))
}

func (tb *tab) awaitWriter(name string) {
	tb.t.Helper()
	await(tb.t, "to write as "+name, func() bool { return tb.writer() == name })
}

// focused returns the id of the focused element.
func (tb *tab) focused() string {
	tb.t.Helper()
	return eval[string](tb, `document.activeElement?.id ?? ""`)
}

// send writes into a composer and presses Enter.
func (tb *tab) send(composer, text string) {
	tb.t.Helper()
	tb.click(one(composer))
	tb.write(text)
	tb.press(kb.Enter)
	tb.await("the composer to be empty", fmt.Sprintf(`%s.value === ""`, one(composer)))
}

// same compares two lists.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
