package slack

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// A Home tab stays within Slack's limits, however much there is to show, and no line is cut.
func TestHomeBlocks(t *testing.T) {
	t.Parallel()
	line := "• " + strings.Repeat("ä", 500) + " &amp;"
	var sections []HomeSection
	for range 60 {
		sections = append(sections, HomeSection{
			Title: strings.Repeat("t", 200), Text: strings.Repeat(line+"\n", 20) + strings.Repeat("x", 4000), Buttons: []HomeButton{{Action: ActionHomeMute, Value: "C1", Label: "Mute me"}},
		})
	}
	raw, err := json.Marshal(homeBlocks(sections))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []struct {
		Type string `json:"type"`
		Text struct {
			Text string `json:"text"`
		} `json:"text"`
	}
	if err := json.Unmarshal(raw, &blocks); err != nil || len(blocks) != 100 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	for _, b := range blocks {
		most := map[string]int{"header": 150, "section": 3000, "actions": 0}[b.Type]
		if n := utf8.RuneCountInString(b.Text.Text); n > most || b.Type == "section" && strings.Trim(b.Text.Text, "\n") != strings.TrimSuffix(strings.Repeat(line+"\n", strings.Count(b.Text.Text, "•")), "\n") {
			t.Errorf("%s with %d characters: %q", b.Type, n, b.Text.Text)
		}
	}
}
