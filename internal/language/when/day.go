package when

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// day is a day as it is written. The zero value is none.
type day struct {
	kind             kind
	year, month, day int
	weekday          time.Weekday
	// offset counts days from today, or weeks from this week for a weekday of a week.
	offset int
	// dated is set if weekday was written beside a date, and has to agree with it.
	dated bool
}

type kind int

const (
	none kind = iota
	relative
	weekday       // the next one, today included
	weekdayOfWeek // of the week that is offset weeks from this one; weeks begin on Monday
	fullDate
	monthDay
	dayOfMonth
)

const (
	englishMonth = `(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|ember|ober)?\b\.?`
	ordinal      = `(\d{1,2})(?:st|nd|rd|th)?`
	anyYear      = `(?:,? (\d{4}))?`
)

// forms are the ways to write a date, with the indexes of year, month and day among the groups.
var forms = []struct {
	pattern          *regexp.Regexp
	year, month, day int
}{
	{regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})`), 1, 2, 3},
	{regexp.MustCompile(`^(\d{4})年 ?(\d{1,2})月 ?(\d{1,2})日`), 1, 2, 3},
	{regexp.MustCompile(`^` + ordinal + `(?: of)? ` + englishMonth + anyYear), 3, 2, 1},
	{regexp.MustCompile(`^` + englishMonth + ` ` + ordinal + anyYear), 3, 1, 2},
	{regexp.MustCompile(`^(\d{1,2})/(\d{1,2})`), 0, 1, 2},
	{regexp.MustCompile(`^(\d{1,2})月 ?(\d{1,2})日`), 0, 1, 2},
	{regexp.MustCompile(`^(\d{1,2})日`), 0, 0, 1},
}

var relativeDays = []struct {
	word   string
	offset int
}{
	{"the day after tomorrow", 2}, {"day after tomorrow", 2}, {"tomorrow", 1}, {"today", 0},
	{"明々後日", 3}, {"しあさって", 3}, {"明後日", 2}, {"あさって", 2}, {"明日", 1}, {"あした", 1}, {"あす", 1}, {"今日", 0}, {"本日", 0},
}

var (
	weekdayPattern = regexp.MustCompile(`^(?:(this|next) |(今週|来週|再来週|次|今度)の? ?)?` +
		`(?:(mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)\b|(月|火|水|木|金|土|日)(?:曜日?)?)`)
	besideDate = regexp.MustCompile(`^ ?\((?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*|(月|火|水|木|金|土|日)(?:曜日?)?)\)`)

	weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	weeks    = map[string]int{"this": 0, "next": 1, "今週": 0, "来週": 1, "再来週": 2}
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
)

// cutDay reads a day at the beginning of a text and returns the rest.
func cutDay(s string) (day, string, bool) {
	s = strings.TrimPrefix(s, "on ")
	for _, r := range relativeDays {
		if rest, ok := strings.CutPrefix(s, r.word); ok {
			return day{kind: relative, offset: r.offset}, rest, true
		}
	}
	if d, rest, ok := cutDate(s); ok {
		if m := besideDate.FindStringSubmatch(rest); m != nil {
			d.weekday, d.dated = weekdayOf(m[1], m[2]), true
			rest = rest[len(m[0]):]
		}
		return d, rest, true
	}
	m := weekdayPattern.FindStringSubmatch(s)
	if m == nil {
		return day{}, s, false
	}
	w, rest := weekdayOf(m[3], m[4]), s[len(m[0]):]
	if d, after, ok := cutDate(strings.TrimLeft(rest, ", ")); ok && m[1]+m[2] == "" {
		d.weekday, d.dated = w, true
		return d, after, true
	}
	if offset, ok := weeks[m[1]+m[2]]; ok {
		return day{kind: weekdayOfWeek, weekday: w, offset: offset}, rest, true
	}
	return day{kind: weekday, weekday: w}, rest, true
}

func cutDate(s string) (day, string, bool) {
	for _, f := range forms {
		m := f.pattern.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		d := day{kind: dayOfMonth}
		d.day, _ = strconv.Atoi(m[f.day])
		if f.month > 0 {
			d.kind = monthDay
			d.month = monthOf(m[f.month])
		}
		if f.year > 0 && m[f.year] != "" {
			d.kind = fullDate
			d.year, _ = strconv.Atoi(m[f.year])
		}
		return d, s[len(m[0]):], true
	}
	return day{}, s, false
}

func monthOf(s string) int {
	for i, name := range months {
		if strings.HasPrefix(s, name) {
			return i + 1
		}
	}
	n, _ := strconv.Atoi(s)
	return n
}

func weekdayOf(english, japanese string) time.Weekday {
	if japanese != "" {
		return time.Weekday(strings.Index("日月火水木金土", japanese) / len("日"))
	}
	for i, name := range weekdays {
		if strings.HasPrefix(english, name) {
			return time.Weekday(i)
		}
	}
	return time.Sunday
}

// candidates returns the local times that a day and a time of day may mean, in order. The first
// that exists and is still ahead is meant.
func (d day) candidates(now time.Time, c clock) []time.Time {
	year, month, today := now.Date()
	switch d.kind {
	case none:
		return []time.Time{date(year, month, today, c), date(year, month, today+1, c)}
	case relative:
		return []time.Time{date(year, month, today+d.offset, c)}
	case weekday:
		today += int(d.weekday-now.Weekday()+7) % 7
		return []time.Time{date(year, month, today, c), date(year, month, today+7, c)}
	case weekdayOfWeek:
		monday := today - int(now.Weekday()+6)%7
		return []time.Time{date(year, month, monday+7*d.offset+int(d.weekday+6)%7, c)}
	case fullDate:
		return d.in(c, date(d.year, time.Month(d.month), 1, clock{}))
	case monthDay:
		this, next := date(year, time.Month(d.month), 1, clock{}), date(year+1, time.Month(d.month), 1, clock{})
		if passed := date(year, month, today, clock{}).
			Sub(date(year, time.Month(d.month), d.day, clock{})); 0 <= passed && passed < justPassed {
			return d.in(c, this)
		}
		return d.in(c, this, next)
	default:
		return d.in(c, date(year, month, 1, clock{}), date(year, month+1, 1, clock{}), date(year, month+2, 1, clock{}))
	}
}

// justPassed is how long a date without a year is in the past, and not nearly a year ahead.
const justPassed = 31 * 24 * time.Hour

// in returns the day of the months that have it.
func (d day) in(c clock, months ...time.Time) (times []time.Time) {
	for _, m := range months {
		t := date(m.Year(), m.Month(), d.day, c)
		if d.day > 0 && t.Month() == m.Month() && (d.kind == dayOfMonth || d.month == int(m.Month())) {
			times = append(times, t)
		}
	}
	return times
}
