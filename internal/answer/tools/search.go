package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// searchLimit is how many messages one search returns.
const searchLimit = 20

type searchMessagesInput struct {
	Query   string `json:"query" jsonschema:"the words to look for; any of them may match, messages with more and rarer ones come first"`
	Channel string `json:"channel,omitempty" jsonschema:"only in this channel, by name"`
	Author  string `json:"author,omitempty" jsonschema:"only by this person, by display name"`
	From    string `json:"from,omitempty" jsonschema:"only from this day on, as YYYY-MM-DD"`
	To      string `json:"to,omitempty" jsonschema:"only up to and including this day, as YYYY-MM-DD"`
}

func searchMessages(s Sources) tool {
	return define(chat.ToolSearchMessages,
		"Finds messages in this workspace besides those of this place that you are shown already, as far as the "+
			"people in this conversation may read them: the best matches first, each with date, channel and author. "+
			"Try other words, also in another language, if the first ones find nothing.",
		func(ctx context.Context, p Place, _ string, in searchMessagesInput) (string, error) {
			q := store.SearchQuery{Team: p.Conversation.Team, Here: p.Conversation.Channel, Text: in.Query,
				Limit: searchLimit}
			if strings.TrimSpace(in.Query) == "" {
				return "", mistake("query is empty; it must have a word to look for.")
			}
			zone, err := s.Zone(ctx, p.Conversation)
			if err != nil {
				return "", err
			}
			if q.From, err = day("from", in.From, zone, 0); err != nil {
				return "", err
			}
			if q.To, err = day("to", in.To, zone, 1); err != nil {
				return "", err
			}
			// From here on there is one answer to what is not there and what may not be known.
			nothing := "No message matches."
			if in.Channel != "" || in.Author != "" {
				nothing += " Give names of channels and people as they stand above, or leave them out."
			}
			if in.Channel != "" {
				q.Channel, err = s.channel(ctx, p, in.Channel)
				if _, unknown := errors.AsType[mistake](err); unknown {
					return nothing, nil
				} else if err != nil {
					return "", err
				}
			}
			if in.Author != "" {
				if q.Authors, err = s.users(ctx, p, in.Author); err != nil || len(q.Authors) == 0 {
					return nothing, err
				}
			}
			above, err := s.above(ctx, p)
			if err != nil {
				return "", err
			}
			q.Limit += len(above)
			found, err := s.Store.Search(ctx, q)
			if err != nil {
				return "", err
			}
			matches := len(found)
			found = slices.DeleteFunc(found, func(f chat.Found) bool { return above[Reference{f.Channel, f.TS}] })
			text, err := s.Render(ctx, p.Conversation, found[:min(len(found), searchLimit)])
			if err == nil {
				text, err = s.withEvents(ctx, p, q, text, zone)
			}
			switch {
			case err != nil || text != "":
			case matches > len(found):
				text = "No message matches besides those of this place that you are shown already."
			default:
				text = nothing
			}
			return text, err
		})
}

// eventLimit is how many events one search returns besides messages, and eventChars how much it shows of each.
const eventLimit, eventChars = 5, 1000

// withEvents adds to found messages the events of hooks that a search finds, if the place has hooks.
func (s Sources) withEvents(ctx context.Context, p Place, q store.SearchQuery, text string,
	zone *time.Location) (string, error) {
	if len(p.Hooks) == 0 {
		return text, nil
	}
	q.Limit = eventLimit
	events, err := s.Store.SearchHookEvents(ctx, q)
	if err != nil || len(events) == 0 {
		return text, err
	}
	var b strings.Builder
	if text != "" {
		b.WriteString(text + "\n\n")
	}
	b.WriteString("Events that came by hooks:")
	for _, e := range events {
		shown := []rune(e.Text)
		fmt.Fprintf(&b, "\n\n%s, hook %s:\n%s", e.Received().In(zone).Format("2006-01-02 15:04:05"), e.Hook,
			s.Material(string(shown[:min(len(shown), eventChars)])))
	}
	return b.String(), nil
}

// above is the messages of a conversation and around it that a model is shown before it calls a tool, with the one that
// it answers. It does not learn anything by finding them again. Those that it is shown because they have words of the
// message are not among them: only what a tool returns has a number by which it can be cited.
func (s Sources) above(ctx context.Context, p Place) (map[Reference]bool, error) {
	above := map[Reference]bool{{p.Conversation.Channel, p.Trigger}: true}
	if s.Around == nil {
		return above, nil
	}
	around, err := s.Around(ctx, p.Conversation)
	for _, m := range around {
		above[Reference{m.Channel, m.TS}] = true
	}
	return above, err
}

// day parses a date and returns the beginning of the day that is later by a number of days; the zero
// time for an empty date.
func day(name, date string, zone *time.Location, later int) (time.Time, error) {
	if date == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, date, zone)
	if err != nil {
		return time.Time{}, mistakef("%s is %q; it must be a day such as 2026-11-20.", name, date)
	}
	return t.AddDate(0, 0, later), nil
}

// users finds the ids of the users that a model names; there may be none.
func (s Sources) users(ctx context.Context, p Place, named string) ([]string, error) {
	named = strings.TrimPrefix(strings.TrimSpace(named), "@")
	ids, err := s.Store.UsersNamed(ctx, p.Conversation.Team, named)
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	if m := reference.FindStringSubmatch(named); m != nil { // a name in capitals looks like an id, too
		return []string{m[1]}, nil
	}
	return nil, nil
}
