package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/operate/timeline"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// conversationArg names a conversation on the command line.
type conversationArg struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
	Thread  string `arg:"" optional:"" placeholder:"TS" help:"The ts of the thread's parent message. Without it, the channel's top level."`
	teamFlag
}

// Validate implements kong's Validate.
func (t conversationArg) Validate() error { return checkThread(t.Thread) }

// placeArg is conversationArg for a command that may also concern everything.
type placeArg struct {
	Channel string `arg:"" optional:"" help:"The channel: its id, or its name with or without #."`
	Thread  string `arg:"" optional:"" placeholder:"TS" help:"The ts of the thread's parent message. Without it, the channel's top level."`
	teamFlag
}

// check returns an error unless either a channel or everything is meant. flag means everything.
func (a placeArg) check(everything bool, flag string) error {
	switch {
	case a.Channel == "" && !everything:
		return fmt.Errorf("want a channel or %s", flag)
	case a.Channel != "" && everything:
		return fmt.Errorf("%s cannot be combined with a channel", flag)
	}
	return checkThread(a.Thread)
}

// memoryArg names the scope of a memory.
type memoryArg struct {
	Channel string `arg:"" optional:"" help:"The channel: its id, or its name with or without #. Without it, the workspace."`
	Thread  string `arg:"" optional:"" placeholder:"TS" help:"The ts of the thread's parent message. Without it, the channel."`
	teamFlag
}

// personArg names a person.
type personArg struct {
	Person string `arg:"" help:"The person: the id (U…), or the display name with or without @."`
	teamFlag
}

// scope opens the database and resolves what a command line names: the workspace, where channel is empty; a channel
// by its id or name (#general or general); or a thread of it by the ts of its parent message. It returns an error
// unless the database knows both.
func (p *program) scope(ctx context.Context, channel, thread string) (*store.Store, chat.Scope, error) {
	db, err := p.database(ctx)
	if err != nil {
		return nil, chat.Scope{}, err
	}
	team, err := p.choose(ctx, db, channel)
	if err != nil || channel == "" {
		return db, chat.Scope{Team: team}, err
	}
	scope, err := scopeIn(ctx, db, team, channel, thread)
	return db, scope, err
}

// conversation is scope for a conversation, with its name.
func (p *program) conversation(
	ctx context.Context, named conversationArg,
) (db *store.Store, where chat.Conversation, name string, err error) {
	db, scope, err := p.scope(ctx, named.Channel, named.Thread)
	if err != nil {
		return nil, chat.Conversation{}, "", err
	}
	known, err := db.Channels(ctx, scope.Team, []string{scope.Channel})
	where = chat.Conversation(scope)
	return db, where, conversationName(where, known[scope.Channel].Name), err
}

// teamFlag is the flag of every command that is about one workspace.
type teamFlag struct {
	Team teamID `placeholder:"ID" help:"The id of the workspace, T…. Needed only where there are several and no channel tells which."`
}

func (t teamFlag) team() string { return string(t.Team) }

// workspaceID matches the ids that Slack gives to workspaces.
var workspaceID = regexp.MustCompile(`^T[A-Z0-9]+$`)

// teamID is the id of a workspace.
type teamID string

// Validate implements kong's Validate.
func (t teamID) Validate() error {
	if t != "" && !workspaceID.MatchString(string(t)) {
		return fmt.Errorf("%q: want the id of a workspace, T…", string(t))
	}
	return nil
}

// choose returns the id of the workspace that --team names, or else of the only one that has the channel, which may be
// empty. It resolves the configuration for it. Slack is asked only if the database does not know exactly one, or if the
// organisation matters and no installation names it.
func (p *program) choose(ctx context.Context, db *store.Store, channel string) (string, error) {
	team := p.team
	if team == "" {
		teams, err := db.Teams(ctx)
		if err == nil && len(teams) > 1 && channel != "" && p.Config.Slack.Installable() {
			teams, err = db.TeamsWith(ctx, channel, normalName(channel))
		}
		switch {
		case err != nil:
			return "", err
		case len(teams) == 1:
			team = teams[0]
		case p.Config.Slack.Installable() && len(teams) > 1:
			return "", fmt.Errorf("several workspaces fit, such as %s: choose one by --team", strings.Join(teams, " and "))
		case p.Config.Slack.BotToken == "":
			return "", errors.New("no workspace fits that the database knows: choose one by --team")
		}
	}
	organisation := ""
	if team != "" && p.Config.Slack.Installable() && p.Config.HasOrganisations() {
		i, err := db.InstallationOf(ctx, team)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		organisation = i.Enterprise()
	}
	if p.Config.Slack.BotToken != "" && (team == "" || organisation == "" && p.Config.HasOrganisations()) {
		own, err := p.slack().Identity(ctx)
		if err != nil {
			return "", fmt.Errorf("ask Slack which workspace this is: %w", err)
		}
		if team = cmp.Or(team, own.TeamID); team == own.TeamID {
			organisation = cmp.Or(own.OrgID, own.Enterprise)
		}
	}
	p.Config = p.Config.ForWorkspace(team, organisation)
	return team, nil
}

