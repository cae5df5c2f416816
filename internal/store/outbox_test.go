package store

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// parts is a reply with the given texts.
func parts(reply string, texts ...string) []Part {
	var out []Part
	for i, text := range texts {
		out = append(out, Part{
			Key: fmt.Sprint(reply, "/", i), Reply: reply, Number: i, Team: team, Channel: channel, Thread: at(1), Trigger: at(2),
			Text: text, State: Composed, Saw: noon, Decision: "run/1", LeasedUntil: instant(0),
		})
	}
	return out
}

// compose writes a reply to the outbox that was composed just now.
func (db database) compose(t *testing.T, p []Part) []Part {
	t.Helper()
	for i := range p {
		p[i].Read = db.clock.now()
	}
	must(t, db.Compose(t.Context(), p, Decision{Key: "run/1"}))
	return db.parts(t, p[0].Reply)
}

func (db database) parts(t *testing.T, reply string) []Part {
	t.Helper()
	got, err := db.Parts(t.Context(), reply)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// noPace gives every part a slot at once.
const noPace = 0

// began reports whether an attempt has begun. ErrUnderWay is no error here.
func began(wait time.Duration, err error) (bool, error) {
	if errors.Is(err, ErrUnderWay) {
		return false, nil
	}
	return err == nil && wait == 0, err
}

func (db database) begin(t *testing.T, p Part, lease time.Duration, want bool, why string) {
	t.Helper()
	if got, err := began(db.BeginSend(t.Context(), p, noPace, lease)); err != nil || got != want {
		t.Errorf("%s: begun %v, %v; want %v", why, got, err, want)
	}
}

func TestComposeReplacesWhatWasComposed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		first := parts("r", "one", "two", "three")
		if got := db.compose(t, first); !reflect.DeepEqual(got, first) {
			t.Errorf("got  %+v\nwant %+v", got, first)
		}
		other := db.compose(t, parts("other", "stays"))
		second := parts("r", "uno", "due")
		if got := db.compose(t, second); !reflect.DeepEqual(got, second) {
			t.Errorf("got  %+v\nwant %+v", got, second)
		}
		if got := db.parts(t, "other"); !reflect.DeepEqual(got, other) {
			t.Errorf("the other reply became %+v", got)
		}
		if got := db.parts(t, "unknown"); len(got) != 0 {
			t.Errorf("an unknown reply has parts: %+v", got)
		}
	})
}

func TestComposeStopsOnceAnAttemptHasBegun(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := db.compose(t, parts("r", "one", "two"))
		db.begin(t, p[1], time.Minute, true, "the second part")
		check := func(when string) {
			t.Helper()
			for _, texts := range [][]string{{"x"}, {"x", "y"}, {"x", "y", "z"}} {
				if err := db.Compose(t.Context(), parts("r", texts...), Decision{Key: "run/1"}); !errors.Is(err, ErrUnderWay) {
					t.Errorf("%s: %v, want ErrUnderWay", when, err)
				}
			}
			if got := db.parts(t, "r"); len(got) != 2 || got[0].Text != "one" || got[1].Text != "two" {
				t.Errorf("%s: the reply became %+v", when, got)
			}
		}
		check("sending")
		must(t, db.EndSend(t.Context(), p[1], Composed, time.Time{}, "rate limited"))
		check("composed again")
		must(t, db.MarkPosted(t.Context(), p[1], said(at(5), at(1))))
		check("sent")
	})
}

// Slack's clock may be behind ours, and a first attempt that nobody wrote down was made at any time.
func TestPartIsSearchedForFrom(t *testing.T) {
	for tried, want := range map[time.Time]string{
		{}:                   at(60),
		chat.Time(at(61)):    at(60),
		chat.Time(at(3_600)): at(3_300),
	} {
		if got := (Part{Trigger: at(60), Tried: tried}).SearchFrom(); got != want {
			t.Errorf("tried %s: from %s, want %s", tried, got, want)
		}
	}
}

