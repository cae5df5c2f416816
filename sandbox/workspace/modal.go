package workspace

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// Modal is a view that the app has opened for a user (docs.slack.dev/surfaces/modals).
type Modal struct {
	ID      string `json:"id"`
	User    string `json:"user"`
	Channel string `json:"channel"` // where the user was
	// View is as the app sent it.
	View json.RawMessage `json:"view"`
}

// trigger is a use of the app that may open one modal.
type trigger struct {
	by   *Interaction
	at   time.Time
	used bool
}

// viewsOpen opens a modal for the user of a trigger_id (docs.slack.dev/reference/methods/views.open).
func (c *call) viewsOpen() (reply, error) {
	t := c.triggers[c.Get("trigger_id")]
	switch {
	case t == nil:
		return nil, apiError("invalid_trigger_id")
	case t.used:
		return nil, apiError("exchanged_trigger_id")
	case time.Since(t.at) > c.cfg.TriggerLife:
		return nil, apiError("expired_trigger_id")
	}
	var view struct {
		Type   string                `json:"type"`
		Title  struct{ Text string } `json:"title"`
		Blocks []json.RawMessage     `json:"blocks"`
	}
	raw := c.Get("view")
	if json.Unmarshal([]byte(raw), &view) != nil || view.Type != "modal" || view.Title.Text == "" ||
		len([]rune(view.Title.Text)) > 24 || len(view.Blocks) == 0 {
		return nil, apiError("invalid_arguments")
	}
	t.used = true
	m := Modal{ID: c.nextID("V"), User: t.by.User, Channel: t.by.Channel, View: compact(raw)}
	c.modals = append(c.modals, m)
	c.hub.send(change{Kind: "modal", Channel: m.Channel, User: m.User, Modal: &m})
	c.notify()
	return reply{"view": reply{"id": m.ID, "team_id": c.cfg.Team, "type": "modal"}}, nil
}

// Modals returns the modals that are open, oldest first.
func (w *Workspace) Modals() []Modal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.modals)
}

// Submit submits a modal with what its user has entered, by block_id and action_id. It returns as Command
// does. The modal closes if the app acknowledges that and finds nothing wrong
// (docs.slack.dev/reference/interaction-payloads/view-interactions-payload).
func (w *Workspace) Submit(id string, entered map[string]map[string]string) *Interaction {
	w.mu.Lock()
	at := slices.IndexFunc(w.modals, func(m Modal) bool { return m.ID == id })
	if at < 0 {
		w.mu.Unlock()
		return &Interaction{Err: "modal not found"}
	}
	m := w.modals[at]
	w.mu.Unlock()
	a := w.interact(m.Channel, m.User, "interactive", func(_ *Interaction, _ *Channel, u *User,
		trigger string) map[string]any {
		values := map[string]map[string]any{}
		for block, elements := range entered {
			values[block] = map[string]any{}
			for action, text := range elements {
				element := map[string]any{"type": "plain_text_input", "value": nil}
				if text != "" {
					element["value"] = text
				}
				values[block][action] = element
			}
		}
		view := map[string]any{}
		_ = json.Unmarshal(m.View, &view)
		view["id"], view["team_id"], view["app_id"], view["app_installed_team_id"] = m.ID, w.cfg.Team, w.bot.AppID,
			w.cfg.Team
		view["state"] = map[string]any{"values": values}
		return map[string]any{
			"type": "view_submission", "token": "sandbox-verification-token", "api_app_id": w.bot.AppID,
			"trigger_id": trigger,
			"team":       map[string]any{"id": w.cfg.Team, "domain": "sandbox"}, "is_enterprise_install": false,
			"enterprise": nil,
			"user":       map[string]any{"id": u.ID, "username": u.Name, "team_id": u.Team, "name": u.Name},
			"view":       view, "response_urls": []any{},
		}
	})
	if a.Status == 200 && len(a.Wrong) == 0 {
		w.dismiss(id)
	}
	return a
}

// dismiss closes a modal without a word to the app, which asked for none.
func (w *Workspace) dismiss(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.modals = slices.DeleteFunc(w.modals, func(m Modal) bool { return m.ID == id })
	w.notify()
}

// pageSubmit submits or closes a modal of the user.
func (w *Workspace) pageSubmit(in pageRequest) error {
	if !slices.ContainsFunc(w.Modals(), func(m Modal) bool { return m.ID == in.Name && m.User == in.User }) {
		return apiError("view_not_found")
	}
	if in.Values == nil {
		w.dismiss(in.Name)
		return nil
	}
	a := w.Submit(in.Name, in.Values)
	if a.Status != 200 {
		return apiError("click_not_taken")
	}
	if len(a.Wrong) > 0 {
		return errors.New(strings.Join(slices.Sorted(maps.Values(a.Wrong)), "; "))
	}
	return nil
}
