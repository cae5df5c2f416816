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
	"myao/test/world"
	"myao/workflows"
)

// An organisation installs the app, and adds it to its workspaces one after the other. Each is answered in its own,
// and ends alone. One has an installation of its own for a while.
func TestOrganisation(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := build(t, postgres(t), installable, configured("slack: {allowed_workspaces: [E0ORG]}"), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.User, "the slow question") {
			<-hold
			return llmtest.Text("at last")
		}
		return llmtest.Text("here I am")
	}))
	first, second := s.Workspace, s.Second
	org := s.App.AddOrganisation("E0ORG", first, second)
	for _, name := range []string{"alice", "bob", "carol"} {
		second.AddUser(name)
	}
	elsewhere := second.AddChannel(workspace.Public, "general", second.Bot().UserID, s.alice.ID, s.bob.ID)
	s.Start()
	db, err := store.Open(t.Context(), s.Database)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	granted := func(want ...string) func() bool {
		return func() bool {
			teams, err := db.TeamsOf(t.Context(), "E0ORG")
			var got []string
			for _, team := range teams {
				if team.Granted {
					got = append(got, team.Team)
				}
			}
			return err == nil && slices.Equal(got, want)
		}
	}
	serves := func(team, want string) {
		t.Helper()
		s.await(team+" to be served by "+want, func() bool {
			i, err := db.InstallationOf(t.Context(), team)
			return err == nil && i.ID == want && i.State == store.InstallationActive
		})
	}

	// It is in no workspace yet, and the doctor says so.
	s.mustInstall("E0ORG")
	report, _, _ := s.Command("doctor")
	s.mustContain(report, "the app is in no workspace of E0ORG", "https://app.slack.com/manage/E0ORG/integrations/profile/A0SANDBOX/workspaces/add")

	// It is added to one, and then to the other. A person has the same id in both.
	org.Grant(first)
	first.Say(s.general, s.alice.ID, s.mention("are you there?"))
	s.await("an answer in the first workspace", func() bool { return len(first.Posts()) == 1 })
	org.Grant(second)
	second.Say(elsewhere, s.alice.ID, s.mention("the password is swordfish"))
	s.await("an answer in the second", func() bool { return len(second.Posts()) == 1 })
	first.Say(s.general, s.alice.ID, s.mention("what is the password?"))
	s.await("another in the first", func() bool { return len(first.Posts()) == 2 })
	for _, c := range s.Model.Calls() {
		if strings.Contains(c.User, "what is the password?") && strings.Contains(c.User, "swordfish") {
			t.Errorf("a prompt of one workspace has what was said in the other:\n%s", c.User)
		}
	}
	s.await("both to be granted", granted("T0E2E", "T0OTHER"))

	// It is taken from one. What waits there goes on with an installation of its own.
	first.Say(s.general, s.alice.ID, s.mention("the slow question"))
	s.await("a reply being written", func() bool { return len(s.replies()) == 4 })
	org.Withdraw(first)
	s.await("one to be granted", granted("T0OTHER"))
	close(hold)
	second.Say(elsewhere, s.alice.ID, s.mention("still there?"))
	s.await("an answer where it still is", func() bool { return len(second.Posts()) == 2 })
	s.mustInstall("T0E2E")
	s.await("what waited", func() bool { return len(first.Posts()) == 3 })

	// That ends, and the organisation's takes over.
	org.Grant(first)
	s.await("both to be granted", granted("T0E2E", "T0OTHER"))
	serves("T0E2E", "T0E2E")
	first.Uninstall()
	serves("T0E2E", "E0ORG")
	first.Say(s.general, s.alice.ID, s.mention("and now?"))
	s.await("an answer by the organisation's installation", func() bool { return len(first.Posts()) == 4 })
	for _, team := range []string{"T0E2E", "T0OTHER"} {
		s.runWorkflow("ChannelSync", workflows.Of{Team: team}, nil)
	}

	// The organisation uninstalls it everywhere, and installs it again.
	org.Uninstall()
	uninstalled := time.Now().Unix()
	s.await("both programs to hear of it", func() bool {
		return saysEnd(s.starter.Log, "E0ORG") && saysEnd(s.worker.Log, "E0ORG")
	})
	s.await("another second", func() bool { return time.Now().Unix() > uninstalled })
	s.mustInstall("E0ORG")
	s.await("no workspace to be granted", granted())
	s.sayAgain()
	if i, err := db.Installation(t.Context(), "E0ORG"); err != nil || i.State != store.InstallationActive || i.Generation != 2 {
		t.Errorf("a revocation from before the installation has ended it: %+v, %v", i, err)
	}
	// A message overtakes the event that says so.
	first.Faults().AddEvent(workspace.EventFault{Delay: 2 * time.Second, Times: 1,
		Match: func(e workspace.Event) bool { return e.Type == "team_access_granted" }})
	org.Grant(second)
	second.Say(elsewhere, s.alice.ID, s.mention("back again?"))
	s.await("an answer", func() bool { return len(second.Posts()) == 3 })
	s.never("another answer", 3*time.Second, func() bool { return len(first.Posts()) != 4 || len(second.Posts()) != 3 })
	second.OpenHome(s.alice.ID, "home")
	s.await("a Home tab", func() bool { return second.Home(s.alice.ID) != nil })
	s.namesTheTeam(first, second)
}

