package workspace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// Longer text is cut off silently (docs.slack.dev/reference/methods/chat.postMessage, "Truncating content").
	maxText = 40_000
	// Longer text is refused (docs.slack.dev/reference/methods/chat.update).
	maxUpdate = 4_000
	// docs.slack.dev/reference/block-kit/blocks
	maxBlocks = 50
	// docs.slack.dev/reference/block-kit/blocks/section-block
	maxSection = 3_000
	// For all markdown blocks together, by docs.slack.dev/reference/block-kit/blocks/markdown-block;
	// in fact for each (measured in github.com/metabase/metabase/pull/79908).
	maxMarkdown = 12_000
	// For all blocks of a message together (measured by the authors of
	// github.com/darkgaldragon/slack-markdown-parser, docs/spec.md).
	maxBlockText = 13_200
	// docs.slack.dev/messaging/message-metadata
	maxMetadata = 8 << 10
)

// Post is a message of the bot that Slack accepted.
type Post struct {
	Channel string
	At      time.Time
	// For is the only user who sees an ephemeral post; empty for other posts.
	For string
	Message
}

// Posts returns everything that chat.postMessage accepted, in order, including deleted messages.
func (w *Workspace) Posts() []Post {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.posts)
}

// Ephemeral returns everything that chat.postEphemeral accepted. Slack keeps no record of
// these messages, so no history shows them (docs.slack.dev/reference/methods/chat.postEphemeral).
func (w *Workspace) Ephemeral() []Post {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ephemeral)
}

// chatPostMessage posts as the bot (docs.slack.dev/reference/methods/chat.postMessage).
// It ignores client_msg_id: Slack gives apps no idempotency key.
func (c *call) chatPostMessage() (reply, error) {
	ch, err := c.postTarget()
	if err != nil {
		return nil, err
	}
	m, err := c.compose(maxText)
	if err != nil {
		return nil, err
	}
	thread := c.Get("thread_ts")
	if thread != "" && !validTS(thread) {
		return nil, apiError("invalid_thread_ts")
	}
	m.TS = c.nextTS()
	// If the parent is gone, Slack posts at the top level. Only the missing thread_ts shows
	// that (seen in github.com/slack-go/slack/issues/1571).
	c.thread(ch, m, thread, c.flag("reply_broadcast"))
	if c.hide > 0 {
		m.visibleFrom = c.cfg.Clock().Add(c.hide)
	}
	c.insert(ch, m)
	// docs.slack.dev/reference/methods/assistant.threads.setStatus: a reply of the app takes it away
	c.show(ch.ID, m.ThreadTS, "")
	c.posts = append(c.posts, Post{Channel: ch.ID, At: c.cfg.Clock(), Message: *m.clone()})
	c.emitMessage(ch, m)
	return reply{"channel": ch.ID, "ts": m.TS, "message": m.clone()}, nil
}

// postTarget returns the channel to post in. The argument is a channel's id or name, or a
// user's id for the DM with them.
func (c *call) postTarget() (*Channel, error) {
	ref := c.Get("channel")
	ch := c.channel(ref)
	if ch == nil && c.user(ref) != nil && ref != c.bot.UserID {
		ch = c.dm(ref)
	}
	switch {
	case ch == nil, ch.Kind != Public && !c.botIn(ch):
		return nil, apiError("channel_not_found")
	case ch.Archived:
		return nil, apiError("is_archived")
	case !c.botIn(ch):
		return nil, apiError("not_in_channel")
	}
	return ch, nil
}

// compose makes the bot's message from the arguments.
func (c *call) compose(most int) (*Message, error) {
	m := &Message{
		Type: "message", User: c.bot.UserID, BotID: c.bot.BotID, AppID: c.bot.AppID, Team: c.cfg.Team,
		Text:       c.Get("text"),
		BotProfile: &BotProfile{ID: c.bot.BotID, AppID: c.bot.AppID, Name: c.bot.Name, TeamID: c.cfg.Team},
	}
	if markdown := c.Get("markdown_text"); markdown != "" {
		if m.Text != "" || c.Get("blocks") != "" {
			return nil, apiError("markdown_text_conflict")
		}
		if utf8.RuneCountInString(markdown) > maxMarkdown {
			return nil, apiError("msg_too_long")
		}
		m.Text = markdown
		m.Blocks, _ = json.Marshal([]reply{{"type": "markdown", "text": markdown}})
	}
	if n := utf8.RuneCountInString(m.Text); n > most {
		if most == maxUpdate {
			return nil, apiError("msg_too_long")
		}
		m.Text = string([]rune(m.Text)[:most])
	}
	if raw := c.Get("blocks"); raw != "" {
		if err := checkBlocks(raw); err != nil {
			return nil, err
		}
		if raw != "[]" {
			m.Blocks = compact(raw)
		}
	}
	if raw := c.Get("attachments"); raw != "" && raw != "[]" {
		if !json.Valid([]byte(raw)) {
			return nil, apiError("invalid_attachments")
		}
		m.Attachments = compact(raw)
	}
	if m.Text == "" && m.Blocks == nil && m.Attachments == nil {
		return nil, apiError("no_text")
	}
	if raw := c.Get("metadata"); raw != "" {
		if len(raw) > maxMetadata {
			return nil, apiError("metadata_too_large")
		}
		if json.Unmarshal([]byte(raw), &m.Metadata) != nil || m.Metadata == nil || m.Metadata.EventType == "" ||
			m.Metadata.EventPayload == nil {
			return nil, apiError("invalid_metadata_format")
		}
	}
	return m, nil
}

