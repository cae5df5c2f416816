package slack

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"

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
}

// Client calls Slack's Web API, one HTTP request a method call unless said otherwise,
// and never retries: that is its caller's business. All errors are *Error. It is safe
// for concurrent use.
type Client struct {
	api   *slackapi.Client
	token string
	// identity holds what Identity has learnt; taking it is the lock.
	identity chan Identity
}

// New makes a client. It makes no call.
func New(c Config) *Client {
	client := &Client{
		api:      slackapi.New(c.Token, options(c)...),
		token:    c.Token,
		identity: make(chan Identity, 1),
	}
	client.identity <- Identity{}
	return client
}

func options(c Config) []slackapi.Option {
	base := cmp.Or(c.APIURL, slackapi.APIURL)
	if !strings.HasSuffix(base, "/") {
		base += "/"
	}
	return []slackapi.Option{
		slackapi.OptionAPIURL(base),
		slackapi.OptionHTTPClient(newTransport(c.HTTPClient)),
		slackapi.OptionLog(log.New(io.Discard, "", 0)),
	}
}

// fail is the *Error of a call, without the token; nil for nil.
func (c *Client) fail(method string, err error) error {
	if err == nil {
		return nil
	}
	e := *Classify(method, err)
	if c.token != "" && e.cause != nil && strings.Contains(e.cause.Error(), c.token) {
		e.cause = errors.New(strings.ReplaceAll(e.cause.Error(), c.token, "[token]"))
	}
	return &e
}

func argument(method, what string) error {
	return &Error{Method: method, Code: codeArgument, Kind: Final, cause: errors.New(what)}
}

// Identity is who the token belongs to (docs.slack.dev/reference/methods/auth.test). The
// first success is kept for the client's life.
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
	auth, err := c.api.AuthTestContext(ctx)
	if err != nil {
		return Identity{}, c.fail(method, err)
	}
	if !validID(auth.TeamID) || !validID(auth.UserID) {
		return Identity{}, unreadable(method, errors.New("no team_id and user_id"))
	}
	id = Identity{TeamID: auth.TeamID, UserID: auth.UserID, BotID: auth.BotID, Name: auth.User, TeamName: auth.Team, URL: auth.URL}
	return id, nil
}

// User is somebody who writes: a person, or an app.
type User struct {
	ID string
	// Name is the display name, else the real name, else the handle, else the id.
	Name  string
	IsBot bool
}

// User looks up a user id, or a bot id (B…), which bots.info knows
// (docs.slack.dev/reference/methods/users.info, …/bots.info).
func (c *Client) User(ctx context.Context, id string) (User, error) {
	if strings.HasPrefix(id, "B") {
		return c.bot(ctx, id)
	}
	const method = "users.info"
	if !validID(id) {
		return User{}, argument(method, "malformed user id")
	}
	ctx, answer := withAnswer(ctx)
	if _, err := c.api.GetUserInfoContext(ctx, id); err != nil {
		return User{}, c.fail(method, err)
	}
	u, _ := answer.object("user")
	profile, _ := u.object("profile")
	return User{
		ID: id,
		Name: cmp.Or(label(profile.text("display_name")), label(profile.text("real_name")),
			label(u.text("real_name")), label(u.text("name")), id),
		IsBot: u.flag("is_bot") || id == slackbot,
	}, nil
}

func (c *Client) bot(ctx context.Context, id string) (User, error) {
	const method = "bots.info"
	if !validID(id) {
		return User{}, argument(method, "malformed bot id")
	}
	ctx, answer := withAnswer(ctx)
	if _, err := c.api.GetBotInfoContext(ctx, slackapi.GetBotInfoParameters{Bot: id}); err != nil {
		return User{}, c.fail(method, err)
	}
	b, _ := answer.object("bot")
	return User{ID: id, Name: cmp.Or(label(b.text("name")), id), IsBot: true}, nil
}
