package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Interaction is one use of a slash command or a message shortcut.
type Interaction struct {
	User, Channel string
	// Body is the signed form, as it was sent; in Socket Mode the object in its place.
	Body []byte
	// Status and Err are how the app acknowledged it; Status 0: it did not.
	Status int
	Err    string
	// Took is how long that was. Slack gives up after three seconds
	// (docs.slack.dev/interactivity/implementing-slash-commands).
	Took time.Duration

	url  string // response_url
	used int
}

// Response is something that the app said to who asked.
type Response struct {
	Text string `json:"text"`
	// Type is ephemeral or in_channel; empty is ephemeral.
	Type string `json:"response_type"`
	At   time.Time
	// Late: it came by the response_url.
	Late bool
}

// answersMost is how often a response_url can be used
// (docs.slack.dev/interactivity/handling-user-interaction#message_responses). That it
// can be for half an hour is not imitated.
const answersMost = 5

// Command has somebody type a slash command, such as "/myao status", and returns once the
// app has acknowledged it, or Slack would have given up.
func (w *Workspace) Command(channel, user, typed string) *Interaction {
	name, text, _ := strings.Cut(strings.TrimSpace(typed), " ")
	return w.ask(channel, user, "slash_commands", func(a *Interaction, c *Channel, u *User, trigger string) map[string]any {
		return map[string]any{
			"token": "sandbox-verification-token", "team_id": w.cfg.Team, "team_domain": "sandbox",
			"channel_id": c.ID, "channel_name": wireName(c), "user_id": u.ID, "user_name": u.Name,
			"command": name, "text": strings.TrimSpace(text), "api_app_id": w.bot.AppID, "is_enterprise_install": "false",
			"response_url": a.url, "trigger_id": trigger,
		}
	})
}

// wireName is what a slash command calls its channel
// (docs.slack.dev/interactivity/implementing-slash-commands).
func wireName(c *Channel) string {
	switch c.Kind {
	case Private:
		return "privategroup"
	case DM:
		return "directmessage"
	}
	return c.Name
}

// Shortcut has somebody use a message shortcut
// (docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload).
func (w *Workspace) Shortcut(channel, user, ts, callback string) *Interaction {
	return w.ask(channel, user, "interactive", func(a *Interaction, c *Channel, u *User, trigger string) map[string]any {
		payload := map[string]any{
			"type": "message_action", "token": "sandbox-verification-token", "action_ts": w.nextTS(),
			"team":    map[string]any{"id": w.cfg.Team, "domain": "sandbox"},
			"user":    map[string]any{"id": u.ID, "username": u.Name, "team_id": u.Team, "name": u.Name},
			"channel": map[string]any{"id": c.ID, "name": wireName(c)}, "is_enterprise_install": false, "enterprise": nil,
			"callback_id": callback, "trigger_id": trigger, "response_url": a.url, "message_ts": ts,
		}
		if m := c.find(ts); m != nil {
			payload["message"] = w.bare(c, m)
		}
		return payload
	})
}

// ask makes a request of what describe says, and delivers it. Nobody is asked twice:
// Slack tells whoever asked that it failed.
func (w *Workspace) ask(channel, user, kind string, describe func(*Interaction, *Channel, *User, string) map[string]any) *Interaction {
	a := &Interaction{User: user, Channel: channel, Err: "channel or user not found"}
	w.mu.Lock()
	c, u := w.channel(channel), w.user(user)
	if c == nil || u == nil {
		w.mu.Unlock()
		return a
	}
	a.Channel = c.ID
	a.url = "http://" + w.host + "/commands/" + w.cfg.Team + "/" + w.nextID("") + "/" + rand.Text()
	fields := describe(a, c, u, w.nextID("trigger."))
	w.asked[a.url] = a
	w.mu.Unlock()

	object, err := json.Marshal(fields)
	if err != nil {
		panic("sandbox: a request that is no JSON: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.AckTimeout)
	defer cancel()
	began := time.Now()
	var status int
	var answer []byte
	if w.socket.used() {
		a.Body = object
		if answer, err = w.socket.send(ctx, kind, object, map[string]any{"accepts_response_payload": true}); err == nil {
			status = http.StatusOK
		}
	} else {
		status, answer, err = w.post(ctx, a, kind, fields, object)
	}
	w.mu.Lock()
	a.Status, a.Took, a.Err = status, time.Since(began), ""
	if err != nil {
		a.Err = err.Error()
	}
	w.notify()
	w.mu.Unlock()
	if said := (Response{}); status == http.StatusOK && json.Unmarshal(answer, &said) == nil {
		w.answer(a, said)
	}
	return a
}

// post sends a request as a form, beside the address of events.
func (w *Workspace) post(ctx context.Context, a *Interaction, kind string, fields map[string]any, object []byte) (int, []byte, error) {
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

// PostSignedForm posts a signed form to one of the addresses beside that of events (commands or
// interactions), as whoever took a request down on its way might.
func (w *Workspace) PostSignedForm(ctx context.Context, path string, body []byte) (status int, answer []byte, err error) {
	header := w.Sign(body, time.Now())
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.out.sendTo(ctx, path, body, header)
}

// answer keeps what the app said, and shows it to who asked.
func (w *Workspace) answer(a *Interaction, said Response) {
	if said.Text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	said.At = time.Now()
	m := &Message{Type: "message", User: w.bot.UserID, BotID: w.bot.BotID, AppID: w.bot.AppID, Text: said.Text, TS: w.nextTS()}
	w.said[a] = append(w.said[a], said)
	w.ephemeral = append(w.ephemeral, Post{Channel: a.Channel, At: w.cfg.Clock(), For: a.User, Message: *m})
	w.hub.send(change{Kind: "ephemeral", Channel: a.Channel, User: a.User, Message: m})
	w.notify()
}

// Responses is what the app has said so far to who asked, oldest first.
func (w *Workspace) Responses(a *Interaction) []Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Response(nil), w.said[a]...)
}

// serveResponse takes answers at a response_url.
func (w *Workspace) serveResponse(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	a := w.asked["http://"+r.Host+r.URL.Path]
	refusal := ""
	switch {
	case a == nil || r.Method != http.MethodPost:
		refusal = "invalid_url"
	case a.used >= answersMost:
		refusal = "used_url"
	default:
		a.used++
	}
	w.mu.Unlock()
	said := Response{Late: true}
	if refusal == "" && json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<20)).Decode(&said) != nil {
		refusal = "invalid_payload"
	}
	if refusal != "" {
		write(rw, http.StatusNotFound, failure(apiError(refusal)))
		return
	}
	w.answer(a, said)
	write(rw, http.StatusOK, reply{"ok": true})
}
