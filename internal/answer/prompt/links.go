package prompt

import (
	"cmp"
	"html"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

var (
	// fencedPattern matches a fence of code at the left margin.
	fencedPattern = regexp.MustCompile("(?ms)^```[^`\n]*\n(.*?)^```[ \t]*$")
	// unsurePattern matches what another fence may begin or end with, or HTML. Where the text around
	// a fence has it, readers of Markdown disagree about what is code.
	unsurePattern = regexp.MustCompile("(?m)```|~~~|^[ \t>]*<[A-Za-z/!?]")
	// maskedPattern matches a link with a text in front of its address.
	maskedPattern = regexp.MustCompile(`!?\[([^\[\]\n]*)\]\(\s*<?([^\s<>()\[\]]*(?:\([^\s<>()\[\]]*\)[^\s<>()\[\]]*)*)>?(?:\s[^()]*)?\)`)
	// tokenPattern matches a link in Slack's own markup, which may be in code, too.
	tokenPattern = regexp.MustCompile(`<([^\s<>|@#!][^\s<>|]*)\|([^>\n]*)>`)
	// openerPattern matches where such a link begins.
	openerPattern = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9+.-]*:)`)
	// linkedPattern matches the addresses that Slack makes links of.
	linkedPattern = regexp.MustCompile(`^(?i:[a-z][a-z0-9+.-]*://|mailto:|tel:)`)
	// argumentsPattern matches the arguments of a call in code, such as x in f[i](x): no address.
	argumentsPattern = regexp.MustCompile(`^[A-Za-z0-9_ ,+*-]*$`)
	// hostPattern matches a host in the text of a link, or what looks like one: a name, one with a port, an
	// address in numbers, and whatever follows a scheme.
	hostPattern = regexp.MustCompile(`://+([^\s/?#]+)|[\pL\pN-]+(?:\.[\pL\pN-]+)*\.\pL{2,}|(?:\d{1,3}\.){3}\d{1,3}|0x[0-9a-fA-F]{2,}|\b\d{9,10}\b|\pL[\pL\pN-]*(:\d{2,5})`)
	// schemePattern matches what people often leave out of an address.
	schemePattern = regexp.MustCompile(`^(?i:https?://|mailto:|tel:)`)
	// disjoint takes all links of Markdown apart.
	disjoint = strings.NewReplacer("](", "] (", "]:", "] :")
)

// maxReveals bounds how deep links are revealed that stand within links.
const maxReveals = 4

// revealLinks rewrites the links in a model's Markdown that hide where they lead: the address then
// follows the text in brackets. A link stays if its text is its address, or if somebody has written the
// address and the text names no other host. Slack's own form of a link never stays.
//
// Without this, a message with instructions for the model could have it put what it has read into
// an address behind a harmless text. Whoever follows the link would send it there.
func revealLinks(text string, written func(address string) bool) string {
	for range maxReveals {
		revealed := revealOnce(text, written)
		if revealed == text {
			return text
		}
		text = revealed // a link may have become visible in what stood around another
	}
	return disjoint.Replace(text)
}

func revealOnce(text string, written func(address string) bool) string {
	var b strings.Builder
	last := 0
	for _, code := range fencedPattern.FindAllStringSubmatchIndex(text, -1) {
		if unsurePattern.MatchString(text[last:code[0]]) || strings.Contains(text[code[2]:code[3]], "```") {
			break // the rest is not code for every reader
		}
		b.WriteString(revealInProse(text[last:code[0]], written))
		b.WriteString(revealTokens(text[code[0]:code[1]], true))
		last = code[1]
	}
	b.WriteString(revealInProse(text[last:], written))
	return b.String()
}

// revealTokens rewrites links in Slack's own markup: in code with the address behind the text, and
// elsewhere as Markdown. What Slack makes no link of stays, as in Map<a|b>.
func revealTokens(s string, coded bool) string {
	return tokenPattern.ReplaceAllStringFunc(s, func(token string) string {
		m := tokenPattern.FindStringSubmatch(token)
		address, label := m[1], openerPattern.ReplaceAllString(strings.TrimSpace(m[2]), "$1")
		switch {
		case !linkedPattern.MatchString(address):
			return token
		case !coded && !strings.ContainsAny(address+label, "[]"):
			return "[" + label + "](" + address + ")"
		}
		return besides(label, address)
	})
}

// besides returns an address behind a text.
func besides(label, address string) string {
	if label == "" {
		return address
	}
	return label + " (" + address + ")"
}

func revealInProse(prose string, written func(address string) bool) string {
	prose = revealTokens(prose, false)
	var b strings.Builder
	last := 0
	for _, m := range maskedPattern.FindAllStringSubmatchIndex(prose, -1) {
		label, address := strings.TrimSpace(prose[m[2]:m[3]]), prose[m[4]:m[5]]
		if argumentsPattern.MatchString(address) {
			continue
		}
		b.WriteString(separateAddresses(prose[last:m[0]]))
		last = m[1]
		bare := schemePattern.ReplaceAllString(address, "")
		if schemePattern.ReplaceAllString(label, "") == bare && strings.ContainsAny(bare, "./@") || written(address) &&
			honest(label, address) {
			b.WriteString("[" + label + "](" + address + ")") // without a title, in which a reader may see the address
		} else {
			b.WriteString(besides(label, address))
		}
	}
	b.WriteString(separateAddresses(prose[last:]))
	return b.String()
}

// separateAddresses puts a space between a closing bracket and an address behind it. That breaks
// the forms of links that maskedPattern does not know, such as those with brackets in a text or title, and
// definitions of addresses that links elsewhere refer to (spec.commonmark.org/0.31.2/#links,
// #link-reference-definitions).
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
		rest := s[1:min(len(s), most)]
		if s[0] == '(' {
			if inner, _, closed := strings.Cut(rest, ")"); !closed || !argumentsPattern.MatchString(inner) {
				b.WriteByte(' ')
			}
			continue
		}
		first := strings.TrimLeft(rest, " \t\n<")
		if end := strings.IndexAny(first, " \t\n"); end >= 0 && !strings.HasPrefix(strings.TrimLeft(rest, " \t\n"),
			"<") {
			first = first[:end]
		}
		if first = readable(first); strings.ContainsAny(first, `:&\`) || strings.Contains(first, "//") ||
			hostPattern.MatchString(first) {
			b.WriteByte(' ')
			s = strings.TrimLeft(s[1:], " ")
		}
	}
}

// honest reports whether the text of a link names only the host of its address, or a parent domain of it, in
// whatever spelling.
func honest(label, address string) bool {
	var host string
	if u, err := url.Parse(address); err == nil {
		host = "." + strings.ToLower(u.Hostname())
	}
	for _, m := range hostPattern.FindAllStringSubmatch(readable(label), -1) {
		if named := strings.ToLower(cmp.Or(m[1], m[0])); m[2] != "" || !strings.HasSuffix(host, "."+named) {
			return false
		}
	}
	return true
}

// readable is a text as people and browsers read it: without Markdown's marks and escapes, entities and encoded
// bytes as characters, and each dot, slash and colon of another script as that of ASCII.
func readable(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		s = decoded
	}
	return spellings.Replace(norm.NFKC.String(html.UnescapeString(s)))
}

// spellings are what people and browsers take for another character, and marks that nobody sees
// (unicode.org/reports/tr46/#Notation).
var spellings = strings.NewReplacer("*", "", "`", "", "\\", "", "~", "", "_", "", "。", ".", "｡", ".", "۔", ".", "․",
	".", "∶", ":", "∕", "/", "⁄", "/", "⧸", "/")
