package slack

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// users are objects as Slack sends them, and what is read of them in the workspace T1 of the
// organisation E1, for a client that trusts the organisation and one that does not.
var users = []struct {
	name, object string
	want         User
	trusted      bool // no stranger to a client that trusts the organisation
}{
	{"a colleague", `"team_id":"T1","is_restricted":false`, User{}, false},
	{"a guest", `"team_id":"T1","is_restricted":true,"is_ultra_restricted":false`, User{Guest: true}, false},
	{"a guest of one channel", `"team_id":"T1","is_restricted":true,"is_ultra_restricted":true`, User{Guest: true}, false},
	{"a guest who is deactivated", `"team_id":"T1","is_restricted":true,"deleted":true`, User{Deleted: true}, false},
	{"a stranger", `"team_id":"T9","is_stranger":true`, User{Stranger: true}, false},
	{"a person of a company with whom a channel is shared", `"team_id":"T9","is_stranger":false`, User{Stranger: true}, false},
	{"the same of another organisation", `"team_id":"T9","enterprise_user":{"enterprise_id":"E9","teams":["T9"]}`, User{Stranger: true}, false},
	{"of another workspace of the organisation", `"team_id":"T2","enterprise_user":{"enterprise_id":"E1","teams":["T2"]}`, User{Stranger: true}, true},
	{"a guest of another workspace", `"team_id":"T2","is_restricted":true,"enterprise_user":{"enterprise_id":"E1","teams":["T2"]}`, User{Guest: true, Stranger: true}, true},
	{"of this workspace and another", `"team_id":"T2","enterprise_user":{"enterprise_id":"E1","teams":["T2","T1"]}`, User{}, false},
	{"an app of elsewhere", `"team_id":"T9","is_bot":true`, User{IsBot: true}, false},
}

const inEnterprise = `{"ok":true,"team_id":"T1","enterprise_id":"E1","user_id":"UBOT","bot_id":"BBOT"}`

func TestOutsiders(t *testing.T) {
	t.Parallel()
	for _, trust := range []bool{false, true} {
		list, all := "", []User(nil)
		for i, tc := range users {
			want := tc.want
			want.ID, want.Name = fmt.Sprint("U", i), "x"
			want.Stranger = want.Stranger && !(trust && tc.trusted)
			object := fmt.Sprintf(`{"id":"U%d","name":"x",%s}`, i, tc.object)
			list, all = list+object+",", append(all, want)
			_, c := newFake(t, says(`{"ok":true,"user":`+object+`}`), says(inEnterprise))
			c.trustOrg = trust
			if got, err := c.User(t.Context(), want.ID); err != nil || got != want {
				t.Errorf("%s, trust %v: got %+v, %v, want %+v", tc.name, trust, got, err, want)
			}
		}
		_, c := newFake(t, says(inEnterprise), says(`{"ok":true,"members":[`+list+`7],"response_metadata":{"next_cursor":"n1"}}`), says(`{"ok":true}`))
		c.trustOrg = trust
		if page, err := c.Users(t.Context(), ""); err != nil || page.Next != "n1" || !reflect.DeepEqual(page.Users, all) {
			t.Errorf("trust %v: got %+v, %v, want %+v", trust, page, err, all)
		}
		if _, err := c.Users(t.Context(), "n1"); asError(t, err).Code != "unreadable_answer" {
			t.Errorf("no list: got %v", err)
		}
	}
	_, c := newFake(t, says(`{"ok":true,"channel":{"id":"C1","name":"x","is_private":false,"is_org_shared":true}}`))
	c.trustOrg = true
	if got, err := c.Channel(t.Context(), "C1"); err != nil || got.OrgShared {
		t.Errorf("of a trusted organisation: %+v, %v", got, err)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	f, c := newFake(t, says(`{"ok":true,"members":["U1","W2"],"response_metadata":{"next_cursor":"n1"}}`), says(`{"ok":true,"members":["U1",""]}`), says(`{"ok":true}`))
	ids, next, err := c.Members(t.Context(), "C1", "c0")
	if err != nil || next != "n1" || !reflect.DeepEqual(ids, []string{"U1", "W2"}) {
		t.Errorf("got %v, %q, %v", ids, next, err)
	}
	if call := f.seen()[0]; call.method != "conversations.members" || call.form.Get("channel") != "C1" || call.form.Get("cursor") != "c0" {
		t.Errorf("call %v", call)
	}
	for _, what := range []string{"a malformed id", "no list"} {
		if _, _, err := c.Members(t.Context(), "C1", ""); asError(t, err).Code != "unreadable_answer" {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestDecodeSmallEvents(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 100_000).UTC()
	for _, tc := range []struct {
		event string
		want  Event
		err   error
	}{
		{`{"type":"member_joined_channel","user":"W1","channel":"C1","channel_type":"C","team":"T2","inviter":"U1","event_ts":"1700000000.000100"}`, MemberJoined{Membership{"W1", "C1", at}}, nil},
		{`{"type":"member_left_channel","user":"U1","channel":"G1"}`, MemberLeft{Membership{"U1", "G1", time.Unix(1700000001, 0).UTC()}}, nil},
		{`{"type":"member_left_channel","user":{"id":"U1"},"channel":"G1"}`, nil, ErrUnusable},
		{`{"type":"member_joined_channel","user":"U1"}`, nil, ErrUnusable},
		{`{"type":"user_guest_status_changed","user":{"id":"U1","is_restricted":true},"cache_ts":7}`, GuestChanged{"U1"}, nil},
		{`{"type":"user_guest_status_changed","user":"U1"}`, nil, ErrUnusable},
		{`{"type":"channel_id_changed","old_channel_id":"G1","new_channel_id":"C1","event_ts":"1612206778.000000"}`, ChannelIDChanged{Old: "G1", New: "C1"}, nil},
		{`{"type":"channel_id_changed","old_channel_id":"G1"}`, nil, ErrUnusable},
		{`{"type":"channel_id_changed","new_channel_id":"C1"}`, nil, ErrUnusable},
		{`{"type":"channel_id_changed","old_channel_id":"C1","new_channel_id":"C1"}`, nil, ErrUnusable},
		{`{"type":"channel_id_changed","old_channel_id":"G/1","new_channel_id":["C1"]}`, nil, ErrUnusable},
	} {
		env, err := ParseEnvelope([]byte(`{"type":"event_callback","team_id":"T1","api_app_id":"A1","event_time":1700000001,"event":` + tc.event + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(env, inTeam); got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %+v, %v; want %+v, %v", tc.event, got, err, tc.want, tc.err)
		}
		if _, err := Decode(env, Identity{TeamID: "T2"}); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", tc.event, err)
		}
	}
}
