package prompt

import (
	"testing"

	"myao/internal/chat"
)

func TestUnlabelled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, persona, reply, want string }{
		{"no label", "myao", " It is in the wiki.\n", "It is in the wiki."},
		{"message line", "myao", "**2024-03-01 12:00:00** myao:\nIt is in the wiki.", "It is in the wiki."},
		{"message line, with the text on it", "myao", "2024-03-01 12:00:00 myao: It is.", "It is."},
		{"escaped message line", "myao", "\\**2024-03-01 12:00:00** myao:\n\n- one\n- two", "- one\n- two"},
		{"name", "myao", "Myao: yes", "yes"},
		{"bold name", "myao", "**myao:** yes", "yes"},
		{"bold name, then a colon", "myao", "**myao**: yes", "yes"},
		{"name in Japanese", "みゃお", "みゃお：そうだよ", "そうだよ"},
		{"name that is cleaned", "*Myao* <bot>", "Myao bot: yes", "yes"},
		{"name that looks like a pattern", "m.(", "m.(: yes", "yes"},
		{"no name", "", "myao: yes", "yes"},
		{"one label only", "myao", "myao: myao: a name", "myao: a name"},
		{"somebody else", "myao", "alice: yes", "alice: yes"},
		{"somebody else's line", "myao", "**2024-03-01 12:00:00** alice:\nyes", "**2024-03-01 12:00:00** alice:\nyes"},
		{"a port", "myao", "myao:8080 is taken", "myao:8080 is taken"},
		{"a sentence", "myao", "myao is my name: it is short", "myao is my name: it is short"},
		{"later on", "myao", "So it says\nmyao: yes", "So it says\nmyao: yes"},
		{"nothing else", "myao", "myao:", "myao:"},
		{"nothing else to see", "myao", "myao: \u200b", "myao: \u200b"},
	} {
		if got := Unlabelled(tt.reply, chat.Persona{Name: tt.persona}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
