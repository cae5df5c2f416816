package chatops

import (
	"regexp"
	"strconv"
	"time"

	"myao/internal/conversation"
)

// minSnooze is the shortest snooze that can be asked for.
const minSnooze = time.Minute

var durationPattern = regexp.MustCompile(`^(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?$`)

// ParseDuration parses the duration of a snooze, such as 1d12h or 30m. It returns false for
// anything else, and for less than a minute or more than conversation.MaxSnooze.
func ParseDuration(s string) (time.Duration, bool) {
	parts := durationPattern.FindStringSubmatch(s)
	if parts == nil {
		return 0, false
	}
	var length time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		n, _ := strconv.Atoi(parts[i+1]) // a few digits, or none, which count as 0
		length += time.Duration(n) * unit
	}
	return length, length >= minSnooze && length <= conversation.MaxSnooze
}
