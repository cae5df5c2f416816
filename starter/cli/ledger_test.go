package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/operate/launch"
	"myao/internal/operate/timeline"
	"myao/internal/store"
	"myao/test/startertest"
	"myao/test/storetest"
)

// ledgerBundle is a database for commands, without Slack and Temporal.
type ledgerBundle struct {
	*store.Store
	t      *testing.T
	config string
	began  time.Time
}

// newDatabase returns a migrated database and its URL.
func newDatabase(t *testing.T) (*store.Store, string) {
	t.Helper()
	url := storetest.SQLite(t)
	return storetest.OpenURL(t, url), url
}

func newLedgerBundle(t *testing.T, settings string) *ledgerBundle {
	t.Helper()
	s, url := newDatabase(t)
	o := &ledgerBundle{Store: s, t: t, config: startertest.Configuration(t, "127.0.0.1:0", url, "http://"+startertest.Nowhere+"/api/", ""), began: time.Now().Add(-time.Hour).Truncate(time.Second)}
	text, err := os.ReadFile(o.config)
	if err == nil {
		err = os.WriteFile(o.config, append(text, settings...), 0o600)
	}
	o.must(err)
	_, err = s.SyncChannels(t.Context(), "T1", []store.Channel{{ID: "C1", Name: "general"}, {ID: "C2", Name: "random"}})
	o.must(err)
	return o
}

func (o *ledgerBundle) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// ts returns the ts of a message n seconds after the beginning.
func (o *ledgerBundle) ts(n int) string { return chat.TS(o.began.Add(time.Duration(n) * time.Second)) }

func (o *ledgerBundle) message(n int, thread string) chat.Message {
	return chat.Message{Team: "T1", Channel: "C1", TS: o.ts(n), ThreadTS: thread, UserID: "U1", Text: "secret \x1b[2J"}
}

// record stores a message as its event would, and relays it.
func (o *ledgerBundle) record(m chat.Message, kinds ...conversation.Kind) {
	o.t.Helper()
	c := chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}
	_, err := o.Record(o.t.Context(), m, func(store.Known) store.Entry {
		e := store.Entry{Message: &m, Handled: true}
		for _, kind := range kinds {
			e.Changes = append(e.Changes, store.Change{Conversation: c, Change: conversation.Change{TS: m.TS, Kind: kind}})
		}
		return e
	})
	o.must(err)
	waiting, err := o.PendingChanges(o.t.Context(), c.ID(), 10)
	o.must(err)
	for _, w := range waiting {
		o.must(o.MarkRelayed(o.t.Context(), []int64{w.ID}))
	}
}

// command runs a command of the starter.
func (o *ledgerBundle) command(args ...string) (status int, stdout, stderr string) {
	o.t.Helper()
	var out, err bytes.Buffer
	status = run(o.t.Context(), append(args, "--config", o.config), &out, &err)
	return status, out.String(), err.String()
}

// prints checks that a command succeeds, and what its output contains and lacks.
func (o *ledgerBundle) prints(args, has, lacks []string) string {
	o.t.Helper()
	status, out, err := o.command(args...)
	if status != 0 {
		o.t.Errorf("%q: status %d, %s", args, status, err)
	}
	for _, part := range has {
		if !strings.Contains(out, part) {
			o.t.Errorf("%q lacks %q:\n%s", args, part, out)
		}
	}
	for _, part := range append(lacks, "\x1b") {
		if strings.Contains(out, part) {
			o.t.Errorf("%q prints %q:\n%s", args, part, out)
		}
	}
	if slices.Contains(args, "--json") {
		checkKeys(o.t, args, out)
	}
	return out
}

// ids returns the ids in what a command lists as JSON.
func (o *ledgerBundle) ids(command string, flags ...string) (ids []string) {
	o.t.Helper()
	var reports []struct {
		ID string `json:"id"`
	}
	o.must(json.Unmarshal([]byte(o.prints(append([]string{command, "list", "--json"}, flags...), nil, nil)), &reports))
	for _, r := range reports {
		ids = append(ids, r.ID)
	}
	return ids
}

