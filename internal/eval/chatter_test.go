package eval

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what tests compare with")

const workspaceDir = "../../evals/memory/"

// chatter is what people say besides what is asked about, one sentence a line, in either language.
// The words are those of the questions, so that a search has something to confuse.
var chatter = [2]string{`
Ticket {n}: the {thing} fails again, I look into it.
Order {n} is stuck, has anybody seen {who} today?
Deploy {n} of the {service} is through.
I roll out build {n} to staging at {time}.
The meeting about the {thing} moved to {time}, number {n} in the calendar.
The {thing} in the meeting room is broken, ticket {n}.
Thanks, {n} works for me now.
Invoice {n} of {company} is paid.
Invoice {n} is still open, who talks to {company}?
{company} asks for the {thing}, see mail {n}.
Lunch at {time}? It is {n} steps to the noodle place.
Backup {n} finished in time.
Alert {n}: the queue of the {service} is long, now back to normal.
I am out from {time} on, ring {n} if it burns.
Review of change {n} please, it touches the {service}.
Change {n} is merged and goes out with the release.
Who can help me with the {thing} on machine {n}?
Printer {n} is out of paper again.
Visitor for {who} at reception, badge {n}.
The train is late, I join by phone ({n}) at {time}.
{company} wants an offer for {n} seats.
Survey answer {n}: they like the {thing}.
Found the cause of {n}: an old {thing}.
Release note {n}: the {service} is faster now.
Test {n} is flaky, I mute it until {time}.
Somebody left a {thing} on desk {n}.
Support case {n}: password reset by hand.
Contract {n}: does {company} have a discount?
Draft {n} of the newsletter is in the folder.
Design {n} has a new colour for the {thing}.
Log {n} shows nothing for the {service}.
Certificate {n} is fine until summer.
Budget line {n} is for the {thing}.
The {service} answers {n} requests a second now.
`, `
チケット{n}: {thing}がまた動きません、調べます。
{service}のデプロイ{n}が終わりました。
ビルド{n}を{time}に検証環境へ出します。
{thing}の打ち合わせは{time}に移りました、予定番号{n}。
会議室の{thing}が壊れています、受付番号{n}。
ありがとうございます、{n}は直りました。
請求書{n}は{company}から入金済みです。
請求書{n}が未払いです、{company}へ誰か連絡できますか？
{company}から{thing}の要望、メール{n}です。
昼は{time}に食堂へ行きませんか、{n}歩くらいです。
バックアップ{n}は時間通りに終わりました。
警告{n}: {service}の待ち行列が伸びましたが戻りました。
{time}から外出します、急ぎは{n}へ。
変更{n}の確認をお願いします、{service}に触ります。
変更{n}を取り込みました、次のリリースに入ります。
端末{n}の{thing}を見てもらえますか？
プリンター{n}の紙がありません。
{who}さんに来客です、札{n}。
電車が遅れています、{time}の会は電話で出ます、番号{n}。
{company}から{n}席の見積もり依頼です。
アンケート回答{n}: {thing}が好評です。
{n}の原因は古い{thing}でした。
リリースメモ{n}: {service}が速くなりました。
試験{n}が不安定なので{time}まで止めます。
机{n}に{thing}の忘れ物です。
問い合わせ{n}: パスワードを手で直しました。
契約{n}の件、{company}に値引きはありますか？
会報の下書き{n}を置きました。
図案{n}で{thing}の色を変えました。
ログ{n}に{service}の記録がありません。
証明書{n}は夏まで大丈夫です。
予算の行{n}は{thing}の分です。
{service}は毎秒{n}件を返せるようになりました。
`}

var slots = [2]map[string]string{
	{"thing": "projector,coffee machine,login page,dark mode,import,export,address form,keyboard,badge reader,price cache,dashboard,alerting,wifi,key cabinet",
		"service": "geocoder,orders database,mail gateway,billing job,queue,VPN,search,API", "company": "Lumen,Osprey,Tallow,Quillon,Marrow,Finch",
		"who": "Maya,Tom,Oskar,Priya", "time": "ten,noon,two,half past three,five"},
	{"thing": "映写機,コーヒーメーカー,ログイン画面,配色,取り込み,出力,住所欄,キーボード,名刺,価格キャッシュ,監視画面,駐車場,Wi-Fi,冷蔵庫",
		"service": "地図サービス,認証サーバー,メール中継,集計ジョブ,倉庫連携,検索,API", "company": "ルーメン社,隼電算,木蓮商店,クイロン社,若葉工業",
		"who": "森田,小川,藤井,早川", "time": "十時,正午,二時,三時半,夕方"},
}

// workspaceFile makes people, channels and chatter. They are the same each time.
func workspaceFile() []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	put := func(kind string, v any) { _ = e.Encode(map[string]any{kind: v}) } // a buffer takes everything
	names := []string{"maya", "tom", "oskar", "priya", "森田", "小川", "藤井", "早川", "kim"}
	for i, name := range names {
		put("person", Person{ID: fmt.Sprintf("U%d", i+1), Name: name})
	}
	for _, c := range []Place{
		{ID: "C01", Name: "general"}, {ID: "C02", Name: "ops"}, {ID: "C03", Name: "product"},
		{ID: "C04", Name: "leads", Private: true}, {ID: "D05", Private: true}, {ID: "C06", Name: "with-lumen", Shared: true}, {ID: "D07", Private: true, Guest: "U9"},
	} {
		put("channel", c)
	}
	random := rand.New(rand.NewPCG(31, 15))
	places := strings.Fields("C01 C01 C01 C01 C02 C02 C02 C02 C03 C03 C03 C04 C04 D05 C06 C06 D07")
	members := map[string][]int{"C04": {0, 3, 4, 5}, "D05": {4}, "D07": {8}}
	numbers := random.Perm(9000)
	parents := map[string]Said{}
	const count, days = 1270, 60
	for i := range count {
		language := random.IntN(2)
		sentences := strings.Split(strings.TrimSpace(chatter[language]), "\n")
		text := strings.ReplaceAll(sentences[random.IntN(len(sentences))], "{n}", fmt.Sprint(1000+numbers[i]))
		for _, slot := range []string{"thing", "service", "company", "who", "time"} {
			words := strings.Split(slots[language][slot], ",")
			text = strings.ReplaceAll(text, "{"+slot+"}", words[random.IntN(len(words))])
		}
		m := Said{ID: fmt.Sprintf("c%04d", i), Channel: places[random.IntN(len(places))], Text: text}
		m.At = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC).AddDate(0, 0, i*days/count).Add(time.Duration(i*days%count) * 10 * time.Hour / count).Truncate(time.Second)
		who := members[m.Channel]
		if who == nil {
			who = []int{language * 4, language*4 + 1, language*4 + 2, language*4 + 3}
		}
		m.By = fmt.Sprintf("U%d", 1+who[random.IntN(len(who))])
		if parent := parents[m.Channel]; parent.ID != "" && random.IntN(4) == 0 {
			m.Thread = parent.ID
		} else {
			parents[m.Channel] = m
		}
		put("message", m)
	}
	return out.Bytes()
}

func TestWorkspaceFile(t *testing.T) {
	t.Parallel()
	const path = workspaceDir + "workspace.jsonl"
	want := workspaceFile()
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what this test makes; go test ./internal/eval -run TestWorkspaceFile -update writes it (%v)", path, err)
	}
}
