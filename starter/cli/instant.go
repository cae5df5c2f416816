package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"myao/internal/config"
)

// instant is a time on the command line: 90m, 24h, 30d or 2w ago, a day such as 2026-03-01, or a
// time such as 2026-03-01T12:00:00Z.
type instant string

var agoPattern = regexp.MustCompile(`^([0-9]{1,6})([mhdw])$`)

// Validate implements kong's Validate.
func (i instant) Validate() error {
	if _, err := i.time(time.Now(), time.UTC); i != "" && err != nil {
		return err
	}
	return nil
}

// time resolves the instant. A day begins at midnight in the zone; a number of days or weeks ago
// is rounded down to midnight too. time returns an error before 1970 and from 2100 on: reports by
// day would take minutes to find nothing.
func (i instant) time(now time.Time, zone *time.Location) (time.Time, error) {
	at, err := i.parse(now, zone)
	if err == nil && (at.Year() < 1970 || at.Year() >= 2100) {
		err = fmt.Errorf("%q: want a time from 1970 to 2099", string(i))
	}
	return at, err
}

func (i instant) parse(now time.Time, zone *time.Location) (time.Time, error) {
	now = now.In(zone)
	if parts := agoPattern.FindStringSubmatch(string(i)); parts != nil {
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return time.Time{}, err
		}
		switch parts[2] {
		case "m":
			return now.Add(-time.Duration(n) * time.Minute), nil
		case "h":
			return now.Add(-time.Duration(n) * time.Hour), nil
		case "w":
			n *= 7
		}
		year, month, day := now.Date()
		return config.Midnight(year, month, day-n, zone), nil
	}
	if at, err := time.Parse(time.DateOnly, string(i)); err == nil {
		year, month, day := at.Date()
		return config.Midnight(year, month, day, zone), nil
	}
	if at, err := time.ParseInLocation(time.RFC3339, string(i), zone); err == nil {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%q: want a time ago such as 90m, 24h, 30d or 2w, a day such as 2026-03-01, or a "+
		"time such as 2026-03-01T12:00:00Z", string(i))
}
