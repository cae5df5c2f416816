package slack

import (
	"context"
	"slices"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

// SetStatus shows a status behind the app's name in a thread; an empty one takes it away
// (docs.slack.dev/reference/methods/assistant.threads.setStatus). Slack itself takes it away when the app
// posts in the thread, and after two minutes.
func (c *Client) SetStatus(ctx context.Context, channel, threadTS, status string) error {
	const method = "assistant.threads.setStatus"
	if !validID(channel) || !chat.ValidTS(threadTS) {
		return argument(method, "malformed channel id or thread_ts")
	}
	// Without loading messages: slack-go joins them with commas, and Slack would show other words as well.
	return c.fail(method, c.api().SetAssistantThreadsStatusContext(ctx, slackapi.AssistantThreadsSetStatusParameters{
		ChannelID: channel, ThreadTS: threadTS, Status: status,
	}))
}

// ofPlace are codes that refuse one place, and say nothing about others.
var ofPlace = []string{
	"channel_not_found", "invalid_thread_ts", "thread_not_found", "message_not_found", "not_in_channel", "is_archived",
	"invalid_channel", codeArgument,
}

// Anywhere reports whether Slack refused the call for good, and would refuse it in every place.
func (e *Error) Anywhere() bool { return e.Kind == Final && !slices.Contains(ofPlace, e.Code) }
