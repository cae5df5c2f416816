package when

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// clock is a time of day.
type clock struct{ hour, minute, second int }

// halves are the words that tell which half of the day an hour is in: the hours that may follow, of
// which those before 12 are moved by add. 12 of the evening is refused: it may be midnight, of one day or
// the next.
var halves = map[string]struct{ from, to, add int }{
	"": {0, 23, 0}, "am": {1, 11, 0}, "pm": {1, 12, 12},
	"午前": {0, 11, 0}, "朝": {4, 11, 0}, "morning": {4, 11, 0}, "in the morning": {0, 11, 0},
	"午後": {0, 23, 12}, "afternoon": {1, 18, 12}, "in the afternoon": {1, 18, 12},
	"夕方": {3, 19, 12}, "夜": {5, 23, 12}, "evening": {4, 23, 12}, "in the evening": {4, 23, 12},
}

// evenings are the halves that noon is not in.
var evenings = []string{"夕方", "夜", "evening", "in the evening"}

var (
	clockPattern = regexp.MustCompile(`^(?:at )?(?:(morning|afternoon|evening|午前|午後|朝|夕方|夜),?の? ?(?:at )?)?` +
		`(?:(noon|正午)|(\d{1,2})(?::(\d{2})(?::(\d{2}))?| ?(時) ?(?:(半)|(\d{1,2}) ?分)?)?)(?: ?([ap])\.?m\b\.?| (in the (?:morning|afternoon|evening)))?`)
	clockEnd = regexp.MustCompile(`^ ?(?:頃|ごろ)?に?`)
)

// cutClock reads a time of day at the beginning of a text and returns the rest. A bare hour ("at
// 9") counts only if a day or "at" is before it.
func cutClock(s string, afterDay bool) (c clock, rest string, ok bool) {
	m := clockPattern.FindStringSubmatch(s)
	if m == nil {
		return clock{}, "", false
	}
	half, hour, colon, seconds, japanese, halfHour, minutes := m[1], m[3], m[4], m[5], m[6], m[7], m[8]
	if m[9] != "" {
		half = m[9] + "m"
	} else if m[10] != "" {
		half = m[10]
	}
	if !afterDay && !strings.HasPrefix(s, "at ") && m[2]+colon+japanese+half == "" {
		return clock{}, "", false
	}
	rest = s[len(m[0]):]
	rest = rest[len(clockEnd.FindString(rest)):]
	if m[2] != "" {
		return clock{hour: 12}, rest, true
	}
	c.hour, _ = strconv.Atoi(hour)
	c.minute, _ = strconv.Atoi(colon + minutes)
	c.second, _ = strconv.Atoi(seconds)
	if halfHour != "" {
		c.minute = 30
	}
	h := halves[half]
	if half == "am" && c.hour == 12 {
		c.hour = 0
	} else if c.hour < h.from || c.hour > h.to || c.hour == 12 && slices.Contains(evenings, half) {
		return clock{}, "", false
	} else if c.hour < 12 {
		c.hour += h.add
	}
	return c, rest, c.minute < 60 && c.second < 60
}
