package activities

import (
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// muteOrder is an order, given now, to mute a conversation until a time.
func muteOrder(c chat.Conversation, until time.Time) RecordOrderInput {
	return RecordOrderInput{Conversation: c, ID: "mute " + until.String(), Kind: conversation.UpdateMute, By: "cli:carol", At: time.Now(), Until: until}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := chat.Conversation{Team: "T1", Channel: b.General}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		id, kind string
		until    time.Time
		want     time.Time
		refused  string
	}{
		{id: "1", kind: conversation.UpdateSnooze, until: at.Add(time.Hour), want: at.Add(time.Hour)},
		{id: "2", kind: conversation.UpdateMute, until: at.Add(conversation.MuteDuration), want: at.Add(conversation.MuteDuration)},
		{id: "3", kind: conversation.UpdateDrop, want: at.Add(conversation.MuteDuration)},
		{id: "4", kind: conversation.UpdateAnswerNow, want: at.Add(conversation.MuteDuration)},
		{id: "5", kind: conversation.UpdateUnmute},
		// again, after it was undone
		{id: "2", kind: conversation.UpdateMute, until: at.Add(conversation.MuteDuration)},
		{id: "3", kind: conversation.UpdateMute, until: at.Add(conversation.MuteDuration), refused: "another order has this id"},
		{id: "6", kind: conversation.UpdateSnooze, until: at.Add(time.Minute), want: at.Add(time.Minute)},
	} {
		_, err := runOnce[any](b.RecordOrder, RecordOrderInput{Conversation: c, ID: step.id, Kind: step.kind, By: "cli:carol", At: at, Until: step.until})
		if step.refused == "" && err != nil || step.refused != "" && (err == nil || !strings.Contains(err.Error(), step.refused)) {
			t.Fatalf("%s %s: %v, want %q", step.kind, step.id, err, step.refused)
		}
		if got, err := b.Store.SilencedUntil(t.Context(), c); err != nil || !got.Equal(step.want) {
			t.Errorf("after %s: silent until %s, %v; want %s", step.kind, got, err, step.want)
		}
	}
}
