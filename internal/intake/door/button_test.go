package door

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/store"
)

func press(user, channel, message, action, value string) string {
	return payload(fmt.Sprintf(`{"type":"block_actions","trigger_id":"t.%[1]s.%[4]s","response_url":"https://hooks/x","team":{"id":"T1"},"user":{"id":%[1]q,"team_id":"T1"},
		"channel":{"id":%[2]q},"container":{"type":"message","message_ts":%[3]q,"channel_id":%[2]q},"actions":[{"type":"button","action_id":%[4]q,"block_id":"b","value":%[5]q}]}`,
		user, channel, message, action, value))
}

func TestButtons(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.directory.guests = map[string]bool{"UGUEST": true}
	b.Config.Slack.Operators = []string{"U9"}
	c := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1700000000.000100"}
	propose := func(n int) store.Proposal {
		t.Helper()
		decision := fmt.Sprint("run/", n)
		if _, err := b.Store.SaveTurn(t.Context(), c, "1700000000.000200", store.Turn{Decision: decision, Steps: []store.Step{{
			CallID: "c", Tool: "desk__create", Input: `{"title":"x"}`, State: store.StepProposed, Proposal: &store.Proposal{Choice: store.Choice{Asker: "U1"}, Server: "desk", LapsesUS: time.Now().Add(time.Hour).UnixMicro()},
		}}}); err != nil {
			t.Fatal(err)
		}
		shown, err := b.Store.ShowProposals(t.Context(), decision, "1700000000.000300")
		if err != nil || len(shown) != 1 {
			t.Fatalf("%+v, %v", shown, err)
		}
		return shown[0]
	}
	quiet := func(body string) {
		t.Helper()
		if status, answer := b.postTo(t, interactions, body, sign(body, secret, noon), false); status != 200 || answer != "" {
			t.Fatalf("status %d, %q", status, answer)
		}
	}
	const message = "1700000000.000300"
	state := func(p store.Proposal, want store.ProposalState) {
		t.Helper()
		if got, err := b.Store.Proposal(t.Context(), p.ID); err != nil || got.State != want {
			t.Errorf("the proposal is %s, %v; want %s", got.State, err, want)
		}
	}
	first := propose(1)
	for _, who := range []string{"U2", "U3"} {
		if got := b.click(t, press(who, "C1", message, "myao_approve", first.ID)); got != "Only <@U1>, who asked, and my operators may decide about this." {
			t.Errorf("%s is told %q", who, got)
		}
	}
	// Forged: the value in another place, or under another message.
	quiet(press("U1", "C2", message, "myao_approve", first.ID))
	quiet(press("U1", "C1", "1700000000.000999", "myao_approve", first.ID))
	quiet(press("U1", "C1", message, "myao_other", first.ID))
	if got := b.click(t, press("U1", "C1", message, "myao_approve", "none")); !strings.Contains(got, "no longer know") {
		t.Errorf("an unknown proposal: %q", got)
	}
	state(first, store.ProposalOpen)

	quiet(press("U1", "C1", message, "myao_approve", first.ID))
	state(first, store.ProposalApproved)
	if got := b.click(t, press("U9", "C1", message, "myao_decline", first.ID)); got != "This is decided already: approved by <@U1>, under way." {
		t.Errorf("a second click: %q", got)
	}
	second := propose(2)
	quiet(press("U9", "C1", message, "myao_decline", second.ID))
	state(second, store.ProposalDeclined)
	if got, want := b.changes(t, c), []string{"1700000000.000200 approved slack:U1", "1700000000.000200 declined slack:U9"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}

	third := propose(3)
	b.Config.Slack.EveryoneMay = []config.Permission{config.MayApprove}
	quiet(press("U2", "C1", message, "myao_approve", third.ID))
	state(third, store.ProposalApproved)
	fourth := propose(4)
	if got := b.click(t, press("UGUEST", "C1", message, "myao_approve", fourth.ID)); !strings.Contains(got, "Guests") {
		t.Errorf("a guest: %q", got)
	}
	state(fourth, store.ProposalOpen)

	// Slack took no answer in the channel: the buttons are in a direct message.
	fifth := propose(5)
	if err := b.Store.Compose(t.Context(), []store.Part{{Key: "r/0", Reply: "r", Team: "T1", Channel: "D1", Text: "Shall I?", Decision: "run/5"}}, store.Decision{Key: "run/5"}); err != nil {
		t.Fatal(err)
	}
	quiet(press("U1", "D2", message, "myao_approve", fifth.ID))
	state(fifth, store.ProposalOpen)
	quiet(press("U1", "D1", message, "myao_approve", fifth.ID))
	state(fifth, store.ProposalApproved)
}

// A channel that has another id now has the buttons of its promises, too.
func TestCancelAfterAMove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	if _, err := b.Store.AddPromise(t.Context(), store.Promise{
		Choice: store.Choice{ID: "p", TeamID: "T1", ChannelID: "G1", TriggerTS: "1700000000.000200", Decision: "run/1", Asker: "U1"},
		What:   "call",
		Zone:   "UTC",
		DueUS:  time.Now().Add(time.Hour).UnixMicro(),
	}, store.PromiseLimits{Conversation: 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.ShowPromises(t.Context(), "run/1", "1700000000.000300"); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.MoveChannel(t.Context(), store.Move{Team: "T1", From: "G1", To: "G2"}); err != nil {
		t.Fatal(err)
	}
	elsewhere := press("U1", "G3", "1700000000.000300", "myao_cancel", "p")
	if status, answer := b.postTo(t, interactions, elsewhere, sign(elsewhere, secret, noon), false); status != 200 || answer != "" {
		t.Errorf("in another channel: status %d, %q", status, answer)
	}
	if p, err := b.Store.Promise(t.Context(), "p"); err != nil || p.State != store.PromiseOpen {
		t.Errorf("it is %s, %v", p.State, err)
	}
	if got := b.click(t, press("U1", "G2", "1700000000.000300", "myao_cancel", "p")); got != "cancelled by <@U1>" {
		t.Errorf("told %q", got)
	}
}
