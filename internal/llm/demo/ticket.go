package demo

import (
	"regexp"
	"strings"

	"myao/internal/llm"
)

// The ends of the names of a ticket desk's tools, which an MCP server has.
const (
	createSuffix = "__create_ticket"
	findSuffix   = "__find_tickets"
)

var (
	// createPatterns have a group for the title.
	createPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:open|create|file|make|write) (?:a|another|one|the) (?:new )?ticket(?: for| about| on| that|:) *(.+)`),
		regexp.MustCompile(`(?:^|\n|、)([^\n、]+?)(?:について|に関する|のための)?(?:の|という)?チケットを(?:作|作成|切|起票|発行)`),
	}
	// findPatterns have a group for what the tickets are about, which may be empty.
	findPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:which|what|any|list|show|find|are there)\b[^\n]*?\btickets?\b(?:[^\n]*?\b(?:about|for|on) ([^\n?.!]+))?`),
		regexp.MustCompile(`(?:^|\n|、)(?:([^\n、]+?)(?:についての|に関する|の))?チケットは`),
	}
)

// ticketAsked is what a message asks a ticket desk for, if the desk's tool is among those that are offered.
func ticketAsked(text string, offered []llm.Tool) asked {
	text = calledBy.ReplaceAllString(text, "")
	for _, rule := range []struct {
		suffix, key string
		patterns    []*regexp.Regexp
	}{{createSuffix, "title", createPatterns}, {findSuffix, "text", findPatterns}} {
		for _, t := range offered {
			if !strings.HasSuffix(t.Name, rule.suffix) {
				continue
			}
			for _, p := range rule.patterns {
				if m := p.FindStringSubmatch(text); m != nil {
					return asked{tool: t.Name, key: rule.key, what: quote(closing.ReplaceAllString(m[1], ""))}
				}
			}
		}
	}
	return asked{}
}

// actedHeadings begin the section about an approved call, after everything else in the system text; the
// value is set for the Japanese one.
var actedHeadings = map[string]bool{"\n## What you proposed, and what came of it\n": false, "\n## 提案したことと、その結果\n": true}

// actedCall matches the call in that section and what it returned; an instruction follows.
var actedCall = regexp.MustCompile(`(?s)\n### (\S+)[^\n]*\n\n(.*)\n\n[^\n]+\n*$`)

// acted tells of the approved call that the reply is about; "" for any other reply.
func acted(system string) string {
	for heading, ja := range actedHeadings {
		if at := strings.LastIndex(system, heading); at >= 0 {
			if m := actedCall.FindStringSubmatch(system[at:]); m != nil {
				return answeredBy(m[1], strings.TrimSpace(m[2]), ja)
			}
		}
	}
	return ""
}
