package config_test

import (
	"reflect"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
)

// Settings are resolved at each event, and loading a time zone is slow.
func TestTimeZonesAreLoadedOnce(t *testing.T) {
	c := parse(t, least+"\ntime_zone: Europe/Berlin\nchannels: {C1: {time_zone: Asia/Tokyo}}\n", nil)
	for id, want := range map[string]string{"C1": "Asia/Tokyo", "C2": "Europe/Berlin"} {
		zone := c.Channel(config.ChannelFacts{ID: id}).Zone
		if zone.String() != want {
			t.Errorf("the zone of %s is %s, want %s", id, zone, want)
		}
		if again := c.Channel(config.ChannelFacts{ID: id}).Zone; again != zone {
			t.Errorf("the zone of %s is loaded again", id)
		}
	}
	if got := c.Location().String(); got != "Europe/Berlin" {
		t.Errorf("the zone is %s", got)
	}
	c.TimeZone = "Asia/Kolkata"
	if got := c.Channel(config.ChannelFacts{ID: "C2"}).Zone.String(); got != c.TimeZone {
		t.Errorf("changed, the zone is %s", got)
	}
}

func TestAChannelInheritsSettings(t *testing.T) {
	c := parse(t, over(`agents: {response: {provider: demo, model: large}, judgment: {provider: demo}, memory: {provider: demo}}
response: {min_wait_seconds: 10, jitter_ratio: 0.2, max_wait_seconds: 20, max_delay_seconds: 30,
  follow_up_wait_seconds: 4, named_wait_seconds: 6, max_message_age_seconds: 50, daily_calls: 60, daily_tokens: 70, quiet_hours: "22:00-07:00"}
tools: {enabled: [search_messages, read_thread]}
channels:
  C0000001: {mode: all, bots: judge, remember: here, min_wait_seconds: 0, jitter_ratio: 0, max_wait_seconds: 2, max_delay_seconds: 0,
    follow_up_wait_seconds: 0, named_wait_seconds: 0, max_message_age_seconds: 1, daily_calls: 0, daily_tokens: 0, quiet_hours: "",
    language: ja, tone: Like a pirate., locked: true, persona: Speak like a pirate., model: parrot, time_zone: Asia/Tokyo, tools: []}
  C0000004: {tools: [read_thread, remember]}
  '#general': {mode: mention}
  C0000003:
`), nil)
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	must(t, err)
	quiet := func(text string) config.QuietHours {
		q, err := config.ParseQuietHours(text)
		must(t, err)
		return q
	}
	inherited := config.ChannelSettings{
		Mode: config.ModeJudge, Bots: config.BotsIgnore, Remember: config.RememberEverywhere, MinWait: 10 * time.Second, JitterRatio: 0.2, MaxWait: 20 * time.Second,
		MaxDelay: 30 * time.Second, FollowUpWait: 4 * time.Second, NamedWait: 6 * time.Second, MaxMessageAge: 50 * time.Second,
		Names: []string{"myao"}, Model: "large", Zone: time.UTC, Language: chat.English, PostTo: config.Places{}, Tools: []string{"search_messages", "read_thread"}, DailyCalls: 60, DailyTokens: 70, QuietHours: quiet("22:00-07:00"),
	}
	mention := inherited
	mention.Mode = config.ModeMention
	own := config.ChannelSettings{Mode: config.ModeAll, Bots: config.BotsJudge, Remember: config.RememberHere, MaxWait: 2 * time.Second, MaxMessageAge: time.Second,
		Names: []string{"myao"}, Persona: "Speak like a pirate.", Model: "parrot", Zone: tokyo, Language: chat.Japanese, Tone: "Like a pirate.", PostTo: config.Places{}, Tools: []string{}, MCPTools: []string{}}
	narrowed := inherited
	narrowed.Tools, narrowed.MCPTools = []string{"read_thread"}, []string{}
	for _, tc := range []struct {
		why, id, name string
		want          config.ChannelSettings
	}{
		{"no settings", "C0000009", "random", inherited},
		{"no settings, name unknown", "C0000009", "", inherited},
		{"all keys set, some to zero", "C0000001", "x", own},
		{"the id wins over the name", "C0000001", "general", own},
		{"by name", "C0000002", "general", mention},
		{"by name with #", "C0000002", "#general", mention},
		{"an empty section", "C0000003", "general", inherited},
		{"fewer tools, and one that is off", "C0000004", "", narrowed},
		{"no id", "", "", inherited},
	} {
		if got := c.Channel(config.ChannelFacts{ID: tc.id, Name: tc.name}); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %+v, want %+v", tc.why, got, tc.want)
		}
	}
}

