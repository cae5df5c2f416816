package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// hooks are the checks of the hooks, by which other programs tell what has happened.
func (e *examination) hooks() (checks []check) {
	for _, name := range slices.Sorted(maps.Keys(e.Config.Hooks)) {
		checks = append(checks, check{name: "hook " + name, needs: "migrations",
			run: func(ctx context.Context) Finding { return e.hook(ctx, name) }})
	}
	return checks
}

func (e *examination) hook(ctx context.Context, name string) Finding {
	h := e.Config.Hooks[name]
	var unknown []string
	for _, listed := range h.Channels {
		one := h
		one.Channels = []string{listed}
		ids, names := one.Places()
		known, err := e.db.HookChannels(ctx, ids, names)
		if err != nil {
			return Finding{Status: Fail, Message: err.Error()}
		}
		if len(known) == 0 {
			unknown = append(unknown, listed)
		}
	}
	if len(unknown) > 0 {
		return Finding{Status: Warn, Message: "it has channels that the bot does not know: " + strings.Join(unknown, ", "),
			Fix: fmt.Sprintf("invite the bot there, or correct hooks.%s.channels; a hook that has no other channel answers 503",
				name)}
	}
	newest, err := e.db.HooksReceived(ctx)
	if err != nil {
		return Finding{Status: Fail, Message: err.Error()}
	}
	at, ok := newest[name]
	if !ok {
		return Finding{Status: Warn, Message: "no event has come by it yet",
			Fix: fmt.Sprintf("have the program POST to /hooks/%s of the starter, signed with hooks.%s.secret; "+
				"myao_requests_refused_total counts what is refused", name, name)}
	}
	return Finding{Status: OK, Message: "the newest event came " + at.UTC().Format("2006-01-02 15:04:05") + " UTC"}
}
