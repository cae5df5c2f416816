package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/playbook"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
	"myao/test/storetest"
)

// bundle is a registry on a database with a public channel, a private one and a direct message.
type bundle struct {
	*Registry
	*store.Store
	place   Place
	queries []store.SearchQuery
	shown   []chat.Found
	found   []chat.Found // by each search
	pages   *fakePages
	files   *fakeFiles
}

// searching records searches in place of the index.
type searching struct {
	*store.Store
	b *bundle
}

func (s searching) Search(_ context.Context, q store.SearchQuery) ([]chat.Found, error) {
	s.b.queries = append(s.b.queries, q)
	return slices.Clone(s.b.found), nil
}

// playbooks is a directory with one playbook.
func playbooks(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "deploy.md"), []byte("# Deploy by hand\n\nWhen?\n\nSee https://deploy.example/hand."), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func ts(n int) string { return fmt.Sprintf("17000000%02d.000100", n) }

func setup(t *testing.T) *bundle {
	t.Helper()
	db := storetest.Open(t)
	b := &bundle{Store: db, pages: &fakePages{}, files: &fakeFiles{}}
	b.place = Place{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: ts(50), Addressed: true, Asker: "U1", Allowed: chat.ToolNames(), PostTo: config.Places{config.PostMembers}}
	b.Registry = New(Sources{
		Store: searching{db, b},
		Render: func(_ context.Context, _ chat.Conversation, found []chat.Found) (string, error) {
			var lines []string
			for _, f := range found {
				lines = append(lines, Reference{f.Channel, f.TS}.Mark()+" #"+f.ChannelName+" "+f.Text)
			}
			return strings.Join(lines, "\n"), nil
		},
		Pages: b.pages, Files: b.files, Playbooks: playbook.Open(playbooks(t), slog.New(slog.DiscardHandler)), Material: func(text string) string { return "material: " + text },
		Around: func(context.Context, chat.Conversation) (around []chat.Message, err error) {
			for _, f := range b.shown {
				around = append(around, f.Message)
			}
			return around, nil
		},
		Shown: func(context.Context, chat.Conversation, string) ([]chat.Found, error) { return b.shown, nil },
		Permalink: func(_ context.Context, channel, ts string) (string, error) {
			return "https://x.example/" + channel + "/" + ts, nil
		},
		Workspace: "https://x.slack.com/", Places: struct{ Places }{},
		Zone: func(context.Context, chat.Conversation) (*time.Location, error) {
			return time.FixedZone("JST", 9*3600), nil
		},
	})
	for id, c := range map[string]store.Channel{"C1": {Name: "general"}, "C2": {Name: "zoo"}, "G1": {Name: "secret", Private: true}} {
		c.ID, c.Refreshed, c.Member = id, time.Unix(1700000000, 0), true
		if err := db.SaveChannel(t.Context(), "T1", c); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bundle) say(t *testing.T, channel, thread string, from, to int) {
	t.Helper()
	var said []chat.Message
	for i := from; i < to; i++ {
		said = append(said, chat.Message{Team: "T1", Channel: channel, TS: ts(i), ThreadTS: thread, UserID: "U1", Text: "word " + ts(i)})
	}
	if err := b.SaveHistory(t.Context(), said); err != nil {
		t.Fatal(err)
	}
}

// run executes a call, which must not fail for good.
func (b *bundle) run(t *testing.T, step, name, input string) (text string, failed bool) {
	t.Helper()
	result, err := b.Run(t.Context(), b.place, step, name, json.RawMessage(input))
	if err != nil {
		t.Fatalf("%s %s: %v", name, input, err)
	}
	return result.Text, result.Failed
}

// offered are the tools that are offered in a place.
func (b *bundle) offered(t *testing.T, p Place) []Offer {
	t.Helper()
	offers, err := b.Offered(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return offers
}

func TestWhatIsOffered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := func(p Place) (all []string) {
		for _, o := range b.offered(t, p) {
			all = append(all, o.Name)
		}
		return all
	}
	looks := []string{"search_messages", "read_thread", "read_channel", "open_link", "read_file", "read_playbook"}
	shared := b.place
	shared.Shared, shared.Outsiders = true, true
	outside := b.place
	outside.Outsiders = true
	judged := b.place
	judged.Addressed = false
	narrow := b.place
	narrow.Allowed = []string{"remember", "nothing"}
	silent := b.place
	silent.PostTo = nil
	for what, test := range map[string]struct {
		in   Place
		want []string
	}{
		"addressed": {b.place, slices.Concat(looks, []string{"remember", "forget_note", "post_message"})},
		"to nobody": {silent, slices.Concat(looks, []string{"remember", "forget_note"})},
		"judged":    {judged, looks},
		"outside":   {outside, slices.Concat(looks[:5], []string{"remember", "forget_note"})},
		"shared":    {shared, slices.Concat(looks[:3], []string{"read_file", "remember", "forget_note"})},
		"narrowed":  {narrow, []string{"remember"}},
		"none":      {Place{Conversation: b.place.Conversation, Addressed: true}, nil},
	} {
		if got := names(test.in); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", what, got, test.want)
		}
	}
	for _, o := range b.offered(t, b.place) {
		var schema struct {
			Type       string
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal(o.Schema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema %s, %v", o.Name, o.Schema, err)
		}
		for name, p := range schema.Properties {
			if p.Description == "" {
				t.Errorf("%s: property %s has no description", o.Name, name)
			}
		}
	}
}

// What the model did wrong is answered so that it can correct it.
func TestMistakesAreToldToTheModel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, test := range []struct{ name, input, want string }{
		{"delete_everything", `{}`, `no tool "delete_everything" here. There are: search_messages, read_thread`},
		{"search_messages", `{"query": 5}`, "must match this schema"},
		{"search_messages", `{`, "not JSON"},
		{"search_messages", ``, "must match this schema"},
		{"search_messages", `{"query": "x", "colour": "red"}`, "must match this schema"},
		{"search_messages", `{"query": "  "}`, "query is empty"},
		{"search_messages", `{"query": "a\u0000b"}`, "has a NUL character"},
		{"search_messages", `{"query": "x", "from": "yesterday"}`, `from is "yesterday"; it must be a day`},
		{"read_thread", `{"thread": "the one above"}`, "must be a number such as"},
		{"read_channel", `{"before": "monday"}`, "before is"},
		{"read_channel", `{"channel": "#nowhere"}`, `No channel "#nowhere" is known here`},
		{"remember", `{"text": " \n "}`, "text is empty"},
		{"remember", `{"text": "` + strings.Repeat("あ", 501) + `"}`, "501 characters; a note has at most 500"},
		{"read_playbook", `{"name": "Restart"}`, `There is no playbook "Restart". There are: Deploy by hand.`},
		{"forget_note", `{"id": 99}`, "no note 99 in this channel"},
		{"forget_note", `{"id": "first"}`, "must match this schema"},
	} {
		if text, failed := b.run(t, "s", test.name, test.input); !failed || !strings.Contains(text, test.want) {
			t.Errorf("%s %s: %q, failed %v; want %q", test.name, test.input, text, failed, test.want)
		}
	}
	b.place.Addressed = false
	if text, failed := b.run(t, "s", "remember", `{"text": "hello"}`); !failed || !strings.Contains(text, "no tool") {
		t.Errorf("remember in a judged reply: %q, failed %v", text, failed)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Run(t.Context(), b.place, "s", "read_channel", nil); err == nil {
		t.Error("no error without a database")
	}
}

func TestSearchIsNarrowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.SaveUsers(t.Context(), "T1", store.User{ID: "U7", Name: "Dave", Refreshed: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	text, failed := b.run(t, "s", "search_messages", `{"query": "the deploy", "channel": "GENERAL", "author": "DAVE", "from": "2026-03-01", "to": "2026-03-02"}`)
	want := store.SearchQuery{
		Team: "T1", Here: "C1", Text: "the deploy", Channel: "C1", Authors: []string{"U7"}, Limit: searchLimit + 1,
		From: time.Date(2026, 2, 28, 15, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 2, 15, 0, 0, 0, time.UTC),
	}
	got := b.queries[0]
	got.From, got.To = got.From.UTC(), got.To.UTC()
	if failed || !strings.HasPrefix(text, "No message matches.") || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q for %+v, want %+v", text, got, want)
	}
}

// A search finds neither the message that asks nor what the model is shown of the place already.
func TestSearchLeavesOutWhatIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	said := func(channel string, n int) chat.Found {
		return chat.Found{Message: chat.Message{Team: "T1", Channel: channel, TS: ts(n), Text: "word"}}
	}
	b.shown = []chat.Found{said("C1", 40), said("C1", 42)}
	b.found = []chat.Found{said("C1", 50), said("C1", 40), said("C1", 42), said("C1", 41), said("C2", 50)}
	text, failed := b.run(t, "s", "search_messages", `{"query": "word"}`)
	want := []Reference{{"C1", ts(41)}, {"C2", ts(50)}}
	if got := References(text); failed || !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	b.found = b.found[:3]
	if text, failed := b.run(t, "s", "search_messages", `{"query": "word"}`); failed || !strings.Contains(text, "besides those of this place") {
		t.Errorf("of nothing else: %q", text)
	}
	b.found = nil
	for n := range 60 {
		b.found = append(b.found, said("C3", n))
	}
	if text, _ := b.run(t, "s", "search_messages", `{"query": "word"}`); len(References(text)) != searchLimit {
		t.Errorf("%d messages, want %d", len(References(text)), searchLimit)
	}
}

