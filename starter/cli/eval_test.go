package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"myao/internal/evaluate/eval"
)

// evalConfig is a configuration without what only Slack and other agents need.
const evalConfig = `
slack: {bot_token: "${NO_SUCH_TOKEN}"}
database: {url: "${NO_SUCH_DATABASE}"}
agents: {response: {provider: openai}, judgment: {provider: demo}}
`

const evalCases = `{"v":1,"id":"a","lang":"en","category":"question","channel":{"name":"ops"},"people":[{"id":"U1","name":"alice"}],"events":[{"at":0,"by":"U1","text":"who?"}],"judge_at":600,"target":"speak"}
{"v":1,"id":"b","lang":"en","category":"remark","channel":{"name":"ops"},"people":[{"id":"U1","name":"alice"}],"events":[{"at":0,"by":"U1","text":"well"}],"judge_at":600,"target":"silent"}
{"v":1,"id":"c","lang":"en","category":"question","channel":{"name":"ops"},"people":[{"id":"U1","name":"alice"}],"events":[{"at":0,"by":"U1","text":"what is this?"}],"judge_at":600,"target":"silent"}
`

const evalWorkspace = `{"person":{"id":"U1","name":"maya"}}
{"channel":{"id":"C1","name":"ops"}}
{"channel":{"id":"C2","name":"leads","private":true}}
{"message":{"id":"a","at":"2026-03-02T10:00:00Z","channel":"C1","by":"U1","text":"the boiler key is blue"}}
{"message":{"id":"b","at":"2026-03-02T11:00:00Z","channel":"C2","by":"U1","text":"the safe key is green"}}
{"question":{"id":"q","lang":"en","kind":"single","channel":"C1","by":"U1","text":"which colour has the key?","right":["a"],"hidden":["b"]}}
`

func TestEvalCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	config, cases := file("config.yaml", evalConfig), file("cases.jsonl", evalCases)
	faulty := file("faulty.jsonl", strings.Replace(strings.Replace(evalCases, `"by":"U1"`, `"by":"U9"`, 1), `"target":"silent"`, `"target":"quiet"`, 1))
	workspace := file("workspace.jsonl", evalWorkspace)
	other := file("other.jsonl", strings.SplitAfter(evalCases, "\n")[0])
	for _, step := range []struct {
		line   string
		status int
		stdout string // begins with it; empty: nothing
		says   []string
	}{
		{"check " + cases, 0, "3 cases: 1 speak, 2 silent, 0 either\n", nil},
		{"check " + faulty, 1, faulty + ":1: events.0.by: ", []string{`:2: target: value must be one of 'speak', 'silent', 'either'`, "2 faults in the case files"}},
		{"check " + cases + " " + other, 1, other, []string{`"a" stands in ` + cases}},
		{"run --config " + config + " " + faulty, 1, "", []string{":1: events.0.by: ", ":2: target: "}},
		{"run --config " + config + " --out " + in("a") + " --cache " + in("cache") + " " + cases, 0, "# How demo judges", []string{"| missed interventions | 0.0 % (0 of 1)", "3 of 3 judged"}},
		{"run --config " + config + " --out " + in("a") + " " + cases, 0, "# How demo judges", nil},
		{"run --config " + config + " --out " + in("a") + " --min-confidence 0.95 " + cases, 1, "", []string{"the folder holds a run of other cases"}},
		{"run --config " + config + " --out " + in("b") + " --min-confidence 0.95 --cache " + in("cache") + " --cached-only " + cases, 0, "# How demo judges", []string{"low_confidence 2"}},
		{"run --config " + config + " --cache " + in("empty") + " --cached-only " + cases, 1, "", []string{"its answer is not recorded"}},
		{"run --config " + config + " --json --fail-if false_rate>0.4 --fail-if missed_rate>=1 " + cases, 1, "{\n  \"cases\": 3,", []string{"--fail-if false_rate>0.4: it is 0.5"}},
		{"run --config " + config + " --json --category question --limit 1 --repeat 2 " + cases, 0, "{\n  \"cases\": 1,\n  \"answers\": 2,", nil},
		{"run --config " + config + " --fail-if wrong>1 " + cases, 2, "", []string{"there is no figure wrong; there are answers, balanced_accuracy"}},
		{"run --config " + config + " --fail-if false_rate " + cases, 2, "", []string{"want a figure, one of > >= < <=, and a number"}},
		{"run --config " + config + " --agent memory " + cases, 2, "", []string{"memories cannot be measured yet"}},
		{"run --config " + config + " --provider openai " + cases, 1, "", []string{"llm.openai.api_key"}},
		{"run --config " + config + " --provider openai --model m --cache " + in("empty") + " --cached-only " + cases, 1, "", []string{"its answer is not recorded"}},
		{"compare " + in("a") + " " + in("b"), 0, "3 answers: A alone is right in 1, B alone in 1; p = 1.0000", []string{"question"}},
		{"report " + in("a"), 0, "# How demo judges", nil},
		{"report " + in("a") + " --html " + in("a.html") + " --md " + in("a.md"), 0, "", nil},
		{"recall --mode search " + workspace, 0, "| search | questions |", []string{"| all | 1 | 100.0 % |"}},
		{"recall --mode both --json " + workspace, 0, "[\n  {\n    \"mode\": \"both\",", []string{`"leaks": 0`}},
		{"recall " + workspace, 0, "| summaries | questions |", []string{"| both | questions |"}},
		{"recall --mode none " + workspace, 2, "", []string{`--mode must be one of "all","summaries","search","both"`}},
		{"recall " + cases, 1, "", []string{cases + `:1: json: unknown field`}},
		{"run --config " + config + " --out " + in("c") + " " + other, 0, "# How demo judges", nil},
		{"compare --json " + in("a") + " " + in("c"), 1, "{\n  \"compared\": false,", []string{"not compared: the runs are of different cases"}},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"eval"}, strings.Fields(step.line)...), &stdout, &stderr)
		out := stdout.String()
		if status != step.status || !strings.HasPrefix(out, step.stdout) || step.stdout == "" && out != "" {
			t.Errorf("%s: status %d, %q\n%s", step.line, status, out, &stderr)
		}
		for _, want := range step.says {
			if !strings.Contains(out+stderr.String(), want) {
				t.Errorf("%s: %s%s\nlacks %q", step.line, out, &stderr, want)
			}
		}
		if strings.Contains(step.line, "--json") && strings.HasPrefix(step.line, "run") {
			var f eval.Figures
			if err := json.Unmarshal(stdout.Bytes(), &f); err != nil || f.Cases == 0 {
				t.Errorf("%s: standard output is not one JSON object: %v\n%s", step.line, err, out)
			}
		}
	}
	for name, begins := range map[string]string{"a.html": "<!doctype html>", "a.md": "# How demo judges"} {
		if body, err := os.ReadFile(in(name)); err != nil || !strings.HasPrefix(string(body), begins) {
			t.Errorf("%s: %.40s, %v", name, body, err)
		}
	}
}
