package conversation

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestJitter(t *testing.T) {
	t.Parallel()
	const base, ratio, n = 300.0, 0.3, 20_000
	draw := func(c chat.Conversation, i int) float64 {
		s := New(c)
		s.Policy = Policy{MinWait: base, Jitter: ratio, MaxWait: 1800}
		s.Apply(Changes{{TS: ts(i), Kind: Said}}, start)
		return s.NextTick().Sub(start).Seconds()
	}
	var sum float64
	var tenths [10]int
	for i := range n {
		d := draw(inThread, i)
		if d < base*(1-ratio) || d > base*(1+ratio) {
			t.Fatalf("message %d waits %v s, want %v ± %v", i, d, base, base*ratio)
		}
		if again := draw(inThread, i); again != d {
			t.Fatalf("message %d waits %v s, then %v s", i, d, again)
		}
		r := (d/base - 1) / ratio // -1 to 1
		sum += r
		tenths[min(int((r+1)*5), 9)]++
	}
	if mean := sum / n; math.Abs(mean) > 0.02 {
		t.Errorf("mean of the jitter is %v of its range, want about 0", mean)
	}
	for i, got := range tenths {
		if got < n/10*8/10 || got > n/10*12/10 {
			t.Errorf("%d of %d draws in tenth %d, want about %d", got, n, i, n/10)
		}
	}
	if draw(inThread, 1) == draw(topLevel, 1) {
		t.Error("two conversations draw the same jitter")
	}
}

func TestShouldClose(t *testing.T) {
	t.Parallel()
	s := New(inThread)
	if !s.ShouldClose(start) {
		t.Error("a conversation without any change must close at once")
	}
	s.Policy = steady
	if !s.ShouldClose(start) {
		t.Error("a conversation without any message must close at once")
	}
	s.Apply(said(10), second(10))
	for _, st := range []step{
		at(310, Tick{}, "", ""), at(320, yes(1, 60), "", ""), at(380, Tick{}, "", ""), at(390, composed(1, Done), "", ""),
	} {
		if s.ShouldClose(second(1_000_000)) {
			t.Fatalf("should close while %s", s.Phase)
		}
		s.Apply(st.event, second(st.at))
	}
	if s.ShouldClose(second(1_000_000)) {
		t.Fatalf("should close while %s", s.Phase)
	}
	s.Apply(posted(1, Done), second(400))
	if s.ShouldClose(second(400+86399)) || !s.ShouldClose(second(400+86400)) {
		t.Error("IdleClose must count from the end of the reply")
	}
	if got := s.NextTick(); !got.Equal(second(400 + 86400)) {
		t.Errorf("NextTick = %v, want the time to close", got)
	}
	s.Apply(Tick{}, second(400+86400))
	if s.Phase != Idle {
		t.Errorf("a tick at closing time leads to %s", s.Phase)
	}
}

func TestAnswerableAndDroppable(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase]bool{Idle: false, Waiting: true, Judging: true, Delaying: true, Replying: false} {
		if got := (&State{Phase: phase}).Answerable(); got != want {
			t.Errorf("%s: Answerable = %v, want %v", phase, got, want)
		}
		if got := (&State{Phase: phase}).Droppable(); got != (want || phase == Replying) {
			t.Errorf("%s: Droppable = %v", phase, got)
		}
	}
	if (&State{Phase: Replying, Work: Work{Posting: true}}).Droppable() {
		t.Error("a post is droppable")
	}
}

func TestSeenIsBounded(t *testing.T) {
	t.Parallel()
	s := New(topLevel)
	s.Policy = steady
	for i := range 3 * seenLimit {
		s.Apply(said(i), second(i))
		if len(s.Seen) > seenLimit {
			t.Fatalf("%d change ids after %d changes, want at most %d", len(s.Seen), i+1, seenLimit)
		}
	}
	if got, want := s.Seen[seenLimit-1], said(3*seenLimit - 1)[0].ID(); got != want {
		t.Errorf("newest id is %q, want %q", got, want)
	}
	if got, want := s.Seen[0], said(2 * seenLimit)[0].ID(); got != want {
		t.Errorf("oldest id is %q, want %q", got, want)
	}
	many := Changes{}
	for i := range 2 * seenLimit {
		many = append(many, said(10_000+i)...)
	}
	s.Apply(many, second(20_000))
	if len(s.Seen) != seenLimit {
		t.Errorf("%d change ids after a batch, want %d", len(s.Seen), seenLimit)
	}
}

