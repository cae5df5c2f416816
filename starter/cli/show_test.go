package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestShowText(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("JST", 9*3600)
	thread := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1772366400.000100"}
	minutes := 3
	for _, test := range []struct {
		name string
		conversationReport
		want []string
	}{
		{
			"held back, in a channel that is snoozed", conversationReport{
				Conversation: thread, Name: conversationName(thread, "general"), WebUI: "/namespaces/default/workflows/x/r",
				Run: operator.Run{ID: "run-1", Running: true, Started: noon.Add(-time.Hour)},
				State: &conversation.State{
					Phase: conversation.Delaying, Since: noon, DueAt: noon.Add(3 * time.Minute),
					Pending: []conversation.Item{{TS: "1772366400.000100"}, {TS: "1772366460.000100", Revision: "1772366461.000000", FollowUp: true}},
					Later:   []conversation.Item{{TS: "1772366470.000100", Addressed: true}},
					Verdict: &chat.Verdict{ShouldRespond: true, Confidence: 0.85, Reason: "nobody answered", DelaySeconds: &minutes},
				},
				ChannelSilenced: noon.Add(time.Hour),
				Promises: []store.Promise{{
					Choice: store.Choice{ID: "l1"},
					State:  store.PromiseOpen,
					DueUS:  noon.Add(24 * time.Hour).UnixMicro(),
					What:   "stand-up\n",
					Every:  "week",
					HeldUS: noon.Add(25 * time.Hour).UnixMicro(),
				}},
				Proposals: []store.Proposal{{Choice: store.Choice{ID: "p1"}, Tool: "desk__create\n", State: "open", LapsesUS: noon.Add(24 * time.Hour).UnixMicro()}},
			},
			[]string{
				"#general, thread 1772366400.000100",
				"phase     delaying since 2026-03-01 21:00:00 JST, due 2026-03-01 21:03:00 JST",
				"pending   1772366400.000100  2026-03-01 21:00:00 JST",
				"          1772366460.000100  2026-03-01 21:01:00 JST, follow-up, edited",
				"later     1772366470.000100  2026-03-01 21:01:10 JST, addressed",
				"verdict   yes, 0.85, in 3s: nobody answered",
				`proposed  p1  desk__create\n, open, lapses 2026-03-02 21:00:00 JST`,
				`promised  l1  due 2026-03-02 21:00:00 JST, every week, held until 2026-03-02 22:00:00 JST: stand-up\n`,
				"silent    until 2026-03-01 22:00:00 JST, with its channel",
				"run       run-1, open since 2026-03-01 20:00:00 JST",
				"Web UI    /namespaces/default/workflows/x/r",
			},
		},
		{
			"closed, and muted", conversationReport{
				Name: "C1", Run: operator.Run{ID: "run-1", Started: noon, Closed: noon}, Silenced: noon.AddDate(100, 0, 0),
				State: &conversation.State{Phase: conversation.Idle, Since: noon, Verdict: &chat.Verdict{Confidence: 1}},
			},
			[]string{
				"C1",
				"phase    closed: nothing is waiting",
				"verdict  no, 1.00: no reason given",
				"silent   until it is unmuted",
				"run      run-1, closed 2026-03-01 21:00:00 JST: the next message starts another",
			},
		},
		{
			"terminated while it waited", conversationReport{
				Name: "C1", Run: operator.Run{ID: "run-1", Started: noon, Closed: noon, Ended: "Terminated"},
				State: &conversation.State{Phase: conversation.Waiting, Since: noon, DueAt: noon, Pending: []conversation.Item{{TS: "1772366400.000100"}}},
			},
			[]string{
				"C1",
				"phase    closed",
				"pending  1772366400.000100  2026-03-01 21:00:00 JST",
				"run      run-1, closed 2026-03-01 21:00:00 JST (Terminated): the next message starts another",
			},
		},
		{
			"terminated with nothing but what came later", conversationReport{
				Name: "C1", Run: operator.Run{ID: "run-1", Started: noon, Closed: noon, Ended: "Terminated"},
				State: &conversation.State{Phase: conversation.Replying, Later: []conversation.Item{{TS: "1772366400.000100"}}},
			},
			[]string{
				"C1",
				"phase  closed",
				"later  1772366400.000100  2026-03-01 21:00:00 JST",
				"run    run-1, closed 2026-03-01 21:00:00 JST (Terminated): the next message starts another",
			},
		},
		{
			"paused in part", conversationReport{
				Name: "C1", Run: operator.Run{ID: "r", Running: true, Started: noon, Paused: []operator.Pause{
					{Activity: "Compose", At: noon, By: "carol", Reason: "it costs\ntoo much"}, {Activity: "Settle", At: noon},
				}},
				State: &conversation.State{Phase: conversation.Replying, Work: conversation.Work{Answering: []conversation.Item{{TS: "1772366400.000100", Addressed: true}}}},
			},
			[]string{
				"C1", "phase      replying (composing a reply to 1 message that addressed the bot)",
				`paused     Compose, in Temporal since 2026-03-01 21:00:00 JST, by carol: it costs\ntoo much`,
				"paused     Settle, in Temporal since 2026-03-01 21:00:00 JST",
				"answering  1772366400.000100  2026-03-01 21:00:00 JST, addressed", "run        r, open since 2026-03-01 21:00:00 JST",
			},
		},
		{
			"paused", conversationReport{
				Name: "C1", Run: operator.Run{ID: "r", Running: true, Started: noon, Paused: []operator.Pause{{At: noon, By: "carol"}}}, Silenced: noon.Add(time.Hour),
			},
			[]string{
				"C1", "phase   paused: the state is not known", "paused  all of it, in Temporal since 2026-03-01 21:00:00 JST, by carol",
				"silent  until 2026-03-01 22:00:00 JST", "run     r, open since 2026-03-01 21:00:00 JST",
			},
		},
		{
			"never heard of", conversationReport{Name: "C1", State: conversation.New(thread)},
			[]string{"C1", "phase  closed: nothing is waiting", "run    none known to Temporal: the next message starts one"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := test.text(&out, tokyo, noon); err != nil {
				t.Fatal(err)
			}
			if got, want := out.String(), strings.Join(test.want, "\n")+"\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Only the error of an order says that the order may still be carried out.
func TestErrorsWithoutAWorker(t *testing.T) {
	t.Parallel()
	nobody := fmt.Errorf("x: %w", operator.ErrNoWorker)
	second := temporalFlags{Timeout: time.Second}
	asking, ordering := second.explain(t.Context(), nobody).Error(), orderFlags{temporalFlags: second}.explain(t.Context(), nobody).Error()
	if !strings.HasPrefix(asking, "no worker answered within 1s") || strings.Contains(asking, "carry out") {
		t.Errorf("asking: %s", asking)
	}
	if want := asking + "; the next worker may still carry out the order"; ordering != want {
		t.Errorf("ordering: %s, want %s", ordering, want)
	}
	locked := temporalFlags{Timeout: time.Second}.explain(t.Context(), fmt.Errorf("%w, and %w", operator.ErrNoWorker, operator.ErrUnwritable)).Error()
	if want := "no worker answered within 1s, and the database accepts no writes"; !strings.HasPrefix(locked, want) || strings.Contains(locked, "one runs") {
		t.Errorf("a database that is locked: %s, want %s", locked, want)
	}
	failing := fmt.Errorf("ask: %w", serviceerror.NewWorkflowNotReady("Unable to query workflow due to Workflow Task in failed state."))
	if got, want := second.explain(t.Context(), failing).Error(), "stuck because its workflow task keeps failing: see the worker's log"; !strings.Contains(got, want) {
		t.Errorf("a conversation that is stuck: %s, want %s", got, want)
	}
	pause := fmt.Errorf("x: %w", &operator.PausedError{WorkflowID: "channel/T1/C1"})
	if got, want := (orderFlags{temporalFlags: second}).explain(t.Context(), pause).Error(), "temporal workflow unpause --namespace default --workflow-id 'channel/T1/C1'"; !strings.HasPrefix(got, "nothing was done") || !strings.HasSuffix(got, want) {
		t.Errorf("a conversation that is paused: %s, want %s", got, want)
	}
	if err := errors.New("broken"); (orderFlags{}).explain(t.Context(), err) != err {
		t.Error("anything else is no longer what it was")
	}
}

func TestConversationsText(t *testing.T) {
	t.Parallel()
	waiting := operator.Listed{
		Conversation: chat.Conversation{Team: "T1", Channel: "C1", Thread: "1772366400.000100"}, Name: "general", Phase: conversation.Waiting,
		DueAt: noon.Add(time.Minute), Since: noon, Pending: new(2), Silenced: noon.Add(time.Hour),
	}
	unknown := operator.Listed{Conversation: chat.Conversation{Team: "T1", Channel: "D1"}, Phase: operator.Unknown, Since: noon}
	for _, test := range []struct {
		name  string
		limit int
		all   []operator.Listed
		want  string
	}{
		{"none", 50, nil, "none\n"},
		{"some", 50, []operator.Listed{waiting, unknown}, `
PHASE    DUE                      PENDING  SINCE                    SILENT UNTIL             CONVERSATION
waiting  2026-03-01 12:01:00 UTC  2        2026-03-01 12:00:00 UTC  2026-03-01 13:00:00 UTC  #general, thread 1772366400.000100
unknown  –                        –        2026-03-01 12:00:00 UTC  –                        D1
`},
		{"as many as there may be", 1, []operator.Listed{waiting}, `
PHASE    DUE                      PENDING  SINCE                    SILENT UNTIL             CONVERSATION
waiting  2026-03-01 12:01:00 UTC  2        2026-03-01 12:00:00 UTC  2026-03-01 13:00:00 UTC  #general, thread 1772366400.000100

There may be more: raise --limit
`},
		{"without a worker", 50, []operator.Listed{unknown}, `
PHASE    DUE  PENDING  SINCE                    SILENT UNTIL  CONVERSATION
unknown  –    –        2026-03-01 12:00:00 UTC  –             D1

None answered, so their phases are unknown. Either no worker runs or they are stuck: starter show tells which.
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := conversationsCommand{Limit: test.limit}
			if err := c.table(&out, test.all, time.UTC, noon); err != nil {
				t.Fatal(err)
			}
			if got, want := out.String(), strings.TrimPrefix(test.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
