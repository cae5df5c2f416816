package prompt

import (
	"strings"
	"testing"

	"myao/internal/chat"
)

// The parts of both prompts come in the order of documents 001 and 003, broad to narrow, with their headings.
func TestSeedStructure(t *testing.T) {
	t.Parallel()
	r := renderer(t, Config{Language: "ja"})
	for name, test := range map[string]struct {
		render func(chat.Context, Options) (system, user string, err error)
		target string
	}{
		"judgment": {r.Judgment, "## 判定対象スレッド: 1234567890.000000"},
		"response": {r.Response, "## 返答対象スレッド: 1234567890.000000"},
	} {
		system, _ := rendered(t, test.render, seed001(), Options{Now: noon, MaxDelaySeconds: 600})
		rest := "\n" + system
		for _, part := range []string{
			"あなたは「みゃお」です。", "## 記憶", "### ワークスペースの歴史", "### ワークスペースの最近の出来事", "## チャンネル情報", "- #general", "- #random", "- #dev",
			"## 各チャンネルの記憶", "### #general", "#### 歴史", "#### 最近の出来事", "### #random", "#### 歴史",
			"## 現在のスレッド一覧", "### スレッド: 1234567890.000000", "### スレッド: 1234567891.000000", "## 現在の会話", test.target, "---", "現在時刻: 2024-03-01 12:00:00 UTC",
		} {
			_, after, found := strings.Cut(rest, "\n"+part+"\n")
			if !found {
				t.Errorf("%s: %q is missing, or in another place:\n%s", name, part, system)
				break
			}
			rest = "\n" + after
		}
	}
}

// Each memory of the workspace stands alone where there is no other.
func TestOneMemoryOfTheWorkspace(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "ja"} {
		r := renderer(t, Config{Language: language})
		long, short := "### History of the workspace", "### Recent events in the workspace"
		memory := "## Memory"
		if language == "ja" {
			long, short, memory = "### ワークスペースの歴史", "### ワークスペースの最近の出来事", "## 記憶"
		}
		for name, test := range map[string]struct {
			set           func(*chat.Context)
			heading, none string
		}{
			"long-term alone":  {func(c *chat.Context) { c.WorkspaceLongTerm = "- 2024-01-01: It began." }, long, short},
			"short-term alone": {func(c *chat.Context) { c.WorkspaceShortTerm = "- 2024-01-01: It began." }, short, long},
		} {
			c := bare()
			test.set(&c)
			for kind, render := range map[string]func(chat.Context, Options) (system, user string, err error){"judgment": r.Judgment, "response": r.Response} {
				system, _ := rendered(t, render, c, Options{Now: noon})
				if !strings.Contains(system, "\n"+memory+"\n\n"+test.heading+"\n- 2024-01-01: It began.\n") || strings.Contains(system, test.none) {
					t.Errorf("%s %s, %s:\n%s", language, kind, name, system)
				}
			}
		}
	}
}
