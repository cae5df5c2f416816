package workspace

import (
	"cmp"
	"time"
)

// authTest says whose token it is (docs.slack.dev/reference/methods/auth.test).
func (c *call) authTest() (reply, error) {
	answer := reply{
		"url": "http://" + c.host + "/", "team": c.cfg.Name, "team_id": c.cfg.Team,
		"user": c.bot.Name, "user_id": c.bot.UserID, "bot_id": c.bot.BotID, "is_enterprise_install": false,
	}
	if c.org != nil {
		answer["enterprise_id"] = c.org.ID
	}
	if _, wide := c.given(c.token); wide {
		answer["team"], answer["team_id"], answer["is_enterprise_install"] = c.org.Name, c.org.ID, true
	}
	return answer, nil
}

func (c *call) usersInfo() (reply, error) {
	u := c.user(c.Get("user"))
	if u == nil {
		return nil, apiError("user_not_found")
	}
	return reply{"user": c.profile(u)}, nil
}

func (c *call) usersList() (reply, error) {
	found := make([]reply, 0, len(c.users))
	for _, u := range c.users {
		found = append(found, c.profile(u))
	}
	return list(c, "members", found)
}

// profile returns the user object (docs.slack.dev/reference/objects/user-object). People of
// other workspaces have is_stranger.
func (w *Workspace) profile(u *User) reply {
	profile := reply{
		"real_name": u.RealName, "real_name_normalized": u.RealName,
		"display_name": u.Display, "display_name_normalized": u.Display, "team": u.Team,
	}
	zone, err := time.LoadLocation(cmp.Or(u.Zone, "Etc/UTC"))
	if err != nil {
		zone = time.UTC
	}
	label, offset := w.cfg.Clock().In(zone).Zone()
	r := reply{
		"id": u.ID, "team_id": u.Team, "name": u.Name, "real_name": u.RealName, "deleted": u.Deleted,
		"tz": zone.String(), "tz_label": label, "tz_offset": offset,
		"is_bot": u.Bot, "is_app_user": false, "is_restricted": u.Guest, "is_ultra_restricted": false, "updated": 0,
		"profile": profile,
	}
	if u.Team != w.cfg.Team {
		r["is_stranger"] = true
	}
	if w.org != nil {
		teams := []string{}
		for _, of := range w.org.members {
			teams = append(teams, of.cfg.Team)
		}
		r["enterprise_user"] = reply{"id": u.ID, "enterprise_id": w.org.ID, "teams": teams}
	}
	if u.Bot {
		profile["bot_id"], profile["api_app_id"] = u.BotID, w.bot.AppID
	}
	return r
}

// botsInfo takes a bot_id, not a user id (docs.slack.dev/reference/methods/bots.info).
func (c *call) botsInfo() (reply, error) {
	for _, u := range c.users {
		if u.BotID != "" && u.BotID == c.Get("bot") {
			app := c.bot.AppID
			if u.BotID != c.bot.BotID {
				app = otherApp
			}
			return reply{"bot": reply{"id": u.BotID, "deleted": false, "name": u.Name, "app_id": app,
				"user_id": u.ID, "updated": 0}}, nil
		}
	}
	for _, ch := range c.channels {
		for _, m := range ch.messages {
			if m.BotID != "" && m.BotID == c.Get("bot") {
				name := m.Username
				if m.BotProfile != nil {
					name = m.BotProfile.Name
				}
				return reply{"bot": reply{"id": m.BotID, "deleted": false, "name": name, "app_id": otherApp,
					"updated": 0}}, nil
			}
		}
	}
	return nil, apiError("bot_not_found")
}

// The reactions methods identify a message by channel and timestamp
// (docs.slack.dev/reference/methods/reactions.add).

func (c *call) reactionsAdd() (reply, error)    { return c.reaction(true) }
func (c *call) reactionsRemove() (reply, error) { return c.reaction(false) }

func (c *call) reaction(on bool) (reply, error) {
	if c.Get("name") == "" {
		return nil, apiError("invalid_name")
	}
	ch, err := c.readableChannel()
	if err != nil {
		return nil, err
	}
	return reply{}, c.setReaction(ch.ID, c.Get("timestamp"), c.bot.UserID, c.Get("name"), on)
}

func (c *call) reactionsGet() (reply, error) {
	ch, err := c.readableChannel()
	if err != nil {
		return nil, err
	}
	m := ch.find(c.Get("timestamp"))
	if m == nil {
		return nil, apiError("message_not_found")
	}
	return reply{"type": "message", "channel": ch.ID, "message": c.wireMessage(ch, m)}, nil
}
