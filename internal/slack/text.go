package slack

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"myao/internal/chat"
)

// maxAttached bounds, in characters, the text taken from a message's blocks, and that taken from its
// attachments. Slack truncates a text there, too
// (docs.slack.dev/reference/methods/chat.postMessage#truncating).
const maxAttached = 40_000

// text returns what a message says, as mrkdwn: its text, and what blocks and attachments add.
//
//   - Apps often leave the text empty and write blocks; then the blocks are the text.
//   - A person's attachments are previews of links, and add nothing. Forwarded messages and pasted
//     tables are attachments, too, and are added.
//   - A table is never in the text, except in our own messages: there the blocks are made of the text.
//   - Attachments never mention the bot. A forwarded message was not addressed to it here.
func (r reader) text(o object, by chat.Message) string {
	text := o.text("text")
	var lines []string
	var holds func(part string) bool
	add := func(part string) {
		if holds == nil {
			holds = wholeLines(text)
		}
		if !holds(part) { // for notifications, the text is often the same
			lines = append(lines, part)
		}
	}
	switch {
	case placeholder(text), by.ByBot() && strings.TrimSpace(text) == "":
		if blocks := bounded(blocksText(o)); blocks != "" || by.ByBot() {
			text = blocks
		}
	case !by.Own:
		for _, table := range tables(o) {
			add(table)
		}
	}
	for _, raw := range o.list("attachments") {
		a, ok := parseObject(raw)
		switch {
		case !ok:
		case a.flag("is_share"):
			lines = append(lines, forwarded(a))
		case unfurled(a):
		case by.ByBot():
			for _, line := range attachmentLines(a) {
				add(line)
			}
		default:
			for _, table := range tables(a) {
				add(table)
			}
		}
	}
	if len(lines) == 0 {
		return unforged(text)
	}
	text = unforged(text)
	attached := chat.Unmention(bounded(strings.Join(lines, "\n")), r.id.UserID, Escape(cmp.Or(r.id.Name, "bot")))
	if strings.TrimSpace(text) == "" {
		return attached
	}
	return text + "\n" + attached
}

// wholeLines returns a function that reports whether a part is whole lines of a text. An attachment can
// have thousands of parts. Most are decided by their first line, without searching the text.
func wholeLines(text string) func(part string) bool {
	whole, lines := "\n"+text+"\n", map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		lines[line] = true
	}
	return func(part string) bool {
		first, _, more := strings.Cut(part, "\n")
		return lines[first] && (!more || strings.Contains(whole, "\n"+part+"\n"))
	}
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

// forwarded returns the text of a forwarded message, after a line that separates it from the person's
// own words. Slack does not document this attachment; its shape is seen in
// github.com/slackapi/java-slack-sdk/issues/1179.
func forwarded(a object) string {
	body := strings.TrimSpace(a.text("text"))
	if body == "" || placeholder(body) {
		var lines []string
		for _, raw := range a.list("message_blocks") {
			o, _ := parseObject(raw)
			if message, ok := o.object("message"); ok {
				lines = append(lines, blocksText(message))
			}
		}
		body = strings.TrimSpace(strings.Join(lines, "\n"))
	}
	if body == "" {
		body = fallback(a)
	}
	head := "[forwarded message]"
	if author := singleLine(a.text("author_name")); author != "" {
		head = "[forwarded message by " + Escape(author) + "]"
	}
	return strings.TrimSpace(head + "\n" + unforged(body))
}

var forgedHead = regexp.MustCompile(`(?mi)^(\s*)\[(forwarded message\b)`)

// unforged marks lines of a text that look like the one that is put above a forwarded message.
func unforged(text string) string { return forgedHead.ReplaceAllString(text, `$1\[$2`) }

// unfurled reports whether an attachment is the preview of a link, made by Slack or by an app. It is
// added after the message was posted.
func unfurled(a object) bool {
	return a.flag("is_msg_unfurl") || a.flag("is_app_unfurl") || a.text("from_url") != "" || a.text("original_url") != ""
}

