package workspace

// Uninstall removes the app from the workspace: calls with the bot's token are refused, and Slack says so
// by the events tokens_revoked and app_uninstalled
// (docs.slack.dev/reference/events/tokens_revoked, docs.slack.dev/reference/events/app_uninstalled).
func (w *Workspace) Uninstall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, inner := range w.goodbyes() {
		w.emitOutside(inner, nil)
	}
	w.uninstalled = true
	w.hub.send(change{Kind: "workspace"})
}

// goodbyes are the events of an uninstallation.
func (w *Workspace) goodbyes() []map[string]any {
	return []map[string]any{
		{"type": "tokens_revoked", "tokens": map[string]any{"oauth": []string{}, "bot": []string{w.bot.UserID}}},
		{"type": "app_uninstalled"},
	}
}

// emitOutside queues an event that belongs to no conversation. over replaces fields of the envelope. Callers hold mu.
func (w *Workspace) emitOutside(inner, over map[string]any) {
	now := w.nextTS()
	e := Event{ID: w.nextID("Ev"), Type: inner["type"].(string), TS: now, EventTS: now}
	e.Body = w.envelope(&Channel{}, e.ID, now, inner, over)
	w.out.enqueue(e)
}

// Install installs the app again. The bot's token is valid as before.
func (w *Workspace) Install() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uninstalled = false
	w.hub.send(change{Kind: "workspace"})
}

func (w *Workspace) hasApp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.absent()
}

// absent reports whether the app is neither installed here nor granted by the organisation. Callers hold mu.
func (w *Workspace) absent() bool {
	_, wide := w.through()
	return w.uninstalled && !wide
}

// pageUninstall removes the app, if people can install it again.
func (w *Workspace) pageUninstall(pageRequest) error {
	if w.slack == nil || !w.hasApp() {
		return apiError("app_not_installed")
	}
	w.Uninstall()
	return nil
}
