package slack

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

var (
	inTeam = Identity{TeamID: "T1", UserID: "UBOT", BotID: "BBOT", AppID: "A1"}
	inOrg  = Identity{TeamID: "E1", OrgID: "E1", UserID: "UBOT", BotID: "BBOT", AppID: "A1"}
)

const heard = `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100"}`

func TestForeignEvents(t *testing.T) {
	t.Parallel()
	const org = `"authorizations":[{"enterprise_id":"E1","team_id":null,"user_id":"UBOT","is_bot":true,"is_enterprise_install":true}]`
	for _, tc := range []struct {
		name   string
		fields string // of the envelope
		id     Identity
		why    string // empty: it is ours
	}{
		{"ours", `"team_id":"T1","api_app_id":"A1"`, inTeam, ""},
		{"ours, without the app", `"team_id":"T1"`, inTeam, ""},
		{"ours, the app not known", `"team_id":"T1","api_app_id":"A2"`, Identity{TeamID: "T1", UserID: "UBOT"}, ""},
		{"another app", `"team_id":"T1","api_app_id":"A2"`, inTeam, "app A2"},
		{"another workspace", `"team_id":"T2","api_app_id":"A1"`, inTeam, "workspace T2"},
		{"another workspace in all fields", `"team_id":"T2","context_team_id":"T2","authorizations":[{"team_id":"T2"}]`, inTeam, "workspace T2"},
		{"no workspace", `"api_app_id":"A1"`, inTeam, "workspace (none)"},
		{"an empty workspace", `"team_id":"","authorizations":[{"team_id":null}]`, inTeam, "workspace (none)"},
		{"workspace of another type", `"team_id":["T1"]`, inTeam, "workspace (none)"},
		{"workspace of another case", `"team_id":"t1"`, inTeam, "workspace t1"},
		{"workspace unfit for a log", `"team_id":"T2\nlevel=INFO"`, inTeam, "workspace (malformed)"},
		{"said in a shared channel of theirs", `"team_id":"T2","context_team_id":"T2","is_ext_shared_channel":true,"authorizations":[{"team_id":"T1","is_bot":true}]`, inTeam, ""},
		{"said in a shared channel of ours", `"team_id":"T1","context_team_id":"T1","is_ext_shared_channel":true,"authorizations":[{"team_id":"T2"}]`, inTeam, ""},
		{"shared, by its context", `"team_id":"T2","context_team_id":"T1","authorizations":[{"team_id":"T3"}]`, inTeam, ""},
		{"shared among others", `"team_id":"T2","context_team_id":"T2","is_ext_shared_channel":true,"authorizations":[{"team_id":"T3"}]`, inTeam, "workspace T2"},
		{"authorizations of another shape", `"team_id":"T2","authorizations":{"team_id":"T1"}`, inTeam, "workspace T2"},
		{"authorizations of strings", `"team_id":"T2","authorizations":["T1",null,7]`, inTeam, "workspace T2"},
		{"installed in an organisation", `"team_id":"T5",` + org, inOrg, ""},
		{"of another organisation", `"team_id":"T5",` + strings.ReplaceAll(org, "E1", "E2"), inOrg, "workspace T5"},
		{"of our organisation, but installed in one workspace", `"team_id":"T5",` + org, inTeam, "workspace T5"},
		{"an organisation that is only named", `"team_id":"T5","enterprise_id":"E1","authorizations":[{"enterprise_id":"E1","team_id":"T5","is_enterprise_install":false}]`, inOrg, "workspace T5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			env, err := ParseEnvelope([]byte(`{` + tc.fields + `,"type":"event_callback","event_id":"Ev1","event":` + heard + `}`))
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := Decode(env, tc.id)
			event, _ := decoded.(MessageEvent)
			if tc.why == "" {
				if err != nil || event.Message.Team != tc.id.TeamID {
					t.Errorf("of team %q, %v", event.Message.Team, err)
				}
			} else if !errors.Is(err, ErrForeign) || !strings.HasSuffix(err.Error(), tc.why) || event.Message.TS != "" {
				t.Errorf("%v, %+v; want it foreign: %s", err, event, tc.why)
			}
		})
	}
}

