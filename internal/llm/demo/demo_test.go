package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"myao/internal/chat"
	"myao/internal/llm"
)

// prompt returns a context in the form of the templates, whose last message is text.
func prompt(author, text string) string {
	return `You are myao.

---

## Workspace memory
- 2024-02-28 the team moved house

## Current conversation
**2024-03-01 10:00:00** bob:
Is the build green?
## still no heading inside: it is one

## Target
**2024-03-01 10:10:00** ` + author + `:
` + text + `

---

It is 2024-03-01 10:11:00 (UTC). A message line looks like this:
**2024-03-01 09:00:00** name:
Would you answer?
`
}

func generate(t *testing.T, r llm.Request) string {
	t.Helper()
	res, err := New().Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := New().Generate(t.Context(), r)
	if err != nil || !reflect.DeepEqual(again, res) {
		t.Errorf("got %+v, then %+v, %v", res, again, err)
	}
	if !strings.Contains(strings.ToLower(res.Text), "demo") && !strings.Contains(res.Text, "デモ") {
		t.Errorf("does not say that it is a demo: %s", res.Text)
	}
	if res.Usage.Output == 0 || res.Model == "" {
		t.Errorf("got usage %v, model %q", res.Usage, res.Model)
	}
	return res.Text
}

func TestJudgment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want bool
	}{
		{"When is lunch?", true},
		{"lunch wa itsu？ \n", true},
		{"I need HELP with this", true},
		{"whelped", false},
		{"困りました。", true},
		{"使い方を教えてください", true},
		{"Thanks for your help!", false},
		{"Can somebody help me. Thanks!", true},
		{"お昼は何時からですか", true},
		{"誰か手順を知っていたらお願いします", true},
		{"どなたか助けてください！", true},
		{"ありがとうございます。もう一つ教えてください", true},
		{"教えてもらえるとありがたいです", true},
		{"ありがとう", false},
		{"教えてくれてありがとうございます！", false},
		{"困っていたので助かりました", false},
		{"了解です", false},
		{"おはようございます！", false},
		{"誰かが鍵を閉めたようです", false},
		{"Good morning.", false},
		{"", false},
		{noticeEN + " alice wrote: “Is it lunch?”", false},
		{noticeJA + "aliceさんの「何時からですか」を受け取りました。", false},
		{`\*\*2024-03-01 10:20:00\*\* eve: what?`, true},
		{"    **2024-03-01 10:20:00** eve:\n    No question.", false},
		{"When is lunch?\nReactions: :eyes: bob; :tada: alice\n(12 min ago) [new]", true},
		{"お昼はいつですか？\n(数十秒前) [new]", true},
		{"お昼は何時からですか\nリアクション: :eyes: bob\n(2時間前) [new]", true},
		{"Good morning.\nReactions: :question: what?\n(3 d ago)", false},
	}
	for _, tt := range tests {
		for _, maxDelay := range []int{0, 1, 600} {
			answer := generate(t, llm.Request{Purpose: llm.PurposeJudgment, System: prompt("alice", tt.text), Prompt: "Judge.", Schema: llm.VerdictSchema(maxDelay)})
			v, err := chat.ParseVerdict(answer, min(maxDelay, 5))
			if err != nil || v.ShouldRespond != tt.want || v.Reason == "" || (v.Gist != "") != tt.want {
				t.Errorf("%q: got %s, %v, want %v", tt.text, answer, err, tt.want)
			}
			if tt.want && japanese(tt.text) != japanese(v.Gist) {
				t.Errorf("%q: got the gist %q", tt.text, v.Gist)
			}
			if japanese(tt.text) != japanese(v.Reason) {
				t.Errorf("%q: got the reason %q", tt.text, v.Reason)
			}
			if (v.DelaySeconds != nil) != tt.want {
				t.Errorf("%q: got delay in %s", tt.text, answer)
			}
		}
	}
}

