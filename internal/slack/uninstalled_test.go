package slack

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// Only the bot's own token matters, and who the bot is may not be known yet.
func TestUninstalled(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0).UTC()
	const outer = `"team_id":"T1","event_time":1700000000`
	for _, tc := range []struct {
		name, outer, event string
		own                Identity
		why                error
		revokes            bool // UBOT's
	}{
		{"uninstalled", outer, `{"type":"app_uninstalled"}`, inTeam, nil, true},
		{"revoked", outer, `{"type":"tokens_revoked","tokens":{"oauth":["U1"],"bot":["U2","UBOT"]}}`, inTeam, nil, true},
		{"revoked, not known whose", outer, `{"type":"tokens_revoked","tokens":{"bot":["UBOT"]}}`, Identity{}, nil, true},
		{"another bot's, not known whose", outer, `{"type":"tokens_revoked","tokens":{"bot":["U2"]}}`, Identity{}, nil, false},
		{"another bot's", outer, `{"type":"tokens_revoked","tokens":{"bot":["U2"]}}`, inTeam, ErrIgnored, false},
		{"a user's of the same id", outer, `{"type":"tokens_revoked","tokens":{"oauth":["UBOT"],"bot":[]}}`, inTeam, ErrIgnored, false},
		{"users', not known whose", outer, `{"type":"tokens_revoked","tokens":{"oauth":["U1"]}}`, Identity{}, ErrIgnored, false},
		{"another shape", outer, `{"type":"tokens_revoked","tokens":["UBOT"]}`, inTeam, ErrIgnored, false},
		{"an organisation", `"enterprise_id":"E1","event_time":1700000000`, `{"type":"app_uninstalled"}`, inOrg, nil, true},
		{"another organisation", `"enterprise_id":"E2"`, `{"type":"app_uninstalled"}`, inOrg, ErrForeign, false},
	} {
		env, err := ParseEnvelope([]byte(`{"type":"event_callback",` + tc.outer + `,"event":` + tc.event + `}`))
		if err != nil {
			t.Fatal(err)
		}
		event, err := Decode(env, tc.own)
		got, _ := event.(Uninstalled)
		if !errors.Is(err, tc.why) || err == nil && !got.At.Equal(at) || got.Revokes("UBOT") != tc.revokes {
			t.Errorf("%s: %+v, %v", tc.name, event, err)
		}
	}
}

func TestTeamAccess(t *testing.T) {
	t.Parallel()
	access := TeamAccess{Organisation: "E1", Teams: []string{"T5", "T6"}, At: time.Unix(1700000000, 0).UTC()}
	env, err := ParseEnvelope([]byte(`{"type":"event_callback","team_id":"T5","event_time":1700000000,"authorizations":` +
		`[{"enterprise_id":"E1","team_id":"T5","is_bot":false,"is_enterprise_install":false}],` +
		`"event":{"type":"team_access_granted","team_ids":["T5","T6"]}}`)) // as in Slack's reference
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(env, Identity{}); err != nil || !reflect.DeepEqual(got, TeamAccessGranted{access}) {
		t.Errorf("with the authorization of a workspace: %+v, %v", got, err)
	}
	for event, want := range map[string]Event{
		`{"type":"team_access_granted","team_ids":["T5","T6"]}`:          TeamAccessGranted{access},
		`{"type":"team_access_revoked","team_ids":["T5","E1","","T6"]}`:  TeamAccessRevoked{access},
		`{"type":"team_access_granted","team_ids":[]}`:                   nil,
		`{"type":"team_access_granted","team_ids":"T5"}`:                 nil,
		`{"type":"team_access_revoked","team_ids":["T5 is an id","E1"]}`: nil,
	} {
		env, err := ParseEnvelope([]byte(`{"type":"event_callback","enterprise_id":"E1","event_time":1700000000,` +
			`"authorizations":[{"enterprise_id":"E1","team_id":null,"is_enterprise_install":true}],"event":` + event + `}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, own := range []Identity{{}, inOrg, {TeamID: "T7", OrgID: "E1", UserID: "UBOT"}} {
			if got, err := Decode(env, own); !reflect.DeepEqual(got, want) || want == nil && !errors.Is(err, ErrUnusable) {
				t.Errorf("%s: %+v, %v; want %+v", event, got, err, want)
			}
		}
		if _, err := Decode(env, inTeam); !errors.Is(err, ErrForeign) {
			t.Errorf("%s in a workspace: %v", event, err)
		}
	}
}
