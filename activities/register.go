package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// Workspaces has the activities of each workspace.
type Workspaces interface {
	// Of returns those of a team; "" is the workspace of slack.bot_token.
	Of(ctx context.Context, team string) (*Activities, error)
}

// Input names the workspace that an activity works for.
type Input interface{ Workspace() string }

// Of is the Input of what schedules begin. Its zero value is the workspace of slack.bot_token, or all of them together.
type Of struct {
	Team string `json:"team,omitempty"`
}

// Workspace implements Input.
func (o Of) Workspace() string { return o.Team }

// Register registers every activity with a worker. Each is run by the Activities of the workspace that its input
// names: nothing else decides for whom work is done that has waited.
func Register(r worker.ActivityRegistry, all Workspaces) {
	register(r, all, "FindWorkspaces", (*Activities).FindWorkspaces)
	register(r, all, "SyncChannels", (*Activities).SyncChannels)
	register(r, all, "ListChannels", (*Activities).ListChannels)
	register(r, all, "FindGap", (*Activities).FindGap)
	register(r, all, "ListUnread", (*Activities).ListUnread)
	register(r, all, "CatchUp", (*Activities).CatchUp)
	register(r, all, "FindScopes", (*Activities).FindScopes)
	register(r, all, "Remember", (*Activities).Remember)
	register(r, all, "LabelDecisions", (*Activities).LabelDecisions)
	register(r, all, "AskShadow", (*Activities).AskShadow)
	register(r, all, "Prune", (*Activities).Prune)
	register(r, all, "Judge", (*Activities).Judge)
	register(r, all, "Compose", (*Activities).Compose)
	register(r, all, "PostAtOnce", (*Activities).PostAtOnce)
	register(r, all, "Post", (*Activities).Post)
	register(r, all, "CheckPromise", (*Activities).CheckPromise)
	register(r, all, "EndPromise", (*Activities).EndPromise)
	register(r, all, "Act", (*Activities).Act)
	registerOrder(r, all, "Look", (*Activities).Look)
	registerOrder(r, all, "Settle", (*Activities).Settle)
	registerOrder(r, all, "ShowProposal", (*Activities).ShowProposal)
	registerOrder(r, all, "RecordOrder", (*Activities).RecordOrder)
	registerOrder(r, all, "Introduce", (*Activities).Introduce)
	registerOrder(r, all, "ForgetPerson", (*Activities).ForgetPerson)
	registerOrder(r, all, "TellForgotten", (*Activities).TellForgotten)
}

// register registers an activity that returns something.
func register[In Input, Out any](r worker.ActivityRegistry, all Workspaces, name string,
	do func(*Activities, context.Context, In) (Out, error)) {
	r.RegisterActivityWithOptions(func(ctx context.Context, in In) (out Out, err error) {
		a, err := all.Of(ctx, in.Workspace())
		if err != nil {
			return out, classify(fmt.Errorf("%s: %w", name, err))
		}
		return do(a, ctx, in)
	}, activity.RegisterOptions{Name: name})
}

// registerOrder registers an activity that returns nothing but an error.
func registerOrder[In Input](r worker.ActivityRegistry, all Workspaces, name string,
	do func(*Activities, context.Context, In) error) {
	r.RegisterActivityWithOptions(func(ctx context.Context, in In) error {
		a, err := all.Of(ctx, in.Workspace())
		if err != nil {
			return classify(fmt.Errorf("%s: %w", name, err))
		}
		return do(a, ctx, in)
	}, activity.RegisterOptions{Name: name})
}
