package eval

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/store"
	"myao/test/storetest"
	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func shippedWorkspace(t *testing.T) Workspace {
	t.Helper()
	w, err := ReadWorkspace(workspaceDir+"workspace.jsonl", workspaceDir+"en.jsonl", workspaceDir+"ja.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The floors are somewhat below what docs/judgment-results.md tells.
func TestRecall(t *testing.T) {
	t.Parallel()
	w := shippedWorkspace(t)
	reports, err := MeasureRecall(t.Context(), w, []Mode{Summaries, Search, Both}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		for _, row := range r.Rows {
			if len(row.Leaks) > 0 {
				t.Errorf("%s, %s: the prompt or the search holds %q", r.Mode, row.Question, row.Leaks)
			}
		}
		if t.Failed() || testing.Verbose() {
			var table bytes.Buffer
			_ = r.WriteMarkdown(&table) // a buffer takes everything
			t.Log("\n" + table.String())
		}
	}
	summaries, search, both := reports[0], reports[1], reports[2]
	for i, group := range both.Groups {
		if group.Recall.K < max(summaries.Groups[i].Recall.K, search.Groups[i].Recall.K) {
			t.Errorf("%s: both find %d, summaries alone %d, search alone %d", group.Name, group.Recall.K, summaries.Groups[i].Recall.K, search.Groups[i].Recall.K)
		}
	}
	for name, floor := range map[string]struct{ within8, anywhere, mrr float64 }{
		"all": {0.88, 0.92, 0.78}, "en": {0.90, 0.92, 0.80}, "ja": {0.85, 0.92, 0.74}, "update": {0.95, 1, 0.60}, "multi": {0.80, 0.85, 0.90},
	} {
		i := slices.IndexFunc(both.Groups, func(g RecallFigures) bool { return g.Name == name })
		if g := both.Groups[i]; *g.Recall8.Value < floor.within8 || *g.Recall.Value < floor.anywhere || *g.MRR < floor.mrr {
			t.Errorf("%s: %.3f of the right messages are among the first 8, %.3f are there at all, the MRR is %.3f; want %v", name, *g.Recall8.Value, *g.Recall.Value, *g.MRR, floor)
		}
	}
}

// In a workspace where everything is public and nothing deleted, what is hidden in the shipped one is
// found, and counts as a leak.
func TestLeaksAreSeen(t *testing.T) {
	t.Parallel()
	w := shippedWorkspace(t)
	w.Questions = slices.DeleteFunc(w.Questions, func(q RecallQuestion) bool { return len(q.Hidden) == 0 })
	open := w
	open.Channels, open.Messages = slices.Clone(w.Channels), slices.Clone(w.Messages)
	for i := range open.Channels {
		open.Channels[i].Private, open.Channels[i].Shared, open.Channels[i].Guest = false, false, ""
	}
	for i := range open.Messages {
		open.Messages[i].Deleted = time.Time{}
	}
	rows := map[Mode][]RecallRow{}
	if err := measureRecall(t.Context(), storetest.Open(t), open, w, []Mode{Search}, rows, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows[Search] {
		if hidden := w.Questions[i].Hidden[0]; !slices.Contains(row.Leaks, hidden) {
			t.Errorf("%s: %s is not found: %q", row.Question, hidden, row.Leaks)
		}
	}
}

func TestRecallIsTheSameOnPostgres(t *testing.T) {
	t.Parallel()
	w := shippedWorkspace(t)
	// it is the same code
	w.Questions = slices.DeleteFunc(w.Questions, func(q RecallQuestion) bool { return !strings.HasSuffix(q.ID, "3") })
	want, got := map[Mode][]RecallRow{}, map[Mode][]RecallRow{}
	postgres := storetest.OpenURL(t, testserver.Postgres(t))
	for s, rows := range map[*store.Store]map[Mode][]RecallRow{storetest.Open(t): want, postgres: got} {
		if err := measureRecall(t.Context(), s, w, w, []Mode{Search}, rows, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	for i, row := range want[Search] {
		if !reflect.DeepEqual(got[Search][i], row) {
			t.Errorf("Postgres: %+v\nSQLite: %+v", got[Search][i], row)
		}
	}
}

func TestWorkspaceFaults(t *testing.T) {
	t.Parallel()
	const people = `{"person":{"id":"U1","name":"maya"}}
{"channel":{"id":"C1","name":"ops"}}
{"channel":{"id":"C2","name":"leads","private":true}}
`
	const message = `{"message":{"id":"a","at":"2026-03-02T10:00:00Z","channel":"C1","by":"U1","text":"the key is blue"}}
`
	const question = `{"question":{"id":"q","lang":"en","kind":"single","channel":"C1","by":"U1","text":"which key?","right":["a"]}}
`
	for _, tt := range []struct{ content, says string }{
		{people + message + question, ""},
		{"{}", ":1: a person, a channel, a message or a question is expected"},
		{people + `{"message":{"colour":"blue"}}`, `:4: json: unknown field "colour"`},
		{people + message + message + question, `message "a": the id stands twice, or is empty`},
		{people + message, "people, channels, messages and questions are expected"},
		{people + question, "people, channels, messages and questions are expected"},
		{people + `{"channel":{"id":"D1","guest":"U1"}}` + "\n" + message + question, `message "a": "U1" is a guest`},
		{people + strings.Replace(message, "C1", "C9", 1) + question, `message "a": channel "C9" or person "U1" is not in the files`},
		{people + strings.Replace(message, "blue", "*blue*", 1) + question, `message "a": the text is empty, or has`},
		{people + message + strings.NewReplacer(`"a"`, `"b"`, "the key is blue", "the key").Replace(message) + question, `contains that of "a"`},
		{people + strings.Replace(message, `"by"`, `"thread":"a","by"`, 1) + question, `thread "a" is no earlier message`},
		{people + strings.Replace(message, `"by"`, `"deleted":"2026-03-02T09:00:00Z","by"`, 1) + question, `is deleted before it is sent`},
		{people + strings.Replace(message, "C1", "C2", 1) + question, `question "q": message "a" cannot be seen`},
		{people + message + strings.Replace(question, "right", "hidden", 1), `question "q": message "a" can be seen`},
		{people + message + strings.Replace(question, `["a"]`, `["b"]`, 1), `question "q": there is no message "b"`},
	} {
		path := filepath.Join(t.TempDir(), "w.jsonl")
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWorkspace(path); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s\ngot %v\nwant %q", tt.content, err, tt.says)
		}
	}
}
