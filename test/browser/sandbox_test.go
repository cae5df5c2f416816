package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.yaml.in/yaml/v3"

	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// within is the timeout of waits, generous for a busy machine.
const within = time.Minute

// world is a sandbox as `make run` starts it, and a browser.
type world struct {
	url     string // of the page, without a trailing slash
	ui      string // URL of Temporal's Web UI
	dir     string // of the sandbox's files
	secrets []string
	browser context.Context
}

// start starts the sandbox with flags, and the browser. They end with the test.
func start(t *testing.T, flags ...string) *world {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	tools, err := filepath.Abs("../../.bin")
	if err != nil {
		t.Fatal(err)
	}
	said := &output{}
	program := testserver.NewProgram(t, said, filepath.Join(dir, "sandbox"), append([]string{"--address", "127.0.0.1:0", "--temporal-port", "0"}, flags...)...)
	program.Env = []string{
		"PATH=" + os.Getenv("PATH") + string(filepath.ListSeparator) + tools,
		"GEMINI_API_KEY=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=",
	}
	program.Start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the sandbox said:\n%s", said)
		}
		if err := program.Stop(); err != nil {
			t.Errorf("the sandbox ended with %v", err)
		}
	})
	w := &world{}
	var chat, ui, logs = regexp.MustCompile(`chat with the bot +(http://\S+?)/?\n`), regexp.MustCompile(`Web UI +(http://\S+?)/?\n`), regexp.MustCompile(`logs are in (\S+)`)
	await(t, "the sandbox to say where its page is", func() bool {
		select {
		case <-program.Ended():
			t.Fatalf("the sandbox ended; it said:\n%s", said)
		default:
		}
		for _, find := range []struct {
			pattern *regexp.Regexp
			into    *string
		}{{chat, &w.url}, {ui, &w.ui}, {logs, &w.dir}} {
			if m := find.pattern.FindStringSubmatch(said.String()); m != nil {
				*find.into = m[1]
			}
		}
		return w.url != "" && w.ui != "" && w.dir != ""
	})
	w.secrets = secretsIn(t, filepath.Join(w.dir, "config.yaml"))

	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "en-US"))
	browser, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	first, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	if err := chromedp.Do(first); err != nil {
		t.Fatalf("start Chromium, which `make chromium` installs: %v", err)
	}
	w.browser = first
	return w
}

// secretsIn returns the secrets of a configuration file.
func secretsIn(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Slack struct {
			BotToken      string `yaml:"bot_token"`
			SigningSecret string `yaml:"signing_secret"`
		} `yaml:"slack"`
	}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	secrets := []string{config.Slack.BotToken, config.Slack.SigningSecret}
	for _, s := range secrets {
		if len(s) < 16 {
			t.Fatalf("%q is no secret", s)
		}
	}
	return secrets
}

// output is a program's output.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until done returns true and fails the test after within.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !holds(t, within, done) {
		t.Fatalf("waited %s in vain for %s", within, what)
	}
}

// holds waits until done returns true. It returns false after within.
func holds(t *testing.T, within time.Duration, done func() bool) bool {
	t.Helper()
	deadline, tick := time.After(within), time.NewTicker(30*time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			return false
		case <-t.Context().Done():
			t.Fatal("the test is over")
		case <-tick.C:
		}
	}
	return true
}

// ── the workspace, without the page ────────────────────────────────────────

// workspace is the answer of GET /sandbox/state.
type workspace struct {
	Bot   sandbox.Bot `json:"bot"`
	Users []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Bot  bool   `json:"is_bot"`
	} `json:"users"`
	Channels []channel `json:"channels"`
}

type channel struct {
	ID       string            `json:"id"`
	Kind     sandbox.Kind      `json:"kind"`
	Name     string            `json:"name"`
	Members  []string          `json:"members"`
	Messages []sandbox.Message `json:"messages"`
}

func (w *world) state(t *testing.T) workspace {
	t.Helper()
	resp, err := http.Get(w.url + "/sandbox/state")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var s workspace
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// user returns the id of a person.
func (w *world) user(t *testing.T, name string) string {
	t.Helper()
	for _, u := range w.state(t).Users {
		if u.Name == name {
			return u.ID
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

// channel returns a channel by its name, or a direct message by the name of its person.
func (w *world) channel(t *testing.T, name string) channel {
	t.Helper()
	s := w.state(t)
	for _, c := range s.Channels {
		if c.Name == name && name != "" {
			return c
		}
		for _, u := range s.Users {
			if c.Kind == sandbox.DM && u.Name == name && slices.Contains(c.Members, u.ID) {
				return c
			}
		}
	}
	t.Fatalf("there is no channel %s", name)
	return channel{}
}

// say posts a message as another visitor's page would and returns its ts.
func (w *world) say(t *testing.T, where, who, text, thread string) string {
	t.Helper()
	c := w.channel(t, where)
	w.post(t, "say", map[string]any{"channel": c.ID, "user": w.user(t, who), "text": text, "thread": thread})
	return w.find(t, where, text)
}

// find returns the ts of the newest message with this typed text.
func (w *world) find(t *testing.T, where, text string) string {
	t.Helper()
	for _, m := range slices.Backward(w.channel(t, where).Messages) {
		if w.typed(t, m.Text) == text {
			return m.TS
		}
	}
	t.Fatalf("nobody has said %q in %s", text, where)
	return ""
}

var mention = regexp.MustCompile(`<@(\w+)>`)

// typed returns a message's text as it was typed.
func (w *world) typed(t *testing.T, text string) string {
	t.Helper()
	users := w.state(t).Users
	text = mention.ReplaceAllStringFunc(text, func(m string) string {
		for _, u := range users {
			if "<@"+u.ID+">" == m {
				return "@" + u.Name
			}
		}
		return m
	})
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// post sends an action as the page does.
func (w *world) post(t *testing.T, action string, body any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/sandbox/"+action, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", w.url)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s: %s: %s", action, raw, resp.Status, said)
	}
}

// answers returns the bot's messages in a thread, or at the top level if thread is empty.
func (w *world) answers(t *testing.T, where, thread string) []string {
	t.Helper()
	var all []string
	for _, m := range w.channel(t, where).Messages {
		if m.BotID != "" && (m.ThreadTS == thread || thread == "" && !m.Reply()) {
			all = append(all, m.Text)
		}
	}
	return all
}

// awaitAnswer waits for a message of the bot in a thread.
func (w *world) awaitAnswer(t *testing.T, where, thread string) {
	t.Helper()
	await(t, fmt.Sprintf("an answer in the thread %s of %s", thread, where), func() bool { return len(w.answers(t, where, thread)) > 0 })
}
