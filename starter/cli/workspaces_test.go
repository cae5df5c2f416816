package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/runtime/codec"
	"myao/internal/slack/manifest"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

// installable is a ledgerBundle of an app that workspaces install, with keys of encryption. The first is the active
// one.
func installable(t *testing.T, keys ...string) *ledgerBundle {
	t.Helper()
	o := newLedgerBundle(t, "")
	o.client(keys...)
	return o
}

// client replaces the configuration's token by a client of OAuth.
func (o *ledgerBundle) client(keys ...string) {
	o.t.Helper()
	text, err := os.ReadFile(o.config)
	o.must(err)
	_, rest, _ := strings.Cut(string(text), "database: ")
	given := []string{}
	for _, key := range keys {
		given = append(given, fmt.Sprintf("%q: %q", key, sealingKeys[key]))
	}
	o.must(os.WriteFile(o.config, fmt.Appendf(nil, `slack: {client_id: "1.2", client_secret: shh, signing_secret: shh}
server: {public_url: "https://myao.example.com/"}
encryption: {active_key: %q, keys: {%s}}
database: %s`, keys[0], strings.Join(given, ", "), rest), 0o600))
}

var sealingKeys = map[string]string{
	"old": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "new": "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=",
}

// install saves an installation whose token is sealed by a key.
func (o *ledgerBundle) install(i store.Installation, key string) {
	o.t.Helper()
	c, err := codec.New(config.Encryption{ActiveKey: key, Keys: map[string]config.Secret{key: config.Secret(sealingKeys[key])}})
	o.must(err)
	i.Token, err = c.Seal([]byte("xoxb-of-"+i.ID), workspaces.SealedName(i.ID))
	o.must(err)
	i.BotUserID, i.AppID, i.InstalledBy = "U0BOT", "A1", "slack:U1"
	_, err = o.SaveInstallation(o.t.Context(), i)
	o.must(err)
}

func TestWorkspacesCommands(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "")
	for _, args := range [][]string{{"list"}, {"show", "T1"}, {"allow", "T1"}, {"disallow", "T1"}, {"remove", "T1"}, {"reseal"}, {"url"}} {
		o.fails(1, append([]string{"workspaces"}, args...), "slack.client_id is not set")
	}
	o.client("new", "old")
	o.prints([]string{"workspaces", "url"}, []string{"https://myao.example.com/slack/install\n"}, nil)
	o.prints([]string{"workspaces", "list"}, []string{"nobody has installed the app"}, nil)
	o.fails(2, []string{"workspaces", "allow", "U1"}, "want the id of a workspace, T…, or of an organisation, E…")

	// Who may install it.
	o.prints([]string{"workspaces", "allow", "T7", "--by", "carol"}, []string{"T7 may install the app, at https://myao.example.com/slack/install"}, nil)
	if ok, err := o.Allowed(t.Context(), "T7", ""); err != nil || !ok {
		t.Errorf("allowed: %t, %v", ok, err)
	}
	o.prints([]string{"workspaces", "list", "--json"}, []string{`"id": "T7"`, `"state": "allowed"`, `"allowed_by": "cli:carol"`}, nil)
	o.prints([]string{"workspaces", "show", "T7"}, []string{"allowed since", "cli:carol"}, nil)
	o.prints([]string{"workspaces", "disallow", "T7"}, []string{"T7 may not install the app any more"}, nil)
	o.fails(1, []string{"workspaces", "disallow", "T7"}, "T7 was not allowed")
	o.fails(1, []string{"workspaces", "show", "T7"}, "T7 has not installed the app")

	// Who has.
	all := manifest.Names(manifest.Scopes(config.Default()))
	o.install(store.Installation{ID: "T1", Name: "One\x1b[2J", Scopes: strings.Join(all, ",")}, "old")
	o.install(store.Installation{ID: "T2", Name: "Two", Scopes: strings.Join(all[1:], ","), Tokens: store.Tokens{Expires: o.began.Add(24 * time.Hour)}}, "new")
	o.install(store.Installation{ID: "E1", Name: "Org", Scopes: strings.Join(all, ",")}, "new")
	o.prints([]string{"workspaces", "show", "E1"}, []string{"no workspace", "https://app.slack.com/manage/E1/integrations/profile/A1/workspaces/add"}, nil)
	_, err := o.GrantTeam(t.Context(), "E1", "T3", "Three", o.began)
	o.must(err)
	o.prints([]string{"workspaces", "list"}, []string{"E1", "granted to 1", "T2", "lacks " + all[0]}, []string{"xoxb", "\x1b", "T3"})
	o.prints([]string{"workspaces", "show", "T2", "--json"}, []string{`"missing_scopes": [`, `"generation": 1`, `"token_ends_at": `, `"installed_by": "slack:U1"`}, []string{"xoxb", "oken\""})
	o.prints([]string{"workspaces", "show", "T3"}, []string{"E1", "Org", "T3", "Three"}, nil)

	// Keys.
	o.prints([]string{"workspaces", "reseal"}, []string{"under another key: 1;"}, nil)
	o.prints([]string{"workspaces", "reseal", "--json"}, []string{`"resealed": 0`}, nil)
	o.client("new")
	o.prints([]string{"workspaces", "reseal"}, []string{"under another key: 0;"}, nil)
}

