package slack

import (
	"context"
	"fmt"
	"slices"
	"time"

	slackapi "github.com/slack-go/slack"
)

// TeamAccessGranted and TeamAccessRevoked report that an organisation lets its installation of the app into
// some of its workspaces, or no longer does (docs.slack.dev/reference/events/team_access_granted,
// docs.slack.dev/reference/events/team_access_revoked).
type (
	TeamAccessGranted struct{ TeamAccess }
	TeamAccessRevoked struct{ TeamAccess }
)

// TeamAccess is some workspaces of an organisation.
type TeamAccess struct {
	// Organisation is empty if Slack does not say. The authorization of the event is not one of an organisation
	// (seen in github.com/slackapi/bolt-js/issues/1778), so Envelope.Authorization does not name it.
	Organisation string
	Teams        []string
	// At is when the access changed, UTC, to the second; zero if Slack does not say.
	At time.Time
}

func decodeTeamAccess(env Envelope, revoked bool) (Event, error) {
	access := TeamAccess{Organisation: env.enterprise, At: env.at}
	env.event.decode("team_ids", &access.Teams)
	access.Teams = slices.DeleteFunc(access.Teams, func(id string) bool { return workspaceID(id) == "" })
	if len(access.Teams) == 0 {
		return nil, unusable("access of no workspace")
	}
	if revoked {
		return TeamAccessRevoked{access}, nil
	}
	return TeamAccessGranted{access}, nil
}

// TeamNames reads a page of the workspaces that the token serves: their names, by id
// (docs.slack.dev/reference/methods/auth.teams.list). The cursor of the first page is "". A malformed id makes the
// whole page an error, because that workspace would seem to be none any more.
func (c *Client) TeamNames(ctx context.Context, cursor string) (names map[string]string, next string, err error) {
	const method = "auth.teams.list"
	ctx, answer := withAnswer(ctx)
	_, next, err = c.api().ListTeamsContext(ctx, slackapi.ListTeamsParameters{Limit: listPageSize, Cursor: cursor})
	if err != nil {
		return nil, "", c.fail(method, err)
	}
	entries, err := answer.items(method, "teams", next)
	if err != nil {
		return nil, "", err
	}
	names = map[string]string{}
	for i, raw := range entries {
		o, _ := parseObject(raw)
		id := workspaceID(o.text("id"))
		if id == "" {
			return nil, "", unreadable(method, fmt.Errorf("workspace %d of the page has no valid id", i))
		}
		names[id] = singleLine(o.text("name"))
	}
	return names, next, nil
}