func TestStateThroughJSON(t *testing.T) {
	t.Parallel()
	delay := 30
	full := State{
		Conversation: inThread, Policy: steady, Phase: Replying,
		Pending: []Item{{TS: ts(1), Revision: "a", FollowUp: true, Named: true, At: second(1)}}, FirstAt: second(1),
		Work: Work{
			Capped: true, Ordered: true, Answering: []Item{{TS: ts(2), Addressed: true}}, Served: []Item{{TS: ts(1)}}, Posting: true, Notice: true,
			Steps: []Step{{ID: "s", Tool: "t", Done: true}}, Round: 2, Occasion: Occasion{Step: "s"},
		},
		Later: []Item{{TS: ts(3), Author: "U1", Stop: TooLate, Operator: true}},
		DueAt: second(4), Since: second(5),
		Verdict: &chat.Verdict{ShouldRespond: true, Reason: "why", Confidence: 0.5, DelaySeconds: &delay},
		Epoch:   7, Seen: []string{"x"},
		Proposals: []OpenProposal{{ID: "p", TS: ts(1), LapsesAt: second(9)}}, Acting: []ProposalRef{{ID: "q", TS: ts(2)}},
		Untold:   []UntoldOccasion{{Occasion{Step: "r"}, Item{TS: ts(3)}}},
		Promises: []OpenPromise{{ID: "m", TS: ts(1), Author: "U1", DueAt: second(9), Number: 2, Ended: PromiseKept, By: "U2"}}, HeldUntil: second(8),
	}
	for _, part := range []any{full, full.Work} {
		for field, value := range reflect.ValueOf(part).Fields() {
			if value.IsZero() {
				t.Fatalf("the test leaves %s empty", field.Name)
			}
		}
	}
	if got := throughJSON(t, &full); !reflect.DeepEqual(*got, full) {
		t.Errorf("got %+v\nwant %+v", *got, full)
	}
	b, err := json.Marshal(New(topLevel))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"conversation":{"team":"T1","channel":"C1"},` +
		`"policy":{"min_wait":0,"jitter":0,"max_wait":0,"max_delay":0,"follow_up_wait":0,"idle_close":0},` +
		`"phase":"idle","epoch":0}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
}

func TestPut(t *testing.T) {
	t.Parallel()
	var items []Item
	for _, n := range []int{30, 10, 20, 10, 30} {
		items = put(items, Item{TS: ts(n)})
	}
	if want := []Item{{TS: ts(10)}, {TS: ts(20)}, {TS: ts(30)}}; !slices.Equal(items, want) {
		t.Errorf("got %v, want %v", items, want)
	}
	items = put([]Item{{TS: ts(1), Revision: "b", Addressed: true}}, Item{TS: ts(1), Revision: "a", FollowUp: true})
	if want := []Item{{TS: ts(1), Revision: "b", Addressed: true, FollowUp: true}}; !slices.Equal(items, want) {
		t.Errorf("got %v, want %v", items, want)
	}
	// The order is by time, not by text.
	items = put(put(nil, Item{TS: "999.000000"}), Item{TS: "1000.000000"})
	if newest(items).TS != "1000.000000" {
		t.Errorf("newest of %v is %v", items, newest(items))
	}
	if got := newest(nil); got != (Item{}) {
		t.Errorf("newest of no items is %v", got)
	}
}

func TestChangeID(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, c := range []Change{
		{TS: "1.0", Kind: Said}, {TS: "1.0", Kind: Addressed}, {TS: "1.0", Kind: Deleted}, {TS: "2.0", Kind: Said},
		{TS: "1.0", Kind: Edited, Revision: "1"}, {TS: "1.0", Kind: Edited, Revision: "2"}, {TS: "1.0", Kind: Addressed, Revision: "1"},
	} {
		if ids[c.ID()] {
			t.Errorf("%+v shares the id %s", c, c.ID())
		}
		ids[c.ID()] = true
	}
	if (Change{TS: "1.0", Kind: Said, FollowUp: true}).ID() != (Change{TS: "1.0", Kind: Said}).ID() {
		t.Error("the id must not depend on FollowUp: a resent change keeps its id")
	}
}

func TestJitterIsNotNegative(t *testing.T) {
	t.Parallel()
	for i := range 1000 {
		s := New(inThread)
		s.Policy = Policy{MinWait: 300, Jitter: 1, MaxWait: 1800}
		s.Apply(said(i), start)
		if s.NextTick().Before(start) || s.NextTick().After(start.Add(600*time.Second)) {
			t.Fatalf("message %d waits until %v", i, s.NextTick().Sub(start))
		}
	}
}
