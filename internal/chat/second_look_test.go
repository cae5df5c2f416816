package chat

import (
	"strings"
	"testing"
)

func TestParseSecondLook(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]SecondLook{
		`{"reason": "still open", "post": true}`:                        {"still open", true},
		"```json\n{\"post\": false, \"reason\": \"bob\\nhas it\"}\n```": {"bob has it", false},
	} {
		if got, err := ParseSecondLook(answer); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", answer, got, err, want)
		}
	}
	for answer, faults := range map[string][]string{
		``:                               {"not one JSON object"},
		`{"reason": "x", "post": "no"}`:  {"not one JSON object"},
		`{"should_respond": true}`:       {"reason is missing", "post is missing"},
		`{"reason": null, "post": true}`: {"reason is missing"},
	} {
		_, err := ParseSecondLook(answer)
		for _, fault := range faults {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: got %v, want %q", answer, err, fault)
			}
		}
	}
}
