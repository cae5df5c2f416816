package cli

import (
	"io"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"myao/internal/config"
	"myao/internal/operate/doctor"
	"myao/internal/slack/manifest"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/startertest"
)

// initBundle runs starter init as a process, against a Slack and a model of the test.
type initBundle struct {
	t         *testing.T
	dir       string
	slack     *workspace.Workspace
	api       string
	model     *llmtest.Running
	general   string // a channel that the bot is in
	random    string // one that it is not in
	variables []string
}

// The secrets of the test. The model's key needs quotes in a shell.
const (
	initBotToken = "xoxb-init-secret"
	initAppToken = "xapp-init-secret"
	initKey      = "key-of#the$(model)${HOME}"
)

func newInit(t *testing.T, lacks ...string) *initBundle {
	t.Helper()
	scopes := slices.DeleteFunc(manifest.Names(manifest.Scopes(example(t, nil, io.Discard).Config)), func(s string) bool { return slices.Contains(lacks, s) })
	b := &initBundle{t: t, dir: t.TempDir(), model: llmtest.New(t, nil)}
	b.model.Key = initKey
	b.slack = workspace.New(workspace.Config{BotToken: initBotToken, AppToken: initAppToken, SigningSecret: plausible, Scopes: scopes, PageSize: 1, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(b.slack.Close)
	server := httptest.NewServer(b.slack.Handler())
	t.Cleanup(server.Close)
	b.api = server.URL + "/api/"
	b.general = b.slack.AddChannel(workspace.Public, "general", b.slack.Bot().UserID)
	b.random = b.slack.AddChannel(workspace.Public, "random")
	return b
}

// run gives lines of input to starter init, and returns what it said and its exit status.
func (b *initBundle) run(input []string, args ...string) (said string, status int) {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), os.Args[0], append([]string{"init", "--slack-api", b.api}, args...)...)
	text := ""
	for _, line := range input {
		text += line + "\n"
	}
	cmd.Dir, cmd.Stdin = b.dir, strings.NewReader(text)
	cmd.Env = append([]string{startertest.Variable + "=1", "HOME=" + b.dir}, b.variables...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() < 0 {
		b.t.Fatal(err)
	}
	for _, secret := range []string{initBotToken, initAppToken, plausible, initKey} {
		if strings.Contains(string(out), secret) {
			b.t.Errorf("it prints the secret %s:\n%s", secret, out)
		}
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// written returns the names of the files that are there, sorted.
func (b *initBundle) written() (names []string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (b *initBundle) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// load reads config.yaml with the environment that a shell has after it has read .env.
func (b *initBundle) load() (config.Config, map[string]string) {
	b.t.Helper()
	out, err := exec.CommandContext(b.t.Context(), "env", "-i", "sh", "-c", "set -a; . \"$0\"; env", filepath.Join(b.dir, ".env")).Output()
	if err != nil {
		b.t.Fatal(err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	c, err := config.Load(filepath.Join(b.dir, "config.yaml"), func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
	if err != nil {
		b.t.Fatalf("%v in\n%s", err, b.read("config.yaml"))
	}
	return c, env
}

var allFiles = []string{".env", "config.yaml", "manifest.yaml"}

func TestInit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		input func(*initBundle) []string
		args  func(*initBundle) []string
		lacks []string // scopes
		// says has to be in the output, in this order.
		says []string
		// want is config.yaml below its comment, with SLACK, MODEL, GENERAL and RANDOM for what differs.
		want string
		// env are the variables of .env.
		env map[string]string
	}{
		{
			name:  "defaults",
			input: func(*initBundle) []string { return []string{"", initBotToken, initAppToken, "demo", "", "", "", ""} },
			says: []string{
				"manifest.yaml is the Slack app", "https://api.slack.com/apps?new_app=1", "ok    slack token: workspace Sandbox (T0SANDBOX), bot myao",
				"ok    slack scopes", "ok    socket mode", "Wrote config.yaml", ".bin/starter", "/invite @myao in a channel,",
			},
			want: `
slack:
  bot_token: ${SLACK_BOT_TOKEN}
  app_token: ${SLACK_APP_TOKEN}
  api_url: SLACK
agents:
  response:
    provider: demo
  judgment:
    provider: demo
  memory:
    provider: demo
retention:
  messages_days: 400
`,
			env: map[string]string{"SLACK_BOT_TOKEN": initBotToken, "SLACK_APP_TOKEN": initAppToken},
		},
		{
			name: "Japanese, by HTTP, with Gemini",
			input: func(b *initBundle) []string {
				return []string{
					"HTTP", "http://myao.example.com", "http", "https://myao.example.com", initBotToken, "short", plausible,
					"gemini", "", "", initKey, "ja", "", "#General, " + b.random + ",general",
				}
			},
			args: func(b *initBundle) []string { return []string{"--model-url", b.model.URL} },
			says: []string{
				"Slack accepts only https", "slack.signing_secret does not look like", "answer again", "ok    signing secret", "ok    model gemini gemini-3.8-flash",
				"ok    model gemini gemini-3.5-flash-lite", "[Asia/Tokyo]", "Retry", "#random among them", "doctor --url https://myao.example.com",
			},
			want: `
slack:
  bot_token: ${SLACK_BOT_TOKEN}
  signing_secret: ${SLACK_SIGNING_SECRET}
  api_url: SLACK
llm:
  gemini:
    api_key: ${GEMINI_API_KEY}
    endpoint: MODEL
language: ja
time_zone: Asia/Tokyo
retention:
  messages_days: 400
channels:
  # random
  RANDOM:
    mode: mention
  # general
  GENERAL:
    mode: mention
`,
			env: map[string]string{"SLACK_BOT_TOKEN": initBotToken, "SLACK_SIGNING_SECRET": plausible, "GEMINI_API_KEY": initKey},
		},
		{
			name: "everything wrong first",
			input: func(b *initBundle) []string {
				return []string{
					"pigeon", "", "", "xapp-1", "xoxb-wrong", "xoxb-with space", initBotToken, initBotToken, "xapp-wrong", initAppToken,
					"oracle", "openai", b.model.URL + "/v1", "${HOME}: #1", "wrong", "", "", "", initKey,
					"fr", "ja", "Mars/Olympus", "EN", "Europe/Berlin", "nowhere", "C0NOTTHERE", "",
				}
			},
			says: []string{
				"want one of socket, http", "an answer is needed", "a bot token begins with xoxb-", "fail  slack token: slack auth.test: invalid_auth", "spaces",
				"an app token begins with xapp-", "fail  socket mode", "ok    socket mode", "want gemini, openai", "fail  model openai", "ok    model openai", "want one of en, ja",
				"IANA name of a time zone", "no channel #nowhere", "C0NOTTHERE was not found",
			},
			want: `
slack:
  bot_token: ${SLACK_BOT_TOKEN}
  app_token: ${SLACK_APP_TOKEN}
  api_url: SLACK
llm:
  openai:
    api_key: ${OPENAI_API_KEY}
    base_url: MODEL/v1
agents:
  response:
    provider: openai
    model: '$${HOME}: #1'
  judgment:
    provider: openai
    model: '$${HOME}: #1'
  memory:
    provider: openai
    model: '$${HOME}: #1'
time_zone: Europe/Berlin
retention:
  messages_days: 400
`,
			env: map[string]string{"SLACK_BOT_TOKEN": initBotToken, "SLACK_APP_TOKEN": initAppToken, "OPENAI_API_KEY": initKey},
		},
		{
			name: "with --yes",
			args: func(b *initBundle) []string {
				b.variables = []string{"SLACK_BOT_TOKEN=" + initBotToken, "SLACK_APP_TOKEN=" + initAppToken, "ANTHROPIC_API_KEY=" + initKey, "LANG=ja_JP.UTF-8"}
				return []string{"--yes", "--model-url", b.model.URL, "--time-zone", "UTC", "--mention-only", "general"}
			},
			lacks: []string{"im:write"}, // the bot works without
			says:  []string{"that of SLACK_BOT_TOKEN", "warn  slack scopes: missing: im:write", "ok    model anthropic claude"},
			want: `
slack:
  bot_token: ${SLACK_BOT_TOKEN}
  app_token: ${SLACK_APP_TOKEN}
  api_url: SLACK
llm:
  anthropic:
    api_key: ${ANTHROPIC_API_KEY}
    base_url: MODEL
agents:
  response:
    provider: anthropic
    model: claude-haiku-5-5
  judgment:
    provider: anthropic
    model: claude-haiku-5-5
  memory:
    provider: anthropic
    model: claude-haiku-5-5
language: ja
retention:
  messages_days: 400
channels:
  # general
  GENERAL:
    mode: mention
`,
			env: map[string]string{"SLACK_BOT_TOKEN": initBotToken, "SLACK_APP_TOKEN": initAppToken, "ANTHROPIC_API_KEY": initKey},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newInit(t, tc.lacks...)
			var input, args []string
			if tc.input != nil {
				input = tc.input(b)
			}
			if tc.args != nil {
				args = tc.args(b)
			}
			said, status := b.run(input, args...)
			if status != 0 || !slices.Equal(b.written(), allFiles) {
				t.Fatalf("status %d, files %v\n%s", status, b.written(), said)
			}
			rest := said
			for _, want := range tc.says {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("no %q in its place in\n%s", want, said)
				}
				rest = after
			}
			want := strings.NewReplacer("SLACK\n", b.api+"\n", "MODEL", b.model.URL, "GENERAL", b.general, "RANDOM", b.random).Replace(strings.TrimPrefix(tc.want, "\n"))
			comment, got, _ := strings.Cut(b.read("config.yaml"), "\n")
			if got != want || !strings.HasPrefix(comment, "# ") {
				t.Errorf("config.yaml is\n%s\n%s, want\n%s", comment, got, want)
			}
			if info, err := os.Stat(filepath.Join(b.dir, ".env")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			c, env := b.load()
			maps.DeleteFunc(env, func(name, _ string) bool { return name == "PWD" || name == "OLDPWD" || name == "SHLVL" || name == "_" })
			if !maps.Equal(env, tc.env) {
				t.Errorf(".env has %v, want %v", env, tc.env)
			}
			checkManifest(t, []byte(b.read("manifest.yaml")))
			b.examine(c, env, tc.lacks != nil)
		})
	}
}

// examine has the doctor look at what was written: it finds nothing that could have been known.
func (b *initBundle) examine(c config.Config, env map[string]string, lacks bool) {
	b.t.Helper()
	p := doctorBundle{t: b.t, config: filepath.Join(b.dir, "config.yaml"), env: []string{"TEMPORAL_ADDRESS=" + startertest.Nowhere}}
	for name, value := range env {
		p.env = append(p.env, name+"="+value)
	}
	found, _ := p.doctor("--ask")
	for check, f := range found {
		known := strings.HasPrefix(check, "slack ") || strings.HasPrefix(check, "model ") ||
			slices.Contains([]string{"retention", "home tab", "socket mode", "signing secret", "templates", "encryption"}, check)
		if check == "model calls" { // needs the database
			continue
		}
		if known && f.Status != doctor.OK && !(lacks && check == "slack scopes") {
			b.t.Errorf("%+v", f)
		}
	}
	if n := len(found); n < 20 || found["configuration"].Status == doctor.Fail {
		b.t.Errorf("%d findings: %v", n, found)
	}
	if c.Slack.SocketMode() != (found["socket mode"].Status == doctor.OK) {
		b.t.Errorf("Socket Mode is not checked: %+v", found["socket mode"])
	}
}

// Whatever ends it early, nothing is written but the manifest, and what was there stays.
func TestInitEndsEarly(t *testing.T) {
	t.Parallel()
	token := []string{"", initBotToken}
	for _, tc := range []struct {
		name  string
		there map[string]string // files
		input []string
		args  []string
		lacks []string
		env   []string
		says  string
		made  []string
	}{
		{name: "no input", says: "the input ended", made: nil},
		{name: "the end in between", input: token, says: "the input ended", made: []string{"manifest.yaml"}},
		{name: "a missing scope", input: token, lacks: []string{"chat:write"}, says: "missing: chat:write", made: []string{"manifest.yaml"}},
		{name: "control characters", input: append(token, "xapp-\x1b[2J"), says: "cannot be printed", made: []string{"manifest.yaml"}},
		{name: "a line without end", input: append(token, strings.Repeat("x", 1<<20)), says: "longer than", made: []string{"manifest.yaml"}},
		{name: "always the same wrong answer", input: append([]string{""}, slices.Repeat([]string{"xoxp-1"}, 30)...), says: "no valid answer in 20 attempts", made: []string{"manifest.yaml"}},
		{name: "--yes without a token", args: []string{"--yes"}, says: "the variable SLACK_BOT_TOKEN may have it", made: []string{"manifest.yaml"}},
		{name: "--yes with a wrong token", args: []string{"--yes"}, env: []string{"SLACK_BOT_TOKEN=xoxb-2"}, says: "invalid_auth", made: []string{"manifest.yaml"}},
		{name: "a configuration that is there", there: map[string]string{"config.yaml": "mine"}, input: []string{"no"}, says: "config.yaml: left as it was"},
		{name: "secrets that are there, with --yes", there: map[string]string{".env": "mine"}, args: []string{"--yes"}, says: "--overwrite"},
		{name: "another manifest", there: map[string]string{"manifest.yaml": "mine"}, input: []string{"", ""}, says: "manifest.yaml: left as it was"},
		{name: "no such directory", args: []string{"--config", "none/config.yaml"}, says: "no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newInit(t, tc.lacks...)
			b.variables = tc.env
			for name, text := range tc.there {
				if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			said, status := b.run(tc.input, tc.args...)
			if status != 1 || !strings.Contains(said, tc.says) || strings.ContainsRune(said, '\x1b') {
				t.Errorf("status %d, and no %q in\n%s", status, tc.says, said)
			}
			want := slices.Sorted(maps.Keys(tc.there))
			if want = append(want, tc.made...); !slices.Equal(b.written(), want) {
				t.Errorf("there are %v, want %v", b.written(), want)
			}
			for name, text := range tc.there {
				if b.read(name) != text {
					t.Errorf("%s has changed", name)
				}
			}
		})
	}
}

// What was there is kept under another name, each time, and a manifest that is the same is left alone.
func TestInitAgain(t *testing.T) {
	t.Parallel()
	b := newInit(t)
	answers := []string{"", initBotToken, initAppToken, "demo", "", "", "", ""}
	if said, status := b.run(answers); status != 0 {
		t.Fatal(said)
	}
	first := b.read(".env")
	for _, again := range []struct {
		input []string
		args  []string
	}{{append([]string{"yes"}, answers...), nil}, {answers, []string{"--overwrite"}}} {
		if said, status := b.run(again.input, again.args...); status != 0 {
			t.Fatal(said)
		}
	}
	want := []string{".env", ".env.old", ".env.old2", "config.yaml", "config.yaml.old", "config.yaml.old2", "manifest.yaml"}
	if !slices.Equal(b.written(), want) || b.read(".env.old") != first {
		t.Errorf("there are %v, want %v", b.written(), want)
	}
}

// An interrupt ends it while it waits, and nothing is left but the manifest.
func TestInitInterrupted(t *testing.T) {
	t.Parallel()
	b := newInit(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "init", "--slack-api", b.api)
	cmd.Dir, cmd.Env = b.dir, []string{startertest.Variable + "=1"}
	var said startertest.Log
	cmd.Stdout, cmd.Stderr = &said, &said
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := input.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	startertest.Await(t, "the second question", func() bool { return strings.Contains(said.String(), "Bot token") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "were not written") {
		t.Errorf("%v\n%s", err, said.String())
	}
	if want := []string{"manifest.yaml"}; !slices.Equal(b.written(), want) {
		t.Errorf("there are %v, want %v", b.written(), want)
	}
}
