package store

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func TestDecisionIsWrittenOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		confidence, delay := 0.85, 120
		d := Decision{
			Key: "run/1", WorkflowID: "channel/T1/C1", TriggerTS: at(1), Revision: at(2), Source: "judgment", Rule: "",
			ShouldRespond: true, Reason: "nobody answered", Confidence: &confidence, DelaySeconds: &delay, Model: "m",
			TokensIn: 10, TokensOut: 20, Outcome: "pending",
		}
		decide := func(d Decision) {
			t.Helper()
			must(t, db.Decide(t.Context(), d))
		}
		decide(d)
		db.clock.advance(time.Minute)
		again := d
		again.Reason, again.Outcome = "something else", "silent"
		decide(again)
		silent := Decision{Key: "run/0", WorkflowID: d.WorkflowID, TriggerTS: at(3), Source: "rule", Rule: "too_old", Outcome: "silent"}
		decide(silent)
		decide(Decision{Key: "run/2", WorkflowID: "channel/T1/C2", TriggerTS: at(1), Source: "rule", Outcome: "silent"})

		d.DecidedUS = micros(noon)
		silent.DecidedUS = micros(noon.Add(time.Minute))
		silent.SettledUS = &silent.DecidedUS
		got, err := db.DecisionsSince(t.Context(), []string{d.WorkflowID}, time.Time{}, 10)
		if err != nil || !reflect.DeepEqual(got, []Decision{d, silent}) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, []Decision{d, silent})
		}
		if at := got[0].Decided(); !at.Equal(noon) || at.Location() != time.UTC {
			t.Errorf("decided %v, want %v", at, noon)
		}
	})
}

// An abandoned judgment has a row without a verdict. Made again, it gets one, but its outcome stays
// unless it is posted.
func TestAbandonedJudgmentIsMadeAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		sure := 0.8
		for _, test := range []struct{ was, comes, want conversation.Outcome }{
			{"failed", "pending", "failed"}, {"failed", "silent", "silent"}, {"withdrawn", "pending", "withdrawn"}, {"dropped", "silent", "dropped"},
		} {
			key := string(test.was + "/" + test.comes)
			given := Decision{Key: key, WorkflowID: "w", Source: "judgment", Reason: "no judgment was had", Outcome: test.was}
			made := Decision{Key: key, WorkflowID: "w", Source: "judgment", Reason: "because", Confidence: &sure, ShouldRespond: true, Model: "m", Outcome: test.comes}
			for _, d := range []Decision{given, given, made, given} {
				must(t, db.Decide(t.Context(), d))
				if got, err := db.Decision(t.Context(), key); err != nil || got.HasVerdict() != got.ShouldRespond {
					t.Errorf("%s: taken %v, %+v, %v", key, got.HasVerdict(), got, err)
				}
			}
			if got, err := db.Decision(t.Context(), key); err != nil || got.Reason != "because" || got.Model != "m" || got.Outcome != test.want || got.SettledUS == nil {
				t.Errorf("%s: %+v, %v; want %s", key, got, err, test.want)
			}
		}
	})
}

func TestSettleOnlyWhatIsPending(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for _, d := range []Decision{{Key: "a", Outcome: "pending"}, {Key: "b", Outcome: "silent"}, {Key: "c", Outcome: "failed"}} {
			d.WorkflowID = "w"
			must(t, db.Decide(t.Context(), d))
		}
		db.clock.advance(time.Minute)
		for _, settle := range [][3]string{{"a", "posted", "key"}, {"a", "withdrawn", "late"}, {"b", "failed", "wrong"}, {"c", "posted", "fact"}, {"unknown", "posted", ""}} {
			must(t, db.Settle(t.Context(), settle[0], conversation.Outcome(settle[1]), settle[2]))
			db.clock.advance(time.Minute)
		}
		got, err := db.DecisionsSince(t.Context(), []string{"w"}, time.Time{}, 10)
		if err != nil || len(got) != 3 {
			t.Fatal(got, err)
		}
		if a := got[0]; a.Outcome != "posted" || a.OutcomeBy != "key" || *a.SettledUS != micros(noon.Add(time.Minute)) {
			t.Errorf("settled: %+v", a)
		}
		if b := got[1]; b.Outcome != "silent" || b.OutcomeBy != "" || *b.SettledUS != micros(noon) {
			t.Errorf("was never pending: %+v", b)
		}
		if c := got[2]; c.Outcome != "posted" || c.OutcomeBy != "fact" || *c.SettledUS != micros(noon.Add(4*time.Minute)) {
			t.Errorf("posted after all: %+v", c)
		}
	})
}

func TestSilencedUntil(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		db.record(t, m, keep(m, "said"))
		unknown := chat.Conversation{Team: team, Channel: "C9"}
		check := func(c chat.Conversation, want time.Time) {
			t.Helper()
			got, err := db.SilencedUntil(t.Context(), c)
			if err != nil || !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("%s is silenced until %v, %v; want %v", c.ID(), got, err, want)
			}
		}
		orders := 0
		silence := func(c chat.Conversation, until time.Time) {
			t.Helper()
			orders++
			must(t, db.ApplyOrder(t.Context(), Order{ID: strconv.Itoa(orders), Scope: chat.Scope(c), Kind: "snooze", Until: until}))
		}
		for _, c := range []chat.Conversation{of(m), unknown} {
			check(c, time.Time{})
			silence(c, noon.Add(time.Hour))
			check(c, noon.Add(time.Hour))
			century := noon.In(time.FixedZone("", 9*3600)).AddDate(100, 0, 0)
			silence(c, century)
			check(c, century)
		}
		// Orders and leases leave each other alone.
		silence(of(m), noon.Add(time.Hour))
		if taken := db.claim(t, of(m), "a"); len(taken) != 1 {
			t.Fatalf("taken %v", taken)
		}
		check(of(m), noon.Add(time.Hour))
		silence(of(m), time.Time{})
		check(of(m), time.Time{})
		if taken := db.claim(t, of(m), "b"); taken != nil {
			t.Errorf("silencing ended the lease: %v", taken)
		}
		silence(of(m), noon.Add(time.Hour))
		db.release(t, of(m), "a", true)
		check(of(m), noon.Add(time.Hour))
	})
}
