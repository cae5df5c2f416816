package agents

import (
	"errors"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
	"myao/test/storetest"
)

// The judge is told what a reply can do, which is less where other companies read.
func TestJudgeKnowsWhatAReplyCanDo(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.config.Tools.Enabled = chat.ToolNames()
	b.addChannels(public("C1", "general"))
	b.say("C1", time.Hour, "how many dwarfs?")
	j, err := b.Judgment(b.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, nil, 600)
	if err != nil {
		t.Fatal(err)
	}
	for _, shared := range []bool{false, true} {
		j.Shared = shared
		q, err := j.Question("")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(q.System, "pages whose links stand here"); got == shared {
			t.Errorf("shared: %v; it may open links: %v", shared, got)
		}
	}
}

// A call of a tool is no reason, and nothing that the bot would add.
func TestJudgeWritesNoCalls(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	b.say("C1", time.Hour, "how many dwarfs?")
	j, err := b.Judgment(b.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, nil, 600)
	if err != nil {
		t.Fatal(err)
	}
	const call = `<tool_call>{"name": "search_messages", "arguments": {"query": "dwarfs"}}</tool_call>`
	b.Model.Handle(llmtest.Script(llmtest.Text(call), llmtest.Verdict(chat.Verdict{Reason: "seven", Gist: call})))
	if v, _, err := b.Judge(b.Context(), j, Attempt{}); err != nil || v.Reason != "seven" || v.Gist != "" {
		t.Errorf("got %+v, %v", v, err)
	}
	b.Model.Handle(llmtest.Script(llmtest.Verdict(chat.Verdict{Reason: call}), llmtest.Verdict(chat.Verdict{Reason: "they ask about <tool_call>"})))
	if v, _, err := b.Judge(b.Context(), j, Attempt{}); err != nil || v.Reason != "they ask about <tool_call>" {
		t.Errorf("got %+v, %v", v, err)
	}
}

// Judge needs neither an activity nor a row in the ledger, and its calls count for no decision.
func TestJudgeWithoutADecision(t *testing.T) {
	t.Parallel()
	url := storetest.SQLite(t)
	b := setup(t, url)
	b.useProvider(config.ProviderGemini)
	b.addChannels(public("C1", "general"))
	b.say("C1", time.Hour, "how many dwarfs?")
	j, err := b.Judgment(b.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, nil, 600)
	if err != nil {
		t.Fatal(err)
	}
	broken := llmtest.Reply{Text: "perhaps", InputTokens: 10, OutputTokens: 1}
	good := llmtest.Yes("nobody answered", 0.8, 90)
	good.InputTokens, good.OutputTokens = 20, 2
	b.Model.Handle(llmtest.Script(broken, good))
	v, answer, err := b.Judge(b.Context(), j, Attempt{})
	if err != nil || !v.ShouldRespond || v.Reason != "nobody answered" || v.DelaySeconds == nil || *v.DelaySeconds != 90 {
		t.Errorf("got %+v, %v", v, err)
	}
	if answer.Model != "small" || answer.Usage.Input != 30 || answer.Usage.Output != 3 || answer.Latency <= 0 || !strings.Contains(answer.Text, "nobody answered") {
		t.Errorf("the answer is %+v, want the second one with the usage of both", answer)
	}
	b.Model.Handle(llmtest.Script(llmtest.Verdict(chat.Verdict{Reason: "bob has it", Confidence: 0.9, Addressee: chat.AddresseeEveryone, Gist: "seven"})))
	if v, _, err := b.Judge(b.Context(), j, Attempt{}); err != nil || v.Addressee != chat.AddresseeEveryone || v.Gist != "seven" {
		t.Errorf("got %+v, %v", v, err)
	}
	b.Model.Handle(llmtest.Script(broken))
	var final *FinalError
	if _, _, err := b.Judge(b.Context(), j, Attempt{}); !errors.As(err, &final) || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a verdict that cannot be read: %v", err)
	}
	b.Model.Handle(llmtest.Script(llmtest.Reply{}))
	for number := range maxEmptyAnswers + 1 {
		if _, _, err := b.Judge(b.Context(), j, Attempt{Number: number}); !errors.Is(err, llm.ErrEmpty) || errors.As(err, &final) {
			t.Errorf("an empty answer: %v", err)
		}
	}
	calls := b.savedCalls(t, url)
	if len(calls) != 5+maxEmptyAnswers+1 {
		t.Errorf("%d calls are saved", len(calls))
	}
	for _, call := range calls {
		if call.Decision != "" || call.Purpose != llm.PurposeJudgment {
			t.Errorf("saved: %+v", call)
		}
	}
}
