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
	"myao/internal/manifest"
	"myao/internal/slack"
)

// token asks Slack whose the token is.
func (e *examination) token(ctx context.Context) Finding {
	own, err := e.Slack.Identity(ctx)
	if err != nil {
		return e.unslacked(err, "set slack.bot_token to the Bot User OAuth Token (xoxb-…) under OAuth & Permissions; a new installation has a new one")
	}
	e.own = own
	if e.grant, err = e.Slack.TokenInfo(ctx); err != nil {
		return e.unslacked(err, "try again")
	}
	if own.OrgID != "" {
		// users.conversations wants a team_id then (docs.slack.dev/reference/methods/users.conversations).
		return warn("install the app in the one workspace that it is for, and set slack.bot_token to that installation's",
			"the app is installed for the whole of organisation %s (%s): Slack lists none of its channels, so there is no catch-up", own.TeamName, own.OrgID)
	}
	return ok("workspace %s (%s), bot %s (%s)", own.TeamName, own.TeamID, own.Name, own.UserID)
}

// unslacked is a call of Slack's that failed; refused is what helps where Slack has said no.
func (e *examination) unslacked(err error, refused string) Finding {
	fix := refused
	var failed *slack.Error
	if errors.As(err, &failed) && failed.Kind != slack.Final {
		address := "Slack"
		if u, err := url.Parse(e.Config.Slack.APIURL); err == nil {
			address = u.Redacted() // a proxy's password is written otherwise than it reads, and would not be found to be hidden
		}
		fix = fmt.Sprintf("let this machine reach %s, and look at https://status.slack.com", address)
	}
	return fail(fix, "%v", err)
}

// scopes compares what the token may do with what it needs.
func (e *examination) scopes(context.Context) Finding {
	if e.grant.Scopes == nil {
		return skip("Slack does not tell which scopes the token has")
	}
	var missing []string
	tell := warn
	extra := slices.Clone(e.grant.Scopes)
	for _, s := range manifest.Scopes(e.Config) {
		extra = slices.DeleteFunc(extra, func(has string) bool { return has == s.Name })
		if !slices.Contains(e.grant.Scopes, s.Name) {
			missing = append(missing, fmt.Sprintf("%s (%s)", s.Name, s.Reason))
			if !s.Extra {
				tell = fail
			}
		}
	}
	also := ""
	if len(extra) > 0 {
		also = "; more than is needed: " + strings.Join(extra, ", ")
	}
	if len(missing) == 0 {
		return ok("all that are needed%s", also)
	}
	return tell("add them under OAuth & Permissions and install the app again, or paste what starter manifest prints under App Manifest",
		"missing: %s%s", strings.Join(missing, ", "), also)
}

// clock compares this machine's with Slack's: a request of Slack's is refused whose time
// lies too far from ours.
func (e *examination) clock(context.Context) Finding {
	if e.grant.Date.IsZero() {
		return skip("Slack does not tell the time")
	}
	const fix = "set this machine's clock by NTP"
	skew := e.Clock().Sub(e.grant.Date).Round(time.Second)
	switch {
	case skew.Abs() > slack.MaxSkew:
		return fail(fix, "%s off Slack's: its requests are refused", skew)
	case skew.Abs() > 2*time.Minute:
		return warn(fix, "%s off Slack's: from %s on its requests are refused", skew, slack.MaxSkew)
	}
	return ok("as Slack's, to within a few seconds")
}

// pages bounds how much of a long list of channels is read: a check is not to take long.
const pages = 10

// channels counts what the bot is in, and looks for those that the configuration names,
// and for those that it names twice.
func (e *examination) channels(ctx context.Context) Finding {
	named := maps.Clone(e.Config.Channels)
	var unused []string
	channels, direct, more := 0, 0, ""
	for page, cursor := 0, ""; ; page++ {
		if page == pages {
			named, more = nil, "more than "
			break
		}
		got, err := e.Slack.Conversations(ctx, cursor)
		if err != nil {
			return e.unslacked(err, "see slack scopes")
		}
		for _, c := range got.Channels {
			if key := e.Config.ChannelKey(config.ChannelFacts{Name: c.Name}); key != "" && e.Config.ChannelKey(config.ChannelFacts{ID: c.ID}) != "" {
				unused = append(unused, key)
			}
			delete(named, c.ID)
			delete(named, c.Name)
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
		wrong = append(wrong, "the configuration has these by their ids, too, which win; what it says under the names is not used: "+strings.Join(unused, ", "))
		fix = append(fix, "put all that is to hold in a channel under its id")
	}
	if len(named) > 0 {
		wrong = append(wrong, fmt.Sprintf("the bot is in %s%s, but not in: %s", more, count(channels, "channel"), strings.Join(slices.Sorted(maps.Keys(named)), ", ")))
		fix = append(fix, invite+", or fix the name in the configuration")
	}
	if len(wrong) > 0 {
		return warn(strings.Join(fix, "; "), "%s", strings.Join(wrong, "; "))
	}
	return ok("in %s%s and %s", more, count(channels, "channel"), count(direct, "direct message"))
}

// count is a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// socket asks Slack for an address to connect to.
func (e *examination) socket(ctx context.Context) Finding {
	s := slack.NewSocket(slack.SocketConfig{AppToken: string(e.Config.Slack.AppToken), APIURL: e.Config.Slack.APIURL})
	if err := s.Check(ctx); err != nil {
		return e.unslacked(err, "set slack.app_token to a token (xapp-…) with the scope connections:write, under Basic Information, "+
			"App-Level Tokens; and switch Socket Mode on under Socket Mode")
	}
	return ok("Slack gives the app token a connection")
}
