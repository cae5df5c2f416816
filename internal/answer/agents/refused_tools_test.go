package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// A schema that the provider refuses takes out its tool and no other, from then on, and never the reply.
func TestRefusedSchemas(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.useProvider(config.ProviderOpenAI)
	b.addChannels(public("C1", "general"))
	m := b.say("C1", 0, "hello")
	object := json.RawMessage(`{"type":"object"}`)
	about := Reply{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}, Trigger: m.TS, Addressed: true, Tools: []tools.Offer{
		{Tool: llm.Tool{Name: "search_messages", Schema: object}}, {Tool: llm.Tool{Name: "desk__good", Schema: object}}, {Tool: llm.Tool{Name: "desk__bad", Schema: object}},
	}}
	refusal := "Invalid schema for function 'desk__bad'."
	b.Model.Handle(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(string(c.Body), "desk__bad") {
			return llmtest.Reply{Status: 400, Message: refusal}
		}
		return llmtest.Text("hi")
	})
	for i, most := range []int{3, 1} { // requests: the adapter tries another form of the schema; the second reply knows
		b.Model.Reset()
		q, answer, err := b.AskReply(b.Context(), about, Attempt{})
		if err != nil || answer.Text != "hi" || len(q.Tools) != 2 || len(b.Model.Calls()) > most {
			t.Errorf("reply %d: %q with %d tools after %d requests, %v", i, answer.Text, len(q.Tools), len(b.Model.Calls()), err)
		}
	}
	// A provider may name a tool by its place alone.
	for i, refusal := range []string{
		"tools.2.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
		"Invalid value at 'tools[0].function_declarations[2].parameters.properties[1].value.enum[0]' (TYPE_STRING), 0",
		"tools[2].function.parameters: array schema missing items",
	} {
		if got := suspects([]llm.Tool{{Name: "search_messages"}, {Name: "desk__good"}, {Name: "desk__bad"}}, refusal); !slices.Equal(got, []string{"desk__bad"}) {
			t.Errorf("refusal %d: %q are left out", i, got)
		}
	}
	// Where the provider does not say which, all of other programs are left out.
	refusal = "Invalid schema."
	about.Tools[2].Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	if q, answer, err := b.AskReply(b.Context(), about, Attempt{}); err != nil || answer.Text != "hi" || len(q.Tools) != 1 {
		t.Errorf("%q with %d tools, %v", answer.Text, len(q.Tools), err)
	}
}