// A link of Slack leads to its thread, where readers here may know the channel.
func TestLinksOfSlack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "C2", "", 10, 12)
	b.say(t, "C2", ts(10), 12, 70)
	b.say(t, "G1", "", 1, 2)
	p := func(n int) string { return "p" + strings.ReplaceAll(ts(n), ".", "") }
	for link, want := range map[string]string{
		"https://x.slack.com/archives/C2/" + p(11):                                          ts(11),
		"<https://old-name.slack.com/archives/C2/" + p(11) + "|that>":                       ts(11),
		"https://x.slack.com/archives/C2/" + p(69) + "?thread_ts=" + ts(10) + "&amp;cid=C2": ts(69),
		// not on the newest page
		"https://x.slack.com/archives/C2/" + p(12) + "?thread_ts=" + ts(10) + "&cid=C2": ts(12),
		"https://x.slack.com/archives/C2/" + p(12):                                      ts(12),
		"https://app.slack.com/client/T1/C2/thread/C2-" + ts(10):                        ts(10),
		"slack://channel?team=T1&id=C2&message=" + ts(11):                               ts(11),
	} {
		if text, failed := b.run(t, "s", "read_thread", fmt.Sprintf(`{"thread": %q}`, link)); failed || !strings.Contains(text+"\n", "#zoo word "+want+"\n") {
			t.Errorf("%s: %q", link, text)
		}
	}
	const another, unknown = "leads to another workspace", "a channel that is not known here"
	for link, want := range map[string]string{
		"https://other.slack.com/archives/C9/" + p(11):          another,
		"https://x.slack.com/archives/C9/" + p(11):              unknown,
		"https://x.slack.com/archives/G1/" + p(1):               unknown,
		"https://other.slack.com/archives/G1/" + p(1):           another,
		"https://evil.example/archives/C2/" + p(11):             another,
		"slack://channel?team=T2&id=C2&message=" + ts(11):       another,
		"slack://channel?team=T1&id=G1&message=" + ts(1):        unknown,
		"https://app.slack.com/client/T2/C2/" + ts(11):          another,
		"https://x.slack.com/archives/C2":                       "thread is",
		"https://x.slack.com.evil.example/archives/C2/" + p(11): another,
	} {
		if text, failed := b.run(t, "s", "read_thread", fmt.Sprintf(`{"thread": %q}`, link)); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", link, text, want)
		}
	}
	if text, failed := b.run(t, "s", "read_channel", `{"channel": "https://x.slack.com/archives/C2"}`); failed || !strings.Contains(text, "#zoo word "+ts(11)) {
		t.Errorf("a link to a channel: %q", text)
	}
	if text, failed := b.run(t, "s", "open_link", fmt.Sprintf(`{"url": "https://x.slack.com/archives/C2/%s"}`, p(11))); !failed || !strings.Contains(text, "read_thread") {
		t.Errorf("opened: %q", text)
	}
}

