package when_test

import (
	"testing"
	"time"

	"myao/internal/language/when"
)

func TestNext(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		zone  string
		every when.Every
		first string
		want  []string // after first, each asked for at the one before it
	}{
		{"Europe/Berlin", when.Day, "2026-03-27 09:00", []string{"2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00", "2026-03-30T09:00:00+02:00"}},
		{"Europe/Berlin", when.Day, "2026-10-24 09:00", []string{"2026-10-25T09:00:00+01:00", "2026-10-26T09:00:00+01:00"}},
		// 02:30 is skipped on the 29th, and is not lost after that.
		{"Europe/Berlin", when.Day, "2026-03-28 02:30", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"Europe/Berlin", when.Day, "2026-10-24 02:30", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"Europe/Berlin", when.Day, "2026-10-25T02:30:00+01:00", []string{"2026-10-26T02:30:00+01:00"}},
		{"Europe/Berlin", when.Week, "2026-03-23 09:00", []string{"2026-03-30T09:00:00+02:00", "2026-04-06T09:00:00+02:00"}},
		{"Europe/Berlin", when.Weekday, "2026-03-26 09:00", []string{"2026-03-27T09:00:00+01:00", "2026-03-30T09:00:00+02:00", "2026-03-31T09:00:00+02:00"}},
		{"Europe/Berlin", when.Weekday, "2026-03-28 09:00", []string{"2026-03-30T09:00:00+02:00"}},
		{"Europe/Berlin", when.Month, "2026-01-29 02:30", []string{"2026-02-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-04-29T02:30:00+02:00"}},
		{"America/New_York", when.Month, "2026-01-31 09:00", []string{"2026-02-28T09:00:00-05:00", "2026-03-31T09:00:00-04:00", "2026-04-30T09:00:00-04:00", "2026-05-31T09:00:00-04:00"}},
		{"America/New_York", when.Week, "2026-10-25 01:30", []string{"2026-11-01T01:30:00-04:00", "2026-11-08T01:30:00-05:00"}},
		{"America/New_York", when.Month, "2027-12-31 23:59:59", []string{"2028-01-31T23:59:59-05:00", "2028-02-29T23:59:59-05:00"}},
		{"Australia/Lord_Howe", when.Day, "2026-10-03 02:15", []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"Asia/Tokyo", when.Weekday, "2026-11-27 09:00", []string{"2026-11-30T09:00:00+09:00", "2026-12-01T09:00:00+09:00"}},
		{"Pacific/Apia", when.Day, "2011-12-29 09:00", []string{"2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00", "2012-01-01T09:00:00+14:00"}},
	} {
		zone := load(t, tc.zone)
		first := at(t, tc.first, zone)
		now := first
		for _, s := range tc.want {
			got, want := when.Next(tc.every, first, now, zone), at(t, s, zone)
			if !got.Equal(want) || got.Location() != zone {
				t.Fatalf("%s, every %s from %s: at %s the next is %s, want %s", tc.zone, tc.every, tc.first, now, got, want)
			}
			if again := when.Next(tc.every, first, got.Add(-1), zone); !again.Equal(want) {
				t.Fatalf("%s, every %s from %s: right before %s the next is %s", tc.zone, tc.every, tc.first, want, again)
			}
			now = got
		}
	}
}

func TestNextFromAnyTime(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC) // a Saturday
	for _, tc := range []struct {
		every when.Every
		now   string
		want  time.Time
	}{
		{when.Month, "2025-01-01 00:00", first},
		{when.Weekday, "2025-01-01 00:00", time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)},
		{when.Day, "2036-06-15 08:59", time.Date(2036, 6, 15, 9, 0, 0, 0, time.UTC)},
		{when.Day, "2036-06-15 09:00", time.Date(2036, 6, 16, 9, 0, 0, 0, time.UTC)},
		{when.Week, "2026-11-25 10:00", time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)},
		{when.Month, "2036-02-29 08:00", time.Date(2036, 2, 29, 9, 0, 0, 0, time.UTC)},
		{when.Month, "2036-02-29 09:00", time.Date(2036, 3, 31, 9, 0, 0, 0, time.UTC)},
		{"fortnight", "2026-11-25 10:00", time.Time{}},
		{"", "2026-11-25 10:00", time.Time{}},
	} {
		if got := when.Next(tc.every, first, at(t, tc.now, time.UTC), time.UTC); !got.Equal(tc.want) {
			t.Errorf("every %q, at %s: %s, want %s", tc.every, tc.now, got, tc.want)
		}
		if tc.every.Valid() == tc.want.IsZero() {
			t.Errorf("%q.Valid() is %v", tc.every, tc.every.Valid())
		}
	}
}
