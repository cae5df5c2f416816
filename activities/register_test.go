package activities

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"myao/internal/slack"
)

// byTeam are the activities of some workspaces.
type byTeam struct {
	made map[string]*Activities
	err  error
}

func (b byTeam) Of(_ context.Context, team string) (*Activities, error) {
	if a := b.made[team]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("workspace %s: %w", team, b.err)
}

// What waits is done by the workspace that its input names, and goes on waiting while that has not installed the bot.
func TestActivitiesOfAWorkspace(t *testing.T) {
	t.Parallel()
	b, other := setup(t), setup(t)
	b.syncChannels()
	for _, c := range []struct {
		team, want string
		err        error
	}{
		{team: "T1"}, {team: "T2"},
		{team: "T3", err: slack.NotInstalled(), want: typeRateLimited},
		{team: "T3", err: &slack.Error{Code: "internal_error", Kind: slack.Ambiguous}, want: typeUnavailable},
		{team: "T3", err: &slack.Error{Code: "invalid_auth", Kind: slack.Final}, want: typeFinal},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetTestTimeout(2 * time.Minute)
		env.SetWorkerOptions(patient())
		Register(env, byTeam{map[string]*Activities{"T1": b.Activities, "T2": other.Activities}, c.err})
		result, err := env.ExecuteActivity("ListChannels", Of{Team: c.team})
		if c.want != "" {
			if app := applicationError(t, err); app.Type() != c.want {
				t.Errorf("%v: %v, want %s", c.err, app, c.want)
			}
			continue
		}
		var out ListChannelsOutput
		if err != nil || result.Get(&out) != nil || (len(out.Channels) > 0) != (c.team == "T1") {
			t.Errorf("%s has %v, %v", c.team, out.Channels, err)
		}
	}
}
