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
				_, user := rendered(t, renderer(t, Config{Language: language}).Response, c, Options{AnswerTS: tt.answered})
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
