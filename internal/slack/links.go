package slack

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	// fencedPattern is code that every reader of Markdown takes for code: less of it than there
	// may be, so that no link passes for some.
	fencedPattern = regexp.MustCompile("(?m)^```[^`\n]*\n(?s:.*?)```")
	// maskedPattern is a link with a text in front of its address, or one in Slack's own markup.
	maskedPattern = regexp.MustCompile(`!?\[([^\[\]\n]*)\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s[^()]*)?\)|<([^\s<>|]+)\|([^<>]*)>`)
	// hostPattern is a host in the text of a link, or what looks like one.
	hostPattern = regexp.MustCompile(`[\pL\pN-]+(?:\.[\pL\pN-]+)*\.\pL{2,}`)
	// schemePattern is what is often left out of an address that people are to read.
	schemePattern = regexp.MustCompile(`^(?i:https?://|mailto:|tel:)`)
)

// Open is a model's Markdown without links that hide where they lead. A link stays if it shows
// its address, or if that is known and its text names no other host; of any other the address
// stands in brackets behind the text. Who has the model write instructions of theirs could else
// have it put what it has read into an address behind a harmless text, for whoever follows it
// to send.
func Open(text string, known func(address string) bool) string {
	var b strings.Builder
	last := 0
	for _, code := range fencedPattern.FindAllStringIndex(text, -1) {
		b.WriteString(open(text[last:code[0]], known))
		b.WriteString(text[code[0]:code[1]])
		last = code[1]
	}
	b.WriteString(open(text[last:], known))
	return b.String()
}

func open(prose string, known func(address string) bool) string {
	var b strings.Builder
	last := 0
	for _, m := range maskedPattern.FindAllStringSubmatchIndex(prose, -1) {
		group := func(i int) string { return prose[max(m[2*i], 0):max(m[2*i+1], 0)] }
		label, address := strings.TrimSpace(group(1)+group(4)), group(2)+group(3)
		if !strings.ContainsAny(address, `./:&\`) {
			continue // as in f[i](x)
		}
		b.WriteString(parted(prose[last:m[0]]))
		last = m[1]
		switch bare := schemePattern.ReplaceAllString(address, ""); {
		case schemePattern.ReplaceAllString(label, "") == bare, (known(address) || known(bare)) && honest(label, address):
			b.WriteString(kept(group(0), label, address))
		case label == "":
			b.WriteString(address)
		default:
			b.WriteString(label + " (" + address + ")")
		}
	}
	b.WriteString(parted(prose[last:]))
	return b.String()
}

// parted is text in which nothing in brackets is joined to an address, be it in one of the forms
// of a link that maskedPattern does not know, or where an address is given to links elsewhere
// (spec.commonmark.org/0.31.2/#links, #link-reference-definitions).
func parted(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "]")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte(']')
		s = after
		if s == "" || s[0] != '(' && s[0] != ':' {
			continue
		}
		const most = 200 // in which an address has shown that it is one
		first := strings.TrimLeft(s[1:], " \t\n<")
		first = first[:min(len(first), most)]
		if end := strings.IndexAny(first, " \t\n)"); end >= 0 {
			first = first[:end]
		}
		switch {
		case s[0] == '(' && strings.ContainsAny(first, `./:&\`):
			b.WriteByte(' ')
		case s[0] == ':' && (strings.ContainsAny(first, ":&") || strings.Contains(first, "//")):
			b.WriteByte(' ')
			s = strings.TrimLeft(s[1:], " ")
		}
	}
}

// kept is a link as it was, without what else stood beside its address: some of that may be
// part of it.
func kept(link, label, address string) string {
	if strings.HasPrefix(link, "<") {
		return link
	}
	return "[" + label + "](" + address + ")"
}

// honest reports whether the text of a link names no host but the address's, or a domain that it is in.
func honest(label, address string) bool {
	var host string
	if u, err := url.Parse(address); err == nil {
		host = "." + strings.ToLower(u.Hostname())
	}
	for _, named := range hostPattern.FindAllString(label, -1) {
		if !strings.HasSuffix(host, "."+strings.ToLower(named)) {
			return false
		}
	}
	return true
}
