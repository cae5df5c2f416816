package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	for input, want := range map[string]string{
		`{"title":"Printer","n":2,"tags":["a","b"],"more":{"x":null}}`: "desk › create\n• title: Printer\n• n: 2\n• tags: [\"a\",\"b\"]\n• more: {\"x\":null}",
		`{"b":1,"a":2}`:                        "desk › create\n• b: 1\n• a: 2",
		`{}`:                                   "desk › create",
		``:                                     "desk › create",
		`{"a":1} {"b":2}`:                      "desk › create\n{\"a\":1} {\"b\":2}",
		`[1]`:                                  "desk › create\n[1]",
		"{\"a\":\"x\\u202ey\\u0000\\u200bz\"}": "desk › create\n• a: x[U+202E]y[U+0000][U+200B]z",
		`{"a":"one\n• b: two"}`:                "desk › create\n• a: one\n  • b: two",
		`{"a":"<!channel> <@U1> :smile:"}`:     "desk › create\n• a: <!channel> <@U1> :smile:",
		`{"a":`:                                "desk › create\n{\"a\":",
	} {
		if got, whole := Describe("desk", "desk__create", json.RawMessage(input), 200); got != want || !whole {
			t.Errorf("%s: %q, %v; want %q", input, got, whole, want)
		}
	}
	if _, whole := Describe("desk", "desk__create", json.RawMessage(`{"a":"`+strings.Repeat("あ", 190)+`"}`), 200); whole {
		t.Error("what is too long counts as whole")
	}
}
