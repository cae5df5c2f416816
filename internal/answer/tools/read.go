package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// pageSize is how many messages one call reads.
const pageSize = 50

type readThreadInput struct {
	Channel string `json:"channel,omitempty" jsonschema:"name of the channel; leave it out for the channel of this conversation"`
	Thread  string `json:"thread" jsonschema:"the thread's number, such as 1700000000.000100, or a link to a message in it"`
	Before  string `json:"before,omitempty" jsonschema:"only messages before this number; leave it out for the newest"`
}

func readThread(s Sources) tool {
	return define(chat.ToolReadThread, "Reads the messages of a thread, the newest page first.",
		func(ctx context.Context, p Place, _ string, in readThreadInput) (string, error) {
			if l, ok := chat.ParseLink(in.Thread); ok && l.TS != "" {
				return s.linkedThread(ctx, p, l, in)
			}
			if !chat.ValidTS(in.Thread) {
				return "", mistakef("thread is %q; it must be a number such as 1700000000.000100, as it stands at "+
					"messages and threads above, or a link to a message.", in.Thread)
			}
			return s.page(ctx, p, in.Channel, in.Thread, in.Before)
		})
}

// linkedThread reads the thread of the message that a link leads to: the page that ends with the message, if the newest
// one does not have it.
func (s Sources) linkedThread(ctx context.Context, p Place, l chat.SlackLink, in readThreadInput) (string, error) {
	channel, err := s.linked(ctx, p, l)
	if err != nil {
		return "", err
	}
	known, err := s.Store.MessagesByTS(ctx, p.Conversation.Team, channel, []string{l.TS})
	if err != nil {
		return "", err
	}
	if l.Thread == "" && len(known) > 0 {
		l.Thread = known[0].ThreadTS
	}
	thread := cmp.Or(l.Thread, l.TS)
	text, err := s.page(ctx, p, channel, thread, in.Before)
	if err != nil || in.Before != "" || len(known) == 0 || known[0].Deleted ||
		slices.Contains(References(text), Reference{channel, l.TS}) {
		return text, err
	}
	text, err = s.page(ctx, p, channel, thread, chat.TS(chat.Time(l.TS).Add(time.Microsecond)))
	return text + fmt.Sprintf("\n\nThere are later messages: call again with thread=%q, without a link.", thread), err
}

type readChannelInput struct {
	Channel string `json:"channel,omitempty" jsonschema:"name of the channel; leave it out for the channel of this conversation"`
	Before  string `json:"before,omitempty" jsonschema:"only messages before this number; leave it out for the newest"`
}

func readChannel(s Sources) tool {
	return define(chat.ToolReadChannel,
		"Reads the messages at the top level of a channel, without replies in threads, the newest page first.",
		func(ctx context.Context, p Place, _ string, in readChannelInput) (string, error) {
			return s.page(ctx, p, in.Channel, "", in.Before)
		})
}

// page reads one page of a place as readers of the conversation may see it.
func (s Sources) page(ctx context.Context, p Place, named, thread, before string) (string, error) {
	if before != "" && !chat.ValidTS(before) {
		return "", mistakef("before is %q; it must be a number such as 1700000000.000100.", before)
	}
	channel, err := s.channel(ctx, p, named)
	if err != nil {
		return "", err
	}
	of := chat.Conversation{Team: p.Conversation.Team, Channel: channel, Thread: thread}
	messages, more, err := s.Store.Page(ctx, store.PageRequest{Here: p.Conversation.Channel, Of: of, Before: before,
		Limit: pageSize})
	switch {
	case errors.Is(err, store.ErrHidden):
		return "", unknownChannel(named)
	case err != nil:
		return "", err
	case len(messages) == 0:
		return "There are no messages.", nil
	}
	known, err := s.Store.Channels(ctx, of.Team, []string{channel})
	if err != nil {
		return "", err
	}
	found := make([]chat.Found, len(messages))
	for i, m := range messages {
		found[i] = chat.Found{Message: m, ChannelName: known[channel].Name}
	}
	text, err := s.Render(ctx, p.Conversation, found)
	if err == nil && text == "" {
		return "", unknownChannel(named)
	}
	if more {
		text += fmt.Sprintf("\n\nThere are earlier messages: call again with before=%q.", messages[0].TS)
	}
	return text, err
}
