package slack

import (
	"regexp"
	"strings"
)

// said is what a text says, so that the same is found in another text with other markup: Slack and apps make the text
// of a message from its blocks, or the other way round, and each has its own way with styles, lists and emoji.
type said struct {
	text string
	// words are those that people see, each between spaces.
	words string
	// targets are the ids of mentions and the addresses of links.
	targets map[string]bool
}

var (
	markupToken = regexp.MustCompile(`<([^<>\n]+)>`)
	emojiCode   = regexp.MustCompile(`:[\p{L}_+'-][\p{L}\p{N}_+'-]*:`)
	entities    = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	styles      = strings.NewReplacer("*", "", "_", "", "~", "", "`", "")
)

// saidIn reads what a text in mrkdwn says.
func saidIn(text string) said {
	s := said{text: text, targets: map[string]bool{}}
	shown := text
	if strings.Contains(text, "<") { // expressions are slow, and a long message may have thousands of parts
		shown = s.withoutMarkup(text)
	}
	var words strings.Builder
	words.WriteByte(' ')
	for line := range strings.SplitSeq(entities.Replace(shown), "\n") {
		line = strings.TrimLeft(line, "> ") // a quote
		if strings.Contains(line, ":") {
			line = emojiCode.ReplaceAllString(line, " ")
		}
		for word := range strings.FieldsSeq(styles.Replace(line)) {
			if word = strings.Trim(word, `.,:;!?…"'()[]{}|•◦▪`); strings.Trim(word, "#") != "" && word != "-" &&
				word != "–" && word != "—" {
				words.WriteString(word)
				words.WriteByte(' ')
			}
		}
	}
	s.words = words.String()
	return s
}

// withoutMarkup is a text as people see it. It notes what mentions and links lead to.
func (s said) withoutMarkup(text string) string {
	return markupToken.ReplaceAllStringFunc(text, func(token string) string {
		target, label, _ := strings.Cut(token[1:len(token)-1], "|")
		target = entities.Replace(target)
		if strings.HasPrefix(target, "!date^") {
			return label
		}
		s.targets[target] = true
		switch {
		case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"), strings.HasPrefix(target, "!"):
			return target
		case label == "":
			return target
		}
		return label
	})
}

// holds reports whether a part of the text says the same as another one, which may be cut off with an ellipsis.
func (s said) holds(part string) bool {
	other := saidIn(part)
	for target := range other.targets {
		if !s.targets[target] {
			return false
		}
	}
	words := other.words
	if words == " " {
		return strings.Contains(s.text, strings.TrimSpace(part))
	}
	if end := strings.TrimSpace(part); strings.HasSuffix(end, "…") || strings.HasSuffix(end, "...") {
		words = strings.TrimSuffix(words, " ")
	}
	return strings.Contains(s.words, words)
}

// mentions reports whether the text mentions everybody whom another one mentions.
func (s said) mentions(part string) bool {
	for target := range saidIn(part).targets {
		if (target[0] == '@' || target[0] == '!') && !s.targets[target] {
			return false
		}
	}
	return true
}
