package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// promises answers as a model that promises what it is asked for: a message says "promise: " and the input of
// look_again. Of promises that are due, those until the parcel is here are let go.
func promises(c llmtest.Call) llmtest.Reply {
	due := strings.Contains(c.System, "## Promise that is due")
	switch {
	case due && strings.Contains(c.System, "superfluous\n\nthe parcel is here"):
		return llmtest.No("somebody has answered")
	case due:
		return llmtest.Yes("nobody has answered", 0.9, 0)
	case c.Schema != nil:
		return llmtest.No("nothing to add")
	case strings.Contains(c.System, "## What you promised"):
		return llmtest.Text("It is time.")
	}
	i := strings.LastIndex(c.System, "promise: {")
	if i < 0 || len(c.Tools) == 0 || len(c.Turns) > 0 {
		return llmtest.Text("All right.")
	}
	input, _, _ := strings.Cut(c.System[i+len("promise: "):], "\n")
	return llmtest.Calls(llmtest.ToolCall("look_again", input))
}

// promised asks for a promise in a channel, and returns it with the message that asked.
func (s *system) promised(channel, input string) (p store.Promise, question string) {
	s.t.Helper()
	question = s.Workspace.Say(channel, s.alice.ID, s.mention("promise: "+input))
	s.await("the promise "+input, func() bool {
		open, err := s.store.Promises(s.t.Context(), store.ChoiceFilter{Team: "T0E2E", Channel: channel, Thread: question, All: true, Limit: 10})
		if err != nil || len(open) == 0 {
			return false
		}
		p = open[0]
		return true
	})
	return p, question
}

func (s *system) promise(id string) store.Promise {
	s.t.Helper()
	p, err := s.store.Promise(s.t.Context(), id)
	testserver.Must(s.t, err)
	return p
}

func (s *system) awaitPromise(id string, state store.PromiseState) {
	s.t.Helper()
	s.await("promise "+id+" to be "+string(state), func() bool { return s.promise(id).State == state })
}

// makeDue moves a promise to this moment.
func (s *system) makeDue(id string) {
	s.t.Helper()
	if _, stderr, status := s.Command("promises", "move", id, "in", "1s"); status != 0 {
		s.t.Fatalf("promise %s is not moved: %s", id, stderr)
	}
}

// kept are the posts in a thread that keep a promise.
func (s *system) kept(channel, thread string) []workspace.Post {
	return slices.DeleteFunc(s.postsIn(channel), func(p workspace.Post) bool {
		return p.ThreadTS != thread || !strings.Contains(p.Text, "It is time.")
	})
}

