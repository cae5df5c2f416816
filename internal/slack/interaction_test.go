package slack

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// As docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload shows it.
const used = `{"type":"message_action","token":"Nj2rfC2hU8mAfgaJLemZgO7H","callback_id":"answer_now","trigger_id":"13345224609.8534564800.6f8ab1f53e13d0cd15f96106292d5536",
	"response_url":"https://hooks.slack.com/app-actions/T0MJR11A4/21974584944/yk1S9ndf35Q1flupVG5JbpM6","team":{"id":"T1","domain":"pandamonium"},
	"channel":{"id":"C0LFFBKLZ","name":"cats"},"user":{"id":"U0D15K92L","name":"dr_maomao"},
	"message":{"type":"message","user":"U0MJRG1AL","ts":"1516229207.000133","thread_ts":"1516229200.000100","text":"World's smallest big cat! <https://youtube.com/watch?v=W86cTIoMv2U>"}}`

// As docs.slack.dev/reference/interaction-payloads/block_actions-payload shows it.
const pressed = `{"type":"block_actions","team":{"id":"T1","domain":"example"},"user":{"id":"U1","username":"alice","team_id":"T1"},"api_app_id":"A1","token":"x",
	"container":{"type":"message","message_ts":"1548261231.000200","attachment_id":1,"channel_id":"C1","is_ephemeral":false,"is_app_unfurl":false},
	"trigger_id":"12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3","channel":{"id":"C1","name":"general"},
	"message":{"bot_id":"BBOT","type":"message","text":"This content can't be displayed.","user":"UBOT","ts":"1548261231.000200","blocks":[{"type":"hologram","block_id":7}]},
	"response_url":"https://hooks.slack.com/actions/1/2/3","actions":[{"action_id":"WaXA","block_id":"=qXel","text":{"type":"plain_text","text":"View","emoji":true},
	"value":"click_me_123","type":"button","action_ts":"1548426417.840180"}]}`

// As docs.slack.dev/reference/interaction-payloads/view-interactions-payload shows it.
const submitted = `{"type":"view_submission","team":{"id":"T1","domain":"example"},"user":{"id":"U1","username":"alice"},"api_app_id":"A1","trigger_id":"1.2.3",
	"view":{"id":"VNHU13V36","type":"modal","callback_id":"modal-identifier","private_metadata":"shhh-its-secret","app_installed_team_id":"T1","hash":"156663117.cd33ad1f",
	"state":{"values":{"multi-line":{"ml-value":{"type":"plain_text_input","value":"This is my example inputted value"}},"pick":{"p":{"type":"static_select","selected_option":{"text":{},"value":"v1"}}},"odd":7}}}}`

func TestMessageOfAShortcut(t *testing.T) {
	t.Parallel()
	shortcut := func(body string) MessageShortcut {
		t.Helper()
		i, err := ReadInteraction([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		action, err := DecodeInteraction(i, inTeam)
		s, ok := action.(MessageShortcut)
		if !ok {
			t.Fatalf("%s: %+v, %v", body, action, err)
		}
		return s
	}
	i := shortcut(used)
	if i.Callback != "answer_now" || i.User != "U0D15K92L" || i.Channel != "C0LFFBKLZ" || i.Type != "message_action" ||
		!strings.HasPrefix(i.ResponseURL, "https://hooks.slack.com/app-actions/") || i.ID != "13345224609.8534564800.6f8ab1f53e13d0cd15f96106292d5536" {
		t.Fatalf("got %+v", i)
	}
	want := chat.Message{
		Team: "T1", Channel: "C0LFFBKLZ", TS: "1516229207.000133", ThreadTS: "1516229200.000100", UserID: "U0MJRG1AL",
		Text: "World's smallest big cat! <https://youtube.com/watch?v=W86cTIoMv2U>",
	}
	if m, err := i.Message(inTeam); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, %v\nwant %+v", m, err, want)
	}
	i = shortcut(`{"type":"message_action","team":{"id":"T1"},"user":{"id":"U9"},"channel":{"id":"C1"},"message":{"user":"U1","ts":"1516229207.1","text":"","attachments":[{"is_share":true,"author_name":"Bob","text":"the DB is down"}]}}`)
	want = chat.Message{Team: "T1", Channel: "C1", TS: "1516229207.1", UserID: "U1", Text: "[forwarded message by Bob]\nthe DB is down"}
	if m, err := i.Message(inTeam); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, %v\nwant %+v", m, err, want)
	}
	for payload, want := range map[string]error{
		`{"message":7}`:                        ErrUnusable,
		`{"message":{"user":"U1","text":"x"}}`: ErrUnusable,
		`{"message":{"subtype":"channel_join","user":"U1","ts":"1516229207.1"}}`: ErrIgnored,
	} {
		i := shortcut(`{"type":"message_action","team":{"id":"T1"},"user":{"id":"U9"},"channel":{"id":"C1"},` + strings.TrimPrefix(payload, "{"))
		if _, err := i.Message(inTeam); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", payload, err, want)
		}
	}
}

