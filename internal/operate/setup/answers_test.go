package setup

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
)

// A name never becomes anything else in config.yaml, whatever it looks like.
func TestNamesStayNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"123", "1e3", "null", "~", "true", "no", "2026-11-26", "- a", "? a", "{a: b}", "[a]", "a: b", "a:", "# a", "a #b", "'", `"`, `\`, "&a", "*a", "!a", "!!int 1",
		"%a", "@a", "`a", "|", ">", "<<", "...", "---", "=", "${HOME}", "$${HOME}", "${", "$${", "${A:-b}", "日本語",
	} {
		a := answers{events: http, provider: config.ProviderOpenAI, apiKey: "k", model: name}
		a.mentionOnly = []slack.Channel{{ID: "C0000001", Name: name}, {ID: "C0000002", Name: "x\nlanguage: ja\u2028\u0085\x1b"}}
		c, err := a.config()
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got := c.Agents.Judgment.Model; got != name || c.Language != chat.English || len(c.Channels) != 2 {
			t.Errorf("%q became %q, in %s with channels %v", name, got, c.Language, c.Channels)
		}
	}
}

// A shell and Compose read the same from .env, for every secret that is accepted.
func TestSecretsAreReadAlike(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := rune(0); r < 0x100; r++ {
		if plain(string(r)) {
			all.WriteRune(r)
		}
	}
	if n := all.Len(); n != '~'-' '-4 {
		t.Errorf("%d characters are accepted: %s", n, all.String())
	}
	for _, secret := range []string{all.String(), "xoxb-1-aB", "#a", "a#b", "$HOME", "${HOME}", "$(echo a)", "=", "-a", "a=b", "~", "*", "!", "a&b;c|d", "export"} {
		text := answers{botToken: secret, appToken: "none"}.env()
		vars, err := dotenv.Parse(bytes.NewReader(text))
		if err != nil || vars[botTokenVariable] != secret {
			t.Errorf("%q: Compose reads %q, %v", secret, vars[botTokenVariable], err)
		}
		shell := exec.CommandContext(t.Context(), "sh", "-c", `eval "$(cat)"; printf %s "$SLACK_BOT_TOKEN"`)
		shell.Stdin = bytes.NewReader(text)
		if got, err := shell.Output(); err != nil || string(got) != secret {
			t.Errorf("%q: a shell reads %q, %v", secret, got, err)
		}
	}
}
