package slack

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"myao/internal/chat"
)

// As docs.slack.dev/interactivity/implementing-slash-commands shows it.
const typed = "token=gIkuvaNzQIHg97ATvDxqgjtO&team_id=T1&team_domain=example&enterprise_id=E0001&enterprise_name=Globular%20Construct%20Inc" +
	"&channel_id=C2147483705&channel_name=test&user_id=U2147483697&user_name=Steve&command=/weather&text=94070" +
	"&response_url=https://hooks.slack.com/commands/1234/5678&trigger_id=13345224609.738474920.8088930838d88f008e0&api_app_id=A1"

func TestReadCommand(t *testing.T) {
	t.Parallel()
	want := Command{Name: "/weather", Text: "94070", Request: Request{
		Type: "slash_command", ID: "13345224609.738474920.8088930838d88f008e0", User: "U2147483697", Channel: "C2147483705",
		UserTeam: "T1", ResponseURL: "https://hooks.slack.com/commands/1234/5678",
		origin: origin{app: "A1", teams: []string{"T1"}, addressee: addressee{team: "T1"}},
	}}
	if got, err := ParseCommand([]byte(typed)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	form, err := url.ParseQuery(typed)
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for key := range form {
		fields = append(fields, `"`+key+`":"`+form.Get(key)+`"`)
	}
	if got, err := ReadCommand([]byte("{" + strings.Join(fields, ",") + "}")); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("by socket: got %+v, %v\nwant %+v", got, err, want)
	}
	for _, install := range []string{`true`, `"true"`} {
		got, err := ReadCommand([]byte(`{"command":"/myao","enterprise_id":"E1","is_enterprise_install":` + install + `}`))
		if err != nil || got.origin.of(inOrg) != nil {
			t.Errorf("installed in an organisation (%s): %v, %v", install, err, got.origin.of(inOrg))
		}
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"command":7}`} {
		if _, err := ReadCommand([]byte(bad)); !errors.Is(err, ErrNotForm) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A malformed id counts as none. A use without a trigger_id has an id all the same.
func TestRequestsWithoutTheirIDs(t *testing.T) {
	t.Parallel()
	one, err := ParseCommand([]byte("command=/myao&user_id=U/1&channel_id=&text=a"))
	two, err2 := ParseCommand([]byte("command=/myao&user_id=U/1&channel_id=&text=b"))
	again, err3 := ParseCommand([]byte("command=/myao&user_id=U/1&channel_id=&text=a"))
	if errors.Join(err, err2, err3) != nil || one.User != "" || one.Channel != "" {
		t.Fatalf("%+v, %v", one, errors.Join(err, err2, err3))
	}
	if one.ID == "" || one.ID == two.ID || one.ID != again.ID {
		t.Errorf("named %q, %q and %q", one.ID, two.ID, again.ID)
	}
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{typed, "payload=" + url.QueryEscape(used), used, pressed, submitted, `{"command":"/x","text":"\u0000"}`, "command=%00&text=%ff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(r Request) {
			if r.ID == "" || r.User != "" && !validID(r.User) || r.Channel != "" && !validID(r.Channel) {
				t.Errorf("%q: %+v", body, r)
			}
		}
		if c, err := ParseCommand(body); err == nil {
			check(c.Request)
		}
		if c, err := ReadCommand(body); err == nil {
			check(c.Request)
		}
		for _, read := range []func([]byte) (Interaction, error){ParseInteraction, ReadInteraction} {
			i, err := read(body)
			if err != nil {
				continue
			}
			check(i.Request)
			action, err := DecodeInteraction(i, inTeam)
			switch a := action.(type) {
			case MessageShortcut:
				if m, err := a.Message(inTeam); err == nil && (m.Channel == "" || !chat.ValidTS(m.TS)) {
					t.Errorf("%q: message %+v", body, m)
				}
			case BlockAction:
				if a.MessageTS != "" && !chat.ValidTS(a.MessageTS) || a.ActionID == "" {
					t.Errorf("%q: %+v", body, a)
				}
			case nil:
				if !LeftOut(err) {
					t.Errorf("%q: unknown error %v", body, err)
				}
			}
		}
	})
}
