package when

import "time"

// local returns the instant at which clocks in a zone show what wall shows; the zone of wall does
// not matter. If the clocks skip that time, local returns the first instant after the gap. If they
// show it twice, local returns the first of the two. time.Date promises neither.
func local(wall time.Time, zone *time.Location) time.Time {
	wall = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(),
		wall.Nanosecond(), time.UTC)
	// No zone is a whole day ahead of UTC, so this is before the time looked for.
	at := wall.Add(-24 * time.Hour).In(zone)
	for {
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		t := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		switch {
		case t.Before(at): // clocks went past it when this offset began
			return at
		case end.IsZero() || t.Before(end):
			return t
		}
		at = end
	}
}

// date returns a time of day in UTC, which local accepts. As with time.Date, the day may be outside
// the month.
func date(year int, month time.Month, day int, c clock) time.Time {
	return time.Date(year, month, day, c.hour, c.minute, c.second, 0, time.UTC)
}
