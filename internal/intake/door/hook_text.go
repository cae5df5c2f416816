package door

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"

	"myao/internal/slack"
)

const (
	// maxHookText is how many characters of an event are kept, maxHookValue those of one of its values.
	maxHookText, maxHookValue = 4000, 500
	// maxHookDepth is how deep objects in an event may lie.
	maxHookDepth = 8
)

// telling are the keys that say the most, in the order in which they come first.
var telling = []string{"action", "event", "type", "title", "name", "message", "text", "status", "state", "conclusion",
	"number", "identifier", "id", "result", "merged", "summary", "description", "body", "url", "html_url"}

// hookText writes an event as a text for people and models: a line "key: value" for each value of its JSON, those that
// say the most first. What is no JSON is kept as it is.
func hookText(contentType string, body []byte) string {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "application/x-www-form-urlencoded" {
		if form, err := url.ParseQuery(string(body)); err == nil && form.Get("payload") != "" { // GitHub's other form
			body = []byte(form.Get("payload"))
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var event any
	if err := d.Decode(&event); err != nil || d.More() {
		return slack.Clip(strings.ToValidUTF8(string(body), "�"), maxHookText)
	}
	lines := hookLines(nil, "", event, 0)
	slices.SortStableFunc(lines, func(a, b hookLine) int { return a.rank - b.rank })
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return slack.Clip(strings.TrimSpace(b.String()), maxHookText)
}

type hookLine struct {
	// rank orders lines: telling keys, the outer ones first, then all others.
	rank int
	text string
}

// hookLines adds the lines of a value at a dotted key.
func hookLines(lines []hookLine, key string, value any, depth int) []hookLine {
	if len(lines) > maxHookText { // more than fit
		return lines
	}
	switch v := value.(type) {
	case map[string]any:
		if depth == maxHookDepth {
			return lines
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			lines = hookLines(lines, strings.TrimPrefix(key+"."+k, "."), v[k], depth+1)
		}
		return lines
	case []any:
		if depth == maxHookDepth {
			return lines
		}
		for i, item := range v {
			lines = hookLines(lines, fmt.Sprintf("%s[%d]", key, i), item, depth+1)
		}
		return lines
	case nil:
		return lines
	}
	text := strings.TrimSpace(fmt.Sprint(value))
	if text == "" {
		return lines
	}
	rank := len(telling) * (maxHookDepth + 1)
	if i := slices.Index(telling, key[strings.LastIndexByte(key, '.')+1:]); i >= 0 {
		rank = i + len(telling)*max(0, depth-1)
	}
	text = slack.Clip(text, maxHookValue)
	if key != "" {
		text = slack.Clip(key, 200) + ": " + text
	}
	return append(lines, hookLine{rank, text})
}
