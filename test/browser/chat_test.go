package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"myao/test/testserver"
)

func testChannels(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	if got := tb.focused(); got != "text-main" {
		t.Errorf("at the start the focus is at %q, want the composer", got)
	}
	same(t, "alice's channels", tb.texts("#channels .name"), []string{"general", "random", "secret-plans"})
	same(t, "alice's direct messages", tb.texts("#dms .name"), []string{w.State().Bot.Name})
	if !tb.is(fmt.Sprintf("%s && !%s", saying("#channels button", "secret-plans").in("svg"), saying("#channels button", "general").in("svg"))) {
		t.Error("nothing tells a private channel from a public one")
	}
	for _, name := range []string{"secret-plans", "random", w.State().Bot.Name, "general"} {
		tb.visit(name)
		if got := tb.focused(); got != "text-main" {
			t.Errorf("in %s the focus is at %q, want the composer", name, got)
		}
	}
	tb.visit("secret-plans")
	tb.become("carol")
	same(t, "carol's channels", tb.texts("#channels .name"), []string{"general", "random"})
	if got := tb.text(one("#title")); strings.Contains(got, "secret") {
		t.Errorf("carol is shown %s, where she is no member", got)
	}
}

func testUnread(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	entry := saying("#channels button", "secret-plans")
	weight := fmt.Sprintf("+getComputedStyle(%s).fontWeight", entry.in(".name"))
	if tb.is(weight + " >= 700") {
		t.Error("a channel where nothing was said is bold")
	}
	w.say(t, "secret-plans", "bob", "for nobody in particular", "")
	tb.await("the channel to be bold, with a dot", fmt.Sprintf("%s >= 700 && %s", weight, shown(entry.in(".dot"))))
	if !tb.is(fmt.Sprintf("/unread/i.test(%s.textContent)", entry)) {
		t.Error("nothing tells a screen reader that it is unread")
	}
	mentions := entry.in(".mentions")
	if tb.is(shown(mentions)) {
		t.Errorf("%q mentions counted before there was one", tb.text(mentions))
	}
	for n := 1; n <= 2; n++ {
		w.say(t, "secret-plans", "bob", fmt.Sprintf("@alice for you, %d", n), "")
		tb.await(fmt.Sprintf("%d mentions to be counted", n), fmt.Sprintf("parseInt(%s?.innerText) === %d", mentions, n))
	}
	tb.visit("secret-plans")
	tb.awaitMessage(mainList, "for nobody in particular")
	tb.await("the channel to be read", fmt.Sprintf("%s < 700 && !%s && !%s", weight, shown(entry.in(".dot")), shown(mentions)))
}

func testThreads(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	w.say(t, "general", "bob", "root of a thread", "")
	root := message(mainList, "root of a thread")
	tb.tool(root, "Reply in thread")
	tb.await("the thread to open", shown(one("aside.thread"))+` && document.activeElement.id === "text-thread"`)
	tb.write("kept in the thread")
	tb.press(kb.Enter)
	tb.awaitMessage(threadList, "kept in the thread")
	tb.await("the root to count its replies", fmt.Sprintf(`/^1 reply/m.test(%s.innerText)`, root))
	if tb.is(string(message(mainList, "kept in the thread"))) {
		t.Error("a reply stands in the channel, too")
	}
	tb.click(one(`aside.thread input[name="broadcast"]`))
	tb.send("#text-thread", "sent to both")
	tb.awaitMessage(threadList, "sent to both")
	tb.awaitMessage(mainList, "sent to both")
	if tb.is(`document.querySelector('aside.thread input[name="broadcast"]').checked`) {
		t.Error("the next reply would go to the channel, too")
	}
	tb.press(kb.Escape)
	tb.await("Escape to close the thread", "!"+shown(one("aside.thread")))
	tb.click(root.in("button.replies"))
	tb.awaitMessage(threadList, "kept in the thread")
	w.say(t, "general", "bob", "said elsewhere", w.find(t, "general", "root of a thread"))
	tb.awaitMessage(threadList, "said elsewhere")
}

