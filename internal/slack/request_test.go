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

// As docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload shows it.
const used = `{"type":"message_action","token":"Nj2rfC2hU8mAfgaJLemZgO7H","callback_id":"answer_now","trigger_id":"13345224609.8534564800.6f8ab1f53e13d0cd15f96106292d5536",
	"response_url":"https://hooks.slack.com/app-actions/T0MJR11A4/21974584944/yk1S9ndf35Q1flupVG5JbpM6","team":{"id":"T1","domain":"pandamonium"},
	"channel":{"id":"C0LFFBKLZ","name":"cats"},"user":{"id":"U0D15K92L","name":"dr_maomao"},
	"message":{"type":"message","user":"U0MJRG1AL","ts":"1516229207.000133","thread_ts":"1516229200.000100","text":"World's smallest big cat! <https://youtube.com/watch?v=W86cTIoMv2U>"}}`

func TestReadCommand(t *testing.T) {
	t.Parallel()
	want := Command{Name: "/weather", Text: "94070", Request: Request{
		Type: "slash_command", ID: "13345224609.738474920.8088930838d88f008e0", User: "U2147483697", Channel: "C2147483705",
		ResponseURL: "https://hooks.slack.com/commands/1234/5678", origin: origin{app: "A1", teams: []string{"T1"}},
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
		if err != nil || got.Of(inOrg) != nil {
			t.Errorf("installed in an organisation (%s): %v, %v", install, err, got.Of(inOrg))
		}
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"command":7}`} {
		if _, err := ReadCommand([]byte(bad)); !errors.Is(err, ErrNotForm) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// What cannot be an id is none, and a use without a trigger_id has a name all the same.
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

func TestMessageOfAShortcut(t *testing.T) {
	t.Parallel()
	i, err := ParseInteraction([]byte("payload=" + url.QueryEscape(used)))
	if err != nil || i.Callback != "answer_now" || i.User != "U0D15K92L" || i.Channel != "C0LFFBKLZ" || i.Type != "message_action" ||
		!strings.HasPrefix(i.ResponseURL, "https://hooks.slack.com/app-actions/") || i.ID != "13345224609.8534564800.6f8ab1f53e13d0cd15f96106292d5536" {
		t.Fatalf("got %+v, %v", i, err)
	}
	want := chat.Message{
		Team: "T1", Channel: "C0LFFBKLZ", TS: "1516229207.000133", ThreadTS: "1516229200.000100", UserID: "U0MJRG1AL",
		Text: "World's smallest big cat! <https://youtube.com/watch?v=W86cTIoMv2U>",
	}
	if m, err := i.Message(inTeam); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, %v\nwant %+v", m, err, want)
	}
	i, err = ReadInteraction([]byte(`{"channel":{"id":"C1"},"message":{"user":"U1","ts":"1516229207.1","text":"","attachments":[{"is_share":true,"author_name":"Bob","text":"the DB is down"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want = chat.Message{Team: "T1", Channel: "C1", TS: "1516229207.1", UserID: "U1", Text: "[forwarded message by Bob]\nthe DB is down"}
	if m, err := i.Message(inTeam); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, %v\nwant %+v", m, err, want)
	}
	for payload, want := range map[string]error{
		`{"type":"message_action"}`:                                                                    ErrUnusable,
		`{"channel":{"id":"C1"},"message":{"user":"U1","text":"x"}}`:                                   ErrUnusable,
		`{"channel":{"id":"C/1"},"message":{"user":"U1","ts":"1.1","text":"x"}}`:                       ErrUnusable,
		`{"channel":{"id":"C1"},"message":{"subtype":"channel_join","user":"U1","ts":"1516229207.1"}}`: ErrIgnored,
	} {
		i, err := ReadInteraction([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := i.Message(inTeam); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", payload, err, want)
		}
	}
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{typed, "payload=" + url.QueryEscape(used), used, `{"command":"/x","text":"\u0000"}`, "command=%00&text=%ff"} {
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
			if m, err := i.Message(inTeam); err == nil && (m.Channel == "" || !chat.ValidTS(m.TS)) {
				t.Errorf("%q: message %+v", body, m)
			}
		}
	})
}
