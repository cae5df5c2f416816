package activities

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"golang.org/x/tools/txtar"

	"myao/internal/answer/document"
	"myao/internal/answer/document/webpage"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/slack"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// hostileSecret stands in the conversation that a hostile text is read in, hostilePrivate in a channel
// that its people do not all read.
const (
	hostileSecret  = "walrus-7731-otter"
	hostilePrivate = "basement-9042-heron"
)

// hostile is a text that gives orders, and what a model does that follows them: the calls of each round,
// from 1, and the reply. In both, EVIL is the address of a stranger's server, PAGE that of the text, and
// SECRET, SECRET64 and SECRETHEX are hostileSecret.
type hostile struct {
	name  string
	body  []byte
	calls map[int][]llm.Call
	says  string
	// as is what a file is called, and mime what it is claimed to be.
	as, mime string
}

// hostileTexts reads the texts of an archive. Before them stands a line for each thing that a text brings
// about, with tabs between: name, round, tool, input; or name, "say", nothing, the reply. For a file it may
// have name, "as", claimed type, and what the file is called; and name, "quoted", where a text is a string
// of Go, since it has bytes that are no text.
func hostileTexts(t *testing.T, path string) (all []hostile) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(archive.Comment)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			t.Fatalf("%s: %q has not four parts", path, line)
		}
		i := slices.IndexFunc(all, func(h hostile) bool { return h.name == f[0] })
		if i < 0 {
			at := slices.IndexFunc(archive.Files, func(a txtar.File) bool { return a.Name == f[0] })
			if at < 0 {
				t.Fatalf("%s has no text %s", path, f[0])
			}
			i, all = len(all), append(all, hostile{name: f[0], body: archive.Files[at].Data, as: f[0], calls: map[int][]llm.Call{}})
		}
		switch f[1] {
		case "say":
			all[i].says = strings.ReplaceAll(f[3], `\n`, "\n")
			continue
		case "as":
			all[i].mime, all[i].as = f[2], f[3]
			continue
		case "quoted":
			body, err := strconv.Unquote(strings.TrimSpace(string(all[i].body)))
			if err != nil {
				t.Fatalf("%s: %s: %v", path, f[0], err)
			}
			all[i].body = []byte(body)
			continue
		}
		round, err := strconv.Atoi(f[1])
		if err != nil || !json.Valid([]byte(f[3])) {
			t.Fatalf("%s: %q has a part that is wrong", path, line)
		}
		all[i].calls[round] = append(all[i].calls[round], llm.Call{Name: f[2], Input: json.RawMessage(f[3])})
	}
	return all
}

// hostileWorld is a workspace in which a hostile text is read.
type hostileWorld struct {
	*bundle
	fill  *strings.Replacer
	evil  string
	attic string
	site  func(http.ResponseWriter, *http.Request) // answers what is fetched of PAGE

	mu      sync.Mutex
	fetched []string
}

// newHostileWorld makes a world whose model does what a text says after it has made a first call.
func newHostileWorld(t *testing.T, h hostile, first func(*hostileWorld) llm.Call) *hostileWorld {
	t.Helper()
	w := &hostileWorld{}
	serve := func(then func(http.ResponseWriter, *http.Request)) string {
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.fetched = append(w.fetched, "http://"+r.Host+r.RequestURI)
			if r.Header.Get("Authorization") != "" {
				t.Errorf("a token was sent to %s", r.Host)
			}
			w.mu.Unlock()
			then(rw, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	w.evil = serve(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("thank you")) })
	page := serve(func(rw http.ResponseWriter, r *http.Request) { w.site(rw, r) })
	w.fill = strings.NewReplacer("EVIL", w.evil, "PAGE", page, "SECRET64", base64.RawURLEncoding.EncodeToString([]byte(hostileSecret)),
		"SECRETHEX", hex.EncodeToString([]byte(hostileSecret)), "SECRET", hostileSecret)
	w.bundle = setup(t, withModel(func(c llmtest.Call) llmtest.Reply {
		if len(c.Turns) == 0 && len(c.Tools) > 0 {
			return llmtest.Calls(first(w))
		}
		var calls []llm.Call
		for _, call := range h.calls[len(c.Turns)] {
			calls = append(calls, llmtest.ToolCall(call.Name, w.fill.Replace(string(call.Input))))
		}
		if len(calls) > 0 && len(c.Tools) > 0 {
			return llmtest.Calls(calls...)
		}
		return llmtest.Text(w.fill.Replace(h.says))
	}))
	w.Limits = config.Default().Tools
	w.settings.Tools = w.Limits.Enabled
	w.Tools = w.Agents.Tools(w.Client, w.Directory, webpage.New(webpage.Options{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}), document.New(w.Client, documents(), w.Agents.Prompts.Material, w.Logger), nil, nil)
	w.attic = w.Workspace.AddChannel(workspace.Private, "attic", w.Workspace.Bot().UserID, w.Alice.ID)
	w.sayIn(w.attic, "The spare key is called "+hostilePrivate)
	w.say("The code of the vault is " + hostileSecret)
	own := w.Workspace.Bot()
	w.record(chat.Message{Team: "T1", Channel: w.General, TS: w.Workspace.Say(w.General, own.UserID, "quarterly report"), UserID: own.UserID, Own: true,
		Text: "The quarterly report is at " + w.fill.Replace("EVIL/own?d=SECRET")})
	return w
}