func testMentions(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.click(one("#text-main"))
	list := one(`.composer[data-pane="main"] [role="listbox"]`)
	tb.write("@")
	tb.await("everybody to be suggested", shown(list)+` && ["myao", "bob", "carol"].every(n => `+string(list)+`.innerText.includes(n))`)
	tb.write("ca")
	tb.await("who is left to be suggested", fmt.Sprintf(`!%s.innerText.includes("bob")`, list))
	tb.press(kb.Enter, chromedp.ModifierShift)
	tb.await("a new line, and no name", `document.getElementById("text-main").value === "@ca\n"`)
	for range "ca\n" {
		tb.press(kb.Backspace)
	}
	tb.write("bo")
	tb.await("who is left to be suggested", fmt.Sprintf(`!%s.innerText.includes("carol")`, list))
	tb.press(kb.Enter)
	tb.await("the name to be put in", `document.getElementById("text-main").value === "@bob " && !`+shown(list))
	tb.write("and @")
	tb.await("everybody to be suggested", shown(list))
	chosen := `[...document.querySelectorAll('.composer[data-pane="main"] [role="option"]')].findIndex(e => e.ariaSelected === "true")`
	tb.press(kb.ArrowDown)
	tb.await("the second to be chosen", chosen+" === 1")
	tb.press(kb.ArrowUp)
	tb.await("the first to be chosen", chosen+" === 0")
	tb.press(kb.Escape)
	tb.await("Escape to close the list", "!"+shown(list))
	tb.write("car")
	tb.click(saying(`.composer[data-pane="main"] [role="option"]`, "carol"))
	tb.await("a click to put the name in", `document.getElementById("text-main").value === "@bob and @carol "`)
	tb.write("hello")
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, "@bob and @carol hello")
	same(t, "mentions", eval[[]string](tb, fmt.Sprintf("[...%s.querySelectorAll('.mention')].map(e => e.innerText)", message(mainList, "@bob and @carol hello"))), []string{"@bob", "@carol"})

	tb.send("#text-main", "@myao is anybody there?")
	asked := w.find(t, "general", "@myao is anybody there?")
	question := message(mainList, "is anybody there?")
	tb.await("the answer's thread to be told of, live", fmt.Sprintf(`/1 reply/.test(%s?.innerText)`, question))
	tb.click(question.in("button.replies"))
	tb.await("the answer", fmt.Sprintf(`document.querySelectorAll("#replies .badge").length === %d`, len(w.answers(t, "general", asked))))
}

func testChanges(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.send("#text-main", "befor")
	mine := message(mainList, "befor")
	tb.tool(mine, "Edit message")
	tb.await("the text to be edited", `document.activeElement.tagName === "TEXTAREA" && document.activeElement.value === "befor"`)
	tb.write("e, and after")
	tb.press(kb.Enter)
	tb.await("the edited message", fmt.Sprintf(`/before, and after/.test(%[1]s?.innerText) && /edited/.test(%[1]s.innerText)`, mine))

	w.say(t, "general", "bob", "bob's own", "")
	tb.awaitMessage(mainList, "bob's own")
	his := message(mainList, "bob's own")
	if tb.is(string(his.in(`[aria-label="Edit message"]`))) || tb.is(string(his.in(`[aria-label="Delete message"]`))) {
		t.Error("alice may change what bob said")
	}
	tb.tool(his, "React with eyes")
	reaction := his.in(".reactions button")
	tb.await("the reaction", fmt.Sprintf(`%[1]s?.ariaLabel === "eyes, 1"`, reaction))
	w.Post("react", map[string]any{"channel": w.channel(t, "general").ID, "user": w.user(t, "bob"), "ts": w.find(t, "general", "bob's own"), "name": "eyes"})
	tb.await("bob's reaction", fmt.Sprintf(`%[1]s?.ariaLabel === "eyes, 2"`, reaction))
	tb.click(reaction)
	tb.await("the reaction to be taken back", fmt.Sprintf(`%[1]s?.ariaLabel === "eyes, 1"`, reaction))

	tb.tool(mine, "Delete message")
	tb.await("the message to be gone", "!"+string(message(mainList, "before, and after")))
}

