package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"myao/internal/operate/timeline"
	"myao/internal/runtime/codec"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
	"myao/internal/slack/oauth"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

// ofInstallations are the checks of who has installed the app.
func (e *examination) ofInstallations() []check {
	if !e.Config.Slack.Installable() {
		return nil
	}
	return []check{
		{name: "installations", needs: "migrations", run: e.installed},
		{name: "installed scopes", needs: "installations", run: e.installedScopes},
		{name: "installed tokens", needs: "installations", run: e.installedTokens},
		{name: "organisations", needs: "installations", run: e.organisations},
		{name: "installed keys", needs: "installations", run: e.installedKeys},
		{name: "shared channels", needs: "installations", run: e.sharedChannels},
	}
}

// installed reads who has installed the app, and counts states.
func (e *examination) installed(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	if v, err := e.db.Version(ctx); err == nil && len(v.Pending) > 0 {
		return skip("their table may be among the pending migrations")
	}
	counts := map[store.InstallationState]int{}
	var revoked []string
	if err := e.db.EachInstallation(ctx, func(i store.Installation) error {
		counts[i.State]++
		if i.State == store.InstallationRevoked {
			revoked = append(revoked, named(i, i.Cause))
		}
		e.installations = append(e.installations, i)
		return nil
	}); err != nil {
		return fail("check the database", "%v", err)
	}
	var said []string
	for _, s := range store.InstallationStates {
		if counts[s] > 0 {
			said = append(said, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	switch {
	case len(said) == 0 && e.Config.Slack.BotToken == "":
		return warn("have somebody install it at "+e.installAt(), "nobody has installed the app yet")
	case len(said) == 0:
		return ok("nobody has installed the app yet: there is the workspace of slack.bot_token alone")
	case len(revoked) > 0:
		return warn("have an administrator there install it again at "+e.installAt()+", or end it by starter "+
			"workspaces remove", "%s; Slack no longer takes the token of %s", strings.Join(said, ", "), some(revoked))
	}
	return ok("%s", strings.Join(said, ", "))
}

// installedScopes compares the scopes of each installation with those that the app needs.
func (e *examination) installedScopes(context.Context) Finding {
	report, lacks := warn, []string(nil)
	for i := range e.active() {
		missing := manifest.Missing(e.Config, strings.Split(i.Scopes, ","))
		if len(missing) == 0 {
			continue
		}
		lacks = append(lacks, named(i, strings.Join(manifest.Names(missing), ", ")))
		if slices.ContainsFunc(missing, func(s manifest.Scope) bool { return !s.Extra }) {
			report = fail
		}
	}
	if len(lacks) == 0 {
		return ok("every installation has the scopes that it needs")
	}
	return report("only a reinstallation brings them: see that the app has them (starter manifest), and have an "+
		"administrator there open "+e.installAt(), "missing in %s", some(lacks))
}

// installedTokens looks for tokens that have ended and were not renewed.
func (e *examination) installedTokens(context.Context) Finding {
	var ended []string
	renewed := 0
	for i := range e.active() {
		if i.Expires.IsZero() {
			continue
		}
		if renewed++; i.Lost(e.Clock()) {
			ended = append(ended, named(i, "for "+span(e.Clock().Sub(i.Expires))))
		}
	}
	if len(ended) > 0 {
		return fail("start a starter or a worker, which renews it; if one runs, its log says why it does not: the "+
			"token of an installation is not looked after", "the token has ended, and was not renewed, of %s", some(ended))
	}
	return ok("no token has ended; %d of %d are renewed", renewed, len(slices.Collect(e.active())))
}

// organisations looks for those that have granted their installation to no workspace.
func (e *examination) organisations(ctx context.Context) Finding {
	var alone []string
	first, organisations := "", 0
	for i := range e.active() {
		if !i.Organisation() {
			continue
		}
		organisations++
		teams, err := e.db.TeamsOf(ctx, i.ID)
		if err != nil {
			return fail("check the database", "%v", err)
		}
		if slices.ContainsFunc(teams, func(t store.InstallationTeam) bool { return t.Granted }) {
			continue
		}
		if alone = append(alone, named(i, "")); first == "" {
			first = oauth.GrantURL(i.ID, i.AppID)
		}
	}
	switch {
	case len(alone) > 0:
		return warn("have an administrator of the organisation add the app to workspaces: "+first,
			"the app is in no workspace of %s: it hears nothing there", some(alone))
	case organisations == 0:
		return ok("no organisation has installed the app")
	}
	return ok("%s, each with a workspace", count(organisations, "organisation"))
}

// installedKeys decrypts every token.
func (e *examination) installedKeys(context.Context) Finding {
	keys, err := codec.New(e.Config.Encryption)
	if err != nil {
		return fail("create a key with openssl rand -base64 32", "%v", err)
	}
	var locked []string
	old := 0
	for _, i := range e.installations {
		current, readable := true, true
		for _, sealed := range [][]byte{i.Token, i.Refresh} {
			if len(sealed) == 0 {
				continue
			}
			_, err := keys.Unseal(sealed, workspaces.SealedName(i.ID))
			if why, ok := errors.AsType[*codec.Error](err); ok {
				locked, readable = append(locked, named(i, fmt.Sprintf("key %.20q, %v", why.KeyID, why.Err))), false
				break
			}
			current = current && keys.Current(sealed)
		}
		if readable && !current {
			old++
		}
	}
	switch {
	case len(locked) > 0:
		return fail("put the key that it names back into encryption.keys, with its value; or have the app installed "+
			"again at "+e.installAt(), "the token cannot be read of %s", some(locked))
	case old > 0:
		return warn("starter workspaces reseal, before another key is taken away",
			"under another key than encryption.active_key: the tokens of %s", count(old, "installation"))
	}
	return ok("all stored tokens can be read, and are under encryption.active_key")
}

// sharedChannels asks Slack whether it would say for which installations an event of a shared channel is. There is no
// such event, so a refusal for another reason shows that it would.
func (e *examination) sharedChannels(ctx context.Context) Finding {
	const meanwhile = "in a channel that two of these workspaces share, an event may reach only one of them"
	if e.Config.Slack.AppToken == "" {
		return ok("there is no slack.app_token with the scope authorizations:read: %s", meanwhile)
	}
	_, err := slack.NewSocket(slack.SocketConfig{AppToken: string(e.Config.Slack.AppToken),
		APIURL: e.Config.Slack.APIURL}).Authorizations(ctx, "0")
	refused, _ := errors.AsType[*slack.Error](err)
	switch {
	case refused == nil, refused.Kind == slack.Final && refused.Code == "invalid_event_context":
		return ok("Slack says for which of the workspaces that share a channel an event is")
	case refused.Kind != slack.Final:
		return skip("Slack does not say whether the app-level token has the scope authorizations:read: %v", err)
	}
	return warn("make an app-level token with the scopes authorizations:read and connections:write, under Basic "+
		"Information, App-Level Tokens, and set slack.app_token", "%s: %v", meanwhile, err)
}

// active goes through the installations whose tokens Slack takes.
func (e *examination) active() func(yield func(store.Installation) bool) {
	return func(yield func(store.Installation) bool) {
		for _, i := range e.installations {
			if i.State == store.InstallationActive && !yield(i) {
				return
			}
		}
	}
}

func (e *examination) installAt() string { return e.Config.Server.PublicURL + oauth.InstallPath }

// named is an installation's id, and what is to be known of it.
func named(i store.Installation, what string) string {
	name := timeline.Plain(i.Name)
	if what != "" {
		what = ": " + what
	}
	return strings.TrimSpace(i.ID+" "+name) + what
}

// some names the first of a list.
func some(list []string) string {
	if more := len(list) - maxNamed; more > 0 {
		list = append(list[:maxNamed:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}
