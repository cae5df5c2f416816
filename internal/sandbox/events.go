package sandbox

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Event is one event on its way to the app: what faults choose by, and what is sent.
type Event struct {
	ID   string
	Type string // message, app_mention, reaction_added …
	// Subtype is message_changed, file_share …; empty for plain messages.
	Subtype string
	Channel string
	// TS names the message that the event is about; EventTS is the event's own.
	TS, EventTS string
	User        string
	Text        string
	// Mention is set on both events of a mention: the message and the app_mention.
	Mention bool
	Body    []byte // the whole envelope, JSON
}

// MentionMessage matches the message event of a mention, AppMention its app_mention.
// Dropping one leaves the other.
func MentionMessage(e Event) bool { return e.Mention && e.Type == "message" }

// AppMention matches the app_mention event of a mention.
func AppMention(e Event) bool { return e.Mention && e.Type == "app_mention" }

// messageEvent is the inner event of everything that happens to messages
// (docs.slack.dev/reference/events/message).
type messageEvent struct {
	Message
	Channel     string `json:"channel"`
	EventTS     string `json:"event_ts"`
	ChannelType Kind   `json:"channel_type"`
}

// changeEvent tells of an edit or a deletion: the message stands inside, and the
// ts outside is the event's, not the message's
// (docs.slack.dev/reference/events/message/message_changed and …/message_deleted).
type changeEvent struct {
	Type            string   `json:"type"`
	Subtype         string   `json:"subtype"`
	Message         *Message `json:"message,omitempty"`
	PreviousMessage *Message `json:"previous_message,omitempty"`
	DeletedTS       string   `json:"deleted_ts,omitempty"`
	Hidden          bool     `json:"hidden"`
	Channel         string   `json:"channel"`
	ChannelType     Kind     `json:"channel_type"`
	TS              string   `json:"ts"`
	EventTS         string   `json:"event_ts"`
}

// emitMessage delivers what was said: a message event, and for a mention an
// app_mention with an event_id of its own. The bot's own messages are delivered
// like anybody's, with bot_id, app_id and its user.
func (w *Workspace) emitMessage(c *Channel, m *Message) {
	wire := messageEvent{Message: *w.bare(c, m), Channel: c.ID, EventTS: m.TS, ChannelType: c.Kind}
	twin := w.mentioned(c, m)
	w.emitAs(c, m.TS, wire, Event{Type: "message", Subtype: m.Subtype, TS: m.TS, User: m.User, Text: m.Text, Mention: twin})
	if twin {
		w.emitMention(c, m, m.TS)
	}
}

// emitMention delivers the app_mention of a message. It has no channel_type, no
// subtype and no files (docs.slack.dev/reference/events/app_mention).
func (w *Workspace) emitMention(c *Channel, m *Message, eventTS string) {
	inner := map[string]any{"type": "app_mention", "text": m.Text, "ts": m.TS, "channel": c.ID, "event_ts": eventTS}
	set := func(key, value string) {
		if value != "" {
			inner[key] = value
		}
	}
	set("user", m.User)
	set("bot_id", m.BotID)
	set("client_msg_id", m.ClientMsgID)
	set("team", m.Team)
	set("thread_ts", m.ThreadTS)
	set("parent_user_id", m.ParentUserID)
	if m.Edited != nil {
		inner["edited"] = m.Edited
	}
	if m.Blocks != nil {
		inner["blocks"] = m.Blocks
	}
	w.emitAs(c, eventTS, inner, Event{Type: "app_mention", TS: m.TS, User: m.User, Text: m.Text, Mention: true})
}

func (w *Workspace) emitChanged(c *Channel, eventTS string, m, before *Message) {
	w.emitAs(c, eventTS, changeEvent{
		Type: "message", Subtype: "message_changed", Message: w.bare(c, m), PreviousMessage: w.bare(c, before),
		Hidden: true, Channel: c.ID, ChannelType: c.Kind, TS: eventTS, EventTS: eventTS,
	}, Event{Type: "message", Subtype: "message_changed", TS: m.TS, User: m.User, Text: m.Text, Mention: w.mentioned(c, m)})
	if m.Edited != nil && w.mentioned(c, m) {
		// Every edit of a message that mentions the bot fires app_mention once more,
		// with the message's old ts and an edited field; a corrected typo does so,
		// too (seen in github.com/slack-go/slack/pull/1256).
		w.emitMention(c, m, eventTS)
	}
}

func (w *Workspace) emitDeleted(c *Channel, eventTS string, before *Message) {
	w.emitAs(c, eventTS, changeEvent{
		Type: "message", Subtype: "message_deleted", PreviousMessage: w.bare(c, before), DeletedTS: before.TS,
		Hidden: true, Channel: c.ID, ChannelType: c.Kind, TS: eventTS, EventTS: eventTS,
	}, Event{Type: "message", Subtype: "message_deleted", TS: before.TS, User: before.User})
}

// mentioned reports whether an app_mention goes with the message. In a DM there
// is none, only message.im (docs.slack.dev/reference/events/app_mention).
func (w *Workspace) mentioned(c *Channel, m *Message) bool {
	return c.Kind != DM && m.User != w.bot.UserID &&
		(strings.Contains(m.Text, "<@"+w.bot.UserID+">") || strings.Contains(m.Text, "<@"+w.bot.UserID+"|"))
}

// bare is a message as events carry it: without metadata, which has events of
// its own (docs.slack.dev/messaging/message-metadata), and with the root of its
// thread if it was broadcast (docs.slack.dev/reference/events/message/thread_broadcast).
func (w *Workspace) bare(c *Channel, m *Message) *Message {
	out := m.clone()
	out.Metadata = nil
	if m.Subtype == "thread_broadcast" {
		if root := c.find(m.ThreadTS); root != nil {
			out.Root = root.clone()
			out.Root.Metadata = nil
		}
	}
	return out
}

func (w *Workspace) emit(c *Channel, kind, eventTS string, inner any) {
	w.emitAs(c, eventTS, inner, Event{Type: kind, TS: eventTS})
}

// emitAs wraps an inner event and queues it. An app hears only of conversations
// that its bot is in. Callers hold mu.
func (w *Workspace) emitAs(c *Channel, eventTS string, inner any, e Event) {
	if !w.botIn(c) {
		return
	}
	e.ID, e.Channel, e.EventTS = w.nextID("Ev"), c.ID, eventTS
	e.Body = w.envelope(c, e.ID, eventTS, inner)
	w.out.enqueue(e)
}

// envelope is the outer event (docs.slack.dev/apis/events-api#callback-field).
func (w *Workspace) envelope(c *Channel, id, eventTS string, inner any) []byte {
	seconds, _, _ := strings.Cut(eventTS, ".")
	at, _ := strconv.ParseInt(seconds, 10, 64)
	body, err := json.Marshal(map[string]any{
		"token":                 "sandbox-verification-token",
		"team_id":               w.cfg.Team,
		"context_team_id":       w.cfg.Team,
		"context_enterprise_id": nil,
		"api_app_id":            w.bot.AppID,
		"type":                  "event_callback",
		"event":                 inner,
		"event_id":              id,
		"event_time":            at,
		"event_context":         "4-" + id,
		"is_ext_shared_channel": w.shared(c),
		"authorizations": []map[string]any{{
			"enterprise_id": nil, "team_id": w.cfg.Team, "user_id": w.bot.UserID,
			"is_bot": true, "is_enterprise_install": false,
		}},
	})
	if err != nil {
		panic("sandbox: an event that is no JSON: " + err.Error())
	}
	return body
}