// An envelope of an unknown type is ignored, whoever it belongs to. A notice of dropped events counts
// only if it is for this bot, as far as that is known.
func TestEnvelopesWithoutAnEvent(t *testing.T) {
	t.Parallel()
	since := time.Unix(1700000000, 0).UTC()
	for _, tc := range []struct {
		body string
		own  Identity
		want Event
		err  error
	}{
		{`{"type":"hologram","team_id":"T2","api_app_id":"A2"}`, inTeam, nil, ErrIgnored},
		{`{"type":"app_rate_limited","team_id":"T2","api_app_id":"A2"}`, inTeam, nil, ErrForeign},
		{`{"type":"app_rate_limited","team_id":"T2","api_app_id":"A2"}`, Identity{}, AppRateLimited{}, nil},
		{`{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":1700000000}`, inTeam, AppRateLimited{Since: since}, nil},
		{`{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":"1700000000"}`, inTeam, AppRateLimited{Since: since}, nil},
		{`{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":["soon"]}`, inTeam, AppRateLimited{}, nil},
	} {
		env, err := ParseEnvelope([]byte(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(env, tc.own); got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", tc.body, got, err, tc.want, tc.err)
		}
	}
}

func TestParseInteraction(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, payload string
		id            Identity
		err           error
		why           string
	}{
		{"ours", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},"api_app_id":"A1"}`, inTeam, nil, ""},
		{"a guest of a shared channel", `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"T2"},"api_app_id":"A1"}`, inTeam, nil, ""},
		{"a view", `{"type":"view_submission","team":{"id":"T2"},"view":{"app_installed_team_id":"T1"},"api_app_id":"A1"}`, inTeam, nil, ""},
		{"another app", `{"type":"block_actions","team":{"id":"T1"},"api_app_id":"A2"}`, inTeam, nil, "app A2"},
		{"another workspace", `{"type":"block_actions","team":{"id":"T2"},"user":{"team_id":"T2"}}`, inTeam, nil, "workspace T2"},
		{"no workspace", `{}`, inTeam, nil, "workspace (none)"},
		{"an organisation", `{"type":"shortcut","team":null,"enterprise":{"id":"E1"},"is_enterprise_install":true,"user":{"team_id":"T5"}}`, inOrg, nil, ""},
		{"another organisation", `{"type":"shortcut","team":null,"enterprise":{"id":"E2"},"is_enterprise_install":true,"user":{"team_id":"T5"}}`, inOrg, nil, "workspace T5"},
		{"no object", `[]`, inTeam, ErrNotObject, ""},
		{"nothing", ``, inTeam, ErrNotObject, ""},
		{"cut short", `{"type":`, inTeam, ErrNotObject, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseInteraction([]byte("payload=" + url.QueryEscape(tc.payload)))
			if !errors.Is(err, tc.err) {
				t.Fatalf("%v, want %v", err, tc.err)
			}
			if err == nil {
				checkOrigin(t, got.Request, tc.id, tc.why)
			}
		})
	}
	if _, err := ParseInteraction([]byte("payload=%zz")); !errors.Is(err, ErrNotObject) {
		t.Errorf("no form: %v", err)
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		form string
		id   Identity
		err  error
		why  string
	}{
		{"command=%2Fmyao&team_id=T1&api_app_id=A1&enterprise_id=E1&is_enterprise_install=false", inTeam, nil, ""},
		{"command=%2Fmyao&team_id=T1", inTeam, nil, ""},
		{"command=%2Fmyao&team_id=T1&api_app_id=A2", inTeam, nil, "app A2"},
		{"command=%2Fmyao&team_id=T2&api_app_id=A1", inTeam, nil, "workspace T2"},
		{"command=%2Fmyao&team_id=T2&team_id=T1", inTeam, nil, "workspace T2"}, // the first counts, as for everybody
		{"command=%2Fmyao", inTeam, nil, "workspace (none)"},
		{"command=%2Fmyao&team_id=T5&enterprise_id=E1&is_enterprise_install=true", inOrg, nil, ""},
		{"command=%2Fmyao&team_id=T5&enterprise_id=E1&is_enterprise_install=true", inTeam, nil, "workspace T5"},
		{"team_id=T1", inTeam, ErrNotForm, ""},
		{"", inTeam, ErrNotForm, ""},
		{"command=%zz", inTeam, ErrNotForm, ""},
		{`{"command":"/myao","team_id":"T1"}`, inTeam, ErrNotForm, ""},
	} {
		got, err := ParseCommand([]byte(tc.form))
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", tc.form, err, tc.err)
		} else if err == nil {
			checkOrigin(t, got.Request, tc.id, tc.why)
		}
	}
}

func checkOrigin(t *testing.T, r Request, id Identity, why string) {
	t.Helper()
	err := r.origin.of(id)
	if why == "" && err != nil || why != "" && (!errors.Is(err, ErrForeign) || !strings.HasSuffix(err.Error(), why)) {
		t.Errorf("%v, want %q", err, why)
	}
}

func TestLoadAppID(t *testing.T) {
	t.Parallel()
	const who = `{"ok":true,"user":"myao","team_id":"T1","user_id":"UBOT","bot_id":"BBOT"}`
	f, c := newFake(t, says(who), says(`{"ok":false,"error":"missing_scope"}`), says(`{"ok":true,"bot":{"id":"BBOT","app_id":7}}`),
		says(`{"ok":true,"bot":{"id":"BBOT","name":"myao","app_id":"A1"}}`))
	for _, want := range []string{"missing_scope", "unreadable_answer"} {
		if e := asError(t, c.LoadAppID(t.Context())); e.Code != want || e.Method != "bots.info" {
			t.Errorf("got %v, want %s", e, want)
		}
		if id, err := c.Identity(t.Context()); err != nil || id.AppID != "" || id.TeamID != "T1" {
			t.Errorf("then %+v, %v", id, err)
		}
	}
	if err := c.LoadAppID(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := c.Identity(t.Context()); err != nil || id.AppID != "A1" {
		t.Errorf("got %+v, %v", id, err)
	}
	if calls := f.seen(); len(calls) != 4 || calls[3].form.Get("bot") != "BBOT" {
		t.Errorf("calls %v", calls)
	}
}

// A token of a person has no bot, and therefore no app id.
func TestLoadAppIDWithoutABot(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, says(`{"ok":true,"user":"alice","team_id":"T1","user_id":"U1"}`))
	if e := asError(t, c.LoadAppID(t.Context())); e.Kind != Final {
		t.Errorf("got %+v", e)
	}
}

func TestIdentityOfAnOrganisation(t *testing.T) {
	t.Parallel()
	for wide, want := range map[bool]string{true: "E1", false: ""} {
		_, c := newFake(t, says(fmt.Sprintf(`{"ok":true,"team_id":"T1","enterprise_id":"E1","is_enterprise_install":%v,"user_id":"UBOT"}`, wide)))
		if id, err := c.Identity(t.Context()); err != nil || id.OrgID != want {
			t.Errorf("%v: got %+v, %v", wide, id, err)
		}
	}
}