// A reply that may repeat a deleted message is composed again once none of it can be in Slack, and
// its attempts are still counted.
func TestOutdatedReplyIsComposedAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		matter := FactsRequest{Conversation: of(said(at(2), at(1))), Trigger: at(2), Decision: "run/2", Reply: "r"}
		anew := func(when string, want error) {
			t.Helper()
			f, err := db.Facts(t.Context(), matter)
			if begun := want != nil; err != nil || f.Begun != begun {
				t.Errorf("%s: begun %v, %v; want %v", when, f.Begun, err, begun)
			}
			if err := db.Compose(t.Context(), parts("r", "new"), Decision{Key: "run/1"}); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", when, err, want)
			}
		}
		p := db.compose(t, parts("r", "old", "and more"))[0]
		db.begin(t, p, time.Minute, true, "the first part")
		db.clock.advance(time.Second)
		db.delete(t, said(at(3), at(1)))
		anew("sending", ErrUnderWay)
		must(t, db.EndSend(t.Context(), p, Composed, time.Time{}, "rate limited"))
		anew("rate limited", nil)
		got := db.parts(t, "r")
		if len(got) != 1 || got[0].Text != "new" || got[0].Attempts != 1 || got[0].State != Composed || !got[0].Read.Equal(db.clock.now()) {
			t.Fatalf("the reply became %+v", got)
		}
		anew("composed anew", ErrUnderWay)
		db.begin(t, got[0], time.Minute, true, "the new one")
		must(t, db.EndSend(t.Context(), p, Composed, time.Time{}, "late news of the old one"))
		if row := db.row(t, p.Key); row.State != Sending || row.Attempts != 2 {
			t.Errorf("the outbox has %+v", row)
		}
		must(t, db.MarkPosted(t.Context(), got[0], said(at(5), at(1))))
		db.clock.advance(time.Second)
		db.delete(t, said(at(4), at(1)))
		anew("sent", ErrUnderWay)
	})
}

func TestComposeKeepsWhatANewerDecisionComposed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		by := func(run string, epoch int, text string) []Part {
			p := parts("r", text)
			p[0].Decision, p[0].Epoch = fmt.Sprintf("%s/%d", run, epoch), epoch
			return p
		}
		for _, step := range []struct {
			run   string
			epoch int
			want  error
		}{{"a", 10, nil}, {"a", 9, ErrUnderWay}, {"a", 10, nil}, {"a", 11, nil}, {"b", 1, nil}} {
			if err := db.Compose(t.Context(), by(step.run, step.epoch, "text"), Decision{Key: "run/1"}); !errors.Is(err, step.want) {
				t.Errorf("decision %s/%d: %v, want %v", step.run, step.epoch, err, step.want)
			}
		}
	})
}

func TestConcurrentComposeLeavesOneReplyWhole(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for n := range 10 {
			reply := fmt.Sprint("r", n)
			if n%2 == 1 {
				db.compose(t, parts(reply, "before", "before"))
			}
			errs := concurrently(6, func(i int) error {
				text := fmt.Sprint("by ", i)
				return db.Compose(t.Context(), parts(reply, slices.Repeat([]string{text}, 1+i%3)...), Decision{Key: "run/1"})
			})
			written := 0
			for i, err := range errs {
				switch {
				case err == nil:
					written++
				case !errors.Is(err, ErrUnderWay):
					t.Errorf("compose %d: %v", i, err)
				}
			}
			got := db.parts(t, reply)
			var by int
			if written == 0 || len(got) == 0 {
				t.Fatalf("reply %d: %d written, parts %+v", n, written, got)
			}
			if _, err := fmt.Sscanf(got[0].Text, "by %d", &by); err != nil {
				t.Fatalf("reply %d: %v", n, err)
			}
			for _, p := range got {
				if p.Text != got[0].Text || len(got) != 1+by%3 {
					t.Errorf("reply %d is a mixture: %+v", n, got)
				}
			}
		}
	})
}

