package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/store"
)

// opinion saves what a judge says of a decision, as the worker does.
func (o *ledgerBundle) opinion(decision, channel string, op store.Opinion) {
	o.t.Helper()
	op.TeamID, op.ChannelID, op.Decision, op.Model, op.Wanted = "T1", channel, decision, "rival-model", op.ShouldRespond
	o.must(o.SaveSnapshot(o.t.Context(), store.Snapshot{Decision: decision, Team: "T1", Channel: channel, Data: []byte{0}, Read: time.Now()}))
	_, err := o.SaveOpinion(o.t.Context(), op)
	o.must(err)
	o.must(o.DropSnapshot(o.t.Context(), decision))
}

func TestShadowCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "time_zone: UTC\nllm: {prices: {rival-model: {input: 1, output: 10}}}\nshadow: {daily_calls: 50}\n")
	o.prints([]string{"shadow"}, []string{"calls today: 0 of 50; judgments waiting: 0\nno opinions"}, nil)
	sure := 0.7
	yes := store.Opinion{ShouldRespond: true, Confidence: &sure, Reason: "nobody \x1b[2Janswered", TokensIn: 1000, TokensOut: 100}
	no := store.Opinion{Confidence: &sure, Reason: "bob has it", TokensIn: 1000, TokensOut: 100}
	missed := label.Label{Kind: label.Mentioned, Weight: 0.9}
	first, last, elsewhere := o.message(0, ""), o.message(9, ""), o.message(5, "")
	elsewhere.Channel = "C2"
	o.record(first, conversation.Said)
	o.judged("d/1", first, true, 0.8)
	o.judged("d/2", o.message(3, ""), false, 0.8)
	o.judged("d/3", last, false, 0.8, missed)
	o.judged("d/4", elsewhere, true, 0.8)
	for decision, op := range map[string]store.Opinion{"d/1": yes, "d/2": no} {
		op.Judge = "rival"
		o.opinion(decision, "C1", op)
	}
	yes.Judge, no.Judge = "rival", "rival"
	o.opinion("d/4", "C2", no)
	o.opinion("d/3", "C1", yes)
	o.opinion("d/3", "C1", store.Opinion{Judge: "broken", Error: "auth"})
	// It counts as today's, even if midnight is near.
	o.must(o.SaveCall(t.Context(), store.Call{Purpose: "shadow", Ended: time.Now().AddDate(0, 0, 2)}))
	o.must(o.SaveSnapshot(t.Context(), store.Snapshot{Decision: "d/5", Team: "T1", Channel: "C1", Data: []byte{0}, Read: time.Now()}))

	o.prints([]string{"shadow"}, []string{
		"calls today: 1 of 50; judgments waiting: 1\n\nJUDGE   OPINIONS  FAILED    AGREES  KAPPA  ALONE SPEAKS  ALONE SILENT  RIGHT   FIRST RIGHT  TOKENS IN  TOKENS OUT  COST   FIRST'S COST\n",
		"broken  0         1 (auth)  –       –      0             0             –       –            0          0           0.00   0.00\n",
		"rival   4         0         50.0 %  0.00   1             1             1 of 1  0 of 1       4000       400         0.008  0.00\n",
		"Where they differ, the newest 2 of 2:", last.TS + " in #general; an answer was right\n  the first  silent  0.80  the model's reason\n  rival      speaks  0.70  nobody \\x1b[2Janswered\n",
		elsewhere.TS + " in #random\n  the first  speaks  0.80", "  rival      silent  0.70  bob has it\n",
	}, nil)
	o.prints([]string{"shadow", "--channel", "random", "--limit", "1"}, []string{"rival  1         0       0.0 %", elsewhere.TS}, []string{"broken", last.TS})
	page := filepath.Join(t.TempDir(), "shadow.html")
	o.prints([]string{"shadow", "--html", page}, []string{"rival"}, nil)
	html, err := os.ReadFile(page)
	o.must(err)
	for _, want := range []string{"<h2>rival</h2>", "the first judge, on the same", "<h2>rival by channel</h2>", "#general", "<h2>rival by week</h2>", "1 to speak, 0 to be silent"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	var r shadowReport
	o.must(json.Unmarshal([]byte(o.prints([]string{"shadow", "--limit", "1", "--json"}, []string{`"kappa": null`, `"judge": "rival"`, `"truth": "speak"`}, nil)), &r))
	if len(r.Judges) != 2 || r.Judges[1].Agreement.K != 2 || *r.Judges[1].Kappa != 0 || len(r.Disagreements) != 2 || r.Disagreements[0].Name != "general" || r.Disagreements[0].Second.Reason != yes.Reason || r.Waiting != 1 {
		t.Errorf("got %+v", r)
	}
	o.prints([]string{"why", "general", first.TS}, []string{"in shadow rival decided to answer, confidence 0.70: nobody \\x1b[2Janswered", "shadow of rival-model: 1000 tokens in, 100 out, 0s, cost 0.002"}, nil)
	o.prints([]string{"shadow", "--since", "2020-01-01", "--json"}, []string{`"daily_calls": 50`}, nil)
	o.fails(1, []string{"shadow", "--channel", "nowhere"}, "is not known")
	o.fails(2, []string{"shadow", "--limit", "0"}, "want 1 to")
}
