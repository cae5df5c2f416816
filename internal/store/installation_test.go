package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// installed is a workspace's installation as it is saved, with a token that ends at one o'clock.
func installed(id string) Installation {
	return Installation{ID: id, EnterpriseID: "E1", Name: "name of " + id, AppID: "A1", BotUserID: "UBOT", BotID: "B1",
		URL: "https://one.example/", Scopes: "chat:write,users:read", InstalledBy: "slack:U1",
		Tokens: Tokens{[]byte("sealed\x00\xff"), []byte("sealed, too"), noon.Add(time.Hour)}}
}

func (db database) install(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must(t, errOf(db.SaveInstallation(t.Context(), installed(id))))
	}
}

func (db database) wantInstallation(t *testing.T, when string, want Installation) {
	t.Helper()
	if got, err := db.Installation(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got  %+v, %v\nwant %+v", when, got, err, want)
	}
}

// A reinstallation is active and of the next generation, whatever was there, and nobody may refresh the former tokens.
func TestReinstallation(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		if _, err := db.Installation(ctx, "T1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("before: %v", err)
		}
		want := installed("T1")
		generation, err := db.SaveInstallation(ctx, want)
		want.Generation, want.Installed, want.Changed, want.State = 1, noon, noon, InstallationActive
		if err != nil || generation != 1 {
			t.Errorf("generation %d, %v", generation, err)
		}
		db.wantInstallation(t, "installed", want)
		if text, err := json.Marshal(want); err != nil || bytes.Contains(text, []byte("oken")) || bytes.Contains(text, []byte("sealed")) {
			t.Errorf("JSON shows tokens: %s, %v", text, err)
		}

		leased, ok, err := db.LeaseRefresh(ctx, "T1", 1, "a", noon.Add(time.Minute))
		if err != nil || !ok || string(leased.Refresh) != "sealed, too" || leased.Lease != "a" {
			t.Errorf("leased %+v, %v, %v", leased, ok, err)
		}
		must(t, errOf(db.EndInstallation(ctx, "T1", noon, InstallationRevoked, "tokens_revoked")))
		db.clock.advance(time.Second)
		want.Tokens = Tokens{Token: []byte("new"), Refresh: []byte{}}
		if generation, err = db.SaveInstallation(ctx, want); err != nil || generation != 2 {
			t.Errorf("generation %d, %v", generation, err)
		}
		want.Generation, want.Installed, want.Changed = 2, db.clock.now(), db.clock.now()
		db.wantInstallation(t, "reinstalled", want)
		if _, saved, err := db.SaveTokens(ctx, "T1", 1, "a", Tokens{Token: []byte("late")}); err != nil || saved {
			t.Errorf("tokens of the former generation are saved: %v", err)
		}
		db.wantInstallation(t, "after a late refresh", want)
	})
}

// Slack says that an app was uninstalled or its tokens revoked late, twice, and in any order, also after a
// reinstallation.
func TestInstallationsEndInAnyOrder(t *testing.T) {
	type end struct {
		after time.Duration // the installation
		state InstallationState
		news  bool
	}
	const sec = time.Second
	eachDatabase(t, func(t *testing.T, db database) {
		for name, test := range map[string]struct {
			ends  []end
			want  InstallationState
			ended time.Duration
		}{
			"uninstalled":                       {[]end{{sec, InstallationUninstalled, true}}, InstallationUninstalled, sec},
			"twice":                             {[]end{{sec, InstallationUninstalled, true}, {sec, InstallationUninstalled, false}}, InstallationUninstalled, sec},
			"revoked, then uninstalled":         {[]end{{sec, InstallationRevoked, true}, {2 * sec, InstallationUninstalled, true}}, InstallationUninstalled, sec},
			"uninstalled, then revoked":         {[]end{{sec, InstallationUninstalled, true}, {2 * sec, InstallationRevoked, false}}, InstallationUninstalled, sec},
			"removed, then uninstalled":         {[]end{{sec, InstallationRemoved, true}, {sec, InstallationUninstalled, false}}, InstallationRemoved, sec},
			"in the second of the installation": {[]end{{-sec + time.Microsecond, InstallationUninstalled, true}}, InstallationUninstalled, -sec + time.Microsecond},
			"before the installation":           {[]end{{-sec, InstallationUninstalled, false}, {-time.Hour, InstallationRevoked, false}}, InstallationActive, 0},
		} {
			db.install(t, name, "T2")
			for _, e := range test.ends {
				news, err := db.EndInstallation(t.Context(), name, noon.Add(e.after), e.state, "why")
				if err != nil || news != e.news {
					t.Errorf("%s: %s after %v: %v, %v", name, e.state, e.after, news, err)
				}
			}
			got, err := db.Installation(t.Context(), name)
			want := time.Time{}
			if test.want != InstallationActive {
				want = noon.Add(test.ended)
			}
			if err != nil || got.State != test.want || !got.Ended.Equal(want) || (got.Cause != "") != (test.want != InstallationActive) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			db.wantRows(t, 1, "installations", "id = 'T2' AND state = 'active'")
		}
	})
}

