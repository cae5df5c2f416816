package door

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/store"
)

// A vote is recorded and acknowledged while Slack's views.open hangs. What is forged, repeated or late
// changes nothing.
func TestVotes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.directory.guests = map[string]bool{"UGUEST": true}
	const key, message = "reply/0", "1700000000.000300"
	part := store.Part{Key: key, Reply: "reply", Team: "T1", Channel: "C1", Trigger: "1700000000.000100", Text: "an answer", Decision: "run/1", Feedback: true}
	if err := b.Store.Compose(t.Context(), []store.Part{part}, store.Decision{Key: "run/1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.MarkReplied(t.Context(), part, chat.Message{Team: "T1", Channel: "C1", TS: message, Own: true, Text: "an answer"}); err != nil {
		t.Fatal(err)
	}
	post := func(body string) {
		t.Helper()
		if status, answer := b.postTo(t, interactions, body, sign(body, secret, noon), false); status != 200 || answer != "" {
			t.Fatalf("status %d, %q", status, answer)
		}
	}
	vote := func(user, channel, ts, block, value string, second int) string {
		return payload(fmt.Sprintf(`{"type":"block_actions","trigger_id":"t.%[1]s.%[6]d","team":{"id":"T1"},"user":{"id":%[1]q,"team_id":"T1"},
			"channel":{"id":%[2]q},"container":{"type":"message","message_ts":%[3]q,"channel_id":%[2]q},
			"actions":[{"type":"feedback_buttons","action_id":"myao_feedback","block_id":%[4]q,"value":%[5]q,"action_ts":"17000001%02[6]d.000000"}]}`, user, channel, ts, block, value, second))
	}
	reason := func(user, part, text string) string {
		return payload(fmt.Sprintf(`{"type":"view_submission","team":{"id":"T1"},"user":{"id":%q,"team_id":"T1"},"view":{"callback_id":"myao_feedback","private_metadata":%q,
			"state":{"values":{"reason":{"reason":{"type":"plain_text_input","value":%q}}}}}}`, user, part, text))
	}
	down := vote("U1", "C1", message, key, "down", 2)
	for _, body := range []string{
		vote("U1", "C1", message, key, "up", 1), down, down,
		vote("U1", "C1", message, key, "up", 1), // late
		vote("UGUEST", "C1", message, key, "up", 3), vote("U2", "C1", message, key, "down", 4), vote("U2", "C1", message, key, "up", 5),
		reason("U1", key, " "+strings.Repeat("長", 600)), reason("U2", key, "never mind"), reason("U3", key, "no vote"),
		vote("U9", "C2", message, key, "down", 6), vote("U9", "C1", "1700000000.000999", key, "down", 6),
		vote("U9", "C1", message, "other/0", "down", 6), vote("U9", "C1", message, key, "best", 6),
	} {
		post(body)
	}
	if err := b.Store.MarkRetracted(t.Context(), key, chat.Message{Team: "T1", Channel: "C1", TS: message}); err != nil {
		t.Fatal(err)
	}
	post(vote("U9", "C1", message, key, "down", 7))

	rows, err := b.Store.Feedback(t.Context(), []string{"run/1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range rows {
		got = append(got, v.UserID+" "+v.Value+" "+v.Reason)
	}
	if want := []string{"U1 down " + strings.Repeat("長", 500), "UGUEST up ", "U2 up "}; !slices.Equal(got, want) {
		t.Errorf("votes %q, want %q", got, want)
	}
	asked := []string{<-b.directory.asks, <-b.directory.asks}
	slices.Sort(asked)
	if want := []string{"t.U1.2 about " + key, "t.U2.4 about " + key}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for label, want := range map[string]float64{"up": 3, "down": 2} {
		if n := b.counted(t, "myao_feedback_total", label); n != want {
			t.Errorf("%v votes %s, want %v", n, label, want)
		}
	}
	for label, want := range map[string]float64{"unknown": 3, "elsewhere": 2, "deleted": 1, "value": 1} {
		if n := b.counted(t, "myao_feedback_ignored_total", label); n != want {
			t.Errorf("%v votes ignored as %s, want %v", n, label, want)
		}
	}
	if len(b.directory.asks) > 0 || len(b.answers.said) > 0 {
		t.Errorf("more is asked or said: %q", <-b.directory.asks)
	}
}
