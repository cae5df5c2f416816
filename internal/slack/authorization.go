package slack

import (
	"context"
	"slices"
)

// Authorization is an installation of the app that may see an event: a workspace, and its organisation if the app is
// installed in all of that.
type Authorization struct{ Team, Organisation string }

// Shared returns the channel of an event that people of other companies see, too, and the context by which Slack tells
// for which installations of the app the event is. It returns no context for any other event.
func (e Envelope) Shared() (channel, eventContext string) {
	if !e.external {
		return "", ""
	}
	item, _ := e.event.object("item") // of a reaction
	for _, id := range []string{e.event.text("channel"), item.text("channel"), e.event.text("old_channel_id")} {
		if validID(id) {
			return id, e.context
		}
	}
	return "", ""
}

// For returns the envelope as one that names another installation.
func (e Envelope) For(a Authorization) Envelope {
	e.origin = origin{app: e.origin.app, teams: []string{a.Team}, orgs: []string{a.Organisation},
		addressee: addressee{a.Team, a.Organisation}}
	return e
}

// Authorizations asks Slack for which installations of the app an event is: of a channel that companies share, an event
// names only one (docs.slack.dev/reference/methods/apps.event.authorizations.list). The app-level token needs the
// scope authorizations:read. Errors are *Error.
func (s *Socket) Authorizations(ctx context.Context, eventContext string) ([]Authorization, error) {
	const method = "apps.event.authorizations.list"
	found, err := s.api().ListEventAuthorizationsContext(ctx, eventContext)
	if err != nil {
		return nil, Failure(method, err, s.config.AppToken)
	}
	var all []Authorization
	for _, f := range found {
		a := Authorization{Team: workspaceID(f.TeamID)}
		if f.IsEnterpriseInstall {
			a.Organisation = validOrEmpty(f.EnterpriseID)
		}
		if a.Team != "" && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all, nil
}
