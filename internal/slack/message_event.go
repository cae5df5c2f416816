package slack

import (
	"slices"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"

	"myao/internal/chat"
)

// Kind is what happened to a message.
type Kind string

// The kinds of message events.
const (
	Posted  Kind = "posted"
	Edited  Kind = "edited"
	Deleted Kind = "deleted"
)

// MessageEvent reports that one message was posted, edited or deleted.
type MessageEvent struct {
	// ID is the event_id; empty if Slack sent none.
	ID   string
	Kind Kind
	// Message is the message's new state. Its Team is always the Identity's. A deleted message has
	// no text; its author and thread are set if Slack sends them. Revision is the ts of the edit,
	// or of the event if Slack sends none.
	Message chat.Message
	// Partial is set if the event has no files, as an app_mention has none: the known files still
	// hold.
	Partial bool
	// Previous is the text before an edit or deletion, if HasPrevious.
	Previous    string
	HasPrevious bool
	// Previewed is set if nobody edited the message: Slack has added the preview of a linked message, or taken it away,
	// or it has made a transcript.
	Previewed bool
	// ChannelType is channel, group, im, mpim or "".
	ChannelType string
	// External is set if people of other companies read the channel, too.
	External bool
	// Mention is set if the new text mentions the bot, PreviousMention if the old text did.
	Mention         bool
	PreviousMention bool
	// At is when Slack dispatched the event, UTC; if Slack does not say, the message's own time.
	At time.Time
}

// ChannelPrivate reports that not everybody in the workspace may read a channel. It stands for a message
// event in such a channel whose message is left out, such as a join. Slack says only once that a
// channel was made private, in such an event
// (docs.slack.dev/reference/events/message/channel_convert_to_private).
type ChannelPrivate struct {
	Channel string
	// Reason is why the message is left out. It wraps ErrIgnored or ErrUnusable.
	Reason error
}

// decodeMessage reads a message or app_mention event, as a MessageEvent or ChannelPrivate
// (docs.slack.dev/reference/events/message, docs.slack.dev/reference/events/app_mention).
//
// It reads by hand. In slackevents.MessageEvent one malformed block, attachment or file makes the
// whole message unusable, and the text of tables and forwarded messages is lost.
func decodeMessage(env Envelope, own Identity) (Event, error) {
	o := env.event
	channel, err := o.id("channel")
	if err != nil || channel == "" {
		return nil, unusable("channel missing or malformed")
	}
	subtype := o.text("subtype")
	kind := channelType(o.text("channel_type"), channel)
	event, err := reader{id: own, channel: channel}.event(subtype, o)
	if err != nil {
		if subtype == subtypeMadePrivate || isPrivateType(kind) {
			return ChannelPrivate{Channel: channel, Reason: err}, nil
		}
		return nil, err
	}

	if slackevents.EventsAPIType(env.EventType) == slackevents.AppMention {
		_, hasFiles := o["files"]
		event.Partial = !hasFiles
		// Slack dispatches an app_mention for an edit that adds a mention, too. The message_changed
		// event of the same edit has the text before.
		if event.Message.Revision != "" {
			event.Kind = Edited
		}
	}
	event.ID = env.EventID
	event.External = env.external
	event.ChannelType = kind
	event.Mention = chat.Mentions(event.Message.Text, own.UserID)
	event.PreviousMention = event.HasPrevious && chat.Mentions(event.Previous, own.UserID)
	event.At = env.at
	if event.At.IsZero() {
		event.At = event.Message.Time()
	}
	return event, nil
}

// Private reports whether the event says that not everybody may read its channel. An event
// without a channel type says nothing about that.
func (e MessageEvent) Private() bool { return isPrivateType(e.ChannelType) }

func isPrivateType(channelType string) bool {
	switch channelType {
	case slackevents.ChannelTypeGroup, slackevents.ChannelTypeIM, slackevents.ChannelTypeMPIM:
		return true
	}
	return false
}

func (r reader) event(subtype string, o object) (MessageEvent, error) {
	switch subtype {
	case slackapi.MsgSubTypeMessageChanged:
		return r.changed(o)
	case slackapi.MsgSubTypeMessageDeleted:
		return r.deleted(o)
	}
	return r.posted(o)
}

