package eval

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// What people wrote, and the model, stands in a report as text.
func TestReportsShowWhatWasWrong(t *testing.T) {
	t.Parallel()
	rows := rowsOf(100, func(target Target, _ *rand.Rand) Verdict { return yes(0.8) })
	for i := range rows {
		rows[i].Verdict.Reason, rows[i].System, rows[i].Prompt = "<script>alert(1)</script> | a", "## Thread", "Judge."
	}
	run := Run{Header{V: 1, Count: 100, Repeat: 1, Answers: 100, Provider: "demo", Model: "demo", Prompt: "abc", MinConfidence: 0.7, Began: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, rows}
	var page, text bytes.Buffer
	if err := WriteHTML(&page, run); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&text, run); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"60 of 60", "0 of 40", "## Thread", "&lt;script&gt;",
		`aria-labelledby="rates-title rates-text"`, `<title id="rates-title">demo: both error rates over min_confidence</title>`, "At 0.50: missed 0 %, false 100 %. At 0.75: missed 0 %, false 100 %. At 1.00: missed 100 %, false 0 %. this run 0.70: missed",
		">error rate</text>", ">this run 0.70</text>", `stroke="var(--missed)"`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "<script") {
		t.Error("the page holds what the model wrote as markup")
	}
	for _, want := range []string{"| false interruptions | 100.0 % (60 of 60)", `&lt;script>alert(1)&lt;/script> \| a`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	if out := os.Getenv("REPORT"); out != "" {
		_ = os.WriteFile(out, page.Bytes(), 0o600)
	}
}
