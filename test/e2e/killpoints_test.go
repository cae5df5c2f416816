package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/runtime/failpoint"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// step is a failpoint at which a program is killed, and the question that makes it reach it.
type step struct {
	point string
	// judged asks a question, which needs a judgment; otherwise the bot is mentioned.
	judged bool
	// twoParts makes the reply have two parts; second kills at the retry of the second part.
	twoParts, second bool
	// waits makes the channel's turn come later than the reply.
	waits bool
	// looks makes the model look something up first.
	looks bool
	// judgmentFails makes the model refuse the judgment.
	judgmentFails bool
	// answers and verdicts are how many calls of the model are expected; 0 means one.
	answers, verdicts int
}

// workerSteps are grouped by the system that they share. About ten seconds after a kill the next worker runs the killed
// activity again from its beginning, and then the activities after it. It must not reach a point at which a later step of
// the group kills. So a group has at most one point of each activity, and its steps go backwards through the work. Those of
// settle come first: an answered question settles, too, and nothing comes after it.
var workerSteps = [][]step{
	{
		{point: "post: written down"},
		{point: "compose: written"},
		{point: "judge: decided", judged: true},
	}, {
		{point: "post: sent"},
		{point: "compose: model answered", answers: 2},
		{point: "judge: answered", judged: true, verdicts: 2},
	}, {
		{point: "settle: settled", judged: true, judgmentFails: true},
		{point: "post: sent", twoParts: true, second: true},
		{point: "look: looked", looks: true, answers: 2},
	}, {
		{point: "settle: decided", judged: true, judgmentFails: true},
		{point: "post: begun", twoParts: true, second: true},
		{point: "look: begun", looks: true, answers: 2},
	}, {
		{point: "post: turn taken", waits: true},
		{point: "compose: turn written", looks: true, answers: 2},
	}, {
		{point: "post: begun"},
	},
}

// starterSteps end with the door, because the next starter relays at once what it has stored.
var starterSteps = []step{
	{point: "relay: marked"},
	{point: "relay: signalled"},
	{point: "relay: claimed"},
	{point: "door: stored"},
}

// twoPartAnswer is an answer that needs two messages.
var twoPartAnswer = strings.Repeat("The first half. ", 200) + "\n\n" + strings.Repeat("The second half. ", 200)

// TestKilledBetweenAnyTwoSteps kills the programs at every point where one step relies on
// another. Every question is answered once and recorded in the ledger, and no stored answer is
// paid for again. A killed worker's work waits for Temporal's timeouts, so a few steps at a time share a system.
func TestKilledBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		for _, steps := range workerSteps {
			t.Run(steps[0].point, func(t *testing.T) {
				t.Parallel()
				s := startWithQuestions(t, database(t))
				s.worker.Kill()
				var asked []*question
				for _, step := range steps {
					asked = append(asked, s.killWorkerAt(step, len(asked)))
				}
				s.worker.Start()
				s.awaitAnswers(asked)
			})
		}
		t.Run("starter", func(t *testing.T) {
			t.Parallel()
			s := startWithQuestions(t, database(t))
			s.starter.Kill()
			var asked []*question
			for _, step := range starterSteps {
				q := s.prepare(step, len(asked))
				s.starter.Start(failpoint.Variable + "=" + step.point)
				q.say(s)
				s.awaitDeath(s.starter, step.point)
				asked = append(asked, q)
			}
			s.starter.Start()
			s.awaitAnswers(asked)
		})
	})
}

// startWithQuestions starts the programs with a model that does what the question of a step wants.
func startWithQuestions(t *testing.T, url string) *system {
	t.Helper()
	return start(t, url, quiet(1), retriedEverySecond, modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Judgment() && strings.Contains(c.System, "hopeless"):
			return llmtest.Fail(400)
		case c.Judgment():
			return llmtest.Yes("asked", 1, 0)
		case strings.Contains(c.System, "look-it-up") && len(c.Tools) > 0 && len(c.Turns) == 0:
			return llmtest.Reply{Calls: []llm.Call{{Name: "search_messages", Input: json.RawMessage(`{"query":"weather"}`)}}}
		case strings.Contains(c.System, "in-two-halves"):
			return llmtest.Text(twoPartAnswer)
		}
		return llmtest.Text("answer")
	}))
}