// Composing the same reply at the same time never undoes an attempt: it would be posted twice.
func TestComposeNeverUndoesAnAttempt(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for n := range 30 {
			reply := fmt.Sprint("r", n)
			db.compose(t, parts(reply, "zero"))
			var mu sync.Mutex
			var begun []string
			noErrors(t, concurrently(6, func(i int) error {
				if i%2 == 0 {
					if err := db.Compose(t.Context(), parts(reply, fmt.Sprint(i)), Decision{Key: "run/1"}); err != nil && !errors.Is(err, ErrUnderWay) {
						return err
					}
					return nil
				}
				p, err := db.Parts(t.Context(), reply)
				if err != nil || len(p) == 0 {
					return err
				}
				mine, err := began(db.BeginSend(t.Context(), p[0], noPace, time.Minute))
				if mine {
					mu.Lock()
					defer mu.Unlock()
					begun = append(begun, p[0].Text)
				}
				return err
			}))
			got := db.parts(t, reply)
			if len(begun) > 1 {
				t.Errorf("reply %d: attempts began with each of %q", n, begun)
			}
			if len(begun) == 1 && (len(got) != 1 || got[0].State != Sending || got[0].Attempts != 1) {
				t.Errorf("reply %d: an attempt began, and the outbox says %+v", n, got)
			}
		}
	})
}

func TestOneOfRacingSendersBegins(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		other.now = db.clock.now
		for n := range 5 {
			p := db.compose(t, parts(fmt.Sprint("r", n), "text"))[0]
			var won atomic.Int32
			noErrors(t, concurrently(10, func(i int) error {
				sender := []*Store{db.Store, other}[i%2]
				if i%3 == 0 {
					begun, err := sender.BeginReply(t.Context(), p.Reply, noPace, time.Minute)
					if begun != nil {
						won.Add(1)
					}
					return err
				}
				mine, err := began(sender.BeginSend(t.Context(), p, noPace, time.Minute))
				if mine {
					won.Add(1)
				}
				return err
			}))
			if won.Load() != 1 {
				t.Errorf("reply %d: %d senders, want 1", n, won.Load())
			}
		}
	})
}

func TestAttemptHoldsItsPartUntilTheLeaseEnds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := db.compose(t, parts("r", "text"))[0]
		db.begin(t, p, 15*time.Second, true, "first")
		db.begin(t, p, 15*time.Second, false, "from the state before")
		sending := db.parts(t, "r")[0]
		want := p
		want.State, want.Attempts, want.LeasedUntil, want.Tried = Sending, 1, noon.Add(15*time.Second), noon
		if !reflect.DeepEqual(sending, want) {
			t.Errorf("sending: %+v\nwant     %+v", sending, want)
		}
		db.begin(t, sending, 15*time.Second, false, "under way")
		db.clock.advance(15 * time.Second)
		db.begin(t, sending, 15*time.Second, true, "lease over")
		if got := db.parts(t, "r")[0]; got.Attempts != 2 || !got.Tried.Equal(noon) {
			t.Errorf("%d attempts, the first at %s; want 2, from %s on", got.Attempts, got.Tried, noon)
		}
		must(t, db.EndSend(t.Context(), p, Composed, time.Time{}, "news of the first attempt"))
		if got := db.parts(t, "r")[0]; got.State != Sending {
			t.Errorf("an attempt that another has followed made the part %s", got.State)
		}
		must(t, db.EndSend(t.Context(), sending, Composed, time.Time{}, "rate limited"))
		again := db.parts(t, "r")[0]
		if again.State != Composed || again.Error != "rate limited" || !again.LeasedUntil.Equal(instant(0)) || again.Attempts != 2 {
			t.Errorf("after a definite error: %+v", again)
		}
		db.begin(t, again, 15*time.Second, true, "after a definite error, at once")
	})
}

// A worker that has looked for a part in Slack without finding it must not post it if another
// attempt with an unknown result began since.
func TestAttemptWithUnknownResultIsNoticed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := db.compose(t, parts("r", "text"))[0]
		unknownEnd := func(p Part) Part {
			t.Helper()
			db.begin(t, p, time.Minute, true, "an attempt")
			must(t, db.EndSend(t.Context(), p, Sending, time.Time{}, "timeout"))
			return db.parts(t, "r")[0]
		}
		seen := unknownEnd(p)
		again := unknownEnd(seen)
		if seen.State != Sending || again.State != Sending || !again.LeasedUntil.Equal(instant(0)) || again.Error != "timeout" {
			t.Errorf("after an unknown end: %+v", again)
		}
		db.begin(t, seen, time.Minute, false, "a worker that has not seen the second attempt")
		db.begin(t, again, time.Minute, true, "a worker that has")
	})
}

