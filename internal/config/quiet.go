package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// QuietHours is a time of every day, by the clock on the wall: from a minute of the
// day, included, to another, left out. The zero value is none at all.
type QuietHours struct {
	from, to int // minutes since midnight
}

// quietHoursForm is what a file holds: two times of day, of which 24:00 is none.
var quietHoursForm = regexp.MustCompile(`^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$`)

// ParseQuietHours reads HH:MM-HH:MM, which may cross midnight; the empty text is
// none. From a time to the same time would be never or always, and is an error.
func ParseQuietHours(s string) (QuietHours, error) {
	if s == "" {
		return QuietHours{}, nil
	}
	m := quietHoursForm.FindStringSubmatch(s)
	if m == nil {
		return QuietHours{}, fmt.Errorf("quiet hours %q: want HH:MM-HH:MM, from 00:00 to 23:59", s)
	}
	q := QuietHours{from: minutes(m[1], m[2]), to: minutes(m[3], m[4])}
	if q.from == q.to {
		return QuietHours{}, fmt.Errorf("quiet hours %q: want two different times", s)
	}
	return q, nil
}

// minutes is the minutes since midnight of a time whose digits have been checked.
func minutes(hour, minute string) int {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return 60*h + m
}

// Contains reports whether a moment lies within, by the clock of its own zone. Only
// what that clock shows counts: an hour that is shown twice when summer ends is quiet
// twice, and one that is left out is not missed.
func (q QuietHours) Contains(t time.Time) bool {
	now := 60*t.Hour() + t.Minute()
	if q.from <= q.to {
		return q.from <= now && now < q.to
	}
	return q.from <= now || now < q.to
}

// String is the form in the file; empty for none.
func (q QuietHours) String() string {
	if q == (QuietHours{}) {
		return ""
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", q.from/60, q.from%60, q.to/60, q.to%60)
}
