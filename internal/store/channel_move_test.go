package store

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestMoveChannel(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		const to = "C2"
		century, hour := noon.AddDate(100, 0, 0), noon.Add(time.Hour)
		old, muted, over := chat.Scope{Team: team, Channel: channel}, chat.Scope{Team: team, Channel: channel, Thread: at(1)}, chat.Scope{Team: team, Channel: channel, Thread: at(2)}
		db.sync(t, Channel{ID: channel, Name: "plans", Private: true})
		for i, o := range []Order{
			{Scope: old, Kind: "snooze", Until: hour}, {Scope: muted, Kind: "mute", Until: century},
			{Scope: over, Kind: "mute", Until: century}, {Scope: over, Kind: "unmute"},
		} {
			o.ID, o.By, o.At = string(rune('a'+i)), "slack:U1", noon
			must(t, db.ApplyOrder(ctx, o))
		}
		move := func(until time.Time) {
			t.Helper()
			must(t, db.MoveChannel(ctx, Move{Team: team, From: channel, To: to, Mute: until}))
		}
		silent := func(when string, want map[string]time.Time) {
			t.Helper()
			got := map[string]time.Time{}
			for _, thread := range []string{"", at(1), at(2)} {
				c := chat.Conversation{Team: team, Channel: to, Thread: thread}
				silences, err := db.Silenced(ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				if until := silences[c.ID()]; !until.IsZero() {
					got[thread] = until.UTC()
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: silent until %v, want %v", when, got, want)
			}
		}
		silent("before", map[string]time.Time{})
		move(time.Time{})
		silent("moved", map[string]time.Time{"": hour, at(1): century})
		top := chat.Conversation{Team: team, Channel: to}
		if o, err := db.LatestSilenceOrder(ctx, top); err != nil || o.Kind != "snooze" || o.By != "starter:channel_id_changed/C1" || o.MovedFrom() != channel {
			t.Errorf("%+v, %v", o, err)
		}
		if got, err := db.MovedTo(ctx, []string{channel, to}); err != nil || !reflect.DeepEqual(got, map[string][]string{channel: {to}}) {
			t.Errorf("%v, %v", got, err)
		}
		for id, member := range map[string]bool{channel: false, to: false} {
			if c := db.channel(t, id); !c.Private || c.Member != member {
				t.Errorf("%+v", c)
			}
		}

		db.clock.advance(time.Minute)
		must(t, db.ApplyOrder(ctx, Order{ID: "unmute", Scope: chat.Scope(top), Kind: "unmute", By: "slack:U1"}))
		move(century)
		silent("told again, after an unmute", map[string]time.Time{at(1): century})
		if o, err := db.LatestSilenceOrder(ctx, top); err != nil || o.Kind != "unmute" || o.MovedFrom() != "" {
			t.Errorf("%+v, %v", o, err)
		}
		db.sync(t, Channel{ID: to, Name: "plans", Private: true})
		if c := db.channel(t, to); !c.Private || !c.Member {
			t.Errorf("listed: %+v", c)
		}
	})
}

// A channel that must be muted is muted in every case, even if neither id is known.
func TestMoveChannelAndMute(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		century := noon.AddDate(100, 0, 0)
		top := chat.Conversation{Team: team, Channel: "C2"}
		if o, err := db.LatestSilenceOrder(ctx, top); err != nil || o != (Order{}) {
			t.Errorf("%+v, %v", o, err)
		}
		results := make(chan error)
		for range 4 { // Slack sends the event to several starters
			go func() { results <- db.MoveChannel(ctx, Move{Team: team, From: "G1", To: "C2", Mute: century}) }()
		}
		for range 4 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if until, err := db.SilencedUntil(ctx, top); err != nil || !until.Equal(century) {
			t.Errorf("%v, %v", until, err)
		}
		orders, err := db.Orders(ctx, team, "C2", time.Time{}, 10)
		if err != nil || len(orders) != 1 || orders[0].Kind != "mute" || orders[0].MovedFrom() != "G1" {
			t.Errorf("%+v, %v", orders, err)
		}
		if old, fresh := db.channel(t, "G1"), db.channel(t, "C2"); !old.Private || !fresh.Private {
			t.Errorf("%+v, %+v", old, fresh)
		}
		if err := db.MoveChannel(ctx, Move{Team: team, From: "C2", To: "C3"}); err != nil {
			// a mute follows the channel through every move
			t.Fatal(err)
		}
		if until, err := db.SilencedUntil(ctx, chat.Conversation{Team: team, Channel: "C3"}); err != nil || !until.Equal(century) {
			t.Errorf("%v, %v", until, err)
		}
	})
}

