package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/conversation"
	"myao/internal/llm/llmtest"
	"myao/internal/operator"
	"myao/internal/sandbox"
	"myao/internal/store"
)

func maxDelay(seconds int) option { return func(s *settings) { s.maxDelay = seconds } }

// operates runs a command of the starter as carol does, and returns its exit status.
func (s *system) operates(args ...string) (stdout, stderr string, status int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(bin, "starter"), append([]string{"--config", s.config}, args...)...)
	cmd.Env = slices.Concat(os.Environ(), s.env, []string{"USER=carol"})
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return out.String(), problem.String(), cmd.ProcessState.ExitCode()
}

// does is operates where that has to succeed; what is printed as JSON goes into v.
func (s *system) does(v any, args ...string) {
	s.t.Helper()
	stdout, stderr, status := s.operates(append(args, "--json")...)
	if status != 0 {
		s.t.Fatalf("%q: status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), v); err != nil {
		s.t.Fatalf("%q: %v: %s", args, err, stdout)
	}
}

// refuses is operates where that has to fail, and to say why.
func (s *system) refuses(why string, args ...string) {
	s.t.Helper()
	stdout, stderr, status := s.operates(args...)
	if status != 1 || stdout != "" || !strings.Contains(stderr, why) || strings.Count(stderr, "\n") != 1 {
		s.t.Errorf("%q: status %d, %q, %q; want 1 and a line with %q", args, status, stdout, stderr, why)
	}
}

// What waits is listed, hastened, dropped and muted from a terminal; each order is done
// once, and who gave it is written down.
func TestOperatingFromATerminal(t *testing.T) {
	t.Parallel()
	url := sqlite(t)
	s := start(t, url, quiet(1), maxDelay(600), answers(speaking("It is in the drawer.", llmtest.Yes("nobody answered", 0.8, 600))))
	attic := s.workspace.AddChannel(sandbox.Private, "attic", s.workspace.Bot().UserID, s.alice.ID)
	listed := func(channel string) (all []operator.Listed) {
		s.does(&all, "conversations", "--channel", channel, "--phase", "waiting,delaying")
		return all
	}
	held := func(channel string) operator.Listed {
		t.Helper()
		var all []operator.Listed
		s.await("a reply held back", 30*time.Second, func() bool {
			all = listed(channel)
			return len(all) == 1 && all[0].Phase == conversation.Delaying
		})
		return all[0]
	}
	decided := func(channel string, n int) store.Decision {
		t.Helper()
		var rows []store.Decision
		s.await("the ledger", 20*time.Second, func() bool {
			rows = s.decisions("channel/T0E2E/" + channel)
			return len(rows) == n && rows[n-1].Outcome != "pending"
		})
		return rows[n-1]
	}

	s.workspace.Say(s.general, s.alice.ID, "who has the key?")
	s.workspace.Say(attic, s.alice.ID, "and where is the ladder?")
	for _, channel := range []string{s.general, attic} {
		if l := held(channel); time.Until(l.DueAt) < 5*time.Minute || l.Pending == nil || *l.Pending != 1 || !l.Running {
			t.Errorf("listed as %+v", l)
		}
	}
	var shown struct {
		RunID string              `json:"run_id"`
		State *conversation.State `json:"state"`
	}
	s.does(&shown, "show", s.general)
	if shown.RunID == "" || shown.State.Phase != conversation.Delaying || shown.State.Verdict.Reason != "nobody answered" {
		t.Errorf("shown as %+v", shown)
	}

	// Hastened: the reply is posted, once.
	var done struct{ ID, By string }
	s.does(&done, "answer-now", s.general)
	s.await("the reply", 20*time.Second, func() bool { return len(s.posts()) == 1 })
	if d := decided(s.general, 1); d.Outcome != "posted" || d.Source != "judgment" {
		t.Errorf("hastened, the ledger says %+v", d)
	}
	// The ledger knows of the post before the workflow does.
	s.await("the conversation to have heard of the post", 20*time.Second, func() bool {
		s.does(&shown, "show", s.general)
		return shown.State.Phase == conversation.Idle
	})
	s.refuses("nothing waits here: the conversation is idle", "answer-now", s.general)
	// Dropped.
	s.does(&done, "drop", attic)
	if d := decided(attic, 1); d.Outcome != "dropped" || d.OutcomeBy != "cli:carol" {
		t.Errorf("dropped, the ledger says %+v", d)
	}
	s.refuses("nothing waits here: the conversation is idle", "drop", attic)
	// Muted, even to who addresses the bot.
	s.does(&done, "mute", attic, "--by", "dave")
	ts := s.workspace.Say(attic, s.alice.ID, s.mention("hello?"))
	s.await("the silence", 20*time.Second, func() bool {
		rows := s.decisions("thread/T0E2E/" + attic + "/" + ts)
		return len(rows) == 1 && rows[0].Rule == "silenced" && rows[0].Outcome == "silent"
	})
	var unmuted struct {
		Silenced        time.Time `json:"silenced_until"`
		ChannelSilenced time.Time `json:"channel_silenced_until"`
	}
	s.does(&unmuted, "unmute", attic, ts)
	if !unmuted.Silenced.IsZero() || time.Until(unmuted.ChannelSilenced) < conversation.MaxSnooze {
		t.Errorf("the thread of a channel that is muted, unmuted: %+v", unmuted)
	}
	s.does(&done, "unmute", attic)
	s.workspace.Say(attic, s.alice.ID, s.mention("and now?"))
	s.await("the answer", 20*time.Second, func() bool { return len(s.posts()) == 2 })
	if p := s.posts(); p[0].Channel != s.general || p[1].Channel != attic {
		t.Errorf("posted: %+v", p)
	}
	want := []string{"answer-now " + s.general + " cli:carol", "drop " + attic + " cli:carol", "mute " + attic + " cli:dave",
		"unmute " + attic + " cli:carol", "unmute " + attic + " cli:carol"}
	s.await("the audit", 20*time.Second, func() bool { return slices.Equal(s.audit(url), want) })

	// Nobody there, and it says so.
	s.worker.stop()
	s.refuses("no worker answered within 2s", "mute", s.general, "--timeout", "2s")
	s.env = append(s.env, "TEMPORAL_ADDRESS=127.0.0.1:1")
	s.refuses("temporal at 127.0.0.1:1 did not answer: ", "conversations", "--timeout", "2s")
	s.refuses("not known", "show", "#nowhere")
}

// What somebody pauses in Temporal is told; the model's call is called back, and made again
// once that goes on.
func TestPausedByHand(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), answers(func(c llmtest.Call) llmtest.Reply {
		if c.N == 1 {
			return llmtest.Reply{Text: "too late", Delay: time.Minute}
		}
		return llmtest.Reply{Text: "It is in the drawer."}
	}))
	ts := s.workspace.Say(s.general, s.alice.ID, s.mention("who has the key?"))
	s.await("the question to be asked", 30*time.Second, func() bool { return len(s.replies()) == 1 })
	run := &commonpb.WorkflowExecution{WorkflowId: "thread/T0E2E/" + s.general + "/" + ts}
	if _, err := s.temporal.WorkflowService().PauseActivity(t.Context(), &workflowservice.PauseActivityRequest{
		Namespace: s.ns, Execution: run, Identity: "carol", Reason: "it costs too much",
		Activity: &workflowservice.PauseActivityRequest_Type{Type: "Compose"},
	}); err != nil {
		t.Fatal(err)
	}
	var shown struct{ Paused []operator.Pause }
	s.does(&shown, "show", s.general, ts)
	if p := shown.Paused; len(p) != 1 || p[0].Activity != "Compose" || p[0].By != "carol" || p[0].Reason != "it costs too much" || time.Since(p[0].At) > time.Minute {
		t.Errorf("shown as paused: %+v", p)
	}
	s.await("the call to be called back", 20*time.Second, func() bool {
		d, err := s.temporal.DescribeWorkflowExecution(t.Context(), run.WorkflowId, "")
		return err == nil && len(d.GetPendingActivities()) == 1 && d.GetPendingActivities()[0].GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED
	})
	if _, err := s.temporal.WorkflowService().UnpauseActivity(t.Context(), &workflowservice.UnpauseActivityRequest{
		Namespace: s.ns, Execution: run, Activity: &workflowservice.UnpauseActivityRequest_Type{Type: "Compose"},
	}); err != nil {
		t.Fatal(err)
	}
	s.await("the answer", 30*time.Second, func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.Text != "It is in the drawer." || len(s.replies()) != 2 {
		t.Errorf("after %d questions, posted %q", len(s.replies()), p.Text)
	}
}

// audit is the orders that are written down, in order of when they were given.
func (s *system) audit(url string) (orders []string) {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(url, "sqlite:")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT kind, channel_id, ordered_by, ordered_us FROM orders ORDER BY ordered_us")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var kind, channel, by string
		var at int64
		if err := rows.Scan(&kind, &channel, &by, &at); err != nil {
			s.t.Fatal(err)
		}
		if ago := time.Since(time.UnixMicro(at)); ago < -time.Minute || ago > 10*time.Minute {
			s.t.Errorf("%s was ordered %s ago", kind, ago)
		}
		orders = append(orders, fmt.Sprintf("%s %s %s", kind, channel, by))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return orders
}
