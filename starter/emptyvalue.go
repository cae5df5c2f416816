package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// BeforeApply is kong's way to look at a command line before anything of it counts. What is
// given and empty is refused, whatever command it is given to: it is mostly a variable of
// the shell that is not set, and would stand for an argument that was left out, which
// names more than was meant.
func (c *commands) BeforeApply(parsed *kong.Context) error {
	left := parsed.Args
	for _, p := range parsed.Path {
		rest := p.Remainder()
		words := left[:max(len(left)-len(rest), 0)]
		left = rest
		switch {
		case p.Flag != nil && slices.ContainsFunc(words, emptyValue):
			return fmt.Errorf("--%s is given and empty", p.Flag.Name)
		case p.Positional != nil && slices.Contains(words, ""):
			return fmt.Errorf("<%s> is given and empty", p.Positional.Name)
		}
	}
	return nil
}

// emptyValue reports whether a word of a flag, --name=value or a value by itself, has an empty value.
func emptyValue(word string) bool {
	_, value, joined := strings.Cut(word, "=")
	return word == "" || joined && value == "" && strings.HasPrefix(word, "-")
}
