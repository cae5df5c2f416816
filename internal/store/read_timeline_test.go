package store

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func tsOf(kept []StoredMessage) []string {
	return mapRows(kept, func(m StoredMessage) string { return m.TS })
}

func TestStoredMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(3), ""), said(at(1), ""), said(at(2), at(1)), in("C2", said(at(4), "")))
		gone := said(at(5), "")
		gone.Deleted = true
		db.store(t, gone)
		must(t, db.SaveHistory(t.Context(), []chat.Message{said(at(6), "")}))
		top := chat.Conversation{Team: team, Channel: channel}
		for name, c := range map[string]struct {
			read func() ([]StoredMessage, error)
			want []string
		}{
			"of the top level": {func() ([]StoredMessage, error) { return db.MessagesSince(t.Context(), top, time.Time{}, 10) }, []string{at(1), at(3), at(6)}},
			"the newest two":   {func() ([]StoredMessage, error) { return db.MessagesSince(t.Context(), top, time.Time{}, 2) }, []string{at(3), at(6)}},
			"since a message":  {func() ([]StoredMessage, error) { return db.MessagesSince(t.Context(), top, chat.Time(at(3)), 10) }, []string{at(3), at(6)}},
			"with threads":     {func() ([]StoredMessage, error) { return db.ChannelMessagesSince(t.Context(), top, time.Time{}, 10) }, []string{at(1), at(2), at(3), at(6)}},
			"by ts": {func() ([]StoredMessage, error) {
				return db.MessagesByTS(t.Context(), team, channel, []string{at(5), at(2), at(4)})
			}, []string{at(2), at(5)}},
			"by ts, none": {func() ([]StoredMessage, error) { return db.MessagesByTS(t.Context(), team, channel, nil) }, nil},
			"of a thread's reply": {func() ([]StoredMessage, error) {
				return db.MessagesSince(t.Context(), of(said(at(2), at(1))), time.Time{}, 10)
			}, []string{at(2)}},
		} {
			if got, err := c.read(); err != nil || !slices.Equal(tsOf(got), c.want) {
				t.Errorf("%s: %v, %v; want %v", name, tsOf(got), err, c.want)
			}
		}
		got, err := db.MessagesByTS(t.Context(), team, channel, []string{at(3), at(6)})
		if want := []StoredMessage{{said(at(3), ""), true, noon}, {said(at(6), ""), false, noon}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	})
}

func TestChangesAndDecisions(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		a, b := said(at(1), ""), said(at(2), at(1))
		db.record(t, b, keep(b, conversation.Said))
		db.record(t, a, keep(a, conversation.Said, conversation.Edited))
		db.clock.advance(time.Minute)
		must(t, db.MarkRelayed(t.Context(), []int64{db.pending(t, of(b))[0].ID}))
		ids := []string{of(a).ID(), of(b).ID()}
		change := func(m chat.Message, kind conversation.Kind, relayed time.Time) RecordedChange {
			return RecordedChange{Change: conversation.Change{TS: m.TS, Kind: kind}, WorkflowID: of(m).ID(), Stored: noon, Relayed: relayed}
		}
		all := []RecordedChange{change(a, "said", time.Time{}), change(a, "edited", time.Time{}), change(b, "said", noon.Add(time.Minute))}
		for name, c := range map[string]struct {
			ids   []string
			since time.Time
			limit int
			want  []RecordedChange
		}{
			"all": {ids, time.Time{}, 10, all}, "at most one": {ids, time.Time{}, 1, all[:1]},
			"of one": {ids[1:], time.Time{}, 10, all[2:]}, "since the second": {ids, b.Time(), 10, all[2:]},
		} {
			if got, err := db.ChangesSince(t.Context(), c.ids, c.since, c.limit); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
			}
		}
		for i, m := range []chat.Message{a, b, in("C2", a)} {
			db.clock.advance(time.Minute)
			if err := db.Decide(t.Context(), Decision{Key: m.Channel + m.TS, WorkflowID: of(m).ID(), TriggerTS: m.TS, Outcome: "silent", Source: "rule"}); err != nil {
				t.Fatal(i, err)
			}
		}
		keys := func(since time.Time, limit int) []string {
			t.Helper()
			decisions, err := db.DecisionsSince(t.Context(), ids, since, limit)
			if err != nil {
				t.Fatal(err)
			}
			return mapRows(decisions, func(d Decision) string { return d.Key })
		}
		if got, want := keys(noon, 10), []string{"C1" + a.TS, "C1" + b.TS}; !slices.Equal(got, want) {
			t.Errorf("decisions %v, want %v", got, want)
		}
		if got, want := keys(noon.Add(3*time.Minute), 10), []string{"C1" + b.TS}; !slices.Equal(got, want) {
			t.Errorf("later decisions %v, want %v", got, want)
		}
		if got, want := keys(noon, 1), []string{"C1" + a.TS}; !slices.Equal(got, want) {
			t.Errorf("one decision %v, want %v", got, want)
		}
		passed, decisions, err := db.ChangesAndDecisions(t.Context(), ids, a.TS)
		if err != nil || !reflect.DeepEqual(passed, all[:2]) || len(decisions) != 1 || decisions[0].Key != "C1"+a.TS {
			t.Errorf("about one: %+v, %+v, %v", passed, decisions, err)
		}
	})
}

