// Package slack is the only package that knows Slack's wire format. What Slack delivers, over
// HTTP or Socket Mode, passes Verify and one of ParseEnvelope, ParseInteraction and ParseCommand,
// and leaves as a typed value: an Event, an Action or a Command. What goes to Slack passes Client,
// whose errors say whether a failed call may still have had its effect.
//
// Reading is tolerant: an unknown block, a field of another type or a new kind of event never
// costs a message. Tokens and secrets appear in no error of this package.
package slack

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	slackapi "github.com/slack-go/slack"
)

// Config is what a Client needs.
type Config struct {
	// Token is the bot token (xoxb-…).
	Token string
	// APIURL is the base of the Web API; https://slack.com/api/ if empty.
	APIURL string
	// HTTPClient makes the calls; without one, or without a Timeout, a call takes at most
	// 10 seconds in all. It is copied, and redirects are not followed.
	HTTPClient *http.Client
	// TrustOrg makes people of other workspaces of the same organisation count as the workspace's
	// own.
	TrustOrg bool
	// Metrics measures the calls; nil: they are not measured.
	Metrics *Metrics
	// Gate keeps calls back while Slack does not take the token; nil: none.
	Gate Gate
	// Identity is the bot as an installation knows it. With a UserID in it, nobody asks Slack.
	Identity Identity
	// TeamID is the workspace to call for with the token of a whole organisation; empty for a
	// workspace's own token. Methods that take a team_id get it.
	TeamID string
}

// Client calls Slack's Web API. A method makes one HTTP request unless its comment says otherwise,
// and never retries. All errors are *Error. A Client is safe for concurrent use.
type Client struct {
	// session holds the newest token. options make the slack-go client of the next one.
	session  atomic.Pointer[session]
	options  []slackapi.Option
	teamID   string
	trustOrg bool
	// files downloads files, without following redirects. base is the address of the Web API.
	files   *http.Client
	base    *url.URL
	metrics *Metrics
	gate    Gate
	// scopes are those of the newest answer that named them.
	scopes *atomic.Pointer[[]string]
	// identity holds the known identity. Receiving it is the lock.
	identity chan Identity
}

// session makes calls with one token, since slack-go's client never changes its own.
type session struct {
	api   *slackapi.Client
	token string
	// previous is the token before it. Errors of calls under way may name it.
	previous string
}

// New makes a client. It makes no call.
func New(c Config) *Client {
	t := newTransport(c.HTTPClient)
	t.scopes = new(atomic.Pointer[[]string])
	client := &Client{
		options:  options(c, t),
		teamID:   c.TeamID,
		trustOrg: c.TrustOrg,
		files:    newTransport(c.HTTPClient).client,
		metrics:  c.Metrics,
		gate:     c.Gate,
		scopes:   t.scopes,
		identity: make(chan Identity, 1),
	}
	client.files.Timeout = max(client.files.Timeout, downloadTimeout)
	client.base, _ = url.Parse(cmp.Or(c.APIURL, slackapi.APIURL)) // nil: calls fail, too
	client.identity <- c.Identity
	client.session.Store(client.newSession(c.Token, ""))
	return client
}

func (c *Client) newSession(token, previous string) *session {
	return &session{api: slackapi.New(token, c.options...), token: token, previous: previous}
}

// Renew makes later calls use another token of the same bot. Calls under way end with the one that
// they began with. It makes no call.
func (c *Client) Renew(token string) {
	for {
		old := c.session.Load()
		if old.token == token || c.session.CompareAndSwap(old, c.newSession(token, old.token)) {
			return
		}
	}
}

// api makes calls with the newest token.
func (c *Client) api() *slackapi.Client { return c.session.Load().api }

