package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Error is a configuration that was refused, with everything that is wrong in it.
type Error struct {
	// Faults are sorted by key; there is at least one.
	Faults []Fault
}

// Error returns one line for each fault.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Fault is one thing that is wrong.
type Fault struct {
	// Key is the dotted key ("response.jitter_ratio"), the name of a variable of
	// the environment, or the path of a file that could not be read at all.
	Key string
	// Value is what the key has, in the form to be printed; empty when it has
	// none, or a secret one.
	Value string
	// Message says what is wrong, or what is allowed.
	Message string
}

// String returns the fault as one line without secrets.
func (f Fault) String() string {
	line := f.Key
	if f.Value != "" {
		line += " = " + f.Value
	}
	return oneLine(line + ": " + f.Message)
}

// faults collects what is wrong. One key is told once: what follows from its
// first fault helps nobody.
type faults struct {
	list []Fault
	seen map[string]bool
	// from names the variables whose values went into a key's value.
	from map[string][]string
	// secrets are the texts that no fault may hold, wherever they turn up.
	secrets []string
}

func newFaults() *faults {
	return &faults{seen: map[string]bool{}, from: map[string][]string{}}
}

func (f *faults) add(key, value, message string, args ...any) {
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	f.list = append(f.list, Fault{Key: key, Value: f.told(key, value), Message: message})
}

// alsoAdd adds what checks have found: a key may have several faults there, unless it
// has one already.
func (f *faults) alsoAdd(list []Fault) {
	for _, found := range list {
		if !f.seen[found.Key] {
			f.list = append(f.list, Fault{Key: found.Key, Value: f.told(found.Key, f.show(found.Value)), Message: found.Message})
		}
	}
}

// told is a key's value, and the variables that it comes from.
func (f *faults) told(key, value string) string {
	if names := f.from[key]; len(names) > 0 {
		value = strings.TrimSpace(value + " (from " + strings.Join(names, ", ") + ")")
	}
	return value
}

// err returns the faults as an *Error, or nil when there are none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	list := slices.Clone(f.list)
	for i, fault := range list {
		list[i] = Fault{Key: f.hide(fault.Key), Value: f.hide(fault.Value), Message: f.hide(fault.Message)}
	}
	slices.SortStableFunc(list, func(a, b Fault) int { return strings.Compare(a.Key, b.Key) })
	return &Error{Faults: list}
}

func (f *faults) hide(s string) string {
	for _, secret := range f.secrets {
		// What is this short is no secret, and would hide parts of plain words.
		if len(secret) >= 6 {
			s = strings.ReplaceAll(s, secret, hidden)
		}
	}
	return s
}

// show returns a value of the file as it may stand in a fault. Secrets go before
// the text is quoted or cut, which would make them hard to find.
func (f *faults) show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case expanded:
		return f.show(string(v))
	case string:
		const most = 80
		v = f.hide(v)
		if r := []rune(v); len(r) > most {
			v = string(r[:most]) + "…"
		}
		return strconv.Quote(v)
	case map[string]any:
		return "(a mapping)"
	case []any:
		return "(a list)"
	}
	return fmt.Sprint(v)
}

// oneLine makes sure that nothing a file holds can look like a line of its own.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