// A message that arrives while the mouse is pressed does not lose the click, although it would
// redraw or move the button.
func testClicks(t *testing.T, w *world) {
	root := w.say(t, "general", "bob", "pressed root", "")
	w.say(t, "general", "carol", "pressed reply", root)
	tb, other := w.open(t, desktop), w.open(t, desktop)
	for n, c := range []struct {
		button     element
		open, done string
	}{
		{saying("#channels button", "random"), "general", `document.getElementById("title").innerText === "#random"`},
		{saying("#people button", "bob"), "random", `document.querySelector('#people [aria-pressed="true"] .name').innerText === "bob"`},
		{one(`.composer[data-pane="main"] [data-do="person"]`), "random", `document.querySelector('#people [aria-pressed="true"] .name').innerText === "carol"`},
		{message(mainList, "pressed root").in("button.replies"), "general", string(message(threadList, "pressed reply"))},
	} {
		tb.visit(c.open)
		other.visit(c.open)
		release := tb.hold(c.button)
		if n == 0 { // the button itself changes
			w.say(t, "random", "carol", "@alice look here", "")
		}
		said := fmt.Sprintf("while a button is down, %d", n)
		w.say(t, c.open, "carol", said, "")
		other.awaitMessage(mainList, said)
		release()
		tb.await("the click to count", c.done)
		tb.visit(c.open)
		tb.awaitMessage(mainList, said)
	}
}

// Messages that arrive while the page reloads its state are not lost.
func testLoading(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.holdBack("sandbox/state")
	// A change of the faults makes the page reload its state.
	w.Post("misbehave", map[string]any{"name": "order", "on": false})
	// Without an answer it tries again.
	call(tb, fetch.FailRequest, fetch.FailRequestParams{RequestID: tb.request(1), ErrorReason: network.ErrorReasonFailed})
	answer := tb.request(2)
	w.say(t, "general", "bob", "said while it reads", "")
	tb.awaitMessage(mainList, "said while it reads")
	before := eval[int](tb, loads)
	call(tb, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: answer})
	tb.await("all to have been read", fmt.Sprintf("%s > %d", loads, before))
	call(tb, fetch.Disable, cdp.Empty{})
	w.say(t, "general", "bob", "said after that", "")
	tb.awaitMessage(mainList, "said after that")
	if !tb.is(string(message(mainList, "said while it reads"))) {
		t.Error("the page has lost the message that arrived while it reloaded")
	}
}

