package prompt

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
)

// "On Friday" can only be understood with the weekday in the bot's time zone.
func TestWeekday(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ language, zone, want string }{
		{"en", "UTC", "Today is a Friday."},
		{"en", "Asia/Tokyo", "Today is a Saturday."},
		{"ja", "UTC", "今日は金曜日です。"},
		{"ja", "Asia/Tokyo", "今日は土曜日です。"},
	} {
		r := renderer(t, Config{Language: tt.language, Location: location(t, tt.zone)})
		o := Options{Now: time.Date(2024, 3, 1, 16, 0, 0, 0, time.UTC)}
		for name, render := range map[string]rendering{"response": r.Response, "memory": memory(r, ChannelLong)} {
			system, _ := rendered(t, render, bare(), o)
			if !strings.Contains(system, tt.want) {
				t.Errorf("%s, %s, %s: no %q", name, tt.language, tt.zone, tt.want)
			}
		}
	}
	r := renderer(t, Config{Language: "ja"})
	for i, day := range []string{"日", "月", "火", "水", "木", "金", "土"} {
		if got, err := r.render("weekday", time.Weekday(i)); got != day || err != nil {
			t.Errorf("day %d: got %q, %v", i, got, err)
		}
	}
}

func TestDelayBands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit       int
		watch, hold string
	}{
		{-1, "", ""}, {0, "", ""}, {29, "", ""}, {30, "30", ""}, {60, "30–60", ""}, {179, "30–120", ""},
		{180, "30–120", "180"}, {600, "30–120", "180–600"}, {3600, "30–120", "180–600"},
	} {
		v := renderer(t, Config{}).view(bare(), Options{MaxDelaySeconds: tt.limit})
		if v.Watch != tt.watch || v.Hold != tt.hold {
			t.Errorf("limit %d: got %q and %q, want %q and %q", tt.limit, v.Watch, v.Hold, tt.watch, tt.hold)
		}
	}
}

// shown returns what a prompt shows of messages at the top level of a channel.
func shown(t *testing.T, o Options, messages []chat.Message) []messageView {
	t.Helper()
	c := bare()
	c.Conversation = chat.NewChannelMessages("C1", "general", messages)
	return renderer(t, Config{}).view(c, o).Target.Messages
}