// squeezed returns the lines of a table, with one space between words.
func squeezed(table string) (lines []string) {
	for line := range strings.SplitSeq(table, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// fails checks the exit status of a command and its one-line error.
func (o *ledgerBundle) fails(status int, args []string, part string) {
	o.t.Helper()
	got, out, err := o.command(args...)
	if got != status || out != "" || !strings.Contains(err, part) || status == 1 && strings.Count(err, "\n") != 1 {
		o.t.Errorf("%q: status %d, want %d with %q: %s%s", args, got, status, part, out, err)
	}
}

func TestWhyCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "llm: {prices: {small: {input: 1, output: 10}}}\n")
	ctx := t.Context()
	first, second, root, reply := o.message(0, ""), o.message(5, ""), o.message(60, ""), o.message(61, o.ts(60))
	o.record(first, conversation.Said)
	o.record(second, conversation.Said)
	o.record(root, conversation.Said)
	o.record(reply, conversation.Said)
	bot := o.message(7, "")
	bot.UserID, bot.BotID, bot.Name = "", "B1", "herald"
	o.record(bot)
	old := o.message(-7*24*3600, "")
	o.must(o.SaveHistory(ctx, []chat.Message{old}))
	o.must(o.SaveUsers(ctx, "T1", store.User{ID: "U1", Name: "Ada", Refreshed: o.began}))
	sure := 0.9
	top := chat.Conversation{Team: "T1", Channel: "C1"}
	thread := chat.Conversation{Team: "T1", Channel: "C1", Thread: root.TS}
	judged := store.Decision{
		Key: "r/1", WorkflowID: top.ID(), TriggerTS: second.TS, Source: "judgment", ShouldRespond: true, Reason: "nobody \x1b[31manswered", Confidence: &sure, Model: "small", Outcome: "pending",
	}
	o.must(o.SaveCall(ctx, store.Call{Scope: chat.Scope(top), Purpose: "judgment", Model: "small", TokensIn: 1000, TokensOut: 100, Decision: judged.Key}))
	o.must(o.Decide(ctx, judged))
	_, err := o.SaveTurn(ctx, top, second.TS, store.Turn{Decision: judged.Key, Steps: []store.Step{{Tool: "search_messages", State: store.StepDone, Output: "what is secret"}}})
	o.must(err)
	part := store.Part{Key: "p", Reply: "reply", Team: "T1", Channel: "C1", Trigger: second.TS, Text: "the bot's words", Decision: judged.Key, State: store.Composed}
	o.must(o.Compose(ctx, []store.Part{part}, judged))
	_, err = o.BeginSend(ctx, part, time.Second, time.Minute)
	o.must(err)
	own := o.message(20, "")
	own.Own, own.Text = true, part.Text
	o.must(o.MarkPosted(ctx, part, own))
	o.must(o.Settle(ctx, judged.Key, "posted", "reply"))
	o.must(o.Decide(ctx, store.Decision{Key: "r/2", WorkflowID: thread.ID(), TriggerTS: reply.TS, Source: "rule", Rule: "too_old", Reason: "it is old", Outcome: "silent"}))
	o.must(o.ApplyOrder(ctx, store.Order{ID: "1", Scope: chat.Scope(top), Kind: "mute", By: "slack:U2", Until: o.began.Add(3 * time.Hour)}))

	o.prints([]string{"why", "general"}, []string{
		"the top level of C1 (#general)\n", first.TS + ": Ada (U1) wrote", "decided together with " + second.TS, "herald (B1), a bot, wrote",
		"the channel's bots setting is ignore", "sent before the bot knew the channel", "decided to answer, about " + second.TS + " with " + first.TS,
		`judgment, confidence 0.90: nobody \x1b[31manswered`, "1000 tokens in, 100 out, 0s, cost 0.002", "tool search_messages: done, ", "14 characters", "→ posted at", "in Slack as " + own.TS + ", 1 try",
		own.TS + ": the bot wrote", "slack:U2 ordered: mute", root.TS + ": Ada",
	}, []string{"secret", "words", reply.TS})
	o.prints([]string{"why", "#General", "--text", "--limit", "2"}, []string{`"secret \x1b[2J"`, `"the bot's words"`, "there are earlier messages"}, []string{first.TS + ": Ada"})
	o.prints([]string{"why", "C1", "--since", "2h"}, []string{first.TS + ": Ada"}, []string{old.TS})
	// A thread's parent message means the thread. Any other message means that message alone.
	o.prints([]string{"why", "general", root.TS}, []string{"thread " + root.TS + " of C1", reply.TS + ": Ada", "rule too_old: it is old", "mute"}, []string{second.TS})
	o.prints([]string{"why", "general", reply.TS}, []string{"message " + reply.TS + " of C1", "too_old"}, []string{root.TS + ": Ada"})
	o.prints([]string{"why", "general", first.TS}, []string{"decided to answer", "together with " + second.TS, "in Slack as"}, []string{second.TS + ": Ada", "herald", "mute"})
	o.prints([]string{"why", "general", own.TS}, []string{"the bot's own message"}, nil)
	o.prints([]string{"why", "random"}, []string{"no messages"}, nil)
	o.prints([]string{"why", "random", "--json"}, []string{`"entries": []`}, nil)

	var story timeline.Timeline
	o.must(json.Unmarshal([]byte(o.prints([]string{"why", "general", first.TS, "--json"}, nil, nil)), &story))
	if len(story.Entries) != 2 || story.MessageTS != first.TS || story.Entries[1].Decision.Outcome != "posted" || *story.Entries[1].Decision.Calls[0].Cost != 0.002 ||
		len(story.Entries[1].Decision.Steps) != 1 || story.Entries[1].Decision.Steps[0].Size != 14 {
		t.Errorf("as JSON: %+v", story)
	}
	o.fails(1, []string{"why", "nowhere"}, `channel "nowhere" is not known`)
	o.fails(1, []string{"why", "general", o.ts(9)}, "is not in the database")
	o.fails(2, []string{"why", "general", "yesterday"}, "1700000000.000100")
	o.fails(2, []string{"why", "general", "--since", "yesterday"}, "2026-03-01")
	o.fails(2, []string{"why"}, "<channel>")
}

func TestUsageCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "time_zone: Pacific/Auckland\nllm: {prices: {small: {input: 2, output: 10, cached_input: 0.5}}}\n")
	call := func(at, purpose, channel, model, failed string) {
		t.Helper()
		ended, err := time.Parse(time.RFC3339, at)
		o.must(err)
		o.must(o.SaveCall(t.Context(), store.Call{
			Scope: chat.Scope{Team: "T1", Channel: channel}, Purpose: purpose, Provider: "openai", Model: model, TokensIn: 100_000, TokensOut: 10_000, Error: failed, Decision: map[string]string{"response": "d"}[purpose], Ended: ended,
		}))
	}
	// Midnight in Auckland is at 11:00 UTC, and on the 5th of April the day has 25 hours.
	call("2026-04-03T10:59:59Z", "judgment", "C1", "small", "")
	call("2026-04-03T11:00:00Z", "judgment", "C1", "small", "rate_limited")
	call("2026-04-04T11:00:00Z", "response", "C2", "small", "")
	call("2026-04-05T11:59:59Z", "memory", "", "la\x1brge", "")
	call("2026-04-05T12:00:00Z", "judgment", "C1", "small", "")
	part := store.Part{Key: "r/0", Reply: "r", Team: "T1", Channel: "C2", Trigger: o.ts(0), Text: "an answer", Decision: "d", Feedback: true}
	o.must(o.Compose(t.Context(), []store.Part{part}, store.Decision{Key: "d"}))
	if voted, err := o.SaveVote(t.Context(), "T1", "C2", o.ts(1), "r/0", "U1", store.VoteUp, time.Date(2026, 4, 6, 0, 0, 0, 0, time.UTC)); err != nil || !voted {
		t.Fatal(voted, err)
	}
	between := []string{"--since", "2026-04-03", "--until", "2026-04-07"}
	for by, want := range map[string]string{
		"day": `DAY CALLS FAILED TOKENS IN TOKENS OUT COST UP DOWN
2026-04-03 1 0 100000 10000 0.30 0 0
2026-04-04 1 1 100000 10000 0.30 0 0
2026-04-05 2 0 200000 20000 0.30 and more 0 0
2026-04-06 1 0 100000 10000 0.30 1 0
total 5 1 500000 50000 1.20 and more 1 0`,
		"channel,purpose": `CHANNEL PURPOSE CALLS FAILED TOKENS IN TOKENS OUT COST UP DOWN
C1 #general judgment 3 1 300000 30000 0.90 0 0
C2 #random response 1 0 100000 10000 0.30 1 0
workspace memory 1 0 100000 10000 - 0 0
total 5 1 500000 50000 1.20 and more 1 0`,
		"team": `TEAM CALLS FAILED TOKENS IN TOKENS OUT COST UP DOWN
T1 5 1 500000 50000 1.20 and more 1 0
total 5 1 500000 50000 1.20 and more 1 0`,
		"provider,model": `PROVIDER MODEL CALLS FAILED TOKENS IN TOKENS OUT COST UP DOWN
openai la\x1brge 1 0 100000 10000 - 0 0
openai small 4 1 400000 40000 1.20 1 0
total 5 1 500000 50000 1.20 and more 1 0`,
	} {
		want = "from 2026-04-03T00:00:00+13:00 until 2026-04-07T00:00:00+12:00\n\n" + want + "\n\n" + `not in the cost, because llm.prices lacks them: la\x1brge` + "\n"
		table := o.prints(append([]string{"usage", "--by", by}, between...), nil, nil)
		if got := strings.Join(squeezed(table), "\n"); got != want {
			t.Errorf("by %s:\n%s\nwant\n%s", by, got, want)
		}
	}
	var report usageReport
	o.must(json.Unmarshal([]byte(o.prints(append([]string{"usage", "--json", "--by", "purpose"}, between...), nil, nil)), &report))
	if len(report.Rows) != 3 || report.Total.Calls != 5 || report.Rows[1].Purpose != "memory" || report.Rows[1].Cost != nil || len(report.Rows[1].Unpriced) != 1 {
		t.Errorf("as JSON: %+v", report)
	}
	o.must(o.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: "C1"}, Purpose: "judgment", Model: "small",
		TokensIn: 100_000, TokensCached: 40_000, TokensOut: 10_000, Ended: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}))
	later := []string{"usage", "--since", "2026-05-01", "--until", "2026-05-03", "--by", "team"}
	table := strings.Join(squeezed(o.prints(later, nil, nil)), "\n")
	if want := "TEAM CALLS FAILED TOKENS IN CACHED TOKENS OUT COST UP DOWN\nT1 1 0 100000 40000 10000 0.24 0 0\n"; !strings.Contains(table, want) {
		t.Errorf("with cached tokens: %s", table)
	}
	o.prints(append(later, "--json"), []string{`"tokens_cached": 40000`}, nil)
	o.prints([]string{"usage", "--since", "1d"}, []string{"total"}, []string{"2026-04-0", "not in the cost"})
	o.prints([]string{"usage", "--since", "1d", "--json"}, []string{`"rows": []`}, nil)
	o.prints(append([]string{"usage", "--json", "--team", "T1"}, between...), []string{`"calls": 5`}, nil)
	o.prints(append([]string{"usage", "--json", "--team", "T2"}, between...), []string{`"rows": []`, `"calls": 0`}, nil)
	o.fails(2, []string{"usage", "--by", "hour"}, "day")
	o.fails(1, []string{"usage", "--since", "2026-04-03", "--until", "2026-04-03"}, "is not before")
}

