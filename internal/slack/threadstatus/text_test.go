package threadstatus

import (
	"encoding/json"
	"testing"

	"myao/internal/chat"
	"myao/internal/language/words"
)

func TestUsing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tool, input, en, ja string }{
		{"search_messages", `{"query":"x"}`, "is searching messages…", "がメッセージを探しています…"},
		{"read_thread", `{}`, "is reading a thread…", "がスレッドを読んでいます…"},
		{"read_channel", `{}`, "is reading a channel…", "がチャンネルを読んでいます…"},
		{"open_link", `{"url":"https://x.example"}`, "is opening a link…", "がリンクを開いています…"},
		{"read_file", `{"name":"cat.png"}`, "is reading cat.png…", "が cat.png を読んでいます…"},
		{"read_file", `{"name":"<!channel> *see*\n\u202ehttp&#10;a.png"}`, "is reading !channel see http10;a.png…", "が !channel see http10;a.png を読んでいます…"},
		{"read_file", `{"name":"the minutes of the long meeting about everything.pdf"}`, "is reading the minutes of the long meeti…ything.pdf…", "が the minutes of the long meeti…ything.pdf を読んでいます…"},
		{"read_file", `{"name":"\u0000"}`, "is reading a file…", "がファイルを読んでいます…"},
		{"read_file", `7`, "is reading a file…", "がファイルを読んでいます…"},
		{"look_again", `{}`, "is making a promise…", "が約束を控えています…"},
		{"remember", `{}`, "is taking a note…", "が覚え書きを書いています…"},
		{"forget_note", `{}`, "is taking back a note…", "が覚え書きを取り消しています…"},
		{"desk__find", `{}`, "is using desk…", "が desk を使っています…"},
		{"boss_is_a_fool__x", `{}`, "is looking something up…", "が調べものをしています…"},
		{"anything", `{}`, "is looking something up…", "が調べものをしています…"},
	} {
		for language, want := range map[chat.Language]string{chat.English: tc.en, chat.Japanese: tc.ja} {
			if got := Using(words.In(language), tc.tool, json.RawMessage(tc.input), []string{"desk"}); got != want {
				t.Errorf("%s %s in %s: %q, want %q", tc.tool, tc.input, language, got, want)
			}
		}
	}
	if got := Thinking(words.In(chat.Japanese)); got != "が考えています…" {
		t.Errorf("got %q", got)
	}
}

// Every tool of ours says what it does.
func TestUsingKnowsEveryTool(t *testing.T) {
	t.Parallel()
	for _, tool := range chat.ToolNames() {
		if got := Using(nil, tool, nil, nil); got == Using(nil, "anything", nil, nil) {
			t.Errorf("%s: %q", tool, got)
		}
	}
}