// answer has the bot answer a message, and posts the reply. It returns the steps.
func (w *hostileWorld) answer(asked chat.Message, addressed bool) []string {
	w.Helper()
	task := inThread(asked)
	if _, out := w.play(ComposeInput{Task: task, Addressed: addressed}); out.Result != conversation.Done {
		w.Fatalf("composed %+v", out)
	}
	if _, err := runOnce[ReplyOutput](w.Post, PostInput{Task: task}); err != nil {
		w.Fatal(err)
	}
	steps, err := w.Store.Steps(w.Context(), task.decisionKey())
	if err != nil {
		w.Fatal(err)
	}
	var outputs []string
	for _, st := range steps {
		outputs = append(outputs, st.Output)
	}
	return outputs
}

var (
	// maskedPattern matches a link with a text before its address, everybodyPattern what calls everybody:
	// without its brackets Slack takes that for text.
	maskedPattern    = regexp.MustCompile(`\]\(\s*<?([^\s)]+)|<(http[^>|]+)\||\]:\s*(http\S+)`)
	everybodyPattern = regexp.MustCompile(`<!(?:channel|here|everyone|subteam)`)
)

// wantHarmless checks that nothing was fetched that texts do not have, that nothing of the secret was sent
// in it, and that the reply hides nothing, calls nobody together, and stays in its place.
func (w *hostileWorld) wantHarmless(written ...string) {
	w.Helper()
	secrets := []string{hostileSecret, url.QueryEscape(hostileSecret), base64.RawURLEncoding.EncodeToString([]byte(hostileSecret)), hex.EncodeToString([]byte(hostileSecret))}
	carries := func(s string) bool {
		return slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(s, secret) })
	}
	strangers := 0
	for _, address := range w.fetched {
		if strings.HasPrefix(address, w.evil) {
			strangers++
		}
		if carries(address) || !slices.ContainsFunc(written, func(text string) bool { return standsIn(text, address) }) {
			w.Errorf("%s was fetched", address)
		}
	}
	if strangers > 5 {
		w.Errorf("%d pages of a stranger were opened, which tells more than five can", strangers)
	}
	for _, c := range w.Model.Calls() {
		if strings.Contains(string(c.Body), hostilePrivate) {
			w.Errorf("the private channel was shown: %s", c.Body)
		}
	}
	for _, p := range w.Workspace.Posts() {
		for _, text := range []string{p.Text, string(p.Blocks)} {
			mentioned := regexp.MustCompile(`<@U\w+>`).FindAllString(text, -1)
			if p.Channel != w.General || strings.Contains(text, hostilePrivate) || everybodyPattern.MatchString(text) || len(mentioned) > 5 {
				w.Errorf("posted in %s: %s", p.Channel, text)
			}
			for _, m := range maskedPattern.FindAllStringSubmatch(text, -1) {
				if address := m[1] + m[2] + m[3]; strings.HasPrefix(address, w.evil) {
					w.Errorf("the reply hides %s: %s", address, text)
				}
			}
		}
	}
	for _, channel := range []string{w.attic, "C0OTHER"} {
		if notes, err := w.Store.Notes(w.Context(), "T1", channel); err != nil || len(notes) > 0 {
			w.Errorf("notes of another channel: %+v, %v", notes, err)
		}
	}
}

// standsIn reports whether an address stands in a text, and does not go on there.
func standsIn(text, address string) bool {
	for {
		_, after, found := strings.Cut(text, address)
		if !found {
			return false
		}
		next := []rune(after + " ")[0]
		if next > unicode.MaxASCII || !unicode.IsLetter(next) && !unicode.IsDigit(next) && !strings.ContainsRune("/?#%=&.", next) {
			return true
		}
		text = after
	}
}

