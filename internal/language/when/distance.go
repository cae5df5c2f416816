package when

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// distance is a time from now. Days are days of the calendar: a day later the clock shows the same,
// even if it was changed in between.
type distance struct {
	days int
	time time.Duration // less than a century
}

func (d distance) from(now time.Time) time.Time {
	if d.days != 0 {
		wall := time.Date(now.Year(), now.Month(), now.Day()+d.days, now.Hour(), now.Minute(), now.Second(),
			now.Nanosecond(), time.UTC)
		now = local(wall, now.Location())
	}
	return now.Add(d.time)
}

var (
	part = regexp.MustCompile(`^(?:(\d{1,8})(\.\d{1,3})? ?|(an?|one|two|three|four|five|six|seven|eight|nine|ten) )` +
		`(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|hr|h|days?|d|weeks?|w|秒|分|時間|日|週間?)([^a-z]|$)`)
	numbers = []string{"a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
)

// cutDistance reads a distance at the beginning of a text and returns the rest. Parts without "in"
// before or "from now" after them are a distance only if nothing follows, and Japanese ones never:
// "3日" may be the third of the month.
func cutDistance(s string) (d distance, rest string, ok bool) {
	s, marked := strings.CutPrefix(s, "in ")
	japanese := false
	for {
		m := part.FindStringSubmatch(s)
		if m == nil {
			break
		}
		n := 1
		if m[3] == "" {
			n, _ = strconv.Atoi(m[1])
		} else if m[3] != "an" {
			for i, number := range numbers {
				if m[3] == number {
					n = max(1, i)
				}
			}
		}
		unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "秒": time.Second,
			"分": time.Minute, "時": time.Hour}[string([]rune(m[4])[:1])]
		switch {
		case unit != 0:
			fraction, _ := strconv.ParseFloat("0"+m[2], 64)
			d.time += min(time.Duration(n)*unit+time.Duration(fraction*float64(unit)), tooLong)
		case m[2] != "":
			return distance{}, "", false
		case strings.HasPrefix(m[4], "w") || strings.HasPrefix(m[4], "週"):
			d.days += 7 * n
		default:
			d.days += n
		}
		d.days = min(d.days, int(tooLong/(24*time.Hour)))
		ok, japanese = true, m[4][0] >= 0x80
		s = s[len(m[0])-len(m[5]):]
		if next := separator.FindString(s); part.MatchString(s[len(next):]) {
			s = s[len(next):]
		}
	}
	if !ok {
		return distance{}, "", false
	}
	for _, end := range []string{"後", " from now", " later"} {
		if rest, found := strings.CutPrefix(s, end); found {
			return d, rest, true
		}
	}
	return d, s, marked && !japanese || s == "" && !japanese
}

// separator is what may stand between two parts of a distance.
var separator = regexp.MustCompile(`^(?:,? and | ?, ?| |と)?`)
