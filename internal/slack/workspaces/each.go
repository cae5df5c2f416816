package workspaces

import (
	"context"
	"sync"

	"myao/internal/slack"
)

// Each holds what a program makes of each workspace, from when it is first asked for. With Of and Make it is ready, and
// it is safe for concurrent use.
type Each[T any] struct {
	Of   func(ctx context.Context, team string) (*Workspace, error)
	Make func(*Workspace) (T, error)

	mu   sync.Mutex
	made map[string]made[T] // by team
}

type made[T any] struct {
	what T
	by   *slack.Client // another one is of another bot
}

// Get returns what belongs to the workspace of a team, and the workspace; "" is that of slack.bot_token.
func (e *Each[T]) Get(ctx context.Context, team string) (what T, w *Workspace, err error) {
	if w, err = e.Of(ctx, team); err != nil {
		return what, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m, ok := e.made[w.Own.TeamID]; ok && m.by == w.Slack {
		return m.what, w, nil
	}
	if what, err = e.Make(w); err != nil {
		return what, nil, err
	}
	if e.made == nil {
		e.made = map[string]made[T]{}
	}
	e.made[w.Own.TeamID] = made[T]{what, w.Slack}
	return what, w, nil
}
