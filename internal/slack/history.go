package slack

import (
	"context"
	"encoding/json"
	"errors"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

const (
	// pageSize is the most that Slack recommends (docs.slack.dev/apis/web-api/pagination).
	pageSize = 200
	// maxPages bounds the search for a post: 10,000 messages since the trigger.
	maxPages = 50
)

// Range is a part of a channel or thread.
type Range struct {
	// Oldest and Latest are ts strings, both inclusive; empty means no bound. A thread always
	// includes the parent.
	Oldest, Latest string
	// Limit is the most messages a page holds, 1 to 999; 0 means 200. Slack may give fewer.
	Limit int
	// Cursor is Next of the previous page; empty for the first.
	Cursor string
}

// Page is a page of messages.
type Page struct {
	// Messages are read like those of events, in Slack's order: newest first in a channel, oldest
	// first in a thread. A thread's parent can occur again on later pages. For a Range without
	// Latest, Slack does not say at which end a channel's first page is; only all pages together
	// are complete.
	Messages []chat.Message
	// Skipped counts the entries that are no messages: joins, topics, tombstones.
	Skipped int
	// Threads maps the ts of each message with replies on this page to the ts of its newest reply,
	// or "" if Slack does not say. The message itself may be one of the Skipped: people reply to
	// joins, and a deleted message keeps its thread.
	Threads map[string]string
	// Next is the cursor of the next page; empty on the last.
	Next string
}

// History reads a page of a channel's top level (docs.slack.dev/reference/methods/conversations.history).
// It has no replies, except those that were also sent to the channel.
func (c *Client) History(ctx context.Context, channel string, r Range, own Identity) (Page, error) {
	raw, next, err := c.page(ctx, channel, "", r)
	if err != nil {
		return Page{}, err
	}
	return readPage(raw, next, channel, own), nil
}

// Replies reads a page of a thread, including its parent (docs.slack.dev/reference/methods/conversations.replies).
func (c *Client) Replies(ctx context.Context, channel, thread string, r Range, own Identity) (Page, error) {
	if !chat.ValidTS(thread) {
		return Page{}, argument("conversations.replies", "malformed thread_ts")
	}
	raw, next, err := c.page(ctx, channel, thread, r)
	if err != nil {
		return Page{}, err
	}
	return readPage(raw, next, channel, own), nil
}

func readPage(raw []json.RawMessage, next, channel string, own Identity) Page {
	page := Page{Next: next}
	for _, message := range raw {
		o, _ := parseObject(message)
		if parent, newest := thread(o); parent != "" {
			if page.Threads == nil {
				page.Threads = map[string]string{}
			}
			page.Threads[parent] = newest
		}
		event, err := reader{id: own, channel: channel}.posted(o)
		if err != nil {
			page.Skipped++
			continue
		}
		page.Messages = append(page.Messages, event.Message)
	}
	return page
}

// page calls conversations.replies, or conversations.history without a thread.
func (c *Client) page(
	ctx context.Context, channel, thread string, r Range,
) (messages []json.RawMessage, next string, err error) {
	method := "conversations.history"
	if thread != "" {
		method = "conversations.replies"
	}
	if !validID(channel) {
		return nil, "", argument(method, "malformed channel id")
	}
	if r.Limit <= 0 {
		r.Limit = pageSize
	}
	ctx, answer := withAnswer(ctx)
	if thread != "" {
		_, _, next, err = c.api().GetConversationRepliesContext(ctx, &slackapi.GetConversationRepliesParameters{
			ChannelID: channel, Timestamp: thread, Cursor: r.Cursor, Oldest: r.Oldest, Latest: r.Latest,
			Limit: r.Limit, Inclusive: true, IncludeAllMetadata: true,
		})
	} else {
		var history *slackapi.GetConversationHistoryResponse
		history, err = c.api().GetConversationHistoryContext(ctx, &slackapi.GetConversationHistoryParameters{
			ChannelID: channel, Cursor: r.Cursor, Oldest: r.Oldest, Latest: r.Latest,
			Limit: r.Limit, Inclusive: true, IncludeAllMetadata: true,
		})
		if history != nil {
			next = history.ResponseMetaData.NextCursor
		}
	}
	if err != nil {
		return nil, "", c.fail(method, err)
	}
	if messages, err = answer.items(method, "messages", next); err != nil {
		return nil, "", err
	}
	return messages, next, nil
}

// items returns the list in a page. A page without the list, or one that has more but no cursor, is
// an error, because it would pass for the last page.
func (o object) items(method, key, next string) ([]json.RawMessage, error) {
	items := o.list(key)
	switch {
	case items == nil:
		return nil, unreadable(method, errors.New("no list of "+key))
	case o.flag("has_more") && next == "":
		return nil, unreadable(method, errors.New("has_more without next_cursor"))
	}
	return items, nil
}

// thread returns the ts of a message that has replies, and of its newest reply if Slack says so
// (docs.slack.dev/messaging/retrieving-messages). In doubt a message counts as one with replies:
// reading them in vain costs a call, not reading them loses them.
func thread(o object) (parent, newest string) {
	ts, root := firstTS(o, "ts"), firstTS(o, "thread_ts")
	if ts == "" || root != "" && root != ts {
		return "", ""
	}
	newest = firstTS(o, "latest_reply")
	if !chat.Time(newest).After(chat.Time(ts)) {
		newest = ""
	}
	count, counted := o.count("reply_count")
	if counted && count == 0 || !counted && root == "" && newest == "" {
		return "", ""
	}
	return ts, newest
}

// FindPost searches for the message that a Post with key has made, from the ts oldest on, in the
// thread, or at the top level if threadTS is empty. It reads all pages, so that "not found" is
// certain; more than 50 pages are an error. If the thread does not exist because its parent was
// deleted, Slack has put the message at the top level (seen in
// github.com/slack-go/slack/issues/1571).
func (c *Client) FindPost(
	ctx context.Context, channel, threadTS, oldest, key string, own Identity,
) (ts string, found bool, err error) {
	method := "conversations.history"
	if threadTS != "" {
		method = "conversations.replies"
	}
	if own.UserID == "" || key == "" {
		return "", false, argument(method, "no identity or no key")
	}
	r := Range{Oldest: oldest}
	for range maxPages {
		raw, next, err := c.page(ctx, channel, threadTS, r)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); ok && e.Code == "thread_not_found" && threadTS != "" {
				return c.FindPost(ctx, channel, "", oldest, key, own)
			}
			return "", false, err
		}
		for _, message := range raw {
			if ts, ok := matchPost(message, key, own); ok {
				return ts, true, nil
			}
		}
		if next == "" {
			return "", false, nil
		}
		r.Cursor = next
	}
	return "", false, &Error{Method: method, Code: codeTooMany, Kind: Final}
}

// matchPost returns the ts of a message that we posted with key. A message with another author is
// not ours, because any app can put metadata on a message. A message without an author counts as
// ours: otherwise we might post it twice.
func matchPost(raw json.RawMessage, key string, own Identity) (string, bool) {
	o, ok := parseObject(raw)
	if !ok {
		return "", false
	}
	switch user, bot := o.text("user"), o.text("bot_id"); {
	case user != "" && user != own.UserID,
		user == "" && bot != "" && own.BotID != "" && bot != own.BotID:
		return "", false
	}
	metadata, _ := o.object("metadata")
	payload, _ := metadata.object("event_payload")
	if metadata.text("event_type") != metadataType || payload.text("key") != key {
		return "", false
	}
	ts := firstTS(o, "ts")
	return ts, ts != ""
}
