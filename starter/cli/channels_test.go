package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/test/startertest"
	"myao/test/storetest"
)

// runStarter runs the starter in this process, and returns its output and exit status.
func runStarter(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return out.String(), errs.String(), status
}

func TestChannels(t *testing.T) {
	t.Parallel()
	url := startertest.SQLite(t)
	config := filepath.Join(t.TempDir(), "myao.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `slack: {bot_token: xoxb-1, signing_secret: shh}
database: {url: %q}
agents: {response: {provider: demo, model: large}, judgment: {provider: demo}, memory: {provider: demo}}
response: {daily_calls: 5, workspace_daily_calls: 9}
channels:
  C00000002: &quiet
    mode: mention
    remember: here
    quiet_hours: 22:00-07:00
    time_zone: Asia/Tokyo
    persona: |
      Be formal here,
      always.
  "#Old": *quiet
  nowhere: {mode: all}
`, url), 0o600); err != nil {
		t.Fatal(err)
	}
	db := storetest.OpenURL(t, url)
	for _, c := range []store.Channel{
		{ID: "C00000001", Name: "general", Member: true},
		{ID: "C00000002", Name: "sec\x1bret", Member: true, Private: true},
		{ID: "C00000003", Name: "old"},
		{ID: "C00000004", Name: "left"},
		{ID: "C00000005", Name: "partners", Member: true, External: true},
		{ID: "C00000006", Name: "deal", Member: true, External: true, Private: true},
		{ID: "C00000007", Name: "visitors", Member: true, OrgShared: true},
	} {
		if err := db.SaveChannel(t.Context(), "T1", c); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SeeOutsiders(t.Context(), "T1", "C00000007", map[string]time.Time{"U1": time.Now(), "U2": time.Now()}); err != nil {
		t.Fatal(err)
	}
	// A day has no end here. So what is still to come counts as today, even if midnight is near.
	today, before := time.Now().AddDate(0, 0, 2), time.Now().AddDate(0, 0, -2)
	for _, call := range []store.Call{
		{Scope: chat.Scope{Team: "T1", Channel: "C00000002"}, TokensIn: 5, Ended: today}, // in another time zone
		{Scope: chat.Scope{Team: "T1"}, Purpose: "memory", TokensIn: 55, Ended: today},
		{Scope: chat.Scope{Team: "T1", Channel: "C00000001"}, TokensIn: 70, TokensOut: 7, Ended: today},
		{Scope: chat.Scope{Team: "T1", Channel: "C00000001"}, TokensIn: 70, TokensOut: 7, Ended: before},
	} {
		if err := db.SaveCall(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}

	list, errs, status := runStarter(t, "--config", config, "channels")
	want := [][]string{
		{"CHANNEL", "NAME", "KIND", "MODE", "REMEMBER", "QUIET HOURS", "CALLS TODAY", "TOKENS TODAY"},
		{"C00000001", "general", "public", "judge", "everywhere", "–", "1 of 5", "77"},
		{"C00000002", `sec\x1bret`, "private", "mention", "here", "22:00-07:00 Asia/Tokyo", "1 of 5", "5"},
		{"C00000005", "partners", "shared", "judge", "everywhere", "–", "0 of 5", "0"},
		{"C00000006", "deal", "private, shared", "judge", "everywhere", "–", "0 of 5", "0"},
		{"C00000007", "visitors", "org-shared, guests", "judge", "everywhere", "–", "0 of 5", "0"},
		{"C00000003", "old", "left", "mention", "here", "22:00-07:00 Asia/Tokyo", "0 of 5", "0"},
		{"nowhere", "–", "unknown", "all", "everywhere", "–", "0 of 5", "0"},
		{""},
		{"The whole workspace: today 3 of 9 model calls, 137 of 50000000 tokens"},
	}
	if got := cells(list); status != 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("status %d, %q; got\n%s, want\n%q", status, errs, list, want)
	}

	one, errs, status := runStarter(t, "--config", config, "channels", "C00000002")
	for _, line := range []string{
		`mode +mention +` + config + `:7 channels\.C00000002\.mode`,
		`remember +here +` + config + `:8 channels\.C00000002\.remember`,
		`persona +Be formal here,\\nalways\.\\n +` + config + `:11 channels\.C00000002\.persona`,
		`model +large +` + config + `:3 agents\.response\.model`,
		`The whole workspace: today 3 of 9 model calls, 137 of 50000000 tokens`,
		`daily_calls +5 +` + config + `:4 response\.daily_calls`,
		`bots +ignore +default`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(one) {
			t.Errorf("status %d, %q; %s is not in\n%s", status, errs, line, one)
		}
	}

	if text, errs, status := runStarter(t, "--config", config, "channels", "visitors"); status != 0 || !strings.Contains(text,
		"\nCounts as external, so nothing of other channels is known there: it is shared within the organisation (slack.other_workspaces); guests or people of other workspaces known in it: 2\n") {
		t.Errorf("status %d, %q\n%s", status, errs, text)
	}

	// By name, through an alias, as JSON.
	text, errs, status := runStarter(t, "--config", config, "channels", "#old", "--json")
	var report channelReport
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("status %d, %s: %v in %q", status, errs, err, text)
	}
	if s := report.Settings[0]; report.Channel != "C00000003" || report.Member || !report.Known || report.File != config ||
		s.Key != "mode" || s.Value != "mention" || s.From != "channels.#Old.mode" || s.Line != 7 {
		t.Errorf("got %+v", report)
	}
	// A channel that only the configuration names is explained too. Any other is an error.
	if text, errs, status := runStarter(t, "--config", config, "channels", "nowhere"); status != 0 || !strings.Contains(text, config+":15 channels.nowhere.mode") {
		t.Errorf("status %d, %q\n%s", status, errs, text)
	}
	if text, errs, status := runStarter(t, "--config", config, "channels", "somewhere"); status != 1 || text != "" || !strings.Contains(errs, `"somewhere" is not known`) {
		t.Errorf("status %d, %q, %q", status, text, errs)
	}
}

// In one of several workspaces, with settings of its own.
func TestChannelsOfAWorkspace(t *testing.T) {
	t.Parallel()
	url := startertest.SQLite(t)
	config := filepath.Join(t.TempDir(), "myao.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `slack: {client_id: "1.2", client_secret: shh, signing_secret: shh}
server: {public_url: "https://myao.example.com"}
encryption: {active_key: a, keys: {a: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=}}
database: {url: %q}
agents: {response: {provider: demo}, judgment: {provider: demo}, memory: {provider: demo}}
workspaces:
  T00000002:
    mode: mention
    daily_calls: 7
    operators: [U0ANN]
`, url), 0o600); err != nil {
		t.Fatal(err)
	}
	db := storetest.OpenURL(t, url)
	for team, name := range map[string]string{"T00000001": "one", "T00000002": "two"} {
		if err := db.SaveChannel(t.Context(), team, store.Channel{ID: "C00000001", Name: name, Member: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 1, `several workspaces fit, such as T00000001 and T00000002: choose one by --team`},
		{[]string{"C00000001"}, 1, `several workspaces fit, such as T00000001 and T00000002: choose one by --team`},
		{[]string{"#three"}, 1, `no workspace fits that the database knows: choose one by --team`},
		{[]string{"#Two"}, 0, `mode +mention +`},
		{[]string{"--team", "acme"}, 2, `"acme": want the id of a workspace, T…`},
		{[]string{"--team", "T00000001"}, 0, `(?m)^C00000001 +one +public +judge `},
		{[]string{"--team", "T00000002"}, 0, `(?m)^C00000001 +two +public +mention `},
		{[]string{"--team", "T00000002"}, 0, `The whole workspace: today 0 of 7 model calls`},
		{[]string{"--team", "T00000002", "#two"}, 0, `mode +mention +` + config + `:8 workspaces\.T00000002\.mode`},
		{[]string{"--team", "T00000002", "#two"}, 0, `daily_calls +0 +default`},
		{[]string{"--team", "T00000002", "#two"}, 0, `SETTING OF T00000002 +VALUE +FROM\n(.+\n)*daily_calls +7 +` + config + `:9 workspaces\.T00000002\.daily_calls`},
		{[]string{"--team", "T00000001", "#one"}, 0, `(?m)^operators +\[\] +default`},
		{[]string{"--team", "T00000002", "#two", "--json"}, 0, `"key": "operators",\s+"value": "\[U0ANN\]",\s+"from": "workspaces.T00000002.operators"`},
	} {
		out, errs, status := runStarter(t, append([]string{"--config", config, "channels"}, tc.args...)...)
		if status != tc.status || !regexp.MustCompile(tc.want).MatchString(out+errs) {
			t.Errorf("%v: status %d, want %s in\n%s%s", tc.args, status, tc.want, out, errs)
		}
	}
}

// cells splits a table into its cells.
func cells(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		rows = append(rows, regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1))
	}
	return rows
}
