package config_test

import (
	"errors"
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
)

// What people set in Slack has the limits of the file, and wins over it, except where the file locks it.
func TestSetInSlack(t *testing.T) {
	c := parse(t, over(`
response: {min_wait_seconds: 60, max_wait_seconds: 600}
language: ja
channels:
  C0000001: {mode: off, quiet_hours: "22:00-07:00", tone: Formal.}
  C0000002: {locked: true}
  C0000003: {locked: false}
workspaces:
  T0000001: {locked: true, mode: mention}
`), nil)
	facts := func(id string, of map[string]string) config.ChannelFacts {
		f := config.ChannelFacts{ID: id, Set: chat.Set{}}
		for key, value := range of {
			f.Set[key] = chat.InSlack{Value: value, By: "slack:U1"}
		}
		return f
	}
	all := map[string]string{"mode": "judge", "min_wait_seconds": "120", "quiet_hours": "", "remember": "here", "language": "en", "tone": "Short."}
	s := c.Channel(facts("C0000001", all))
	if s.Mode != config.ModeJudge || !s.ModeInSlack || s.MinWait.Seconds() != 120 || s.QuietHours.String() != "" ||
		s.Remember != config.RememberHere || s.Language != chat.English || s.Tone != "Short." {
		t.Errorf("set: %+v", s)
	}
	if got := c.Channel(facts("C0000002", all)); got.Mode != config.ModeJudge || got.ModeInSlack || got.Language != chat.Japanese {
		t.Errorf("locked: %+v", got)
	}
	for _, s := range c.Explain(facts("C0000001", all)) {
		if want, set := all[s.Key]; set && (s.From != "slack" || s.Value != want || s.By != "slack:U1" || s.Before == nil ||
			s.Key == "mode" && *s.Before != "off") {
			t.Errorf("explained: %+v", s)
		}
	}
	team := c.ForWorkspace("T0000001", "")
	for _, test := range []struct {
		c          config.Config
		channel    string
		key, value string
		want       string // of the error
	}{
		{c, "C0000001", "mode", "mention", ""},
		{c, "C0000001", "quiet_hours", "", ""},
		{c, "C0000001", "mode", "loud", `mode = "loud": must be one of judge, mention, all, off`},
		{c, "C0000001", "min_wait_seconds", "soon", `min_wait_seconds = "soon": must be a whole number from 0 to 86400`},
		{c, "C0000001", "min_wait_seconds", "-1", `min_wait_seconds = "-1": must be a whole number from 0 to 86400`},
		{c, "C0000009", "min_wait_seconds", "601", `min_wait_seconds = 601: must be at most response.max_wait_seconds (600), unless the channel sets its own max_wait_seconds`},
		{c, "C0000001", "quiet_hours", "late", `quiet_hours = "late": must be HH:MM-HH:MM from one time of day to another, such as 22:00-07:00, or empty`},
		{c, "C0000001", "tone", "a\nb", `tone = "a\nb": must be one line of up to 200 characters`},
		{c, "C0000001", "model", "large", `model = "large": cannot be set in Slack; mode, min_wait_seconds, quiet_hours, remember, language, tone can`},
		{c, "C0000002", "mode", "mention", config.ErrLocked.Error()},
		{team, "C0000001", "mode", "mention", config.ErrLocked.Error()},
		{team, "C0000003", "mode", "judge", ""},
	} {
		err := test.c.CheckSet(facts(test.channel, map[string]string{test.key: test.value}))
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%s: %s %s: %v, want %q", test.channel, test.key, test.value, err, test.want)
		}
		if (test.want == config.ErrLocked.Error()) != errors.Is(err, config.ErrLocked) {
			t.Errorf("%s: %v", test.channel, err)
		}
	}
}
