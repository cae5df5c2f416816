package config_test

import (
	"testing"
	"time"

	"myao/internal/config"
)

func TestQuietHours(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	for _, tc := range []struct {
		hours, now string
		want       bool
	}{
		{"", "2026-01-15T00:00:00Z", false},
		{"", "2026-01-15T12:00:00Z", false},
		{"09:00-17:30", "2026-01-15T07:59:59Z", false}, // UTC+1 in winter
		{"09:00-17:30", "2026-01-15T08:00:00Z", true},
		{"09:00-17:30", "2026-01-15T16:29:59Z", true},
		{"09:00-17:30", "2026-01-15T16:30:00Z", false},
		{"09:00-17:30", "2026-07-15T06:59:59Z", false}, // UTC+2 in summer
		{"09:00-17:30", "2026-07-15T07:00:00Z", true},
		{"22:00-07:00", "2026-01-15T20:59:59Z", false},
		{"22:00-07:00", "2026-01-15T21:00:00Z", true},
		{"22:00-07:00", "2026-01-15T23:00:00Z", true}, // midnight
		{"22:00-07:00", "2026-01-15T05:59:59Z", true},
		{"22:00-07:00", "2026-01-15T06:00:00Z", false},
		{"00:00-06:00", "2026-01-14T23:00:00Z", true},
		{"00:00-06:00", "2026-01-15T05:00:00Z", false},
		{"22:00-00:00", "2026-01-15T22:59:59Z", true},
		{"22:00-00:00", "2026-01-15T23:00:00Z", false},
		// The nights when the clock goes from 02:00 to 03:00, and from 03:00 back to 02:00.
		{"02:30-03:00", "2026-03-29T00:59:59Z", false},
		{"02:30-03:00", "2026-03-29T01:00:00Z", false},
		{"02:30-03:30", "2026-03-29T01:00:00Z", true},
		{"22:00-02:30", "2026-03-29T00:59:59Z", true},
		{"22:00-02:30", "2026-03-29T01:00:00Z", false},
		{"02:30-03:00", "2026-10-25T00:30:00Z", true},
		{"02:30-03:00", "2026-10-25T01:00:00Z", false},
		{"02:30-03:00", "2026-10-25T01:30:00Z", true},
	} {
		q, err := config.ParseQuietHours(tc.hours)
		must(t, err)
		if q.String() != tc.hours {
			t.Errorf("%q is written as %q", tc.hours, q)
		}
		now, err := time.Parse(time.RFC3339, tc.now)
		must(t, err)
		if got := q.Contains(now.In(berlin)); got != tc.want {
			t.Errorf("%s at %s: got %v", tc.hours, now.In(berlin), got)
		}
		s := config.ChannelSettings{QuietHours: q, Zone: berlin}
		if got := s.InQuietHours(now); got != tc.want {
			t.Errorf("%s at %s, by a channel's settings: got %v", tc.hours, now, got)
		}
	}
}

func TestQuietHoursEnd(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	for _, tc := range []struct{ hours, now, want string }{
		{"", "2026-01-15T12:00:30Z", "2026-01-15T12:00:30Z"},
		{"09:00-17:30", "2026-01-15T07:59:59Z", "2026-01-15T07:59:59Z"}, // not quiet
		{"09:00-17:30", "2026-01-15T08:00:00Z", "2026-01-15T16:30:00Z"}, // UTC+1 in winter
		{"09:00-17:30", "2026-01-15T16:29:59Z", "2026-01-15T16:30:00Z"},
		{"09:00-17:30", "2026-01-15T16:30:00Z", "2026-01-15T16:30:00Z"},
		{"22:00-07:00", "2026-01-15T21:00:00Z", "2026-01-16T06:00:00Z"}, // before midnight
		{"22:00-07:00", "2026-01-15T23:30:01Z", "2026-01-16T06:00:00Z"}, // after midnight
		{"22:00-00:00", "2026-01-15T21:30:00Z", "2026-01-15T23:00:00Z"},
		{"08:00-07:59", "2026-01-15T07:00:00Z", "2026-01-16T06:59:00Z"}, // all but a minute
		// The nights when the clock goes from 02:00 to 03:00, and from 03:00 back to 02:00.
		{"22:00-07:00", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"},
		{"22:00-02:30", "2026-03-28T21:00:00Z", "2026-03-29T01:00:00Z"}, // there is no 02:30
		{"22:00-07:00", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"},
		{"02:30-03:00", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"},
		{"02:30-03:00", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"},
		{"22:00-03:00", "2026-10-24T20:00:00Z", "2026-10-25T02:00:00Z"},
	} {
		q, err := config.ParseQuietHours(tc.hours)
		must(t, err)
		now, err := time.Parse(time.RFC3339, tc.now)
		must(t, err)
		s := config.ChannelSettings{QuietHours: q, Zone: berlin}
		if got := s.QuietUntil(now).Format(time.RFC3339); got != tc.want {
			t.Errorf("%s at %s: over at %s, want %s", tc.hours, tc.now, got, tc.want)
		}
	}
}

func TestInvalidQuietHours(t *testing.T) {
	for _, text := range []string{
		"22:00", "22:00-", "22-07", "22:00-7:00", "24:00-07:00", "22:00-24:00", "22:60-07:00", "22:00 - 07:00", "22:00-07:00\n", "08:00-08:00", "２２:00-07:00",
	} {
		if q, err := config.ParseQuietHours(text); err == nil {
			t.Errorf("%q was read as %s", text, q)
		}
	}
}
