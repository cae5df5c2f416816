package config

import "time"

// Midnight is the first moment of a day in a zone. Where summer time begins at midnight
// the clock shows none, and time.Date may take an hour of the day before for it; where
// it ends at one, the clock shows it twice. As with time.Date, the day may lie outside
// of the month.
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