// Of several processes that want to refresh a token at once, one may, until its time is over; and only who may saves.
func TestOneRefreshesTokens(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.install(t, "T1")
		other := open(t, db.url)
		other.now = db.now
		stores, ctx := []*Store{db.Store, other}, t.Context()
		lease := func(from int) (winner int) {
			t.Helper()
			got := make([]bool, 8)
			noErrors(t, concurrently(len(got), func(i int) (err error) {
				_, got[i], err = stores[i%2].LeaseRefresh(ctx, "T1", 1, fmt.Sprint("attempt ", from+i), db.now().Add(time.Minute))
				return err
			}))
			if i := slices.Index(got, true); i < 0 || slices.Index(got[i+1:], true) >= 0 {
				t.Fatalf("the lease is held by %v", got)
			}
			return from + slices.Index(got, true)
		}
		save := func(i int, token string) bool {
			t.Helper()
			as, saved, err := db.SaveTokens(ctx, "T1", 1, fmt.Sprint("attempt ", i), Tokens{[]byte(token), []byte("refresh"), noon.Add(12 * time.Hour)})
			must(t, err)
			if saved && string(as.Token) != token {
				t.Errorf("saved as %+v", as)
			}
			return saved
		}
		first := lease(0)
		if save(first+1, "not mine") || save(-1, "nobody's") {
			t.Error("somebody without the lease has saved")
		}
		db.clock.advance(time.Minute) // the first one was killed, or is slow
		second := lease(8)
		if save(first, "the slow one's") {
			t.Error("who has lost the lease has saved")
		}
		if !save(second, "new") {
			t.Error("who holds the lease cannot save")
		}
		if save(second, "again") {
			t.Error("the lease goes on after the tokens were saved")
		}
		if i, err := db.Installation(ctx, "T1"); err != nil || string(i.Token) != "new" || !i.Expires.Equal(noon.Add(12*time.Hour)) || i.Lease != "" || i.Generation != 1 {
			t.Errorf("%+v, %v", i, err)
		}
		if i, ok, err := db.LeaseRefresh(ctx, "T1", 1, "late", db.now().Add(time.Minute)); err != nil || !ok || string(i.Refresh) != "refresh" {
			t.Errorf("who leases next gets %+v, %v, %v; want the newest refresh token", i, ok, err)
		}
		must(t, errOf(db.EndInstallation(ctx, "T1", db.now(), InstallationUninstalled, AppUninstalled)))
		if _, ok, err := db.LeaseRefresh(ctx, "T1", 1, "later", db.now()); err != nil || ok {
			t.Errorf("the token of an installation that has ended is refreshed: %v", err)
		}
	})
}

