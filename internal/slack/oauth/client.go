package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"myao/internal/slack"
)

const (
	accessMethod = "oauth.v2.access"
	revokeMethod = "auth.revoke"
)

// Client exchanges codes and refresh tokens for bot tokens. A method makes one call, and never retries. All errors
// are or wrap a *slack.Error, and hold no secret.
type Client struct {
	// ID and Secret are the app's client id and client secret.
	ID, Secret string
	// APIURL is the base of the Web API; https://slack.com/api/ if empty.
	APIURL string
	// HTTPClient makes the calls, as in slack.Config.
	HTTPClient *http.Client
	// Metrics measures the calls; nil: they are not measured.
	Metrics *slack.Metrics
	Clock   func() time.Time
}

// Grant is what Slack gives for an installation (docs.slack.dev/reference/methods/oauth.v2.access).
type Grant struct {
	// Team is the workspace; empty if Org is set.
	Team, TeamName string
	// Enterprise is the organisation of the workspace, if it belongs to one, or the one that Org means.
	Enterprise, EnterpriseName string
	// Org is set if the app was installed in an organisation as a whole.
	Org bool
	// App is the id of the app, BotUser the user id of its bot.
	App, BotUser string
	Token        string
	// RefreshToken is empty, and Expires zero, for a token that does not expire.
	RefreshToken string
	// Expires is when Slack stops taking the token, by our clock.
	Expires time.Time
	// Scopes are what the token may do, sorted.
	Scopes []string
	// InstalledBy is the user who installed the app; empty after Refresh.
	InstalledBy string
}

// ID identifies the installation: the organisation if it is one of a whole organisation, else the workspace.
func (g Grant) ID() string {
	if g.Org {
		return g.Enterprise
	}
	return g.Team
}

// Exchange exchanges a code, which serves once within ten minutes, for a grant. redirect is the address at which
// the code came in.
func (c Client) Exchange(ctx context.Context, code, redirect string) (Grant, error) {
	return c.grant(func(doer doer, option slackapi.OAuthOption) (*slackapi.OAuthV2Response, error) {
		return slackapi.GetOAuthV2ResponseContext(ctx, doer, c.ID, c.Secret, code, redirect, option)
	}, code)
}

// Refresh exchanges a refresh token, which serves once, for the next pair
// (docs.slack.dev/authentication/using-token-rotation).
func (c Client) Refresh(ctx context.Context, refreshToken string) (Grant, error) {
	return c.grant(func(doer doer, option slackapi.OAuthOption) (*slackapi.OAuthV2Response, error) {
		return slackapi.RefreshOAuthV2TokenContext(ctx, doer, c.ID, c.Secret, refreshToken, option)
	}, refreshToken)
}

// Revoke gives a token back (docs.slack.dev/reference/methods/auth.revoke).
func (c Client) Revoke(ctx context.Context, token string) error {
	api := slackapi.New(token, slackapi.OptionAPIURL(c.base()),
		slackapi.OptionHTTPClient(slack.Doer(c.HTTPClient, c.Metrics)))
	_, err := api.SendAuthRevokeContext(ctx, token)
	return slack.Failure(revokeMethod, err, token)
}

// Dead reports whether the error of Refresh means that the refresh token is worth nothing any more: somebody has
// to install the app again. After any other error a later try may succeed.
func Dead(err error) bool {
	refused, ok := errors.AsType[*slack.Error](err)
	return ok && slices.Contains([]string{"invalid_refresh_token", "token_expired", "token_revoked", "account_inactive"},
		refused.Code)
}

type doer = interface {
	Do(*http.Request) (*http.Response, error)
}

// idPattern matches the ids of a grant, which become keys, addresses and lines of a log.
var idPattern = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,63}$`)

func (c Client) grant(
	call func(doer, slackapi.OAuthOption) (*slackapi.OAuthV2Response, error), secret string,
) (Grant, error) {
	began := c.Clock()
	answer, err := call(slack.Doer(c.HTTPClient, c.Metrics), slackapi.OAuthOptionAPIURL(c.base()))
	if err != nil {
		return Grant{}, c.failure(err, secret)
	}
	g := Grant{
		Team: answer.Team.ID, TeamName: answer.Team.Name,
		Enterprise: answer.Enterprise.ID, EnterpriseName: answer.Enterprise.Name, Org: answer.IsEnterpriseInstall,
		App: answer.AppID, BotUser: answer.BotUserID, Token: answer.AccessToken, RefreshToken: answer.RefreshToken,
		InstalledBy: answer.AuthedUser.ID,
	}
	if g.Org {
		g.Team, g.TeamName = "", ""
	}
	for scope := range strings.SplitSeq(answer.Scope, ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			g.Scopes = append(g.Scopes, scope)
		}
	}
	slices.Sort(g.Scopes)
	if answer.ExpiresIn > 0 {
		g.Expires = began.Add(time.Duration(answer.ExpiresIn) * time.Second)
	}
	if err := g.check(); err != nil {
		return Grant{}, err
	}
	return g, nil
}

// check returns an error unless a grant has all that an installation needs.
func (g Grant) check() error {
	lacks := ""
	switch {
	case g.Token == "":
		lacks = "no token of a bot"
	case !g.Expires.IsZero() && g.RefreshToken == "":
		lacks = "no refresh token"
	case !idPattern.MatchString(g.ID()):
		lacks = "no workspace and no organisation"
	case !idPattern.MatchString(g.App), !idPattern.MatchString(g.BotUser):
		lacks = "no app and bot user"
	case g.Enterprise != "" && !idPattern.MatchString(g.Enterprise),
		g.InstalledBy != "" && !idPattern.MatchString(g.InstalledBy):
		lacks = "a malformed id"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", &slack.Error{Method: accessMethod, Code: "unreadable_answer", Status: http.StatusOK,
		Kind: slack.Ambiguous}, lacks)
}

// failure is the error of a call. Slack's codes for a revoked token are passing elsewhere, because somebody may
// install the app again. Here they are final.
func (c Client) failure(err error, secret string) error {
	failed := slack.Failure(accessMethod, err, secret, c.Secret)
	if e, ok := errors.AsType[*slack.Error](failed); ok && Dead(e) {
		e.Kind, e.RetryAfter = slack.Final, 0
	}
	return failed
}

func (c Client) base() string {
	return strings.TrimSuffix(cmp.Or(c.APIURL, slackapi.APIURL), "/") + "/"
}
