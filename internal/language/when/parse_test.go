package when_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode/utf8"

	"myao/internal/language/when"
)

// wednesday is the time now of most tests: Wednesday, in local time.
const wednesday = "2026-11-25 10:00:30"

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// at reads a local time, or RFC 3339 where the local time is not unique.
func at(t testing.TB, s string, zone *time.Location) time.Time {
	t.Helper()
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return at
		}
	}
	t.Fatalf("no time: %q", s)
	return time.Time{}
}

func TestParse(t *testing.T) {
	t.Parallel()
	berlin := load(t, "Europe/Berlin")
	now := at(t, wednesday, berlin)
	for want, texts := range map[string][]string{
		"2026-11-25 10:00:31": {"1s", "in 1 sec"},
		"2026-11-25 10:00:50": {"in 20 seconds", "20s", "20秒後", "２０秒後", "20 seconds from now"},
		"2026-11-25 10:30:30": {"30m", "in half an hour", "30分後", "in 30 mins", "0.5h"},
		"2026-11-25 11:00:30": {"in an hour", "1h", "an hour from now", "1時間後"},
		"2026-11-25 11:30:30": {"in 90m", "90m", " In  90 M. ", "in 1h30m", "1h 30m", "in 1.5 hours", "in 1 hour and 30 minutes", "in one hour, 30 minutes", "90分後", "９０分後に", "1時間30分後", "1時間半後", "5400s"},
		"2026-11-25 12:00:30": {"in 2 hours", "2 hrs", "2 hours later", "in two hours", "2時間後", "2 時間後"},
		"2026-11-26 10:00:30": {"in a day", "1 day", "1日後"},
		"2026-11-26 11:00:30": {"in 1d1h", "in 1 day and 1 hour"},
		"2026-11-28 10:00:30": {"in 3d", "3 days", "3日後"},
		"2026-11-28 09:00":    {"in 3 days at 9", "3日後の9時", "3日後 09:00", "saturday", "sat 9", "2026-11-28"},
		"2026-12-02 10:00:30": {"in 1w", "in a week", "1週間後", "7d", "1 week from now"},
		"2027-11-26 10:00:30": {"366d", "in 366 days"},

		"2026-11-27 09:00": {
			"2026-11-27T09:00:00+01:00", "2026-11-27T08:00:00Z", "2026-11-27t08:00z", "2026-11-27 17:00+09:00", "2026-11-27 09:00:00.000 +01:00",
			"2026-11-27 09:00", "2026-11-27T09:00", "2026-11-27T09:00:00", "2026-11-27 9:00", "2026/11/27 09:00", "2026-11-27", "2026-11-27 at 9am", "２０２６－１１－２７　０９：００",
			"11/27 09:00", "11/27 9am", "27 nov 9am", "27 Nov 2026, 09:00", "Nov 27 at 9", "November 27th, 2026 at 9:00 AM", "27th of November 9:00", "Fri 27 Nov 09:00", "Friday, November 27, 9am",
			"fri 09:00", "Friday", "on friday at 9", "this friday 9:00", "9am on Friday", "09:00 fri", "9 a.m. friday", "friday morning at 9", "friday at 9 in the morning",
			"day after tomorrow 09:00", "the day after tomorrow at 9",
			"11月27日 9時", "11月27日9時", "11月27日(金) 9時", "11/27(金)9:00", "2026年11月27日 9時", "2026年11月27日(金曜日)の午前9時", "11月27日", "27日9時", "金曜 9時", "金曜日の9時", "金曜",
			"明後日9時", "あさっての朝9時", "今週金曜の9時", "次の金曜日 9時",
		},
		"2026-11-25 17:00":    {"17:00", "5pm", "5:00 pm", "5 p.m.", "today 17:00", "today at 5pm", "5pm today", "at 17", "17時", "午後5時", "今日17時", "今日の17時に", "本日 17:00", "夕方5時", "wed 17:00", "水曜17時"},
		"2026-11-25 10:00:45": {"10:00:45"},
		"2026-11-25 12:00":    {"noon", "正午", "12pm", "today at noon", "12時", "午後0時", "午後12時"},
		"2026-11-25 15:00":    {"午後3時", "午後３時", "午後3時ごろ", "15時", "15:00", "3pm", "午後 3:00"},
		"2026-11-25 20:00":    {"tonight at 8", "8 in the evening", "今夜8時", "今晩の8時", "夜8時", "夜20時", "this wed 8pm"},
		"2026-11-25 21:30":    {"9:30 pm", "9:30pm", "today 21:30", "午後9時半", "午後9時30分", "21時半"},
		"2026-11-26 00:00":    {"0:00", "12am", "0時", "午前0時", "tomorrow 00:00"},
		"2026-11-26 09:00":    {"09:00", "9am", "9時", "at 9", "tomorrow", "tomorrow 09:00", "tomorrow at 9", "tomorrow 9", "tomorrow, 9:00", "tomorrow morning at 9", "明日9時", "明日 09:00", "明日の9時", "明日、９時", "明日", "あした9時", "明日の朝9時", "明朝9時", "明日9時00分"},
		"2026-11-27 09:30":    {"明後日 9時半", "明後日 9時30分", "friday 9:30"},
		"2026-11-30 09:00":    {"mon 09:00", "monday 9:00", "Monday", "next monday 09:00", "next monday", "月曜 9時", "来週月曜 09:00", "来週の月曜日の9時", "月曜日の9時", "月曜9時", "月 9時", "30日の9時"},
		"2026-12-02 09:00":    {"wed 09:00", "wednesday", "next wed 9am", "来週水曜 9時", "水曜日9時"},
		"2026-12-04 09:00":    {"next friday 09:00", "来週金曜 9時"},
		"2026-12-06 09:00":    {"next sunday 9:00", "来週の日曜 9時"},
		"2026-12-07 09:00":    {"再来週の月曜9時"},
		"2026-12-25 09:00":    {"25日 9時"},
		"2027-01-05 09:00":    {"1/5 09:00", "1月5日9時", "5 jan", "Jan. 5 9am"},
	} {
		for _, text := range texts {
			got, err := when.Parse(text, now, berlin)
			if err != nil {
				t.Errorf("%v", err)
			} else if want := at(t, want, berlin); !got.Equal(want) || got.Location() != berlin {
				t.Errorf("%q is %s, want %s", text, got, want)
			}
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	zone := load(t, "Asia/Tokyo")
	now := at(t, wednesday, zone)
	for fault, texts := range map[string][]string{
		"empty":     {"", " ", "。"},
		"100 bytes": {strings.Repeat("9", 101)},
		`"; allowed are `: {
			"soonish", "そのうち", "later", "in", "in m", "90", "9", "at", "-5m", "in -5m", "5x", "in 1.5d", "in 2 months", "next week", "来週", "来月1日", "1ヶ月後", "90分", "2時間", "3日前", "2 hours ago", "in 2 hours at 9:00",
			"25:00", "24:00", "9:60", "09:00:60", "9:5", "13pm", "0am", "25時", "9時99分", "夜1時", "明日の夜12時", "tonight at 12", "12 in the evening", "tomorrow at", "tomorrows 9:00", "mon tue 9:00", "monday 9:00 10:00", "9:00 JST", "09:00 or 10:00", "<@U1> 9:00", "2026-11-27 09:00 Asia/Tokyo", "every monday 9:00", "+1h", "1e3s", "2026-1-1T9",
		},
		"does not exist":             {"2026-02-30 09:00", "2027-02-29", "13/01 09:00", "27/11 09:00", "00/10 9:00", "11/0 09:00", "2月30日9時", "0日9時", "32日9時", "31 nov 9am"},
		"without a time of day":      {"today", "今日", "27日", "tonight", "tomorrow morning", "明日の朝"},
		"is a Friday":                {"thu 27 nov 09:00", "11/27(木) 9時"},
		"not in the future: now it ": {"2026-11-25 09:00", "2026-11-24", "2026-11-25T01:00:30Z", "today 09:00", "today 10:00", "今日9時", "this monday 9:00", "今週月曜9時", "11/20 09:00", "wed 25 nov 9am", "0s", "in 0 days", "1999-01-01 00:00", "0000-01-01 00:00"},
		"more than 366 days ahead":   {"367d", "in 53 weeks", "9000h", "99999999w", "99999999h99999999h", "2027-11-27 09:00", "9999-12-31 23:59", "9999-12-31T23:59:59Z"},
	} {
		for _, text := range texts {
			got, err := when.Parse(text, now, zone)
			if err == nil {
				t.Errorf("%q was read as %s", text, got)
			} else if !strings.HasPrefix(err.Error(), "when is ") || !strings.Contains(err.Error(), fault) || !strings.HasSuffix(err.Error(), "allowed are "+when.Allowed) {
				t.Errorf("%q: %v; want %q", text, err, fault)
			}
		}
	}
}

// The clocks are changed between now and then.
func TestParseOverClockChanges(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ zone, now, text, want string }{
		{"Europe/Berlin", "2026-03-28 10:00", "in 1d", "2026-03-29T10:00:00+02:00"},
		{"Europe/Berlin", "2026-03-28 10:00", "in 24h", "2026-03-29T11:00:00+02:00"},
		{"Europe/Berlin", "2026-10-24 10:00", "in 1d", "2026-10-25T10:00:00+01:00"},
		{"Europe/Berlin", "2026-10-24 10:00", "in 1d1h", "2026-10-25T11:00:00+01:00"},
		{"Europe/Berlin", "2026-10-24 10:00", "1週間後", "2026-10-31T10:00:00+01:00"},
		{"Europe/Berlin", "2026-03-28 10:00", "tomorrow 02:30", "2026-03-29T03:00:00+02:00"}, // skipped
		{"Europe/Berlin", "2026-03-28 02:30", "in 1d", "2026-03-29T03:00:00+02:00"},
		{"Europe/Berlin", "2026-10-24 10:00", "tomorrow 02:30", "2026-10-25T02:30:00+02:00"}, // twice
		{"Europe/Berlin", "2026-10-25T02:45:00+02:00", "02:30", "2026-10-26T02:30:00+01:00"},
		{"Europe/Berlin", "2026-10-25T02:45:00+02:00", "02:50", "2026-10-25T02:50:00+02:00"},
		{"America/New_York", "2027-03-13 10:00", "sun 2:30", "2027-03-14T03:00:00-04:00"},
		{"America/New_York", "2026-10-31 10:00", "tomorrow 1:30am", "2026-11-01T01:30:00-04:00"},
		{"America/Santiago", "2026-09-05 10:00", "tomorrow 00:15", "2026-09-06T01:00:00-03:00"},
		{"Australia/Lord_Howe", "2026-10-03 10:00", "tomorrow 02:15", "2026-10-04T02:30:00+11:00"}, // half an hour
		{"Australia/Lord_Howe", "2026-04-04 10:00", "tomorrow 01:45", "2026-04-05T01:45:00+11:00"},
		{"Asia/Tokyo", "2026-03-28 10:00", "tomorrow 02:30", "2026-03-29T02:30:00+09:00"},
		{"Pacific/Apia", "2011-12-29 10:00", "in 1d", "2011-12-31T00:00:00+14:00"}, // the 30th was skipped
		{"Pacific/Apia", "2011-12-29 10:00", "in 2d", "2011-12-31T10:00:00+14:00"},
	} {
		zone := load(t, tc.zone)
		got, err := when.Parse(tc.text, at(t, tc.now, zone), zone)
		if want := at(t, tc.want, zone); err != nil || !got.Equal(want) {
			t.Errorf("%s, at %s: %q is %v (%v), want %v", tc.zone, tc.now, tc.text, got, err, want)
		}
	}
}

// A week has seven days, and so do the words about it: seen from each day, a weekday is at most a
// week ahead, and that of next week is after Sunday.
func TestParseWeekdays(t *testing.T) {
	t.Parallel()
	for d := range 14 {
		now := time.Date(2026, 11, 23+d, 12, 0, 0, 0, time.UTC)
		monday := time.Date(2026, 11, 23+d/7*7, 0, 0, 0, 0, time.UTC)
		for i, name := range []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} {
			soon, err := when.Parse(name+" 12:00", now, time.UTC)
			if want := now.AddDate(0, 0, (i-d+14-1)%7+1); err != nil || !soon.Equal(want) {
				t.Errorf("%s on %s is %s (%v), want %s", name, now.Weekday(), soon, err, want)
			}
			next, err := when.Parse("next "+name+" 12:00", now, time.UTC)
			if want := monday.AddDate(0, 0, 7+i).Add(12 * time.Hour); err != nil || !next.Equal(want) {
				t.Errorf("next %s on %s is %s (%v), want %s", name, now.Weekday(), next, err, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	zones := []*time.Location{time.UTC, load(f, "Europe/Berlin"), load(f, "Australia/Lord_Howe"), load(f, "Pacific/Apia"), load(f, "Asia/Tokyo")}
	for i, text := range []string{"in 90m", "in 1 hour, 3 days at 9", "2026-11-27T09:00:00Z", "next mon 9:30 pm", "11/27(金) 午後3時半", "27 nov 2026 09:00", "来週の月曜日、９時ごろ", "tonight at 8", "１時間半後", "\xff9:00", "99999999w99999999h"} {
		f.Add(text, int64(1_795_000_000+i*86_400), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text string, sec int64, z uint8) {
		now := time.Unix(sec%(1<<33), 123).UTC()
		got, err := when.Parse(text, now, zones[int(z)%len(zones)])
		switch {
		case err != nil && !utf8.ValidString(err.Error()):
			t.Fatalf("%q: the error is not UTF-8: %q", text, err)
		case err == nil && (!got.After(now) || got.Sub(now) > when.MaxAhead):
			t.Fatalf("%q at %s is %s", text, now, got)
		}
	})
}
