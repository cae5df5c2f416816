package llm

import "testing"

func TestJSONSchemaKeepsOrder(t *testing.T) {
	s := &Schema{Name: "s", Properties: []Property{
		{Name: "z", Type: Boolean, Description: "first"},
		{Name: "a", Type: String, Enum: []string{"x", "y"}, Nullable: true},
		{Name: "n", Type: Number},
	}}
	want := `{"type":"object","properties":{` +
		`"z":{"type":"boolean","description":"first"},` +
		`"a":{"type":["string","null"],"enum":["x","y",null]},` +
		`"n":{"type":"number"}},` +
		`"required":["z","a","n"],"additionalProperties":false}`
	if got := string(s.JSONSchema()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestVerdictSchema(t *testing.T) {
	want := `{"type":"object","properties":{` +
		`"addressee":{"type":"string","description":"whom the new messages are meant for: me, someone else, everyone, or nobody; if they differ, that of the one you would answer, or else of the newest","enum":["me","someone","everyone","nobody"]},` +
		`"gist":{"type":"string","description":"what you would add, in at most 15 words; empty if there is nothing"},` +
		`"reason":{"type":"string","description":"one short line: what decided it"},` +
		`"should_respond":{"type":"boolean","description":"true to speak, false to stay silent"},` +
		`"confidence":{"type":"number","description":"how certain the decision is, from 0 to 1"},` +
		`"delay_seconds":{"type":["integer","null"],"description":"whole seconds to hold back before speaking, from 0 to 600; null only when silent"}},` +
		`"required":["addressee","gist","reason","should_respond","confidence","delay_seconds"],"additionalProperties":false}`
	if got := string(VerdictSchema(600).JSONSchema()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
