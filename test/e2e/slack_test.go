package e2e

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/world"
)

// typeCommand types /myao with a text as a user and returns the response.
func (s *system) typeCommand(channel, user, text string) string {
	s.t.Helper()
	said, _ := s.interact(text, func() *workspace.Interaction { return s.Workspace.Command(channel, user, "/myao "+text) })
	return said
}

// typeOrder has bob type /myao with an order in the general channel until the response has a text: an order fails where no
// worker confirms it within eight seconds, or Temporal does not answer within one. It returns the request.
func (s *system) typeOrder(order, want string) (body []byte) {
	s.t.Helper()
	s.await("/myao "+order, func() bool {
		var said string
		said, body = s.interact(order, func() *workspace.Interaction { return s.Workspace.Command(s.general, s.bob.ID, "/myao "+order) })
		return strings.Contains(said, want)
	})
	return body
}

// useShortcut uses the shortcut on a message as a user and returns the response.
func (s *system) useShortcut(channel, user, ts string) string {
	s.t.Helper()
	said, _ := s.interact("shortcut", func() *workspace.Interaction { return s.Workspace.Shortcut(channel, user, ts, "answer_now") })
	return said
}

// longAckTimeout makes Slack wait longer for acknowledgements than a machine stalls.
func longAckTimeout(s *settings) { s.Slack.AckTimeout = time.Minute }

// repeat does something every ten seconds until it has had its effect.
func (s *system) repeat(what string, do func(), done func() bool) {
	s.t.Helper()
	s.await(what, func() bool {
		do()
		return world.Within(s.t, 10*time.Second, 50*time.Millisecond, done)
	})
}

// taken repeats an interaction until the app has taken it. The app refuses what takes it longer than two seconds, as its
// questions to Slack and the database may, and Slack repeats no interaction.
func (s *system) taken(what string, ask func() *workspace.Interaction) (asked *workspace.Interaction) {
	s.t.Helper()
	s.await(what+" to be taken", func() bool {
		asked = ask()
		return asked.Status == 200
	})
	return asked
}

// click presses a button until the app has taken it, or is gone.
func (s *system) click(channel, user, ts, action, value string) (asked *workspace.Interaction) {
	s.t.Helper()
	s.await(action, func() bool {
		asked = s.Workspace.Press(channel, user, ts, action, value)
		return asked.Status != http.StatusServiceUnavailable
	})
	return asked
}

// interact returns the final response to an interaction and the request's body.
func (s *system) interact(what string, ask func() *workspace.Interaction) (text string, body []byte) {
	s.t.Helper()
	asked := s.taken(what, ask)
	s.await("the answer to "+what, func() bool {
		for _, said := range s.Workspace.Responses(asked) {
			if !strings.HasPrefix(said.Text, "I am on it.") { // which a late answer may overtake
				text = said.Text
			}
		}
		return text != ""
	})
	return text, asked.Body
}

func (s *system) mustContain(text string, parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			s.t.Errorf("%q does not contain %q", text, part)
		}
	}
}

// outcomes returns the decisions of a conversation, each as outcome and author.
func (s *system) outcomes(id string) (all []string) {
	s.t.Helper()
	for _, row := range s.decisions(id) {
		all = append(all, strings.TrimSpace(string(row.Outcome)+" "+row.OutcomeBy))
	}
	return all
}

