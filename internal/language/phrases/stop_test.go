package phrases

import (
	"testing"

	"myao/internal/chat"
)

func TestStopWord(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"stop", "Stop!", "STOP", "stop.", "<@UBOT> stop", "stop <@UBOT>", "<@UBOT|myao>: stop, please", "please stop 🙏", "stop stop stop", "stop it", "ok, stop now",
		"*stop*", ":octagonal_sign: stop", "cancel", "Cancel that, please.", "never mind", "Nevermind, thanks!", "nvm", "forget it", "don't bother", "sorry, never mind :bow:",
		"oh wait, stop", "abort", "ｓｔｏｐ",
		"止めて", "やめて！", "やめてください", "止めて下さい。", "ストップ", "ストップーー", "もういい", "もういいです", "もういいよ〜", "中止", "中止でお願いします", "キャンセルでお願いします",
		"やっぱりいいです", "ごめん、なんでもない", "<@UBOT> ストップ", "すみません、取り消してください", "ストップ :raised_hand:",
	} {
		if !StopWord(chat.Message{Text: text}, "UBOT") {
			t.Errorf("%q is no stop", text)
		}
	}
	for _, text := range []string{
		"", "<@UBOT>", "please", "ok thanks", "🛑", "stop?", "should we stop", "stop the deploy", "please stop the deploy", "<@UBOT> stop the deploy", "don't stop", "stop, then start again",
		"nonstop", "stops", "bus stop", "cancel my order", "cancel the meeting", "never mind the gap", "forget it happened", "stop <@U2>", "<@U2> stop", "stop $5", "stop 5", "it", "wait",
		"デプロイを止めて", "止めてはいけない", "中止になりました", "ストップウォッチ", "もういいかい", "キャンセル料は？", "やめておきます", "停止中", "お願いします", "ください", "やめない", "なんでもないわけがない",
	} {
		if StopWord(chat.Message{Text: text}, "UBOT") {
			t.Errorf("%q is a stop", text)
		}
	}
	if StopWord(chat.Message{Text: "stop", Files: []chat.File{{Name: "x.png"}}}, "UBOT") {
		t.Error("a message with a file says more than stop")
	}
}
