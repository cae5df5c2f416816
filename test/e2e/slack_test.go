package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// typed has somebody type something after /myao and returns the answer, which has come in time.
func (s *system) typed(channel, user, text string) string {
	s.t.Helper()
	said, _ := s.hears(text, func() *sandbox.Interaction { return s.workspace.Command(channel, user, "/myao "+text) })
	return said
}

// clicked has somebody use the shortcut on a message and returns what is said about it.
func (s *system) clicked(channel, user, ts string) string {
	s.t.Helper()
	said, _ := s.hears("shortcut", func() *sandbox.Interaction { return s.workspace.Shortcut(channel, user, ts, "answer_now") })
	return said
}

// patient has Slack wait longer for each acknowledgement than it does, and than a machine
// stands still; how long one takes is looked at by who asks.
func patient(s *settings) { s.ackTimeout = time.Minute }

// hears is the answer to a request, and what was sent. It fails the test if Slack would have
// given the request up. An answer that follows later is waited for.
func (s *system) hears(what string, ask func() *sandbox.Interaction) (text string, body []byte) {
	s.t.Helper()
	ran := testserver.MeasureRunning()
	asked := ask()
	if took := ran(); asked.Status != 200 || took >= 3*time.Second {
		s.t.Errorf("%s: status %d, %q after %s", what, asked.Status, asked.Err, took)
	}
	s.await("the answer to "+what, 20*time.Second, func() bool {
		for _, said := range s.workspace.Responses(asked) {
			text = said.Text
		}
		return text != "" && !strings.HasPrefix(text, "I am on it.")
	})
	return text, asked.Body
}

func (s *system) holds(text string, parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			s.t.Errorf("%q does not hold %q", text, part)
		}
	}
}

// outcomes is what was decided in a conversation, each as its outcome and by whom.
func (s *system) outcomes(id string) (all []string) {
	s.t.Helper()
	for _, row := range s.decisions(id) {
		all = append(all, strings.TrimSpace(string(row.Outcome)+" "+row.OutcomeBy))
	}
	return all
}

// What people can see and do from within Slack, by the slash command.
func TestCommandInSlack(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"http": nil, "socket": {socketMode}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t), append(options, patient, quiet(60), maxWait(120))...)
			channel := chat.Conversation{Team: "T0E2E", Channel: s.general}
			s.workspace.Say(s.general, s.alice.ID, "does anybody know the way?")
			s.await("it to wait", 30*time.Second, func() bool {
				return strings.Contains(s.typed(s.general, s.bob.ID, "status"), "Top level: I wait for it to be quiet")
			})
			elsewhere := s.workspace.AddChannel(sandbox.Public, "elsewhere", s.bob.ID)
			s.holds(s.typed(elsewhere, s.bob.ID, "status"), "I am not in this conversation")

			s.holds(s.typed(s.general, s.bob.ID, "snooze soon"), "`1m` to `366d`")
			s.holds(s.typed(s.general, s.bob.ID, "snooze 2h"), "until <!date^")
			until, err := s.store.SilencedUntil(t.Context(), channel)
			if left := time.Until(until); err != nil || left < 119*time.Minute || left > 2*time.Hour {
				t.Errorf("silent for %s, %v; want 2h", left, err)
			}
			s.holds(s.typed(s.general, s.bob.ID, "status"), "Nothing waits here.", "I am silent here until")

			s.holds(s.typed(s.general, s.bob.ID, "unmute"), "may speak")
			muted, request := s.hears("mute", func() *sandbox.Interaction { return s.workspace.Command(s.general, s.bob.ID, "/myao mute") })
			s.holds(muted, "I am silent")
			s.holds(s.typed(s.general, s.bob.ID, "unmute"), "may speak")
			if name == "http" {
				// The signed request was taken down on its way, and comes again.
				if status, _, err := s.workspace.PostSignedForm(t.Context(), "commands", request); status != 200 || err != nil {
					t.Errorf("again: status %d, %v", status, err)
				}
			}
			if until, err := s.store.SilencedUntil(t.Context(), channel); err != nil || until.After(time.Now()) {
				t.Errorf("muted once more, until %s, %v", until, err)
			}

			s.holds(s.typed(s.general, s.bob.ID, "forget yes"), "You may not", "slack.operators")
			ts := s.workspace.Say(s.general, s.alice.ID, s.mention("what do you think?"))
			s.await("the answer", 30*time.Second, func() bool { return len(s.posts()) == 1 })
			s.await("the ledger", 30*time.Second, func() bool {
				return slices.Contains(s.outcomes("thread/T0E2E/"+s.general+"/"+ts), "posted T0E2E/"+s.general+"/"+ts+"/"+ts+"/")
			})
			s.holds(s.typed(s.general, s.bob.ID, "why"), "answered")
			s.holds(s.typed(s.general, s.bob.ID, "why https://example.slack.com/archives/"+s.general+"/p"+strings.ReplaceAll(ts, ".", "")), "answered")

			s.worker.kill()
			s.holds(s.typed(s.general, s.bob.ID, "mute"), "Nobody has confirmed that")
		})
	}
}

func socketMode(s *settings) { s.socket = true }

// A reaction withdraws what was judged, and nothing else; the shortcut has a message
// answered, once.
func TestReactionAndShortcutInSlack(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), patient, quiet(1), answers(speaking("here you are", llmtest.Yes("hold back", 0.7, 30), llmtest.No("said enough"))))
	channel := chat.Conversation{Team: "T0E2E", Channel: s.general}
	first := s.workspace.Say(s.general, s.alice.ID, "who has the key?")
	s.await("the judgment", 30*time.Second, func() bool { return len(s.outcomes(channel.ID())) == 1 })
	s.workspace.React(s.general, first, s.bob.ID, "shushing_face")
	s.await("the withdrawal", 20*time.Second, func() bool {
		return slices.Equal(s.outcomes(channel.ID()), []string{"dropped slack:" + s.bob.ID})
	})
	s.holds(s.typed(s.general, s.bob.ID, "status"), "Nothing waits here.")
	second := s.workspace.Say(s.general, s.alice.ID, "and who the other one?")
	s.await("the second judgment", 20*time.Second, func() bool { return len(s.outcomes(channel.ID())) == 2 })
	if len(s.posts()) > 0 {
		t.Errorf("posted %v", s.posts())
	}

	// The hushed one, and both at once by two people.
	said := make(chan string, 2)
	for _, user := range []string{s.alice.ID, s.bob.ID} {
		go func() { said <- s.clicked(s.general, user, second) }()
	}
	both := []string{<-said, <-said}
	slices.Sort(both)
	s.holds(both[0], "I am already on it")
	s.holds(both[1], "I answer it now")
	s.await("the answer", 30*time.Second, func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.ThreadTS != second {
		t.Errorf("answered in thread %q, want %q", p.ThreadTS, second)
	}
	s.await("it to be known", 30*time.Second, func() bool {
		return strings.Contains(s.clicked(s.general, s.bob.ID, second), "I have already answered")
	})
	s.holds(s.clicked(s.general, s.bob.ID, s.posts()[0].TS), "I said that myself")
	s.holds(s.clicked(s.general, s.bob.ID, first), "I answer it now")
	s.await("the other answer", 30*time.Second, func() bool { return len(s.posts()) == 2 && s.posts()[1].ThreadTS == first })
	s.never("another answer", 2*time.Second, func() bool { return len(s.posts()) > 2 })
}
