package e2e

import (
	"regexp"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/workflows"
)

// catchUp runs the catching up now.
func (s *system) catchUp(in workflows.CatchUpInput) workflows.CatchUpOutput {
	s.t.Helper()
	var out workflows.CatchUpOutput
	s.run("CatchUp", in, &out)
	return out
}

// answered is how many answers stand in a thread.
func (s *system) answered(thread string) int {
	n := 0
	for _, p := range s.posts() {
		if p.ThreadTS == thread {
			n++
		}
	}
	return n
}

// What was said while both programs were down is answered when they are back, in
// every place, if it is young enough.
func TestSaidWhileDown(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		s := start(t, url, quiet(300), maxWait(600))
		now := time.Now()
		// Two old threads: one that the bot knows, one in which nobody had said anything yet.
		known := s.workspace.Say(s.general, s.alice.ID, "an old matter", sandbox.At(now.Add(-72*time.Hour)))
		first := s.workspace.Say(s.general, s.bob.ID, "I had a look", sandbox.InThread(known), sandbox.At(now.Add(-71*time.Hour)))
		untouched := s.workspace.Say(s.general, s.bob.ID, "nobody said anything to this", sandbox.At(now.Add(-70*time.Hour)))
		s.heard(s.general, known, first, untouched)
		s.starter.stop()
		s.worker.stop()

		top := s.workspace.Say(s.general, s.alice.ID, s.mention("at the top level?"), sandbox.WithoutEvent())
		s.workspace.Say(s.general, s.alice.ID, s.mention("in an old thread?"), sandbox.InThread(known), sandbox.WithoutEvent())
		s.workspace.Say(s.general, s.alice.ID, s.mention("under an old message?"), sandbox.InThread(untouched), sandbox.WithoutEvent())
		direct := s.workspace.AddChannel(sandbox.DM, "", s.alice.ID)
		s.workspace.Say(direct, s.alice.ID, "in a direct message?", sandbox.WithoutEvent()) // the first one there is
		later := s.workspace.Say(s.general, s.bob.ID, "and nothing of interest", sandbox.WithoutEvent())

		s.worker.start()
		s.starter.start()
		s.ready()
		s.await("the answers", 30*time.Second, func() bool {
			return s.answered(top) == 1 && s.answered(known) == 1 && s.answered(untouched) == 1 && s.answered("") == 1
		})
		s.heard(s.general, later)
		s.catchUp(workflows.CatchUpInput{Start: true})
		s.never("an answer more", 5*time.Second, func() bool { return len(s.posts()) > 4 })
		for _, c := range s.replies() {
			if !regexp.MustCompile(`at the top level\?|in an old thread\?|under an old message\?|in a direct message\?`).MatchString(c.System) {
				t.Errorf("an answer to none of the questions:\n%s", c.System)
			}
		}
	})
}

// A message that comes live says nothing of the ones before it that did not.
func TestLiveMessageDoesNotHideTheGap(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600))
	s.workspace.Faults().SuppressEvents(true)
	missed := s.workspace.Say(s.general, s.alice.ID, s.mention("can you hear me?"))
	s.workspace.Faults().SuppressEvents(false)
	s.heard(s.general, s.workspace.Say(s.general, s.bob.ID, "the line is back"))
	if out := s.catchUp(workflows.CatchUpInput{}); out.Taken != 1 || out.New != 1 {
		t.Errorf("caught up: %+v; want one message that was not known, and taken", out)
	}
	s.await("the answer", 20*time.Second, func() bool { return s.answered(missed) == 1 })
	if out := s.catchUp(workflows.CatchUpInput{}); out.Taken != 0 || out.Failed != 0 {
		t.Errorf("caught up again: %+v; want nothing", out)
	}
	s.never("a second answer", 4*time.Second, func() bool { return len(s.posts()) > 1 })
}

// A mention that the history of its thread had brought, before its own event came, or
// where that never comes, is answered all the same, once.
func TestStoredIsNotHandled(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"the event comes late": true, "the event never comes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t), quiet(300), maxWait(600), answers(func(c llmtest.Call) llmtest.Reply {
				if c.Judgment() {
					return llmtest.No("no")
				}
				return llmtest.Text("Here I am.")
			}))
			root := s.workspace.Say(s.general, s.bob.ID, "a thread", sandbox.WithoutEvent())
			fault := sandbox.EventFault{Delay: 12 * time.Second, Times: 2} // the message and its app_mention
			if !late {
				fault = sandbox.EventFault{Drop: true, Times: 2}
			}
			s.workspace.Faults().AddEvent(fault)
			alices := s.workspace.Say(s.general, s.alice.ID, s.mention("and me?"), sandbox.InThread(root))
			s.workspace.Say(s.general, s.bob.ID, s.mention("can you help?"), sandbox.InThread(root))
			s.await("bob's answer", 30*time.Second, func() bool { return len(s.posts()) == 1 })
			s.heard(s.general, alices) // by the history of the thread
			if !late {
				s.catchUp(workflows.CatchUpInput{})
			}
			s.await("alice's answer", 30*time.Second, func() bool { return len(s.posts()) == 2 })
			s.catchUp(workflows.CatchUpInput{Start: true})
			s.never("a third answer", 5*time.Second, func() bool { return len(s.posts()) > 2 })
		})
	}
}

// What is too old, or was said before the bot came, is stored and not answered.
func TestOldIsStoredAndNotAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600), channels("channels: {general: {max_message_age_seconds: 3600}}"))
	now := time.Now()
	old := s.workspace.Say(s.general, s.alice.ID, s.mention("two hours ago?"), sandbox.At(now.Add(-2*time.Hour)), sandbox.WithoutEvent())
	random := s.workspace.AddChannel(sandbox.Public, "random", s.alice.ID, s.bob.ID)
	before := s.workspace.Say(random, s.alice.ID, s.mention("are you in here?"))
	s.workspace.Join(random, s.workspace.Bot().UserID)
	if out := s.catchUp(workflows.CatchUpInput{Start: true}); out.Channels != 2 || out.New < 2 || out.Taken != 0 || out.Failed != 0 {
		t.Errorf("caught up: %+v; want two channels, and nothing taken", out)
	}
	s.heard(s.general, old)
	s.heard(random, before)
	missed := s.workspace.Say(random, s.alice.ID, s.mention("and now?"), sandbox.WithoutEvent())
	s.catchUp(workflows.CatchUpInput{})
	s.await("the answer", 20*time.Second, func() bool { return s.answered(missed) == 1 })
	s.never("an answer to what is old", 4*time.Second, func() bool { return len(s.posts()) > 1 })
}