// Slack may report a later change of a channel's id before an earlier one, or both at once. The
// silence ends up at the newest id in every case.
func TestMovesInAnyOrder(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		century := noon.AddDate(100, 0, 0)
		first, second, third := []Move{}, []Move{}, []Move{}
		for i := range 10 {
			id := func(name string) string { return fmt.Sprintf("%s%d", name, i) }
			first = append(first, Move{Team: team, From: id("GA"), To: id("GB")})
			second = append(second, Move{Team: team, From: id("GB"), To: id("CC")})
			third = append(third, Move{Team: team, From: id("CC"), To: id("CD")})
			scope := chat.Scope{Team: team, Channel: id("GA")}
			for _, thread := range []string{"", at(1)} {
				scope.Thread = thread
				must(t, db.ApplyOrder(ctx, Order{ID: id("mute" + thread), Scope: scope, Kind: "mute", By: "slack:U1", Until: century}))
			}
		}
		move := func(m Move) {
			t.Helper()
			must(t, db.MoveChannel(ctx, m))
		}
		silent := func(when, channel string, want bool) {
			t.Helper()
			for _, thread := range []string{"", at(1)} {
				c := chat.Conversation{Team: team, Channel: channel, Thread: thread}
				silences, err := db.Silenced(ctx, c)
				if err != nil || silences[c.ID()].Equal(century) != want {
					t.Errorf("%s: %s is silent until %v, %v", when, c.ID(), silences[c.ID()], err)
				}
			}
		}
		for _, m := range []Move{third[0], second[0], first[0]} {
			silent("before", "CD0", false)
			move(m)
		}
		silent("the last one first", "CD0", true)
		if got, err := db.MovedTo(ctx, []string{"GA0", "GB0", "CC0"}); err != nil || !reflect.DeepEqual(got, map[string][]string{"GA0": {"GB0"}, "GB0": {"CC0"}, "CC0": {"CD0"}}) {
			t.Errorf("%v, %v", got, err)
		}
		for _, thread := range []string{"", at(1)} {
			must(t, db.ApplyOrder(ctx, Order{ID: "unmute" + thread, Scope: chat.Scope{Team: team, Channel: "CD0", Thread: thread}, Kind: "unmute", By: "slack:U1"}))
		}
		for _, m := range []Move{third[0], second[0], first[0]} {
			move(m)
		}
		silent("told again, after an unmute", "CD0", false)

		noErrors(t, concurrently(27, func(i int) error {
			return db.MoveChannel(ctx, [][]Move{first, second, third}[i%3][1+i/3])
		}))
		for i := 1; i < 10; i++ {
			silent("at once", fmt.Sprintf("CD%d", i), true)
		}
		move(Move{Team: team, From: "CD9", To: "GA9"}) // a cycle, which never happens, ends
	})
}

// Moving a channel without mutes gives no orders to be silent.
func TestMoveWithoutSilence(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		must(t, db.MoveChannel(t.Context(), Move{Team: team, From: "G1", To: "C2"}))
		if got, err := db.MovedTo(t.Context(), []string{"G1"}); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		if o, err := db.LatestSilenceOrder(t.Context(), chat.Conversation{Team: team, Channel: "C2"}); err != nil || o != (Order{}) {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// A button may be clicked long after its channel got another id: the ledger does not forget that.
func TestMovesAreKept(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.clock.at = day(900)
		must(t, db.MoveChannel(t.Context(), Move{Team: team, From: "C1", To: "G1"}))
		db.clock.at = noon
		db.prune(t, all)
		if same, err := db.Became(t.Context(), team, "C1", "G1"); err != nil || !same {
			t.Errorf("the click counts: %v, %v", same, err)
		}
	})
}
