package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
)

// token asks Slack which app and workspace the token belongs to.
func (e *examination) token(ctx context.Context) Finding {
	if e.Config.Slack.BotToken == "" {
		return skip("there is no slack.bot_token: see installations")
	}
	own, err := e.Slack.Identity(ctx)
	if err != nil {
		return e.slackFailed(err, "set slack.bot_token to the Bot User OAuth Token (xoxb-…) under OAuth & "+
			"Permissions; each installation of the app has its own")
	}
	e.own = own
	if e.tokenInfo, err = e.Slack.TokenInfo(ctx); err != nil {
		return e.slackFailed(err, "try again")
	}
	if own.OrgID != "" {
		// users.conversations needs a team_id then (docs.slack.dev/reference/methods/users.conversations).
		return warn("install the app in a single workspace, and set slack.bot_token to that installation's token",
			"the app is installed for the whole of organisation %s (%s): Slack lists none of its channels, so there "+
				"is no catch-up", own.TeamName, own.OrgID)
	}
	return ok("workspace %s (%s), bot %s (%s)", own.TeamName, own.TeamID, own.Name, own.UserID)
}

// slackFailed is the finding for a failed call of Slack's API. refused is the fix where
// Slack refused the call.
func (e *examination) slackFailed(err error, refused string) Finding {
	fix := refused
	var failed *slack.Error
	switch {
	case errors.As(err, &failed) && failed.Revoked():
		fix = "install the app again, set slack.bot_token to the token of the new installation, and restart the " +
			"programs"
	case failed != nil && failed.Kind != slack.Final:
		address := "Slack"
		if u, err := url.Parse(e.Config.Slack.APIURL); err == nil {
			address = u.Redacted() // a proxy's password may be escaped here in a way that redact does not know
		}
		fix = fmt.Sprintf("make sure that this machine can reach %s, and check https://status.slack.com", address)
	}
	return fail(fix, "%v", err)
}

// scopes compares the scopes of the token with those that the app needs.
func (e *examination) scopes(context.Context) Finding {
	if e.tokenInfo.Scopes == nil {
		return skip("Slack does not say which scopes the token has")
	}
	var missing []string
	report := warn
	extra := slices.DeleteFunc(slices.Clone(e.tokenInfo.Scopes),
		func(has string) bool { return has == manifest.AgentScope })
	for _, s := range manifest.Scopes(e.Config) {
		extra = slices.DeleteFunc(extra, func(has string) bool { return has == s.Name })
	}
	for _, s := range manifest.Missing(e.Config, e.tokenInfo.Scopes) {
		missing = append(missing, fmt.Sprintf("%s (%s)", s.Name, s.Reason))
		if !s.Extra {
			report = fail
		}
	}
	also := ""
	if len(extra) > 0 {
		also = "; not needed: " + strings.Join(extra, ", ")
	}
	if len(missing) == 0 {
		return ok("the token has every scope that it needs%s", also)
	}
	return report("add them under OAuth & Permissions and install the app again; or paste the output of starter "+
		"manifest under App Manifest",
		"missing: %s%s", strings.Join(missing, ", "), also)
}

// threadStatus asks Slack whether the app may show what it is doing. The place does not exist, so nothing
// changes anywhere; Slack looks at the token first.
func (e *examination) threadStatus(ctx context.Context) Finding {
	err := e.Slack.SetStatus(ctx, "C0000000000", "1.000000", "")
	var failed *slack.Error
	switch {
	case !errors.As(err, &failed), failed.Kind == slack.Final && !failed.Anywhere():
		return ok("the app may show in a thread what it is doing")
	case failed.Anywhere():
		return warn("give the app the scope chat:write, or assistant:write where Slack still asks for that, and "+
			"install it again; or set slack.status to false",
			"nobody sees that the bot has heard them until it answers: %v", err)
	}
	return skip("Slack does not say whether the app may show what it is doing: %v", err)
}

// home asks Slack whether the app has a Home tab, by publishing that of the bot, which nobody sees. Which
// events an app gets Slack tells to its own tokens of configuration alone.
func (e *examination) home(ctx context.Context) Finding {
	err := e.Slack.PublishHome(ctx, e.own.UserID, []slack.HomeSection{{Text: e.own.Name}})
	if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Code == "not_enabled" {
		return warn("enable the Home tab under App Home, and the event app_home_opened under Event Subscriptions; or "+
			"paste the output of starter manifest under App Manifest",
			"the app has no Home tab")
	}
	return ok("not refused. Slack does not say which events the app gets: compare them with those of starter manifest")
}