// In a zone where summer time begins at midnight, no day is skipped or counted twice.
func TestUsageOfADayWithoutMidnight(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "time_zone: America/Santiago\n")
	for _, at := range []string{"2026-09-06T03:59:59Z", "2026-09-06T04:00:00Z"} {
		ended, err := time.Parse(time.RFC3339, at)
		o.must(err)
		o.must(o.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: "C1"}, Purpose: "judgment", Provider: "openai", Model: "small", Ended: ended}))
	}
	var report usageReport
	o.must(json.Unmarshal([]byte(o.prints([]string{"usage", "--json", "--since", "2026-09-05", "--until", "2026-09-07"}, nil, nil)), &report))
	if len(report.Rows) != 2 || report.Rows[0].Day != "2026-09-05" || report.Rows[1].Day != "2026-09-06" || report.Total.Calls != 2 {
		t.Errorf("got %+v", report)
	}
	o.must(json.Unmarshal([]byte(o.prints([]string{"usage", "--json", "--since", "2026-09-06", "--until", "2026-09-07"}, nil, nil)), &report))
	if len(report.Rows) != 1 || report.Rows[0].Day != "2026-09-06" || report.Total.Calls != 1 {
		t.Errorf("of the day alone: got %+v", report)
	}
}

func TestMemoryCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "")
	ctx := t.Context()
	root, reply := o.message(0, ""), o.message(1, o.ts(0))
	o.record(root)
	o.record(reply)
	remember := func(s chat.Scope, text string, terms ...chat.Term) {
		t.Helper()
		c, err := o.CurrentCursor(ctx, s, time.Time{})
		o.must(err)
		r := store.MemoryUpdate{Scope: s, Cursor: c, Read: time.Now()}
		for _, term := range terms {
			sources := []string{root.TS, reply.TS}
			if s.Workspace() {
				sources = []string{"C1/1"}
			}
			o.must(o.SaveDraft(ctx, store.Memory{Scope: s, Term: term, Text: fmt.Sprint(term, " ", text, "\n- \x1b[2J"), Origin: "model", Model: "m", TokensOut: 77, Sources: sources}, c))
			if term == chat.LongTerm {
				r.Long = store.RenewMemory
			} else {
				r.Short = store.RenewMemory
			}
		}
		o.must(o.SaveMemories(ctx, r))
	}
	workspace, channel, thread := chat.Scope{Team: "T1"}, chat.Scope{Team: "T1", Channel: "C1"}, chat.Scope{Team: "T1", Channel: "C1", Thread: root.TS}
	for _, text := range []string{"first", "second"} {
		remember(thread, text, chat.ShortTerm)
		remember(channel, text, chat.ShortTerm, chat.LongTerm)
		remember(workspace, text, chat.ShortTerm, chat.LongTerm)
	}
	o.prints([]string{"memory", "list"}, []string{"workspace", "channel C1 #general", "77", "model m"}, []string{"thread", "second"})
	o.prints([]string{"memory", "list", "general"}, []string{"thread C1/" + root.TS, "channel C1"}, []string{"workspace"})
	o.prints([]string{"memory", "list", "general", root.TS}, []string{"thread C1/" + root.TS}, []string{"channel C1"})
	o.prints([]string{"memory", "list", "random"}, []string{"nothing is remembered of channel C2"}, nil)
	o.prints([]string{"memory", "show", "general"}, []string{"long second\n", "short second\n", `\x1b[2J`, "made of " + root.TS + " " + reply.TS, "version 2", "current"}, []string{"first"})
	o.prints([]string{"memory", "show", "general", "--term", "long", "--version", "1"}, []string{"long first", "version 1", "old"}, []string{"short"})
	o.prints([]string{"memory", "history", "general"}, []string{"current", "old", "model m"}, []string{"second"})
	o.prints([]string{"memory", "history", "general", "--term", "long"}, []string{"long", "current", "old"}, []string{"short"})

	o.prints([]string{"memory", "rollback", "general", "--term", "long", "--to", "1", "--by", "ann"}, []string{"is version 3 now, with the text of version 1"}, nil)
	o.prints([]string{"memory", "show", "general", "--term", "long"}, []string{"long first", "version 3", "cli:ann"}, nil)
	o.prints([]string{"memory", "correct", "general", "--term", "long", "--text", " long mended ", "--by", "ann"}, []string{"is version 4 now"}, nil)
	o.prints([]string{"memory", "show", "general", "--term", "long"}, []string{"\nlong mended\n", "version 4", "cli:ann", "made of " + root.TS}, nil)
	o.prints([]string{"memory", "correct", "general", root.TS, "--text", "thread mended", "--by", "ann", "--json"}, []string{
		`"version": 3`, `"origin": "operator"`, `"by": "cli:ann"`, `"current": true`,
	}, nil)
	o.fails(1, []string{"memory", "correct", "random", "--term", "long", "--text", "x", "--by", "ann"}, "there is no long-term memory of channel C2")
	o.fails(1, []string{"memory", "correct", "general", "--term", "long", "--text", strings.Repeat("x", 3001), "--by", "ann"},
		"has 3001 bytes: want at most 3000, because memory.long_term_summary_max_tokens is 500")
	o.fails(1, []string{"memory", "rollback", "general", "--term", "long", "--to", "9", "--by", "ann"}, "has no version 9")
	o.fails(1, []string{"memory", "show", "general", "--term", "long", "--version", "9"}, "has no version 9")
	o.fails(1, []string{"memory", "show", "random"}, "nothing is remembered of channel C2")
	o.fails(1, []string{"memory", "history", "random"}, "nothing was ever remembered of channel C2")
	o.fails(1, []string{"memory", "show", "nowhere"}, `channel "nowhere" is not known`)
	o.fails(1, []string{"memory", "show", "general", o.ts(9)}, "is not in the database")
	o.fails(1, []string{"memory", "show", "general", reply.TS}, "is a reply: want its thread, "+root.TS)
	o.fails(2, []string{"memory", "show", "general", "first"}, "1700000000.000100")
	o.fails(1, []string{"memory", "forget", "general", "--message", o.ts(9), "--by", "ann"}, "is not in the database")
	for part, args := range map[string][]string{
		"want a channel or --workspace": {"forget", "--by", "ann"}, "--term is missing": {"rollback", "general", "--to", "1", "--by", "ann"},
		"--term is missing: want long or short": {"correct", "--text", "x", "--by", "ann"}, "--text is empty": {"correct", "--term", "long", "--text", "", "--by", "ann"},
		"--message needs a channel": {"forget", "--workspace", "--message", "1.1", "--by", "ann"}, "a thread has only a short-term memory": {"rollback", "general", "1.1", "--term", "long", "--to", "1", "--by", "ann"},
		"--version needs --term": {"show", "general", "--version", "1"},
	} {
		o.fails(2, append([]string{"memory"}, args...), part)
	}

	o.prints([]string{"memory", "forget", "general", "--by", "ann"}, []string{
		"13 texts deleted", "no longer current: workspace", "no longer current: channel C1", "no longer current: thread C1/" + root.TS,
	}, nil)
	o.prints([]string{"memory", "history", "general"}, []string{"forgotten by cli:ann at"}, []string{"current"})
	o.prints([]string{"memory", "show", "general", "--term", "long", "--version", "1"}, []string{"forgotten by cli:ann"}, []string{"first"})
	o.fails(1, []string{"memory", "rollback", "general", "--term", "long", "--to", "1", "--by", "ann"}, "was forgotten")
	orders, err := o.Orders(ctx, "T1", "C1", time.Time{}, 10)
	if err != nil || len(orders) != 4 || orders[0].Kind != "rollback" || orders[1].Kind != "correct" || orders[3].Kind != "forget" || orders[3].By != "cli:ann" {
		t.Errorf("orders %+v, %v", orders, err)
	}
	remember(workspace, "third", chat.LongTerm)
	o.prints([]string{"memory", "forget", "--workspace", "--by", "ann", "--json"}, []string{`"versions": 1`}, nil)
}

