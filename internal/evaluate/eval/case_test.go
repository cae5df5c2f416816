package eval

import (
	"strings"
	"testing"
)

const goodCase = `{"v":1,"id":"en/a","lang":"en","category":"question","channel":{"name":"ops"},"people":[{"id":"U1","name":"alice"},{"id":"U2","name":"bob"}],` +
	`"events":[{"at":0,"by":"U1","text":"Who can restart staging?"},{"at":40,"react":"対応中::skin-tone-3","by":"U2","to":0},{"at":50,"by":"U2","text":"on it","thread":0},{"at":60,"edit":2,"text":"on it now"}],` +
	`"judge_at":340,"target":"silent"}`

func TestReadCases(t *testing.T) {
	t.Parallel()
	cases, err := Read("x.jsonl", strings.NewReader(goodCase+"\n\n"+strings.Replace(goodCase, "en/a", "en/b", 1)))
	if err != nil || len(cases) != 2 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	c := cases[0]
	if c.Cluster != "en/a" || len(c.Events) != 4 || *c.Events[1].To != 0 || *c.Events[2].Thread != 0 || *c.Events[3].Edit != 2 || c.Events[1].Message() || !c.Events[2].Message() {
		t.Errorf("read as %+v", c)
	}
}

// Each fault is told with its line and its key, all of a file at once.
func TestReadTellsEachFault(t *testing.T) {
	t.Parallel()
	with := func(old, replacement string) string { return strings.Replace(goodCase, old, replacement, 1) }
	for _, test := range []struct {
		name, line string
		want       []string
	}{
		{"no JSON", `{"v":1`, []string{"x.jsonl:1: not one JSON object"}},
		{"unknown key", with(`"lang"`, `"langg":1,"lang"`), []string{"langg"}},
		{"missing keys", `{"v":1,"id":"a"}`, []string{"lang", "category", "channel", "people", "events", "target"}},
		{"another version", with(`"v":1`, `"v":2`), []string{"x.jsonl:1: v: "}},
		{"an emoji with colons", with(`対応中::skin-tone-3`, `:eyes:`), []string{"events.1.react"}},
		{"wrong type", with(`"at":0`, `"at":"0"`), []string{"x.jsonl:1: events.0.at: got string, want number"}},
		{"target", with(`"silent"`, `"quiet"`), []string{"target: value must be one of 'speak', 'silent', 'either'"}},
		{"stranger", with(`"by":"U1"`, `"by":"U9"`), []string{`events.0.by: "U9" is none of people`}},
		{"index ahead", with(`"to":0`, `"to":2`), []string{"events.1.to: 2: the index of a message before this event"}},
		{"index of a reaction", with(`"thread":0`, `"thread":1`), []string{"events.2.thread: 1: the index of a message"}},
		{"out of order", with(`"at":40`, `"at":400`), []string{"events.2.at: 50 is before the event above, at 400"}},
		{"judged before", with(`"judge_at":340`, `"judge_at":0`), []string{"judge_at: 0: a time after the first message"}},
		{"played and judged", with(`"judge_at":340`, `"judge_at":340,"play":true`), []string{"judge_at: a played case has none"}},
		{"no window", with(`"judge_at":340,"target":"silent"`, `"play":true,"target":"speak"`), []string{"window: missing"}},
		{"window without play", with(`"judge_at":340`, `"judge_at":340,"window":[1,2]`), []string{"window: only a played case has one"}},
		{"two faults", strings.Replace(with(`"by":"U1"`, `"by":"U9"`), `"to":0`, `"to":3`, 1), []string{"events.0.by", "events.1.to"}},
		{"own by somebody", with(`"by":"U1"`, `"own":true,"by":"U1"`), []string{"events.0.own"}},
	} {
		_, err := Read("x.jsonl", strings.NewReader(test.line))
		if err == nil {
			t.Errorf("%s: no fault", test.name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nlacks %q", test.name, err, want)
			}
		}
	}
	_, err := Read("x.jsonl", strings.NewReader(goodCase+"\n"+goodCase+"\n{}"))
	if faults := Faults(err); len(faults) != 2 || faults[0].Line != 2 || faults[0].Key != "id" || faults[1].Line != 3 {
		t.Errorf("faults of three lines: %v", err)
	}
	if _, err := Read("x.jsonl", strings.NewReader("")); err == nil {
		t.Error("an empty file has no fault")
	}
}