func TestEndSendDoesNotOverwriteSent(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := db.compose(t, parts("r", "text"))[0]
		db.begin(t, p, time.Minute, true, "first")
		posted := said(at(5), p.Thread)
		posted.Own = true
		must(t, db.MarkPosted(t.Context(), p, posted))
		for _, state := range []Delivery{Composed, Sending, Failed} {
			must(t, db.EndSend(t.Context(), p, state, time.Time{}, "late news"))
		}
		sent := db.parts(t, "r")[0]
		if sent.State != Sent || sent.SentTS != posted.TS || sent.Error != "" {
			t.Errorf("sent became %+v", sent)
		}
		db.clock.advance(time.Hour)
		for _, seen := range []Part{p, {Key: p.Key, State: Sending, Attempts: 1}} {
			db.begin(t, seen, time.Minute, false, "what is sent")
		}
	})
}

func TestReplaceWithNotice(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		excuse := func(when string, want bool) {
			t.Helper()
			if got, err := db.ReplaceWithNotice(t.Context(), "r", Notice{Text: "sorry", Reason: "refused"}); err != nil || got != want {
				t.Errorf("%s: excused %v, %v; want %v", when, got, err, want)
			}
		}
		refuse := func(p Part) {
			t.Helper()
			db.begin(t, p, time.Minute, true, p.Text)
			must(t, db.EndSend(t.Context(), p, Failed, time.Time{}, "msg_too_long"))
		}
		p := db.compose(t, parts("r", "one", "two"))
		other := db.compose(t, parts("other", "stays", "too"))
		excuse("composed", false)
		refuse(p[0])
		excuse("refused", true)
		got := db.parts(t, "r")
		if len(got) != 1 || got[0].Key != p[0].Key || got[0].Text != "sorry" || got[0].State != Composed || got[0].Attempts != 1 {
			t.Fatalf("the reply became %+v", got)
		}
		if d, err := db.Decision(t.Context(), p[0].Decision); err != nil || d.Reason != "refused: msg_too_long" {
			t.Errorf("decision %+v, %v", d, err)
		}
		refuse(got[0])
		excuse("refused as well", false)
		if got := db.parts(t, "other"); !reflect.DeepEqual(got, other) {
			t.Errorf("the other reply became %+v", got)
		}
	})
}

func TestMarkPostedOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := db.compose(t, parts("r", "one", "two"))
		posted := said(at(5), at(1))
		posted.Own, posted.BotID = true, "B1"
		for range 2 {
			must(t, db.MarkPosted(t.Context(), p[0], posted))
		}
		if got, err := db.Message(t.Context(), team, channel, posted.TS); err != nil || !reflect.DeepEqual(got, posted) {
			t.Errorf("remembered %+v, %v", got, err)
		}
		// Slack's own event, or an edit, arrived first and is not overwritten.
		second := said(at(6), at(1))
		second.Own = true
		edited := second
		edited.Text, edited.Revision = "edited", at(7)
		db.store(t, edited)
		must(t, db.MarkPosted(t.Context(), p[1], second))
		if got, err := db.Message(t.Context(), team, channel, second.TS); err != nil || got.Text != "edited" {
			t.Errorf("remembered %+v, %v", got, err)
		}
		db.wantRows(t, 2, "messages", "TRUE")
		for _, q := range db.parts(t, "r") {
			if q.State != Sent {
				t.Errorf("part %d is %s", q.Number, q.State)
			}
		}
	})
}

// A bot message that somebody deletes in Slack disappears here as well.
func TestDeletedReplyLeavesTheOutbox(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := db.compose(t, parts("r", "one", "two"))
		for i := range p {
			m := said(at(5+i), at(1))
			m.Own, m.Text = true, p[i].Text
			must(t, db.MarkPosted(t.Context(), p[i], m))
		}
		tell := func(m chat.Message) {
			t.Helper()
			m.Own = true
			must(t, errOf(db.Record(t.Context(), m, func(Known) Entry { return Entry{Message: &m, Handled: true} })))
		}
		edited := said(at(6), at(1))
		edited.Text, edited.Revision = "two, and more", at(7)
		tell(edited)
		gone := said(at(5), at(1))
		gone.Text, gone.Deleted = "", true
		tell(gone)
		for i, want := range []string{"", "two"} {
			if got := db.parts(t, "r")[i]; got.Text != want || got.State != Sent {
				t.Errorf("part %d is %s, %q; want %q", i, got.State, got.Text, want)
			}
		}
	})
}