// A workspace's installation is its own active one, or that of its organisation while it is granted, by Slack's times.
func TestInstallationOfWorkspaces(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		want := func(when, team, id string, state InstallationState) {
			t.Helper()
			got, err := db.InstallationOf(ctx, team)
			if id == "" && errors.Is(err, ErrNotFound) {
				return
			}
			if err != nil || got.ID != id || got.State != state {
				t.Errorf("%s: %s has %s %s, %v; want %s %s", when, team, got.ID, got.State, err, id, state)
			}
		}
		at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
		grant := func(seconds int, news bool) {
			t.Helper()
			if got, err := db.GrantTeam(ctx, "E1", "T1", "one", at(seconds)); err != nil || got != news {
				t.Errorf("granted at %d: %v, %v", seconds, got, err)
			}
		}
		withdraw := func(seconds int, news bool) {
			t.Helper()
			if got, err := db.WithdrawTeam(ctx, "E1", "T1", at(seconds)); err != nil || got != news {
				t.Errorf("withdrawn at %d: %v, %v", seconds, got, err)
			}
		}
		db.install(t, "E1", "T2")
		want("not granted", "T1", "", "")
		grant(5, true)
		want("granted", "T1", "E1", InstallationActive)
		want("another", "T2", "T2", InstallationActive)
		withdraw(4, false) // late
		want("granted since", "T1", "E1", InstallationActive)
		withdraw(5, true)
		withdraw(5, false)
		grant(5, false)
		want("withdrawn in the same second", "T1", "", "")
		grant(9, true)
		db.install(t, "T1")
		want("both", "T1", "T1", InstallationActive)
		must(t, errOf(db.EndInstallation(ctx, "T1", at(9), InstallationUninstalled, "")))
		want("its own has ended", "T1", "E1", InstallationActive)
		must(t, errOf(db.EndInstallation(ctx, "E1", at(9), InstallationUninstalled, "")))
		want("both have ended", "T1", "T1", InstallationUninstalled)
		teams, err := db.TeamsOf(ctx, "E1")
		if want := []InstallationTeam{{"T1", "E1", "one", true, at(9)}}; err != nil || !slices.Equal(teams, want) {
			t.Errorf("granted to %+v, %v", teams, err)
		}
	})
}

// One statement finds what has changed, whatever it was; pages have all.
func TestInstallationsThatChanged(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		ids := func(i []Installation, err error) string {
			t.Helper()
			must(t, err)
			return strings.Join(mapRows(i, func(i Installation) string { return i.ID }), " ")
		}
		db.install(t, "T3", "E1", "T1", "T2")
		if a, b, c := ids(db.Installations(ctx, "", 3)), ids(db.Installations(ctx, "T2", 3)), ids(db.Installations(ctx, "T3", 3)); a != "E1 T1 T2" || b != "T3" || c != "" {
			t.Errorf("pages %q, %q, %q", a, b, c)
		}
		for name, change := range map[string]func() error{
			"installed": func() error { return errOf(db.SaveInstallation(ctx, installed("E1"))) },
			"granted":   func() error { return errOf(db.GrantTeam(ctx, "E1", "T9", "", noon)) },
			"withdrawn": func() error { return errOf(db.WithdrawTeam(ctx, "E1", "T8", noon)) },
			"leased":    func() error { _, _, err := db.LeaseRefresh(ctx, "E1", 2, "a", noon); return err },
			"resealed": func() error {
				return errOf(db.Reseal(ctx, func(id string, sealed []byte) ([]byte, error) {
					if id == "E1" {
						sealed = append(sealed, '.')
					}
					return sealed, nil
				}))
			},
		} {
			before := db.now()
			db.clock.advance(time.Second)
			if name == "leased" { // of the generation that there is
				i, err := db.Installation(ctx, "E1")
				must(t, err)
				change = func() error { _, _, err := db.LeaseRefresh(ctx, "E1", i.Generation, "a", noon); return err }
			}
			must(t, change())
			if got := ids(db.InstallationsChanged(ctx, before.Add(time.Microsecond))); got != "E1" {
				t.Errorf("%s: changed are %q", name, got)
			}
		}
		db.clock.advance(time.Second)
		must(t, errOf(db.EndInstallation(ctx, "E1", db.now(), InstallationRemoved, "")))
		if got := ids(db.InstallationsChanged(ctx, db.now())); got != "E1" {
			t.Errorf("ended: changed are %q", got)
		}
		if got := ids(db.InstallationsChanged(ctx, time.Time{})); len(got) != len("T1 T2 T3 E1") || !strings.HasSuffix(got, "E1") {
			t.Errorf("all are %q", got)
		}
	})
}

