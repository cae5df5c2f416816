package slack

import (
	"context"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

// Permalink returns the address of a message (docs.slack.dev/reference/methods/chat.getPermalink).
func (c *Client) Permalink(ctx context.Context, channel, ts string) (string, error) {
	const method = "chat.getPermalink"
	if !validID(channel) || !chat.ValidTS(ts) {
		return "", argument(method, "malformed channel id or ts")
	}
	link, err := c.api().GetPermalinkContext(ctx, &slackapi.PermalinkParameters{Channel: channel, Ts: ts})
	return link, c.fail(method, err)
}
