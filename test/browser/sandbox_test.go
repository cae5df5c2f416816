package browser

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.yaml.in/yaml/v3"

	"myao/sandbox/workspace"
	"myao/test/testserver"
	programs "myao/test/world"
)

// within is the timeout of waits, generous for a busy machine.
const within = time.Minute

// world is a sandbox as `make run` starts it, and a browser.
type world struct {
	*programs.Sandbox
	secrets []string
	browser context.Context
}

// start starts the sandbox with flags, and the browser. They end with the test.
func start(t *testing.T, flags ...string) *world {
	t.Helper()
	dir, err := build()
	testserver.Must(t, err)
	w := &world{Sandbox: programs.StartSandbox(t, dir, flags...)}
	w.secrets = secretsIn(t, filepath.Join(w.Dir, "config.yaml"))

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
	testserver.Must(t, err)
	var config struct {
		Slack struct {
			BotToken      string `yaml:"bot_token"`
			SigningSecret string `yaml:"signing_secret"`
			ClientSecret  string `yaml:"client_secret"`
		} `yaml:"slack"`
		Encryption struct{ Keys map[string]string }
	}
	testserver.Must(t, yaml.Unmarshal(raw, &config))
	secrets := []string{config.Slack.BotToken, config.Slack.SigningSecret, config.Slack.ClientSecret}
	secrets = slices.AppendSeq(secrets, maps.Values(config.Encryption.Keys))
	for _, s := range secrets {
		if len(s) < 16 {
			t.Fatalf("%q is no secret", s)
		}
	}
	return secrets
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
	return programs.Within(t, within, 30*time.Millisecond, done)
}

// ── the workspace, without the page ────────────────────────────────────────

// user returns the id of a person.
func (w *world) user(t *testing.T, name string) string {
	t.Helper()
	for _, u := range w.State().Users {
		if u.Name == name {
			return u.ID
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

// channel returns a channel by its name, or a direct message by the name of its person.
func (w *world) channel(t *testing.T, name string) programs.Channel {
	t.Helper()
	s := w.State()
	for _, c := range s.Channels {
		if c.Name == name && name != "" {
			return c
		}
		for _, u := range s.Users {
			if c.Kind == workspace.DM && u.Name == name && slices.Contains(c.Members, u.ID) {
				return c
			}
		}
	}
	t.Fatalf("there is no channel %s", name)
	return programs.Channel{}
}

// say posts a message as another visitor's page would and returns its ts.
func (w *world) say(t *testing.T, where, who, text, thread string) string {
	t.Helper()
	c := w.channel(t, where)
	w.Post("say", map[string]any{"channel": c.ID, "user": w.user(t, who), "text": text, "thread": thread})
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
	users := w.State().Users
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
