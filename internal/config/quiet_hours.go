package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// QuietHours is a range of local time on every day, from one minute, included, to another,
// excluded. The zero value is an empty range.
type QuietHours struct {
	from, to int // minutes since midnight
}

// quietHoursForm is the form in the file: two times of day, without 24:00.
var quietHoursForm = regexp.MustCompile(`^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$`)

// ParseQuietHours reads HH:MM-HH:MM, which may cross midnight. An empty text means none. Two equal
// times are an error, since they could mean never or always.
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

// minutes returns the minutes since midnight. The digits have been checked.
func minutes(hour, minute string) int {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return 60*h + m
}

// Contains reports whether the local time of t is in the range. When summer time ends, an hour
// occurs twice and is quiet twice.
func (q QuietHours) Contains(t time.Time) bool {
	now := 60*t.Hour() + t.Minute()
	if q.from <= q.to {
		return q.from <= now && now < q.to
	}
	return q.from <= now || now < q.to
}

// End returns when the range that holds a time is over: the first whole minute after t, in its time zone,
// that is not in the range. It is t itself if that is not.
func (q QuietHours) End(t time.Time) time.Time {
	for end := t; end.Before(t.Add(48 * time.Hour)); end = end.Truncate(time.Minute).Add(time.Minute) {
		if !q.Contains(end) {
			return end
		}
	}
	return t
}

// String returns the form in the file, which is empty for none.
func (q QuietHours) String() string {
	if q == (QuietHours{}) {
		return ""
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", q.from/60, q.from%60, q.to/60, q.to%60)
}
