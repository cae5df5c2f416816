package slack

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

// User is the author of messages: a person or an app.
type User struct {
	ID string
	// Name is the display name, else the real name, else the handle, else the id.
	Name  string
	IsBot bool
	// App is the id of the app that a bot id belongs to; empty for a user id, and where there is none.
	App string
	// Guest is set for a guest of a workspace, who sees only the channels that they are in.
	Guest bool
	// Stranger is set for a person of another company, or of another workspace of the same
	// organisation (Config.TrustOrg).
	Stranger bool
	// Deleted is set for a deactivated account. Such a user is neither Guest nor Stranger, since
	// they read nothing.
	Deleted bool
	// Zone is the name of their time zone (IANA); "" if Slack knows none.
	Zone string
}

// User looks up a user id or a bot id (B…)
// (docs.slack.dev/reference/methods/users.info, docs.slack.dev/reference/methods/bots.info). The
// first call may ask for the bot's identity, too.
func (c *Client) User(ctx context.Context, id string) (User, error) {
	if strings.HasPrefix(id, "B") {
		user, _, err := c.bot(ctx, id)
		return user, err
	}
	const method = "users.info"
	if !validID(id) {
		return User{}, argument(method, "malformed user id")
	}
	ctx, answer := withAnswer(ctx)
	if _, err := c.api().GetUserInfoContext(ctx, id); err != nil {
		return User{}, c.fail(method, err)
	}
	u, _ := answer.object("user")
	var own Identity
	if u.text("team_id") != "" {
		var err error
		if own, err = c.Identity(ctx); err != nil {
			return User{}, err
		}
	}
	return c.readUser(u, id, own), nil
}

// UserPage is a page of users.
type UserPage struct {
	Users []User
	// Next is the cursor of the following page; empty on the last.
	Next string
}

// Users reads a page of the workspace's users, deactivated ones included
// (docs.slack.dev/reference/methods/users.list). The cursor of the first page is "". An entry
// without an id is left out.
func (c *Client) Users(ctx context.Context, cursor string) (UserPage, error) {
	const method = "users.list"
	own, err := c.Identity(ctx)
	if err != nil {
		return UserPage{}, err
	}
	ctx, answer := withAnswer(ctx)
	got, err := c.api().GetUsersPaginated(slackapi.GetUsersOptionCursor(cursor),
		slackapi.GetUsersOptionLimit(listPageSize), slackapi.GetUsersOptionTeamID(c.teamID),
		slackapi.GetUsersOptionIncludeLocale(false)).Next(ctx)
	if err != nil {
		return UserPage{}, c.fail(method, err)
	}
	entries, err := answer.items(method, "members", got.Cursor)
	if err != nil {
		return UserPage{}, err
	}
	page := UserPage{Next: got.Cursor}
	for _, raw := range entries {
		u, _ := parseObject(raw)
		if id, err := u.id("id"); err == nil && id != "" {
			page.Users = append(page.Users, c.readUser(u, id, own))
		}
	}
	return page, nil
}

// Members reads a page of the ids of a channel's members
// (docs.slack.dev/reference/methods/conversations.members). The cursor of the first page is "". A
// malformed id makes the whole page an error, because that member would seem to have left.
func (c *Client) Members(ctx context.Context, channel, cursor string) (ids []string, next string, err error) {
	const method = "conversations.members"
	if !validID(channel) {
		return nil, "", argument(method, "malformed channel id")
	}
	ctx, answer := withAnswer(ctx)
	_, next, err = c.api().GetUsersInConversationContext(ctx,
		&slackapi.GetUsersInConversationParameters{ChannelID: channel, Cursor: cursor, Limit: listPageSize})
	if err != nil {
		return nil, "", c.fail(method, err)
	}
	if _, err := answer.items(method, "members", next); err != nil {
		return nil, "", err
	}
	if !answer.decode("members", &ids) || slices.ContainsFunc(ids, func(id string) bool { return !validID(id) }) {
		return nil, "", unreadable(method, errors.New("a member is no user id"))
	}
	return ids, next, nil
}

// readUser reads a user object (docs.slack.dev/reference/objects/user-object).
func (c *Client) readUser(u object, id string, own Identity) User {
	profile, _ := u.object("profile")
	user := User{
		ID: id,
		Name: cmp.Or(singleLine(profile.text("display_name")), singleLine(profile.text("real_name")),
			singleLine(u.text("real_name")), singleLine(u.text("name")), id),
		IsBot:   u.flag("is_bot") || isBuiltin(id),
		Deleted: u.flag("deleted"), Zone: singleLine(u.text("tz")),
	}
	if !user.IsBot && !user.Deleted {
		user.Guest = u.flag("is_restricted") || u.flag("is_ultra_restricted")
		user.Stranger = u.flag("is_stranger") || c.elsewhere(u, own)
	}
	return user
}

// elsewhere reports whether a user belongs to other workspaces only. Slack sets is_stranger only for
// people with whom no channel is shared. In an Enterprise organisation a person may belong to several
// workspaces, and team_id is one of them.
func (c *Client) elsewhere(u object, own Identity) bool {
	team := u.text("team_id")
	if team == "" || team == own.TeamID {
		return false
	}
	enterprise, _ := u.object("enterprise_user")
	var teams []string
	if enterprise.decode("teams", &teams) && slices.Contains(teams, own.TeamID) {
		return false
	}
	return !c.trustOrg || own.Enterprise == "" || enterprise.text("enterprise_id") != own.Enterprise
}

// MemberJoined and MemberLeft report that a user, who may be the bot, joined or left a channel
// (docs.slack.dev/reference/events/member_joined_channel).
type (
	MemberJoined struct{ Membership }
	MemberLeft   struct{ Membership }
)

// Membership is a user in a channel.
type Membership struct {
	User, Channel string
	// At is when the user joined or left, UTC; zero if Slack does not say.
	At time.Time
}

// GuestChanged reports that a user became a guest, or is one no longer
// (docs.slack.dev/reference/events/user_guest_status_changed).
type GuestChanged struct{ User string }

func decodeMembership(o object, left bool, at time.Time) (Event, error) {
	m := Membership{User: validOrEmpty(o.text("user")), Channel: validOrEmpty(o.text("channel")), At: at}
	if ts := firstTS(o, "event_ts"); ts != "" {
		m.At = chat.Time(ts)
	}
	if m.User == "" || m.Channel == "" {
		return nil, unusable("membership without user or channel")
	}
	if left {
		return MemberLeft{m}, nil
	}
	return MemberJoined{m}, nil
}

func decodeGuestChanged(o object) (Event, error) {
	u, _ := o.object("user")
	id, err := u.id("id")
	if err != nil || id == "" {
		return nil, unusable("change of a guest without a user")
	}
	return GuestChanged{User: id}, nil
}