// killWorkerAt asks the question of a step, which the worker does not survive. It returns once the answer is
// stored.
func (s *system) killWorkerAt(step step, n int) *question {
	s.t.Helper()
	q := s.prepare(step, n)
	if step.second {
		s.worker.Start()
		s.refuseSecondPart(q)
		s.worker.Kill()
	}
	if step.waits {
		q.say(s)
		s.awaitStored(q.channel, q.ts)
		s.postedNoSoonerThan(q.channel, time.Now().Add(40*time.Second))
	}
	s.worker.Start(failpoint.Variable + "=" + step.point)
	if !step.second && !step.waits {
		q.say(s)
	}
	s.awaitDeath(s.worker, step.point)
	if !q.answerStored(s) {
		s.worker.Start()
		s.await("the answer of "+q.point, func() bool { return q.answerStored(s) })
		s.worker.Kill()
	}
	return q
}

// awaitAnswers waits until all questions have ended, and checks them.
func (s *system) awaitAnswers(asked []*question) {
	s.t.Helper()
	want := 0
	for _, q := range asked {
		s.await("the end of "+q.point, func() bool { return q.ended(s) })
		want += q.parts()
	}
	s.never("a doubled answer", 2*time.Second, func() bool { return len(s.posts()) != want })
	for _, q := range asked {
		q.check(s)
	}
}

// question is the question of a step, in its own channel.
type question struct {
	step
	channel, ts, text string
}

func (s *system) prepare(step step, n int) *question {
	q := &question{step: step, text: fmt.Sprintf("question-%02d?", n)}
	// Private, so that no prompt has a question of another room among what was said before.
	q.channel = s.Workspace.AddChannel(workspace.Private, fmt.Sprintf("room-%02d", n), s.Workspace.Bot().UserID, s.alice.ID)
	switch {
	case step.judgmentFails:
		q.text += " hopeless"
	case step.twoParts:
		q.text += " in-two-halves"
	case step.looks:
		q.text += " look-it-up"
	}
	return q
}

func (q *question) say(s *system) {
	text := q.text
	if !q.judged {
		text = s.mention(text)
	}
	q.ts = s.Workspace.Say(q.channel, s.alice.ID, text)
}

// postedNoSoonerThan takes all turns of a channel until a time.
func (s *system) postedNoSoonerThan(channel string, at time.Time) {
	s.t.Helper()
	changed, err := world.DB(s.t, s.Database).ExecContext(s.t.Context(), "UPDATE channels SET next_post_us = $1 WHERE channel_id = $2", at.UnixMicro(), channel)
	testserver.Must(s.t, err)
	if n, err := changed.RowsAffected(); n != 1 {
		s.t.Fatalf("%d channels wait, %v", n, err)
	}
}

// refuseSecondPart asks the question and waits until the first part of the answer is posted.
// Slack refuses the second part, which is tried again after some seconds.
func (s *system) refuseSecondPart(q *question) {
	s.t.Helper()
	refused := func() int {
		n := 0
		for _, c := range s.Workspace.Calls() {
			if c.Args.Get("channel") == q.channel && c.Status == 429 {
				n++
			}
		}
		return n
	}
	s.Workspace.Faults().Add(workspace.Fault{Method: "chat.postMessage", Times: 1, Status: 429, RetryAfter: "15", Match: func(c workspace.Call) bool {
		return c.Args.Get("channel") == q.channel && strings.Contains(c.Args.Get("text"), "second half")
	}})
	q.say(s)
	s.await("the first half", func() bool { return refused() == 1 })
	s.await("the refusal to be written down", func() bool {
		p := q.outbox(s)
		return len(p) == 2 && p[1].State == store.Composed && p[1].Attempts == 1
	})
}

// awaitDeath waits until a program has killed itself at a failpoint.
func (s *system) awaitDeath(p *world.Program, point string) {
	s.t.Helper()
	s.await(p.Name+" to reach "+point, closed(p.Ended()))
	exit, ok := errors.AsType[*exec.ExitError](p.Program.Stop())
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.t.Fatalf("%s: %s ended with %v", point, p.Name, exit)
	}
	if lines := strings.Split(strings.TrimSpace(p.Log.String()), "\n"); !slices.Contains(lines[max(0, len(lines)-3):], "failpoint: "+point) {
		s.t.Fatalf("%s was killed, but not at %s", p.Name, point)
	}
}