// A page has the newest messages of a place and tells how to go on.
func TestPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "C2", "", 0, 60)
	b.say(t, "C2", ts(10), 60, 65)
	b.say(t, "G1", "", 0, 2)
	if err := b.SaveUsers(t.Context(), "T1", store.User{ID: "U8", Name: "Zed", Refreshed: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	text, _ := b.run(t, "s", "read_channel", `{"channel": "zoo"}`)
	if strings.Contains(text, ts(9)+"\n") || !strings.Contains(text, "#zoo word "+ts(59)) || !strings.HasSuffix(text, fmt.Sprintf("call again with before=%q.", ts(10))) {
		t.Errorf("newest page: %s", text)
	}
	text, _ = b.run(t, "s", "read_channel", fmt.Sprintf(`{"channel": "C2", "before": %q}`, ts(10)))
	if strings.Count(text, "\n") != 9 || strings.Contains(text, "earlier") {
		t.Errorf("last page: %s", text)
	}
	text, _ = b.run(t, "s", "read_thread", fmt.Sprintf(`{"channel": "<#C2|zoo>", "thread": %q}`, ts(10)))
	if strings.Count(text, "\n") != 5 || !strings.HasPrefix(text, Reference{"C2", ts(10)}.Mark()) {
		t.Errorf("thread: %s", text)
	}
	// What readers here may not know is answered like what does not exist.
	for _, hidden := range []string{"secret", "G1", "C99"} {
		text, failed := b.run(t, "s", "read_channel", fmt.Sprintf(`{"channel": %q}`, hidden))
		if want := fmt.Sprintf("No channel %q is known here.", hidden); !failed || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q", hidden, text)
		}
	}
	var answers []string
	for _, in := range []string{`"channel": "secret"`, `"channel": "G1"`, `"channel": "nowhere"`, `"author": "Zed"`, `"author": "U99"`, `"author": "nobody"`} {
		text, failed := b.run(t, "s", "search_messages", `{"query": "word", `+in+`}`)
		if answers = append(answers, text); failed || answers[0] != text || !strings.HasPrefix(text, "No message matches.") {
			t.Errorf("a search with %s: %q, failed %v; of the first: %q", in, text, failed, answers[0])
		}
	}
	if text, _ := b.run(t, "s", "search_messages", `{"query": "word", "channel": "secret", "to": "soon"}`); !strings.Contains(text, "must be a day") {
		t.Errorf("a date that is none beside a channel that may not be known: %q", text)
	}
	b.place.Conversation.Channel = "G1"
	if text, _ := b.run(t, "s", "read_channel", `{}`); strings.Count(text, "#secret") != 2 {
		t.Errorf("inside a private channel: %s", text)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	text, failed := b.run(t, "step/1", "remember", `{"text": "Ann  leads\nthe launch."}`)
	again, _ := b.run(t, "step/1", "remember", `{"text": "Ann  leads\nthe launch."}`)
	if failed || text != "Remembered as note 1, for this channel only." || again != text {
		t.Errorf("%q, then %q", text, again)
	}
	notes, err := b.Notes(t.Context(), "T1", "C1")
	if err != nil || len(notes) != 1 || notes[0].Text != "Ann leads the launch." || notes[0].Author != "U1" || notes[0].Permalink != "https://x.example/C1/"+ts(50) {
		t.Fatalf("%+v, %v", notes, err)
	}
	elsewhere := b.place
	elsewhere.Conversation.Channel = "C2"
	if result, err := b.Run(t.Context(), elsewhere, "step/2", "forget_note", json.RawMessage(`{"id": 1}`)); !result.Failed || err != nil {
		t.Errorf("a note was forgotten from another channel: %v", err)
	}
	for range 2 { // the second is the same call once more
		if text, failed := b.run(t, "step/3", "forget_note", `{"id": 1}`); failed || text != "Note 1 is forgotten." {
			t.Errorf("%q", text)
		}
	}
	if _, failed := b.run(t, "step/4", "forget_note", `{"id": 1}`); !failed {
		t.Error("a note was forgotten twice")
	}
	for i := range store.MaxNotes {
		if _, err := b.AddNote(t.Context(), "T1", "C1", fmt.Sprint("fill/", i), chat.Note{Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if text, failed := b.run(t, "step/5", "remember", `{"text": "one more"}`); !failed || !strings.Contains(text, "which is the limit") {
		t.Errorf("%q", text)
	}
	if _, err := b.AddNote(t.Context(), "T1", "C1", "more", chat.Note{Text: "x"}); !errors.Is(err, store.ErrTooManyNotes) {
		t.Errorf("%v, want ErrTooManyNotes", err)
	}
}

func TestCitations(t *testing.T) {
	t.Parallel()
	a, b, c := Reference{"C1", "1.1"}, Reference{"C1", "2.2"}, Reference{"G9", "3.3"}
	numbered, cited := Number([]string{a.Mark() + " one\n" + b.Mark() + " two", b.Mark() + " two\n" + c.Mark() + " three"})
	if want := []string{"[1] one\n[2] two", "[2] two\n[3] three"}; !slices.Equal(numbered, want) || !slices.Equal(cited, []Reference{a, b, c}) {
		t.Fatalf("%q, %v", numbered, cited)
	}
	link := func(r Reference) string {
		if r.Channel == "G9" {
			return ""
		}
		return "https://x.example/" + r.TS
	}
	for reply, want := range map[string]string{
		"Friday [1].":                  "Friday [[1]](https://x.example/1.1).",
		"金曜です[2]。":                     "金曜です[[2]](https://x.example/2.2)。",
		"both [1, 2]":                  "both [[1]](https://x.example/1.1) [[2]](https://x.example/2.2)",
		"both [1][2].":                 "both [[1]](https://x.example/1.1) [[2]](https://x.example/2.2).",
		"by [1]: soon":                 "by [[1]](https://x.example/1.1): soon",
		"[1][a note]":                  "[1][a note]",
		"secret [3].":                  "secret.",
		"none [4], [0] and [2026]":     "none [4], [0] and [2026]",
		"`a[1]` and\n```\nx[2]\n```\n": "`a[1]` and\n```\nx[2]\n```\n",
		"> ~~~\n> x[2]\n> ~~~\n[1]":    "> ~~~\n> x[2]\n> ~~~\n[[1]](https://x.example/1.1)",
		"[1](https://y.example)":       "[1](https://y.example)",
		"[1]: https://y.example":       "[1]: https://y.example",
	} {
		if got := Link(reply, cited, link); got != want {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
}
