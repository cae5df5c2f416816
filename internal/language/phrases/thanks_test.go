package phrases

import "testing"

func TestAcknowledges(t *testing.T) {
	t.Parallel()
	members := []string{"alice", "Bob Stone", "佐藤"}
	for _, text := range []string{
		"thanks", "Thanks!", "ok, thank you so much :pray:", "Got it, thanks alice!", "👍", ":+1:", "great, thanks bob", "<@U1> thx", "了解です！", "了解しました、ありがとうございます。", "佐藤さんありがとう",
		"ありがとうございますー", "りょ", "助かりましたwww", "OKです", "ok 👍🏽", "perfect.", "thanks everyone :tada:", "本当にありがとうございました！", "THANKS A LOT",
	} {
		if !Acknowledges(text, members) {
			t.Errorf("%q is no acknowledgement", text)
		}
	}
	for _, text := range []string{
		"", "thanks, but it still fails", "ok so what now?", "ok?", "great question", "everyone", "kubernetes", "thank you for coming, where do we meet", "了解です。明日は何時からですか", "ありがとう、でもまだ動きません", "yes", "はい", "typo", "nice one, who wrote it", "all", "3", "了解?",
	} {
		if Acknowledges(text, members) {
			t.Errorf("%q is an acknowledgement", text)
		}
	}
}
