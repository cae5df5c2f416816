package conversation

import (
	"fmt"
	"strconv"
	"strings"
)

// Occasion is why the bot says something that no new message asks for: the approved call of a Step has ended, or a
// Promise is due for the Number-th time, from 1. It is zero for a reply to what somebody said.
type Occasion struct {
	Step    string
	Promise string
	Number  int
}

const (
	stepOccasion    = "step/"
	promiseOccasion = "promise/"
)

// String is step/ID, promise/ID/NUMBER, or empty. It tells one occasion of a message from another.
func (o Occasion) String() string {
	switch {
	case o.Step != "":
		return stepOccasion + o.Step
	case o.Promise != "":
		return promiseOccasion + o.Promise + "/" + strconv.Itoa(o.Number)
	}
	return ""
}

// ParseOccasion reads what String wrote.
func ParseOccasion(s string) (o Occasion, err error) {
	if s == "" {
		return Occasion{}, nil
	}
	if id, ok := strings.CutPrefix(s, stepOccasion); ok {
		o.Step = id
	} else if rest, ok := strings.CutPrefix(s, promiseOccasion); ok {
		var number string
		o.Promise, number, _ = strings.Cut(rest, "/")
		o.Number, err = strconv.Atoi(number)
	}
	if err != nil || o == (Occasion{Number: o.Number}) {
		return Occasion{}, fmt.Errorf("occasion %q: it must be step/ID or promise/ID/NUMBER", s)
	}
	return o, nil
}

// OccasionOf is the occasion with which the key of a reply or of a decision ends.
func OccasionOf(key string) Occasion {
	for _, kind := range []string{stepOccasion, promiseOccasion} {
		if i := strings.LastIndex(key, "/"+kind); i >= 0 {
			if o, err := ParseOccasion(key[i+1:]); err == nil {
				return o
			}
		}
	}
	return Occasion{}
}

// MarshalText writes String.
func (o Occasion) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (o *Occasion) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOccasion(string(text))
	return err
}
