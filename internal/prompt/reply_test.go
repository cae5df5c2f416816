package prompt

import (
	"testing"

	"myao/internal/chat"
)

func TestStripSpeakerLabel(t *testing.T) {
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
		if got := stripSpeakerLabel(tt.reply, chat.Persona{Name: tt.persona}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCutInventedMessages(t *testing.T) {
	t.Parallel()
	const shown = "**2024-03-01 12:00:00** alice:\nWho knows?\n\n**2024-03-01 12:01:00** みゃお:\nI do.\n\n---\nCurrent time: 2024-03-01 12:02:00 UTC"
	for _, tt := range []struct{ name, reply, want string }{
		{"one message", "It is in the wiki.\n\nThere.", "It is in the wiki.\n\nThere."},
		{"what somebody may say next", "It is in the wiki.\n\n**2024-03-01 12:03:00** alice:\nThanks!\n\n**2024-03-01 12:04:00** myao:\nNot at all.", "It is in the wiki."},
		{"escaped", "It is.\n\\**2024-03-01 12:03:00** alice:\nThanks!", "It is."},
		{"its own", "そうだよ。\n**2024-03-01 12:03:00** みゃお:\nたぶん", "そうだよ。"},
		{"what somebody has said", "This:\n\n**2024-03-01 12:00:00** alice:\nWho knows?", "This:\n\n**2024-03-01 12:00:00** alice:\nWho knows?"},
		{"a quote, and what comes next", "This:\n**2024-03-01 12:00:00** alice:\nWho knows?\n**2024-03-01 12:03:00** みゃお:\nMe.", "This:\n**2024-03-01 12:00:00** alice:\nWho knows?"},
		{"a time in bold", "Until **2024-03-01 12:03:00** at most:\n- one", "Until **2024-03-01 12:03:00** at most:\n- one"},
		{"a list of times", "**2024-03-01 12:03:00** the build began\n**2024-03-01 12:04:00** it ended", "**2024-03-01 12:03:00** the build began\n**2024-03-01 12:04:00** it ended"},
		{"times of something else", "What happened:\n\n**2024-03-01 12:03:00** the build:\n- it failed", "What happened:\n\n**2024-03-01 12:03:00** the build:\n- it failed"},
		{"nothing else", "**2024-03-01 12:03:00** alice:\nThanks!", "**2024-03-01 12:03:00** alice:\nThanks!"},
		{"nothing else to see", "\u200b\n**2024-03-01 12:03:00** alice:\nThanks!", "\u200b\n**2024-03-01 12:03:00** alice:\nThanks!"},
	} {
		if got := cutInventedMessages(tt.reply, shown); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
