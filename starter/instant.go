package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"myao/internal/config"
)

// instant is a point in time as a command line names it: 90m, 24h, 30d or 2w for so long
// ago, a day as 2026-03-01, or a time as 2026-03-01T12:00:00Z.
type instant string

var agoPattern = regexp.MustCompile(`^([0-9]{1,6})([mhdw])$`)

// Validate is kong's way to be told what is no instant.
func (i instant) Validate() error {
	if _, err := i.time(time.Now(), time.UTC); i != "" && err != nil {
		return err
	}
	return nil
}

// time is the instant as seen now: a day begins at midnight in a zone, and so does what
// is so many days or weeks ago. Before 1970 there was nothing to tell of, nor is there
// from 2100 on: what sums up day by day would take minutes to find none.
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
	return time.Time{}, fmt.Errorf("%q: want 90m, 24h, 30d or 2w for so long ago, a day such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z", string(i))
}
