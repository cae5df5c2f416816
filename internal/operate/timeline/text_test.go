package timeline

import (
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/language/words"
	"myao/internal/store"
)

// nasty is text that could control a terminal or Slack.
const nasty = "\x1b[2J\u009b31m\u202e <!channel> <@U9> & \r\nnew line\x00\x7f"

// full is a timeline with everything in it.
func full(text bool) Timeline {
	confidence, delay := 0.85, 120
	m, edited, mute := heard(0), heard(40), heard(0)
	m.Text, m.Name = nasty, "Ada"+nasty
	edited.Revision = ts(50)
	yes := decided("yes", m, 30, "posted")
	yes.Source, yes.Rule, yes.ShouldRespond, yes.Reason, yes.Confidence, yes.DelaySeconds = "judgment", "", true, "nobody answered"+nasty, &confidence, &delay
	no := decided("no", edited, 100_000, "silent")
	no.Reason = "the message is older than max_message_age_seconds"
	failed := decided("failed", in(0, heard(60)), 70, "failed")
	failed.Source, failed.Rule, failed.Reason, failed.OutcomeBy = "judgment", "", "no judgment was had", "unavailable"
	heardLate := passed(edited, conversation.Said, 100)
	heardLate.Relayed = second(110)
	waits := passed(edited, conversation.Edited, 50)
	waits.Relayed = time.Time{}
	r := rows{
		conversation: top, channel: store.Channel{ID: "C1", Name: "general"}, earlier: true,
		options:   Options{Text: text, Prices: map[string]config.Price{"small": {Input: 1, Output: 10}}},
		messages:  []store.StoredMessage{m, edited},
		changes:   []store.RecordedChange{passed(m, conversation.Said, 1), heardLate, waits},
		decisions: []store.Decision{yes, no, failed},
		calls: []store.Call{
			{Purpose: "judgment", Model: "small", TokensIn: 100, TokensOut: 20, Latency: 1500 * time.Millisecond, Decision: "yes"},
			{Purpose: "response", Model: "unpriced", TokensIn: 7, Error: "rate_limited", Decision: "yes"},
		},
		steps: []store.StepFigures{
			{Step: store.Step{Decision: "yes", Tool: "search_messages", State: store.StepDone, Attempts: 1, BeganUS: 1, EndedUS: 120_001}, Size: 1532},
			{Step: store.Step{Decision: "yes", Tool: "read" + nasty, State: store.StepDone, Attempts: 2, BeganUS: 1, EndedUS: 1_500_001, Failed: true}, Size: 40},
			{Step: store.Step{Decision: "yes", Round: 1, Tool: "read_thread", State: store.StepRefused, Failed: true}},
			{Step: store.Step{ID: "p1", Decision: "yes", Round: 1, Tool: "desk__create" + nasty, State: store.StepProposed}},
			{Step: store.Step{ID: "p2", Decision: "yes", Round: 1, Tool: "desk__close", State: store.StepProposed}},
			{Step: store.Step{ID: "l1", Decision: "yes", Round: 1, Tool: "look_again", State: store.StepDone}},
		},
		proposals: []store.Proposal{
			{Choice: store.Choice{ID: "p1", EndedUS: second(120).UnixMicro()}, Server: "desk", State: store.ProposalUnknown, DecidedBy: "slack:U1", DecidedUS: second(90).UnixMicro(), BeganUS: second(91).UnixMicro()},
			{Choice: store.Choice{ID: "p2"}, Server: "desk", State: store.ProposalOpen, LapsesUS: second(100_000).UnixMicro()},
		},
		promises: []store.Promise{
			{Choice: store.Choice{ID: "l1", Asker: "U1"}, What: "secret", State: store.PromiseOpen, Every: "week", DueUS: second(100_000).UnixMicro(), HeldUS: second(100_060).UnixMicro()},
		},
		labels: []store.Label{
			{Decision: "yes", Kind: label.Welcome, Truth: label.Speak, Weight: 0.8, TS: ts(39)}, {Decision: "yes", Kind: label.Human, Truth: label.Either, Weight: 1, LabelledBy: "cli:carol" + nasty},
			{Decision: "other", Kind: label.Welcome, Truth: label.Speak, Weight: 0.8},
		},
		opinions: []store.Opinion{
			{Decision: "yes", Judge: "rival", Confidence: &confidence, MinConfidence: 0.9, Wanted: true, Reason: "perhaps" + nasty, Model: "small", TokensIn: 90, TokensOut: 10, LatencyUS: 2_000_000},
			{Decision: "yes", Judge: "other", ShouldRespond: true, Wanted: true, Confidence: &confidence, DelaySeconds: &delay, Reason: "as the first", Model: "unpriced"},
			{Decision: "yes", Judge: "broken", Error: "auth"}, {Decision: "of no message here", Judge: "rival", Confidence: &confidence},
		},
		votes: []store.Vote{
			{Decision: "yes", UserID: "UVOTER", Value: store.VoteUp}, {Decision: "yes", UserID: "UVOTER2", Value: store.VoteDown, Reason: "too long" + nasty},
			{Decision: "other", Value: store.VoteDown},
		},
		parts: []store.Part{
			{Decision: "yes", State: store.Sent, SentTS: ts(35), Attempts: 1}, {Decision: "yes", State: store.Failed, Attempts: 3, Error: "channel_not_found"},
			{Decision: "yes", State: store.Sent, SentTS: ts(36), Attempts: 1, Channel: "D7"},
		},
		orders: []store.Order{{Kind: "snooze", By: "slack:U2", At: mute.Time().Add(2 * time.Hour), Until: second(100_000)}},
		users:  map[string]store.User{"U1": {ID: "U1", Name: "Bob"}},
	}
	return r.timeline()
}

