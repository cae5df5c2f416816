package tools

import (
	"context"
	"errors"
	"strings"
	"time"

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
	return define("search_messages", "Finds messages in this workspace, as far as the people in this conversation may read them: the best matches first, each with date, channel and author. "+
		"Try other words, also in another language, if the first ones find nothing.",
		func(ctx context.Context, p Place, _ string, in searchMessagesInput) (string, error) {
			q := store.SearchQuery{Team: p.Conversation.Team, Here: p.Conversation.Channel, Text: in.Query, Limit: searchLimit}
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
			found, err := s.Store.Search(ctx, q)
			if err != nil {
				return "", err
			}
			text, err := s.Render(ctx, p.Conversation, found)
			if err == nil && text == "" {
				text = nothing
			}
			return text, err
		})
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
