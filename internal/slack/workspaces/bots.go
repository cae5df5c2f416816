package workspaces

import (
	"context"
	"time"

	"myao/internal/store"
)

// Bots returns the bots of all installations that are active, by user id, and that of slack.bot_token if it is known.
// Where nobody can install the app it returns none.
func (w *Workspaces) Bots(ctx context.Context) (map[string]bool, error) {
	if !w.config.Slack.Installable() {
		return nil, nil
	}
	if !w.loaded.Load() {
		if w.store.Load() == nil {
			return nil, errNoDatabase
		}
		if _, err := w.poll(ctx, time.Time{}); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	bots := w.bots
	w.mu.Unlock()
	if bots != nil {
		return bots, nil
	}
	own, unknown := w.Of(ctx, "")
	w.mu.Lock()
	defer w.mu.Unlock()
	bots = map[string]bool{}
	for _, i := range w.byID {
		if row := i.current(); row.State == store.InstallationActive {
			bots[row.BotUserID] = true
		}
	}
	if unknown == nil {
		bots[own.Own.UserID] = true // "" without a token
		w.bots = bots
	}
	return bots, nil
}