// When keys rotate, every token is sealed again, also one that is refreshed meanwhile; nothing is written over.
func TestReseal(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		for i := range installationsPage + 2 {
			db.install(t, fmt.Sprintf("T%03d", i))
		}
		refreshed := false
		reseal := func(id string, sealed []byte) ([]byte, error) {
			if id == "T001" && !refreshed {
				refreshed = true
				must(t, db.db.Exec("UPDATE installations SET token = ?, refresh_token = ? WHERE id = 'T001'", []byte("old: refreshed"), []byte{}).Error)
			}
			if bytes.HasPrefix(sealed, []byte("new: ")) {
				return sealed, nil
			}
			return append([]byte("new: "), sealed...), nil
		}
		for _, want := range []int{installationsPage + 2, 0} {
			if n, err := db.Reseal(ctx, reseal); err != nil || n != want {
				t.Errorf("resealed %d, %v; want %d", n, err, want)
			}
		}
		for id, want := range map[string]Tokens{
			"T000": {[]byte("new: sealed\x00\xff"), []byte("new: sealed, too"), noon.Add(time.Hour)},
			"T001": {[]byte("new: old: refreshed"), []byte{}, noon.Add(time.Hour)},
			"T101": {[]byte("new: sealed\x00\xff"), []byte("new: sealed, too"), noon.Add(time.Hour)},
		} {
			if got, err := db.Installation(ctx, id); err != nil || !reflect.DeepEqual(got.Tokens, want) {
				t.Errorf("%s has %q, %v", id, got.Tokens, err)
			}
		}
		failed := errors.New("no key")
		if _, err := db.Reseal(ctx, func(string, []byte) ([]byte, error) { return nil, failed }); !errors.Is(err, failed) {
			t.Errorf("%v", err)
		}
	})
}

func TestAllowedWorkspaces(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		want := func(when, team, organisation string, want bool) {
			t.Helper()
			if got, err := db.Allowed(ctx, team, organisation); err != nil || got != want {
				t.Errorf("%s: %q of %q: %v, %v", when, team, organisation, got, err)
			}
		}
		must(t, db.AllowWorkspace(ctx, "T1", "cli:ann"))
		must(t, db.AllowWorkspace(ctx, "E2", "cli:ann"))
		must(t, db.AllowWorkspace(ctx, "T1", "cli:bob"))
		want("allowed", "T1", "", true)
		want("by its organisation", "T3", "E2", true)
		want("an organisation", "", "E2", true)
		want("not allowed", "T2", "E1", false)
		want("nobody", "", "", false)
		if got, err := db.AllowedWorkspaces(ctx); err != nil || !slices.Equal(got, []Allowance{{"E2", "cli:ann", noon}, {"T1", "cli:ann", noon}}) {
			t.Errorf("%+v, %v", got, err)
		}
		must(t, db.Disallow(ctx, "T1"))
		want("disallowed", "T1", "", false)
		if err := db.Disallow(ctx, "T1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("again: %v", err)
		}
	})
}

// A gap opens for all workspaces, and each that has installed the app closes it alone. What was missed while it was not
// installed is read after a reinstallation.
func TestGapsCloseByWorkspace(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		due := func(when string, want ...string) {
			t.Helper()
			var got []string
			for _, team := range []string{"T1", "T2", "T3"} {
				gaps, err := db.Gaps(ctx, team)
				must(t, err)
				if gaps.Due {
					got = append(got, team)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: due for %v, want %v", when, got, want)
			}
		}
		closeIn := func(team string) {
			t.Helper()
			gap, err := db.NewestGap(ctx)
			must(t, err)
			must(t, db.MarkRead(ctx, team, channel, gap))
			must(t, db.CloseGap(ctx, team))
		}
		for _, team := range []string{"T1", "T2", "T3"} { // T1 is that of the configuration's token
			must(t, errOf(db.SyncChannels(ctx, team, []Channel{{ID: channel, Member: true}})))
		}
		must(t, db.OpenGap(ctx))
		for _, team := range []string{"T1", "T2", "T3"} {
			closeIn(team)
		}
		due("closed in all")
		db.install(t, "T2", "E1")
		due("installed", "T2")
		must(t, errOf(db.GrantTeam(ctx, "E1", "T3", "", noon)))
		due("granted", "T2", "T3")
		closeIn("T2")
		closeIn("T3")
		due("closed again")
		must(t, db.OpenGap(ctx))
		due("another", "T1", "T2", "T3")
		closeIn("T1")
		due("closed in the first", "T2", "T3")
		must(t, db.CloseGap(ctx, "T2")) // its channel has not been read
		due("not read", "T2", "T3")
		closeIn("T2")
		db.clock.advance(time.Hour)
		closeIn("T3")
		due("closed in each")
		if a, b := db.closed(t, "T2"), db.closed(t, "T3"); !a.Equal(noon) || !b.Equal(noon.Add(time.Hour)) {
			t.Errorf("closed at %v and %v", a, b)
		}
		db.install(t, "T2") // with more scopes
		due("installed anew while it is active")
		must(t, errOf(db.EndInstallation(ctx, "T2", db.now(), InstallationUninstalled, "")))
		db.install(t, "T2")
		due("installed again", "T2")
		if ids, _, err := db.UnreadChannels(ctx, "T2", 2, nil, 5); err != nil || !slices.Equal(ids, []string{channel}) {
			t.Errorf("to read: %v, %v", ids, err)
		}
	})
}

