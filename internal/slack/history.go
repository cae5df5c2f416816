package slack

import (
	"context"
	"encoding/json"
	"errors"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

const (
	// pageSize is what Slack recommends at most (docs.slack.dev/apis/web-api/pagination).
	pageSize = 200
	// maxPages bounds a read-back: 10,000 messages since the trigger.
	maxPages = 50
)

// Range is a part of a channel or thread.
type Range struct {
	// Oldest and Latest are ts strings, both inclusive; empty means no bound. In a thread
	// Slack gives the parent whatever they say.
	Oldest, Latest string
	// Limit is the most messages a page holds, 1 to 999; 0 means 200. Slack may give fewer.
	Limit int
	// Cursor is Next of the page before; empty for the first.
	Cursor string
}

// Page is a page of messages.
type Page struct {
	// Messages are normalised as events are, in Slack's order: newest first in a channel,
	// oldest first in a thread. The parent of a thread can come again on later pages. Slack
	// does not say at which end of a Range without Latest a channel's first page lies:
	// only all pages together are the whole of it.
	Messages []chat.Message
	// Skipped counts what is no message anybody said: joins, topics, tombstones.
	Skipped int
	// Threads has an entry for each message on this page that has replies: by its ts, the ts of
	// the newest reply, "" where Slack does not tell that. The message itself can be one of the
	// Skipped: people reply to joins, and a deleted message keeps its thread.
	Threads map[string]string
	// Next is the cursor of the following page; empty on the last.
	Next string
}

// History reads a page of a channel's top level (docs.slack.dev/reference/methods/conversations.history).
// Replies are not among it, except those that were also sent to the channel.
func (c *Client) History(ctx context.Context, channel string, r Range, own Identity) (Page, error) {
	raw, next, err := c.page(ctx, channel, "", r)
	if err != nil {
		return Page{}, err
	}
	return readPage(raw, next, channel, own), nil
}

// Replies reads a page of a thread, its parent included (docs.slack.dev/reference/methods/conversations.replies).
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

// page is one call of conversations.replies, or of conversations.history without a thread.
func (c *Client) page(ctx context.Context, channel, thread string, r Range) (messages []json.RawMessage, next string, err error) {
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
		_, _, next, err = c.api.GetConversationRepliesContext(ctx, &slackapi.GetConversationRepliesParameters{
			ChannelID: channel, Timestamp: thread, Cursor: r.Cursor, Oldest: r.Oldest, Latest: r.Latest,
			Limit: r.Limit, Inclusive: true, IncludeAllMetadata: true,
		})
	} else {
		var history *slackapi.GetConversationHistoryResponse
		history, err = c.api.GetConversationHistoryContext(ctx, &slackapi.GetConversationHistoryParameters{
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

// items is the list of a paged answer. An answer without one, or one that tells of more and
// not how to ask for it, must not pass for the last page.
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

// thread is the ts of a message that has replies, and of the newest of them where that is told
// (docs.slack.dev/messaging/retrieving-messages). In doubt a message has some: to look for
// them in vain costs a call, and not to look loses them.
func thread(o object) (parent, newest string) {
	ts, root := firstTS(o, "ts"), firstTS(o, "thread_ts")
	if ts == "" || root != "" && root != ts {
		return "", ""
	}
	newest = firstTS(o, "latest_reply")
	if !chat.Time(newest).After(chat.Time(ts)) {
		newest = ""
	}
	count, told := o.count("reply_count")
	if told && count == 0 || !told && root == "" && newest == "" {
		return "", ""
	}
	return ts, newest
}

// FindPost looks for the message that a Post with key has made, in the thread or, where
// threadTS is empty, at the top level, from the ts oldest on. It reads all pages, so a
// "not found" is certain as of now; a place with more than 50 pages is an error. Where
// the thread does not exist, because its parent was deleted, Slack has put the message
// at the top level (seen in github.com/slack-go/slack/issues/1571).
func (c *Client) FindPost(ctx context.Context, channel, threadTS, oldest, key string, own Identity) (ts string, found bool, err error) {
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

// matchPost is the ts of a message that we wrote and marked with key. One that names
// another author is not ours: any app can put metadata on a message. One that names no
// author is: to take our own message for another's is to post it twice.
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
