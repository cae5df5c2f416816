package cli

import (
	"bytes"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/test/startertest"
)

// A prompt needs a channel that the database knows, by id or name.
func TestPromptCommand(t *testing.T) {
	t.Parallel()
	team, slackAPI := startertest.Workspace(t)
	s, url := newDatabase(t)
	if err := s.SaveChannel(t.Context(), team.Team(), store.Channel{ID: "C1", Name: "general"}); err != nil {
		t.Fatal(err)
	}
	said := []chat.Message{
		{Team: team.Team(), Channel: "C1", TS: "1700000000.000100", UserID: "U1", Text: "where is the ladder?"},
		{Team: team.Team(), Channel: "C1", TS: "1700000001.000100", ThreadTS: "1700000000.000100", UserID: "U2", Text: "in the attic"},
	}
	if err := s.SaveHistory(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	config := startertest.Configuration(t, "127.0.0.1:0", url, slackAPI, "")
	for line, want := range map[string]struct {
		status int
		says   string
	}{
		"judgment --channel C1":                                  {0, "where is the ladder?"},
		"judgment --channel general":                             {0, "where is the ladder?"},
		"response --channel #General --thread 1700000000.000100": {0, "in the attic"},
		"response --channel general":                             {0, "===== tools\nsearch_messages: "},
		"response --channel general --json":                      {0, `"schema": {`},
		"memory --channel general":                               {1, "nothing new to remember of channel C1"},
		"judgment --channel nochannel":                           {1, `channel "nochannel" is not known`},
		"memory --channel C9":                                    {1, `channel "C9" is not known`},
		"judgment --channel general --thread 1700000009.000100":  {1, "is not in the database"},
		"response --channel general --thread 1700000001.000100":  {1, "is a reply: want its thread, 1700000000.000100"},
		"memory --channel general --thread 1700000009.000100":    {1, "is not in the database"},
		"memory": {1, "nothing new to remember of workspace"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"prompt", "--config", config, "--for"}, strings.Fields(line)...), &stdout, &stderr)
		if out := stdout.String() + stderr.String(); status != want.status || !strings.Contains(out, want.says) || status != 0 && stdout.Len() > 0 {
			t.Errorf("%s: status %d, %s\nwant %d, %q", line, status, out, want.status, want.says)
		}
	}
}

// A model's answer cannot send control sequences to the terminal.
func TestAnswersCannotControlATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := promptReport{For: "response", Model: "m", System: "s", Prompt: "p", Answer: &answerReport{Model: "m\x1b[2J", Text: "one\x1b]0;title\a\ntwo\r\u009b2K ✓", Calls: []callReport{{"x\x1b", "{\n}"}}}}
	if err := a.text(&out); err != nil {
		t.Fatal(err)
	}
	const want = "===== response, m: system\ns\n===== user\np\n===== answer of m\\x1b[2J, 0 tokens in, 0 out\nasks for x\\x1b {\\n}\none\\x1b]0;title\\a\ntwo\\r\\u009b2K ✓\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