// clock compares this machine's clock with Slack's. The starter refuses a request whose
// timestamp is too far from its own time.
func (e *examination) clock(context.Context) Finding {
	if e.tokenInfo.Date.IsZero() {
		return skip("Slack does not send its time")
	}
	const fix = "synchronise this machine's clock with NTP"
	skew := e.Clock().Sub(e.tokenInfo.Date).Round(time.Second)
	switch {
	case skew.Abs() > slack.MaxSkew:
		return fail(fix, "%s off Slack's clock: the starter refuses Slack's requests", skew)
	case skew.Abs() > 2*time.Minute:
		return warn(fix, "%s off Slack's clock: from %s on the starter refuses Slack's requests", skew, slack.MaxSkew)
	}
	return ok("within a few seconds of Slack's")
}

// pages bounds how much of a long list of channels is read, so that the check stays quick.
const pages = 10

// channels counts the bot's channels. It also looks for channels that the configuration
// names and the bot is not in, and for those that the configuration names twice.
func (e *examination) channels(ctx context.Context) Finding {
	named, posts := maps.Clone(e.Config.Channels), e.Config.PostPlaces()
	posts = slices.DeleteFunc(posts, func(place string) bool { return place == config.PostMembers })
	var unused []string
	channels, direct, more := 0, 0, ""
	for page, cursor := 0, ""; ; page++ {
		if page == pages {
			named, posts, more = nil, nil, "more than "
			break
		}
		got, err := e.Slack.Conversations(ctx, cursor)
		if err != nil {
			return e.slackFailed(err, "see the check slack scopes")
		}
		for _, c := range got.Channels {
			if key := e.Config.ChannelKey(config.ChannelFacts{Name: c.Name}); key != "" &&
				e.Config.ChannelKey(config.ChannelFacts{ID: c.ID}) != "" {
				unused = append(unused, key)
			}
			delete(named, c.ID)
			delete(named, c.Name)
			posts = slices.DeleteFunc(posts, func(place string) bool {
				return !c.Archived && config.Places{place}.List(config.ChannelFacts{ID: c.ID, Name: c.Name})
			})
			switch {
			case c.Archived:
			case c.Direct:
				direct++
			default:
				channels++
			}
		}
		if cursor = got.Next; cursor == "" {
			break
		}
	}
	invite := "in a channel, /invite @" + e.own.Name
	if channels == 0 {
		return warn(invite, "the bot is in no channel")
	}
	var wrong, fix []string
	if len(unused) > 0 {
		wrong = append(wrong, "these channels have settings under their ids too, which win; the settings under their "+
			"names are not used: "+strings.Join(unused, ", "))
		fix = append(fix, "put all settings of a channel under its id")
	}
	if len(named) > 0 {
		wrong = append(wrong, fmt.Sprintf("the bot is in %s%s, but not in: %s", more, count(channels, "channel"),
			strings.Join(slices.Sorted(maps.Keys(named)), ", ")))
		fix = append(fix, invite+", or correct the name in the configuration")
	}
	if len(posts) > 0 {
		wrong = append(wrong, "nothing can be posted to these places of tools.post_to, which the bot is not in or which "+
			"are archived: "+strings.Join(posts, ", "))
		fix = append(fix, invite+", or correct post_to")
	}
	if len(wrong) > 0 {
		return warn(strings.Join(fix, "; "), "%s", strings.Join(wrong, "; "))
	}
	return ok("in %s%s and %s", more, count(channels, "channel"), count(direct, "direct message"))
}

// count is a number with its noun.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// rotating begins a token that ends (docs.slack.dev/authentication/tokens).
const rotating = "xoxe."

// socket opens a connection of Socket Mode for a moment.
func (e *examination) socket(ctx context.Context) Finding {
	s := slack.NewSocket(slack.SocketConfig{AppToken: string(e.Config.Slack.AppToken), APIURL: e.Config.Slack.APIURL})
	connections, err := s.Check(ctx)
	if refused := (*slack.Error)(nil); err != nil && !errors.As(err, &refused) {
		return fail("let the starter connect to wss://wss-primary.slack.com, through HTTPS_PROXY if there is one; "+
			"and see that Socket Mode is on", "%v", err)
	}
	if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Ended() {
		return fail(slack.NewAppToken+"; it is made under Basic Information, App-Level Tokens", "%v", err)
	}
	if err != nil {
		return e.slackFailed(err, "set slack.app_token to a token (xapp-…) with the scope connections:write, under "+
			"Basic Information, "+
			"App-Level Tokens; and enable Socket Mode under Socket Mode")
	}
	if connections >= slack.MaxConnections {
		return fail("stop the other programs that use slack.app_token, or make a new app-level token and revoke this "+
			"one",
			"%d connections are open, as many as an app may have: who else uses this app token? Each gets some of "+
				"the events, commands and clicks", connections)
	}
	if strings.HasPrefix(string(e.Config.Slack.AppToken), rotating) {
		return warn(slack.NewAppToken, "the app token rotates: it ends, and no program here renews it")
	}
	return ok("Slack accepts the app token and offers a connection; connections open with it: %d", connections)
}
