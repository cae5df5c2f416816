package config_test

import (
	"testing"
	"time"

	"myao/internal/config"
)

func TestAChannelsSettingsInheritWhatTheyLack(t *testing.T) {
	c := parse(t, over(`
response: {min_wait_seconds: 10, jitter_ratio: 0.2, max_wait_seconds: 20, max_delay_seconds: 30,
  follow_up_wait_seconds: 4, max_message_age_seconds: 50}
channels:
  C0000001: {mode: all, bots: judge, min_wait_seconds: 0, jitter_ratio: 0, max_wait_seconds: 2, max_delay_seconds: 0,
    follow_up_wait_seconds: 0, max_message_age_seconds: 1}
  '#general': {mode: mention}
  C0000003:
`), nil)
	inherited := config.ChannelSettings{
		Mode: config.ModeJudge, Bots: config.BotsIgnore, MinWait: 10 * time.Second, JitterRatio: 0.2, MaxWait: 20 * time.Second,
		MaxDelay: 30 * time.Second, FollowUpWait: 4 * time.Second, MaxMessageAge: 50 * time.Second,
	}
	mention := inherited
	mention.Mode = config.ModeMention
	own := config.ChannelSettings{Mode: config.ModeAll, Bots: config.BotsJudge, MaxWait: 2 * time.Second, MaxMessageAge: time.Second}
	for _, tc := range []struct {
		why, id, name string
		want          config.ChannelSettings
	}{
		{"nothing said of it", "C0000009", "random", inherited},
		{"nothing said of it, name unknown", "C0000009", "", inherited},
		{"every key of its own, zeros too", "C0000001", "x", own},
		{"the id wins over the name", "C0000001", "general", own},
		{"by name", "C0000002", "general", mention},
		{"by name with #", "C0000002", "#general", mention},
		{"said to be like the rest", "C0000003", "general", inherited},
		{"no id", "", "", inherited},
	} {
		if got := c.Channel(tc.id, tc.name); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.why, got, tc.want)
		}
	}
}

func TestShortIdsAreFoundToo(t *testing.T) {
	c := parse(t, over("channels: {C1: {mode: off}}"), nil)
	if got := c.Channel("C1", "general").Mode; got != config.ModeOff {
		t.Errorf("got %s", got)
	}
}

func TestNamesChannels(t *testing.T) {
	for text, want := range map[string]bool{
		"{}":                            false,
		"{C0123456: {}}":                false,
		"{D0123456: {}, G0123456: {}}":  false,
		"{C0123456: {}, general: {}}":   true,
		"{c0123456: {}}":                true,
		"{'#C0123456': {}}":             false,
		"{C012345678901234567890A: {}}": false,
	} {
		if got := parse(t, over("channels: "+text), nil).NamesChannels(); got != want {
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
