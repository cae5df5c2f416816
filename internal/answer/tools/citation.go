package tools

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"myao/internal/slack"
)

// Reference names a message among the results of tools.
type Reference struct{ Channel, TS string }

// mark encloses a reference in a result. No text of a person has this character.
const mark = "\x01"

// Mark is the marker of a message in a rendered result. Number replaces it.
func (r Reference) Mark() string { return mark + r.Channel + "/" + r.TS + mark }

// Whole removes from the end of a text the beginning of a marker, or of an address, that was cut.
func Whole(text string) string {
	if strings.Count(text, mark)%2 == 1 {
		return text[:strings.LastIndex(text, mark)]
	}
	return withoutCutAddress(text)
}

var marked = regexp.MustCompile(mark + `([A-Z0-9]+)/([0-9.]+)` + mark)

// References are the messages in a result, as their markers name them.
func References(result string) (found []Reference) {
	for _, m := range marked.FindAllStringSubmatch(result, -1) {
		found = append(found, Reference{m[1], m[2]})
	}
	return found
}

// Number replaces the markers in results by numbers in brackets, counted from 1 over all results: a
// message that appears twice keeps its number. cited has the message of number n at n-1. More
// results after these leave the numbers as they are.
func Number(results []string) (numbered []string, cited []Reference) {
	numbers := map[Reference]int{}
	for _, text := range results {
		numbered = append(numbered, marked.ReplaceAllStringFunc(text, func(s string) string {
			r := References(s)[0]
			if numbers[r] == 0 {
				cited = append(cited, r)
				numbers[r] = len(cited)
			}
			return "[" + strconv.Itoa(numbers[r]) + "]"
		}))
		numbered[len(numbered)-1] = strings.ReplaceAll(numbered[len(numbered)-1], mark, "") // of a marker that was cut
	}
	return numbered, cited
}

// citation matches the numbers that a model writes, alone or several in one pair of brackets or
// in adjacent pairs, and the characters around them, which tell a link from a citation.
var citation = regexp.MustCompile(`[^!]?(?:\[\d{1,3}(?:\s*[,、]\s*\d{1,3})*\])+[(\[:]?`)

// Link turns the citations of a reply into links, except in code. link returns the address of a
// message, or "": then the number is removed, since it would lead nowhere. A number that no message
// has stays as it is.
func Link(reply string, cited []Reference, link func(Reference) string) string {
	return slack.RewriteAround(reply, slack.FindCode(reply), func(code string) string { return code },
		func(prose string) string {
			return citation.ReplaceAllStringFunc(prose, func(found string) string { return linked(found, cited, link) })
		})
}

// Cited are the messages whose numbers a reply has, each once.
func Cited(reply string, cited []Reference) []Reference {
	var used []Reference
	Link(reply, cited, func(r Reference) string {
		if !slices.Contains(used, r) {
			used = append(used, r)
		}
		return ""
	})
	return used
}

// linked is one match of citation with its numbers as links.
func linked(found string, cited []Reference, link func(Reference) string) string {
	open, end := strings.Index(found, "["), strings.LastIndex(found, "]")+1
	before, after := found[:open], found[end:]
	if after == "(" || after == "[" || after == ":" && (before == "" || before == "\n") {
		return found // a link, or the definition of one
	}
	var links []string
	for _, s := range strings.FieldsFunc(found[open:end], func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > len(cited) {
			return found
		}
		if address := link(cited[n-1]); address != "" {
			links = append(links, "[["+s+"]]("+address+")")
		}
	}
	return strings.TrimRight(before, spaceIf(len(links) == 0)) + strings.Join(links, " ") + after
}

// spaceIf is a space if a citation is removed: the one before it goes, too.
func spaceIf(removed bool) string {
	if removed {
		return " "
	}
	return ""
}
