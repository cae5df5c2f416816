package slack

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// block is the text of a block of a message or attachment.
type block struct {
	text string
	// table is set if it has rows, composed if it is what a person has written in Slack's composer, or may be.
	table, composed bool
}

// blocks reads the blocks that have a text.
func blocks(o object) []block {
	var found []block
	for _, raw := range o.list("blocks") {
		if s := strings.TrimSpace(elementText(raw, maxNesting)); s != "" {
			b, _ := parseObject(raw)
			found = append(found, block{text: s, table: b["rows"] != nil, composed: b.text("type") == "rich_text"})
		}
	}
	return found
}

func joinBlocks(found []block) string {
	lines := make([]string, len(found))
	for i, b := range found {
		lines[i] = b.text
	}
	return strings.Join(lines, "\n")
}

// maxNesting bounds the descent into blocks. Slack's own blocks nest four deep.
const maxNesting = 10

// shown are the fields of blocks and their elements that hold what people see, in the order in which they see it: a
// text, an element or a list of elements. Menus show their options only when somebody opens them.
var shown = []string{
	"title", "subtitle", "author_name", "provider_name", "text", "caption", "label", "description", "body", "rows",
	"fields", "elements", "child_blocks", "tasks", "details", "output", "sources", "chart", "segments", "name",
	"series",
	"data", "accessory", "element", "placeholder", "initial_option", "hero_image", "actions", "hint",
}

// elementText returns the text of a block or of an element inside one. It goes by shape, not by type,
// so that it can read new types of blocks, too (docs.slack.dev/reference/block-kit/blocks).
func elementText(raw json.RawMessage, depth int) string {
	o, ok := parseObject(raw)
	if !ok || depth == 0 {
		return ""
	}
	kind := o.text("type")
	switch kind {
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
	case "color":
		return Escape(o.text("value"))
	case "link", "url":
		if o.text("text") == "" {
			return "<" + o.text("url") + ">"
		}
		return "<" + o.text("url") + "|" + Escape(o.text("text")) + ">"
	case "text", "plain_text", "raw_text":
		return Escape(o.text("text"))
	case "raw_number":
		return cmp.Or(Escape(o.text("text")), o.number("value"))
	case "button", "workflow_button":
		return linked(o.text("url"), cmp.Or(elementText(o["text"], depth-1), Escape(o.text("text"))))
	case "icon":
		return ""
	}
	if label, value := o.text("label"), o.number("value"); label != "" && value != "" {
		return Escape(label) + ": " + value // of a chart
	}
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	for _, key := range shown {
		for _, s := range o.shown(key, depth-1) {
			add(s)
		}
	}
	if kind == "checkboxes" || kind == "radio_buttons" {
		for _, option := range o.list("options") {
			add(elementText(option, depth-1))
		}
	}
	if alt := Escape(o.text("alt_text")); !strings.Contains(strings.Join(parts, "\n"), alt) {
		add(alt)
	}
	switch {
	case kind == "rich_text_list":
		return listItems(o, parts)
	case strings.HasPrefix(kind, "rich_text_"):
		return strings.Join(parts, "") // runs of one paragraph
	}
	return strings.Join(parts, "\n")
}

// shown returns the texts in a field that people see.
func (o object) shown(key string, depth int) []string {
	if key == "title" && o["rich_text_title"] != nil {
		key = "rich_text_title" // it takes precedence
	}
	if key == "text" {
		if s := o.text(key); s != "" {
			return []string{s} // mrkdwn
		}
	}
	if key == "name" && o["data"] == nil { // people see the name of a series, not that of a field
		return nil
	}
	if s := o.text(key); s != "" {
		return []string{Escape(s)}
	}
	if _, ok := o.object(key); ok {
		return []string{elementText(o[key], depth)}
	}
	var found []string
	for _, e := range o.list(key) {
		if key == "rows" {
			found = append(found, row(e, depth))
		} else {
			found = append(found, elementText(e, depth))
		}
	}
	return found
}

// listItems returns the items of a list as Slack writes them in a text.
func listItems(o object, items []string) string {
	indent, _ := o.count("indent")
	number, _ := o.count("offset")
	lines := make([]string, len(items))
	for i, item := range items {
		mark := ""
		switch o.text("style") {
		case "bullet":
			mark = "• "
		case "ordered":
			mark = strconv.Itoa(number+i+1) + ". "
		}
		lines[i] = strings.Repeat("    ", min(indent, 8)) + mark + item
	}
	return strings.Join(lines, "\n")
}

// number returns a field with a number as it is written; "" if it is absent or no number.
func (o object) number(key string) string {
	var n json.Number
	if !o.decode(key, &n) {
		return ""
	}
	return n.String()
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