func compact(raw string) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil {
		return nil
	}
	return b.Bytes()
}

// checkBlocks refuses what Slack refuses, for the blocks that a chat bot uses.
func checkBlocks(raw string) error {
	var blocks []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal([]byte(raw), &blocks) != nil {
		return apiError("invalid_blocks_format")
	}
	if len(blocks) > maxBlocks {
		return apiError("invalid_blocks")
	}
	markdown := 0
	for _, b := range blocks {
		var text struct{ Text string }
		plain := json.Unmarshal(b.Text, &text.Text) == nil
		if !plain && b.Text != nil && json.Unmarshal(b.Text, &text) != nil {
			return apiError("invalid_blocks")
		}
		switch b.Type {
		case "":
			return apiError("invalid_blocks")
		case "markdown":
			if !plain || text.Text == "" {
				return apiError("invalid_blocks")
			}
			length := utf8.RuneCountInString(text.Text)
			if length > maxMarkdown {
				return apiError("msg_too_long")
			}
			markdown += length
		case "section":
			if utf8.RuneCountInString(text.Text) > maxSection {
				return apiError("invalid_blocks")
			}
		}
	}
	if markdown > maxBlockText {
		return apiError("msg_blocks_too_long") // seen in github.com/slackapi/bolt-js/issues/2509
	}
	return nil
}

// ownMessage returns the bot's message named by ts, or refusal if it is somebody else's.
func (c *call) ownMessage(refusal apiError) (*Channel, *Message, error) {
	ch, err := c.postTarget()
	if err != nil {
		return nil, nil, err
	}
	m := ch.find(c.Get("ts"))
	switch {
	case m == nil:
		return nil, nil, apiError("message_not_found")
	case m.User != c.bot.UserID:
		return nil, nil, refusal
	}
	return ch, m, nil
}

// chatUpdate edits a message of the bot (docs.slack.dev/reference/methods/chat.update).
func (c *call) chatUpdate() (reply, error) {
	ch, m, err := c.ownMessage("cant_update_message")
	if err != nil {
		return nil, err
	}
	fresh, err := c.compose(maxUpdate)
	if err != nil {
		return nil, err
	}
	c.edit(ch, m, c.bot.UserID, func(m *Message) {
		m.Text, m.Blocks, m.Attachments = fresh.Text, fresh.Blocks, fresh.Attachments
		if fresh.Metadata != nil {
			m.Metadata = fresh.Metadata
		}
	})
	return reply{"channel": ch.ID, "ts": m.TS, "text": m.Text, "message": m.clone()}, nil
}

// chatDelete deletes a message of the bot (docs.slack.dev/reference/methods/chat.delete).
func (c *call) chatDelete() (reply, error) {
	ch, m, err := c.ownMessage("cant_delete_message")
	if err != nil {
		return nil, err
	}
	ts := m.TS
	c.remove(ch, m)
	return reply{"channel": ch.ID, "ts": ts}, nil
}

// chatGetPermalink returns the address of a message (docs.slack.dev/reference/methods/chat.getPermalink).
func (c *call) chatGetPermalink() (reply, error) {
	ch := c.channel(c.Get("channel"))
	if ch == nil || ch.Kind != Public && !c.botIn(ch) {
		return nil, apiError("channel_not_found")
	}
	m := ch.find(c.Get("message_ts"))
	if m == nil {
		return nil, apiError("message_not_found")
	}
	link := "http://" + c.host + "/archives/" + ch.ID + "/p" + strings.ReplaceAll(m.TS, ".", "")
	if m.ThreadTS != "" && m.ThreadTS != m.TS {
		link += "?thread_ts=" + m.ThreadTS + "&cid=" + ch.ID
	}
	return reply{"channel": ch.ID, "permalink": link}, nil
}

func (c *call) chatPostEphemeral() (reply, error) {
	ch, err := c.postTarget()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ch.Members, c.Get("user")) {
		return nil, apiError("user_not_in_channel")
	}
	m, err := c.compose(maxText)
	if err != nil {
		return nil, err
	}
	m.TS, m.ThreadTS = c.nextTS(), c.Get("thread_ts")
	c.ephemeral = append(c.ephemeral, Post{Channel: ch.ID, At: c.cfg.Clock(), For: c.Get("user"), Message: *m})
	c.hub.send(change{Kind: "ephemeral", Channel: ch.ID, User: c.Get("user"), Message: m})
	c.notify()
	return reply{"message_ts": m.TS}, nil
}

func validTS(ts string) bool {
	sec, frac, ok := strings.Cut(ts, ".")
	return ok && sec != "" && frac != "" && strings.Trim(sec+frac, "0123456789") == ""
}
