package tools

import (
	"context"
	"errors"
	"fmt"

	"myao/internal/chat"
	"myao/internal/store"
)

// pageSize is how many messages one call reads.
const pageSize = 50

type readThreadInput struct {
	Channel string `json:"channel,omitempty" jsonschema:"name of the channel; leave it out for the channel of this conversation"`
	Thread  string `json:"thread" jsonschema:"the thread's number, such as 1700000000.000100"`
	Before  string `json:"before,omitempty" jsonschema:"only messages before this number; leave it out for the newest"`
}

func readThread(s Sources) tool {
	return define("read_thread", "Reads the messages of a thread, the newest page first.",
		func(ctx context.Context, p Place, _ string, in readThreadInput) (string, error) {
			if !chat.ValidTS(in.Thread) {
				return "", mistakef("thread is %q; it must be a number such as 1700000000.000100, as it stands at messages and threads above.", in.Thread)
			}
			return s.page(ctx, p, in.Channel, in.Thread, in.Before)
		})
}

type readChannelInput struct {
	Channel string `json:"channel,omitempty" jsonschema:"name of the channel; leave it out for the channel of this conversation"`
	Before  string `json:"before,omitempty" jsonschema:"only messages before this number; leave it out for the newest"`
}

func readChannel(s Sources) tool {
	return define("read_channel", "Reads the messages at the top level of a channel, without replies in threads, the newest page first.",
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
	messages, more, err := s.Store.Page(ctx, store.PageRequest{Here: p.Conversation.Channel, Of: of, Before: before, Limit: pageSize})
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
