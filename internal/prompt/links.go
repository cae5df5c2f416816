package prompt

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	// fencedPattern matches only code that every reader of Markdown takes for code, so that no
	// link passes for code.
	fencedPattern = regexp.MustCompile("(?m)^```[^`\n]*\n(?s:.*?)```")
	// maskedPattern matches a link with a text in front of its address, or one in Slack's own markup.
	maskedPattern = regexp.MustCompile(`!?\[([^\[\]\n]*)\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s[^()]*)?\)|<([^\s<>|]+)\|([^<>]*)>`)
	// hostPattern matches a host in the text of a link, or what looks like one.
	hostPattern = regexp.MustCompile(`[\pL\pN-]+(?:\.[\pL\pN-]+)*\.\pL{2,}`)
	// schemePattern matches what people often leave out of an address.
	schemePattern = regexp.MustCompile(`^(?i:https?://|mailto:|tel:)`)
)

// revealLinks rewrites the links in a model's Markdown that hide where they lead: the address then
// follows the text in brackets. A link stays if its text is its address, or if the address is known
// and the text names no other host.
//
// Without this, a message with instructions for the model could have it put what it has read into
// an address behind a harmless text. Whoever follows the link would send it there.
func revealLinks(text string, known func(address string) bool) string {
	var b strings.Builder
	last := 0
	for _, code := range fencedPattern.FindAllStringIndex(text, -1) {
		b.WriteString(revealInProse(text[last:code[0]], known))
		b.WriteString(text[code[0]:code[1]])
		last = code[1]
	}
	b.WriteString(revealInProse(text[last:], known))
	return b.String()
}

func revealInProse(prose string, known func(address string) bool) string {
	var b strings.Builder
	last := 0
	for _, m := range maskedPattern.FindAllStringSubmatchIndex(prose, -1) {
		group := func(i int) string { return prose[max(m[2*i], 0):max(m[2*i+1], 0)] }
		label, address := strings.TrimSpace(group(1)+group(4)), group(2)+group(3)
		if !strings.ContainsAny(address, `./:&\`) {
			continue // as in f[i](x)
		}
		b.WriteString(separateAddresses(prose[last:m[0]]))
		last = m[1]
		switch bare := schemePattern.ReplaceAllString(address, ""); {
		case schemePattern.ReplaceAllString(label, "") == bare, (known(address) || known(bare)) && honest(label, address):
			b.WriteString(bareLink(group(0), label, address))
		case label == "":
			b.WriteString(address)
		default:
			b.WriteString(label + " (" + address + ")")
		}
	}
	b.WriteString(separateAddresses(prose[last:]))
	return b.String()
}

// separateAddresses puts a space between a closing bracket and an address behind it. That breaks
// the forms of links that maskedPattern does not know, and definitions of addresses that links
// elsewhere refer to (spec.commonmark.org/0.31.2/#links, #link-reference-definitions).
func separateAddresses(s string) string {
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
		const most = 200 // bytes, enough to recognise an address
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

// bareLink returns a link without the title after its address. A Markdown reader may take a part of the
// title for the address.
func bareLink(link, label, address string) string {
	if strings.HasPrefix(link, "<") {
		return link
	}
	return "[" + label + "](" + address + ")"
}

// honest reports whether the text of a link names only the host of its address, or a parent domain of it.
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
