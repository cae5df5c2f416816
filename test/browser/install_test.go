package browser

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// follow clicks a link and returns once the page that it leads to has loaded.
func (tb *tab) follow(link element) {
	tb.t.Helper()
	eval[bool](tb, string(link)+`.removeAttribute("target") ?? true`) // in the same tab
	release := tb.hold(link)
	ctx, cancel := context.WithTimeout(tb.ctx, within)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Func(func(context.Context, *chromedp.Target) error {
		release()
		return nil
	})); err != nil {
		tb.t.Fatalf("follow %s: %v", link, err)
	}
}

// says waits for a page, of Slack's or of the starter's, with a text in its heading.
func (tb *tab) says(heading string) {
	tb.t.Helper()
	tb.await("a page that says "+heading, `document.querySelector("main h1").innerText === `+quote(heading))
	tb.axe(heading)
	if tb.is(`document.documentElement.scrollWidth > innerWidth`) {
		tb.t.Errorf("the page %q is wider than its screen", heading)
	}
}

// TestInstall installs the app in the second workspace, and removes it: on a wide screen, and once more on a phone. The
// first workspace has it from the beginning, and is left alone until the end.
func TestInstall(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	w := start(t)
	absent := shown(one("#absent"))
	acme := *w.Sandbox
	acme.URL += "/T0ACME"
	second := &world{Sandbox: &acme, secrets: w.secrets, browser: w.browser}

	first := w.open(t, desktop)
	same(t, "workspaces", first.texts("#workspaces a"), []string{"Sandbox", "Acme"})
	if first.is(absent) {
		t.Errorf("the app is missing from the beginning\n%s", first.sight())
	}
	first.send("#text-main", "@myao remember that the password is swordfish")
	await(t, "an answer in the first workspace", func() bool { return w.answered(t, "general") == 1 })
	link := eval[string](first, string(saying("#workspaces a", "Acme"))+".href")
	if link != second.URL+"/" {
		t.Errorf("the link to the second workspace leads to %s", link)
	}

	tb := second.open(t, desktop)
	same(t, "channels", tb.texts("#channels .name"), []string{"general", "kitchen", "board"})
	same(t, "people", tb.texts("#people .name"), []string{"dora", "emil", "fumi", "hana (guest)"})
	tb.await("the page to say that the app is missing", absent+
		` && document.getElementById("absent").innerText.includes("myao is not installed in Acme")`)
	tb.axe("a workspace without the app")
	tb.send("#text-main", "@myao is anybody there?")
	tb.install(w, "cancel")
	tb.says("Nothing was installed.")
	tb.reopen()
	tb.install(w, "allow")
	tb.says("myao is installed in Acme.")
	tb.reopen()
	tb.await("the page to say no more that the app is missing", "!"+absent)
	tb.send("#text-main", "@myao what is the password?")
	await(t, "the first answer in the second workspace", func() bool { return second.answered(t, "general") == 1 })
	tb.await("its mind to be shown", `document.getElementById("mind-link").href.includes("T0ACME")`)
	if sight := tb.sight() + strings.Join(second.texts(t, "general"), " "); strings.Contains(sight, "swordfish") {
		t.Errorf("the second workspace knows what the first was told:\n%s", sight)
	}

	tb.click(one("#remove"))
	tb.await("the page to say that the app is missing", absent+` && document.activeElement.id === "install"`)
	tb.axe("a workspace that the app was removed from")
	tb.send("#text-main", "@myao are you gone?")
	phone := second.open(t, look{width: 360, height: 740, phone: true, dark: true})
	phone.await("the page to say that the app is missing", absent)
	phone.axe("a phone without the app")
	phone.click(one("#open-side"))
	phone.await("the workspaces", shown(saying("#workspaces a", "Sandbox")))
	phone.axe("the workspaces on a phone")
	phone.reopen()
	phone.install(w, "allow")
	phone.says("myao is installed in Acme.")
	phone.reopen()
	tb.await("the page that was open to hear of it", "!"+absent)
	before := second.answered(t, "general")
	if before != 1 {
		t.Errorf("the bot has said %q while it was gone", second.texts(t, "general"))
	}
	phone.send("#text-main", "@myao are you back?")
	await(t, "an answer after the return", func() bool { return second.answered(t, "general") > before })

	// The workspace of the token leaves, too, and comes back by an installation.
	first.click(one("#remove"))
	first.await("the page to say that the app is missing", absent)
	first.install(w, "allow")
	first.says("myao is installed in Sandbox.")
	first.reopen()
	before = w.answered(t, "general")
	first.send("#text-main", "@myao are you back here as well?")
	await(t, "an answer in the first workspace", func() bool { return w.answered(t, "general") > before })
}

// answered counts the bot's messages in a channel.
func (w *world) answered(t *testing.T, where string) (n int) {
	t.Helper()
	for _, m := range w.channel(t, where).Messages {
		if m.BotID != "" {
			n++
		}
	}
	return n
}

// texts returns what was said in a channel.
func (w *world) texts(t *testing.T, where string) (all []string) {
	t.Helper()
	for _, m := range w.channel(t, where).Messages {
		all = append(all, m.Text)
	}
	return all
}

// install follows the page's link to the installation, and chooses on Slack's page of consent: allow or cancel.
func (tb *tab) install(w *world, choice string) {
	tb.t.Helper()
	name := eval[string](tb, `document.title.split(" · ").at(-1)`)
	at, err := url.Parse(eval[string](tb, string(one("#install"))+".href"))
	if err != nil || at.Path != "/slack/install" {
		tb.t.Fatalf("the page leads to %s, %v", at, err)
	}
	tb.outside = []string{w.URL + "/oauth/", w.URL + "/theme.css", w.URL + "/consent.css",
		at.Scheme + "://" + at.Host + "/slack/"}
	tb.follow(one("#install"))
	tb.says("Install myao in " + name + "?")
	if scopes := tb.texts("li"); !slices.Contains(scopes, "chat:write") {
		tb.t.Errorf("it asks for %q", scopes)
	}
	tb.follow(saying("main a", map[string]string{"allow": "Allow", "cancel": "Cancel"}[choice]))
}

// reopen comes back to the page.
func (tb *tab) reopen() {
	tb.t.Helper()
	tb.do("open the page again", chromedp.Navigate(tb.w.URL+"/"))
	tb.await("the page to be connected", `document.getElementById("status").textContent === "connected"`)
}