func TestBudgets(t *testing.T) {
	for _, tc := range []struct {
		maxCalls, maxTokens, calls, tokens int
		want                               bool
	}{
		{0, 0, 1e6, 1e9, false},
		{3, 0, 2, 1e9, false},
		{3, 0, 3, 0, true},
		{0, 500, 1e6, 499, false},
		{0, 500, 1, 500, true},
		{3, 500, 3, 499, true},
		{3, 500, 2, 501, true},
		{3, 500, 2, 499, false},
	} {
		b := config.ChannelSettings{DailyCalls: tc.maxCalls, DailyTokens: tc.maxTokens}.Budget()
		if got := b.Exhausted(tc.calls, tc.tokens); got != tc.want {
			t.Errorf("%+v: got %v", tc, got)
		}
		if got := b.Limited(); got != (tc.maxCalls+tc.maxTokens > 0) {
			t.Errorf("%+v: budgeted is %v", tc, got)
		}
	}
}

func TestADayBeginsAtMidnightOfTheChannel(t *testing.T) {
	for _, tc := range []struct{ zone, now, want string }{
		{"UTC", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		{"UTC", "2026-03-01T23:59:59Z", "2026-03-01T00:00:00Z"},
		{"Asia/Tokyo", "2026-03-01T14:59:59Z", "2026-02-28T15:00:00Z"},
		{"Asia/Tokyo", "2026-03-01T15:00:00Z", "2026-03-01T15:00:00Z"},
		{"America/New_York", "2026-03-08T23:00:00Z", "2026-03-08T05:00:00Z"}, // summer time began that morning
		// If summer time begins at midnight, the day begins at 01:00.
		{"America/Santiago", "2026-09-06T03:59:59Z", "2026-09-05T04:00:00Z"},
		{"America/Santiago", "2026-09-06T04:00:00Z", "2026-09-06T04:00:00Z"},
		{"America/Santiago", "2026-09-06T15:00:00Z", "2026-09-06T04:00:00Z"},
		{"America/Santiago", "2026-09-07T15:00:00Z", "2026-09-07T03:00:00Z"},
		{"America/Havana", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z"},
		{"Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z"},
		// If summer time ends at midnight, the previous day has 25 hours. If it ends at 01:00, 00:00
		// occurs twice.
		{"America/Santiago", "2026-04-05T03:30:00Z", "2026-04-04T03:00:00Z"},
		{"America/Santiago", "2026-04-05T04:00:00Z", "2026-04-05T04:00:00Z"},
		{"America/Havana", "2026-11-01T04:30:00Z", "2026-11-01T04:00:00Z"},
		{"America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z"},
		{"Asia/Amman", "2021-10-29T12:00:00Z", "2021-10-28T21:00:00Z"},
		// A day that the time zone skipped.
		{"Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		zone, err := time.LoadLocation(tc.zone)
		must(t, err)
		now, err := time.Parse(time.RFC3339, tc.now)
		must(t, err)
		if got := (config.ChannelSettings{Zone: zone}).StartOfDay(now).UTC().Format(time.RFC3339); got != tc.want {
			t.Errorf("%s in %s: the day began at %s, want %s", tc.now, tc.zone, got, tc.want)
		}
	}
}

func TestHasNamedChannels(t *testing.T) {
	for text, want := range map[string]bool{
		"{}":                            false,
		"{C0123456: {}}":                false,
		"{D0123456: {}, G0123456: {}}":  false,
		"{C0123456: {}, general: {}}":   true,
		"{c0123456: {}}":                true,
		"{'#C0123456': {}}":             false,
		"{C012345678901234567890A: {}}": false,
	} {
		if got := parse(t, over("channels: "+text), nil).HasNamedChannels(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestDatabaseURLs(t *testing.T) {
	for _, tc := range []struct {
		url, path, redacted string
		sqlite              bool
	}{
		{"sqlite:data/myao.db", "data/myao.db", "sqlite:data/myao.db", true},
		{"sqlite:/var/x.db", "/var/x.db", "sqlite:/var/x.db", true},
		{"sqlite:///var/x.db", "/var/x.db", "sqlite:///var/x.db", true},
		{"sqlite://x.db", "x.db", "sqlite://x.db", true},
		{"postgres://me:hunter22@db:5432/x?password=hunter22", "", "postgres://me:xxxxx@db:5432/x?…", false},
		{"postgresql:///x", "", "postgresql:///x", false},
	} {
		d := parse(t, over("database: {url: '"+tc.url+"'}"), nil).Database
		path, ok := d.SQLitePath()
		if ok != tc.sqlite || (ok && path != tc.path) {
			t.Errorf("%s: got path %q, %v", tc.url, path, ok)
		}
		if d.Redacted() != tc.redacted {
			t.Errorf("%s: redacted to %s, want %s", tc.url, d.Redacted(), tc.redacted)
		}
	}
}

func TestWithheld(t *testing.T) {
	c := parse(t, over(`channels:
  C0000001: {remember: here}
  C0000002: {mode: mention}
  "#Board": {remember: nowhere}
  C0000003: {remember: nowhere}
  open: {remember: everywhere}
  staff: {remember: here}
`), nil)
	want := chat.Withheld{
		Inside:  chat.ChannelKeys{IDs: []string{"C0000001", "C0000003"}, Names: []string{"board", "staff"}},
		Nowhere: chat.ChannelKeys{IDs: []string{"C0000003"}, Names: []string{"board"}},
		IDs:     []string{"C0000001", "C0000002", "C0000003"},
	}
	if got := c.Withheld(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