// A clock behind Slack's makes decisions look older than their messages.
func TestDecisionsFromASlowClock(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		earlier, m := said(at(5), ""), said(at(10), "")
		for i, of := range []chat.Message{earlier, m} {
			db.clock.at = m.Time().Add(time.Duration(i-4) * time.Second)
			must(t, db.Decide(t.Context(), Decision{Key: of.TS, WorkflowID: "top", TriggerTS: of.TS, Outcome: "silent", Source: "rule"}))
		}
		if got, err := db.DecisionsSince(t.Context(), []string{"top"}, m.Time(), 10); err != nil || len(got) != 1 || got[0].Key != m.TS {
			t.Errorf("since the message: %+v, %v", got, err)
		}
		if _, got, err := db.ChangesAndDecisions(t.Context(), []string{"top"}, m.TS); err != nil || len(got) != 1 || got[0].Key != m.TS {
			t.Errorf("about the message: %+v, %v", got, err)
		}
	})
}

func TestPartsFor(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for i, trigger := range []string{at(1), at(2)} {
			made := parts([]string{"b", "a"}[i], "one", "two")
			for j := range made {
				made[j].Trigger = trigger
			}
			must(t, db.Compose(t.Context(), made, Decision{Key: trigger, Outcome: "pending"}))
		}
		read := func(triggers ...string) []string {
			t.Helper()
			got, err := db.PartsFor(t.Context(), team, channel, triggers)
			if err != nil {
				t.Fatal(err)
			}
			return mapRows(got, func(p Part) string { return p.Key })
		}
		if got := read(at(1), at(3)); len(got) != 2 || got[0] != parts("b", "")[0].Key {
			t.Errorf("of one: %v", got)
		}
		if got := read(at(1), at(2)); len(got) != 4 || got[0] != parts("a", "")[0].Key {
			t.Errorf("of both: %v", got)
		}
		if got := read(); len(got) != 0 {
			t.Errorf("of none: %v", got)
		}
	})
}

