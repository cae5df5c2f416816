package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/runtime/failpoint"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// installable makes the app one that the workspaces T0E2E and T0OTHER may install. Their tokens live for a little longer
// than those that are refreshed at once.
func installable(s *settings) {
	s.App = &workspace.SlackConfig{Lifetime: 5*time.Minute + 10*time.Second, Grace: time.Hour}
	configured(`
slack: {bot_token: "", client_id: "1.2", client_secret: client-secret, allowed_workspaces: [T0E2E]}
server: {public_url: "http://${TEST_STARTER_ADDRESS}"}
encryption: {active_key: one, keys: {one: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}}
`)(s)
}

// install walks a browser from /slack/install to the page at its end.
func (s *system) install(team string) (status int, page string) {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	testserver.Must(s.t, err)
	browser := &http.Client{Jar: jar}
	get := func(address string) (int, string, *url.URL) {
		resp, err := browser.Get(address)
		testserver.Must(s.t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		testserver.Must(s.t, err)
		return resp.StatusCode, string(body), resp.Request.URL
	}
	_, _, at := get("http://" + s.starter.Address + "/slack/install")
	_, consent, at := get(at.String() + "&team=" + team)
	link := regexp.MustCompile(`href="([^"]*)">Allow<`).FindStringSubmatch(consent)
	if link == nil {
		s.t.Fatalf("%s shows no consent for %s: %s", at, team, consent)
	}
	agreed, err := at.Parse(strings.ReplaceAll(link[1], "&amp;", "&"))
	testserver.Must(s.t, err)
	status, page, _ = get(agreed.String())
	return status, page
}

// sayAgain delivers once more what Slack has said of the end of installations.
func (s *system) sayAgain() {
	s.t.Helper()
	for _, d := range s.Workspace.Deliveries() {
		if d.Type != "app_uninstalled" && d.Type != "tokens_revoked" {
			continue
		}
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.starter.Address+"/slack/events", bytes.NewReader(d.Body))
		testserver.Must(s.t, err)
		req.Header = s.Workspace.Sign(d.Body, time.Now())
		resp, err := http.DefaultClient.Do(req)
		testserver.Must(s.t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			s.t.Errorf("%s: %s", d.Type, resp.Status)
		}
	}
}

// Two workspaces with the same ids install the app in a browser. Each is answered in its own, and knows nothing of the
// other. One leaves, and the other goes on; what waits for the first is answered when it comes back.
func TestInstall(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := build(t, postgres(t), installable, modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.User, "the slow question") {
			<-hold
			return llmtest.Text("at last")
		}
		return llmtest.Text("here I am")
	}))
	other := s.Second
	other.AddUser("alice")
	other.AddUser("bob")
	other.AddChannel(workspace.Public, "general", other.Bot().UserID, s.alice.ID, s.bob.ID)
	s.Start()
	db, err := store.Open(t.Context(), s.Database)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })

	if status, page := s.install("T0E2E"); status != http.StatusOK {
		t.Fatalf("%d: %s", status, page)
	}
	status, page := s.install("T0OTHER")
	if _, err := db.Installation(t.Context(), "T0OTHER"); status != http.StatusForbidden || err == nil {
		t.Fatalf("somebody who may not has installed it: %d, %v: %s", status, err, page)
	}
	testserver.Must(t, db.AllowWorkspace(t.Context(), "T0OTHER", "cli:test"))
	if status, page := s.install("T0OTHER"); status != http.StatusOK {
		t.Fatalf("%d: %s", status, page)
	}

	other.Say(s.general, s.alice.ID, s.mention("the password is swordfish"))
	s.await("an answer in the second workspace", func() bool { return len(other.Posts()) == 1 })
	s.Workspace.Say(s.general, s.alice.ID, s.mention("what is the password?"))
	s.await("an answer in the first", func() bool { return len(s.posts()) == 1 })
	for _, c := range s.Model.Calls() {
		if strings.Contains(c.User, "what is the password?") && strings.Contains(c.User, "swordfish") {
			t.Errorf("a prompt of one workspace has what was said in the other:\n%s", c.User)
		}
	}
	before, err := db.Installation(t.Context(), "T0OTHER")
	testserver.Must(t, err)
	s.await("the next tokens", func() bool {
		now, err := db.Installation(t.Context(), "T0OTHER")
		return err == nil && now.Expires.After(before.Expires)
	})

	s.Workspace.Say(s.general, s.alice.ID, s.mention("the slow question"))
	s.await("a reply being written", func() bool { return len(s.replies()) == 3 })
	s.Workspace.Uninstall()
	s.await("both programs to hear of it", func() bool {
		return s.starter.Log.Has("nothing is sent to the workspace any more") &&
			s.worker.Log.Has("nothing is sent to the workspace any more")
	})
	close(hold)
	s.restart()
	other.Say(s.general, s.alice.ID, s.mention("still there?"))
	s.await("an answer where it is still installed", func() bool { return len(other.Posts()) == 2 })
	if status, page := s.install("T0E2E"); status != http.StatusOK {
		t.Fatalf("%d: %s", status, page)
	}
	s.await("what waited", func() bool { return len(s.posts()) == 2 })
	s.sayAgain()
	if now, err := db.Installation(t.Context(), "T0E2E"); err != nil || now.State != store.InstallationActive {
		t.Errorf("a revocation from before the installation has ended it: %+v, %v", now, err)
	}
	s.never("another answer", 3*time.Second, func() bool { return len(s.posts())+len(other.Posts()) != 4 })
	for _, p := range s.Programs() {
		if text := p.Log.String(); strings.Contains(text, "xoxb-") || strings.Contains(text, "client-secret") {
			t.Errorf("the log of the %s has a secret", p.Name)
		}
	}
}

const refreshPoint = "token: refreshed"

// A program is killed between Slack's answer and the database, while it exchanges a token. Another one exchanges it once
// more, as soon as nobody can still be at it.
func TestTokenRefreshedOverAKill(t *testing.T) {
	t.Parallel()
	s := build(t, postgres(t), installable, modelAnswers(func(llmtest.Call) llmtest.Reply { return llmtest.Text("here I am") }))
	s.worker.Start(failpoint.Variable + "=" + refreshPoint)
	s.starter.Start()
	s.starter.Ready()
	if status, page := s.install("T0E2E"); status != http.StatusOK {
		t.Fatalf("%d: %s", status, page)
	}
	s.starter.Kill()
	s.awaitDeath(s.worker, refreshPoint)
	db, err := store.Open(t.Context(), s.Database)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	before, err := db.Installation(t.Context(), "T0E2E")
	testserver.Must(t, err)
	s.Start()
	s.await("the next tokens", func() bool {
		now, err := db.Installation(t.Context(), "T0E2E")
		return err == nil && now.State == store.InstallationActive && now.Expires.After(before.Expires)
	})
	s.Workspace.Say(s.general, s.alice.ID, s.mention("are you there?"))
	s.await("an answer", func() bool { return len(s.posts()) == 1 })
}