func TestSpeakers(t *testing.T) {
	t.Parallel()
	said := shown(t, Options{Names: map[string]string{"U2": "bob"}}, []chat.Message{
		{TS: "1.0", UserID: "U1", Name: "みゃお", Text: "1"},
		{TS: "2.0", UserID: "UBOT", Name: "app", Own: true, Text: "2"},
		{TS: "3.0", UserID: "U2", Name: "U2", Text: "3"},
		{TS: "4.0", UserID: "U3", Name: "U3", Text: "4"},
		{TS: "5.0", UserID: "U4", Name: "ｄａｎ", Text: "5"},
		{TS: "6.0", BotID: "B1", Name: "Dan", Text: "6"},
		{TS: "7.0", Text: "7"},
		{TS: "8.0", UserID: "U5", Name: "Dan", Text: "8", Deleted: true},
	})
	var got []string
	for _, m := range said {
		got = append(got, m.Name)
	}
	want := []string{"みゃお (U1)", "みゃお", "bob", "U3", "ｄａｎ (U4)", "Dan (B1)", "?"}
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// People who are mentioned are distinguished from authors of the same name and from the bot.
func TestMentionsOfPeopleWithTheSameName(t *testing.T) {
	t.Parallel()
	messages := []chat.Message{
		{TS: "1.0", UserID: "U1", Name: "田中", Text: "<@U2> takes it, not <@U1>"},
		{TS: "2.0", UserID: "U3", Name: "bob", Text: "<@U4> or <@U5>? <@UBOT> <@U6>"},
	}
	names := map[string]string{"U1": "田中", "U2": "田中", "U4": "carol", "U5": "Carol", "U6": "みゃお", "UBOT": "みゃお"}
	var got []string
	for _, m := range shown(t, Options{Names: names, BotUserID: "UBOT"}, messages) {
		got = append(got, m.Name+": "+m.Text)
	}
	want := []string{"田中 (U1): @田中 (U2) takes it, not @田中 (U1)", "bob: @carol (U4) or @Carol (U5)? @みゃお @みゃお (U6)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An app may choose a person's name for each message, so Slack marks apps, and so do prompts.
func TestAppsAreMarked(t *testing.T) {
	t.Parallel()
	c := bare()
	c.Conversation = chat.NewChannelMessages("C1", "general", []chat.Message{
		{TS: "1.0", BotID: "B1", Name: "alice", Text: "approved"},
		{TS: "2.0", UserID: "U2", BotID: "B2", Name: "deploys", Text: "done"},
		{TS: "3.0", UserID: "UBOT", BotID: "B3", Own: true, Text: "good"},
		{TS: "4.0", UserID: "U1", Name: "bob", Text: "thanks"},
	})
	for language, app := range map[string]string{"en": " (app)", "ja": "（アプリ）"} {
		system, _ := rendered(t, renderer(t, Config{Language: language}).Response, c, Options{})
		for _, want := range []string{"alice" + app + ":\napproved", "deploys" + app + ":\ndone", "** みゃお:\ngood", "** bob:\nthanks"} {
			if !strings.Contains(system, want) {
				t.Errorf("%s: no line is %q", language, want)
			}
		}
		found := renderer(t, Config{Language: language}).Found([]chat.Found{{Message: c.Conversation.TopLevel[0]}}, chat.Persona{}, Options{Now: noon}, nil)
		if want := " alice" + app + ": approved"; !strings.Contains(found, want) {
			t.Errorf("%s: %q in what was found: %q", language, want, found)
		}
	}
}

// Whatever names people choose, no two people are shown under the same name, and nobody under the bot's.
func TestNamesThatCollide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names map[string]string // user id → display name
		want  []string          // in order of ids
	}{
		{map[string]string{"U1": "alice", "U2": "bob (U1)"}, []string{"alice", "bob (U1)"}},
		{map[string]string{"U1": "alice", "U2": "alice (U1)", "U3": "alice"}, []string{"alice (U1)", "alice (U1) (U2)", "alice (U3)"}},
		{map[string]string{"U1": "alice", "U2": "ALICE （Ｕ１）", "U3": "alice"}, []string{"alice (U1)", "ALICE （Ｕ１） (U2)", "alice (U3)"}},
		{map[string]string{"U1": "a", "U2": "a (U1)", "U3": "a", "U4": "a (U1) (U2)", "U5": "a (U3)"},
			[]string{"a (U1)", "a (U1) (U2)", "a (U3)", "a (U1) (U2) (U4)", "a (U3) (U5)"}},
		{map[string]string{"U1": "みゃお", "U2": "みゃお (U1)"}, []string{"みゃお (U1)", "みゃお (U1) (U2)"}},
		{map[string]string{"U1": "U2", "U2": "U2"}, []string{"U2 (U1)", "U2 (U2)"}},
	} {
		var said []chat.Message
		for i, id := range slices.Sorted(maps.Keys(tt.names)) {
			said = append(said, chat.Message{TS: fmt.Sprintf("%d.0", i+1), UserID: id, Name: tt.names[id], Text: "hello"})
		}
		var got []string
		for _, m := range shown(t, Options{Names: tt.names}, said) {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v are shown as %q, want %q", tt.names, got, tt.want)
		}
	}
}

func TestGap(t *testing.T) {
	t.Parallel()
	root := chat.Message{TS: "1.0", UserID: "U1", Name: "a", Text: "root"}
	reply := chat.Message{TS: "9.0", ThreadTS: "1.0", UserID: "U1", Name: "a", Text: "reply"}
	deleted := root
	deleted.Deleted = true
	for _, tt := range []struct {
		name     string
		messages []chat.Message
		target   string
		want     string
	}{
		{"after the root", []chat.Message{root, reply}, "1.0", "root … reply"},
		{"root alone", []chat.Message{root}, "1.0", "root …"},
		{"root unknown", []chat.Message{reply}, "1.0", "… reply"},
		{"root deleted", []chat.Message{deleted, reply}, "1.0", "… reply"},
		{"top level", []chat.Message{root}, "", "… root"},
		{"nothing", nil, "1.0", "…"},
	} {
		c := bare()
		c.Conversation = chat.NewChannelMessages("C1", "general", tt.messages)
		c.Conversation.Omitted = 3
		c.TargetThread = tt.target
		var got []string
		for _, m := range renderer(t, Config{}).view(c, Options{}).Target.Messages {
			if m.Skipped == 3 && !m.OrMore {
				m.Text = "…"
			}
			got = append(got, m.Text)
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What is left out around the target is noted where it is missing, together with what did not fit.
func TestGapAround(t *testing.T) {
	t.Parallel()
	said := func(ts, thread string) chat.Message {
		return chat.Message{TS: ts, ThreadTS: thread, UserID: "U1", Name: "a", Text: ts}
	}
	deleted := said("1.0", "")
	deleted.Deleted = true
	target := said("9.0", "8.0")
	for _, tt := range []struct {
		name     string
		messages []chat.Message
		earlier  []string
		omitted  int
		top      string
		thread   string
	}{
		{"nothing", []chat.Message{said("1.0", ""), said("6.0", "1.0")}, nil, 0, "1.0", "6.0"},
		{"under the parent", []chat.Message{said("1.0", ""), said("6.0", "1.0"), said("7.0", "1.0")}, []string{"1.0"}, 0, "1.0", "…1+ 6.0 7.0"},
		{"the parent is unknown", []chat.Message{said("6.0", "1.0")}, []string{"1.0"}, 0, "", "…1+ 6.0"},
		{"the parent was deleted", []chat.Message{deleted, said("6.0", "1.0")}, []string{"1.0"}, 0, "", "…1+ 6.0"},
		{"the top level", []chat.Message{said("1.0", ""), said("6.0", "1.0"), said("7.0", "")}, []string{""}, 0, "1.0 …1+ 7.0", "6.0"},
		{"nothing is left of the top level", []chat.Message{said("6.0", "1.0")}, []string{""}, 0, "…1+", "6.0"},
		{"no room", []chat.Message{said("1.0", ""), said("6.0", "1.0")}, nil, 3, "…3 1.0", "6.0"},
		{"no room, and more", []chat.Message{said("1.0", ""), said("6.0", "1.0"), said("7.0", "")}, []string{""}, 3, "1.0 …3+ 7.0", "6.0"},
	} {
		c := bare()
		c.Conversation = chat.NewChannelMessages("C1", "general", append(tt.messages, target))
		c.Conversation.Earlier, c.Conversation.Since, c.Conversation.OmittedAround = tt.earlier, chat.Time("5.0"), tt.omitted
		c.TargetThread = "8.0"
		v := renderer(t, Config{}).view(c, Options{})
		told := func(messages []messageView) string {
			var all []string
			for _, m := range messages {
				if m.Gap() {
					m.Text = fmt.Sprint("…", m.Skipped)
				}
				if m.OrMore {
					m.Text += "+"
				}
				all = append(all, m.Text)
			}
			return strings.Join(all, " ")
		}
		if top, thread := told(v.TopLevel), told(v.Threads[0].Messages); top != tt.top || thread != tt.thread {
			t.Errorf("%s: top level %q and thread %q, want %q and %q", tt.name, top, thread, tt.top, tt.thread)
		}
	}
}

// The notes say if a count is incomplete, because it stopped or because not everything could be read. What
// is left out of the memories is noted in their sections.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language                    string
		messages, channels, threads int
		unread                      bool
		want                        []string
	}{
		{"en", 1, 1, 1, false, []string{"… 1 earlier message", "… 1 further channel has a memory that is not shown here", "… 1 further thread has a summary that is not shown here"}},
		{"en", 999, 2, 2, false, []string{"… 999 earlier messages", "… 2 further channels have a memory that is not shown here", "… 2 further threads have a summary that is not shown here"}},
		{"en", chat.CountAtMost, 0, chat.CountAtMost, false, []string{"… 1000 or more earlier messages", "… 1000 or more further threads have a summary that is not shown here"}},
		{"en", 1, 0, 0, true, []string{"… 1 or more earlier messages, some of which could not be read"}},
		{"en", 12, 0, 0, true, []string{"… 12 or more earlier messages, some of which could not be read"}},
		{"en", 0, 0, 0, true, []string{"… 1 or more earlier messages may be missing here: they could not be read"}},
		{"ja", 999, 2, 3, false, []string{"… これより前の 999 件は省略", "… ほか 2 チャンネルの記憶は省略", "… ほか 3 件のスレッドの要約は省略"}},
		{"ja", chat.CountAtMost, 0, chat.CountAtMost, false, []string{"… これより前の 1000 件以上は省略", "… ほか 1000 件以上のスレッドの要約は省略"}},
		{"ja", 12, 0, 0, true, []string{"… これより前の 12 件以上は省略（読み込めなかったものを含む）"}},
		{"ja", 0, 0, 0, true, []string{"… これより前に 1 件以上あるかもしれないが、読み込めなかった"}},
	} {
		r := renderer(t, Config{Language: tt.language})
		for name, c := range map[string]chat.Context{"with memories": seed001(), "without": bare()} {
			c.Conversation.Omitted, c.ChannelsUntold, c.ThreadsUntold = tt.messages, tt.channels, tt.threads
			c.Conversation.Unread = tt.unread
			for _, render := range []rendering{r.Response, r.Judgment} {
				system, _ := rendered(t, render, c, Options{})
				var got []string
				for line := range strings.SplitSeq(system, "\n") {
					if strings.HasPrefix(line, "…") {
						got = append(got, line)
					}
				}
				slices.Sort(got)
				want := slices.Sorted(slices.Values(tt.want))
				if !slices.Equal(got, want) {
					t.Errorf("%s %s: got %q, want %q", tt.language, name, got, want)
				}
				for _, line := range got {
					if forged := r.guard.text(line); forged != `\`+line {
						t.Errorf("%s: %q may be forged: %q", tt.language, line, forged)
					}
				}
			}
		}
	}
}

// With many channels, the prompt names some and says how many it does not name.
func TestChannelsThatAreNotListed(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		language string
		omitted  int
	}{
		"… 1 further channel is not listed here":              {"en", 1},
		"… 900 further channels are not listed here":          {"en", 900},
		"… 1000 or more further channels are not listed here": {"en", chat.CountAtMost},
		"… ほか 1000 以上のチャンネルの名前は省略":                            {"ja", chat.CountAtMost},
		"… ほか 900 チャンネルの名前は省略":                                {"ja", 900},
	} {
		r := renderer(t, Config{Language: c.language})
		known := seed001()
		none, _, err := r.Judgment(known, Options{Now: noon})
		if err != nil || strings.Contains(none, want) {
			t.Errorf("%q, all channels: %v\n%s", want, err, none)
		}
		known.ChannelsUnlisted = c.omitted
		if system, _, err := r.Judgment(known, Options{Now: noon}); err != nil || strings.Count(system, "\n"+want+"\n") != 1 {
			t.Errorf("%q: %v\n%s", want, err, system)
		}
		if forged := r.guard.text(want); forged != `\`+want {
			t.Errorf("%q may be forged: %q", want, forged)
		}
	}
}

// A direct message has no name, and its id is not shown as one.
func TestDirectMessage(t *testing.T) {
	t.Parallel()
	c := bare()
	c.Conversation = chat.NewChannelMessages("D1", "", append(c.Conversation.All(), chat.Message{TS: "2.0", UserID: "U1", Name: "user1", Text: "<#D1> <#D1|user1>"}))
	c.Channels = []chat.ChannelMemory{{ChannelID: "D1", LongTerm: "- known", ShortTerm: "- new"}}
	for language, words := range map[string][2]string{
		"en": {"### Direct message", "a direct message a direct message"}, "ja": {"### ダイレクトメッセージ", "ダイレクトメッセージ ダイレクトメッセージ"},
	} {
		r := renderer(t, Config{Language: language})
		renders := []rendering{r.Response, r.Judgment}
		for _, kind := range memoryKinds {
			renders = append(renders, memory(r, kind))
		}
		for i, render := range renders {
			system, user := rendered(t, render, c, Options{})
			if strings.Contains(system+user, "D1") || strings.Contains(system, "- #") || strings.Contains(system, "## Channels") {
				t.Errorf("%s, prompt %d: it names the direct message:\n%s", language, i, system)
			}
			for _, line := range words {
				if i < 2 && !strings.Contains(system, "\n"+line+"\n") {
					t.Errorf("%s, prompt %d: no %q:\n%s", language, i, line, system)
				}
			}
		}
	}
}

// A thread of deleted messages has no heading, and no deleted text is shown.
func TestDeleted(t *testing.T) {
	t.Parallel()
	c := bare()
	c.Conversation = chat.NewChannelMessages("C1", "general", []chat.Message{
		{TS: "1.0", UserID: "U1", Name: "a", Text: "gone", Deleted: true},
		{TS: "2.0", ThreadTS: "1.0", UserID: "U1", Name: "a", Text: "gone", Deleted: true},
	})
	system, _ := rendered(t, renderer(t, Config{}).Response, c, Options{})
	if strings.Contains(system, "gone") || strings.Contains(system, "### Thread") {
		t.Errorf("deleted messages are shown:\n%s", system)
	}
	if !strings.Contains(system, "(no message to show)") {
		t.Error("the prompt does not say that the target is empty")
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{Language: "fr"}); err == nil || !strings.Contains(err.Error(), `"fr": want one of en, ja`) {
		t.Errorf("unknown language: %v", err)
	}
	if _, err := New(Config{Language: "../en"}); err == nil {
		t.Error("a path as language: no error")
	}
}

// templatesDir returns a directory with these files, by name.
func templatesDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(source), 0o644))
	}
	return dir
}

func TestOverride(t *testing.T) {
	t.Parallel()
	// Each case has the files of a templates_dir, and a part of the system text or of the error.
	for _, tt := range []struct {
		name         string
		files        map[string]string
		system, user string
		fault        string
	}{
		{name: "one file", files: map[string]string{"response.tmpl": "You are {{.Persona.Name}}.\n\n\n\n{{template \"target\" .}}"},
			system: "You are みゃお.\n\n**2024-01-01 12:00:00** user1:", user: "Write what みゃお says"},
		{name: "language wins", files: map[string]string{"en/response.tmpl": "inner", "response.tmpl": "outer", "ja/response.tmpl": "{{"}, system: "inner"},
		{name: "partial", files: map[string]string{"response.tmpl": `{{template "own"}}`, "_own.tmpl": `{{define "own"}}mine{{end}}`}, system: "mine"},
		{name: "other files", files: map[string]string{"README.md": "{{"}, system: "You are みゃお"},
		{name: "syntax in both places", files: map[string]string{"_own.tmpl": "{{", "en/_own.tmpl": "{{"}, fault: "/en/_own.tmpl: template: _own.tmpl:1:"},
		{name: "syntax", files: map[string]string{"judgment.tmpl": "{{if}}"}, fault: "judgment.tmpl: template: judgment.tmpl:1:"},
		{name: "unknown field", files: map[string]string{"en/_context.tmpl": `{{define "persona"}}{{.Nobody}}{{end}}{{define "knowledge"}}{{end}}{{define "place"}}{{end}}`}, fault: "en/_context.tmpl: template: _context.tmpl:1:"},
		{name: "unknown partial", files: map[string]string{"response.tmpl": `{{template "nothing" .}}`}, fault: "response.tmpl"},
		{name: "unknown name", files: map[string]string{"respond.tmpl": "x"}, fault: "respond.tmpl: no prompt has this name"},
		{name: "empty", files: map[string]string{"response.tmpl": " \n"}, fault: "response.tmpl: renders to an empty text"},
		{name: "fault in a direct message", files: map[string]string{"response.tmpl": `x{{if .Direct}}{{.Nobody}}{{end}}`}, fault: "response.tmpl: template: response.tmpl:1:"},
		{name: "fault in a thread of a direct message", files: map[string]string{"judgment.tmpl": `x{{if and .Direct .Target.Thread}}{{.Nobody}}{{end}}`}, fault: "judgment.tmpl: template: judgment.tmpl:1:"},
		{name: "fault in the memory of a direct message", files: map[string]string{"memory_channel_short.tmpl": `x{{if .Here.Direct}}{{.Nobody}}{{end}}`}, fault: "memory_channel_short.tmpl: template: memory_channel_short.tmpl:1:"},
		{name: "partial without a template", files: map[string]string{"_context.tmpl": `{{define "persona"}}x{{end}}`}, fault: `/_context.tmpl: does not define "material"`},
		{name: "partial of the language without a template", files: map[string]string{"en/_context.tmpl": `{{define "persona"}}x{{end}}`, "_context.tmpl": "x"}, fault: `/en/_context.tmpl: does not define "material"`},
		{name: "partial and what uses it", files: map[string]string{"_memory.tmpl": "", "memory_thread.tmpl": `x{{template "keeper" .}}`}, fault: `/_memory.tmpl: does not define "keeper"`},
		{name: "incomplete notice", files: map[string]string{"notice.tmpl": `{{define "unanswered"}}x{{end}}`}, fault: `/notice.tmpl: does not define "over_budget"`},
		{name: "empty notice", files: map[string]string{"notice.tmpl": `{{define "unanswered"}} {{end}}{{define "over_budget"}}x{{end}}`}, fault: `notice.tmpl: the notice "unanswered" is empty`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := templatesDir(t, tt.files)
			r, err := New(Config{Language: "en", Dir: dir})
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) || !strings.Contains(err.Error(), dir) {
					t.Fatalf("error %v, want one with %q and the directory", err, tt.fault)
				}
				return
			}
			must(t, err)
			system, user := rendered(t, r.Response, bare(), Options{})
			if !strings.Contains(system, tt.system) || !strings.Contains(user, tt.user) {
				t.Errorf("got %q and %q, want %q and %q in them", system, user, tt.system, tt.user)
			}
		})
	}
	if _, err := New(Config{Dir: filepath.Join(t.TempDir(), "absent")}); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("absent directory: %v", err)
	}
}

// All faults are reported together, and each once, even if it occurs in several prompts.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string // a part of each fault, in order
	}{
		{"of every kind", map[string]string{
			"judgment.tmpl": "{{if}}", "response.tmpl": "{{.Nobody}}", "memory_thread.tmpl": " ", "respond.tmpl": "x",
			"_memory.tmpl": `{{define "keeper"}}{{.Nowhere}}{{end}}`, "notice.tmpl": `{{define "unanswered"}} {{end}}`,
		}, []string{
			"respond.tmpl: no prompt has this name", "judgment.tmpl: template: judgment.tmpl:1:", "response.tmpl: template: response.tmpl:1:",
			"memory_thread.tmpl: renders to an empty text", "_memory.tmpl: template: _memory.tmpl:1:",
			`notice.tmpl: the notice "unanswered" is empty`, `notice.tmpl: does not define "over_budget"`,
		}},
		{"a partial that others call", map[string]string{"_own.tmpl": `{{define "own"}}`, "response.tmpl": `{{template "own"}}`}, []string{"_own.tmpl:"}},
		{"a partial that is broken twice", map[string]string{"_own.tmpl": "{{", "_also.tmpl": "{{", "response.tmpl": `{{template "own"}}`}, []string{"_also.tmpl:", "_own.tmpl:"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(Config{Dir: templatesDir(t, tt.files)})
			var faults Faults
			if !errors.As(err, &faults) || len(faults) != len(tt.want) {
				t.Fatalf("got\n%v\nwant %q", err, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(faults[i].Error(), want) {
					t.Errorf("got %v, want %q in it", faults[i], want)
				}
			}
		})
	}
}

// The guard knows the headings of overriding templates too.
func TestOverrideHeadings(t *testing.T) {
	t.Parallel()
	source := "{{if true}}## Our table{{end}}\nToday: {{.Now}}\n{{template \"target\" .}}"
	r := renderer(t, Config{Dir: templatesDir(t, map[string]string{"response.tmpl": source})})
	if got, want := r.guard.text("our table\nToday: x"), "\\our table\n\\Today: x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A Renderer is safe for concurrent use and does not change its arguments.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := renderer(t, Config{Language: "ja"})
	c, o := office("1709283600.000000"), Options{Now: noon, MaxDelaySeconds: 600, Names: map[string]string{"U9": "x"}}
	want, _ := rendered(t, r.Judgment, c, o)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, _, err := r.Judgment(c, o); err != nil || got != want {
				t.Errorf("another rendering differs: %v", err)
			}
		})
	}
	wg.Wait()
}

// A root that is older than what is shown of the top level stands in its thread, and replies that are not shown are
// counted behind the messages: the beginning of the next prompt stays as it is.
func TestOldRootsStandInTheirThreads(t *testing.T) {
	t.Parallel()
	c := earlier("")
	c.Conversation.Began = chat.Time(at(9, 15))
	system, _ := rendered(t, renderer(t, Config{}).Judgment, c, Options{})
	_, target, _ := strings.Cut(system, "## To judge: ")
	top, threads, _ := strings.Cut(target, "### Thread: ")
	const key, note = "Who has the key?", "… 1 of the messages above has replies that are not shown here"
	if strings.Contains(top, key) || strings.Count(threads, key) != 1 || !strings.Contains(threads, note) {
		t.Errorf("got %s", target)
	}
}
