package workspace

// Uninstall removes the app from the workspace: calls with the bot's token are refused, and Slack says so
// by the events tokens_revoked and app_uninstalled
// (docs.slack.dev/reference/events/tokens_revoked, docs.slack.dev/reference/events/app_uninstalled).
func (w *Workspace) Uninstall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uninstalled = true
	for _, inner := range []map[string]any{
		{"type": "tokens_revoked", "tokens": map[string]any{"oauth": []string{}, "bot": []string{w.bot.UserID}}},
		{"type": "app_uninstalled"},
	} {
		now := w.nextTS()
		e := Event{ID: w.nextID("Ev"), Type: inner["type"].(string), TS: now, EventTS: now}
		e.Body = w.envelope(&Channel{}, e.ID, now, inner)
		w.out.enqueue(e)
	}
}

// Install installs the app again. The bot's token is valid as before.
func (w *Workspace) Install() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uninstalled = false
}
