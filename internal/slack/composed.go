package slack

import (
	"encoding/json"
	"strings"
)

// composed is what a message without text says in its blocks and attachments, as
// mrkdwn: one line for each part (docs.slack.dev/reference/block-kit/blocks,
// docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments).
func composed(o object) string {
	var lines []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			lines = append(lines, s)
		}
	}
	add(blocksText(o))
	for _, raw := range o.list("attachments") {
		a, ok := parseObject(raw)
		if !ok {
			continue
		}
		before := len(lines)
		for _, key := range []string{"pretext", "title", "text"} {
			add(a.text(key))
		}
		add(blocksText(a))
		if len(lines) == before {
			add(a.text("fallback"))
		}
	}
	return strings.Join(lines, "\n")
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

// maxNesting bounds the descent into blocks; Slack's own nest four deep.
const maxNesting = 10

// elementText is the text of a block or of an element inside one. It knows shapes, not
// types, so that a new type of block reads as well as it can.
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
	case "emoji":
		return ":" + o.text("name") + ":"
	case "link":
		if o.text("text") == "" {
			return "<" + o.text("url") + ">"
		}
		return "<" + o.text("url") + "|" + Escape(o.text("text")) + ">"
	case "text", "plain_text":
		return Escape(o.text("text"))
	}
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(o.text("text"))
	add(elementText(o["text"], depth-1))
	for _, key := range []string{"fields", "elements"} {
		for _, e := range o.list(key) {
			add(elementText(e, depth-1))
		}
	}
	separator := "\n"
	if strings.HasPrefix(o.text("type"), "rich_text_") && o.text("type") != "rich_text_list" {
		separator = "" // the runs of one paragraph
	}
	return strings.Join(parts, separator)
}
