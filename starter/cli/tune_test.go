package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation/label"
	"myao/internal/operate/launch"
	"myao/internal/store"
)

// fingerprint is that of the prompt of judgments today.
func (o *ledgerBundle) fingerprint() (of string) {
	o.t.Helper()
	var stderr bytes.Buffer
	if status := launch.Command(o.t.Context(), "starter", o.config, &stderr, func(_ context.Context, p launch.Program) error {
		prompts, err := agents.Prompts(p.Config)
		if err == nil {
			of = prompts.JudgmentFingerprint()
		}
		return err
	}); status != 0 {
		o.t.Fatal(&stderr)
	}
	return of
}

func TestTuneCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "time_zone: UTC\nresponse: {min_confidence: 0.2}\nchannels: {random: {min_confidence: 0.7}}\n")
	ctx := t.Context()
	n := 0
	decide := func(times int, channel, prompt string, wanted bool, confidence float64, truth label.Truth) {
		t.Helper()
		for range times {
			n++
			key := fmt.Sprintf("r/%03d", n)
			o.must(o.Decide(ctx, store.Decision{
				Key: key, WorkflowID: chat.Conversation{Team: "T1", Channel: channel}.ID(), TriggerTS: o.ts(n), Source: "judgment", Wanted: wanted, Confidence: &confidence, Prompt: prompt, Outcome: "silent",
			}))
			if truth != "" {
				o.must(o.SaveLabel(ctx, store.Label{TeamID: "T1", ChannelID: channel, Decision: key, Truth: truth, LabelledBy: "cli:carol"}))
			}
		}
	}
	today := o.fingerprint()
	decide(5, "C2", "older", true, 0.5, label.Speak)
	decide(30, "C2", "older", false, 0.9, label.Silent)
	o.prints([]string{"tune"}, []string{"35 decisions since ", "everywhere  5      30", "too few labels to say which threshold is best: want 30 decisions"}, []string{"best 0", "paste"})
	decide(40, "C1", today, true, 0.8, label.Speak)
	decide(40, "C1", today, true, 0.6, label.Silent)
	decide(2, "C1", today, true, 0.6, label.Either)
	decide(1, "C1", today, true, 0.6, "")
	o.must(o.SaveHindsight(ctx, store.Decision{}, []store.Label{{TeamID: "T1", ChannelID: "C1", Decision: fmt.Sprintf("r/%03d", n), Kind: label.Unanswered, Truth: label.Speak, Weight: 0.3}}))

	// Above 0.6 and up to 0.8, five of all 45 are missed, which are those of C2, and none is false.
	file := filepath.Join(t.TempDir(), "tune.html")
	out := o.prints([]string{"tune", "--html", file}, []string{
		"115 decisions since ", "a false interruption costs 2, a missed intervention 1; left out: wait 0, either 2, labels that say nothing 1; ignored evidence: unanswered\n",
		"warning: the prompt has changed: 35 of 115 decisions are not by today's, " + today + ", but by older; what fits one prompt may not fit another; --since 20",
		"paste into the configuration:\n\nresponse:\n  min_confidence: 0.61\n",
	}, []string{"random\":"}) // its own threshold costs no more
	lines := squeezed(out)
	for _, want := range []string{
		"everywhere 45 70 100 % today 0.2 0.0 % (", "best 0.61 (", "#general 40 40 100 % today 0.2 0.0 % 100.0 % 1.000", "best 0.61 0.0 % 0.0 % 0.000", "#random 5 30 17 % today 0.7 100.0 % 0.0 % 0.060", "best 0.61 100.0 % 0.0 % 0.060",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	page, err := os.ReadFile(file)
	o.must(err)
	for _, want := range []string{
		`<title id="rates-1-0-title">#general: both error rates over min_confidence</title>`, "At 0.50: missed 0 %, false 100 %. At 0.75: missed 0 %, false 0 %. At 1.00: missed 100 %, false 0 %.", ">today 0.20</text>", ">best 0.61</text>",
		"<h2>By week</h2>", "<h3>week of 20", "5 to speak, 30 to be silent", "the prompt has changed",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}

	var r tuneReport
	o.must(json.Unmarshal([]byte(o.prints([]string{"tune", "--channel", "random", "--json"}, nil, nil)), &r))
	if len(r.Channels) != 1 || r.Channels[0].Channel != "C2" || r.Channels[0].Best.Threshold != 0.61 || *r.Channels[0].Best.MissedRate != 1 || r.YAML != "" || len(r.Warnings) != 1 || r.Either != 2 {
		t.Errorf("as JSON: %+v", r)
	}
	// Where a missed one costs most, all are answered but in C1, where none is missed either way.
	o.prints([]string{"tune", "--cost-missed", "100"}, []string{"\n\nchannels:\n  C1: # #general\n    min_confidence: 0.61\n  \"random\":\n    min_confidence: 0\n"}, []string{"response:"})
	o.fails(2, []string{"tune", "--cost-false", "0"}, "above 0")
	o.fails(1, []string{"tune", "--channel", "nowhere"}, "is not known")
}

// A week begins on Monday, in the zone of the configuration.
func TestWeeks(t *testing.T) {
	t.Parallel()
	l := labelled{config: config.Config{TimeZone: "Asia/Tokyo"}}
	for at, want := range map[string]string{"2026-03-01T14:59:59Z": "2026-02-23", "2026-03-01T15:00:00Z": "2026-03-02", "2026-03-04T03:00:00Z": "2026-03-02"} {
		decided, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		l.decisions = []store.Decision{{DecidedUS: decided.UnixMicro()}}
		if got := l.week(0); got != want {
			t.Errorf("%s is in the week of %s, want %s", at, got, want)
		}
	}
}
