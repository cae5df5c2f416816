package phrases

import (
	"strings"
	"testing"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	for want, texts := range map[bool][]string{
		true: {
			"I'll remind you tomorrow.", "Sure, I’ll remind you tomorrow at 9.", "I will check again on Friday.", "I'll follow up in an hour.", "Good point. I'll get back to you!",
			"Let me look again later.", "I'll keep an eye on it.", "I can't see it yet, so I'll check again tomorrow.", "I'm going to remind everyone on Monday", "OK, will check again in 20 minutes",
			"I'll let you know when the build is done.", "Done. I'll also send you a reminder on Thursday.", "I'll ping <@U1> at 17:00.", "The deploy runs; I'll report back.", "I will ask for the status every Monday.",
			"Don't worry, I'll remind the team next week.", "I'll keep you posted.", "Let me get back to you on that.", "I'll circle back on this.", "No answer yet, but I'll take another look tonight.",
			"Here is the list:\n- a\n- b\n\nI'll follow up on Friday.", "> can you remind me?\nI will remind you.",

			"明日リマインドします", "明日の9時にリマインドしますね。", "後で確認します", "また金曜に見ておきます", "のちほどご連絡します", "了解しました！３０分後にもう一度確認します。",
			"結果が分かり次第お知らせします。", "来週改めてご報告いたします", "引き続き状況を確認していきます", "動きがあればお知らせします", "月曜日の朝に声をかけます。", "17時に再通知します",
			"返事がなければ明日またチェックします", "あとで様子を見てみます", "後日、結果を共有いたします。", "こちらで見張っておきます", "私から明日リマインドを送ります", "皆さんに明朝お知らせします",
			"追ってご案内します", "毎週月曜に状況を聞きます", "2時間後に見に来ます", "かしこまりました。金曜日にリマインドいたします。", "まだ回答がないので、夕方ではなく明日確認します",
		},
		false: {
			"", "Alice will get back to you.", "Shall I remind you?", "I can remind you if you like.", "I'll remind you if you like.", "I can't remind you.", "I won't be able to follow up.", "I will not check again tomorrow.",
			"I reminded you yesterday.", "I have looked again.", "I'll explain: the cache is full.", "I'll look into the code below.", "Alice said \"I'll get back to you tomorrow\".", "Bob wrote: 'I will follow up on Friday'.",
			"```\n// I'll remind you tomorrow\n```", "Set it to `I'll get back to you`.", "> I'll follow up tomorrow\nThat was Bob's last word.", "You'll get back to work tomorrow.", "I'll check what was said on Friday.", "Let me check the thread from last week.",
			"I'll summarize what is due tomorrow:", "Tell me the date and I'll remind you.", "If you send me the log, I'll check it again.", "Let me know if you need more.", "Let me remind you that Friday is a holiday.", "I'll keep it short.",
			"He says he will remind you tomorrow.", "I don't think I'll follow up.", "Remind me tomorrow.", "You can check again later.", "I'll list the steps now.", "Should I follow up in an hour?", "I would remind you, but I have no clock.",
			"I'll check the docs.", "Let me see.", "Once you confirm, I'll follow up.", "The server will be back tomorrow.", "You asked whether I'll follow up.", "We could revisit this next week.", "I'll get back to the point.", "I'll check tomorrow's agenda.", "I'll post the agenda for tomorrow.", "I'll check: it is due on Friday.", "If it helps, I'll follow up tomorrow.", "Will you follow up tomorrow?",
			"I'll try to explain later versions first.", "Let me know tomorrow.", "Carol and Bob will follow up in an hour.", "I'll do it now and not later.", "The bot said it will remind you.", "I'll see you tomorrow!", "I'll update the table at 5 rows.", "I'll let you know how to do it.", "Let me share three options in a bit more detail.",

			"田中さんが明日確認します", "Aliceから後ほどご連絡します", "<@U1>が金曜に見ておきます", "担当者からのちほどご連絡します", "リマインドしましょうか", "リマインドしますか？", "明日リマインドしましょうか？", "必要であれば明日リマインドします",
			"よければ後で確認します", "リマインドできません", "明日はリマインドしません", "昨日リマインドしました", "先ほど確認しました", "「明日リマインドします」と書いてありました", "```\n後で確認します\n```", "> のちほどご連絡します\nとのことでした。",
			"明日の会議の内容を確認します", "以下で説明します", "まずコードを確認します", "明日ご確認ください", "後で確認できます", "金曜に出たエラーを確認します", "日時を教えていただければリマインドします", "明日までに必要な資料を調べます", "アリスが明日リマインドします",
			"リマインドする機能はありません", "後ほど確認されます", "明日リマインドします、と田中さんが言っていました", "来週のリリースについてお知らせします", "彼は後で確認します", "また、設定も確認します", "明日は祝日です", "リマインドしますとBobは言いました", "この件は営業部から追ってご連絡します", "明日確認してください", "後で確認すると良いです", "水曜日はチームで確認します", "改めてご案内します。手順は次の通りです。",
		},
	} {
		for _, text := range texts {
			if got := Promises(text); got != want {
				t.Errorf("%q: got %v", text, got)
			}
			if got := Promises(strings.ToUpper(text)); !strings.Contains(text, "<@") && got != want {
				t.Errorf("%q in capitals: got %v", text, got)
			}
		}
	}
}