func TestCallsAndUsage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread := chat.Scope{Team: team, Channel: channel, Thread: at(1)}
		minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
		made := []Call{
			{Scope: thread, Purpose: "judgment", Provider: "p", Model: "small", TokensIn: 10, TokensOut: 1, Latency: time.Second, Decision: "d1", Ended: minute(1)},
			{Scope: thread, Purpose: "judgment", Provider: "p", Model: "small", TokensIn: 20, Error: "rate_limited", Decision: "d1", Ended: minute(0)},
			{Scope: thread, Purpose: "response", Provider: "p", Model: "large", TokensIn: 30, TokensCached: 20, TokensOut: 3, Decision: "d2", Ended: minute(2)},
			{Scope: theChannel, Purpose: "judgment", Provider: "p", Model: "small", TokensIn: 40, Decision: "d3", Ended: minute(3)},
			{Scope: workspace, Purpose: "memory", Provider: "q", Model: "large", TokensIn: 50, TokensOut: 5, Ended: minute(4)},
		}
		for _, c := range made {
			must(t, db.SaveCall(t.Context(), c))
		}
		if got, err := db.CallsFor(t.Context(), []string{"d1", "d3", ""}); err != nil || !reflect.DeepEqual(got, []Call{made[1], made[0], made[3]}) {
			t.Errorf("for decisions: %+v, %v", got, err)
		}
		got, err := db.Usage(t.Context(), minute(0), minute(4))
		want := []Usage{
			{TeamID: team, ChannelID: channel, Purpose: "judgment", Provider: "p", Model: "small", Calls: 3, Failed: 1, TokensIn: 70, TokensOut: 1},
			{TeamID: team, ChannelID: channel, Purpose: "response", Provider: "p", Model: "large", Calls: 1, TokensIn: 30, TokensCached: 20, TokensOut: 3},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("usage %+v, %v\nwant %+v", got, err, want)
		}
		if got, err := db.Usage(t.Context(), minute(4), minute(5)); err != nil || len(got) != 1 || got[0].ChannelID != "" {
			t.Errorf("the last minute: %+v, %v", got, err)
		}
		if calls, tokens, err := db.Spent(t.Context(), team, channel, minute(1)); err != nil || calls != 3 || tokens != 84 {
			t.Errorf("spent %d calls, %d tokens, %v", calls, tokens, err)
		}
		if got, err := db.SpentByChannel(t.Context(), team, minute(1)); err != nil || !reflect.DeepEqual(got, map[string]Spending{channel: {3, 84}, "": {1, 55}}) {
			t.Errorf("spent by channel: %+v, %v", got, err)
		}
		other := Call{Scope: chat.Scope{Team: team, Channel: channel}, Purpose: "shadow", TokensIn: 1000, Ended: minute(3)}
		must(t, db.SaveCall(t.Context(), other))
		other.Scope.Team, other.Purpose = "T2", "judgment"
		must(t, db.SaveCall(t.Context(), other))
		if got, err := db.SpentByWorkspace(t.Context(), team, minute(1)); err != nil || got != (Spending{4, 139}) {
			t.Errorf("spent in the workspace: %+v, %v", got, err)
		}
	})
}

func TestTeamsAndChannelsNamed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		if got, err := db.Teams(t.Context()); err != nil || len(got) != 0 {
			t.Errorf("at first %v, %v", got, err)
		}
		db.sync(t, Channel{ID: "C2", Name: "general"}, Channel{ID: channel, Name: "general", Archived: true}, Channel{ID: "D1"})
		if got, err := db.Teams(t.Context()); err != nil || !slices.Equal(got, []string{team}) {
			t.Errorf("teams %v, %v", got, err)
		}
		got, err := db.ChannelsNamed(t.Context(), team, "general")
		if err != nil || len(got) != 2 || got[0].ID != channel || !got[0].Archived || !got[1].Member {
			t.Errorf("named general: %+v, %v", got, err)
		}
		if got, err := db.ChannelsNamed(t.Context(), team, ""); err != nil || len(got) != 0 {
			t.Errorf("without a name: %+v, %v", got, err)
		}
		for _, team := range []string{"T0", "T3"} {
			must(t, db.SaveChannel(t.Context(), team, Channel{ID: channel, Name: "elsewhere"}))
		}
		if got, err := db.Teams(t.Context()); err != nil || len(got) != 2 {
			t.Errorf("of three %v, %v", got, err)
		}
	})
}
