package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Bots are the other bots whose messages are judged: BotsIgnore, BotsJudge, or the ids of apps (A…) and of bots (B…);
// the others are ignored. Nil is BotsIgnore.
type Bots []string

// The ways to treat other bots without naming any.
var (
	BotsIgnore = Bots{"ignore"}
	BotsJudge  = Bots{"judge"}
)

// botsAllowed says what Bots may be.
const botsAllowed = "ignore, judge, or a list of the ids of apps, A…, and of bots, B…"

var botID = regexp.MustCompile(`^[AB][A-Z0-9]{2,}$`)

// Judges reports whether the messages of whoever has one of the ids are judged.
func (b Bots) Judges(ids ...string) bool {
	listed := func(id string) bool { return slices.Contains(b, id) }
	return slices.Equal(b, BotsJudge) || slices.ContainsFunc(ids, listed)
}

// NameApps reports whether the app of a bot matters.
func (b Bots) NameApps() bool {
	return slices.ContainsFunc(b, func(id string) bool { return strings.HasPrefix(id, "A") })
}

// String is ignore, judge, or the ids between brackets.
func (b Bots) String() string {
	switch {
	case b == nil:
		return BotsIgnore.String()
	case len(b) == 1 && !botID.MatchString(b[0]):
		return b[0]
	}
	return fmt.Sprint([]string(b))
}

// judgesAny reports whether any bot is judged.
func (b Bots) judgesAny() bool { return len(b) > 0 && !slices.Equal(b, BotsIgnore) }

func (b Bots) validate(key string, f *faults) {
	if slices.Equal(b, BotsIgnore) || slices.Equal(b, BotsJudge) {
		return
	}
	for i, id := range b {
		at := key
		if len(b) > 1 {
			at = fmt.Sprintf("%s[%d]", key, i)
		}
		if !botID.MatchString(id) {
			f.add(at, id, "must be "+botsAllowed)
		}
	}
}