// saysEnd reports whether a log tells that an installation has ended.
func saysEnd(l *world.Log, id string) bool {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "nothing is sent to the workspace any more") && strings.Contains(line, id) {
			return true
		}
	}
	return false
}

// mustInstall walks a browser through an installation that is allowed.
func (s *system) mustInstall(id string) {
	s.t.Helper()
	if status, page := s.install(id); status != http.StatusOK {
		s.t.Fatalf("%s: %d: %s", id, status, page)
	}
}

// namesTheTeam tests that calls which an organisation's token makes say for which workspace.
func (s *system) namesTheTeam(all ...*workspace.Workspace) {
	s.t.Helper()
	for _, w := range all {
		calls := w.Calls("bots.info", "conversations.list", "users.conversations", "users.list")
		for _, c := range calls {
			if c.Args.Get("team_id") != w.Team() && c.Args.Get("team_id") != "" || c.Error == "missing_argument" {
				s.t.Errorf("%s in %s: team_id %q, %s", c.Method, w.Team(), c.Args.Get("team_id"), c.Error)
			}
		}
		if len(calls) == 0 {
			s.t.Errorf("no call in %s wants to know for which workspace it is", w.Team())
		}
	}
}

// A workspace's pair of tokens is lost. Its own Home tab can no longer say so: that of the operators of all does.
func TestLostToken(t *testing.T) {
	t.Parallel()
	s := build(t, postgres(t), installable, configured("slack: {allowed_workspaces: [T0E2E, T0OTHER]}"))
	operator, other := s.Second.AddUser("alice"), s.Second.AddUser("bob")
	s.Configure("slack: {operators: [" + operator.ID + "]}")
	s.Start()
	s.mustInstall("T0OTHER")
	s.Workspace.Faults().Add(workspace.Fault{Method: "oauth.v2.access", Error: "invalid_refresh_token",
		Match: func(c workspace.Call) bool { return c.Args.Has("refresh_token") }})
	s.mustInstall("T0E2E")
	s.await("the token to be lost", func() bool { return saysEnd(s.starter.Log, "T0E2E") })
	home := func(user string) func() bool {
		return func() bool {
			s.Second.OpenHome(user, "home")
			return strings.Contains(string(s.Second.Home(user)), "here in direct messages")
		}
	}
	for _, user := range []string{operator.ID, other.ID} {
		s.await("a Home tab", home(user))
	}
	told := "Slack no longer takes my token of T0E2E"
	s.mustContain(string(s.Second.Home(operator.ID)), told, "/slack/install")
	if strings.Contains(string(s.Second.Home(other.ID)), told) {
		t.Error("somebody who is no operator is told of another workspace")
	}
	list, _, _ := s.Command("workspaces", "list")
	s.mustContain(list, "token lost: install again at http://"+s.starter.Address+"/slack/install")
}
