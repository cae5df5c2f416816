package workspace

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// The app gets Slack's signed form. It responds in the body, and later by the response_url.
func TestInteractionsByHTTP(t *testing.T) {
	t.Parallel()
	forms := make(chan url.Values, 8)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		form, err := url.ParseQuery(string(body))
		if r.URL.Path == "/slack/events" {
			return
		}
		if err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.Header.Get("X-Slack-Signature") == "" {
			t.Errorf("%v, %v", err, r.Header)
		}
		form.Set("path", r.URL.Path)
		forms <- form
		if r.URL.Path != "/slack/commands" {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"response_type":"ephemeral","text":"at once"}`)
	}))
	t.Cleanup(app.Close) // after the workspace, which would deliver to whoever has its port next
	b := setup(t, Config{})
	b.SetEventsURL(app.URL + "/slack/events")
	if _, err := b.api.AuthTest(); err != nil { // tells the workspace its own address
		t.Fatal(err)
	}
	asked := b.Command(b.general, b.alice, "/myao  why not? ")
	if asked.Err != "" {
		t.Fatal(asked.Err)
	}
	form := <-forms
	for key, want := range map[string]string{
		"path": "/slack/commands", "command": "/myao", "text": "why not?", "user_id": b.alice, "channel_id": b.general,
		"channel_name": "general", "team_id": b.Team(), "api_app_id": "A0SANDBOX", "is_enterprise_install": "false",
	} {
		if got := form.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if said := b.Responses(asked); asked.Status != 200 || asked.Err != "" || len(said) != 1 || said[0].Text != "at once" || said[0].Late {
		t.Errorf("%+v said %+v", asked, said)
	}
	for i := range maxResponses + 1 {
		resp, err := http.Post(form.Get("response_url"), "application/json", strings.NewReader(`{"text":"later"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want := map[bool]int{true: 200, false: 404}[i < maxResponses]; resp.StatusCode != want {
			t.Errorf("answer %d: status %d, want %d", i+1, resp.StatusCode, want)
		}
	}
	if said := b.Responses(asked); len(said) != 1+maxResponses || !said[1].Late || len(b.Ephemeral()) != len(said) {
		t.Errorf("said %+v", said)
	}

	ts := b.Say(b.general, b.alice, "look")
	if asked := b.Shortcut(b.general, b.alice, ts, "answer_now"); asked.Err != "" {
		t.Fatal(asked.Err)
	}
	form = <-forms
	var payload slack.InteractionCallback
	if err := json.Unmarshal([]byte(form.Get("payload")), &payload); err != nil {
		t.Fatal(err)
	}
	if payload.Type != slack.InteractionTypeMessageAction || payload.CallbackID != "answer_now" || payload.Message.Timestamp != ts ||
		payload.Message.Text != "look" || payload.User.ID != b.alice || payload.Channel.ID != b.general || payload.ResponseURL == "" || form.Get("path") != "/slack/interactions" {
		t.Errorf("payload %+v", payload)
	}
	if pressed := b.Press(b.general, b.alice, ts, "myao_approve", "p1"); pressed.Err != "" {
		t.Fatal(pressed.Err)
	}
	form, payload = <-forms, slack.InteractionCallback{}
	if err := json.Unmarshal([]byte(form.Get("payload")), &payload); err != nil {
		t.Fatal(err)
	}
	if actions := payload.ActionCallback.BlockActions; payload.Type != slack.InteractionTypeBlockActions || len(actions) != 1 || actions[0].ActionID != "myao_approve" || actions[0].Value != "p1" ||
		payload.Container.MessageTs != ts || payload.Container.ChannelID != b.general || payload.User.ID != b.alice || payload.Channel.ID != b.general || payload.Message.Text != "look" {
		t.Errorf("payload of a button %+v", payload)
	}

	// From the page only a button that stands there; what it answers appears in the thread.
	if _, _, err := b.api.PostMessage(b.general, slack.MsgOptionTS(ts), slack.MsgOptionText("may I?", false), slack.MsgOptionBlocks(slack.NewActionBlock("",
		slack.NewButtonBlockElement("myao_approve", "p2", slack.NewTextBlockObject(slack.PlainTextType, "Approve", false, false))))); err != nil {
		t.Fatal(err)
	}
	posted := b.Posts()[0].TS
	for _, c := range []struct {
		in     pageRequest
		status int
		says   string
	}{
		{pageRequest{User: b.alice, TS: posted, Name: "myao_approve", Value: "p3"}, 422, "button_not_found"},
		{pageRequest{User: b.alice, TS: ts, Name: "myao_approve", Value: "p2"}, 422, "button_not_found"},
		{pageRequest{User: b.Bot().UserID, TS: posted, Name: "myao_approve", Value: "p2"}, 422, "user_not_found"},
		{pageRequest{User: b.alice, TS: posted, Name: "myao_approve", Value: "p2"}, 204, ""},
	} {
		if status, says := b.page(t, "click", c.in); status != c.status || says != c.says {
			t.Errorf("%+v: %d %s", c.in, status, says)
		}
	}
	form, payload = <-forms, slack.InteractionCallback{}
	if err := json.Unmarshal([]byte(form.Get("payload")), &payload); err != nil || payload.Container.ThreadTs != ts || payload.ActionCallback.BlockActions[0].Value != "p2" {
		t.Errorf("%v, payload of the page's click %+v", err, payload)
	}
	resp, err := http.Post(payload.ResponseURL, "application/json", strings.NewReader(`{"text":"for you"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if told := b.Ephemeral(); told[len(told)-1].ThreadTS != ts {
		t.Errorf("told %+v", told[len(told)-1])
	}
	if asked := b.Command("#nowhere", b.alice, "/myao"); asked.Status != 0 || asked.Err == "" {
		t.Errorf("in no channel: %+v", asked)
	}
}

func TestCommandBySocket(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.connect(t, func(client *socketmode.Client, e socketmode.Event) {
		if command, ok := e.Data.(slack.SlashCommand); ok && e.Request.AcceptsResponsePayload {
			client.Ack(*e.Request, map[string]string{"response_type": "ephemeral", "text": "you said " + command.Text})
		}
	})
	asked := b.Command(b.general, b.alice, "/myao status")
	if said := b.Responses(asked); asked.Status != 200 || len(said) != 1 || said[0].Text != "you said status" {
		t.Errorf("%+v said %+v", asked, said)
	}
}

// A click opens one modal for its user, at once or not at all. What is entered goes to the app.
func TestModals(t *testing.T) {
	t.Parallel()
	payloads := make(chan slack.InteractionCallback, 8)
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var payload slack.InteractionCallback
		if r.URL.Path == "/slack/interactions" && json.Unmarshal([]byte(r.FormValue("payload")), &payload) == nil {
			payloads <- payload
		}
	}))
	t.Cleanup(app.Close) // after the workspace, which would deliver to whoever has its port next
	b := setup(t, Config{})
	b.SetEventsURL(app.URL + "/slack/events")
	buttons := slack.NewContextActionsBlock("key", slack.NewFeedbackButtonsBlockElement("rate", slack.NewFeedbackButton(slack.NewTextBlockObject(slack.PlainTextType, "Good", false, false), "up"),
		slack.NewFeedbackButton(slack.NewTextBlockObject(slack.PlainTextType, "Bad", false, false), "down")))
	if _, _, err := b.api.PostMessage(b.general, slack.MsgOptionText("an answer", false), slack.MsgOptionBlocks(buttons)); err != nil {
		t.Fatal(err)
	}
	if status, says := b.page(t, "click", pageRequest{User: b.alice, TS: b.Posts()[0].TS, Name: "rate", Value: "down"}); status != 204 {
		t.Fatal(status, says)
	}
	pressed := <-payloads
	if a := pressed.ActionCallback.BlockActions[0]; a.BlockID != "key" || a.Value != "down" || a.ActionTs == "" || string(a.Type) != "feedback_buttons" {
		t.Errorf("pressed %+v", a)
	}
	view := slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: "form", PrivateMetadata: "key", Title: slack.NewTextBlockObject(slack.PlainTextType, "Why?", false, false),
		Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewInputBlock("b", slack.NewTextBlockObject(slack.PlainTextType, "Why?", false, false), nil, slack.NewPlainTextInputBlockElement(nil, "a"))}},
	}
	for i, want := range []string{"", "exchanged_trigger_id"} {
		if _, err := b.api.OpenView(pressed.TriggerID, view); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("open %d: %v, want %q", i, err, want)
		}
	}
	if _, err := b.api.OpenView("trigger.none", view); err == nil || err.Error() != "invalid_trigger_id" {
		t.Errorf("by an unknown trigger: %v", err)
	}
	open := b.Modals()
	if len(open) != 1 || open[0].User != b.alice {
		t.Fatalf("open are %+v", open)
	}
	entered := map[string]map[string]string{"b": {"a": "too long"}}
	if status, says := b.page(t, "submit", pageRequest{User: "U0NOBODY", Name: open[0].ID, Values: entered}); status != 422 || says != "view_not_found" {
		t.Errorf("by somebody else: %d %s", status, says)
	}
	if status, says := b.page(t, "submit", pageRequest{User: b.alice, Name: open[0].ID, Values: entered}); status != 204 {
		t.Errorf("submitted: %d %s", status, says)
	}
	got := <-payloads
	if got.Type != slack.InteractionTypeViewSubmission || got.View.CallbackID != "form" || got.View.PrivateMetadata != "key" || got.View.State.Values["b"]["a"].Value != "too long" || got.User.ID != b.alice {
		t.Errorf("submitted %+v", got)
	}
	if open := b.Modals(); len(open) > 0 {
		t.Errorf("still open: %+v", open)
	}
}
