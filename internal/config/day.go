package config

import "time"

// Midnight returns the first moment of a day in a time zone. If summer time begins at midnight,
// the day has no 00:00, and time.Date may return an hour of the day before. If summer time ends at
// 01:00, the day has 00:00 twice. As with time.Date, the day may be outside the month.
func Midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	year, month, day = time.Date(year, month, day, 12, 0, 0, 0, zone).Date()
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	begin, end := t.ZoneBounds() // of the offset that holds at t
	switch {
	case t.Day() != day:
		return end
	case t.Hour() > 0 || t.Minute() > 0:
		return begin
	case begin.IsZero():
		return t
	}
	_, offset := t.Zone()
	_, before := begin.Add(-1).Zone()
	if first := t.Add(time.Duration(offset-before) * time.Second); first.Before(begin) {
		return first
	}
	return t
}
