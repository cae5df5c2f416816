package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"myao/internal/answer/document/webpage"
	"myao/internal/chat"
	"myao/internal/store"
)

// fakePages has a page at each address, and records which were asked for.
type fakePages struct {
	page   webpage.Page
	err    error
	opened []string
}

func (f *fakePages) Get(_ context.Context, address string) (webpage.Page, error) {
	f.opened = append(f.opened, address)
	p := f.page
	p.URL = address
	return p, f.err
}

// did saves a round of calls with their results, and returns the id of the last step.
func (b *bundle) did(t *testing.T, round int, steps ...store.Step) string {
	t.Helper()
	for i := range steps {
		steps[i].State, steps[i].CallID = store.StepWaiting, fmt.Sprint(i)
	}
	outputs := slices.Clone(steps)
	saved, err := b.SaveTurn(t.Context(), b.place.Conversation, b.place.Trigger, store.Turn{Decision: "d", Round: round, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	for i, st := range saved {
		if outputs[i].Output == "" {
			continue
		}
		if _, err := b.BeginStep(t.Context(), st.ID); err != nil {
			t.Fatal(err)
		}
		if err := b.EndStep(t.Context(), st.ID, store.StepResult{Output: outputs[i].Output, Failed: outputs[i].Failed}); err != nil {
			t.Fatal(err)
		}
	}
	return saved[len(saved)-1].ID
}

func opening(address string) store.Step {
	input, _ := json.Marshal(openLinkInput{URL: address})
	return store.Step{Tool: chat.ToolOpenLink, Input: string(input)}
}

// open opens an address as the last step.
func (b *bundle) open(t *testing.T, step, address string) (Result, bool) {
	t.Helper()
	before := len(b.pages.opened)
	r, err := b.Run(t.Context(), b.place, step, chat.ToolOpenLink, json.RawMessage(opening(address).Input))
	if err != nil {
		t.Fatal(err)
	}
	return r, len(b.pages.opened) > before
}

// Only what a person wrote or a tool returned is opened. Neither the bot's own messages nor what a
// program repeats of the model's words make an address written.
func TestWhoseWordsCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	said := func(channel, ts, text string, own bool) chat.Found {
		return chat.Found{Message: chat.Message{Team: "T1", Channel: channel, TS: ts, Text: text, Own: own, UserID: "U1"}}
	}
	b.shown = []chat.Found{
		said("C1", ts(1), "see <https://person.example/a?x=1&amp;y=2|the plan>", false),
		said("C1", ts(2), "I found https://own.example/secret", true),
		said("C2", ts(3), "https://elsewhere.example/", false),
	}
	for i, m := range []struct {
		channel, text string
		own, deleted  bool
	}{
		{"C2", "https://found.example/", false, false}, {"C2", "https://ownfound.example/secret", true, false},
		{"C2", "https://deleted.example/", false, true}, {"G1", "https://private.example/", false, false},
	} {
		if err := b.SaveHistory(t.Context(), []chat.Message{{Team: "T1", Channel: m.channel, TS: ts(10 + i), UserID: "U1", Text: m.text, Own: m.own, Deleted: m.deleted}}); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(channel string, n int) string { return Reference{channel, ts(n)}.Mark() }
	step := b.did(t, 0,
		store.Step{Tool: "search_messages", Input: `{"query":"x"}`, Output: mark("C2", 10) + " https://found.example/ " + mark("C2", 11) + " https://ownfound.example/secret " + mark("C2", 12) + mark("G1", 13) + " https://private.example/"},
		store.Step{Tool: "read_channel", Input: `{"channel":"https://failed.example/secret"}`, Output: `No channel "https://failed.example/secret" is known here.`, Failed: true},
		store.Step{Tool: "remember", Input: `{"text":"https://noted.example/secret"}`, Output: "Remembered: https://noted.example/secret"},
		store.Step{Tool: "web__search", Input: `{"query":"https://ECHO.example/secret or split.example%2Fsecret"}`, Output: "Results for https://ECHO.example/secret and https://echo.example/secret, https://split.example/secret: https://hit.example/1"},
		store.Step{Tool: chat.ToolOpenLink, Input: opening("https://person.example/").Input, Output: "Page: https://person.example/\n\n[next](https://page.example/next)"},
		store.Step{Tool: chat.ToolOpenLink, Input: opening("https://failed.example/").Input, Output: "https://failedpage.example/", Failed: true},
		store.Step{Tool: chat.ToolOpenLink, Input: `{}`},
	)
	for address, want := range map[string]bool{
		"https://person.example/a?x=1&y=2":    true,
		" https://person.example/a?x=1&y=2\n": true,
		"<https://person.example/a?x=1&y=2>":  true,
		"https://elsewhere.example/":          true,
		"https://found.example/":              true,
		"https://hit.example/1":               true,
		"https://page.example/next":           true,
		"https://own.example/secret":          false,
		"https://ownfound.example/secret":     false,
		"https://deleted.example/":            false,
		"https://private.example/":            false,
		"https://failed.example/secret":       false,
		"https://noted.example/secret":        false,
		"https://ECHO.example/secret":         false,
		"https://echo.example/secret":         false,
		"https://split.example/secret":        false,
		"https://failedpage.example/":         false,
		"https://composed.example/?d=secret":  false,
		"https://person.example/a?x=1":        false,
	} {
		r, opened := b.open(t, step, address)
		if opened != want || r.Failed == want {
			t.Errorf("%s: %+v, opened: %v; want %v", address, r, opened, want)
		}
	}
	b.place.Outsiders = true
	if _, opened := b.open(t, step, "https://elsewhere.example/"); opened {
		t.Error("a link of another channel was opened where guests read")
	}
	b.place.Shared = true
	if r, opened := b.open(t, step, "https://person.example/a?x=1&y=2"); opened || !strings.Contains(r.Text, "no tool") {
		t.Errorf("opened where other companies read: %+v", r)
	}
}

// Pages lead to further pages a few times only: a page that offers many could be told something by which
// of them is opened.
func TestHowFarPagesLead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.shown = []chat.Found{{Message: chat.Message{Team: "T1", Channel: "C1", TS: ts(1), Text: "<https://start.example/> <https://other.example/>"}}}
	list := "Page: https://start.example/\n\n"
	for c := 'a'; c <= 'z'; c++ {
		list += fmt.Sprintf("[%c](https://evil.example/%c)\n", c, c)
	}
	first := opening("https://start.example/")
	first.Output = list
	b.did(t, 0, first, opening("https://other.example/"))
	for i := range maxFollowed + 1 {
		address := fmt.Sprintf("https://evil.example/%c", 'a'+i)
		r, opened := b.open(t, b.did(t, i+1, opening(address)), address)
		if opened != (i < maxFollowed) {
			t.Errorf("page %d: %+v, opened: %v", i, r, opened)
		}
	}
	if _, opened := b.open(t, b.did(t, maxFollowed+2, opening("https://other.example/")), "https://other.example/"); !opened {
		t.Error("what a person wrote was not opened any more")
	}
}

func TestWhatAPageIsTo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.shown = []chat.Found{{Message: chat.Message{Team: "T1", Channel: "C1", TS: ts(1), Text: "<https://x.example/a/plan.pdf>"}}}
	const address = "https://x.example/a/plan.pdf"
	step := b.did(t, 0, opening(address))
	for _, c := range []struct {
		page webpage.Page
		want string
	}{
		{webpage.Page{Title: "Plan", Text: "# Friday"}, "Page: " + address + "\nTitle: material: Plan\n\nmaterial: # Friday"},
		{webpage.Page{Text: "long", Cut: true}, "Page: " + address + "\nOnly its beginning was read: it is too long.\n\nmaterial: long"},
		{webpage.Page{Text: "Käse", Guess: "Windows-1252"}, "Page: " + address + "\nRead as Windows-1252, a guess.\n\nmaterial: Käse"},
		{webpage.Page{Text: " \n"}, "Page: " + address + "\n\nIt has no text."},
		{webpage.Page{PDF: []byte("%PDF-")}, "Page: " + address + "\n\nIt is a PDF file without text that could be read here."},
	} {
		b.pages.page = c.page
		r, _ := b.open(t, step, address)
		if r.Text != c.want || r.Failed || len(r.Files) != 0 != (c.page.PDF != nil) {
			t.Errorf("%+v: %+v", c.page, r)
		}
		if len(r.Files) > 0 && (r.Files[0].Name != "plan.pdf" || r.Files[0].MIME != "application/pdf" || string(r.Files[0].Data) != "%PDF-") {
			t.Errorf("%+v", r.Files)
		}
	}
	b.pages.err = &webpage.Refused{Reason: "The site answers 404 Not Found."}
	if r, _ := b.open(t, step, address); !r.Failed || r.Text != "The site answers 404 Not Found." {
		t.Errorf("%+v", r)
	}
	b.pages.err = context.Canceled
	if _, err := b.Run(t.Context(), b.place, step, chat.ToolOpenLink, json.RawMessage(opening(address).Input)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it is tried again", err)
	}
}
