package config

import (
	"reflect"
	"strings"
)

// superseded are keys of the documents that this program began with, and what took the place of each
// (docs/decisions/seeds.md).
var superseded = map[string]string{
	"message_limit": "response.channel_messages_limit took its place",
	"check_interval_seconds": "nothing is checked at intervals any more: response.min_wait_seconds and " +
		"response.max_wait_seconds say when a conversation is judged",
	"judgment_skip": "no judgment is skipped or repeated any more: each conversation is judged once, when it has been " +
		"quiet for response.min_wait_seconds",
}

// hint says what took the place of an unknown key, or suggests another: a key of the same section with a similar
// spelling, or else the same key in another section.
func hint(name string, section reflect.Type) string {
	if instead, ok := superseded[name]; ok {
		return "; " + instead
	}
	best, bestDistance := "", max(len(name)/3, 2)+1
	for _, key := range keysOf(section) {
		d := distance(strings.ToLower(name), key)
		if strings.HasPrefix(key, name+"_") || strings.HasSuffix(key, "_"+name) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = key, d
		}
	}
	if best == "" {
		best = elsewhere(name, reflect.TypeFor[Config](), "")
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// elsewhere returns the dotted key of the first field with the name below a section, or "".
func elsewhere(name string, section reflect.Type, at string) string {
	for key, field := range fields(section) {
		switch path := join(at, key); {
		case key == name:
			return path
		case field.Type.Kind() == reflect.Struct:
			if found := elsewhere(name, field.Type, path); found != "" {
				return found
			}
		}
	}
	return ""
}

// distance is the Levenshtein distance: the number of letters to change, add or remove.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
