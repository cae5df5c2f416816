package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// BeforeApply implements kong's BeforeApply. It refuses empty flags and arguments of every
// command. An empty value mostly comes from a shell variable that is not set. It would count as
// left out, and the command would apply to more than was meant.
func (c *commands) BeforeApply(parsed *kong.Context) error {
	left := parsed.Args
	for _, p := range parsed.Path {
		rest := p.Remainder()
		words := left[:max(len(left)-len(rest), 0)]
		left = rest
		switch {
		case p.Flag != nil && slices.ContainsFunc(words, emptyValue):
			return fmt.Errorf("--%s is empty: want a value, or leave the flag out", p.Flag.Name)
		case p.Positional != nil && slices.Contains(words, ""):
			return fmt.Errorf("<%s> is empty: want a value, or leave the argument out", p.Positional.Name)
		}
	}
	return nil
}

// emptyValue reports whether a word of a flag has an empty value. A word is --name, --name=value,
// or a value alone.
func emptyValue(word string) bool {
	_, value, joined := strings.Cut(word, "=")
	return word == "" || joined && value == "" && strings.HasPrefix(word, "-")
}