// A valid text is kept as written, up to the length of a model's.
func TestReadText(t *testing.T) {
	t.Parallel()
	defaults := launch.Program{Config: config.Default()} // 500 and 300 tokens
	for _, test := range []struct{ name, term, stdin, want, fault string }{
		{name: "plain", term: "long", stdin: "- one\n- two\n", want: "- one\n- two"},
		{name: "from elsewhere", term: "long", stdin: "\r\n- one\r\n- two\r\n", want: "- one\n- two"},
		{name: "longest", term: "long", stdin: strings.Repeat("x", 3000) + "\n", want: strings.Repeat("x", 3000)},
		{name: "too long", term: "short", stdin: strings.Repeat("x", 1801), fault: "1801 bytes: want at most 1800, because memory.short_term_summary_max_tokens"},
		{name: "as much as is read", term: "long", stdin: strings.Repeat("x", maxInput), fault: "1048576 bytes: want at most 3000"},
		{name: "more than is read", term: "long", stdin: strings.Repeat("記", 400_000), fault: "longer than 1 MiB"},
		{name: "empty", term: "long", stdin: " \n", fault: "neither a letter nor a digit"},
		{name: "without a word", term: "long", stdin: "- …\n---\n", fault: "neither a letter nor a digit"},
		{name: "a number", term: "long", stdin: "42", want: "42"},
		{name: "no text", term: "long", stdin: "a\xff", fault: "not valid UTF-8"},
		{name: "NUL", term: "long", stdin: "a\x00", fault: "NUL"},
	} {
		c := memoryCorrect{termFlag: termFlag{Term: test.term}}
		got, err := c.readText(&program{Program: defaults, stdin: strings.NewReader(test.stdin)})
		if got != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: got %q, %v; want %q, %q", test.name, got, err, test.want, test.fault)
		}
	}
}

