package activities

import (
	"context"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// SurveyInput asks for a part of what is to be remembered.
type SurveyInput struct {
	// Threads asks for threads, else channels.
	Threads bool `json:"threads"`
	// At is the time as of which is remembered.
	At time.Time `json:"at"`
	// After is the last scope of the part before; the zero Scope for the first part.
	After chat.Scope `json:"after"`
}

// SurveyOutput is scopes that have something new.
type SurveyOutput struct {
	Scopes []chat.Scope `json:"scopes,omitempty"`
	// Next is where the next part begins after; nil if there is none.
	Next *chat.Scope `json:"next,omitempty"`
	// Team is the workspace.
	Team string `json:"team"`
}

// surveyPageSize is how many scopes one part holds.
const surveyPageSize = 200

// Survey finds what has changed since it was remembered. Channels in which the bot
// is switched off are left out.
func (a *Activities) Survey(ctx context.Context, in SurveyInput) (SurveyOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.survey(ctx, in)
	if err != nil {
		return SurveyOutput{}, classify(fmt.Errorf("survey what is to be remembered: %w", err))
	}
	if in.Threads && in.After == (chat.Scope{}) {
		a.Metrics.memoryRun()
	}
	return out, nil
}

func (a *Activities) survey(ctx context.Context, in SurveyInput) (SurveyOutput, error) {
	own, err := a.Slack.Identity(ctx)
	if err != nil {
		return SurveyOutput{}, err
	}
	out := SurveyOutput{Team: own.TeamID}
	changed, err := a.Mind.ChangedScopes(ctx, in.Threads, in.At, in.After, surveyPageSize)
	if err != nil {
		return SurveyOutput{}, err
	}
	if len(changed) == surveyPageSize {
		out.Next = &changed[len(changed)-1]
	}
	var ids []string
	for _, s := range changed {
		ids = append(ids, s.Channel)
	}
	settings, err := a.Directory.StoredSettings(ctx, own.TeamID, ids...)
	if err != nil {
		return SurveyOutput{}, err
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
	// At is the time as of which is remembered: the same for every attempt.
	At time.Time `json:"at"`
}

// RememberOutput says what was done.
type RememberOutput struct {
	// Calls is how often a model was asked: 0 where nothing was new.
	Calls   int  `json:"calls"`
	Changed bool `json:"changed"`
}

// Remember makes the memories of one scope anew, if there is anything new in it. Where
// the channel's budget is used up it leaves the scope as it is: what is new in it is
// still new when the next day has begun.
func (a *Activities) Remember(ctx context.Context, in RememberInput) (RememberOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	if put, err := a.overBudgetToday(ctx, in.Scope); put || err != nil {
		return RememberOutput{}, classify(err)
	}
	made, err := a.Mind.Remember(ctx, in.Scope, in.At, attemptNumber(ctx))
	a.Metrics.remembered(made.Changed, err)
	if err != nil {
		return RememberOutput{}, classify(err)
	}
	if made.Changed {
		a.Logger.InfoContext(ctx, "remembered", "scope", in.Scope.String(), "calls", made.Calls)
	}
	return RememberOutput{Calls: made.Calls, Changed: made.Changed}, nil
}

// overBudgetToday reports whether a scope is not remembered today, for want of budget. It says so
// once a run: of a channel, which comes in each run in which one of its threads does.
func (a *Activities) overBudgetToday(ctx context.Context, s chat.Scope) (bool, error) {
	if s.Workspace() {
		return false, nil
	}
	settings, err := a.Directory.StoredSettings(ctx, s.Team, s.Channel)
	if err != nil {
		return false, err
	}
	over, err := a.overBudget(ctx, s.Team, s.Channel, settings[s.Channel])
	if over && s.Thread == "" {
		a.Logger.WarnContext(ctx, "not remembered today: "+conversation.RuleOverBudget.Reason(), "scope", s.String())
	}
	return over, err
}
