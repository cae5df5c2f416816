package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// Whoever addressed the bot finds buttons under the answer. A vote is acknowledged in time while Slack's
// views.open hangs, is recorded once however often it comes, and is seen by nobody.
func TestFeedback(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"http": nil, "socket": {socketMode}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t), append(options, longAckTimeout, quiet(300), maxWait(600))...)
			asked := s.Workspace.Say(s.general, s.alice.ID, s.mention("what is for lunch?"))
			s.await("the answer", func() bool { return len(s.posts()) == 1 })
			answer := s.posts()[0]
			if !strings.HasSuffix(string(answer.Blocks), `"value":"down","accessibility_label":"Bad answer"}}]}]`) {
				t.Errorf("no buttons under %s", answer.Blocks)
			}
			var decision string
			s.await("the ledger", func() bool {
				for _, d := range s.decisions("thread/T0E2E/" + s.general + "/" + asked) {
					if d.Outcome == "posted" {
						decision = d.Key
					}
				}
				return decision != ""
			})
			vote := func(user workspace.User, value string) *workspace.Interaction {
				t.Helper()
				return s.taken("vote "+value, func() *workspace.Interaction {
					return s.Workspace.Press(s.general, user.ID, answer.TS, slack.ActionFeedback, value)
				})
			}
			votes := func() (all string) {
				t.Helper()
				rows, err := s.store.Feedback(t.Context(), []string{decision})
				testserver.Must(t, err)
				for _, v := range rows {
					all += v.UserID + " " + v.Value + " " + v.Reason + "\n"
				}
				return all
			}
			hangs := s.Workspace.Faults().Add(workspace.Fault{Method: "views.open", Delay: time.Minute})
			down := vote(s.bob, store.VoteDown)
			if name == "http" { // delivered again
				if status, _, err := s.Workspace.PostSignedForm(t.Context(), "interactions", down.Body); status != 200 || err != nil {
					t.Errorf("again: status %d, %v", status, err)
				}
			}
			if got, want := votes(), s.bob.ID+" down \n"; got != want {
				t.Errorf("votes %q, want %q", got, want)
			}
			vote(s.alice, store.VoteUp)
			vote(s.bob, store.VoteUp)
			if got, want := votes(), s.alice.ID+" up \n"+s.bob.ID+" up \n"; got != want {
				t.Errorf("after another mind, votes %q, want %q", got, want)
			}
			hangs()
			downs := 1                      // and alice's vote
			s.repeat("the window", func() { // Slack opens none three seconds after the click
				if downs > 1 {
					vote(s.bob, store.VoteUp)
				}
				vote(s.bob, store.VoteDown)
				downs++
			}, func() bool { return len(s.Workspace.Modals()) == 1 })
			window := s.Workspace.Modals()[0]
			s.mustContain(string(window.View), `"optional":true`, `"max_length":500`, "What should have been different?")
			if window.User != s.bob.ID {
				t.Errorf("it is opened for %s", window.User)
			}
			if a := s.Workspace.Submit(window.ID, map[string]map[string]string{"reason": {"reason": "It was dinner."}}); a.Status != 200 || len(s.Workspace.Modals()) != 0 {
				t.Errorf("submitted: status %d, %q", a.Status, a.Err)
			}
			if got, want := votes(), s.alice.ID+" up \n"+s.bob.ID+" down It was dinner.\n"; got != want {
				t.Errorf("votes %q, want %q", got, want)
			}

			for label, want := range map[string]int{"up": downs, "down": downs} {
				if got := s.metric(`myao_feedback_total{value="` + label + `"}`); got != strconv.Itoa(want) {
					t.Errorf("%s votes %s, want %d", got, label, want)
				}
			}
			why, _, _ := s.Command("why", "general", asked, "--text")
			s.mustContain(why, "rated 1 up, 1 down", `down, because "It was dinner."`)
			if strings.Contains(why, s.bob.ID) {
				t.Errorf("why tells who voted:\n%s", why)
			}
			in := s.typeCommand(s.general, s.alice.ID, "why "+asked)
			s.mustContain(in, "; rated 1 up, 1 down)")
			if strings.Contains(in, "dinner") {
				t.Errorf("it tells the reason: %s", in)
			}
			var usage struct {
				Rows []struct {
					Model    string
					Up, Down int
				}
			}
			s.commandJSON(&usage, "usage", "--by", "model")
			if len(usage.Rows) != 1 || usage.Rows[0].Up != 1 || usage.Rows[0].Down != 1 || usage.Rows[0].Model == "" {
				t.Errorf("usage %+v", usage)
			}
			told := slices.DeleteFunc(s.Workspace.Ephemeral(), func(p workspace.Post) bool { return strings.HasPrefix(p.Text, "I am on it.") })
			if n, updates := len(s.posts()), s.Workspace.Calls("chat.update", "chat.postEphemeral", "reactions.add"); n != 1 || len(updates) > 0 || len(told) != 1 { // that of why
				t.Errorf("the votes show: %d posts, %d changes, %d told", n, len(updates), len(told))
			}
		})
	}
}
