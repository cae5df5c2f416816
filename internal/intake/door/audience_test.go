package door

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"myao/internal/intake/record"
	"myao/internal/slack"
)

// shares gives the door a second workspace, T2, which has joined the channel. Slack's answers are for those teams.
func (b *bundle) shares(teams ...string) (asked *int, lost *error) {
	second := &Workspace{Store: b.Store, Slack: b.directory, Config: b.Workspace.Config, Directory: b.channels,
		Recorder: &record.Recorder{Store: b.Store, Directory: b.channels}, Relay: b.notified}
	b.Of = func(_ context.Context, team, _ string) (*Workspace, slack.Identity, error) {
		w := map[string]*Workspace{"T1": b.Workspace, "T2": second}[team]
		if w == nil {
			return nil, slack.Identity{}, fmt.Errorf("%w: workspace %s", slack.ErrForeign, team)
		}
		return w, slack.Identity{TeamID: team, UserID: "UBOT" + team, BotID: "BBOT" + team, AppID: "A1"}, nil
	}
	asked, lost = new(int), new(error)
	b.Authorizations = func(_ context.Context, eventContext string) (all []slack.Authorization, err error) {
		*asked++
		if *lost != nil || eventContext != "4-abc" {
			return nil, *lost
		}
		for _, team := range teams {
			all = append(all, slack.Authorization{Team: team})
		}
		return all, nil
	}
	return asked, lost
}

// shared is an event of a channel that companies share. It names one team, and happened in T9.
func shared(team, event string) string {
	return fmt.Sprintf(`{"type":"event_callback","team_id":"T9","event_time":100,"is_ext_shared_channel":true,
		"event_context":"4-abc","authorizations":[{"team_id":%q}],"event":%s}`, team, event)
}

func saying(ts string) string {
	return `{"type":"message","channel":"C1","user":"U1","ts":"` + ts + `","text":"hello","channel_type":"channel","team":"T9"}`
}

func TestSharedChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var missed []string
	b.Missed = func(reason string) { missed = append(missed, reason) }
	asked, lost := b.shares("T1", "T2", "T3")
	now := noon
	b.Clock = func() time.Time { return now }
	took := func(what string, targets int, calls int) {
		t.Helper()
		if n := len(b.notified.targets()); n != targets || *asked != calls {
			t.Errorf("%s: %d targets and %d calls, want %d and %d", what, n, *asked, targets, calls)
		}
	}
	deliver := func(body string) {
		t.Helper()
		if status := b.deliverAt(t, body, now); status != 200 {
			t.Errorf("status %d: %s", status, body)
		}
	}
	deliver(shared("T1", saying("100.000001")))
	took("one delivery", 2, 1)
	deliver(shared("T2", saying("100.000001")))
	took("its twin", 2, 1)
	deliver(shared("T2", saying("100.000002")))
	took("the other named", 4, 1)
	for _, team := range []string{"T1", "T2"} {
		if _, err := b.Store.Message(t.Context(), team, "C1", "100.000002"); err != nil {
			t.Errorf("%s: %v", team, err)
		}
	}
	deliver(callback(saying("100.000003")))
	took("a channel that is not shared", 5, 1)

	*lost = &slack.Error{Code: "http_503", Kind: slack.Transient}
	deliver(shared("T1", `{"type":"member_left_channel","channel":"C1","user":"U5"}`))
	took("somebody left", 5, 2)
	deliver(shared("T1", saying("100.000004")))
	took("Slack does not answer", 6, 2)
	if len(missed) != 2 {
		t.Errorf("missed %q", missed)
	}
	now = now.Add(audiencePause)
	*lost = nil
	deliver(shared("T1", saying("100.000005")))
	took("and then does", 8, 3)

	now, missed = now.Add(audienceMaxAge), nil
	*lost = &slack.Error{Code: "missing_scope", Kind: slack.Final}
	deliver(shared("T1", saying("100.000006")))
	deliver(shared("T1", saying("100.000007")))
	took("it may not be asked", 10, 4)
	if len(missed) != 0 {
		t.Errorf("missed %q", missed)
	}
}

// Slack sends an event again that could not be stored for everybody.
func TestSharedChannelFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.shares("T1", "T2")
	broken := errors.New("no database")
	of, fails := b.Of, true
	b.Of = func(ctx context.Context, team, org string) (*Workspace, slack.Identity, error) {
		if fails && team == "T2" {
			return nil, slack.Identity{}, broken
		}
		return of(ctx, team, org)
	}
	for _, want := range []int{503, 200} {
		if status := b.deliver(t, shared("T1", saying("100.000001"))); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
		fails = false
	}
	if n := len(b.notified.targets()); n != 2 {
		t.Errorf("%d targets", n)
	}
}