func write(t *testing.T, s Timeline, zone *time.Location) string {
	t.Helper()
	var b strings.Builder
	if err := s.Text(&b, zone); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func load(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

const shown = `\x1b[2J\u009b31m\u202e <!channel> <@U9> & \r\nnew line\x00\x7f`

func TestText(t *testing.T) {
	want := `the top level of C1 (#general)
times in Asia/Tokyo
there are earlier messages: use --limit and --since to see them

2026-03-01 21:00:00  1772366400.000000: Ada` + shown + ` (U1) wrote
                     said: relayed 21:00:01

2026-03-01 21:00:30  decided to answer in 2m0s, about 1772366400.000000
                     judgment, confidence 0.85: nobody answered` + shown + `
                     judgment of small: 100 tokens in, 20 out, 1.5s, cost 0.0003
                     response of unpriced: 7 tokens in, 0 out, 0s, failed: rate_limited
                     tool search_messages: done, 1 try, 120ms, 1532 characters
                     tool read` + shown + `: done, 2 tries, 1.5s, 40 characters, an error for the model
                     tool read_thread: refused, 0 tries
                     proposed desk__create` + shown + ` as p1: unknown, decided by slack:U1 at 21:01:30, ended at 21:02:00
                     proposed desk__close as p2: open, lapses at 2026-03-03 00:46:40
                     promised as l1: open, due at 2026-03-03 00:46:40, every week, held up until 2026-03-03 00:47:40
                     → posted at 21:00:30
                       part 1 of 3: in Slack as 1772366435.000000, 1 try
                       part 2 of 3: failed, 3 tries, last error: channel_not_found
                       part 3 of 3: in Slack as 1772366436.000000, at the top level of D7, 1 try
                     in shadow rival decided to be silent, confidence 0.85 of at least 0.90, wanted to answer: perhaps` + shown + `
                     shadow of small: 90 tokens in, 10 out, 2s, cost 0.00019
                     in shadow other decided to answer in 2m0s, confidence 0.85: as the first
                     shadow of unpriced: 0 tokens in, 0 out, 0s
                     in shadow broken gave no verdict: auth
                     shadow of a model: 0 tokens in, 0 out, 0s, failed: auth
                     in hindsight an answer was right: people welcomed the answer, 1772366439.000000 (weight 0.80)
                     in hindsight both were right: a person says so, cli:carol\x1b[2J\u009b31m\u202e <!channel> <@U9> & \r\nnew line\x00\x7f (weight 1.00)
                     rated 1 up, 1 down

2026-03-01 21:00:40  1772366440.000000: Bob (U1) wrote
                     said: relayed 21:01:50, heard 1m0s late, 10s after it was heard
                     edited: heard 21:00:50, not relayed yet
                     last edited at 1772366450.000000

2026-03-01 21:01:10  in thread 1772366400.000000: decided nothing, about 1772366460.000000
                     judgment: no judgment was had
                     → failed: unavailable at 21:01:10

2026-03-01 23:00:00  slack:U2 ordered: snooze until 2026-03-03 00:46:40

2026-03-03 00:46:40  decided to be silent, about 1772366440.000000
                     rule too_old: the message is older than max_message_age_seconds
                     → silent
`
	if got := write(t, full(false), load(t, "Asia/Tokyo")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	west := write(t, full(true), load(t, "America/Los_Angeles"))
	for _, part := range []string{
		"times in America/Los_Angeles\n", "\n2026-03-01 04:00:00  1772366400.000000: Ada", "relayed 04:01:50", "until 2026-03-02 07:46:40",
		`"` + shown + `"`, `"secret"`, `down, because "too long` + shown + `"`,
	} {
		if !strings.Contains(west, part) {
			t.Errorf("lacks %q:\n%s", part, west)
		}
	}
	if strings.Contains(west, "UVOTER") {
		t.Errorf("it says who voted:\n%s", west)
	}
	for _, r := range west {
		if r < ' ' && r != '\n' || r >= 0x7f && r <= 0x9f || r == '\u202e' {
			t.Errorf("%U reaches the terminal", r)
		}
	}
}

func TestTextOfOutcomes(t *testing.T) {
	for want, d := range map[string]store.Decision{
		"→ withdrawn because of " + ts(5) + " at": {Outcome: "withdrawn", OutcomeBy: ts(5)},
		"→ dropped by cli:ann at":                 {Outcome: "dropped", OutcomeBy: "cli:ann"},
		"→ overruled by slack:U1 at":              {Outcome: "overruled", OutcomeBy: "slack:U1"},
		"→ failed: channel_not_found at":          {Outcome: "failed", OutcomeBy: "channel_not_found"},
		"→ silent after all, by rule silenced: the conversation is muted or snoozed, or was while the reply waited\n": {Outcome: "silent", OutcomeBy: "silenced"},
		"→ silent: another decision had already replied":                                                              {Outcome: "silent", OutcomeBy: "T1/C1//1.1/"},
		"→ posted, but its message is unknown at":                                                                     {Outcome: "posted", OutcomeBy: "T1/C1//1.1/"},
		"→ pending\n": {Outcome: "pending"},
	} {
		d.WorkflowID, d.TriggerTS, d.DecidedUS = top.ID(), ts(0), second(1).UnixMicro()
		if d.Outcome != "pending" {
			d.SettledUS = &d.DecidedUS
		}
		if got := write(t, rows{conversation: top, decisions: []store.Decision{d}}.timeline(), time.UTC); !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}

// A decision about a promise names whoever asked, and belongs to the message that asked.
func TestPromises(t *testing.T) {
	kept := func(key string, outcome conversation.Outcome) store.Decision {
		d := decided(key, heard(0), 60, outcome)
		d.Source, d.Rule, d.Reason = "promise", "", "the release is out"
		return d
	}
	answered := decided("r", heard(0), 1, "posted")
	r := rows{
		conversation: top, options: Options{MessageTS: ts(0)}, messages: []store.StoredMessage{heard(0)}, changes: []store.RecordedChange{passed(heard(0), conversation.Said, 1)},
		decisions: []store.Decision{
			answered, kept("run/2/1.1/promise/l1/2", "posted"), kept("run/3/1.1/promise/l1/3", "silent"), kept("run/4/1.1/promise/l1/4", "pending"), kept("run/5/1.1/promise/gone/1", "posted"),
		},
		steps: []store.StepFigures{{Step: store.Step{ID: "l1", Decision: "r", Tool: "look_again", State: store.StepDone}}},
		promises: []store.Promise{
			{Choice: store.Choice{ID: "l1", Asker: "U1", EndedUS: second(90).UnixMicro()}, What: "secret", State: store.PromiseCancelled, Number: 4, EndedBy: "mode_off"},
		},
		users: map[string]store.User{"U1": {ID: "U1", Name: "Bob" + nasty}},
	}
	story := r.timeline()
	got := write(t, story, time.UTC)
	for _, want := range []string{
		"promised as l1: cancelled by rule mode_off, ended at 12:01:30\n", "12:01:00  kept a promise that Bob" + shown + " (U1) asked for, about " + ts(0) + "\n                     promise: the release is out",
		"  let a promise go that Bob", "  decided to keep a promise that Bob", "  kept a promise, about " + ts(0),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") || strings.Contains(got, "decided together") {
		t.Error(got)
	}
	if p := story.Entries[2].Decision.Promise; p == nil || p.ID != "l1" || p.Number != 2 || p.AskedBy != "U1" || p.State != store.PromiseCancelled {
		t.Errorf("%+v", p)
	}
	for language, wants := range map[chat.Language][]string{
		chat.English: {
			" kept a promise that <@U1> asked for: the release is out (promise)", " let a promise go that <@U1> asked for: the release", " means to keep a promise that <@U1> asked for: ", " kept a promise: ",
		},
		chat.Japanese: {" <@U1> さんとの約束を果たしました: ", " <@U1> さんとの約束を終わりにしました: ", " <@U1> さんとの約束を果たすつもりです: ", " 約束を果たしました: the release is out (約束)"},
	} {
		got := story.Brief(5, time.UTC, "https://x.slack.com/", words.In(language))
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("lacks %q:\n%s", want, got)
			}
		}
	}
}

func TestTextOfEmptyTimeline(t *testing.T) {
	thread := rows{conversation: chat.Conversation{Team: "T1", Channel: "C1", Thread: ts(0)}}
	if got, want := write(t, thread.timeline(), time.UTC), "thread 1772366400.000000 of C1\ntimes in UTC\nno messages\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBrief(t *testing.T) {
	want := `• <!date^1772366430^{date_short_pretty} {time}|2026-03-01 21:00> answered: nobody answered\x1b[2J\u009b31m\u202e &lt;!channel&gt; &lt;@U9&gt; &amp; \r\nnew line\x00\x7f (judgment, confidence 0.85; used search_messages, read\x1b[2J\u009b31m\u202e &lt;!channel&gt; &lt;@U9&gt; &amp; \r\nnew line\x00\x7f, look_again; rated 1 up, 1 down; in hindsight an answer was right: <https://x.slack.com/archives/C1/p1772366439000000|people welcomed the answer>)
• <!date^1772366470^{date_short_pretty} {time}|2026-03-01 21:01> could not answer in a thread: no judgment was had (judgment)
• <!date^1772466400^{date_short_pretty} {time}|2026-03-03 00:46> stayed silent: the message is older than max_message_age_seconds (rule too_old)`
	story := full(true)
	if got := story.Brief(5, load(t, "Asia/Tokyo"), "https://x.slack.com/", nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := story.Brief(1, load(t, "America/Los_Angeles"), "https://x.slack.com/", nil); strings.Contains(got, "\n") || !strings.Contains(got, "|2026-03-02 07:46>") || strings.Contains(got, "secret") {
		t.Errorf("one: %s", got)
	}
	want = `• <!date^1772366430^{date_short_pretty} {time}|2026-03-01 21:00> 答えました: nobody answered\x1b[2J\u009b31m\u202e &lt;!channel&gt; &lt;@U9&gt; &amp; \r\nnew line\x00\x7f (判断、確信度 0.85、使ったツール: search_messages, read\x1b[2J\u009b31m\u202e &lt;!channel&gt; &lt;@U9&gt; &amp; \r\nnew line\x00\x7f, look_again、評価: 良い 1、悪い 1、振り返ると答えるのが正解でした（<https://x.slack.com/archives/C1/p1772366439000000|答えは喜ばれました>）)
• <!date^1772366470^{date_short_pretty} {time}|2026-03-01 21:01> スレッドで答えられませんでした: 判断が得られなかった (判断)
• <!date^1772466400^{date_short_pretty} {time}|2026-03-03 00:46> 黙っていました: メッセージが max_message_age_seconds より古い (規則 too_old)`
	if got := story.Brief(5, load(t, "Asia/Tokyo"), "https://x.slack.com/", words.In(chat.Japanese)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for outcome, end := range outcomePhrases {
		if w := words.In(chat.Japanese); w.Of(end) == end {
			t.Errorf("%s: %s", outcome, end)
		}
	}
	if got := (Timeline{}).Brief(5, time.UTC, "https://x.slack.com/", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestMoney(t *testing.T) {
	for cost, want := range map[float64]string{0: "0.00", 12.345: "12.35", 0.1: "0.10", 0.05: "0.05", 0.0123456: "0.012", 0.00000042: "0.00000042"} {
		if got := Money(cost); got != want {
			t.Errorf("%v is %s, want %s", cost, got, want)
		}
	}
}