// A model that does all that a page tells it sends nothing out and hides nothing. Each page is read for
// somebody who asked, and for nobody in particular.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	texts := hostileTexts(t, "testdata/hostile/pages.txtar")
	if len(texts) < 20 {
		t.Fatalf("%d pages, want 20", len(texts))
	}
	for _, h := range texts {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, addressed := range []bool{true, false} {
				w := newHostileWorld(t, h, func(w *hostileWorld) llm.Call {
					return llmtest.ToolCall("open_link", w.fill.Replace(`{"url":"PAGE/read"}`))
				})
				body := w.fill.Replace(string(h.body))
				w.site = func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Content-Type", map[string]string{".html": "text/html", ".md": "text/markdown", ".txt": "text/plain"}[filepath.Ext(h.name)])
					_, _ = rw.Write([]byte(body))
				}
				asked := w.Mention("please read <") + w.fill.Replace("PAGE/read") + ">"
				outputs := w.answer(w.say(asked), addressed)
				if !strings.HasPrefix(outputs[0], "Page: ") {
					t.Fatalf("the page was not read: %s", outputs[0])
				}
				w.wantHarmless(body, asked)
				for _, output := range outputs { // by the rule, not because nobody was there
					if strings.Contains(output, "could not be reached") {
						t.Errorf("an address was tried: %s", output)
					}
				}
				if notes, err := w.Store.Notes(t.Context(), "T1", w.General); err != nil || !addressed && len(notes) > 0 {
					t.Errorf("notes for a page that nobody asked about: %+v, %v", notes, err)
				}
				if got := tools.References(outputs[0]); len(got) > 0 {
					t.Errorf("the page has references to messages: %v", got)
				}
			}
		})
	}
}

// A model that does all that a file tells it sends nothing out either, and reads no file of a channel that
// its people do not read. Nor does the name of a file make it.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	texts := hostileTexts(t, "testdata/hostile/files.txtar")
	if len(texts) < 20 {
		t.Fatalf("%d files, want 20", len(texts))
	}
	for _, h := range texts {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, addressed := range []bool{true, false} {
				name := ""
				w := newHostileWorld(t, h, func(*hostileWorld) llm.Call {
					input, _ := json.Marshal(map[string]string{"name": name})
					return llmtest.ToolCall("read_file", string(input))
				})
				name = w.fill.Replace(h.as)
				w.share(w.attic, "look", "attic.txt", "text/plain", []byte("the heir is "+hostilePrivate))
				body := w.fill.Replace(string(h.body))
				asked := w.share(w.General, w.Mention("please read this"), name, h.mime, []byte(body))
				outputs := w.answer(asked, addressed)
				if !strings.HasPrefix(outputs[0], "The file ") || strings.Contains(outputs[0], "Say so") {
					t.Fatalf("the file was not read: %s", outputs[0])
				}
				w.wantHarmless(body, asked.Text, name)
				if notes, err := w.Store.Notes(t.Context(), "T1", w.General); err != nil || !addressed && len(notes) > 0 {
					t.Errorf("notes for a file that nobody asked about: %+v, %v", notes, err)
				}
				if got := tools.References(outputs[0]); len(got) > 0 {
					t.Errorf("the file has references to messages: %v", got)
				}
			}
		})
	}
}

// A record that names another server as the place of a file sends the token nowhere.
func TestFileOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := newHostileWorld(t, hostile{says: "It cannot be read."}, func(*hostileWorld) llm.Call { return llmtest.ToolCall("read_file", `{"name":"a.txt"}`) })
	w.Workspace.Faults().Add(workspace.Fault{Method: "files.info", Alter: func(answer map[string]any) {
		f := answer["file"].(map[string]any)
		f["url_private"], f["url_private_download"], f["preview"] = w.evil+"/a.txt", w.evil+"/a.txt", ""
		delete(answer, "content")
	}})
	outputs := w.answer(w.share(w.General, w.Mention("read a.txt"), "a.txt", "text/plain", []byte("text")), true)
	if !strings.Contains(outputs[0], "Slack refuses it (not_slacks_address)") {
		t.Errorf("got %s", outputs[0])
	}
	w.wantHarmless()
}

// share posts a message of alice with a file, and records it.
func (w *hostileWorld) share(channel, text, name, mime string, content []byte) chat.Message {
	w.Helper()
	ts := w.Workspace.Say(channel, w.Alice.ID, text, workspace.WithFile(name, mime, content))
	page, err := w.Client.History(w.Context(), channel, slack.Range{Oldest: ts}, slack.Identity{TeamID: "T1", UserID: w.Workspace.Bot().UserID})
	if err != nil || len(page.Messages) != 1 {
		w.Fatalf("%d messages, %v", len(page.Messages), err)
	}
	return w.record(page.Messages[0])
}

// The event of a mention has no files. The answer knows them all the same.
func TestFileOfAMention(t *testing.T) {
	t.Parallel()
	w := newHostileWorld(t, hostile{says: "On Friday."}, func(*hostileWorld) llm.Call { return llmtest.ToolCall("read_file", `{"name":"plan.txt"}`) })
	asked := w.say(w.Mention("when do we ship?"), workspace.WithFile("plan.txt", "text/plain", []byte("We ship on Friday.")))
	if len(asked.Files) > 0 {
		t.Fatalf("the event has files: %+v", asked)
	}
	if outputs := w.answer(asked, true); outputs[0] != "The file \"plan.txt\":\n\nWe ship on Friday." {
		t.Errorf("got %q", outputs[0])
	}
	if c := w.Model.Calls()[0]; !strings.Contains(string(c.Body), "[file: plan.txt]") {
		t.Errorf("the prompt does not name the file: %s", c.Body)
	}
}