func (r reader) posted(o object) (MessageEvent, error) {
	subtype := o.text("subtype")
	if !isStored(subtype) {
		return MessageEvent{}, ignored("message of subtype %s", logName(subtype))
	}
	if _, nested := o.object("message"); nested && o["user"] == nil && o["bot_id"] == nil {
		// message_replied comes without its subtype over the Events API
		// (docs.slack.dev/reference/events/message/message_replied).
		return MessageEvent{}, ignored("message of subtype %s", slackapi.MsgSubTypeMessageReplied)
	}
	if o.flag("hidden") || o.flag("is_ephemeral") {
		return MessageEvent{}, ignored("hidden message")
	}
	m, err := r.message(o, nil)
	if err != nil {
		return MessageEvent{}, err
	}
	return MessageEvent{Kind: Posted, Message: m}, nil
}

// changed reads docs.slack.dev/reference/events/message/message_changed. Slack sends it for much that
// is no edit: unfurled links, reply counts, a detected language.
func (r reader) changed(o object) (MessageEvent, error) {
	inner, ok := o.object("message")
	if !ok {
		return MessageEvent{}, unusable("message_changed without a message")
	}
	before, known := o.object("previous_message")
	subtype := inner.text("subtype")
	if subtype == subtypeTombstone {
		return r.removed(inner, "ts", before)
	}
	if !isStored(subtype) {
		return MessageEvent{}, ignored("change of a message of subtype %s", logName(subtype))
	}
	m, err := r.message(inner, before)
	if err != nil {
		return MessageEvent{}, err
	}
	event := MessageEvent{Kind: Edited}
	if known {
		content := r.content(before, m)
		same := content.Text == m.Text && slices.Equal(content.Files, m.Files)
		if same && (m.Revision == "" || m.Revision == content.Revision) {
			return MessageEvent{}, ignored("no change of text")
		}
		if m.Revision == content.Revision {
			m.Revision = "" // of an earlier edit
			own, _ := r.words(inner, m)
			said, _ := r.words(before, m)
			event.Previewed = own == said && chat.SameFiles(content.Files, m.Files)
		}
		event.Previous, event.HasPrevious = content.Text, true
	}
	if m.Revision == "" {
		if m.Revision = firstTS(o, "event_ts", "ts"); m.Revision == "" {
			return MessageEvent{}, unusable("message_changed without a time of the change")
		}
	}
	event.Message = m
	return event, nil
}

// deleted reads docs.slack.dev/reference/events/message/message_deleted.
func (r reader) deleted(o object) (MessageEvent, error) {
	before, _ := o.object("previous_message")
	if _, ok := o["deleted_ts"]; !ok {
		return r.removed(before, "ts", before)
	}
	return r.removed(o, "deleted_ts", before)
}

// removed reads the deletion of the message whose ts is in the field key of o.
func (r reader) removed(o object, key string, before object) (MessageEvent, error) {
	ts, err := o.ts(key)
	if err != nil || ts == "" {
		return MessageEvent{}, unusable("deletion without the ts of a message")
	}
	if subtype := before.text("subtype"); !isStored(subtype) {
		return MessageEvent{}, ignored("deletion of a message of subtype %s", logName(subtype))
	}
	m := chat.Message{Team: r.id.TeamID, Channel: r.channel, TS: ts, Deleted: true}
	if m.ThreadTS = firstTS(before, "thread_ts"); m.ThreadTS == "" {
		m.ThreadTS = firstTS(o, "thread_ts")
	}
	if m.ThreadTS == ts {
		m.ThreadTS = ""
	}
	event := MessageEvent{Kind: Deleted}
	if before != nil {
		if a, err := r.author(before, nil); err == nil {
			m.UserID, m.BotID, m.Own, m.Name = a.UserID, a.BotID, a.Own, a.Name
		}
		content := r.content(before, m)
		m.Revision = content.Revision
		event.Previous, event.HasPrevious = content.Text, true
	}
	event.Message = m
	return event, nil
}

// firstTS returns the first of the fields that holds a valid ts, or "".
func firstTS(o object, keys ...string) string {
	for _, key := range keys {
		if ts, err := o.ts(key); err == nil && ts != "" {
			return ts
		}
	}
	return ""
}

func channelType(sent, channel string) string {
	switch sent {
	case slackevents.ChannelTypeChannel, slackevents.ChannelTypeGroup, slackevents.ChannelTypeIM,
		slackevents.ChannelTypeMPIM:
		return sent
	}
	if strings.HasPrefix(channel, "D") {
		return slackevents.ChannelTypeIM
	}
	return ""
}

// logName makes a type from Slack fit for a log line and a metric label.
func logName(s string) string {
	if s == "" {
		return "(none)"
	}
	if len(s) > 40 || !validID(s) {
		return "(malformed)"
	}
	return s
}
