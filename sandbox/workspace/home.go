package workspace

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// homeView is the part of a Home tab's view that the sandbox reads.
type homeView struct {
	Type   string          `json:"type"`
	Blocks json.RawMessage `json:"blocks"`
}

// OpenHome opens a tab of the app's Home as a user: home or messages. Like Slack it delivers
// app_home_opened, with the view that was last published
// (docs.slack.dev/reference/events/app_home_opened).
func (w *Workspace) OpenHome(user, tab string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.user(user) == nil {
		return
	}
	const event = "app_home_opened"
	c, now := w.dm(user), w.nextTS()
	inner := map[string]any{"type": event, "user": user, "channel": c.ID, "tab": tab, "event_ts": now}
	if tab == "home" && w.homes[user] != nil {
		inner["view"] = w.wireHome(user)
	}
	w.emitAs(c, now, inner, Event{Type: event, TS: now, User: user})
}

// Home is the blocks of a user's Home tab as JSON; nil if none was published.
func (w *Workspace) Home(user string) json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.homes[user]
}

func (w *Workspace) wireHome(user string) map[string]any {
	return map[string]any{
		"id": "V" + user, "team_id": w.cfg.Team, "type": "home", "blocks": w.homes[user], "private_metadata": "",
		"callback_id": "",
		"app_id":      w.bot.AppID, "app_installed_team_id": w.cfg.Team, "bot_id": w.bot.BotID,
	}
}

// PressHome presses a button of the Home tab as a user, by its action_id and value. It returns as Command
// does. Unlike Slack it presses what does not stand there, too. Slack sends no response_url
// (docs.slack.dev/reference/interaction-payloads/block_actions-payload).
func (w *Workspace) PressHome(user, action, value string) *Interaction {
	w.mu.Lock()
	if w.user(user) == nil {
		w.mu.Unlock()
		return &Interaction{User: user, Err: "user not found"}
	}
	channel := w.dm(user).ID
	w.mu.Unlock()
	return w.interact(channel, user, "interactive", func(_ *Interaction, _ *Channel, u *User,
		trigger string) map[string]any {
		view := w.wireHome(user)
		return map[string]any{
			"type": "block_actions", "token": "sandbox-verification-token", "api_app_id": w.bot.AppID,
			"team":                  map[string]any{"id": w.cfg.Team, "domain": "sandbox"},
			"user":                  map[string]any{"id": u.ID, "username": u.Name, "team_id": u.Team, "name": u.Name},
			"is_enterprise_install": false, "enterprise": nil,
			"container": map[string]any{"type": "view", "view_id": view["id"]}, "view": view, "trigger_id": trigger,
			"actions": []map[string]any{{"type": "button", "action_id": action, "block_id": "b", "value": value,
				"action_ts": w.nextTS()}},
		}
	})
}

// viewsPublish publishes a user's Home tab (docs.slack.dev/reference/methods/views.publish). Of Slack's
// limits it knows the number of blocks and the length of texts.
func (c *call) viewsPublish() (reply, error) {
	user := c.Get("user_id")
	var view homeView
	var blocks []struct {
		Text struct {
			Text string `json:"text"`
		} `json:"text"`
	}
	switch {
	case c.user(user) == nil:
		return nil, apiError("user_not_found")
	case json.Unmarshal([]byte(c.Get("view")), &view) != nil, view.Type != "home",
		json.Unmarshal(view.Blocks, &blocks) != nil, len(blocks) > 100:
		return nil, apiError("invalid_arguments")
	}
	for _, b := range blocks {
		if utf8.RuneCountInString(b.Text.Text) > 3000 {
			return nil, apiError("invalid_arguments")
		}
	}
	c.homes[user] = view.Blocks
	c.hub.send(change{Kind: "home", User: user, Home: view.Blocks})
	c.notify()
	return reply{"view": c.wireHome(user)}, nil
}

// pageHome opens the Home tab. The page shows it when it is published.
func (w *Workspace) pageHome(in pageRequest) error {
	w.mu.Lock()
	u := w.user(in.User)
	w.mu.Unlock()
	if u == nil || u.Bot {
		return apiError("user_not_found")
	}
	w.OpenHome(in.User, "home")
	return nil
}

// pageHomeClick presses a button of the Home tab.
func (w *Workspace) pageHomeClick(in pageRequest) error {
	if kind, _ := (&Message{Blocks: w.Home(in.User)}).button(in.Name, in.Value); kind == "" {
		return apiError("button_not_found")
	}
	if a := w.PressHome(in.User, in.Name, in.Value); a.Status != http.StatusOK {
		return apiError("click_not_taken")
	}
	return nil
}
