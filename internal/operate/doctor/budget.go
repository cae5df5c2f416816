package doctor

import (
	"context"
	"fmt"

	"myao/internal/store"
)

// nearlySpent is the share of the workspace's budget from which on its end is told.
const nearlySpent = 0.8

// budget tells how much of the workspace's budget is used today.
func (e *examination) budget(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	limit := e.Config.WorkspaceBudget()
	if !limit.Limited() {
		return warn("set response.workspace_daily_calls or response.workspace_daily_tokens",
			"nothing limits what the whole workspace may cost in a day")
	}
	teams, err := e.db.Teams(ctx)
	var most store.Spending
	for _, team := range teams { // one, unless workspaces share the database
		var spent store.Spending
		c := e.Config.ForWorkspace(team, "")
		if spent, err = e.db.SpentByWorkspace(ctx, team, c.StartOfDay(e.Clock())); err != nil {
			break
		}
		if own := c.WorkspaceBudget(); own.Used(spent.Calls, spent.Tokens) >= limit.Used(most.Calls, most.Tokens) {
			most, limit = spent, own
		}
	}
	if err != nil {
		return fail("check the database", "%v", err)
	}
	said := fmt.Sprintf("the whole workspace has used %d model calls and %d tokens today, %.f %% of its budget",
		most.Calls, most.Tokens, 100*limit.Used(most.Calls, most.Tokens))
	const fix = "starter usage --since 1d --by channel,purpose tells what for; raise response.workspace_daily_calls " +
		"or response.workspace_daily_tokens"
	switch {
	case limit.Exhausted(most.Calls, most.Tokens):
		return warn(fix, "%s: nothing is judged, answered or remembered until tomorrow", said)
	case limit.Used(most.Calls, most.Tokens) >= nearlySpent:
		return warn(fix, "%s", said)
	}
	return ok("%s", said)
}
