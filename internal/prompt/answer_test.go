package prompt

import (
	"strings"
	"testing"

	"myao/internal/chat"
)

// The message to answer is not always the newest: an earlier one may have called the bot, or somebody
// asked for an answer to it. Its author's name stays out of the instruction.
func TestMessageToAnswer(t *testing.T) {
	t.Parallel()
	said := []chat.Message{
		{TS: at(10, 0), UserID: "U1", Name: "alice", Text: "<@UBOT> what is a lease?"},
		{TS: at(10, 1), UserID: "U2", Name: "bob", Text: "<@UBOT> and a slot?"},
		{TS: at(10, 2), UserID: "UBOT", Own: true, Text: "A lease is a lock that ends by itself."},
	}
	for _, tt := range []struct {
		name, answered string
		shown          int    // how many messages
		told           string // the time of the message that the prompt names
		spoken         bool
	}{
		{"the newest", at(10, 1), 2, "", false},
		{"an earlier one", at(10, 0), 2, "10:00:00", false},
		{"one before the bot's own", at(10, 1), 3, "10:01:00", true},
		{"one that is not shown", at(9, 0), 3, "", false},
		{"none", "", 3, "", false},
	} {
		for language, words := range map[string][2]string{
			"en": {"What you answer is the message of 2024-03-01 ", "do not say again"},
			"ja": {"答えるのは、2024-03-01 ", "繰り返しません"},
		} {
			for _, channel := range []string{"C1", "D1"} {
				c := bare()
				c.Conversation = chat.NewChannelMessages(channel, "general", said[:tt.shown])
				_, user, err := renderer(t, Config{Language: language}).Response(c, Options{Now: noon, AnswerTS: tt.answered})
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Contains(user, words[0]+tt.told); got != (tt.told != "") {
					t.Errorf("%s, %s: the message of %q is named: %v\n%s", tt.name, language, tt.told, got, user)
				}
				if got := strings.Contains(user, words[1]); got != tt.spoken {
					t.Errorf("%s, %s: the prompt says that the bot has spoken: %v\n%s", tt.name, language, got, user)
				}
				if strings.Contains(user, "alice") || strings.Contains(user, "bob") {
					t.Errorf("%s, %s: a name is in the instruction:\n%s", tt.name, language, user)
				}
			}
		}
	}
}

// A thread below the top level is a conversation of its own, and is judged and answered there.
func TestThreadsBelowTheTopLevelAreOtherConversations(t *testing.T) {
	t.Parallel()
	for language, words := range map[string]string{"en": "conversations of their own", "ja": "それぞれ別の会話"} {
		r := renderer(t, Config{Language: language})
		for _, tt := range []struct {
			name    string
			context chat.Context
			told    bool
		}{
			{"top level with threads", earlier(""), true},
			{"top level without", bare(), false},
			{"thread", earlier(at(11, 0)), false},
		} {
			for name, render := range map[string]func(chat.Context, Options) (string, string, error){"judgment": r.Judgment, "response": r.Response} {
				system, _, err := render(tt.context, Options{Now: noon, MaxDelaySeconds: 600})
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Contains(system, words); got != tt.told {
					t.Errorf("%s, %s, %s: the prompt says so: %v, want %v", name, language, tt.name, got, tt.told)
				}
			}
		}
	}
}

// A model imitates the messages in the prompt, where its own replies are in Slack's markup. It may use general
// knowledge, but must not invent facts about the workspace. It has no tools, files or alarms. Thanks and
// a wish for quiet get a short answer, as they are addressed to it. People may have several languages and
// time zones.
func TestInstructionsForAReply(t *testing.T) {
	t.Parallel()
	for language, words := range map[string][]string{
		"en": {"its people and their work", "what you know of the world", "where messages above show `*bold*`", "Of a file or a link you see no more", "Neither pretend nor promise",
			"that of whoever you answer", "To thanks, a greeting or a thumbs-up", "asks you to be quiet", "in the time zone named above"},
		"ja": {"人や仕事のこと", "一般の知識を使ってかまいません", "`*太字*` とあっても", "ファイルやリンク", "できるふりや約束はしません",
			"答える相手の言語", "お礼やあいさつ、👍 のような発言", "静かにしてほしいと言われたら", "上に書いたタイムゾーンで"},
	} {
		system, _, err := renderer(t, Config{Language: language}).Response(bare(), Options{Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range words {
			if !strings.Contains(system, want) {
				t.Errorf("%s: the prompt does not say %q", language, want)
			}
		}
	}
}

// A message that calls the bot by its name expects an answer, even without a mention. A message to others
// or only about the bot does not. People also ask in words for quiet.
func TestInstructionsForSilence(t *testing.T) {
	t.Parallel()
	for language, words := range map[string][]string{
		"en": {"turn to you, by your name", "calls by name or replies to", "about you, not to you", "asked you to be quiet"},
		"ja": {"名前を呼んだり", "名指しや返事", "あなたが話題になっているだけ", "静かにしてほしい"},
	} {
		system, _, err := renderer(t, Config{Language: language}).Judgment(bare(), Options{Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range words {
			if !strings.Contains(system, want) {
				t.Errorf("%s: the prompt does not say %q", language, want)
			}
		}
	}
}
