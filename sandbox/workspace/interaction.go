package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Interaction is one use of a slash command, a message shortcut, a button or a modal.
type Interaction struct {
	User, Channel string
	// Body is the signed form that was sent, or the JSON object in Socket Mode.
	Body []byte
	// Status and Err are the acknowledgement's; Status is 0 if there was none.
	Status int
	Err    string
	// Wrong is what the app finds wrong with the fields of a modal, by block_id.
	Wrong map[string]string
	// Took is the time until the acknowledgement. Slack gives up after three seconds
	// (docs.slack.dev/interactivity/implementing-slash-commands).
	Took time.Duration

	url    string // response_url
	thread string // of the message whose button was pressed; responses appear there
	uses   int    // of url
}

// Response is a message from the app to the user of an interaction.
type Response struct {
	Text string `json:"text"`
	// Type is ephemeral or in_channel; empty means ephemeral.
	Type string `json:"response_type"`
	// Blocks are as the app sent them; nil for none.
	Blocks json.RawMessage `json:"blocks"`
	At     time.Time
	// Late is set if the response came through the response_url.
	Late bool
}

// maxResponses is how often a response_url can be used
// (docs.slack.dev/interactivity/handling-user-interaction#message_responses). Its
// expiry after half an hour is not imitated.
const maxResponses = 5

// Command types a slash command such as "/myao status" as a user. It returns once the app
// has acknowledged it or AckTimeout has passed.
func (w *Workspace) Command(channel, user, typed string) *Interaction {
	name, text, _ := strings.Cut(strings.TrimSpace(typed), " ")
	return w.interact(channel, user, "slash_commands", func(a *Interaction, c *Channel, u *User,
		trigger string) map[string]any {
		return map[string]any{
			"token": "sandbox-verification-token", "team_id": w.cfg.Team, "team_domain": "sandbox",
			"channel_id": c.ID, "channel_name": commandChannelName(c), "user_id": u.ID, "user_name": u.Name,
			"command": name, "text": strings.TrimSpace(text), "api_app_id": w.bot.AppID,
			"is_enterprise_install": "false",
			"response_url":          a.url, "trigger_id": trigger,
		}
	})
}

// commandChannelName is the channel_name of a slash command
// (docs.slack.dev/interactivity/implementing-slash-commands).
func commandChannelName(c *Channel) string {
	switch c.Kind {
	case Private:
		return "privategroup"
	case DM:
		return "directmessage"
	}
	return c.Name
}

// Shortcut uses a message shortcut as a user. It returns as Command does
// (docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload).
func (w *Workspace) Shortcut(channel, user, ts, callback string) *Interaction {
	return w.interact(channel, user, "interactive", func(a *Interaction, c *Channel, u *User,
		trigger string) map[string]any {
		payload := map[string]any{
			"type": "message_action", "token": "sandbox-verification-token", "action_ts": w.nextTS(),
			"team":    map[string]any{"id": w.cfg.Team, "domain": "sandbox"},
			"user":    map[string]any{"id": u.ID, "username": u.Name, "team_id": u.Team, "name": u.Name},
			"channel": map[string]any{"id": c.ID, "name": commandChannelName(c)}, "is_enterprise_install": false,
			"enterprise":  nil,
			"callback_id": callback, "trigger_id": trigger, "response_url": a.url, "message_ts": ts,
		}
		if m := c.find(ts); m != nil {
			payload["message"] = w.wireMessage(c, m)
		}
		return payload
	})
}

// Press presses a button of a message as a user, by the button's action_id and value. It returns as
// Command does. Unlike Slack it presses what does not stand there, too, as a forger would
// (docs.slack.dev/reference/interaction-payloads/block_actions-payload).
func (w *Workspace) Press(channel, user, ts, action, value string) *Interaction {
	return w.interact(channel, user, "interactive", func(a *Interaction, c *Channel, u *User,
		trigger string) map[string]any {
		container := map[string]any{"type": "message", "message_ts": ts, "channel_id": c.ID, "is_ephemeral": false}
		m := c.find(ts)
		if m != nil && m.ThreadTS != "" {
			a.thread, container["thread_ts"] = m.ThreadTS, m.ThreadTS
		}
		kind, block := m.button(action, value)
		payload := map[string]any{
			"type": "block_actions", "token": "sandbox-verification-token", "api_app_id": w.bot.AppID,
			"team":    map[string]any{"id": w.cfg.Team, "domain": "sandbox"},
			"user":    map[string]any{"id": u.ID, "username": u.Name, "team_id": u.Team, "name": u.Name},
			"channel": map[string]any{"id": c.ID, "name": commandChannelName(c)}, "is_enterprise_install": false,
			"enterprise": nil,
			"container":  container, "trigger_id": trigger, "response_url": a.url,
			"state": map[string]any{"values": map[string]any{}},
			"actions": []map[string]any{{"type": cmp.Or(kind, "button"), "action_id": action,
				"block_id": cmp.Or(block, "b"), "value": value, "action_ts": w.nextTS()}},
		}
		if m != nil {
			payload["message"] = w.wireMessage(c, m)
		}
		return payload
	})
}

// button is the type and the block_id of a message's button, by its action_id and value; "" if it has no
// such button.
func (m *Message) button(action, value string) (kind, block string) {
	var blocks []struct {
		BlockID  string            `json:"block_id"`
		Elements []json.RawMessage `json:"elements"`
	}
	if m == nil || json.Unmarshal(m.Blocks, &blocks) != nil {
		return "", ""
	}
	for _, b := range blocks {
		for _, raw := range b.Elements {
			var e struct {
				Type     string                 `json:"type"`
				ActionID string                 `json:"action_id"`
				Value    string                 `json:"value"`
				Positive struct{ Value string } `json:"positive_button"`
				Negative struct{ Value string } `json:"negative_button"`
			}
			if json.Unmarshal(raw, &e) != nil || e.ActionID != action {
				continue
			}
			if e.Type == "button" && e.Value == value || e.Type == "feedback_buttons" &&
				(e.Positive.Value == value || e.Negative.Value == value) {
				return e.Type, b.BlockID
			}
		}
	}
	return "", ""
}

