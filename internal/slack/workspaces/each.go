package workspaces

import (
	"sync"

	"myao/internal/slack"
)

// Each holds what a program makes of each workspace, from when it is first asked for. With Make it is ready, and it is
// safe for concurrent use.
type Each[T any] struct {
	Make func(*Workspace) (T, error)

	mu   sync.Mutex
	made map[string]made[T] // by team
}

type made[T any] struct {
	what T
	by   *slack.Client // another one is of another bot
}

// Of returns what is made of a workspace.
func (e *Each[T]) Of(w *Workspace) (what T, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m, ok := e.made[w.Own.TeamID]; ok && m.by == w.Slack {
		return m.what, nil
	}
	if what, err = e.Make(w); err != nil {
		return what, err
	}
	if e.made == nil {
		e.made = map[string]made[T]{}
	}
	e.made[w.Own.TeamID] = made[T]{what, w.Slack}
	return what, nil
}
