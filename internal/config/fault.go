package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Error is why a configuration was refused: everything that is wrong with it.
type Error struct {
	// Faults are sorted by key; there is at least one.
	Faults []Fault
}

// Error returns one line per fault.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Fault is one thing that is wrong.
type Fault struct {
	// Key is the dotted key ("response.jitter_ratio"), the name of an environment variable, or
	// the path of a file that could not be read.
	Key string
	// Value is the key's value in the form to print. It is empty if there is none or if it is a
	// secret.
	Value string
	// Message says what is wrong or what is allowed.
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

// faults collects what is wrong. Each key has one fault, since later ones only follow from the
// first. Values are formatted in err, when all secrets are known.
type faults struct {
	list []rawFault
	seen map[string]bool
	// from maps a dotted key to the variables in its value.
	from map[string][]string
	// secrets are the texts that no fault may contain.
	secrets []string
}

// rawFault is a fault whose value may still contain secrets.
type rawFault struct {
	key     string
	value   any // nil if there is none, or if it is a secret
	message string
}

// verbatim is a value that a fault shows without quotes.
type verbatim string

func newFaults() *faults {
	return &faults{seen: map[string]bool{}, from: map[string][]string{}}
}

// add adds a fault unless the key has one already.
func (f *faults) add(key string, value any, message string, args ...any) {
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	f.list = append(f.list, rawFault{key, value, message})
}

// addAll adds the faults that Checks found. A key may have several of them, unless it already has
// a fault of its own.
func (f *faults) addAll(list []Fault) {
	for _, fault := range list {
		if !f.seen[fault.Key] {
			f.list = append(f.list, rawFault{fault.Key, fault.Value, fault.Message})
		}
	}
}

// drop drops the faults of keys that begin with one of the prefixes.
func (f *faults) drop(prefixes []string) {
	f.list = slices.DeleteFunc(f.list, func(fault rawFault) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(fault.key, prefix) })
	})
}

// err returns the faults as an *Error, or nil if there are none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	list := make([]Fault, len(f.list))
	for i, fault := range f.list {
		list[i] = Fault{Key: f.hide(fault.key), Value: f.show(fault), Message: f.hide(fault.message)}
	}
	slices.SortStableFunc(list, func(a, b Fault) int { return strings.Compare(a.Key, b.Key) })
	return &Error{Faults: list}
}

// show formats a fault's value and the variables that it comes from.
func (f *faults) show(fault rawFault) string {
	text := ""
	switch v := fault.value.(type) {
	case nil:
	case string:
		text = f.quote(v)
	case verbatim:
		text = f.hide(string(v))
	default:
		text = f.hide(fmt.Sprint(v))
	}
	if names := f.from[fault.key]; len(names) > 0 {
		text = strings.TrimSpace(text + " (from " + strings.Join(names, ", ") + ")")
	}
	return text
}

// quote quotes the beginning of a text. It hides secrets first, because they could not be found
// in a quoted or shortened text.
func (f *faults) quote(text string) string {
	const most = 80
	text = f.hide(text)
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strconv.Quote(text)
}

func (f *faults) hide(s string) string {
	for _, secret := range f.secrets {
		// A shorter text is not a secret, and would hide parts of ordinary words.
		if len(secret) >= 6 {
			s = strings.ReplaceAll(s, secret, hidden)
		}
	}
	return s
}

// oneLine replaces line breaks and control characters, so a value cannot look like another line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
