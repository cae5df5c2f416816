package slack

import (
	"slices"
	"time"
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
	Teams []string
	// At is when the access changed, UTC, to the second; zero if Slack does not say.
	At time.Time
}

func decodeTeamAccess(env Envelope, revoked bool) (Event, error) {
	access := TeamAccess{At: env.at}
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
