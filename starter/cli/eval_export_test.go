package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/store"
)

func TestExportLedger(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "")
	ctx := t.Context()
	o.fails(1, []string{"eval", "export-ledger"}, "ask Slack who the bot is")
	own := o.message(1, "")
	own.Own, own.UserID, own.Text = true, "U0MYAO", "hello"
	o.record(own)
	o.fails(1, []string{"eval", "export-ledger", "--since", "2d"}, "nothing was exported: no decision since ")

	o.must(o.SaveChannel(ctx, "T1", store.Channel{ID: "C3", Name: "leads", Private: true}))
	for i, channel := range []string{"C1", "C1", "C2", "C3"} {
		m := o.message(10+i, "")
		m.Channel, m.Text = channel, "Can <@U1> call +49 151 4711?"
		o.record(m, conversation.Said)
		d := store.Decision{Key: "r/" + m.TS, WorkflowID: chat.Conversation{Team: "T1", Channel: channel}.ID(), TriggerTS: m.TS, Source: "rule", Outcome: conversation.Silent, ReadUS: o.began.Add(time.Duration(20+i) * time.Second).UnixMicro()}
		o.must(o.Decide(ctx, d))
		o.must(o.SaveHindsight(ctx, d, []store.Label{{TeamID: "T1", ChannelID: channel, Decision: d.Key, Kind: label.Mentioned, Truth: label.Speak, Weight: 0.9}}))
	}
	o.fails(1, []string{"eval", "export-ledger", "--channel", "leads"}, "nothing was exported: left out are 1 in private or shared channels; --private exports private channels, too")
	o.fails(2, []string{"eval", "export-ledger", "--force"}, "--force needs --out")
	o.fails(2, []string{"eval", "export-ledger", "--limit", "0"}, "--limit 0: want 1 to 10000")
	o.fails(1, []string{"eval", "export-ledger", "--out", t.TempDir()}, "is no file")

	file := filepath.Join(t.TempDir(), "own.jsonl")
	const saved = "3 cases: 3 speak, 0 silent, 0 either; left out: 1 in private or shared channels\n"
	if status, out, err := o.command("eval", "export-ledger", "--out", file, "--by", "carol"); status != 0 || out != "" || err != saved {
		t.Errorf("status %d, %q, %q", status, out, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	o.prints([]string{"eval", "check", file}, []string{"3 cases: 3 speak, 0 silent, 0 either"}, nil)
	o.prints([]string{"eval", "run", file, "--provider", "demo"}, []string{"missed interventions | 0.0 % (0 of 3)"}, []string{" 4711"})
	o.prints([]string{"why", "general"}, []string{"cli:carol ordered: export 2 cases"}, nil)
	o.prints([]string{"why", "random"}, []string{"cli:carol ordered: export 1 case"}, nil)
	o.prints([]string{"why", "leads"}, nil, []string{"export"})

	o.fails(1, []string{"eval", "export-ledger", "--out", file}, "exists already")
	if status, _, err := o.command("eval", "export-ledger", "--out", file, "--force", "--private", "--no-text", "--limit", "1", "--by", "dave"); status != 0 {
		t.Error(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"private":true`) || strings.Contains(string(text), "call") {
		t.Errorf("%s, %v", text, err)
	}
	o.prints([]string{"why", "leads"}, []string{"cli:dave ordered: export 1 case without texts"}, nil)
	o.prints([]string{"eval", "export-ledger", "--channel", "general"}, []string{`{"v":1,"id":"ledger/`, "call +NN NNN NNNN?"}, []string{" 4711"})
}
