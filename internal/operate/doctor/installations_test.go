package doctor

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/runtime/codec"
	"myao/internal/runtime/timeout"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/storetest"
	"myao/test/testserver"
)

// Doctor tells what is wrong by installation.
func TestInstallations(t *testing.T) {
	t.Parallel()
	ctx := timeout.Extend(t.Context())
	url := storetest.SQLite(t)
	s := storetest.OpenURL(t, url)
	key := func(active string, ids ...string) config.Encryption {
		c := config.Encryption{ActiveKey: active, Keys: map[string]config.Secret{}}
		for _, id := range ids {
			c.Keys[id] = config.Secret(strings.Repeat(map[string]string{"old": "MDEy", "new": "ZmVk"}[id], 10) + "MDE=")
		}
		return c
	}
	c := config.Default()
	c.Slack.ClientID, c.Server.PublicURL, c.Database.URL = "1.2", "https://myao.example.com", url
	c.Encryption = key("new", "new", "old")
	examine := func() map[string]Finding {
		t.Helper()
		found := map[string]Finding{}
		for _, f := range (Doctor{Config: c, Clock: time.Now}).ExamineOnly(ctx, "database", "migrations", "slack token", "install", "organisations", "shared") {
			found[f.Check] = f
		}
		return found
	}
	install := func(id string, c config.Encryption, without string, ends time.Time) {
		t.Helper()
		keys, err := codec.New(c)
		testserver.Must(t, err)
		token, err := keys.Seal([]byte("xoxb-secret"), workspaces.SealedName(id))
		testserver.Must(t, err)
		testserver.Must(t, testserver.ErrOf(s.SaveInstallation(ctx, store.Installation{ID: id, Name: "Acme", AppID: "A1",
			Scopes: strings.Join(needed(without), ","), Tokens: store.Tokens{Token: token, Expires: ends}})))
	}
	found := examine()
	expect(t, found["slack token"], Skip, "see installations")
	expect(t, found["installations"], Warn, "nobody has installed the app yet → have somebody install it at https://myao.example.com/slack/install")

	install("T1", c.Encryption, "", time.Now().Add(time.Hour))
	install("E1", c.Encryption, "", time.Time{})
	testserver.Must(t, testserver.ErrOf(s.GrantTeam(ctx, "E1", "T3", "", time.Now())))
	for name, f := range examine() {
		if f.Status != OK && name != "slack token" && name != "database file" {
			t.Errorf("%s: %+v", name, f)
		}
	}

	expect(t, examine()["shared channels"], OK, "there is no slack.app_token")
	w := workspace.New(workspace.Config{})
	t.Cleanup(w.Close)
	api := httptest.NewServer(w.Handler())
	t.Cleanup(api.Close)
	c.Slack.APIURL, c.Slack.AppToken = api.URL+"/api/", "xapp-sandbox"
	expect(t, examine()["shared channels"], OK, "Slack says for which of the workspaces")
	w.Faults().Add(workspace.Fault{Method: "apps.event.authorizations.list", Times: 1, Error: "missing_scope"})
	expect(t, examine()["shared channels"], Warn, "missing_scope → make an app-level token with the scopes authorizations:read")

	testserver.Must(t, testserver.ErrOf(s.WithdrawTeam(ctx, "E1", "T3", time.Now())))
	install("T2", key("old", "old"), "files:read", time.Now().Add(-time.Hour))
	found = examine()
	expect(t, found["installations"], OK, "3 active")
	expect(t, found["installed scopes"], Warn, "missing in T2 Acme: files:read → only a reinstallation brings them")
	expect(t, found["installed tokens"], Fail, "of T2 Acme: for 60 minutes")
	expect(t, found["organisations"], Warn, "E1 Acme: it hears nothing there → have an administrator of the organisation add the app to workspaces: https://app.slack.com/manage/E1/integrations/profile/A1/workspaces/add")
	expect(t, found["installed keys"], Warn, "under another key than encryption.active_key: the tokens of 1 installation")

	c.Encryption = key("new", "new")
	testserver.Must(t, testserver.ErrOf(s.EndInstallation(ctx, "T1", time.Now(), store.InstallationRevoked, "invalid_auth")))
	found = examine()
	expect(t, found["installations"], Warn, "2 active, 1 revoked; Slack no longer takes the token of T1 Acme: invalid_auth")
	expect(t, found["installed keys"], Fail, `the token cannot be read of T2 Acme: key "old", encryption.keys has no such key`)
}