// The page says so if one of its scripts cannot be loaded.
func testNotLoaded(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	call(tb, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/story.js"}}})
	call(tb, page.Reload, page.ReloadParams{IgnoreCache: new(true)})
	call(tb, fetch.FailRequest, fetch.FailRequestParams{RequestID: tb.request(1), ErrorReason: network.ErrorReasonFailed})
	tb.await("the page to say that it is not loaded", `document.getElementById("problem").innerText.includes("could not be loaded") && document.getElementById("status").textContent === "Not loaded"`)
	call(tb, fetch.Disable, cdp.Empty{})
}

// Only the user of a command sees its response, and still sees it after the page reloads its state.
func testOnlyForOne(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.send("#text-main", "/myao help")
	answer := message(mainList, "/myao status")
	tb.awaitMessage(mainList, "/myao status")
	before := eval[int](tb, loads)
	w.Post("misbehave", map[string]any{"name": "order", "on": false}) // the page reads everything again
	tb.await("all to have been read", fmt.Sprintf("%s > %d", loads, before))
	w.say(t, "general", "carol", "said after the answer", "")
	tb.awaitMessage(mainList, "said after the answer")
	if !tb.is(string(answer)) {
		t.Error("the answer is gone since the page read everything again")
	}
	tb.become("bob")
	if tb.is(string(answer)) {
		t.Error("bob is shown what is for alice alone")
	}
	tb.become("alice")
	tb.await("the answer to be there for alice", string(answer))

	// The response also arrives if another person writes by then.
	w.Post("say", map[string]any{"channel": w.channel(t, "general").ID, "user": w.user(t, "bob"), "text": "/myao snooze never"})
	w.say(t, "general", "carol", "said after the other answer", "")
	tb.awaitMessage(mainList, "said after the other answer")
	if got := tb.texts(mainList + " .ephemeral"); len(got) != 1 {
		t.Errorf("alice is shown %q, want what is for her alone", got)
	}
	tb.become("bob")
	tb.await("bob's answer", fmt.Sprintf("document.querySelectorAll(%q).length === 1", mainList+" .ephemeral"))
}

// A hidden page closes the stream of the mind, because a browser has few connections to one host.
func testHidden(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.awaitPhase("idle", "waiting", "judging", "delaying", "replying")
	follows := func() (n int) {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, url := range tb.requests {
			if strings.Contains(url, "/sandbox/mind?") {
				n++
			}
		}
		return n
	}
	show := func(on bool) {
		t.Helper()
		eval[bool](tb, fmt.Sprintf(`(Object.defineProperty(document, "hidden", { configurable: true, value: %v }), document.dispatchEvent(new Event("visibilitychange")))`, !on))
	}
	show(false)
	loaded, before := eval[int](tb, loads), follows()
	w.Post("misbehave", map[string]any{"name": "order", "on": false}) // the page reads everything again
	tb.await("all to have been read", fmt.Sprintf("%s > %d", loads, loaded))
	w.say(t, "general", "bob", "said while nobody looks", "")
	tb.awaitMessage(mainList, "said while nobody looks")
	if n := follows(); n != before {
		t.Errorf("a hidden page opened the stream of the mind %d times", n-before)
	}
	show(true)
	await(t, "the page to follow the mind again", func() bool { return follows() > before })
	tb.await("the mind to be known", phase)
}

// The focus survives changes and removals of the focused message.
func testFocus(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	for _, text := range []string{"the focus stays here", "the focus was here"} {
		tb.send("#text-main", text)
		tb.awaitMessage(mainList, text)
	}
	tb.tabTo("#messages", chromedp.ModifierShift)
	for !tb.is(`document.activeElement.matches("li.message") && document.activeElement.innerText.includes("the focus was here")`) {
		tb.press(kb.ArrowUp)
	}
	last := message(mainList, "the focus was here")
	tb.tabTo(`[aria-label="React with eyes"]`)
	tb.press(kb.Enter)
	tb.await("the reaction", fmt.Sprintf(`%s?.ariaLabel === "eyes, 1"`, last.in(".reactions button")))
	if got := eval[string](tb, "document.activeElement.ariaLabel"); got != "React with eyes" {
		t.Errorf("after a reaction the focus is at %q", got)
	}
	tb.tabTo(`[aria-label="Delete message"]`)
	tb.press(kb.Enter)
	tb.await("the message to be gone", "!"+string(last))
	if !tb.is(`document.activeElement.closest("#messages li.message")`) {
		t.Errorf("the focus is lost with the message\n%s", tb.sight())
	}

	tb.tool(message(mainList, "the focus stays here"), "Reply in thread")
	tb.await("the thread to open", `document.activeElement.id === "text-thread"`)
	w.Post("delete", map[string]any{"channel": w.channel(t, "general").ID, "user": w.user(t, "alice"), "ts": w.find(t, "general", "the focus stays here")})
	tb.await("the thread to close with its root", "!"+shown(one("aside.thread")))
	if got := tb.focused(); got != "text-main" {
		t.Errorf("after the thread the focus is at %q, want the composer", got)
	}
}

// A draft stays in its channel or thread.
func testDrafts(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	for _, root := range []string{"one root for drafts", "other root for drafts"} {
		w.say(t, "general", "bob", root, "")
		tb.awaitMessage(mainList, root)
	}
	reply := func(root string) {
		t.Helper()
		eval[bool](tb, fmt.Sprintf("(%s.click(), true)", message(mainList, root).in(`[aria-label="Reply in thread"]`)))
		tb.await("the thread "+root, fmt.Sprintf(`document.activeElement.id === "text-thread" && %s`, message(threadList, root)))
	}
	field := func(id, want string) {
		t.Helper()
		if got := eval[string](tb, fmt.Sprintf("document.getElementById(%q).value", id)); got != want {
			t.Errorf("%s has %q, want %q", id, got, want)
		}
	}
	tb.click(one("#text-main"))
	tb.write("begun in general")
	reply("one root for drafts")
	tb.write("begun in a thread")
	tb.click(one(`aside.thread input[name="broadcast"]`))
	reply("other root for drafts")
	field("text-thread", "")
	if tb.is(`document.querySelector('aside.thread input[name="broadcast"]').checked`) {
		t.Error("a reply in another thread would go to the channel, too")
	}
	reply("one root for drafts")
	field("text-thread", "begun in a thread")
	tb.press("2", chromedp.ModifierAlt)
	tb.awaitWriter("bob")
	field("text-thread", "begun in a thread")
	field("text-main", "begun in general")
	tb.visit("random")
	field("text-main", "")
	tb.visit("general")
	field("text-main", "begun in general")
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, "begun in general")
	tb.visit("random")
	tb.visit("general")
	field("text-main", "")
}

