package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"myao/internal/chat"
)

// Describe says in plain lines what a call would do, so that people can decide about it: where, which
// tool, and every value of its input, a line for each key in the order in which the model wrote them.
// What has no form of its own, or changes the order in which a line is read, stands as its code. whole is
// false if that takes more than most characters: nobody can decide about what is not shown.
func Describe(server, tool string, input json.RawMessage, most int) (text string, whole bool) {
	name := strings.TrimPrefix(tool, server+chat.ServerSeparator)
	lines := []string{visible(server + " › " + name)}
	if len(bytes.TrimSpace(input)) > 0 {
		lines = append(lines, describe(input)...)
	}
	text = strings.Join(lines, "\n")
	return text, utf8.RuneCountInString(text) <= most
}

func describe(input json.RawMessage) []string {
	if !json.Valid(input) { // nothing may hide behind the object
		return []string{visible(string(input))}
	}
	decoder := json.NewDecoder(bytes.NewReader(input))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return []string{visible(string(input))}
	}
	var lines []string
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return []string{visible(string(input))}
		}
		shown := string(value)
		var s string
		if json.Unmarshal(value, &s) == nil && len(value) > 0 && value[0] == '"' {
			shown = s
		}
		lines = append(lines, fmt.Sprintf("• %s: %s", visible(fmt.Sprint(key)), visible(shown)))
	}
	return lines
}

// visible shows a text as it is, except for characters that cannot be seen or that reorder others.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("\n  ")
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp), r == utf8.RuneError,
			unicode.Is(unicode.Variation_Selector, r), r != ' ' && unicode.IsSpace(r) && r != '\u3000', r == '\u115f',
			r == '\u1160', r == '\u3164', r == '\uffa0':
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
