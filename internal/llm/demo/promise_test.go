package demo

import (
	"encoding/json"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/llm"
)

// Asked to come back to something at a time, the model makes a promise and confirms it, or says why it cannot.
func TestPromises(t *testing.T) {
	t.Parallel()
	offered := []llm.Tool{
		{Name: chat.ToolLookAgain, Schema: json.RawMessage(`{"type":"object"}`)}, {Name: chat.ToolSearchMessages, Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "desk__create_ticket", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	for _, tt := range []struct{ text, input string }{
		{"@myao remind me in 20 seconds to stretch", `{"what":"stretch","when":"in 20 seconds"}`},
		{"@myao (U1) In half an hour, please remind us of the meeting!", `{"what":"the meeting","when":"In half an hour"}`},
		{"@myao remind me to find the plan tomorrow at 9:30", `{"what":"find the plan","when":"tomorrow at 9:30"}`},
		{"@myao remind everybody on Friday at 5 pm to open a ticket for the door", `{"what":"open a ticket for the door","when":"on Friday at 5 pm"}`},
		{"@myao every day at 9 remind me to water the plants.", `{"every":"day","what":"water the plants","when":"at 9"}`},
		{"@myao remind us every monday at 10am that the report is due", `{"every":"week","what":"the report is due","when":"monday at 10am"}`},
		{"@myao look again in 20 seconds whether somebody has answered", `{"unless":"somebody has answered","what":"Look whether somebody has answered","when":"in 20 seconds"}`},
		{"Who has the key? @myao look again in 3d", `{"unless":"somebody has answered","what":"Who has the key?","when":"in 3d"}`},
		{"@myao check again tomorrow if Bob is back", `{"unless":"Bob is back","what":"Look whether Bob is back","when":"tomorrow"}`},
		{"@myao 20秒後にストレッチするようリマインドして", `{"what":"ストレッチ","when":"20秒後"}`},
		{"@myao 明日の朝9時に会議の準備をリマインドしてください", `{"what":"会議の準備","when":"明日の朝9時"}`},
		{"@myao 毎日9時に植物に水をやるように知らせて", `{"every":"day","what":"植物に水をやる","when":"9時"}`},
		{"@myao 毎週月曜10時に報告書を思い出させて", `{"every":"week","what":"報告書","when":"月曜10時"}`},
		{"鍵は誰が持っていますか？ @myao 20秒後に、誰か答えたかもう一度見て", `{"unless":"誰か答えた","what":"鍵は誰が持っていますか？","when":"20秒後"}`},
		{"@myao 20秒後にもう一度確認して", `{"unless":"誰かが答えた","what":"誰かが答えたかを確かめる","when":"20秒後"}`},
		{"@myao remind me to stretch", ""},
		{"@myao did you remind me at 9?", ""},
		{"@myao what happened in 20 seconds?", ""},
		{"@myao 9時に何がありますか？", ""},
	} {
		r := llm.Request{Purpose: llm.PurposeResponse, System: prompt("alice", tt.text), Prompt: "Answer.", Tools: offered}
		res, err := New().Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if tt.input == "" {
			if res.Turn != nil {
				t.Errorf("%q: got %s", tt.text, res.Turn.Calls[0].Input)
			}
			continue
		}
		if res.Turn == nil || res.Turn.Calls[0].Name != chat.ToolLookAgain || string(res.Turn.Calls[0].Input) != tt.input {
			t.Errorf("%q: got %+v, want %s", tt.text, res.Turn, tt.input)
			continue
		}
		made := *res.Turn
		for _, result := range []llm.ToolResult{{Text: "Promised for Wed."}, {Text: "when is empty.", Failed: true}} {
			made.Results = []llm.ToolResult{result}
			r.Turns = []llm.Turn{made}
			if got := generate(t, r); strings.Contains(got, "when is empty") != result.Failed || japanese(got) != japanese(tt.text) {
				t.Errorf("%q, %+v: got %s", tt.text, result, got)
			}
		}
		r.Tools, r.Turns = offered[1:], nil
		if res, err := New().Generate(t.Context(), r); err != nil || res.Turn != nil && strings.Contains(string(res.Turn.Calls[0].Input), "when") {
			t.Errorf("%q, not offered: got %+v, %v", tt.text, res, err)
		}
	}
}

// A promise that is due is let go once somebody else has written, and kept otherwise.
func TestPromiseIsDue(t *testing.T) {
	t.Parallel()
	for language, reasons := range map[string][2]string{
		"en": {"demo rule: bob has written since", "demo rule: nobody else has written since"},
		"ja": {"デモの規則: そのあとbobさんが発言した", "デモの規則: そのあと誰も発言していない"},
	} {
		system, user, _ := strings.Cut(golden(t, language, "promise_seed003_thread"), "======== user ========\n")
		const bob = "**2024-03-01 10:15:00** bob:"
		if !strings.Contains(system, bob) {
			t.Fatalf("%s: bob has not written", language)
		}
		for author, respond := range map[string]bool{"bob": false, "alice": true, "みゃお": true} {
			answer := generate(t, llm.Request{
				Purpose: llm.PurposeJudgment, System: strings.Replace(system, bob, "**2024-03-01 10:15:00** "+author+":", 1), Prompt: user, Schema: llm.VerdictSchema(0),
			})
			reason := reasons[0]
			if respond {
				reason = reasons[1]
			}
			if v, err := chat.ParseVerdict(answer, 0); err != nil || v.ShouldRespond != respond || v.Reason != reason || (v.Gist != "") != respond {
				t.Errorf("%s, %s: got %s, %v", language, author, answer, err)
			}
		}
	}
}

func TestPromiseIsKept(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"en/kept_look": noticeEN + " I have looked again, and this seems to be open still: “## Who takes the notes?”", "en/kept_reminder": noticeEN + " It is time: “stretch”",
		"ja/kept_look": noticeJA + "もう一度見ましたが、まだ済んでいないようです: 「## Who takes the notes?」", "ja/kept_reminder": noticeJA + "時間です: 「stretch」",
	} {
		language, file, _ := strings.Cut(name, "/")
		system, user, _ := strings.Cut(golden(t, language, file), "\n\n======== user ========\n")
		if got := generate(t, llm.Request{Purpose: llm.PurposeResponse, System: system, Prompt: user}); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