// sharedFile is a file that a visitor has.
type sharedFile struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content []byte `json:"content"`
}

// carrying is an expression for what carries files in a paste, a drop or a choice.
func carrying(files ...sharedFile) string {
	raw, err := json.Marshal(files)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`%s.reduce((all, f) => (all.items.add(new File([Uint8Array.from(atob(f.content), c => c.charCodeAt(0))], f.name, { type: f.type })), all), new DataTransfer())`, raw)
}

// paste pastes files into a composer.
func (tb *tab) paste(composer string, files ...sharedFile) {
	tb.t.Helper()
	eval[bool](tb, fmt.Sprintf(`%s.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: %s }))`, one(composer), carrying(files...)))
}

// picture is a PNG of three by two pixels.
func picture(t *testing.T) []byte {
	t.Helper()
	var drawn bytes.Buffer
	testserver.Must(t, png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 3, 2))))
	return drawn.Bytes()
}

func testFiles(t *testing.T, w *world) {
	cat := sharedFile{"cat.png", "image/png", picture(t)}
	fake := sharedFile{"fake.png", "image/png", []byte("no picture")}
	notes := sharedFile{"notes <b>2</b>.txt", "text/plain", []byte("one\ntwo\n<i>three</i>\n4\n5\n6\n")}
	report := sharedFile{"report.pdf", "application/pdf", []byte("%PDF-1.4 and so on")}
	tb := w.open(t, desktop)
	const form = `.composer[data-pane="main"]`
	attached := form + " .attached li"

	// Chosen by keyboard, dropped on the messages, pasted; and one taken back.
	eval[bool](tb, fmt.Sprintf(`%s.addEventListener("click", e => { e.preventDefault(); e.target.files = %s.files; e.target.dispatchEvent(new Event("change")); }) ?? true`, one(form+" [type=file]"), carrying(cat, fake)))
	tb.click(one("#text-main"))
	tb.tabTo(form + " [data-do=file]")
	tb.press(kb.Enter)
	tb.await("what was chosen to be attached", string(saying(attached, "fake.png")))
	eval[bool](tb, fmt.Sprintf(`%s.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: %s }))`, one("#messages"), carrying(report)))
	tb.paste("#text-main", sharedFile{"mistake.txt", "text/plain", []byte("not this")}, notes)
	tb.axe("what is attached")
	tb.tabTo(`[aria-label="Do not attach mistake.txt"]`, chromedp.ModifierShift)
	tb.press(kb.Enter)
	tb.await("the next one's button to have the focus", `document.activeElement.ariaLabel === "Do not attach notes <b>2</b>.txt"`)
	tb.paste("#text-main", sharedFile{"too big.bin", "", make([]byte, 8<<20)})
	tb.await("too much to be refused", `document.getElementById("problem").innerText.includes("8 MiB")`)
	tb.visit("random")
	same(t, "attached in another channel", tb.texts(attached), []string{})
	tb.visit("general")
	same(t, "attached", tb.texts(attached+" span"), []string{"cat.png", "fake.png", "report.pdf", "notes <b>2</b>.txt"})
	tb.write("as promised")
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, "as promised")
	sent := message(mainList, "as promised")
	tb.await("the picture, and no other", fmt.Sprintf(`%[1]s.naturalWidth === 3 && [...%[2]s.querySelectorAll("img")].length === 1`, sent.in("img"), sent))
	if got, want := tb.text(sent.in("pre")), "one\ntwo\n<i>three</i>\n4\n5\n…"; got != want {
		t.Errorf("of the text it shows %q, want %q", got, want)
	}
	same(t, "shown", eval[[]string](tb, fmt.Sprintf(`[...%s.querySelectorAll(".attachment span")].map(e => e.innerText)`, sent)), []string{cat.Name, fake.Name, report.Name, notes.Name})
	tb.axe("shared files")
	for _, m := range w.channel(t, "general").Messages {
		for i, f := range m.Files {
			if want := []sharedFile{cat, fake, report, notes}[i]; m.Text == "as promised" && (f.Name != want.Name || f.Mimetype != want.Type || f.Size != len(want.Content)) {
				t.Errorf("the workspace has %+v", f)
			}
		}
	}
	tb.send("#text-main", "and nothing else")
	tb.awaitMessage(mainList, "and nothing else")
	if tb.is(string(message(mainList, "and nothing else").in(".attachment"))) {
		t.Error("the files go along with the next message, too")
	}
}

