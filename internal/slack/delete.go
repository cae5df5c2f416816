package slack

import (
	"context"
	"errors"

	"myao/internal/chat"
)

// Delete deletes a message of the bot (docs.slack.dev/reference/methods/chat.delete). existed is
// false if Slack has no such message any more. Slack refuses another author's message with the
// code cant_delete_message. Delete may be repeated after any error that is not Final.
func (c *Client) Delete(ctx context.Context, channel, ts string) (existed bool, err error) {
	const method = "chat.delete"
	switch {
	case !validID(channel):
		return false, argument(method, "malformed channel id")
	case !chat.ValidTS(ts):
		return false, argument(method, "malformed ts")
	}
	_, _, err = c.api().DeleteMessageContext(ctx, channel, ts)
	err = c.fail(method, err)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "message_not_found" {
		return false, nil
	}
	return err == nil, err
}
