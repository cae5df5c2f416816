package cli

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// An empty value mostly comes from an unset shell variable. It must never count as a value that was
// left out.
func TestEmptyValuesAreRefused(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if status := run(t.Context(), args, &out, &out); status != 2 || !strings.Contains(out.String(), says) {
			t.Errorf("%q: status %d, want 2 and %q: %s", args, status, says, &out)
		}
	}
	for _, command := range parser.Model.Leaves(false) {
		name := strings.Fields(command.Path())
		for _, group := range command.AllFlags(false) {
			for _, flag := range group {
				says := "--" + flag.Name + " is empty"
				switch {
				case flag.IsBool():
					continue
				case flag.Target.CanInt(), flag.Target.CanUint(), flag.Target.CanFloat(), flag.Target.Type() == reflect.TypeFor[*int]():
					says = "--" + flag.Name + ": expected" // a number, or a duration: kong says so itself
				}
				refused(says, slices.Concat(name, []string{"--" + flag.Name, ""})...)
				refused(says, slices.Concat(name, []string{"--" + flag.Name + "="})...)
			}
		}
		for i, arg := range command.Positional {
			before := slices.Repeat([]string{"1700000000.000100"}, i)
			refused("<"+arg.Name+"> is empty", slices.Concat(name, before, []string{""})...)
		}
	}
	refused("--message is empty", "memory", "forget", "random", "--message", "", "--message", "1700000000.000100")
	refused("<thread> is empty", "memory", "forget", "--", "random", "")

	var out bytes.Buffer
	if status := run(t.Context(), []string{"mute", "", "--help"}, &out, &out); status != 0 || !strings.Contains(out.String(), "starter mute general") {
		t.Errorf("help: status %d, %s", status, &out)
	}
}
