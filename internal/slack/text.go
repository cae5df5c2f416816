package slack

import (
	"cmp"
	"slices"
	"strings"

	"myao/internal/chat"
)

// maxAttached bounds, in characters, the text taken from a message's blocks, and that taken from its
// attachments. Slack truncates a text there, too
// (docs.slack.dev/reference/methods/chat.postMessage#truncating).
const maxAttached = 40_000

// text returns what a message says, as mrkdwn: what its readers see, once.
//
//   - Slack shows blocks in place of the text, which apps keep short: both count, unless one says the other.
//   - Slack's composer writes one block, and Slack makes the text from it. So that block adds only a mention that the
//     text lacks. Other blocks of theirs are pasted tables and pictures.
//   - The text of our own messages has all that their blocks have.
//   - An app's attachments are its words. A person's are previews of links, which add nothing, and pasted tables.
//   - Forwarded messages and previews of messages are quoted. Quotes and pasted tables never mention the bot: they
//     were not addressed to it here.
func (r reader) text(o object, by chat.Message) string {
	own, quoted := r.words(o, by)
	if strings.TrimSpace(own) == "" || quoted == "" {
		return cmp.Or(quoted, own)
	}
	return own + "\n" + quoted
}

// words returns what the author of a message says, and what is quoted in it.
func (r reader) words(o object, by chat.Message) (own, quoted string) {
	own = o.text("text")
	if !by.Own || strings.TrimSpace(own) == "" {
		own = withBlocks(own, blocks(o), by.ByBot())
	}
	read := saidIn(own)
	var lines, quotes []string
	for _, raw := range o.list("attachments") {
		a, ok := parseObject(raw)
		switch {
		case !ok:
		case a.flag("is_share"):
			head, body := quote("forwarded message", a)
			quotes = append(quotes, strings.TrimSpace(head+"\n"+body))
		case a.flag("is_msg_unfurl"):
			if head, body := quote("linked message", a); body != "" && !a.flag(onlyForMembers) {
				quotes = append(quotes, head+"\n"+body)
			}
		case unfurled(a):
		case by.ByBot():
			for _, line := range attachmentLines(a) {
				if !read.holds(line) {
					lines = append(lines, line)
				}
			}
		default:
			for _, b := range blocks(a) {
				if b.table && !read.holds(b.text) {
					quotes = append(quotes, b.text)
				}
			}
		}
	}
	switch attached := bounded(strings.Join(lines, "\n")); {
	case attached == "":
	case strings.TrimSpace(own) == "":
		own = attached
	default:
		own += "\n" + attached
	}
	quoted = chat.Unmention(bounded(strings.Join(quotes, "\n")), r.id.UserID, Escape(cmp.Or(r.id.Name, "bot")))
	return chat.Unquoted(own), quoted
}

// onlyForMembers marks the preview of a message of a private channel. Slack asks its author whether others may see
// it, and the preview does not tell what they answered. Slack does not document the field.
const onlyForMembers = "private_channel_prompt"

// withBlocks adds to a text what blocks say beyond it, and drops it if they say it, too.
func withBlocks(text string, found []block, byBot bool) string {
	if placeholder(text) || strings.TrimSpace(text) == "" {
		if len(found) == 0 && !byBot {
			return text
		}
		return bounded(joinBlocks(found))
	}
	if len(found) == 0 {
		return text
	}
	said := saidIn(text)
	if !byBot {
		found = slices.DeleteFunc(found, func(b block) bool { return b.composed && said.mentions(b.text) })
	}
	if slices.ContainsFunc(found, func(b block) bool { return byBot || b.composed }) && saidIn(joinBlocks(found)).
		holds(text) {
		return bounded(joinBlocks(found))
	}
	if more := joinBlocks(slices.DeleteFunc(found, func(b block) bool { return said.holds(b.text) })); more != "" {
		text += "\n" + bounded(more)
	}
	return text
}

// placeholder reports whether a text is one that Slack itself writes where an app has sent blocks
// without a text. For some days of 2023 it wrote it even where a person had written beside an image
// (seen in github.com/Sorunome/mx-puppet-slack/issues/22 and github.com/wee-slack/wee-slack/issues/893).
func placeholder(text string) bool {
	switch strings.TrimSpace(text) {
	case "This content can't be displayed.", "This message contains interactive elements.":
		return true
	}
	return false
}

func bounded(s string) string {
	if len(s) <= maxAttached { // a character has at least one byte
		return s
	}
	if runes := []rune(s); len(runes) > maxAttached {
		return string(runes[:maxAttached]) + "…"
	}
	return s
}

// quote returns the text of a forwarded message, or of the preview of one, and the line above it, which separates it
// from the person's own words. Slack does not document these attachments; their shape is seen in
// github.com/slackapi/java-slack-sdk/issues/1179 and github.com/slack-go/slack/pull/282.
func quote(kind string, a object) (head, body string) {
	found := blocks(a)
	for _, raw := range a.list("message_blocks") {
		o, _ := parseObject(raw)
		if message, ok := o.object("message"); ok {
			found = append(found, blocks(message)...)
		}
	}
	lines := append([]string{withBlocks(a.text("text"), found, true)}, fieldLines(a)...)
	body = cmp.Or(strings.TrimSpace(strings.Join(lines, "\n")), fallback(a))
	return chat.QuoteHead(kind, Escape(singleLine(a.text("author_name")))), chat.Unquoted(body)
}

// unfurled reports whether an attachment is the preview of a link, made by Slack or by an app. It is
// added after the message was posted.
func unfurled(a object) bool {
	return a.flag("is_msg_unfurl") || a.flag("is_app_unfurl") || a.text("from_url") != "" ||
		a.text("original_url") != ""
}

// attachmentLines returns what an attachment says, part by part
// (docs.slack.dev/reference/block-kit/blocks,
// docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments).
func attachmentLines(a object) []string {
	found := blocks(a)
	said := saidIn(joinBlocks(found))
	var lines []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !said.holds(s) {
			lines = append(lines, s)
		}
	}
	for _, key := range []string{"pretext", "author_name"} {
		add(a.text(key))
	}
	add(linked(a.text("title_link"), a.text("title")))
	add(a.text("text"))
	for _, field := range fieldLines(a) {
		add(field)
	}
	for _, b := range found {
		lines = append(lines, b.text)
	}
	for _, raw := range a.list("actions") {
		add(elementText(raw, maxNesting))
	}
	add(a.text("footer"))
	if len(lines) == 0 {
		add(fallback(a))
	}
	return lines
}

// fieldLines returns the fields of an attachment.
func fieldLines(a object) []string {
	var lines []string
	for _, raw := range a.list("fields") {
		field, _ := parseObject(raw)
		title, value := strings.TrimSpace(field.text("title")), strings.TrimSpace(field.text("value"))
		if title != "" && value != "" {
			title += ": "
		}
		if title+value != "" {
			lines = append(lines, title+value)
		}
	}
	return lines
}

// linked returns a label, in mrkdwn, as a link if it can be one.
func linked(address, label string) string {
	if label == "" || !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") ||
		strings.ContainsAny(address+label, "<>|\n") {
		return label
	}
	return "<" + address + "|" + label + ">"
}

// fallback returns the text of an attachment for clients that cannot show it. Slack's own placeholder
// says nothing.
func fallback(a object) string {
	if s := strings.TrimSpace(a.text("fallback")); s != "[no preview available]" && !placeholder(s) {
		return s
	}
	return ""
}
