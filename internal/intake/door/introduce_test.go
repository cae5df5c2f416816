package door

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
)

// The bot introduces itself once in a channel that it joins: an event that comes again changes nothing,
// except that what could not be begun is begun.
func TestIntroduce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Channels = map[string]config.Channel{"COFFOFF1": {Mode: config.ModeOff}}
	if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: "mute", Scope: chat.Scope{Team: "T1", Channel: "CMUTED"}, Kind: "mute", Until: noon.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	step := func(what, channel string, status int, want ...string) {
		t.Helper()
		got := b.member(t, "member_joined_channel", "UBOT", channel, 1)
		if begun := b.introducer.replies; got != status || !slices.Equal(begun, want) {
			t.Errorf("%s: answered %d and began %q, want %d and %q", what, got, begun, status, want)
		}
		b.introducer.replies = nil
	}
	step("off", "COFFOFF1", http.StatusOK)
	step("muted", "CMUTED", http.StatusOK)
	const reply = "T1/C1/introduced"
	b.introducer.err = errors.New("no Temporal")
	step("Temporal is away", "C1", http.StatusServiceUnavailable, reply)
	b.introducer.err = nil
	step("again", "C1", http.StatusOK, reply)
	parts, err := b.Store.Parts(t.Context(), reply)
	if err != nil || len(parts) != 1 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	if _, err := b.Store.BeginSend(t.Context(), parts[0], time.Second, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.MarkPosted(t.Context(), parts[0], chat.Message{Team: "T1", Channel: "C1", TS: "200.000001", Own: true, UserID: "UBOT", Text: parts[0].Text}); err != nil {
		t.Fatal(err)
	}
	step("posted", "C1", http.StatusOK)
	b.Config.Slack.Introduce = false
	step("switched off", "C2", http.StatusOK)
}