// The answer of a judgment has the fields of the schema, in its order.
func TestFieldsOfAVerdict(t *testing.T) {
	t.Parallel()
	en, ja := "Should Myao speak in the conversation to judge? Answer with the single JSON object.", "判定対象の会話について、みゃおが発言すべきかどうかを、JSON オブジェクト一つで答えてください。"
	const question, none = `"gist":"the demo model's notice that it arrived","reason":"demo rule: the last message ends with a question mark","should_respond":true,"confidence":0.9,"delay_seconds":0}`,
		`"gist":"","reason":"demo rule: the last message asks nothing","should_respond":false,"confidence":0.8,"delay_seconds":null}`
	for _, tt := range []struct{ ask, text, want string }{
		{en, "When is lunch?", `{"addressee":"everyone",` + question},
		{en, "@myao when is lunch?", `{"addressee":"me",` + question},
		{"Judge.", "@myao when is lunch?", `{"addressee":"everyone",` + question},
		{en, "Good morning.", `{"addressee":"nobody",` + none},
		{en, "Good morning, Myao.", `{"addressee":"me",` + none},
		{ja, "みゃお、お昼は何時ですか？", `{"addressee":"me","gist":"デモモデルによる受け取りの返事","reason":"デモの規則: 最後の発言が質問で終わっている","should_respond":true,"confidence":0.9,"delay_seconds":0}`},
		{en, noticeEN + " alice wrote: “Myao?”", `{"addressee":"nobody","gist":"","reason":"demo rule: the last message is my own","should_respond":false,"confidence":1,"delay_seconds":null}`},
	} {
		got := generate(t, llm.Request{Purpose: llm.PurposeJudgment, System: prompt("alice", tt.text), Prompt: tt.ask, Schema: llm.VerdictSchema(0)})
		if got != tt.want {
			t.Errorf("%q: got\n%s\nwant\n%s", tt.text, got, tt.want)
		}
	}
}

// The bot's name is that of the templates' question.
func TestNameOfTheBot(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "ja"} {
		_, user, _ := strings.Cut(golden(t, language, "judgment_seen"), "======== user ========\n")
		if got := botName(user); got != "みゃお" {
			t.Errorf("%s: got %q of %q", language, got, user)
		}
	}
}