// The slash command shows and changes the bot's state in a channel.
func TestCommandInSlack(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"http": nil, "socket": {socketMode}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t), append(options, longAckTimeout, quiet(60), maxWait(120))...)
			channel := chat.Conversation{Team: "T0E2E", Channel: s.general}
			s.Workspace.Say(s.general, s.alice.ID, "does anybody know the way?")
			s.await("it to wait", func() bool {
				return strings.Contains(s.typeCommand(s.general, s.bob.ID, "status"), "Top level: I wait for quiet")
			})
			elsewhere := s.Workspace.AddChannel(workspace.Public, "elsewhere", s.bob.ID)
			s.mustContain(s.typeCommand(elsewhere, s.bob.ID, "status"), "I am not in this conversation")

			s.mustContain(s.typeCommand(s.general, s.bob.ID, "snooze soon"), "`1m` to `366d`")
			s.typeOrder("snooze 2h", "until <!date^")
			until, err := s.store.SilencedUntil(t.Context(), channel)
			if left := time.Until(until); err != nil || left < 119*time.Minute || left > 2*time.Hour {
				t.Errorf("silent for %s, %v; want 2h", left, err)
			}
			s.awaitSlackStatus("Nothing is waiting here.", "I am silent here until")

			s.typeOrder("unmute", "may speak")
			request := s.typeOrder("mute", "I am silent")
			s.typeOrder("unmute", "may speak")
			if name == "http" {
				// An attacker replays the signed request.
				if status, _, err := s.Workspace.PostSignedForm(t.Context(), "commands", request); status != 200 || err != nil {
					t.Errorf("again: status %d, %v", status, err)
				}
			}
			if until, err := s.store.SilencedUntil(t.Context(), channel); err != nil || until.After(time.Now()) {
				t.Errorf("muted once more, until %s, %v", until, err)
			}

			s.mustContain(s.typeCommand(s.general, s.bob.ID, "forget yes"), "You may not", "slack.operators")
			ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("what do you think?"))
			s.await("the answer", func() bool { return len(s.posts()) == 1 })
			s.await("the ledger", func() bool {
				return slices.Contains(s.outcomes("thread/T0E2E/"+s.general+"/"+ts), "posted T0E2E/"+s.general+"/"+ts+"/"+ts+"/")
			})
			s.mustContain(s.typeCommand(s.general, s.bob.ID, "why"), "answered")
			s.mustContain(s.typeCommand(s.general, s.bob.ID, "why https://example.slack.com/archives/"+s.general+"/p"+strings.ReplaceAll(ts, ".", "")), "answered")

			s.worker.Kill()
			s.typeOrder("mute", "I have no confirmation of that")
		})
	}
}

// awaitSlackStatus waits until the status of the general channel has some texts: Slack's answer does not wait for a worker
// that is slow to tell what a conversation does.
func (s *system) awaitSlackStatus(want ...string) {
	s.t.Helper()
	s.await("the status", func() bool {
		status := s.typeCommand(s.general, s.bob.ID, "status")
		return !slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(status, text) })
	})
}

// A reaction drops the pending reply to one message. The shortcut gets a message answered once.
func TestReactionAndShortcutInSlack(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), longAckTimeout, quiet(1), modelAnswers(judgeAndAnswer("here you are", llmtest.Yes("hold back", 0.7, 30), llmtest.No("said enough"))))
	channel := chat.Conversation{Team: "T0E2E", Channel: s.general}
	first := s.Workspace.Say(s.general, s.alice.ID, "who has the key?")
	s.await("the judgment", func() bool { return len(s.outcomes(channel.ID())) == 1 })
	s.Workspace.React(s.general, first, s.bob.ID, "shushing_face")
	s.await("the withdrawal", func() bool {
		return slices.Equal(s.outcomes(channel.ID()), []string{"dropped slack:" + s.bob.ID})
	})
	s.awaitSlackStatus("Nothing is waiting here.")
	second := s.Workspace.Say(s.general, s.alice.ID, "and who the other one?")
	s.await("the second judgment", func() bool { return len(s.outcomes(channel.ID())) == 2 })
	if len(s.posts()) > 0 {
		t.Errorf("posted %v", s.posts())
	}

	// Two people use the shortcut on one message at once.
	said := make(chan string, 2)
	for _, user := range []string{s.alice.ID, s.bob.ID} {
		go func() { said <- s.useShortcut(s.general, user, second) }()
	}
	both := []string{<-said, <-said}
	slices.Sort(both)
	s.mustContain(both[0], "I am already on it")
	s.mustContain(both[1], "I will answer it now")
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	if p := s.posts()[0]; p.ThreadTS != second {
		t.Errorf("answered in thread %q, want %q", p.ThreadTS, second)
	}
	s.await("it to be known", func() bool {
		return strings.Contains(s.useShortcut(s.general, s.bob.ID, second), "I have already answered")
	})
	s.mustContain(s.useShortcut(s.general, s.bob.ID, s.posts()[0].TS), "I said that myself")
	s.mustContain(s.useShortcut(s.general, s.bob.ID, first), "I will answer it now")
	s.await("the other answer", func() bool { return len(s.posts()) == 2 && s.posts()[1].ThreadTS == first })
	s.never("another answer", 2*time.Second, func() bool { return len(s.posts()) > 2 })
}