func options(c Config, t transport) []slackapi.Option {
	base := cmp.Or(c.APIURL, slackapi.APIURL)
	if !strings.HasSuffix(base, "/") {
		base += "/"
	}
	return []slackapi.Option{
		slackapi.OptionAPIURL(base),
		slackapi.OptionHTTPClient(gatedTransport{measuredTransport{t, c.Metrics}, c.Gate}),
		slackapi.OptionLog(log.New(io.Discard, "", 0)),
	}
}

// fail returns the *Error of a call, without the token; nil for nil.
func (c *Client) fail(method string, err error) error {
	s := c.session.Load()
	return Failure(method, err, s.token, s.previous)
}

// Failure returns the *Error of a call that slack-go made by way of a Doer, without the secrets; nil for nil.
func Failure(method string, err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	e := *classify(method, err)
	for _, secret := range secrets {
		if secret != "" && e.cause != nil && strings.Contains(e.cause.Error(), secret) {
			e.cause = errors.New(strings.ReplaceAll(e.cause.Error(), secret, "[token]"))
		}
	}
	return &e
}

func argument(method, what string) error {
	return &Error{Method: method, Code: codeArgument, Kind: Final, cause: errors.New(what)}
}

// Identity returns the bot that the token belongs to (docs.slack.dev/reference/methods/auth.test).
// The first success, or Config.Identity, is kept for the client's lifetime.
func (c *Client) Identity(ctx context.Context) (Identity, error) {
	const method = "auth.test"
	var id Identity
	select {
	case id = <-c.identity:
	case <-ctx.Done():
		return Identity{}, c.fail(method, transportError(method, ctx.Err(), false))
	}
	defer func() { c.identity <- id }()
	if id.UserID != "" {
		return id, nil
	}
	ctx, answer := withAnswer(ctx)
	if _, err := c.api().AuthTestContext(ctx); err != nil {
		return Identity{}, c.fail(method, err)
	}
	team, user := answer.text("team_id"), answer.text("user_id")
	if !validID(team) || !validID(user) {
		return Identity{}, unreadable(method, errors.New("no team_id and user_id"))
	}
	id = Identity{
		TeamID: team, UserID: user, BotID: answer.text("bot_id"), Name: answer.text("user"),
		TeamName: answer.text("team"), URL: answer.text("url"), Enterprise: answer.text("enterprise_id"),
	}
	if answer.flag("is_enterprise_install") {
		id.OrgID = id.Enterprise
	}
	id.TeamID = cmp.Or(c.teamID, id.TeamID) // the token of an organisation says the organisation
	return id, nil
}

// LoadAppID asks Slack for the id of the bot's app, which auth.test does not return
// (docs.slack.dev/reference/methods/bots.info), unless it is known. After that Identity includes it.
func (c *Client) LoadAppID(ctx context.Context) error {
	const method = "bots.info"
	own, err := c.Identity(ctx)
	if err != nil || own.AppID != "" {
		return err
	}
	_, info, err := c.bot(ctx, own.BotID)
	if err != nil {
		return err
	}
	app, err := info.id("app_id")
	if err != nil || app == "" {
		return unreadable(method, errors.New("no app_id"))
	}
	select {
	case id := <-c.identity:
		id.AppID = app
		c.identity <- id
		return nil
	case <-ctx.Done():
		return c.fail(method, transportError(method, ctx.Err(), false))
	}
}

// bot looks up a bot id. It returns Slack's whole bot object, too.
func (c *Client) bot(ctx context.Context, id string) (User, object, error) {
	const method = "bots.info"
	if !validID(id) {
		return User{}, nil, argument(method, "malformed bot id")
	}
	ctx, answer := withAnswer(ctx)
	if _, err := c.api().GetBotInfoContext(ctx, slackapi.GetBotInfoParameters{Bot: id, TeamID: c.teamID}); err != nil {
		return User{}, nil, c.fail(method, err)
	}
	b, _ := answer.object("bot")
	return User{ID: id, Name: cmp.Or(singleLine(b.text("name")), id), IsBot: true,
		App: validOrEmpty(b.text("app_id"))}, b, nil
}
