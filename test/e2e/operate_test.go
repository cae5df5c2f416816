package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// commandJSON runs a command that must succeed and decodes its JSON output into v.
func (s *system) commandJSON(v any, args ...string) {
	s.t.Helper()
	stdout, stderr, status := s.Command(append(args, "--json")...)
	if status != 0 {
		s.t.Fatalf("%q: status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), v); err != nil {
		s.t.Fatalf("%q: %v: %s", args, err, stdout)
	}
}

// commandFails runs a command that must fail with an error that contains why.
func (s *system) commandFails(why string, args ...string) {
	s.t.Helper()
	stdout, stderr, status := s.Command(args...)
	if status != 1 || stdout != "" || !strings.Contains(stderr, why) || strings.Count(stderr, "\n") != 1 {
		s.t.Errorf("%q: status %d, %q, %q; want 1 and a line with %q", args, status, stdout, stderr, why)
	}
}

// An operator lists, answers now, drops and mutes conversations from a terminal. Each order is
// carried out once and recorded with its author.
func TestOperatingFromATerminal(t *testing.T) {
	t.Parallel()
	url := sqlite(t)
	s := start(t, url, quiet(1), maxDelay(600), modelAnswers(judgeAndAnswer("It is in the drawer.", llmtest.Yes("nobody answered", 0.8, 600))))
	attic := s.Workspace.AddChannel(workspace.Private, "attic", s.Workspace.Bot().UserID, s.alice.ID)
	listed := func(channel string) (all []operator.Listed) {
		s.commandJSON(&all, "conversations", "--channel", channel, "--phase", "waiting,delaying")
		return all
	}
	held := func(channel string) operator.Listed {
		t.Helper()
		var all []operator.Listed
		s.await("a reply held back", func() bool {
			all = listed(channel)
			return len(all) == 1 && all[0].Phase == conversation.Delaying
		})
		return all[0]
	}
	decided := func(channel string, n int) store.Decision {
		t.Helper()
		var rows []store.Decision
		s.await("the ledger", func() bool {
			rows = s.decisions("channel/T0E2E/" + channel)
			return len(rows) == n && rows[n-1].Outcome != "pending"
		})
		return rows[n-1]
	}

	s.Workspace.Say(s.general, s.alice.ID, "who has the key?")
	s.Workspace.Say(attic, s.alice.ID, "and where is the ladder?")
	for _, channel := range []string{s.general, attic} {
		if l := held(channel); time.Until(l.DueAt) < 5*time.Minute || l.Pending == nil || *l.Pending != 1 || !l.Running {
			t.Errorf("listed as %+v", l)
		}
	}
	var shown struct {
		RunID string              `json:"run_id"`
		State *conversation.State `json:"state"`
	}
	s.commandJSON(&shown, "show", s.general)
	if shown.RunID == "" || shown.State.Phase != conversation.Delaying || shown.State.Verdict.Reason != "nobody answered" {
		t.Errorf("shown as %+v", shown)
	}

	// Answer now: the reply is posted once.
	var done struct{ ID, By string }
	s.commandJSON(&done, "answer-now", s.general)
	s.await("the reply", func() bool { return len(s.posts()) == 1 })
	if d := decided(s.general, 1); d.Outcome != "posted" || d.Source != "judgment" {
		t.Errorf("after answer-now the ledger has %+v", d)
	}
	// The ledger has the post before the workflow knows of it.
	s.await("the conversation to be idle", func() bool {
		s.commandJSON(&shown, "show", s.general)
		return shown.State.Phase == conversation.Idle
	})
	s.commandFails("nothing waits here: the conversation is idle", "answer-now", s.general)
	// Drop.
	s.commandJSON(&done, "drop", attic)
	if d := decided(attic, 1); d.Outcome != "dropped" || d.OutcomeBy != "cli:carol" {
		t.Errorf("after drop the ledger has %+v", d)
	}
	s.commandFails("nothing waits here: the conversation is idle", "drop", attic)
	// A muted bot does not even answer mentions.
	s.commandJSON(&done, "mute", attic, "--by", "dave")
	ts := s.Workspace.Say(attic, s.alice.ID, s.mention("hello?"))
	s.await("the silence", func() bool {
		rows := s.decisions("thread/T0E2E/" + attic + "/" + ts)
		return len(rows) == 1 && rows[0].Rule == "silenced" && rows[0].Outcome == "silent"
	})
	var unmuted struct {
		Silenced        time.Time `json:"silenced_until"`
		ChannelSilenced time.Time `json:"channel_silenced_until"`
	}
	s.commandJSON(&unmuted, "unmute", attic, ts)
	if !unmuted.Silenced.IsZero() || time.Until(unmuted.ChannelSilenced) < conversation.MaxSnooze {
		t.Errorf("unmute in a thread of a muted channel: %+v", unmuted)
	}
	s.commandJSON(&done, "unmute", attic)
	s.Workspace.Say(attic, s.alice.ID, s.mention("and now?"))
	s.await("the answer", func() bool { return len(s.posts()) == 2 })
	if p := s.posts(); p[0].Channel != s.general || p[1].Channel != attic {
		t.Errorf("posted: %+v", p)
	}
	want := []string{"answer-now " + s.general + " cli:carol", "drop " + attic + " cli:carol", "mute " + attic + " cli:dave",
		"unmute " + attic + " cli:carol", "unmute " + attic + " cli:carol"}
	s.await("the audit", func() bool { return slices.Equal(s.audit(url), want) })

	// Without a worker or Temporal a command says so.
	s.worker.Stop()
	s.commandFails("no worker answered within 20s", "mute", s.general, "--timeout", "20s")
	s.Env = append(s.Env, "TEMPORAL_ADDRESS=127.0.0.1:1")
	s.commandFails("temporal at 127.0.0.1:1 did not answer: ", "conversations", "--timeout", "2s")
	s.commandFails("not known", "show", "#nowhere")
}

// An activity that somebody pauses in Temporal is shown as paused. Its call of the model is
// cancelled, and made again after unpausing.
func TestPausedByHand(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.N == 1 {
			return llmtest.Reply{Text: "too late", Delay: time.Minute}
		}
		return llmtest.Reply{Text: "It is in the drawer."}
	}))
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("who has the key?"))
	s.await("the question to be asked", func() bool { return len(s.replies()) == 1 })
	run := &commonpb.WorkflowExecution{WorkflowId: "thread/T0E2E/" + s.general + "/" + ts}
	if _, err := s.Client.WorkflowService().PauseActivity(t.Context(), &workflowservice.PauseActivityRequest{
		Namespace: s.Namespace, Execution: run, Identity: "carol", Reason: "it costs too much",
		Activity: &workflowservice.PauseActivityRequest_Type{Type: "Compose"},
	}); err != nil {
		t.Fatal(err)
	}
	var shown struct{ Paused []operator.Pause }
	s.commandJSON(&shown, "show", s.general, ts)
	if p := shown.Paused; len(p) != 1 || p[0].Activity != "Compose" || p[0].By != "carol" || p[0].Reason != "it costs too much" || time.Since(p[0].At) > time.Minute {
		t.Errorf("shown as paused: %+v", p)
	}
	s.await("the call to be cancelled", func() bool {
		d, err := s.Client.DescribeWorkflowExecution(t.Context(), run.WorkflowId, "")
		return err == nil && len(d.GetPendingActivities()) == 1 && d.GetPendingActivities()[0].GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED
	})
	if _, err := s.Client.WorkflowService().UnpauseActivity(t.Context(), &workflowservice.UnpauseActivityRequest{
		Namespace: s.Namespace, Execution: run, Activity: &workflowservice.UnpauseActivityRequest_Type{Type: "Compose"},
	}); err != nil {
		t.Fatal(err)
	}
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.Text != "It is in the drawer." || len(s.replies()) != 2 {
		t.Errorf("after %d questions, posted %q", len(s.replies()), p.Text)
	}
}

// audit returns the recorded orders, oldest first.
func (s *system) audit(url string) (orders []string) {
	s.t.Helper()
	rows, err := world.DB(s.t, url).Query("SELECT kind, channel_id, ordered_by, ordered_us FROM orders ORDER BY ordered_us")
	testserver.Must(s.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var kind, channel, by string
		var at int64
		testserver.Must(s.t, rows.Scan(&kind, &channel, &by, &at))
		if ago := time.Since(time.UnixMicro(at)); ago < -time.Minute || ago > 10*time.Minute {
			s.t.Errorf("%s was ordered %s ago", kind, ago)
		}
		orders = append(orders, fmt.Sprintf("%s %s %s", kind, channel, by))
	}
	testserver.Must(s.t, rows.Err())
	return orders
}
