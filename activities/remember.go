package activities

import (
	"context"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/temporal"
)

// FindScopesInput asks for a page of the scopes to remember.
type FindScopesInput struct {
	Of
	// Threads asks for threads; otherwise for channels.
	Threads bool `json:"threads"`
	// At is the time of the memory run.
	At time.Time `json:"at"`
	// After is the last scope of the page before; the zero Scope for the first page.
	After chat.Scope `json:"after"`
}

// FindScopesOutput is a page of scopes that have something new.
type FindScopesOutput struct {
	Scopes []chat.Scope `json:"scopes,omitempty"`
	// Next is After of the next page; nil if this is the last one.
	Next *chat.Scope `json:"next,omitempty"`
	// Team is the workspace.
	Team string `json:"team"`
}

// scopesPageSize is how many scopes a page is made from.
const scopesPageSize = 200

// FindScopes returns scopes that have changed since they were remembered. It leaves out channels of mode
// off.
func (a *Activities) FindScopes(ctx context.Context, in FindScopesInput) (FindScopesOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.findScopes(ctx, in)
	if err == nil && in.Threads && in.After == (chat.Scope{}) {
		err = a.recordRun(ctx, in.Of, temporal.MemorySchedule)
	}
	if err != nil {
		return FindScopesOutput{}, classify(fmt.Errorf("survey what is to be remembered: %w", err))
	}
	return out, nil
}

func (a *Activities) findScopes(ctx context.Context, in FindScopesInput) (FindScopesOutput, error) {
	out := FindScopesOutput{Team: a.Own.TeamID}
	changed, err := a.Agents.ChangedScopes(ctx, in.Threads, in.At, in.After, scopesPageSize)
	if err != nil {
		return FindScopesOutput{}, err
	}
	if len(changed) == scopesPageSize {
		out.Next = &changed[len(changed)-1]
	}
	var ids []string
	for _, s := range changed {
		ids = append(ids, s.Channel)
	}
	settings, err := a.Directory.StoredSettings(ctx, a.Own.TeamID, ids...)
	if err != nil {
		return FindScopesOutput{}, err
	}
	for _, s := range changed {
		if settings[s.Channel].Mode != conversation.ModeOff {
			out.Scopes = append(out.Scopes, s)
		}
	}
	return out, nil
}

// RememberInput asks for the memories of one scope.
type RememberInput struct {
	Scope chat.Scope `json:"scope"`
	// At is the time of the memory run, the same for every attempt.
	At time.Time `json:"at"`
}

// Workspace implements Input.
func (in RememberInput) Workspace() string { return in.Scope.Team }

// RememberOutput says what Remember did.
type RememberOutput struct {
	// Calls counts the questions to a model: 0 if nothing was new.
	Calls   int  `json:"calls"`
	Changed bool `json:"changed"`
}

// Remember renews the memories of one scope if it has something new. If the budget of the channel or of the
// workspace is used up it leaves the scope for the next day. A scope that is not to be remembered is left alone.
func (a *Activities) Remember(ctx context.Context, in RememberInput) (RememberOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	if no, err := a.mayNot(ctx, in.Scope); no || err != nil {
		return RememberOutput{}, classify(err)
	}
	result, err := a.Agents.Remember(ctx, in.Scope, in.At, attemptNumber(ctx))
	a.Metrics.remembered(result.Changed, err)
	if err != nil {
		return RememberOutput{}, classify(err)
	}
	if result.Changed {
		a.Logger.InfoContext(ctx, "remembered", "scope", in.Scope.String(), "calls", result.Calls)
	}
	return RememberOutput{Calls: result.Calls, Changed: result.Changed}, nil
}

// mayNot reports whether a scope is not to be remembered now: never, by its settings, or not today,
// because a budget is used up. It logs the latter once a run: a channel is in every run in which one of its
// threads is, and the workspace is in every run.
func (a *Activities) mayNot(ctx context.Context, s chat.Scope) (bool, error) {
	var own config.ChannelSettings
	if !s.Workspace() {
		settings, err := a.Directory.StoredSettings(ctx, s.Team, s.Channel)
		if own = settings[s.Channel]; err != nil || own.Remember == config.RememberNowhere {
			return err == nil, err
		}
	}
	reason, err := a.overBudget(ctx, s, own)
	if s.Workspace() && reason != "" || s.Thread == "" && reason == conversation.ReasonChannelBudget {
		a.Logger.WarnContext(ctx, "not remembered today: "+reason, "scope", s.String())
	}
	return reason != "", err
}
