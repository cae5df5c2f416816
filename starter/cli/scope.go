package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// resolveConversation finds the conversation that a command line names: a channel by its id or
// name (#general or general), and a thread by the ts of its parent message, or "" for the top
// level. It returns an error unless the database knows both.
func resolveConversation(ctx context.Context, p *program, db *store.Store, channel, thread string) (chat.Conversation, error) {
	team, err := ownTeam(ctx, p, db)
	if err != nil {
		return chat.Conversation{}, err
	}
	return resolveInTeam(ctx, db, team, channel, thread)
}

// resolveInTeam is resolveConversation in a given workspace.
func resolveInTeam(ctx context.Context, db *store.Store, team, channel, thread string) (chat.Conversation, error) {
	id, err := resolveChannel(ctx, db, team, channel)
	c := chat.Conversation{Team: team, Channel: id, Thread: thread}
	if err != nil || thread == "" {
		return c, err
	}
	return c, checkThreadKnown(ctx, db, c)
}

// storedSettings returns the settings of a conversation's channel, as far as the database
// knows the channel.
func storedSettings(ctx context.Context, c config.Config, db *store.Store, of chat.Conversation) (config.ChannelSettings, error) {
	directory := &channels.Directory{Store: db, Config: c}
	settings, err := directory.StoredSettings(ctx, of.Team, of.Channel)
	return settings[of.Channel], err
}

// ownTeam returns the id of the workspace. Slack is asked only if the database does not know
// exactly one.
func ownTeam(ctx context.Context, p *program, db *store.Store) (string, error) {
	teams, err := db.Teams(ctx)
	if err != nil {
		return "", err
	}
	if len(teams) == 1 {
		return teams[0], nil
	}
	own, err := slackClient(p).Identity(ctx)
	if err != nil {
		return "", fmt.Errorf("ask Slack which workspace this is: %w", err)
	}
	return own.TeamID, nil
}

// resolveChannel finds the id of a channel by its id or name.
func resolveChannel(ctx context.Context, db *store.Store, team, named string) (string, error) {
	known, err := db.Channels(ctx, team, []string{named})
	if err != nil || known[named].ID != "" {
		return named, err
	}
	name := strings.ToLower(strings.TrimPrefix(named, "#"))
	channels, err := db.ChannelsNamed(ctx, team, name)
	if err != nil {
		return "", err
	}
	switch len(channels) {
	case 0:
		return "", fmt.Errorf("channel %q is not known: want the id (C…, D…, G…) or the name of a channel that the bot has been in", named)
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
	return "", fmt.Errorf("channel %q is ambiguous: the bot is in none of %s; want an id", named, strings.Join(ids, ", "))
}

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