func (db database) closed(t *testing.T, team string) time.Time {
	t.Helper()
	gaps, err := db.Gaps(t.Context(), team)
	must(t, err)
	return gaps.Closed
}

// Workspaces' runs, tokens, and own MCP servers are told apart from those of all, and from each other's, by equal names.
func TestRowsOfWorkspaces(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		began, err := db.LastRuns(ctx)
		must(t, err)
		must(t, db.RecordRun(ctx, "memory", "T1", "T2"))
		if last, err := db.LastRuns(ctx); err != nil || !reflect.DeepEqual(last, began) {
			t.Errorf("the job has run: %v, %v; want %v", last, err, began)
		}
		must(t, db.RecordRun(ctx, "memory"))
		db.clock.advance(time.Hour)
		must(t, db.RecordRun(ctx, "memory", "T2"))
		for team, want := range map[string]time.Time{"": noon, "T1": noon, "T2": db.now()} {
			if last, err := db.LastRunsIn(ctx, team); err != nil || !last["memory"].Equal(want) || team != "" && len(last) != 1 {
				t.Errorf("last runs in %q: %v, %v", team, last, err)
			}
		}

		tools := func(team string) string {
			t.Helper()
			rows, err := db.MCPTools(ctx, team)
			must(t, err)
			return strings.Join(mapRows(rows, func(r MCPTool) string { return r.Server + "." + r.Tool + "=" + r.Allowed }), " ")
		}
		for _, team := range []string{"", "T1", "T2"} {
			for range 2 {
				must(t, db.RememberTools(ctx, team, "desk", func(known []MCPTool) []MCPTool {
					if len(known) == 1 && known[0].Server == "desk" && known[0].TeamID == team {
						return known
					}
					return []MCPTool{{Tool: "open", Fingerprint: "of " + team}}
				}))
			}
		}
		changed, err := db.AllowTools(ctx, "T1", "desk", "open")
		if err != nil || len(changed) != 1 || changed[0].Server != "desk" {
			t.Errorf("allowed %+v, %v", changed, err)
		}
		if a, b, c := tools(""), tools("T1"), tools("T2"); a != "desk.open=" || b != "desk.open=of T1" || c != "desk.open=" {
			t.Errorf("tools are %q, %q, %q", a, b, c)
		}

		must(t, db.Revoke(ctx, "hash", Revocation{Cause: AppUninstalled, At: noon, Team: "T1"}))
		if r, err := db.Revoked(ctx, "hash"); err != nil || *r != (Revocation{AppUninstalled, noon, "T1"}) {
			t.Errorf("revoked: %+v, %v", r, err)
		}

		// Every way to make a row of a conversation writes its workspace.
		thread := chat.Conversation{Team: team, Channel: channel, Thread: at(1)}
		stop := said(at(1), "")
		db.record(t, stop, func(Known) Entry {
			e := keep(stop, "said", "addressed")(Known{})
			e.Changes[0].Stop, e.Changes[0].Conversation = true, thread
			return e
		})
		must(t, errOf(db.Claim(ctx, of(stop).ID(), "a", noon, 5)))
		must(t, db.StopThread(ctx, thread, stop.TS))
		must(t, db.SaveLost(ctx, chat.Conversation{Team: team, Channel: "C2"}))
		must(t, db.ApplyOrder(ctx, Order{ID: "o", Scope: workspace, Kind: "mute", Until: noon}))
		must(t, db.Decide(ctx, Decision{Key: "d", WorkflowID: thread.ID(), Outcome: "silent"}))
		must(t, db.ForgetPerson(ctx, chat.Person{Team: team, User: "U1"}, operator, "o2", noStep))
		db.wantRows(t, 4, "changes", "team_id = 'T1'") // with two deletions
		db.wantRows(t, 4, "conversations", "team_id = 'T1'")
		db.wantRows(t, 1, "decisions", "team_id = 'T1'")
		for _, table := range []string{"changes", "conversations", "decisions"} {
			db.wantRows(t, 0, table, "team_id <> 'T1'")
		}
	})
}