func TestInstant(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 18, 30, 0, 0, time.UTC) // the 2nd in Tokyo
	for text, want := range map[instant]string{
		"90m": "2026-03-01T17:00:00Z", "24h": "2026-02-28T18:30:00Z", "0d": "2026-03-01T15:00:00Z", "1d": "2026-02-28T15:00:00Z", "2w": "2026-02-15T15:00:00Z",
		"2026-03-01": "2026-02-28T15:00:00Z", "2026-03-01T12:00:00Z": "2026-03-01T12:00:00Z",
	} {
		if got, err := text.time(now, zone); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s is %v, %v; want %s", text, got.UTC(), err, want)
		}
	}
	// Summer time began at midnight, so that day began at one.
	santiago, err := time.LoadLocation("America/Santiago")
	if err != nil {
		t.Fatal(err)
	}
	spring := time.Date(2026, 9, 7, 3, 30, 0, 0, time.UTC) // the 7th, 00:30
	for text, want := range map[instant]string{"0d": "2026-09-07T03:00:00Z", "1d": "2026-09-06T04:00:00Z", "2d": "2026-09-05T04:00:00Z", "2026-09-06": "2026-09-06T04:00:00Z"} {
		if got, err := text.time(spring, santiago); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s in Santiago is %v, %v; want %s", text, got.UTC(), err, want)
		}
	}
	for _, text := range []instant{"yesterday", "30", "d", "-1d", "1.5h", "2026-13-01", "9999999d"} {
		if got, err := text.time(now, zone); err == nil || text.Validate() == nil {
			t.Errorf("%s is %v", text, got)
		}
	}
}
