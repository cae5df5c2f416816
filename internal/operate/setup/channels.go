package setup

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"myao/internal/slack"
)

// askChannels asks in which channels the bot answers only mentions.
func (r *run) askChannels(ctx context.Context) error {
	r.say("5. The bot hears the channels that it is invited to, and speaks there when that helps.")
	r.say("   In which of them shall it speak only when somebody mentions it? Names, with commas between them.")
	enter, none := r.Defaults.MentionOnly, ""
	if enter == "" {
		none = "none"
	}
	return r.until(ctx, func() error {
		given, err := r.ask(ctx, prompt{text: "Channels", enter: enter, shown: none, optional: true})
		if err != nil {
			return err
		}
		if r.mentionOnly, err = r.find(ctx, strings.FieldsFunc(given, between)); err != nil {
			return err
		}
		_, err = r.config()
		return err
	})
}

// between reports whether a character stands between two channels.
func between(r rune) bool { return r == ',' || r == '、' || unicode.IsSpace(r) }

// channelID is the form of a channel's id.
var channelID = regexp.MustCompile(`^[CG][A-Z0-9]{6,}$`)

// mostPages bounds the listing of channels, at Slack's rate for that: 20 calls a minute.
const mostPages = 20

// find looks channels up by their names or ids, each once. An unknown one is a refusal.
func (r *run) find(ctx context.Context, wanted []string) (found []slack.Channel, err error) {
	client, names := r.client(), map[string]bool{}
	add := func(ch slack.Channel) {
		if !slices.ContainsFunc(found, func(other slack.Channel) bool { return other.ID == ch.ID }) {
			found = append(found, ch)
		}
	}
	for _, name := range wanted {
		name = strings.TrimPrefix(name, "#")
		if !channelID.MatchString(name) {
			names[strings.ToLower(name)] = true
			continue
		}
		ch, err := client.Channel(ctx, name)
		if err != nil {
			return nil, slackRefused(ctx, name+" was not found", err)
		}
		add(ch)
	}
	cursor := ""
	for page := 0; len(names) > 0 && page < mostPages; page++ {
		got, err := client.VisibleChannels(ctx, cursor)
		if err != nil {
			return nil, slackRefused(ctx, "the channels could not be listed", err)
		}
		for _, ch := range got.Channels {
			if names[ch.Name] {
				delete(names, ch.Name)
				add(ch)
			}
		}
		if cursor = got.Next; cursor == "" {
			break
		}
	}
	if len(names) > 0 {
		return nil, refuse("Slack shows the bot no channel %s. It shows the public ones, and the private ones that "+
			"the bot was invited to. "+
			"Leave it out, or give the id of the channel", list(names))
	}
	return found, nil
}

// slackRefused makes a refusal of a failed call.
func slackRefused(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed *slack.Error
	if errors.As(err, &failed) && failed.Kind != slack.Final {
		return refuse("%s: %v. Try again", what, err)
	}
	return refuse("%s: %v", what, err)
}

// list returns names with commas, each with a #.
func list(names map[string]bool) string {
	var all []string
	for name := range names {
		all = append(all, "#"+name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// uninvited names the channels of the configuration that the bot is not in.
func (r *run) uninvited() string {
	names := map[string]bool{}
	for _, ch := range r.mentionOnly {
		if !ch.Member {
			names[ch.Name] = true
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + list(names) + " among them)"
}