// scopeIn is scope for a channel or a thread of a given workspace.
func scopeIn(ctx context.Context, db *store.Store, team, channel, thread string) (chat.Scope, error) {
	id, err := resolveChannel(ctx, db, team, channel)
	c := chat.Conversation{Team: team, Channel: id, Thread: thread}
	if err != nil || thread == "" {
		return chat.Scope(c), err
	}
	return chat.Scope(c), checkThreadKnown(ctx, db, c)
}

// storedSettings returns the settings of a conversation's channel, as far as the database
// knows the channel.
func storedSettings(ctx context.Context, c config.Config, db *store.Store,
	of chat.Conversation) (config.ChannelSettings, error) {
	directory := &channels.Directory{Store: db, Config: c}
	settings, err := directory.StoredSettings(ctx, of.Team, of.Channel)
	return settings[of.Channel], err
}

// resolveChannel finds the id of a channel by its id or name.
func resolveChannel(ctx context.Context, db *store.Store, team, named string) (string, error) {
	known, err := db.Channels(ctx, team, []string{named})
	if err != nil || known[named].ID != "" {
		return named, err
	}
	channels, err := db.ChannelsNamed(ctx, team, normalName(named))
	if err != nil {
		return "", err
	}
	switch len(channels) {
	case 0:
		return "", fmt.Errorf("channel %q is not known: want the id (C…, D…, G…) or the name of a channel that the "+
			"bot has been in", named)
	case 1:
		return channels[0].ID, nil
	}
	var ids []string
	for _, c := range channels {
		if c.Member && !c.Archived {
			return c.ID, nil // only one channel has a name at a time; the others had it before
		}
		ids = append(ids, c.ID)
	}
	return "", fmt.Errorf("channel %q is ambiguous: the bot is in none of %s; want an id", named,
		strings.Join(ids, ", "))
}

// normalName is the name of a channel as Slack keeps it.
func normalName(named string) string { return strings.ToLower(strings.TrimPrefix(named, "#")) }

// checkThreadKnown returns an error if the database knows no such thread.
func checkThreadKnown(ctx context.Context, db *store.Store, c chat.Conversation) error {
	if !chat.ValidTS(c.Thread) {
		return fmt.Errorf("thread %q: want the ts of its parent message, such as 1700000000.000100", c.Thread)
	}
	m, err := db.Message(ctx, c.Team, c.Channel, c.Thread)
	switch {
	case err == nil && m.ThreadTS != "":
		return fmt.Errorf("message %s of %s is a reply: want its thread, %s", c.Thread, c.Channel, m.ThreadTS)
	case err == nil || !errors.Is(err, store.ErrNotFound):
		return err
	}
	// The bot may have been called into a thread whose parent it never saw.
	replies, err := db.Tail(ctx, c, 1)
	if err == nil && len(replies) == 0 {
		err = fmt.Errorf("thread %s of %s is not in the database", c.Thread, c.Channel)
	}
	return err
}

// checkThread returns an error unless ts is empty or the ts of a message.
func checkThread(ts string) error {
	if ts != "" && !chat.ValidTS(ts) {
		return fmt.Errorf("%q: want the ts of a message, such as 1700000000.000100", ts)
	}
	return nil
}

// userID matches the ids that Slack gives to people.
var userID = regexp.MustCompile(`^[UW][A-Z0-9]{2,}$`)

// person opens the database and resolves a person. An id need not be known: texts may have it all the same.
func (p *program) person(ctx context.Context, named string) (*store.Store, chat.Person, error) {
	db, scope, err := p.scope(ctx, "", "")
	if err != nil {
		return nil, chat.Person{}, err
	}
	found, err := personIn(ctx, db, scope.Team, named)
	return db, found, err
}

func personIn(ctx context.Context, db *store.Store, team, named string) (chat.Person, error) {
	if userID.MatchString(named) {
		known, err := db.Users(ctx, team, []string{named})
		if err == nil && known[named].Bot {
			err = fmt.Errorf("%s is an app, no person", named)
		}
		return chat.Person{Team: team, User: named}, err
	}
	ids, err := db.UsersNamed(ctx, team, strings.TrimPrefix(named, "@"))
	switch {
	case err != nil:
		return chat.Person{}, err
	case len(ids) == 0:
		return chat.Person{}, fmt.Errorf("nobody is known as %q: want an id (U…, from the profile in Slack: Copy "+
			"member ID), or the display name", timeline.Plain(named))
	case len(ids) > 1:
		return chat.Person{}, fmt.Errorf("%q is ambiguous: want one of the ids %s", timeline.Plain(named),
			strings.Join(ids, ", "))
	}
	return chat.Person{Team: team, User: ids[0]}, nil
}

// conversationName formats a conversation by the name of its channel.
func conversationName(c chat.Conversation, name string) string {
	in := c.Channel
	if name != "" {
		in = "#" + name
	}
	if c.TopLevel() {
		return in
	}
	return in + ", thread " + c.Thread
}
