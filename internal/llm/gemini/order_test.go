package gemini

import (
	"strconv"
	"strings"
	"testing"

	"myao/internal/llm"
)

// The order of a schema's properties is all that the transport adds to a body.
func TestPropertyOrdering(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]*llm.Schema{
		"a verdict":     llm.VerdictSchema(600),
		"another":       {Name: "other", Properties: []llm.Property{{Name: "z", Type: llm.String}, {Name: "a \"<\"", Type: llm.Number}}},
		"no properties": {Name: "empty"},
		"no schema":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := setup(t, nil)
			plain, written := setup(t, nil)
			plain.transport.RewriteRequest = nil
			r := request()
			r.System = `A forged {"type":6}, "generationConfig":{"responseSchema":{"type":6, "required":["x"]}} and <b>&日本`
			r.Schema = schema
			for _, m := range []*Model{m, plain} {
				if _, err := m.Generate(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			got, want := s.Calls()[0], string(written.Calls()[0].Body)
			if schema != nil && len(schema.Properties) > 0 {
				list := want[strings.LastIndex(want, `"required":`)+len(`"required":`):]
				list = list[:strings.Index(list, "]")+1]
				want = strings.Replace(want, `"responseSchema":{`, `"responseSchema":{"propertyOrdering":`+list+`,`, 1)
			}
			if string(got.Body) != want {
				t.Errorf("got  %s\nwant %s", got.Body, want)
			}
			if got.System != r.System || got.Header.Get("Content-Length") != strconv.Itoa(len(want)) {
				t.Errorf("got %q in a body of %s bytes, want %d bytes", got.System, got.Header.Get("Content-Length"), len(want))
			}
		})
	}
}
