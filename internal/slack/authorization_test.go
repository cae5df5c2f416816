package slack

import (
	"net/url"
	"testing"
)

func TestAuthorization(t *testing.T) {
	t.Parallel()
	const wide = `"authorizations":[{"enterprise_id":"E1","team_id":"T5","is_enterprise_install":true}]`
	const bare = `"authorizations":[{"enterprise_id":"E1","team_id":null,"is_enterprise_install":true}]`
	for _, tc := range []struct{ name, fields, team, organisation string }{
		{"a workspace", `"team_id":"T1","authorizations":[{"team_id":"T1","enterprise_id":"E1","is_enterprise_install":false}]`, "T1", ""},
		{"the other side of a shared channel", `"team_id":"T2","context_team_id":"T2","authorizations":[{"team_id":"T1"},{"team_id":"T3"}]`, "T1", ""},
		{"by its context", `"team_id":"T2","context_team_id":"T1","context_enterprise_id":"E1"`, "T1", "E1"},
		{"by its context alone", `"context_team_id":"T1","authorizations":[]`, "T1", ""},
		{"as of old", `"team_id":"T1"`, "T1", ""},
		{"a workspace of an organisation", `"team_id":"T5",` + wide, "T5", "E1"},
		{"an organisation, by its context", `"team_id":"T2","context_team_id":"T5",` + bare, "T5", "E1"},
		{"an organisation, by where it happened", `"team_id":"T5",` + bare, "T5", "E1"},
		{"an organisation, happened elsewhere", `"team_id":"T2","is_ext_shared_channel":true,` + bare, "", "E1"},
		{"an organisation in place of a workspace", `"team_id":"E1","authorizations":[{"enterprise_id":"E1","team_id":"E1","is_enterprise_install":true}]`, "", "E1"},
		{"an organisation itself", `"enterprise_id":"E1",` + bare, "", "E1"},
		{"an organisation itself, without authorizations", `"enterprise_id":"E1"`, "", "E1"},
		{"malformed", `"team_id":"T1/x","authorizations":[{"team_id":"T 1"},{"team_id":"T1"}]`, "", ""},
		{"another shape", `"team_id":["T1"],"authorizations":"T1","context_team_id":7`, "", ""},
	} {
		env, err := ParseEnvelope([]byte(`{"type":"event_callback",` + tc.fields + `}`))
		if team, organisation := env.Authorization(); err != nil || team != tc.team || organisation != tc.organisation {
			t.Errorf("%s: %q of %q, %v; want %q of %q", tc.name, team, organisation, err, tc.team, tc.organisation)
		}
	}
	for _, tc := range []struct{ payload, team, organisation string }{
		{`{"team":{"id":"T1"},"user":{"team_id":"T2"},"enterprise":{"id":"E1"},"is_enterprise_install":false}`, "T1", ""},
		{`{"team":{"id":"T2"},"user":{"team_id":"T2"},"view":{"app_installed_team_id":"T1"}}`, "T1", ""},
		{`{"team":null,"user":{"team_id":"T5"},"enterprise":{"id":"E1"},"is_enterprise_install":true}`, "T5", "E1"},
		{`{"team":{"id":"T5"},"user":{"team_id":"T6"},"view":{"app_installed_team_id":"E1"},"enterprise":{"id":"E1"},"is_enterprise_install":true}`, "T5", "E1"},
		{`{"team":null,"user":{"team_id":"T2"}}`, "", ""},
	} {
		i, err := ParseInteraction([]byte("payload=" + url.QueryEscape(tc.payload)))
		if team, organisation := i.Authorization(); err != nil || team != tc.team || organisation != tc.organisation {
			t.Errorf("%s: %q of %q, %v; want %q of %q", tc.payload, team, organisation, err, tc.team, tc.organisation)
		}
	}
	for _, tc := range []struct{ form, team, organisation string }{
		{"command=%2Fmyao&team_id=T1&enterprise_id=E1&is_enterprise_install=false", "T1", ""},
		{"command=%2Fmyao&team_id=T5&enterprise_id=E1&is_enterprise_install=true", "T5", "E1"},
		{"command=%2Fmyao&enterprise_id=E1&is_enterprise_install=true", "", "E1"},
	} {
		c, err := ParseCommand([]byte(tc.form))
		if team, organisation := c.Authorization(); err != nil || team != tc.team || organisation != tc.organisation {
			t.Errorf("%s: %q of %q, %v; want %q of %q", tc.form, team, organisation, err, tc.team, tc.organisation)
		}
	}
}