// A promise is confirmed with its time and a button, and kept once in its thread although both programs are
// dead when it is due. A reminder is kept without a judgment, and names whoever asked. Others are judged, end
// with the message that asked, or are cancelled.
func TestPromises(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		s := start(t, database(t), quiet(300), maxWait(600), modelAnswers(promises))
		reminder, asked := s.promised(s.general, `{"when":"in 15s","what":"water the plants"}`)
		confirmed := s.postsIn(s.general)[0]
		if blocks := string(confirmed.Blocks); !strings.Contains(blocks, "I will remind you: ") || !strings.Contains(blocks, "UTC)") || !strings.Contains(blocks, slack.ActionCancel) {
			t.Errorf("confirmed by %s", blocks)
		}
		s.worker.Kill()
		s.starter.Kill()
		time.Sleep(time.Until(reminder.Due().Add(time.Second))) // the promise is due while nobody runs
		s.starter.Start()
		s.worker.Start()
		s.Ready()
		s.awaitPromise(reminder.ID, store.PromiseKept)
		if kept := s.kept(s.general, asked); len(kept) != 1 || !strings.HasPrefix(kept[0].Text, "<@"+s.alice.ID+"> ") {
			t.Errorf("kept by %+v", kept)
		}
		if n := len(s.judgments()); n != 0 {
			t.Errorf("%d judgments of a reminder", n)
		}
		s.await("the button to give way", func() bool {
			return slices.ContainsFunc(s.Workspace.Messages(s.general), func(m workspace.Message) bool {
				return m.TS == confirmed.TS && !strings.Contains(string(m.Blocks), slack.ActionCancel) && strings.Contains(string(m.Blocks), "kept")
			})
		})

		settled, asked := s.promised(s.general, `{"when":"in 2s","what":"whether it is answered","unless":"the parcel is here"}`)
		s.awaitPromise(settled.ID, store.PromiseReleased)
		open, open2 := s.promised(s.general, `{"when":"in 2s","what":"whether it is answered","unless":"somebody has answered"}`)
		s.awaitPromise(open.ID, store.PromiseKept)
		if n := len(s.kept(s.general, asked)); n != 0 {
			t.Errorf("%d posts of a promise that was let go", n)
		}
		if n := len(s.kept(s.general, open2)); n != 1 {
			t.Errorf("%d posts of a promise that was not settled", n)
		}

		withdrawn, asked := s.promised(s.general, `{"when":"in 1h","what":"x"}`)
		s.Workspace.Delete(s.general, asked)
		s.awaitPromise(withdrawn.ID, store.PromiseWithdrawn)

		cancelled, _ := s.promised(s.general, `{"when":"in 1h","what":"x"}`)
		// the message tells, and nobody is answered
		s.click(s.general, s.alice.ID, cancelled.ShownTS, slack.ActionCancel, cancelled.ID)
		s.awaitPromise(cancelled.ID, store.PromiseCancelled)
		if p := s.promise(cancelled.ID); p.State != store.PromiseCancelled || p.EndedBy != "slack:"+s.alice.ID {
			t.Errorf("cancelled: %+v", p)
		}

		every, asked := s.promised(s.general, `{"when":"in 2s","what":"the status","every":"day"}`)
		s.await("its next time", func() bool { return s.promise(every.ID).Number == 2 })
		if p := s.promise(every.ID); p.State != store.PromiseOpen || p.Due().Sub(p.First()) != 24*time.Hour || len(s.kept(s.general, asked)) != 1 {
			t.Errorf("after its first time: %+v", p)
		}

		weekdays, _ := s.promised(s.general, `{"when":"sat 09:00","what":"the post","every":"weekday"}`)
		if weekdays.Due().In(weekdays.Location()).Weekday() != time.Monday {
			t.Errorf("every weekday, first on %s", weekdays.Due())
		}

		private := s.Workspace.AddChannel(workspace.Private, "gone", s.Workspace.Bot().UserID, s.alice.ID)
		gone, _ := s.promised(private, `{"when":"in 1h","what":"water the plants"}`)
		s.Workspace.Leave(private, s.Workspace.Bot().UserID)
		s.makeDue(gone.ID)
		s.awaitPromise(gone.ID, store.PromiseKept)
		direct := slices.DeleteFunc(s.posts(), func(p workspace.Post) bool { return !strings.HasPrefix(p.Channel, "D") })
		if len(direct) != 1 || !strings.Contains(direct[0].Text, "water the plants") || !strings.Contains(direct[0].Text, private) {
			t.Errorf("told in direct messages: %+v", direct)
		}
	})
}

// promisePoints are where the worker dies while it keeps a promise.
var promisePoints = []string{"promise: ends", "post: written down", "post: sent", "promise: checked"}

// A promise is kept once wherever a worker dies.
func TestKilledWhileItKeepsAPromise(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		for points := range slices.Chunk(promisePoints, 2) {
			t.Run(points[0], func(t *testing.T) {
				t.Parallel()
				s := start(t, database(t), quiet(300), maxWait(600), modelAnswers(promises))
				for i, point := range points {
					p, asked := s.promised(s.general, fmt.Sprintf(`{"when":"in 1h","what":"plant %d"}`, i))
					s.worker.Kill()
					s.worker.Start(failpoint.Variable + "=" + point)
					s.makeDue(p.ID)
					s.awaitDeath(s.worker, point)
					s.worker.Start()
					s.awaitPromise(p.ID, store.PromiseKept)
					if n := len(s.kept(s.general, asked)); n != 1 {
						t.Errorf("killed at %s: kept %d times", point, n)
					}
				}
			})
		}
	})
}
