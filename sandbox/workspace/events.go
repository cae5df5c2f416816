package workspace

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Event is one event for the app. EventFault.Match chooses by its fields; Body is what is sent.
type Event struct {
	ID   string
	Type string // message, app_mention, reaction_added …
	// Subtype is message_changed, file_share …; empty for plain messages.
	Subtype string
	Channel string
	// TS is that of the message that the event is about; EventTS is the event's own.
	TS, EventTS string
	User        string
	Text        string
	// Mention is set on both events of a mention: message and app_mention.
	Mention bool
	Body    []byte // the whole envelope, JSON
}

// MentionMessage matches the message event of a mention.
func MentionMessage(e Event) bool { return e.Mention && e.Type == "message" }

// AppMention matches the app_mention event of a mention.
func AppMention(e Event) bool { return e.Mention && e.Type == "app_mention" }

// messageEvent is the inner event for a new message (docs.slack.dev/reference/events/message).
type messageEvent struct {
	Message
	Channel     string `json:"channel"`
	EventTS     string `json:"event_ts"`
	ChannelType Kind   `json:"channel_type"`
}

// changeEvent is the inner event for an edit or a deletion. The message is nested; the
// outer ts is the event's, not the message's
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

// emitMessage delivers a message event, and for a mention also an app_mention with a
// separate event_id. The bot's own messages are delivered, too, with bot_id, app_id and user.
func (w *Workspace) emitMessage(c *Channel, m *Message) {
	wire := messageEvent{Message: *w.wireMessage(c, m), Channel: c.ID, EventTS: m.TS, ChannelType: c.Kind}
	mention := w.mentioned(c, m)
	w.emitAs(c, m.TS, wire, Event{Type: "message", Subtype: m.Subtype, TS: m.TS, User: m.User, Text: m.Text,
		Mention: mention})
	if mention {
		w.emitMention(c, m, m.TS)
	}
}

// emitMention delivers the app_mention of a message. An app_mention has no channel_type,
// subtype or files (docs.slack.dev/reference/events/app_mention).
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
	hear := w.hearers(c)
	to := slices.DeleteFunc(slices.Clone(hear), func(each *Workspace) bool { return !each.asked(c, m) })
	if len(to) > 0 && len(hear) > 1 && w.slack.cfg.OneDelivery {
		to = hear[len(hear)-1:]
	}
	w.emitTo(to, c, eventTS, inner, Event{Type: "app_mention", TS: m.TS, User: m.User, Text: m.Text, Mention: true})
}

func (w *Workspace) emitChanged(c *Channel, eventTS string, m, before *Message) {
	w.emitAs(c, eventTS, changeEvent{
		Type: "message", Subtype: "message_changed", Message: w.wireMessage(c, m),
		PreviousMessage: w.wireMessage(c, before),
		Hidden:          true, Channel: c.ID, ChannelType: c.Kind, TS: eventTS, EventTS: eventTS,
	}, Event{Type: "message", Subtype: "message_changed", TS: m.TS, User: m.User, Text: m.Text,
		Mention: w.mentioned(c, m)})
	if m.Edited != nil && w.mentioned(c, m) {
		// Every edit of a message that mentions the bot fires app_mention again, even for a
		// corrected typo, with the message's old ts and an edited field
		// (seen in github.com/slack-go/slack/pull/1256).
		w.emitMention(c, m, eventTS)
	}
}

func (w *Workspace) emitDeleted(c *Channel, eventTS string, before *Message) {
	w.emitAs(c, eventTS, changeEvent{
		Type: "message", Subtype: "message_deleted", PreviousMessage: w.wireMessage(c, before), DeletedTS: before.TS,
		Hidden: true, Channel: c.ID, ChannelType: c.Kind, TS: eventTS, EventTS: eventTS,
	}, Event{Type: "message", Subtype: "message_deleted", TS: before.TS, User: before.User})
}

// wireMessage is a message as events carry it. Metadata is left out, because it has its own
// events (docs.slack.dev/messaging/message-metadata). A broadcast reply carries the root of
// its thread (docs.slack.dev/reference/events/message/thread_broadcast).
func (w *Workspace) wireMessage(c *Channel, m *Message) *Message {
	out := m.clone()
	out.Metadata, out.Files = nil, w.addressed(out.Files)
	if m.Subtype == "thread_broadcast" {
		if root := c.find(m.ThreadTS); root != nil {
			out.Root = root.clone()
			out.Root.Metadata, out.Root.Files = nil, w.addressed(out.Root.Files)
		}
	}
	return out
}

func (w *Workspace) emit(c *Channel, kind, eventTS string, inner any) {
	w.emitAs(c, eventTS, inner, Event{Type: kind, TS: eventTS})
}

// emitAs wraps an inner event and queues it. An app only gets events of conversations that
// its bot is in. Callers hold mu.
func (w *Workspace) emitAs(c *Channel, eventTS string, inner any, e Event) {
	w.emitTo(w.named(w.hearers(c)), c, eventTS, inner, e)
}

func (w *Workspace) emitTo(to []*Workspace, c *Channel, eventTS string, inner any, e Event) {
	for _, each := range to {
		e.ID, e.Channel, e.EventTS = each.nextID("Ev"), c.ID, eventTS
		e.Body = each.envelope(c, e.ID, eventTS, inner, nil)
		each.out.enqueue(e)
		if each != w {
			each.notify()
		}
	}
}

// envelope is the outer event (docs.slack.dev/apis/events-api#callback-field). over replaces its fields.
func (w *Workspace) envelope(c *Channel, id, eventTS string, inner any, over map[string]any) []byte {
	seconds, _, _ := strings.Cut(eventTS, ".")
	at, _ := strconv.ParseInt(seconds, 10, 64)
	org, _ := w.through()
	outer := map[string]any{
		"token":                 "sandbox-verification-token",
		"team_id":               w.in(c)[0].cfg.Team, // the owner's
		"context_team_id":       w.cfg.Team,
		"context_enterprise_id": org.id(),
		"api_app_id":            w.bot.AppID,
		"type":                  "event_callback",
		"event":                 inner,
		"event_id":              id,
		"event_time":            at,
		"event_context":         eventContext + c.ID,
		"is_ext_shared_channel": w.shared(c),
		"authorizations":        []reply{w.authorization()},
	}
	maps.Copy(outer, over)
	body, err := json.Marshal(outer)
	if err != nil {
		panic("sandbox: encode event: " + err.Error())
	}
	return body
}