// attachmentLines returns what an attachment says, part by part
// (docs.slack.dev/reference/block-kit/blocks,
// docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments).
func attachmentLines(a object) []string {
	var lines []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			lines = append(lines, s)
		}
	}
	for _, key := range []string{"pretext", "title", "text"} {
		add(a.text(key))
	}
	for _, raw := range a.list("fields") {
		field, _ := parseObject(raw)
		title, value := strings.TrimSpace(field.text("title")), strings.TrimSpace(field.text("value"))
		if title != "" && value != "" {
			title += ": "
		}
		add(title + value)
	}
	add(blocksText(a))
	if len(lines) == 0 {
		add(fallback(a))
	}
	return lines
}

// fallback returns the text of an attachment for clients that cannot show it. Slack's own placeholder
// says nothing.
func fallback(a object) string {
	if s := strings.TrimSpace(a.text("fallback")); s != "[no preview available]" && !placeholder(s) {
		return s
	}
	return ""
}

func blocksText(o object) string {
	var lines []string
	for _, raw := range o.list("blocks") {
		if s := strings.TrimSpace(elementText(raw, maxNesting)); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// tables returns the text of the tables among the blocks of a message or attachment. What somebody
// pastes from a spreadsheet is only in a block of an attachment
// (seen in github.com/vercel/chat/issues/803).
func tables(o object) []string {
	var found []string
	for _, raw := range o.list("blocks") {
		block, _ := parseObject(raw)
		if block["rows"] == nil {
			continue
		}
		if s := strings.TrimSpace(elementText(raw, maxNesting)); s != "" {
			found = append(found, s)
		}
	}
	return found
}

// maxNesting bounds the descent into blocks. Slack's own blocks nest four deep.
const maxNesting = 10

// elementText returns the text of a block or of an element inside one. It goes by shape, not by type,
// so that it can read new types of blocks, too.
func elementText(raw json.RawMessage, depth int) string {
	o, ok := parseObject(raw)
	if !ok || depth == 0 {
		return ""
	}
	switch o.text("type") {
	case "user":
		return "<@" + o.text("user_id") + ">"
	case "channel":
		return "<#" + o.text("channel_id") + ">"
	case "usergroup":
		return "<!subteam^" + o.text("usergroup_id") + ">"
	case "broadcast":
		return "<!" + o.text("range") + ">"
	case "date":
		return date(o)
	case "emoji":
		return ":" + o.text("name") + ":"
	case "link":
		if o.text("text") == "" {
			return "<" + o.text("url") + ">"
		}
		return "<" + o.text("url") + "|" + Escape(o.text("text")) + ">"
	case "text", "plain_text", "raw_text":
		return Escape(o.text("text"))
	case "raw_number":
		var value json.Number
		o.decode("value", &value)
		return cmp.Or(Escape(o.text("text")), value.String())
	}
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(o.text("text"))
	add(elementText(o["text"], depth-1))
	add(elementText(o["title"], depth-1))
	for _, key := range []string{"caption", "alt_text"} {
		add(Escape(o.text(key)))
	}
	for _, cells := range o.list("rows") {
		add(row(cells, depth-1))
	}
	for _, key := range []string{"fields", "elements"} {
		for _, e := range o.list(key) {
			add(elementText(e, depth-1))
		}
	}
	separator := "\n"
	if strings.HasPrefix(o.text("type"), "rich_text_") && o.text("type") != "rich_text_list" {
		separator = "" // runs of one paragraph
	}
	return strings.Join(parts, separator)
}

// date returns a moment in Slack's markup, where a bar ends the format
// (docs.slack.dev/reference/block-kit/block-elements/date-element).
func date(o object) string {
	fallback := Escape(singleLine(o.text("fallback")))
	at := o.unix("timestamp")
	if at.IsZero() {
		return fallback
	}
	format := Escape(singleLine(strings.ReplaceAll(o.text("format"), "|", " ")))
	return "<!date^" + strconv.FormatInt(at.Unix(), 10) + "^" + format + "|" + fallback + ">"
}

// row returns one row of a table, on one line; "" if all cells are empty
// (docs.slack.dev/reference/block-kit/blocks/table-block,
// docs.slack.dev/reference/block-kit/blocks/data-table-block).
func row(raw json.RawMessage, depth int) string {
	var cells []json.RawMessage
	if json.Unmarshal(raw, &cells) != nil {
		return ""
	}
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = strings.Join(strings.Fields(elementText(cell, depth)), " ")
	}
	if strings.Join(texts, "") == "" {
		return ""
	}
	return strings.TrimSpace(strings.Join(texts, " | "))
}
