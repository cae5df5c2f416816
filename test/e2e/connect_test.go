package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// Two workspaces share a channel, and both have the app. Whoever mentions one bot is answered by that one alone, as
// often as Slack delivers it and wherever from; what one knows is in no prompt of the other.
func TestSlackConnect(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{
		"each has its event":            {shares(false)},
		"one event for both, by socket": {shares(true), socketMode},
		"one event for both, by HTTP": {shares(true), environment("SLACK_APP_TOKEN=xapp-sandbox"),
			configured("slack: {http: true}")},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); slackConnect(t, options) })
	}
}

// shares makes the app one for two workspaces whose ids differ. Once has Slack deliver an event once for both.
func shares(once bool) option {
	return func(s *settings) {
		installable(s)
		configured("slack: {allowed_workspaces: [T0E2E, T0OTHER]}")(s)
		s.App = &workspace.SlackConfig{OwnIDs: true, OneDelivery: once}
	}
}

func slackConnect(t *testing.T, options []option) {
	s := build(t, postgres(t), append(options, quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return llmtest.Yes("an open question", 1, 0)
		}
		return llmtest.Text("here I am")
	}))...)
	first, second := s.Workspace, s.Second
	carol := second.AddUser("carol")
	board := first.AddChannel(workspace.Private, "board", first.Bot().UserID, s.alice.ID)
	first.Share(s.general, second, second.Bot().UserID, carol.ID)
	ask := func(w *workspace.Workspace, text string) string { return "<@" + w.Bot().UserID + "> " + text }
	s.Start()
	db, err := store.Open(t.Context(), s.Database)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	for _, team := range []string{"T0E2E", "T0OTHER"} {
		if status, page := s.install(team); status != http.StatusOK {
			t.Fatalf("%d: %s", status, page)
		}
	}
	posts := func(what string, ones, twos int) {
		t.Helper()
		s.await(what, func() bool { return len(first.Posts()) >= ones && len(second.Posts()) >= twos })
		if len(first.Posts()) != ones || len(second.Posts()) != twos {
			t.Fatalf("%s: %d and %d posts, want %d and %d", what, len(first.Posts()), len(second.Posts()), ones, twos)
		}
	}

	first.Say(board, s.alice.ID, ask(first, "the password is swordfish"))
	posts("an answer in private", 1, 0)
	asked := []string{first.Say(s.general, s.alice.ID, ask(first, "shared: what is the password?"))}
	posts("the first bot's answer", 2, 0)
	asked = append(asked, first.Say(s.general, s.alice.ID, ask(second, "shared: and what do you say?")))
	posts("the second bot's answer to a stranger", 2, 1)
	s.restart()
	asked = append(asked, second.Say(s.general, carol.ID, ask(first, "shared: I ask from afar")))
	posts("the first bot's answer to a stranger", 3, 1)
	asked = append(asked, second.Say(s.general, carol.ID, ask(first, ask(second, "shared: both of you"))))
	posts("an answer by each", 4, 2)

	// In a thread that began with a mention of one, the other one does not join in.
	first.Say(s.general, s.alice.ID, "shared: and why?", workspace.InThread(asked[0]))
	posts("the first bot's next answer", 5, 2)
	s.never("another answer", 4*time.Second, func() bool { return len(first.Posts())+len(second.Posts()) != 7 })

	for team, bot := range map[string]workspace.Bot{"T0E2E": first.Bot(), "T0OTHER": second.Bot()} {
		for _, ts := range asked {
			m, err := db.Message(t.Context(), team, s.general, ts)
			if err != nil {
				t.Errorf("%s: %v", team, err)
			}
			decided, err := db.DecisionsSince(t.Context(), []string{"thread/" + team + "/" + s.general + "/" + ts}, time.Time{}, 10)
			if mentioned := strings.Contains(m.Text, bot.UserID); err != nil || mentioned != (len(decided) > 0) {
				t.Errorf("%s decided %d times about %q, %v", team, len(decided), m.Text, err)
			}
		}
	}
	for _, w := range []*workspace.Workspace{first, second} {
		for _, p := range w.Posts() {
			if p.Channel == s.general && !slices.Contains(asked, p.ThreadTS) {
				t.Errorf("posted outside of a thread: %+v", p)
			}
		}
	}
	for _, c := range s.Model.Calls() {
		if strings.Contains(c.User, "shared: ") && strings.Contains(c.User, "swordfish") {
			t.Errorf("a prompt for the shared channel has what was said in private:\n%s", c.User)
		}
	}
}