func TestRemoveWorkspace(t *testing.T) {
	t.Parallel()
	o := installable(t, "new")
	o.record(o.message(0, ""), "said")
	o.install(store.Installation{ID: "T1", Name: "One"}, "new")
	o.install(store.Installation{ID: "E1", Name: "Org"}, "new")
	_, err := o.GrantTeam(t.Context(), "E1", "T3", "Three", o.began)
	o.must(err)
	state := func(want store.InstallationState) {
		t.Helper()
		if i, err := o.Installation(t.Context(), "T1"); err != nil || i.State != want {
			t.Errorf("%q, %v; want %q", i.State, err, want)
		}
	}
	o.fails(1, []string{"workspaces", "remove", "T9"}, "T9 has not installed the app")
	o.fails(1, []string{"workspaces", "remove", "T3"}, "by the installation of the organisation E1")
	o.fails(1, []string{"workspaces", "remove", "T1", "--purge"}, "nothing was done: want yes")
	state(store.InstallationActive)

	o.prints([]string{"workspaces", "remove", "T1", "--by", "carol"}, []string{"T1 One is removed", "30 days after"}, []string{"may be installed again"})
	state(store.InstallationRemoved)
	o.prints([]string{"workspaces", "show", "T1"}, []string{"removed since", "cli:carol"}, nil)
	o.prints([]string{"why", "general", "--text"}, []string{"secret"}, nil)

	o.install(store.Installation{ID: "T1", Name: "One"}, "new")
	_, err = o.EndInstallation(t.Context(), "T1", time.Now(), store.InstallationUninstalled, store.AppUninstalled)
	o.must(err)
	o.prints([]string{"workspaces", "remove", "T1", "--purge", "--yes", "--json"}, []string{`"state": "uninstalled"`, `"purged": true`, `"messages": 1`}, nil)
	o.fails(1, []string{"workspaces", "show", "T1"}, "T1 has not installed the app")

	_, err = o.WithdrawTeam(t.Context(), "E1", "T3", time.Now().Add(-time.Hour))
	o.must(err)
	o.fails(1, []string{"workspaces", "remove", "T3"}, "--purge deletes what is stored of it")
	o.prints([]string{"workspaces", "remove", "T3", "--purge", "--yes"}, []string{"Everything of it is deleted", "MyaoTeam IN ('T3')"}, nil)
	var out bytes.Buffer
	if run(t.Context(), []string{"--config", o.config, "workspaces", "list"}, &out, &out); strings.Contains(out.String(), "T3") {
		t.Errorf("%s", &out)
	}
}

// The settings of an organisation hold in a workspace that it grants its installation to.
func TestOrganisationOfAWorkspace(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "workspaces: {E100: {mode: mention}}\n")
	o.client("new")
	o.install(store.Installation{ID: "E100", Name: "Org"}, "new")
	_, err := o.GrantTeam(t.Context(), "E100", "T1", "One", o.began)
	o.must(err)
	o.prints([]string{"channels", "general"}, []string{"workspaces.E100.mode"}, nil)
}
