package door

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/language/words"
	"myao/internal/slack"
	"myao/internal/store"
)

// Introducer has introductions posted.
type Introducer interface {
	// Introduce begins to post the introduction that stands in the outbox as reply. While that is under
	// way, another call changes nothing.
	Introduce(ctx context.Context, c chat.Conversation, reply string) error
}

// introduce has the bot introduce itself in a channel that it has joined: once, and not where it is to be
// silent. The message is written down first, so that the same event, delivered again, finds it.
func (d room) introduce(ctx context.Context, m slack.Membership, own slack.Identity) error {
	c := chat.Conversation{Team: own.TeamID, Channel: m.Channel}
	if !d.Config.Slack.Introduce {
		return nil
	}
	settings := d.Directory.Settings(ctx, c.Team, c.Channel)
	until, err := d.Store.SilencedUntil(ctx, c)
	if err != nil || settings.Mode == config.ModeOff || until.After(d.Clock()) {
		return err
	}
	at := m.At
	if at.IsZero() {
		at = d.Clock()
	}
	reply := c.Team + "/" + c.Channel + "/introduced"
	due, err := d.Store.Introduce(ctx, store.Part{
		// As a second part it may be posted although a message was deleted since: it answers none.
		Key: reply + "/1", Reply: reply, Number: 1, Team: c.Team, Channel: c.Channel, Trigger: chat.TS(at),
		Text: d.introduction(settings, own),
	})
	if err != nil || !due {
		return err
	}
	if err := d.Introducer.Introduce(ctx, c, reply); err != nil {
		return fmt.Errorf("introduce the bot in %s: %w", m.Channel, err)
	}
	return nil
}

// introduction says, in Markdown, what the bot does in a channel and how to make it silent.
func (d room) introduction(in config.ChannelSettings, own slack.Identity) string {
	w, s := words.In(cmp.Or(in.Language, d.Config.Language)), d.Config.Slack
	does := "I read along here, keep quiet while people talk, and answer when you mention me (@%s) or when a " +
		"question stays open."
	switch in.Mode {
	case config.ModeMention:
		does = "I read along here, and answer when you mention me (@%s)."
	case config.ModeAll:
		does = "I read along here, and answer every message; you need not mention me (@%s)."
	}
	lines := []string{
		w.Say("Hello, I am %s.", d.Config.Persona.Name) + " " + w.Say(does, own.Name),
		w.Say("`%[1]s snooze 2h` has me be silent here for a while, `%[1]s mute` until further notice, and `%[1]s "+
			"help` lists the rest.", s.Command),
	}
	if s.HushReaction != "" {
		lines = append(lines, w.Say("React with :%s: to a message that I am not to answer.", s.HushReaction))
	}
	if s.AnswerReaction != "" {
		lines = append(lines, w.Say("React with :%s: to a message that I am to answer.", s.AnswerReaction))
	}
	return strings.Join(lines, "\n\n")
}
