package slack

import (
	"cmp"
	"strings"
	"unicode"

	slackapi "github.com/slack-go/slack"

	"myao/internal/chat"
)

const (
	// slackbot is the built-in bot. It has a user id, and no bot id.
	slackbot = "USLACKBOT"
	// slackItself is the author of notices, such as that a channel was archived. It writes into the
	// direct message with the bot like a person, without a subtype
	// (seen in github.com/vercel/chat, packages/adapter-slack/sample-messages.md).
	slackItself = "USLACK"
	// subtypeTombstone marks the rest of a deleted message that has replies.
	subtypeTombstone = "tombstone"
	// subtypeSlackbotResponse is an automatic answer of Slackbot.
	subtypeSlackbotResponse = "slackbot_response"
	// subtypeMadePrivate reports that a public channel became private.
	subtypeMadePrivate = "channel_convert_to_private"
)

// isStored reports whether messages of a subtype are stored: those that say something.
func isStored(subtype string) bool {
	switch subtype {
	case "", slackapi.MsgSubTypeFileShare, slackapi.MsgSubTypeThreadBroadcast, slackapi.MsgSubTypeMeMessage,
		slackapi.MsgSubTypeBotMessage, subtypeSlackbotResponse:
		return true
	}
	return false
}

// reader reads the message objects of one channel, from events and history alike.
type reader struct {
	id      Identity
	channel string
}

// message reads a message object. An author or thread that it leaves out is taken from before, which
// may be nil.
func (r reader) message(o, before object) (chat.Message, error) {
	ts, err := o.ts("ts")
	if err != nil || ts == "" {
		return chat.Message{}, unusable("ts missing or malformed")
	}
	if !validID(r.channel) {
		return chat.Message{}, unusable("channel missing or malformed")
	}
	thread, err := o.ts("thread_ts")
	if err != nil {
		return chat.Message{}, unusable("thread_ts malformed")
	}
	if thread == "" {
		thread = firstTS(before, "thread_ts")
	}
	if thread == ts {
		thread = ""
	}
	m, err := r.author(o, before)
	if err != nil {
		return chat.Message{}, err
	}
	content := r.content(o, m)
	m.Team, m.Channel, m.TS, m.ThreadTS = r.id.TeamID, r.channel, ts, thread
	m.Text, m.Files, m.Revision = content.Text, content.Files, content.Revision
	return m, nil
}

// author reads who wrote a message: UserID, BotID, Own and Name. The author's workspace does not
// matter: a person of a connected company is a member like any other.
func (r reader) author(o, before object) (chat.Message, error) {
	user, err := o.id("user")
	if err != nil {
		return chat.Message{}, unusable("user malformed")
	}
	bot, err := o.id("bot_id")
	if err != nil {
		return chat.Message{}, unusable("bot_id malformed")
	}
	if user == "" && bot == "" && before != nil {
		return r.author(before, nil)
	}
	if user == "" && bot == "" {
		return chat.Message{}, unusable("neither user nor bot_id")
	}
	m := chat.Message{UserID: user, BotID: bot}
	subtype := o.text("subtype")
	if subtype == slackapi.MsgSubTypeBotMessage {
		m.Name = singleLine(o.text("username"))
	}
	if bot == "" && (isBuiltin(user) || subtype == slackapi.MsgSubTypeBotMessage) {
		m.BotID = user
	}
	if is(user, r.id.UserID) || is(bot, r.id.BotID) {
		m.Own = true
		m.UserID, m.BotID = cmp.Or(m.UserID, r.id.UserID), cmp.Or(m.BotID, r.id.BotID)
	}
	return m, nil
}

func is(id, own string) bool { return id != "" && id == own }

// isBuiltin reports whether a user id is one of Slack's own accounts, which belong to no person.
func isBuiltin(user string) bool { return user == slackbot || user == slackItself }

// content reads Text, Files and Revision of a message by an author.
func (r reader) content(o object, by chat.Message) chat.Message {
	m := chat.Message{Text: r.text(o, by), Files: files(o)}
	for _, raw := range o.list("attachments") {
		if a, ok := parseObject(raw); ok && a.flag("is_share") {
			m.Files = append(m.Files, files(a)...) // a forwarded message has its files only there
		}
	}
	if edited, ok := o.object("edited"); ok {
		m.Revision = firstTS(edited, "ts")
	}
	return m
}

// files reads the files of a message, or of a forwarded message.
func files(o object) []chat.File {
	var found []chat.File
	for _, raw := range o.list("files") {
		f, ok := parseObject(raw)
		// A tombstone is what is left of a deleted file.
		if !ok || f.text("mode") == subtypeTombstone {
			continue
		}
		file := chat.File{MIME: fileType(f), Transcript: transcriptIn(f)}
		if id, err := f.id("id"); err == nil {
			file.ID = id
		}
		for _, key := range []string{"name", "title", "id"} {
			if file.Name == "" {
				file.Name = singleLine(f.text(key))
			}
		}
		found = append(found, file)
	}
	return found
}

// singleLine returns a name on one line, with at most 200 characters.
func singleLine(s string) string {
	const most = 200
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }),
		" ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