// The last part and the reply's outcome are written together, or neither is.
func TestMarkRepliedSettlesTheDecision(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		p := parts("r", "one", "two")
		d := Decision{Key: p[0].Decision, WorkflowID: "w", Source: "addressed", Reason: "asked", Outcome: "pending"}
		must(t, db.Compose(t.Context(), p, d))
		outcome := func() string {
			t.Helper()
			got, err := db.Decision(t.Context(), d.Key)
			if err != nil {
				t.Fatal(err)
			}
			return string(got.Outcome) + " " + got.OutcomeBy
		}
		if err := db.MarkPosted(t.Context(), p[0], said(at(5), "")); err != nil || outcome() != "pending " {
			t.Errorf("after the first part: %s, %v", outcome(), err)
		}
		nothing := errors.New("the ledger cannot be written")
		if err := db.posted(t.Context(), p[1], said(at(6), ""), func(*gorm.DB) error { return nothing }); !errors.Is(err, nothing) {
			t.Errorf("%v, want %v", err, nothing)
		}
		if q := db.parts(t, "r")[1]; q.State != Composed || db.count(t, "messages", "ts = ?", at(6)) != 0 {
			t.Errorf("without the ledger %+v is written down", q)
		}
		for n := range 2 {
			settled, err := db.MarkReplied(t.Context(), p[1], said(at(6), ""))
			if err != nil || outcome() != "posted r" {
				t.Errorf("time %d: %s, %v", n, outcome(), err)
			}
			if news := n == 0; news != (settled != nil) || news && (settled.Key != d.Key || settled.Source != d.Source || settled.Reason != d.Reason) {
				t.Errorf("time %d: settled %+v", n, settled)
			}
		}
		if q := db.parts(t, "r")[1]; q.State != Sent || q.SentTS != at(6) || db.count(t, "messages", "ts = ?", at(6)) != 1 {
			t.Errorf("the outbox has %+v", q)
		}
	})
}

// A reply costs one insert, however many parts it has, and a deletion only if there is something to
// replace.
func TestComposeUsesOneInsert(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		var inserts, deletions int
		count := func(n *int) func(tx *gorm.DB) {
			return func(tx *gorm.DB) {
				if tx.Statement.Table == "outbox" {
					*n++
				}
			}
		}
		for _, err := range []error{
			db.db.Callback().Create().After("gorm:create").Register("count", count(&inserts)),
			db.db.Callback().Delete().After("gorm:delete").Register("count", count(&deletions)),
		} {
			must(t, err)
		}
		for n := range 2 {
			inserts, deletions = 0, 0
			db.compose(t, parts("r", "one", "two", "three"))
			if inserts != 1 || deletions != n {
				t.Errorf("%d inserts and %d deletions, want 1 and %d", inserts, deletions, n)
			}
		}
	})
}

// The same at the critical moment: another worker composes the reply and begins to post it between
// this one's query and its write. SQLite's transactions leave no such moment.
func TestComposeSeesConcurrentAttempt(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	other := open(t, db.url)
	other.now = db.clock.now
	meanwhile := sync.OnceFunc(func() {
		if err := other.Compose(t.Context(), parts("r", "theirs", "theirs"), Decision{Key: "run/1"}); err != nil {
			t.Error(err)
		}
		if mine, err := began(other.BeginSend(t.Context(), parts("r", "theirs")[0], noPace, time.Minute)); !mine || err != nil {
			t.Error(mine, err)
		}
	})
	must(t, db.db.Callback().Create().Before("gorm:create").Register("meanwhile", func(*gorm.DB) { meanwhile() }))
	if err := db.Compose(t.Context(), parts("r", "ours"), Decision{Key: "run/1"}); !errors.Is(err, ErrUnderWay) {
		t.Errorf("%v, want ErrUnderWay", err)
	}
	if got := db.parts(t, "r"); len(got) != 2 || got[0].Text != "theirs" || got[0].State != Sending || got[0].Attempts != 1 {
		t.Errorf("the attempt under way became %+v", got)
	}
}
