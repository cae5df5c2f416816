// Package when reads when something is due, and finds when it is due again. It does no I/O. What
// passes through it are texts and local times; what comes out are instants.
package when

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxAhead is how far ahead of now a time may be.
const MaxAhead = 366 * 24 * time.Hour

const (
	tooLong   = MaxAhead + 48*time.Hour // any longer distance ends after MaxAhead, too
	maxLength = 100                     // bytes
	maxShown  = 60                      // characters of the text in an error
)

// Allowed names the forms that Parse reads. It completes the sentence "when may be …".
const Allowed = `a distance such as "in 90m", "in 3d" or "90分後", a local time such as "2026-11-27 09:00", "tomorrow 09:00", "mon 9am", "09:00" or "明日9時", or RFC 3339 with an offset; in the future, at most 366 days ahead`

// defaultClock is the time of a day that is written without one.
var defaultClock = clock{hour: 9}

// Parse reads when something is due, as people and models write it in English or Japanese. now is
// the time now, and zone that of whoever writes; the result is in that zone, after now and at most
// MaxAhead after it.
//
//   - A distance: "in 90m", "1h30m", "in 2 hours", "20秒後". Seconds, minutes and hours pass on any
//     clock. Days and weeks are of the calendar: "in 3d" is the same local time three days later,
//     even if the clocks are changed in between. A time of day may follow them: "3日後の9時".
//   - RFC 3339 with an offset; the seconds may be missing.
//   - A day and a time of day, in either order: "2026-11-27 09:00", "27 Nov 9am", "mon 09:00",
//     "tomorrow at 9", "11月27日 9時", "来週月曜 9時半". A day alone means 09:00, except today. A bare
//     hour is of 24. In "11/27" the month is first. A date without a year, or a weekday, is the next
//     one; "next fri" and 来週 are of the week after this one, and weeks begin on Monday.
//   - A time of day alone: today's, or tomorrow's if today's is past.
//
// A local time that the clocks skip is the first instant after the gap, and one that they show
// twice is the first of the two. Errors are in English, and say what is wrong and what is allowed.
func Parse(text string, now time.Time, zone *time.Location) (time.Time, error) {
	now = now.Round(0).In(zone) // without the monotonic clock
	if len(text) > maxLength {
		return time.Time{}, fmt.Errorf("when is longer than %d bytes; allowed are %s", maxLength, Allowed)
	}
	s := normal(text)
	if s == "" {
		return time.Time{}, fmt.Errorf("when is empty; allowed are %s", Allowed)
	}
	t, err := parse(s, now)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("when is %s%w; allowed are %s", quote(text), err, Allowed)
	case !t.After(now):
		return time.Time{}, fmt.Errorf("when is %s, which is %s and not in the future: now it is %s; allowed are %s",
			quote(text), show(t), show(now), Allowed)
	case t.Sub(now) > MaxAhead:
		return time.Time{}, fmt.Errorf("when is %s, which is more than 366 days ahead; allowed are %s", quote(text),
			Allowed)
	}
	return t.In(zone), nil
}

// fault is what is wrong with a text, as the middle of a sentence.
type fault string

func (f fault) Error() string { return string(f) }

const (
	unreadable = fault("")
	nowhere    = fault(", a day or a time that does not exist")
	timeless   = fault(", without a time of day")
)

// parse reads a normal text. The result may be outside the limits.
func parse(s string, now time.Time) (time.Time, error) {
	if t, ok := parseInstant(s); ok {
		return t, nil
	}
	var d day
	c, timed := defaultClock, false
	if distance, rest, ok := cutDistance(s); ok {
		if rest == "" {
			return distance.from(now), nil
		}
		if distance.time != 0 {
			return time.Time{}, unreadable
		}
		d, s = day{kind: relative, offset: distance.days}, rest
	} else if cd, rest, ok := cutDay(s); ok {
		d, s = cd, rest
	} else if cc, rest, ok := cutClock(s, false); ok {
		c, timed, s = cc, true, trim(rest)
		if cd, rest, ok := cutDay(s); ok {
			d, s = cd, rest
		}
	}
	if !timed {
		if cc, rest, ok := cutClock(trim(s), d.kind != none); ok {
			c, timed, s = cc, true, rest
		}
	}
	rest := trim(s)
	_, half := halves[rest] // "tomorrow morning"
	switch {
	case rest != "" && (timed || !half):
		return time.Time{}, unreadable
	case rest != "", !timed && (d.kind == dayOfMonth || d.kind == relative && d.offset == 0):
		return time.Time{}, timeless
	}
	times := d.candidates(now, c)
	if len(times) == 0 {
		return time.Time{}, nowhere
	}
	var t time.Time
	for _, wall := range times {
		if t = local(wall, now.Location()); t.After(now) {
			if d.dated && wall.Weekday() != d.weekday {
				return time.Time{}, fault(fmt.Sprintf(", but %s is a %s", wall.Format(time.DateOnly), wall.Weekday()))
			}
			break
		}
	}
	return t, nil
}

var instantPattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([ t])\d{2}:\d{2}(:\d{2}(?:\.\d{1,9})?)? ?(?:z|[+-]\d{2}:\d{2})$`)

func parseInstant(s string) (time.Time, bool) {
	if !instantPattern.MatchString(s) {
		return time.Time{}, false
	}
	s = strings.ToUpper(s[:10] + "T" + strings.ReplaceAll(s[11:], " ", ""))
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// synonyms are written out, so that fewer forms are left. "t" between a date and a time is ISO 8601's.
var synonyms = strings.NewReplacer("half an hour", "30m", "half hour", "30m", "時間半", "時間30分",
	"tonight", "today evening", "今夜", "今日夜", "今晩", "今日夜", "明朝", "明日朝", "明晩", "明日夜")

var isoT = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})t(\d)`)

// normal folds width and case, and leaves single spaces.
func normal(s string) string {
	s = strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(s))), " ")
	return isoT.ReplaceAllString(synonyms.Replace(strings.TrimRight(s, ".。!に ")), "$1 $2")
}

// trim removes what joins a day and a time of day.
func trim(s string) string { return strings.Trim(s, " ,、の") }

func quote(s string) string {
	shown := []rune(strings.ToValidUTF8(s, "\ufffd"))
	for i, r := range shown {
		if !unicode.IsPrint(r) {
			shown[i] = ' '
		}
	}
	if len(shown) > maxShown {
		shown = append(shown[:maxShown:maxShown], '…')
	}
	return `"` + string(shown) + `"`
}

func show(t time.Time) string { return t.Format("2006-01-02 15:04:05 -07:00") }