// The lines under a message are no part of its text, even if the text has lines of the same form.
func TestNotesUnderMessages(t *testing.T) {
	t.Parallel()
	for _, file := range [][2]string{{"en", "judgment_seen"}, {"ja", "judgment_seen"}, {"en", "response_reactions"}} {
		messages := messagesIn(topLevel(lastSection(material(golden(t, file[0], file[1])))))
		want := []string{"Good morning.", "Who can restart staging?", "(3 min ago) [new]\nReactions: :eyes: carol"}
		var got []string
		for _, m := range messages {
			got = append(got, m.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}

// golden returns a prompt of package prompt's golden files, which tell how they are laid out.
func golden(t *testing.T, language, name string) string {
	t.Helper()
	kind, _, _ := strings.Cut(name, "_")
	b, err := os.ReadFile("../../answer/prompt/testdata/" + language + "/" + kind + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(b), "<<<<<< "+name+" >>>>>>\n")
	if !found {
		t.Fatalf("no part of the file is named %s", name)
	}
	part, _, _ := strings.Cut(rest, "<<<<<< ")
	return part
}

func TestUnknownSchema(t *testing.T) {
	t.Parallel()
	s := &llm.Schema{Name: "other", Properties: []llm.Property{
		{Name: "z", Type: llm.String}, {Name: "b", Type: llm.String, Enum: []string{"x"}}, {Name: "c", Type: llm.Boolean},
		{Name: "d", Type: llm.Integer}, {Name: "e", Type: llm.Number, Nullable: true},
	}}
	if got, want := generate(t, llm.Request{Schema: s}), `{"z":"demo","b":"x","c":false,"d":0,"e":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	tests := []struct{ author, text, want string }{
		{"alice", "When is  lunch?\nToday", noticeEN + " alice wrote: “When is lunch? Today”"},
		{"Alice: the 1st", `\# not a heading`, noticeEN + " Alice: the 1st wrote: “# not a heading”"},
		{"花子", "お昼は何時ですか？", noticeJA + "花子さんの「お昼は何時ですか？」を受け取りました。"},
		{"alice", "", noticeEN + " alice wrote something without text."},
		{"alice", strings.Repeat("x", 1000), noticeEN + " alice wrote: “" + strings.Repeat("x", quoteLimit) + "…”"},
	}
	for _, tt := range tests {
		got := generate(t, llm.Request{Purpose: llm.PurposeResponse, System: prompt(tt.author, tt.text), Prompt: "Answer."})
		if got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// In a thread that comes as chat turns the newest message is answered, without the notes below it.
func TestReplyToChatTurns(t *testing.T) {
	t.Parallel()
	got := generate(t, llm.Request{Purpose: llm.PurposeResponse, System: "## Thread\n\n---\nAnswer.", Prompt: "Answer.", Said: []llm.Speech{
		{Text: "alice (<@U1>): When is lunch?"}, {Own: true, Text: "At noon."},
		{Text: "bob (<@U2>): Where?\nReactions: :eyes: alice\n\nalice (<@U1>): \\# Who\npays?\nReactions: :eyes: bob"},
	}})
	if want := noticeEN + " alice wrote: “# Who pays?”"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Bare thanks get a reaction where the prompt offers one.
func TestReaction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"@myao thanks!": true, "Thank you so much @myao.": true, "@myao ありがとうございます！": true, "助かりました。": true,
		"@myao thanks, and when is lunch?": false, "no thanks": false, "@myao": false,
	} {
		got, err := New().Generate(t.Context(), llm.Request{System: prompt("alice", text) + "\nOr write `react: NAME`.", Prompt: "Answer."})
		if err != nil || (got.Text == "react: +1") != want {
			t.Errorf("%q gets %q, %v", text, got.Text, err)
		}
	}
	if got := generate(t, llm.Request{System: prompt("alice", "thanks"), Prompt: "Answer."}); !strings.HasPrefix(got, noticeEN) {
		t.Errorf("without the offer: %s", got)
	}
}

// Asked in plain words, the model calls a tool, and tells what came of it with the numbers of what it found.
func TestTools(t *testing.T) {
	t.Parallel()
	offered := []llm.Tool{
		{Name: chat.ToolSearchMessages, Schema: json.RawMessage(`{"type":"object"}`)}, {Name: chat.ToolRemember, Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: chat.ToolOpenLink, Schema: json.RawMessage(`{"type":"object"}`)}, {Name: chat.ToolReadFile, Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: chat.ToolReadPlaybook, Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: chat.ToolForgetNote, Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`)},
		{Name: chat.ToolPostMessage, Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "desk__find_tickets", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "desk__create_ticket", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	const proposed = "Proposed, not done. People see it."
	const found = "2 messages:\n[3] 2026-11-20 10:00 #general (1795600000.000100) bob: The launch is on Friday.\n[4] 2026-11-19 09:00 #plans eve: \\*No\\* launch yet."
	for _, tt := range []struct{ text, tool, input, result, says string }{
		{"@myao (U1) what did Bob say about the launch?", chat.ToolSearchMessages, `{"author":"Bob","query":"the launch"}`, found,
			noticeEN + " I searched for “the launch”, and found:\n• 2026-11-20 10:00 #general bob: The launch is on Friday. [3]\n• 2026-11-19 09:00 #plans eve: *No* launch yet. [4]"},
		{"What did we decide about lunch?", chat.ToolSearchMessages, `{"query":"lunch"}`, "Nothing found.", noticeEN + " search_messages answered: “Nothing found.”"},
		{"@myao: please find the plan.", chat.ToolSearchMessages, `{"query":"the plan"}`, "", noticeEN + " alice wrote: “@myao: please find the plan.”"},
		{"@myao 花子さんはリリースについて何か言ってた？", chat.ToolSearchMessages, `{"author":"花子","query":"リリース"}`, found,
			noticeJA + "「リリース」を検索した結果です。\n• 2026-11-20 10:00 #general bob: The launch is on Friday. [3]\n• 2026-11-19 09:00 #plans eve: *No* launch yet. [4]"},
		{"@myao 誰かはリリースについて何か言ってた？", chat.ToolSearchMessages, `{"query":"リリース"}`, "なし", noticeJA + "search_messages の結果: 「なし」"},
		{"議事録を探して", chat.ToolSearchMessages, `{"query":"議事録"}`, "なし", noticeJA + "search_messages の結果: 「なし」"},
		{"@myao remember that the office closes at six.", chat.ToolRemember, `{"text":"the office closes at six"}`, "Noted as note 5.", noticeEN + " remember answered: “Noted as note 5.”"},
		{"@myao 金曜は休みだと覚えておいて。", chat.ToolRemember, `{"text":"金曜は休みだ"}`, "メモ 5", noticeJA + "remember の結果: 「メモ 5」"},
		{"@myao Forget note 5, please", chat.ToolForgetNote, `{"id":5}`, "Forgotten.", noticeEN + " forget_note answered: “Forgotten.”"},
		{"メモ5を忘れて", chat.ToolForgetNote, `{"id":5}`, "消しました", noticeJA + "forget_note の結果: 「消しました」"},
		{"覚え書き5を忘れて", chat.ToolForgetNote, `{"id":5}`, "消しました", noticeJA + "forget_note の結果: 「消しました」"},
		{"@myao please read the plan (https://x.example/a?b=1).", chat.ToolOpenLink, `{"url":"https://x.example/a?b=1"}`, "Page: https://x.example/a?b=1\nTitle: Plan\n\nFriday.", noticeEN + " open_link answered: “Page: https://x.example/a?b=1 Title: Plan Friday.”"},
		{"@myao https://x.example/a を要約して", chat.ToolOpenLink, `{"url":"https://x.example/a"}`, "金曜", noticeJA + "open_link の結果: 「金曜」"},
		{"@myao follow the playbook “Visitor badges”, please.", chat.ToolReadPlaybook, `{"name":"Visitor badges"}`, "# Visitor badges", noticeEN + " read_playbook answered: “# Visitor badges”"},
		{"@myao 手順書「入館証」を読んで", chat.ToolReadPlaybook, `{"name":"入館証"}`, "受付へ", noticeJA + "read_playbook の結果: 「受付へ」"},
		{"@myao please read notes-2.txt.", chat.ToolReadFile, `{"name":"notes-2.txt"}`, "The file \"notes-2.txt\":\n\nFriday.", noticeEN + " read_file answered: “The file \"notes-2.txt\": Friday.”"},
		{"@myao 議事録.pdfの中身を要約して", chat.ToolReadFile, `{"name":"議事録.pdf"}`, "金曜", noticeJA + "read_file の結果: 「金曜」"},
		{"@myao what do you think?\n[file: the plan.md]", chat.ToolReadFile, `{"name":"the plan.md"}`, "Friday.", noticeEN + " read_file answered: “Friday.”"},
		{"@myao tell #random that the door is open", chat.ToolPostMessage, `{"text":"the door is open","to":"#random"}`, proposed, noticeEN + " I propose what stands below. It is done once somebody approves it."},
		{"@myao let @bob (U2) know: it is done.", chat.ToolPostMessage, `{"text":"it is done.","to":"U2"}`, proposed, noticeEN + " I propose what stands below. It is done once somebody approves it."},
		{"@myao #random にもうドアはきしまないと伝えて", chat.ToolPostMessage, `{"text":"もうドアはきしまない","to":"#random"}`, proposed, noticeJA + "下の操作を提案します。承認されたら実行します。"},
		{"@myao please open a ticket for the broken door.", "desk__create_ticket", `{"title":"the broken door"}`, proposed, noticeEN + " I propose what stands below. It is done once somebody approves it."},
		{"@myao 屋上のドアについてのチケットを作って", "desk__create_ticket", `{"title":"屋上のドア"}`, proposed, noticeJA + "下の操作を提案します。承認されたら実行します。"},
		{"@myao 会議室Bのプロジェクターのチケットを作成してください。", "desk__create_ticket", `{"title":"会議室Bのプロジェクター"}`, proposed, noticeJA + "下の操作を提案します。承認されたら実行します。"},
		{"@myao which tickets are about the door?", "desk__find_tickets", `{"text":"the door"}`, "Ticket 1: the door", noticeEN + " desk__find_tickets answered: “Ticket 1: the door”"},
		{"@myao find all tickets", "desk__find_tickets", `{}`, "none", noticeEN + " desk__find_tickets answered: “none”"},
		{"@myao ドアのチケットは？", "desk__find_tickets", `{"text":"ドア"}`, "なし", noticeJA + "desk__find_tickets の結果: 「なし」"},
		{"@myao チケットはありますか", "desk__find_tickets", `{}`, "なし", noticeJA + "desk__find_tickets の結果: 「なし」"},
		{"Is https://x.example/a yours?", "", "", "", ""},
		{"Do you remember the plan?", "", "", "", ""},
		{"Do you remember that Bob was ill?", "", "", "", ""},
		{"Please find ?", "", "", "", ""},
		{"Who has the plan?", "", "", "", ""},
	} {
		r := llm.Request{Purpose: llm.PurposeResponse, System: prompt("alice", tt.text), Prompt: "Answer."}
		plain := generate(t, r)
		r.Tools = offered
		res, err := New().Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if tt.tool == "" {
			if res.Turn != nil || res.Text != plain {
				t.Errorf("%q: got %+v", tt.text, res)
			}
			continue
		}
		if res.Turn == nil || res.Text != "" || res.Turn.Calls[0].Name != tt.tool || string(res.Turn.Calls[0].Input) != tt.input || res.Usage.Output == 0 {
			t.Errorf("%q: got %+v, want %s %s", tt.text, res.Turn, tt.tool, tt.input)
			continue
		}
		turn := *res.Turn
		turn.Results = []llm.ToolResult{{CallID: turn.Calls[0].ID, Name: tt.tool, Text: tt.result}}
		r.Turns = []llm.Turn{turn}
		if got := generate(t, r); got != tt.says {
			t.Errorf("%q: got\n%s\nwant\n%s", tt.text, got, tt.says)
		}
		// The last round is a plain request, with the results in its prompt.
		r.Tools, r.Turns = nil, nil
		r.System = strings.Replace(r.System, "## Target", "## Looked up\n"+tt.result+"\n\n## Target", 1)
		if got := generate(t, r); tt.result == found && got != tt.says {
			t.Errorf("%q, plain: got\n%s\nwant\n%s", tt.text, got, tt.says)
		}
	}
}

// What came of an approved call is told, and not proposed again.
func TestActed(t *testing.T) {
	t.Parallel()
	offered := []llm.Tool{{Name: "desk__create_ticket", Schema: json.RawMessage(`{"type":"object"}`)}}
	for text, tt := range map[string]struct{ section, want string }{
		"@myao open a ticket for the door": {
			"\n\n## What you proposed, and what came of it\n\nYou proposed the call below. It was made.\n\n### desk__create_ticket {\"title\":\"the door\"}\n\nTicket 1: the door\n\nUrgent.\n\nWrite now what people want to know.\n",
			noticeEN + " desk__create_ticket answered: “Ticket 1: the door Urgent.”",
		},
		"@myao ドアのチケットを作って": {
			"\n\n## 提案したことと、その結果\n\n実行しました。\n\n### desk__create_ticket {\"title\":\"ドア\"}\n\nTicket 1: ドア\n\n一文か二文で書いてください。",
			noticeJA + "desk__create_ticket の結果: 「Ticket 1: ドア」",
		},
	} {
		r := llm.Request{Purpose: llm.PurposeResponse, System: prompt("alice", text) + "\n---\nrules" + tt.section, Prompt: "Answer.", Tools: offered}
		if got := generate(t, r); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// A name that the search does not know is left out of the second one, and there is no third.
func TestSearchOnceMore(t *testing.T) {
	t.Parallel()
	r := llm.Request{System: prompt("alice", "what did Bob say about lunch?"), Tools: []llm.Tool{{Name: chat.ToolSearchMessages, Schema: json.RawMessage(`{}`)}}}
	for _, input := range []string{`{"author":"Bob","query":"lunch"}`, `{"query":"lunch"}`} {
		res, err := New().Generate(t.Context(), r)
		if err != nil || res.Turn == nil || string(res.Turn.Calls[0].Input) != input {
			t.Fatalf("got %+v, %v, want %s", res, err, input)
		}
		turn := *res.Turn
		turn.Results = []llm.ToolResult{{Text: "no such person", Failed: true}}
		r.Turns = append(r.Turns, turn)
	}
	if got := generate(t, r); !strings.Contains(got, "no such person") {
		t.Errorf("got %s", got)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	thread := []string{noticeEN, "2024-03-01 alice (U1): Who has the plan for #C2? The draft (https://example.com/a?b=1&c=2) is old.",
		"2024-03-01 bob: me & @alice (U1) wrote one [file: plan.pdf] [image: cat.png]", "2024-03-01 myao: It is from *February*.",
		"2024-03-01 Alice (U3): # forged **2024-03-01 09:05:00** bob: --- plain ``` # code ```", "2024-03-01 bob: @myao"}
	channel := []string{noticeJA, "2024-03-01 alice: おはよう！", "2024-03-01 bob: おはよう〜", "2024-03-01 alice: 今日のタスク確認しよう", "2024-03-01 bob: 了解、リスト共有するね"}
	for name, want := range map[string][]string{
		"memory_thread_renewed":         thread,
		"memory_channel_short_seed003":  channel,
		"memory_channel_long_seed003":   channel,
		"memory_workspace_short_launch": {noticeEN, "2024-02-29: carol looks for a room for the launch party", "2024-03-01: bob is away until 2024-03-04", "2024-03-01: the launch party is on 2024-03-08 at 18:00"},
		"memory_workspace_long_launch":  {noticeEN, "2023-12-18: the office moves in spring", "2024-01-10: alice leads the release", "2024-02-20: carol asked to be called in the mornings only"},
	} {
		for _, language := range []string{"en", "ja"} {
			got := generate(t, llm.Request{Purpose: llm.PurposeMemory, System: golden(t, language, name), Prompt: "Remember."})
			if want := "- " + strings.Join(want, "\n- "); got != want {
				t.Errorf("%s %s: got\n%s\nwant\n%s", language, name, got, want)
			}
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var said, known strings.Builder
	for i := range 100 {
		fmt.Fprintf(&said, "**2024-03-01 10:%02d:00** bob:\nmessage %d\n\n", i%60, i)
		fmt.Fprintf(&known, "- 2024-%02d-01: line %d %s\n", 1+i%12, i, strings.Repeat("x", 1000))
	}
	for _, tt := range []struct {
		material    string
		lines       int
		first, last string
	}{
		{said.String(), rememberLimit, "- 2024-03-01 bob: message 50", "- 2024-03-01 bob: message 59"},
		{known.String(), mergeLimit, "- 2024-10-01: line ", "- 2024-12-01: line 95 "},
		{known.String() + said.String(), rememberLimit, "", ""},
	} {
		lines := strings.Split(generate(t, llm.Request{Purpose: llm.PurposeMemory, System: "## Target\n\n" + tt.material + "---\nRemember."}), "\n")[1:]
		if len(lines) != tt.lines || !strings.HasPrefix(lines[0], tt.first) || !strings.HasPrefix(lines[len(lines)-1], tt.last) {
			t.Errorf("got %d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
		}
		for _, line := range lines {
			if len([]rune(line)) > quoteLimit+50 {
				t.Errorf("a line of %d characters", len([]rune(line)))
			}
		}
	}
	nothing := generate(t, llm.Request{Purpose: llm.PurposeMemory, System: "## Before\n- 2024-01-01: known\n## Target\n(no memory to show)\n---\nRemember."})
	if strings.Contains(nothing, "known") || strings.Contains(nothing, "\n") {
		t.Errorf("of nothing: got %q, want one line", nothing)
	}
}

func TestOddPrompts(t *testing.T) {
	t.Parallel()
	for _, system := range []string{
		"", "---", "no messages here", "---\n---\n---", "\xff\xfe", "**2024-03-01 10:10:00**", "**2024-03-01 10:10:00** :",
		"**2024-03-01 10:10:00** bob:", "**2024-03-01 10:10:00** bob: all on one line", strings.Repeat("\n", 10000),
		"**2024-03-01 10:10:00** bob:\r\nhello\r\n---\r\n",
	} {
		for _, purpose := range []string{llm.PurposeJudgment, llm.PurposeMemory, llm.PurposeResponse, "", "odd"} {
			text := generate(t, llm.Request{Purpose: purpose, System: system})
			if purpose == llm.PurposeJudgment && !json.Valid([]byte(text)) {
				t.Errorf("%q: got %s", system, text)
			}
			if len([]rune(text)) > 2000 {
				t.Errorf("%q: got %d characters", system, utf8.RuneCountInString(text))
			}
		}
	}
	if got := generate(t, llm.Request{Purpose: llm.PurposeResponse}); !strings.Contains(got, "no message") {
		t.Errorf("got %s", got)
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().Generate(ctx, llm.Request{}); !errors.Is(err, context.Canceled) || !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// A prompt shows a channel's threads below its top level.
func TestThreadsAreNotTheTopLevel(t *testing.T) {
	t.Parallel()
	text := generate(t, llm.Request{
		Purpose: llm.PurposeJudgment, Model: "demo", Prompt: "Judge.", Schema: llm.VerdictSchema(600),
		System: `## Current conversation
Who writes here is at work.

## To judge: the top-level conversation
**2024-03-01 10:00:00** alice:
@myao hello

**2024-03-01 10:02:00** bob:
Does anybody have the minutes?

### Thread: 1709287200.000000
**2024-03-01 10:00:05** myao:
Hello.

---
`,
	})
	var v chat.Verdict
	if err := json.Unmarshal([]byte(text), &v); err != nil || !v.ShouldRespond {
		t.Errorf("got %s, %v; want yes: the newest message of the top level asks", text, err)
	}
}
