package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/store"
)

// judged saves a verdict of the model about the newest message of a conversation, made now, with evidence.
func (o *ledgerBundle) judged(key string, m chat.Message, wanted bool, confidence float64, evidence ...label.Label) {
	o.t.Helper()
	c := chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}
	d := store.Decision{Key: key, WorkflowID: c.ID(), TriggerTS: m.TS, Source: "judgment", Wanted: wanted, ShouldRespond: wanted, Confidence: &confidence, Reason: "the model's reason", Outcome: conversation.Silent}
	o.must(o.Decide(o.t.Context(), d))
	var labels []store.Label
	for _, e := range evidence {
		labels = append(labels, store.Label{TeamID: m.Team, ChannelID: m.Channel, Decision: key, Kind: e.Kind, Truth: e.Kind.Truth(), Weight: e.Weight})
	}
	o.must(o.SaveHindsight(o.t.Context(), store.Decision{}, labels))
}

// types runs a command that asks, with a person's lines.
func (o *ledgerBundle) types(c command, lines string) string {
	o.t.Helper()
	var stdout, stderr bytes.Buffer
	p := &program{name: "starter", path: o.config, stdin: strings.NewReader(lines), stdout: &stdout, stderr: &stderr}
	if status := p.do(o.t.Context(), c, true); status != 0 {
		o.t.Errorf("status %d, %s", status, &stderr)
	}
	return stdout.String()
}

func TestLabelCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "time_zone: UTC\n")
	ctx := t.Context()
	o.must(o.SaveChannel(ctx, "T1", store.Channel{ID: "C2", Name: "random", Private: true}))
	o.must(o.SaveUsers(ctx, "T1", store.User{ID: "U1", Name: "Ada"}, store.User{ID: "U2", Name: "Bob"}))
	before, trigger, after := o.message(0, ""), o.message(5, ""), o.message(7200, "")
	before.Text, trigger.Text, after.Text = "well, <@U2>", "who can restart it?", "I can\x1b"
	after.UserID = "U2"
	for _, m := range []chat.Message{before, trigger, after} {
		o.record(m)
	}
	o.must(o.PutReaction(ctx, store.Reaction{Team: "T1", Channel: "C1", TS: trigger.TS, User: "U2", Name: "eyes", At: o.began}))
	hidden, direct := o.message(0, ""), o.message(0, "")
	hidden.Channel, direct.Channel, hidden.Text, direct.Text = "C2", "D1", "behind doors", "between us"
	o.record(hidden)
	o.record(direct)
	o.judged("gone", o.message(1, ""), true, 0.5) // its message is not stored
	o.judged("a", trigger, true, 0.9, label.Label{Kind: label.Answered, Weight: 0.6})
	o.judged("p", hidden, false, 0.9)
	o.judged("d", direct, false, 0.9)

	asked := o.types(&labelCommand{Ask: 5, byFlag: byFlag{By: "carol"}}, "what?\n")
	day := trigger.Time().UTC()
	for _, want := range []string{
		"1 of 5: #general, ", "  " + before.Time().UTC().Format("15:04:05") + "  Ada: well, @Bob\n", "  " + day.Format("15:04:05") + "  Ada: who can restart it? (:eyes: Bob)\n  ── here it decided ──\n", `Bob: I can\x1b`,
		"q: quit: should the bot have spoken there?", "0 of 1 labelled\n",
	} {
		if !strings.Contains(asked, want) {
			t.Errorf("lacks %q:\n%s", want, asked)
		}
	}
	for _, secret := range []string{"reason", "0.9", "behind doors", "between us"} {
		if strings.Contains(asked, secret) {
			t.Errorf("shows %q:\n%s", secret, asked)
		}
	}
	if got := o.types(&labelCommand{Ask: 5, byFlag: byFlag{By: "carol"}}, "S\n"); !strings.HasSuffix(got, "there are no more such decisions\n1 of 1 labelled\n") {
		t.Errorf("says %q", got)
	}
	all, err := o.LabelsOf(ctx, []string{"a"})
	o.must(err)
	if n := len(all); n != 2 || all[0].Truth != label.Speak || all[0].LabelledBy != "cli:carol" || all[0].ChannelID != "C1" {
		t.Errorf("saved %+v", all)
	}
	asked = o.types(&labelCommand{Ask: 5, Private: true}, "k\nq\n") // what is labelled is not asked again
	if strings.Contains(asked, "who can restart") || !strings.Contains(asked, "behind doors") || !strings.Contains(asked, "between us") || !strings.HasSuffix(asked, "0 of 2 labelled\n") {
		t.Errorf("with private channels:\n%s", asked)
	}

	// Nine more decisions. People agree with two of them, and not with the first one: that makes 2 of 10.
	for i := range 9 {
		key, truth := fmt.Sprint("n", i), label.Speak
		if i < 2 {
			truth = label.Silent
		}
		o.judged(key, trigger, false, 0.5, label.Label{Kind: label.Answered, Weight: 0.6}, label.Label{Kind: label.Unanswered, Weight: 0.3})
		o.must(o.SaveLabel(ctx, store.Label{TeamID: "T1", ChannelID: "C1", Decision: key, Truth: truth, LabelledBy: "cli:carol"}))
	}
	o.judged("z", trigger, false, 0.5, label.Label{Kind: label.Waited, Weight: 0.6}, label.Label{Kind: label.Mentioned, Weight: 0.9})
	lines := squeezed(o.prints([]string{"label"}, nil, nil))
	for _, want := range []string{
		"EVIDENCE SAYS LABELS PEOPLE AGREE WEIGHT",
		"mentioned speak 1 – an assumption, until people have checked 5",
		"unanswered speak 9 77.8 % (7 of 9; 95 %: 45.3 to 93.7) 0.78, measured",
		"answered silent 10 20.0 % (2 of 10; 95 %: 5.7 to 51.0) ignored: people agree with fewer than 70 %",
		"waited wait 1 – told apart",
		"people have said: speak 8, silent 2, either 0",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("lacks %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
	var r labelReport
	o.must(json.Unmarshal([]byte(o.prints([]string{"label", "--json"}, nil, nil)), &r))
	if k := r.Kinds[3]; k.Kind != label.Answered || !k.Ignored || !k.Measured || k.Labels != 10 || k.Precision.K != 2 || r.People[label.Speak] != 8 {
		t.Errorf("as JSON: %+v", r)
	}
	o.fails(2, []string{"label", "--channel", "general"}, "need --ask")
	o.fails(2, []string{"label", "--ask", "3", "--json"}, "without --ask")
}