// outbox returns the parts of the reply to the question.
func (q *question) outbox(s *system) []store.Part {
	s.t.Helper()
	thread := q.ts
	if q.judged {
		thread = ""
	}
	parts, err := s.store.Parts(s.t.Context(), strings.Join([]string{"T0E2E", q.channel, thread, q.ts, ""}, "/"))
	testserver.Must(s.t, err)
	return parts
}

func (q *question) decisions(s *system) []store.Decision {
	s.t.Helper()
	id := "channel/T0E2E/" + q.channel
	if !q.judged {
		id = "thread/T0E2E/" + q.channel + "/" + q.ts
	}
	return s.decisions(id)
}

func (q *question) outcome() conversation.Outcome {
	if q.judgmentFails {
		return "failed"
	}
	return "posted"
}

func (q *question) parts() int {
	switch {
	case q.judgmentFails:
		return 0
	case q.twoParts:
		return 2
	}
	return 1
}

// answerStored reports whether no more call of the model is needed. The kill of the next step
// may interrupt this question at any moment, and an interrupted call would be paid for again.
func (q *question) answerStored(s *system) bool {
	return q.judgmentFails || len(q.outbox(s)) > 0
}

func (q *question) ended(s *system) bool {
	rows := q.decisions(s)
	return len(rows) > 0 && rows[0].Outcome == q.outcome()
}

func (q *question) check(s *system) {
	s.t.Helper()
	rows := q.decisions(s)
	if len(rows) != 1 || rows[0].Outcome != q.outcome() || rows[0].TriggerTS != q.ts || !q.judgmentFails && rows[0].Model == "" {
		s.t.Errorf("%s: the ledger has %+v", q.point, rows)
	}
	outbox := q.outbox(s)
	if len(outbox) != q.parts() {
		s.t.Errorf("%s: the outbox has %+v", q.point, outbox)
	}
	var posts []string
	for _, p := range s.posts() {
		if p.Channel == q.channel {
			posts = append(posts, p.TS)
			if want := map[bool]string{false: q.ts}[q.judged]; p.ThreadTS != want {
				s.t.Errorf("%s: posted in thread %q, want %q", q.point, p.ThreadTS, want)
			}
		}
	}
	for i, p := range outbox {
		if p.State != store.Sent || len(posts) != len(outbox) || p.SentTS != posts[i] {
			s.t.Errorf("%s: the outbox has part %d as %s, ts %s; Slack has %v", q.point, i, p.State, p.SentTS, posts)
		}
	}
	paid := func(calls []llmtest.Call) (n int) {
		for _, c := range calls {
			if strings.Contains(c.System, q.text) {
				n++
			}
		}
		return n
	}
	answers, verdicts := max(q.answers, 1), max(q.verdicts, 1)
	if q.judgmentFails {
		answers = 0
	}
	if !q.judged {
		verdicts = 0
	}
	if got := paid(s.replies()); got != answers {
		s.t.Errorf("%s: the model was paid for %d answers, want %d", q.point, got, answers)
	}
	if got := paid(s.judgments()); got != verdicts {
		s.t.Errorf("%s: the model was paid for %d verdicts, want %d", q.point, got, verdicts)
	}
}

// TestEveryPointIsTested compares the failpoints in the source with the steps.
func TestEveryPointIsTested(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, s := range slices.Concat(slices.Concat(workerSteps...), starterSteps) {
		tested[s.point] = true
	}
	tested[shadowPoint], tested[refreshPoint] = true, true
	for _, s := range actSteps {
		tested[s.point] = true
	}
	for _, point := range slices.Concat(promisePoints, elsewherePoints) {
		tested[point] = true
	}
	root, err := filepath.Abs("../..")
	testserver.Must(t, err)
	points := map[string]bool{}
	call := regexp.MustCompile(`failpoint\.Here\((.*)\)`)
	if err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range call.FindAllSubmatch(text, -1) {
			points[strings.Trim(string(m[1]), `"`)] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(points)), slices.Sorted(maps.Keys(tested)); !slices.Equal(got, want) {
		t.Errorf("the source has the failpoints\n%q, the tests kill at\n%q", got, want)
	}
}
