package door

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
)

const moved = `{"type":"channel_id_changed","old_channel_id":"GOLD","new_channel_id":"CNEW","event_ts":"100.1"}`

// Slack gives a channel a new id when it is shared with another workspace. What kept the bot silent under
// the old id also does under the new one, and so do settings that are only under the old id.
func TestDoorMovesAChannelToItsNewID(t *testing.T) {
	t.Parallel()
	settings := func(keys ...string) map[string]config.Channel {
		all := map[string]config.Channel{}
		for _, key := range keys {
			all[key] = config.Channel{Mode: config.ModeOff}
		}
		return all
	}
	for name, tc := range map[string]struct {
		channels map[string]config.Channel
		snoozed  bool
		want     time.Duration // 0: not silent
		warned   bool
	}{
		"nothing said of it":          {},
		"snoozed":                     {snoozed: true, want: time.Hour},
		"settings under the old id":   {channels: settings("GOLD"), want: 100 * 365 * 24 * time.Hour, warned: true},
		"settings and snoozed":        {channels: settings("GOLD"), snoozed: true, want: 100 * 365 * 24 * time.Hour, warned: true},
		"settings under both ids":     {channels: settings("GOLD", "CNEW")},
		"settings under the new id":   {channels: settings("CNEW")},
		"settings of another channel": {channels: settings("GOTHER")},
	} {
		b := setup(t)
		b.Config.Channels = tc.channels
		var log bytes.Buffer
		b.Logger = slog.New(slog.NewTextHandler(&log, nil))
		top := chat.Conversation{Team: "T1", Channel: "CNEW"}
		if tc.snoozed {
			if err := b.Store.ApplyOrder(t.Context(), store.Order{
				ID: "1", Scope: chat.Scope{Team: "T1", Channel: "GOLD"}, Kind: "snooze", By: "slack:U1", Until: time.Now().Add(time.Hour),
			}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if status := b.deliver(t, callback(moved)); status != 200 {
				t.Errorf("%s: status %d", name, status)
			}
			until, err := b.Store.SilencedUntil(t.Context(), top)
			if got := until.Sub(noon); err != nil || (tc.want > 0) != !until.IsZero() || tc.want > time.Hour && got != tc.want {
				t.Errorf("%s: silent until %s, %v; want %s", name, until, err, tc.want)
			}
			known, err := b.Store.Channels(t.Context(), "T1", []string{"GOLD", "CNEW"})
			if err != nil || !known["GOLD"].Private || !known["CNEW"].Private {
				t.Errorf("%s: %+v, %v", name, known, err)
			}
		}
		if warned := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "unmute"); warned != tc.warned {
			t.Errorf("%s: %s", name, &log)
		}
		if n := b.counted(t, "myao_events_total", "moved"); n != 2 {
			t.Errorf("%s: %v counted", name, n)
		}
		b.deliver(t, callback(strings.Replace(moved, "CNEW", "GOLD", 1)))
		if unusable, done := b.counted(t, "myao_events_total", "unusable"), b.counted(t, "myao_events_total", "moved"); unusable != 1 || done != 2 {
			t.Errorf("%s, and then to itself: %v unusable, %v counted", name, unusable, done)
		}
		if err := b.Store.Close(); err != nil {
			t.Fatal(err)
		}
		if status := b.deliver(t, callback(moved)); status != 503 || b.counted(t, "myao_events_total", "failed") == 0 {
			t.Errorf("%s, which cannot be kept: status %d", name, status)
		}
	}
}