// Another app's alert is answered once when people react to it, however many do and whatever they take back.
func TestReactionHasAnAlertAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), longAckTimeout, quiet(300), maxWait(600), configured("slack: {answer_reaction: robot_face}"))
	ts := s.Workspace.SayAsApp(s.general, workspace.App{BotID: "B0ALERT", Name: "alerts"}, "disk full")
	for _, user := range []string{s.alice.ID, s.bob.ID} {
		s.Workspace.React(s.general, ts, user, "robot_face")
	}
	s.await("the answer", func() bool { return len(s.posts()) == 1 })
	s.Workspace.Unreact(s.general, ts, s.alice.ID, "robot_face")
	s.Workspace.React(s.general, ts, s.alice.ID, "robot_face")
	if p := s.posts()[0]; p.ThreadTS != ts {
		t.Errorf("answered in thread %q, want %q", p.ThreadTS, ts)
	}
	s.never("another answer", 2*time.Second, func() bool { return len(s.posts()) > 1 })
	if why := s.told("why", s.general, ts); strings.Count(why, "ordered: answer-now") != 1 {
		t.Errorf("ordered by more than the first to react:\n%s", why)
	}
}

// Somebody of another company may ask for the status in a shared channel, and nothing else by the
// command, the shortcut or the reaction.
func TestOutsidersInSlack(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), longAckTimeout, quiet(300), maxWait(600))
	stranger := s.Workspace.AddUserAs(workspace.User{Name: "mallory", Team: "T0OTHER"})
	s.Workspace.Join(s.general, stranger.ID)
	ts := s.Workspace.Say(s.general, s.alice.ID, "who has the key?")
	s.awaitStored(s.general, ts)
	refusal := "guests and people from other companies may not"
	var typed []byte
	for _, text := range []string{"mute", "unmute", "snooze 2h", "why", "forget yes", "stop"} {
		var answer string
		answer, typed = s.interact(text, func() *workspace.Interaction { return s.Workspace.Command(s.general, stranger.ID, "/myao "+text) })
		s.mustContain(answer, "You may not")
		if text == "mute" {
			s.mustContain(answer, refusal)
			// As if Slack had named the workspace of the user.
			theirs := bytes.Replace(typed, []byte("team_id=T0E2E"), []byte("team_id=T0OTHER"), 1)
			if status, answer, err := s.Workspace.PostSignedForm(t.Context(), "commands", theirs); err != nil || status != 200 || strings.Contains(string(answer), "I am silent") {
				t.Errorf("typed in another workspace: %d, %s, %v", status, answer, err)
			}
		}
	}
	s.mustContain(s.useShortcut(s.general, stranger.ID, ts), refusal)
	s.Workspace.React(s.general, ts, stranger.ID, "shushing_face")
	s.await("the reaction", func() bool { return s.starter.Log.Has("may not hush") })
	s.await("the status", func() bool {
		return strings.Contains(s.typeCommand(s.general, stranger.ID, "status"), "Top level: I wait for quiet")
	})
	channel := chat.Conversation{Team: "T0E2E", Channel: s.general}
	if until, err := s.store.SilencedUntil(t.Context(), channel); err != nil || !until.IsZero() || len(s.outcomes(channel.ID())) > 0 {
		t.Errorf("silenced until %s, %v; decided %q", until, err, s.outcomes(channel.ID()))
	}
	s.typeOrder("mute", "I am silent")
}
