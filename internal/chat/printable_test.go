package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

// What cannot be seen, or turns the order of reading, is taken out; what a script or an emoji needs stays.
func TestPrintable(t *testing.T) {
	t.Parallel()
	var hidden []rune
	for _, r := range [][2]rune{
		{0, 8}, {0xe, 0x1b}, {0x7f, 0x84}, {0x86, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f}, {0x202a, 0x202e},
		{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0d}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffc}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	} {
		for c := r[0]; c <= r[1]; c++ {
			hidden = append(hidden, c)
		}
	}
	for _, r := range hidden {
		if got := Printable("a" + string(r) + "b"); got != "ab" {
			t.Errorf("U+%04X stays: %q", r, got)
		}
		raw, _ := json.Marshal("a" + string(r) + "b")
		if got := string(PrintableJSON(raw)); got != `"ab"` {
			t.Errorf("U+%04X stays in JSON: %s", r, got)
		}
	}
	for _, s := range []string{"", "plain\ttext\n", "👩\u200d💻 ☕\ufe0f", "می\u200cخواهم", "café", "水曜日（火）", "٣\u0600"} {
		if got := Printable(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := Printable("a\u2028b\u2029c\r\nd"); got != "a\nb\nc\nd" {
		t.Errorf("line breaks: %q", got)
	}
}

func FuzzPrintableJSON(f *testing.F) {
	for _, seed := range []string{`{"z":"a\u202eb","a\udb40\udc41":[1.50,"\"\\",null]}`, `"a\u2028"`, "not\u202e json", `{"a":"<b>&"}`, `"\ud800"`, ``, "\"\\u202e\x01\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := PrintableJSON([]byte(raw))
		if again := PrintableJSON(got); string(again) != string(got) {
			t.Errorf("%q became %q, then %q", raw, got, again)
		}
		if !json.Valid([]byte(raw)) {
			return
		}
		var value any
		if err := json.Unmarshal(got, &value); err != nil {
			t.Fatalf("%q became %q: %v", raw, got, err)
		}
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case string:
				if Printable(v) != v {
					t.Errorf("%q became %q", raw, got)
				}
			case []any:
				for _, inner := range v {
					walk(inner)
				}
			case map[string]any:
				for key, inner := range v {
					walk(key)
					walk(inner)
				}
			}
		}
		walk(value)
		if !strings.ContainsAny(raw, `"`) && string(got) != raw {
			t.Errorf("%q became %q", raw, got)
		}
	})
}
