package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	slackapi "github.com/slack-go/slack"
	"go.yaml.in/yaml/v3"

	"myao/internal/config"
	"myao/internal/operate/launch"
	"myao/internal/slack/manifest"
	"myao/test/startertest"
)

var update = flag.Bool("update", false, "rewrite slack-manifest.yaml and the golden files")

// example is the shipped configuration with placeholders for the secrets, and what a command prints goes to out.
func example(t *testing.T, change func(*config.Config), out io.Writer) *program {
	t.Helper()
	c, err := config.Load("../../config.example.yaml", func(name string) (string, bool) {
		value := map[string]string{"SLACK_BOT_TOKEN": "none", "SLACK_SIGNING_SECRET": "none", "GEMINI_API_KEY": "none"}[name]
		return value, value != ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	return &program{Program: launch.Program{Config: c}, stdout: out}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	const url = "https://myao.example.com"
	socket := func(c *config.Config) { c.Slack.AppToken = "xapp-1" }
	other := func(c *config.Config) {
		c.Persona.Name, c.Slack.Command, c.Slack.HushReaction = "ねこ: #1", "/neko", ""
	}
	installable := func(c *config.Config) { c.Slack.ClientID, c.Server.PublicURL = "1.2", url }
	for _, tc := range []struct {
		file   string
		change func(*config.Config)
		command
	}{
		{"../../slack-manifest.yaml", nil, &manifestCommand{URL: url, Format: "yaml"}},
		{"testdata/manifest/http.json", nil, &manifestCommand{URL: url, Format: "json"}},
		{"testdata/manifest/socket.yaml", socket, &manifestCommand{Format: "yaml"}},
		{"testdata/manifest/socket.json", socket, &manifestCommand{URL: url, Format: "json"}},
		{"testdata/manifest/agent.yaml", nil, &manifestCommand{URL: url, Format: "yaml", Agent: true}},
		{"testdata/manifest/installable.yaml", installable, &manifestCommand{Format: "yaml"}},
		{"testdata/manifest/other.yaml", other, &manifestCommand{URL: "https://bots.example.com:8443/neko/", Format: "yaml"}},
	} {
		t.Run(filepath.Base(tc.file), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := tc.run(t.Context(), example(t, tc.change, &out)); err != nil {
				t.Fatal(err)
			}
			checkManifest(t, out.Bytes())
			if *update {
				if err := os.MkdirAll(filepath.Dir(tc.file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(tc.file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(tc.file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%s is not what starter manifest prints (-update rewrites it):\n%s", tc.file, &out)
			}
		})
	}
}

// checkManifest checks a manifest, which may be JSON, against what Slack publishes: the keys by
// slack-go, and the limits of github.com/slackapi/manifest-schema.
func checkManifest(t *testing.T, text []byte) {
	t.Helper()
	var m slackapi.Manifest
	keys := yaml.NewDecoder(bytes.NewReader(text))
	keys.KnownFields(true)
	if err := keys.Decode(&m); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	bound := func(what, value string, least, most int) {
		t.Helper()
		if n := len([]rune(value)); n < least || n > most {
			t.Errorf("%s has %d characters, and may have %d to %d: %q", what, n, least, most, value)
		}
	}
	address := func(what, value string) {
		t.Helper()
		if m.Settings.SocketModeEnabled != (value == "") || value != "" && !strings.HasPrefix(value, "https://") {
			t.Errorf("%s %q, Socket Mode %v", what, value, m.Settings.SocketModeEnabled)
		}
	}
	bound("name", m.Display.Name, 1, 35)
	bound("description", m.Display.Description, 1, 140)
	bound("display name", m.Features.BotUser.DisplayName, 1, 80)
	if len(m.Features.Shortcuts) != 1 || len(m.Features.SlashCommands) != 1 {
		t.Fatalf("%d shortcuts, %d commands", len(m.Features.Shortcuts), len(m.Features.SlashCommands))
	}
	s, c := m.Features.Shortcuts[0], m.Features.SlashCommands[0]
	bound("shortcut", s.Name, 1, 24)
	bound("its description", s.Description, 1, 150)
	bound("its id", s.CallbackID, 1, 255)
	if s.Type != "message" || s.CallbackID != manifest.AnswerNow {
		t.Errorf("shortcut %q of type %q: the door does not know it", s.CallbackID, s.Type)
	}
	bound("command", c.Command, 2, 32)
	bound("its description", c.Description, 1, 2000)
	bound("its hint", c.UsageHint, 1, 1000)
	address("command at", c.Url)
	address("events at", m.Settings.EventSubscriptions.RequestUrl)
	address("shortcuts at", m.Settings.Interactivity.RequestUrl)
	for _, list := range [][]string{m.OAuthConfig.Scopes.Bot, m.Settings.EventSubscriptions.BotEvents} {
		seen := map[string]bool{}
		for _, entry := range list {
			bound("entry", entry, 1, 50)
			if seen[entry] {
				t.Errorf("%s is there twice", entry)
			}
			seen[entry] = true
		}
	}
	// These must be off for an app that only its owner installs, and the manifest must say so.
	var plain struct {
		Settings map[string]any `yaml:"settings"`
	}
	installable := len(m.OAuthConfig.RedirectUrls) > 0
	if err := yaml.Unmarshal(text, &plain); err != nil || plain.Settings["org_deploy_enabled"] != installable || plain.Settings["token_rotation_enabled"] != installable {
		t.Errorf("%v, %v", plain.Settings, err)
	}
}

func TestManifestRefused(t *testing.T) {
	t.Parallel()
	path := startertest.Configuration(t, "127.0.0.1:0", startertest.SQLite(t), "http://"+startertest.Nowhere+"/api/", "")
	for _, tc := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, 1, "--url is missing"},
		{[]string{"--url", "http://localhost:8080"}, 2, "Slack accepts only https"},
		{[]string{"--url", "myao.example.com"}, 2, "want the public https:// address"},
		{[]string{"--url", "https://"}, 2, "want the public https:// address"},
		{[]string{"--url", "https://u:hunter2@myao.example.com"}, 2, "more than a host and a path"},
		{[]string{"--url", "https://myao.example.com/?a=b"}, 2, "more than a host and a path"},
		{[]string{"--url", "https://myao.example.com/slack/events"}, 2, "leave out /slack/events"},
		{[]string{"--url", "https://myao.example.com/" + strings.Repeat("x", 3000)}, 2, "longer than Slack allows"},
		{[]string{"--url", "https://myao.example.com", "--format", "xml"}, 2, "--format"},
	} {
		t.Run(fmt.Sprint(tc.args), func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			status := run(t.Context(), append([]string{"--config", path, "manifest"}, tc.args...), &stdout, &stderr)
			if status != tc.status || !strings.Contains(stderr.String(), tc.says) || stdout.Len() > 0 {
				t.Errorf("status %d, want %d; error %q, want %q; output %q", status, tc.status, &stderr, tc.says, &stdout)
			}
			if strings.Contains(stderr.String(), "hunter2") {
				t.Errorf("the error contains a password: %q", &stderr)
			}
		})
	}
	var out bytes.Buffer
	long := example(t, func(c *config.Config) { c.Persona.Name = strings.Repeat("m", 36) }, &out)
	if err := (&manifestCommand{URL: "https://myao.example.com"}).run(t.Context(), long); err == nil || !strings.Contains(err.Error(), "persona.name has 36") {
		t.Errorf("%v", err)
	}
}