func TestDecodeInteraction(t *testing.T) {
	t.Parallel()
	const team = `"team":{"id":"T1"},"user":{"id":"U1"}`
	for _, tc := range []struct {
		name, payload string
		want          Action
		err           error
	}{
		{"button", pressed, BlockAction{ActionID: "WaXA", BlockID: "=qXel", Value: "click_me_123", MessageTS: "1548261231.000200",
			At: time.UnixMicro(1548426417840180).UTC(), Trigger: "12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3", Request: Request{
				Type: "block_actions", ID: "12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3", User: "U1", Channel: "C1", UserTeam: "T1", ResponseURL: "https://hooks.slack.com/actions/1/2/3",
			}}, nil},
		{"menu in a view", `{"type":"block_actions","trigger_id":"1.2","container":{"type":"view","view_id":"V1"},"actions":[{"action_id":"a","selected_option":{"value":"v"}}],` + team + `}`,
			BlockAction{ActionID: "a", Value: "v", Trigger: "1.2", Request: Request{Type: "block_actions", ID: "1.2", User: "U1"}}, nil},
		{"channel in the container alone", `{"type":"block_actions","trigger_id":"1.2","container":{"channel_id":"C1","message_ts":"1.2"},"actions":[{"action_id":"a"}],` + team + `}`,
			BlockAction{ActionID: "a", MessageTS: "1.2", Trigger: "1.2", Request: Request{Type: "block_actions", ID: "1.2", User: "U1", Channel: "C1"}}, nil},
		{"view", submitted, ViewSubmission{Callback: "modal-identifier", Metadata: "shhh-its-secret", Request: Request{Type: "view_submission", ID: "1.2.3", User: "U1"},
			Values: map[string]map[string]string{"multi-line": {"ml-value": "This is my example inputted value"}, "pick": {"p": "v1"}}}, nil},
		{"no actions", `{"type":"block_actions","actions":[],` + team + `}`, nil, ErrUnusable},
		{"actions of another shape", `{"type":"block_actions","actions":[7],` + team + `}`, nil, ErrUnusable},
		{"no view", `{"type":"view_submission",` + team + `}`, nil, ErrUnusable},
		{"nobody", `{"type":"block_actions","actions":[{"action_id":"a"}],"team":{"id":"T1"}}`, nil, ErrUnusable},
		{"shortcut nowhere", `{"type":"message_action","channel":{"id":"C/1"},` + team + `}`, nil, ErrUnusable},
		{"another workspace", strings.Replace(pressed, `"T1"`, `"T2"`, 2), nil, ErrForeign},
		{"another kind", `{"type":"view_closed",` + team + `}`, nil, ErrIgnored},
		{"no kind", `{` + team + `}`, nil, ErrIgnored},
	} {
		i, err := ReadInteraction([]byte(tc.payload))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		got, err := DecodeInteraction(i, inTeam)
		switch a := got.(type) {
		case BlockAction:
			a.origin = origin{}
			got = a
		case ViewSubmission:
			a.origin = origin{}
			got = a
		}
		if !reflect.DeepEqual(got, tc.want) || !errors.Is(err, tc.err) || err != nil && !LeftOut(err) {
			t.Errorf("%s: got %+v, %v\nwant %+v, %v", tc.name, got, err, tc.want, tc.err)
		}
	}
}
