package when

import "time"

// Every is how often something repeats.
type Every string

// The ways to repeat. Weekday means from Monday to Friday.
const (
	Day     Every = "day"
	Weekday Every = "weekday"
	Week    Every = "week"
	Month   Every = "month"
)

// Valid reports whether e is one of the constants.
func (e Every) Valid() bool { return e == Day || e == Weekday || e == Week || e == Month }

// Next returns the first time strictly after now of those that repeat from first. Each has the
// local clock time of first in the zone, by the rules of Parse for skipped and repeated times; when
// first itself was moved out of a gap, the moved time counts. A month has the day of first, or its
// own last day if it is shorter. first is among them, unless it is on a weekend and e is Weekday.
// Next returns the zero time if e is not valid.
func Next(e Every, first, now time.Time, zone *time.Location) time.Time {
	if !e.Valid() {
		return time.Time{}
	}
	first, now = first.Round(0).In(zone), now.Round(0).In(zone)
	// All steps before this one end before the local day of now.
	for n := max(0, e.steps(first, now)-1); ; n++ {
		wall := e.step(first, n)
		if e == Weekday && (wall.Weekday() == time.Saturday || wall.Weekday() == time.Sunday) {
			continue
		}
		t := local(wall, zone)
		if t.Before(first) { // the second of two equal local times
			t = first
		}
		if t.After(now) {
			return t
		}
	}
}

// steps returns how many whole steps lie between the local days of two times.
func (e Every) steps(from, to time.Time) int {
	if e == Month {
		return 12*(to.Year()-from.Year()) + int(to.Month()) - int(from.Month())
	}
	days := int(midnight(to).Unix()-midnight(from).Unix()) / (24 * 60 * 60)
	if e == Week {
		return days / 7
	}
	return days
}

func midnight(t time.Time) time.Time { return date(t.Year(), t.Month(), t.Day(), clock{}) }

// step returns the local time of first n steps later.
func (e Every) step(first time.Time, n int) time.Time {
	day := first.Day()
	year, month := first.Year(), first.Month()
	switch e {
	case Week:
		day += 7 * n
	case Month:
		month += time.Month(n)
		day = min(day, date(year, month+1, 0, clock{}).Day())
	default:
		day += n
	}
	return time.Date(year, month, day, first.Hour(), first.Minute(), first.Second(), first.Nanosecond(), time.UTC)
}