func testWriters(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	tb.awaitWriter("alice")
	tb.become("bob")
	tb.send("#text-main", "by click")
	tb.press("3", chromedp.ModifierAlt)
	tb.awaitWriter("carol")
	if got := tb.focused(); got != "text-main" {
		t.Errorf("after the key the focus is at %q, want the composer", got)
	}
	if got := eval[string](tb, `document.getElementById("text-main").value`); got != "" {
		t.Errorf("the key wrote %q", got)
	}
	tb.send("#text-main", "by key")
	for text, name := range map[string]string{"by click": "bob", "by key": "carol"} {
		ts, by := w.find(t, "general", text), ""
		for _, m := range w.channel(t, "general").Messages {
			if m.TS == ts {
				by = m.User
			}
		}
		if by != w.user(t, name) {
			t.Errorf("%q was said by %s, want %s", text, by, name)
		}
	}
	tb.press("1", chromedp.ModifierAlt)
	tb.awaitWriter("alice")
}

func testLive(t *testing.T, w *world) {
	tb := w.open(t, desktop)
	eval[bool](tb, "window.sameDocument = true")
	tb.click(one("#text-main"))
	tb.write("half a sen")
	tb.press(kb.ArrowLeft)
	for i := range 3 {
		said := fmt.Sprintf("arriving %d", i)
		w.say(t, "general", "bob", said, "")
		tb.awaitMessage(mainList, said)
	}
	if !tb.is("window.sameDocument") {
		t.Error("the page was reloaded")
	}
	if got := eval[string](tb, `[document.activeElement.id, document.activeElement.value, document.activeElement.selectionStart].join()`); got != "text-main,half a sen,9" {
		t.Errorf("the composer is now %s", got)
	}
	tb.press(kb.End)
	tb.press(kb.Enter, chromedp.ModifierShift)
	tb.write("on two lines")
	if got := eval[string](tb, `document.activeElement.value`); got != "half a sen\non two lines" {
		t.Errorf("with Shift and Enter: %q", got)
	}
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, "on two lines")
	if got := tb.focused(); got != "text-main" {
		t.Errorf("after sending the focus is at %q, want the composer", got)
	}
	w.find(t, "general", "half a sen\non two lines")
	tb.press(kb.Enter)
	tb.write("  ")
	tb.press(kb.Enter)
	tb.write("sentinel")
	tb.press(kb.Enter)
	tb.awaitMessage(mainList, "sentinel")
	for _, m := range w.channel(t, "general").Messages {
		if strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 {
			t.Error("an empty message was sent")
		}
	}
}