// hasButton reports whether a message of the bot has the button that the page asks for.
func (w *Workspace) hasButton(in pageRequest) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channelByID(in.Channel)
	if c == nil {
		return false
	}
	m := c.find(in.TS)
	if i := slices.IndexFunc(w.ephemeral, func(p Post) bool {
		return p.Channel == c.ID && p.For == in.User && p.Message.TS == in.TS
	}); i >= 0 {
		m = &w.ephemeral[i].Message
	}
	kind, _ := m.button(in.Name, in.Value)
	return kind != ""
}

// interact sends the fields that describe returns to the app. It does not retry: Slack shows
// the user that it failed.
func (w *Workspace) interact(
	channel, user, kind string, describe func(*Interaction, *Channel, *User, string) map[string]any,
) *Interaction {
	a := &Interaction{User: user, Channel: channel, Err: "channel or user not found"}
	w.mu.Lock()
	c, u := w.channel(channel), w.user(user)
	if c == nil || u == nil || w.slack != nil && w.absent() {
		w.mu.Unlock()
		return a
	}
	a.Channel = c.ID
	a.url = "http://" + w.host + "/commands/" + w.cfg.Team + "/" + w.nextID("") + "/" + rand.Text()
	id := w.nextID("trigger.")
	fields := describe(a, c, u, id)
	if o, wide := w.through(); wide {
		fields["enterprise"], fields["enterprise_id"], fields["is_enterprise_install"] = o.describe(), o.ID, true
	}
	w.interactions[a.url], w.triggers[id] = a, &trigger{by: a, at: time.Now()}
	w.mu.Unlock()

	object, err := json.Marshal(fields)
	if err != nil {
		panic("sandbox: encode interaction: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.AckTimeout)
	defer cancel()
	began := time.Now()
	var status int
	var answer []byte
	if w.socket.used() {
		a.Body = object
		if answer, err = w.socket.send(ctx, kind, object,
			map[string]any{"accepts_response_payload": true}); err == nil {
			status = http.StatusOK
		}
	} else {
		status, answer, err = w.postInteraction(ctx, a, kind, fields, object)
	}
	w.mu.Lock()
	a.Status, a.Took, a.Err = status, time.Since(began), ""
	if err != nil {
		a.Err = err.Error()
	}
	w.notify()
	w.mu.Unlock()
	var said struct {
		Response
		Errors map[string]string `json:"errors"`
	}
	if status == http.StatusOK && json.Unmarshal(answer, &said) == nil {
		a.Wrong = said.Errors
		w.respond(a, said.Response)
	}
	return a
}

// postInteraction sends an interaction as a form to a sibling of the events URL.
func (w *Workspace) postInteraction(ctx context.Context, a *Interaction, kind string, fields map[string]any,
	object []byte) (int, []byte, error) {
	form, path := url.Values{}, "interactions"
	if kind == "slash_commands" {
		path = "commands"
		for key, value := range fields {
			form.Set(key, fmt.Sprint(value))
		}
	} else {
		form.Set("payload", string(object))
	}
	a.Body = []byte(form.Encode())
	return w.PostSignedForm(ctx, path, a.Body)
}

// PostSignedForm posts a signed form to a sibling of the events URL: commands or
// interactions. Tests replay recorded requests with it.
func (w *Workspace) PostSignedForm(
	ctx context.Context, path string, body []byte,
) (status int, answer []byte, err error) {
	header := w.Sign(body, w.skewed(time.Now()))
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.out.sendTo(ctx, path, body, header)
}

// respond records a response and shows it to the user of the interaction.
func (w *Workspace) respond(a *Interaction, r Response) {
	if r.Text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.At = time.Now()
	m := &Message{Type: "message", User: w.bot.UserID, BotID: w.bot.BotID, AppID: w.bot.AppID, Text: r.Text,
		Blocks: r.Blocks, TS: w.nextTS(), ThreadTS: a.thread}
	w.responses[a] = append(w.responses[a], r)
	w.ephemeral = append(w.ephemeral, Post{Channel: a.Channel, At: w.cfg.Clock(), For: a.User, Message: *m})
	w.hub.send(change{Kind: "ephemeral", Channel: a.Channel, User: a.User, Message: m})
	w.notify()
}

// Responses returns the responses to an interaction so far, oldest first.
func (w *Workspace) Responses(a *Interaction) []Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Response(nil), w.responses[a]...)
}

// serveResponse accepts responses at a response_url.
func (w *Workspace) serveResponse(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	a := w.interactions["http://"+r.Host+r.URL.Path]
	refusal := ""
	switch {
	case a == nil || r.Method != http.MethodPost:
		refusal = "invalid_url"
	case a.uses >= maxResponses:
		refusal = "used_url"
	default:
		a.uses++
	}
	w.mu.Unlock()
	response := Response{Late: true}
	if refusal == "" && json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<20)).Decode(&response) != nil {
		refusal = "invalid_payload"
	}
	if refusal != "" {
		write(rw, http.StatusNotFound, failure(apiError(refusal)))
		return
	}
	w.respond(a, response)
	write(rw, http.StatusOK, reply{"ok": true})
}
