package slack

import (
	"context"
	"errors"
	"strings"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

// metadataType is the event_type of our metadata on a message; its payload is {"key": …}. Everybody in
// the channel can read the key, so it is no secret.
const metadataType = "myao_reply"

// Size limits of blocks, in characters (docs.slack.dev/reference/block-kit/blocks).
const (
	maxMarkdown = 12_000
	maxSection  = 3_000
)

// Size limits of a message's text, in characters (docs.slack.dev/reference/methods/chat.postMessage, …/chat.update).
// Slack cuts the first, and refuses a message past the second.
const (
	maxText   = 40_000
	maxUpdate = 4_000
)

// Post is a message to send.
type Post struct {
	Channel string
	// ThreadTS is the ts of the thread's parent; empty for the top level.
	ThreadTS string
	// Text is Markdown as a model writes it, at most 40,000 characters; see Split.
	Text string
	// Key is what FindPost finds the message by.
	Key string
	// Choices stand under the text.
	Choices []Choice
	// Feedback asks people below everything else what they think of the text.
	Feedback Feedback
	// Plainer is how many forms of the message are left out, the best first. The plainest is always sent.
	Plainer int
}

// Post sends a message and returns its ts (docs.slack.dev/reference/methods/chat.postMessage). The text
// is sent as a markdown block, with plain text for notifications and old clients. If Slack refuses
// the block, nothing is posted, and a further call sends a plainer form (forms). After an Ambiguous
// error the message may be there; FindPost tells. If it is not, and the error was OfSlack, a plainer form may do.
func (c *Client) Post(ctx context.Context, p Post) (ts string, err error) {
	const method = "chat.postMessage"
	switch {
	case !validID(p.Channel):
		return "", argument(method, "malformed channel id")
	case p.ThreadTS != "" && !chat.ValidTS(p.ThreadTS):
		return "", argument(method, "malformed thread_ts")
	case p.Key == "":
		return "", argument(method, "no key")
	case strings.TrimSpace(p.Text) == "":
		return "", &Error{Method: method, Code: "no_text", Kind: Final}
	}
	all := forms(p.Text, p.Key, p.Choices, p.Feedback, maxText)
	for _, options := range all[min(p.Plainer, len(all)-1):] {
		if p.ThreadTS != "" {
			options = append(options, slackapi.MsgOptionTS(p.ThreadTS))
		}
		if ts, err = c.send(ctx, p.Channel, options...); !blockRefused(err) {
			break
		}
	}
	return ts, err
}

func (c *Client) send(ctx context.Context, channel string, options ...slackapi.MsgOption) (string, error) {
	const method = "chat.postMessage"
	_, ts, err := c.api().PostMessageContext(ctx, channel, options...)
	if err != nil {
		return "", c.fail(method, err)
	}
	if !chat.ValidTS(ts) {
		return "", unreadable(method, errors.New("no ts"))
	}
	return ts, nil
}

// blockRefused reports whether Slack refused a message because of its block. Some codes name
// attachments, although we send none: Slack makes table blocks of tables in Markdown, and answers a
// second table in one message with invalid_attachments
// (docs.slack.dev/reference/block-kit/blocks/table-block).
func blockRefused(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Final {
		return false
	}
	switch e.Code {
	case "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "blocks_too_long", "unsupported_block_type",
		"invalid_attachments", "too_many_attachments", "attachment_payload_limit_exceeded":
		return true
	}
	return false
}
