package conversation

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// The first byte of each pair of a fuzzed script: what happens.
const (
	opSaid = iota
	opMention
	opEdited
	opDeleted
	opTogether // the next few changes come in one signal
	opLater    // time passes
	opTick
	opDue // time passes until something is due
	opYes
	opNo
	opComposed
	opPosted
	opAnswerNow
	opDrop
	opStale  // the result of ended or cancelled work comes again
	opRepeat // a signal comes again
	ops

	// opHushed was added later. It takes the highest bytes, so that older scripts keep their
	// meaning.
	opHushed = 240
	// So were these, below it.
	opLooking = 216 // the model wants to look something up
	opLooked  = 224 // a step of that ends
	opStop    = 232 // somebody says stop
)

// messages is the number of messages; their ts are ten seconds apart.
const messages = 12

// FuzzState drives a conversation with arbitrary events. It compares the state with a
// reference model, and checks the effects on their own. Three promises have checks that do
// not depend on the model:
//
//   - no reply without a cause: effect;
//   - no cause is lost: checkCauses;
//   - one deadline: check. The workflow's tests show that it has one timer for it.
func FuzzState(f *testing.F) {
	ambient := []byte{opSaid, 0, opDue, 0, opYes, 0}
	add := func(kind byte, more ...byte) { f.Add(append([]byte{kind}, more...)) }
	for kind := range byte(12) {
		add(kind, append(ambient, opComposed, 0, opPosted, 0)...)
		add(kind, append(ambient, opSaid, 1, opDue, 0, opYes, 2, opSaid, 2, opDrop, 0)...)
		add(kind, append(ambient, opComposed, 0, opMention, 1, opSaid, 2, opEdited, 0, opPosted, 0, opComposed, 3, opComposed, 3)...)
		add(kind, opMention, 0, opMention, 1, opSaid, 2, opDeleted, 0, opComposed, 0, opDeleted, 1, opPosted, 2)
		add(kind, opTogether, 4, opMention, 0, opMention, 1, opSaid, 2, opDeleted, 1, opComposed, 2, opStale, 0, opRepeat, 0)
		// At MaxWait: two messages, a judgment, more messages, one deleted.
		add(kind, opTogether, 2, opSaid, 0, opSaid, 1, opLater, 255, opLater, 255, opTick, 0, opSaid, 2, opDeleted, 0, opTick, 0, opYes, 3, opSaid, 3,
			opComposed, 0, opSaid, 4, opPosted, 2)
		add(kind, opSaid, 0, opSaid, 1, opAnswerNow, 0, opSaid, 2, opDeleted, 1, opMention, 3, opEdited, 3, opComposed, 0, opPosted, 1)
		add(kind, append(ambient, opMention, 0, opRepeat, 0, opStale, 1, opDue, 0, opYes, 2, opAnswerNow, 0, opComposed, 0, opDrop, 0)...)
		add(kind, opTogether, 2, opSaid, 3, opSaid, 5, opDue, 0, opYes, 0, opComposed, 0, opMention, 6, opPosted, 2, opMention, 7, opDeleted, 7)
		add(kind, append(ambient, opSaid, 1, opHushed, 1, opEdited, 1, opDue, 0, opYes, 2, opHushed, 0, opMention, 0, opComposed, 0, opHushed, 0, opEdited, 0, opPosted, 0)...)
		add(kind, opTogether, 5, opHushed, 2, opSaid, 2, opMention, 3, opHushed, 3, opMention, 3, opSaid, 1, opMention, 4, opComposed, 0, opHushed, 3, opHushed, 4, opPosted, 0)
		add(kind, opSaid, 9, opDue, 0, opNo, 1, opSaid, 2, opTogether, 3, opEdited, 2, opMention, 4, opSaid, 6, opDue, 0, opStale, 0)
	}
	for kind := range byte(12) {
		add(kind, opMention, 0, opLooking, 2, opSaid, 2, opMention, 4, opSaid, 1, opLooked, 0, opLooked, 1, opSaid, 6, opComposed, 0, opPosted, 0)
		add(kind, opMention, 0, opLooking, 1, opMention, 2, opLooked, 0, opDeleted, 0, opLooking, 2, opStop, 4, opComposed, 0, opPosted, 0)
		add(kind, append(ambient, opLooking, 1, opSaid, 1, opDue, 0, opYes, 0, opLooking, 2, opLooked, 0, opStop, 1, opStop, 130)...)
		add(kind, opMention, 0, opMention, 1, opComposed, 0, opStop, 2, opStop, 14, opPosted, 4, opComposed, 0, opPosted, 0)
		add(kind, opTogether, 3, opMention, 0, opSaid, 1, opStop, 2, opMention, 4, opStop, 6, opComposed, 3, opStop, 134, opEdited, 134, opPosted, 3)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 { // so that a plain test run covers something as well
		script := make([]byte, 200)
		for i := range script {
			script[i] = byte(r.IntN(256))
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 400 {
			return // the ring of change ids is bounded: a longer script may repeat one that has left it
		}
		d := newDriver(t, data[0])
		for i := 1; i+1 < len(data); i += 2 {
			op := data[i] % ops
			for _, added := range []byte{opHushed, opStop, opLooked, opLooking} {
				if data[i] >= added {
					op = added
					break
				}
			}
			d.do(op, data[i+1])
		}
		d.end()
	})
}

// driver plays everything around a conversation: people, activities and time.
type driver struct {
	t     *testing.T
	s     *State
	m     *model
	now   time.Time
	past  []moment
	held  Changes // changes of the next signal
	hold  int     // how many are still to be held
	sent  []Changes
	born  [messages]bool
	dead  [messages]bool
	edits int
	// revision is the newest of each message.
	revision [messages]string

	// work is the effect in flight; ended are the effects that ended.
	work  Effect
	ended []Effect
	// open are the decisions that are not settled, yes those of them with a verdict yes.
	open    map[int]bool
	about   map[int]Item // what each decision was about
	yes     map[int]bool
	rounds  map[int]int // how often each decision has looked things up
	settled map[int]bool
	deleted set  // messages whose deletion was signalled
	hushed  set  // messages that are hushed
	gone    set  // messages that an activity found deleted
	known   set  // changes that were signalled
	ordered bool // before the newest event, the reply was an operator's order
}

func newDriver(t *testing.T, kind byte) *driver {
	c := []chat.Conversation{inThread, topLevel, direct}[kind%3]
	d := &driver{t: t, s: New(c), m: newModel(c != topLevel), now: start, open: map[int]bool{}, about: map[int]Item{}, yes: map[int]bool{}, rounds: map[int]int{}, settled: map[int]bool{}, deleted: set{}, hushed: set{}, gone: set{}, known: set{}}
	d.s.Policy = Policy{MinWait: 300, Jitter: 0.3, MaxWait: 1800, MaxDelay: 600, FollowUpWait: 5, IdleClose: 86400}
	if kind/3%2 == 1 { // MaxWait is reached at once, or nearly
		d.s.Policy = Policy{MinWait: 20, Jitter: 1, MaxWait: 15, MaxDelay: 0, FollowUpWait: 30, IdleClose: 1}
	}
	return d
}

// moment is an event and when it happened.
type moment struct {
	event Event
	at    time.Time
}

// fail logs all events first, by applying them once more.
func (d *driver) fail(format string, args ...any) {
	d.t.Helper()
	s := New(d.s.Conversation)
	s.Policy = d.s.Policy
	for _, m := range d.past {
		effects := show(s.Apply(m.event, m.at))
		d.t.Logf("%5d %T%+v → %s, %s [%s]", int(m.at.Sub(start).Seconds()), m.event, m.event, effects, s.phaseUntil(), s.items())
	}
	d.t.Fatalf(format, args...)
}

func (d *driver) do(op, arg byte) {
	n := int(arg) % messages
	switch op {
	case opSaid, opMention, opEdited, opDeleted, opHushed, opStop:
		d.change(op, n, arg)
	case opLooking:
		c, ok := d.work.(Compose)
		if !ok || c.Notice {
			return
		}
		e := Composed{Epoch: c.Epoch, Round: c.Round, Result: Looking}
		for i := range int(arg) % 4 {
			e.Steps = append(e.Steps, Step{ID: fmt.Sprintf("%d.%d.%d", c.Epoch, c.Round, i), Tool: "search"})
		}
		d.rounds[c.Epoch] = c.Round + 1
		d.finish(e, func() { d.m.composed(Looking, e.Steps...) })
	case opLooked:
		look, ok := d.work.(Look)
		if !ok {
			d.ignored(Looked{d.s.Epoch, "unknown"})
			return
		}
		left := d.m.left.steps()
		step := left[int(arg)%len(left)]
		if len(left) == 1 {
			d.work, d.ended = nil, append(d.ended, d.work)
		}
		d.apply(Looked{look.Epoch, step}, func() { d.m.looked(step) })
	case opTogether:
		d.hold = int(arg)%6 + 1
	case opLater:
		d.now = d.now.Add(time.Duration(arg) * 10 * time.Second)
	case opTick, opDue:
		if w := d.s.NextTick(); op == opDue && d.now.Before(w) {
			d.now = w
		}
		if due := !d.s.NextTick().IsZero() && !d.now.Before(d.s.NextTick()); due {
			late := !d.now.Before(maxWaitOf(d.s))
			d.apply(Tick{}, func() { d.m.tick(late) })
		} else {
			d.apply(Tick{}, nil)
		}
	case opYes, opNo:
		d.judge(op, arg)
	case opComposed:
		r := results[arg%5]
		if c, ok := d.work.(Compose); ok && c.Oldest == "" && r == Outdated {
			r = Done
		}
		d.finish(Composed{Epoch: d.s.Epoch, Round: d.s.Round, Result: r, By: ts(0)}, func() { d.m.composed(r) })
	case opPosted:
		d.finish(posted(d.s.Epoch, results[arg%5]), func() { d.m.posted(results[arg%5]) })
	case opAnswerNow:
		d.apply(AnswerNow{}, d.m.answerNow)
	case opDrop:
		d.apply(Drop{By: "alice"}, d.m.drop)
	case opStale:
		if len(d.ended) > 0 {
			d.stale(d.ended[int(arg)%len(d.ended)])
		}
	case opRepeat:
		if len(d.sent) > 0 {
			again := d.sent[int(arg)%len(d.sent)]
			d.apply(again, func() { d.m.changes(again) })
		}
	}
}

var results = []Result{Done, Silenced, Gone, Failed, Outdated}

// authorOf is whose a message is: of two people, in turn.
func authorOf(ts string) string {
	return []string{"U1", "U2"}[int(chat.Time(ts).Sub(start)/(10*time.Second))%2]
}

// change makes a change that Slack could send: nothing happens to a deleted message, and
// only the first change of a message can be Said.
func (d *driver) change(op byte, n int, arg byte) {
	c := Change{TS: ts(n * 10), FollowUp: arg >= 128, Author: authorOf(ts(n * 10)), Mention: op == opMention}
	if op == opStop {
		c.Stop, c.Mention = true, arg >= 128
		if arg/messages%2 == 1 {
			c.By = "slack:" + c.Author
		}
		if op = opSaid; c.Mention {
			op = opMention
		} else if d.born[n] {
			return
		}
	}
	switch {
	case d.dead[n]:
		return
	case op == opDeleted:
		c.Kind, d.dead[n] = Deleted, true
	case op == opHushed:
		c.Kind, c.By, c.Revision = Hushed, "slack:U1", d.revision[n]
	case op == opSaid && !d.born[n]:
		c.Kind = Said
	case op == opMention:
		c.Kind = Addressed
	default:
		c.Kind = Edited
	}
	if (op == opMention && d.born[n]) || c.Kind == Edited {
		d.edits++
		c.Revision = fmt.Sprintf("%04d", d.edits)
		d.revision[n] = c.Revision
	}
	d.born[n] = d.born[n] || op == opSaid || op == opMention
	d.held = append(d.held, c)
	if d.hold--; d.hold <= 0 {
		d.flush()
	}
}

func (d *driver) flush() {
	changes := d.held
	d.held, d.hold = nil, 0
	if len(changes) == 0 {
		return
	}
	d.sent = append(d.sent, changes)
	fresh := set{}
	for _, c := range changes {
		if d.known[c.ID()] || fresh[c.ID()] {
			continue
		}
		fresh.add(c.ID())
		switch c.Kind {
		case Deleted:
			d.deleted.add(c.TS)
		case Hushed:
			d.hushed.add(c.TS)
		case Addressed:
			delete(d.hushed, c.TS)
		}
	}
	d.apply(changes, func() { d.m.changes(changes) })
}

func (d *driver) judge(op, arg byte) {
	e := Judged{Epoch: d.s.Epoch}
	asked := []int{noDelay, 0, 30, 100_000}[arg%4]
	switch {
	case op == opYes:
		e = yes(d.s.Epoch, asked)
	case arg%2 == 1:
		e.Failed = true
	case arg%8 == 6:
		e.Gone = true
	}
	late := d.m.capped || !d.now.Before(maxWaitOf(d.s))
	delayed := asked > 0 && !late && d.s.Policy.MaxDelay > 0
	_, judging := d.work.(Judge)
	switch {
	case judging && op == opYes:
		d.yes[d.s.Epoch] = true
	case judging && !e.Failed:
		d.settle(d.s.Epoch) // the activity records the no
	}
	d.finish(e, func() { d.m.judged(op == opYes, e.Gone, delayed, late) })
	if judging && delayed && op == opYes {
		if want := d.now.Add(seconds(min(asked, d.s.Policy.MaxDelay))); !d.s.DueAt.Equal(want) {
			d.fail("delayed until %v, want %v", d.s.DueAt, want)
		}
	}
}

// finish delivers the result of the work in flight. A result of another kind of work must be
// ignored.
func (d *driver) finish(e Event, then func()) {
	epoch, of := endOf(e)
	if d.work == nil || reflect.TypeOf(d.work) != of {
		d.ignored(e)
		return
	}
	w := d.work
	d.work, d.ended = nil, append(d.ended, w)
	if j, ok := e.(Judged); ok && j.Gone {
		d.bury(w.(Judge).Trigger.TS)
	}
	if c, ok := e.(Composed); ok && c.Result == Silenced {
		d.settle(epoch) // the activity records the rule
	}
	if c, ok := e.(Composed); ok && c.Result == Gone {
		d.bury(w.(Compose).Trigger.TS)
	}
	if p, ok := e.(Posted); ok {
		if p.Result != Failed {
			d.settle(epoch) // the activity does, unless it fails
		}
		if p.Result == Gone {
			d.bury(w.(Post).Trigger.TS)
		}
	}
	d.apply(e, then)
}

// bury marks a message as deleted in Slack. The change may come later, or never.
func (d *driver) bury(deleted string) {
	d.gone.add(deleted)
	for n := range d.dead {
		if ts(n*10) != deleted || d.dead[n] {
			continue
		}
		d.dead[n] = true
		// Its held changes are older than the deletion.
		d.held = slices.DeleteFunc(d.held, func(c Change) bool { return c.TS == deleted })
	}
}

func endOf(e Event) (int, reflect.Type) {
	switch e := e.(type) {
	case Judged:
		return e.Epoch, reflect.TypeFor[Judge]()
	case Composed:
		return e.Epoch, reflect.TypeFor[Compose]()
	case Posted:
		return e.Epoch, reflect.TypeFor[Post]()
	}
	panic("not a result")
}

// stale delivers a result once more.
func (d *driver) stale(w Effect) {
	switch w := w.(type) {
	case Judge:
		d.ignored(yes(w.Epoch, noDelay))
		d.ignored(no(w.Epoch))
	case Compose:
		if now, ok := d.work.(Compose); ok && now.Epoch == w.Epoch && now.Round == w.Round {
			return // a notice has the epoch of its answer
		}
		d.ignored(Composed{Epoch: w.Epoch, Round: w.Round, Result: Done})
		d.ignored(Composed{Epoch: w.Epoch, Round: w.Round, Result: Failed})
	case Look:
		if now, ok := d.work.(Look); !ok || now != w {
			d.ignored(Looked{w.Epoch, fmt.Sprintf("%d.%d.0", w.Epoch, w.Round)})
		}
	case Post:
		d.ignored(posted(w.Epoch, Gone))
	}
}

func (d *driver) ignored(e Event) {
	before := d.written(d.s)
	d.apply(e, nil)
	if after := d.written(d.s); after != before {
		d.fail("%T%+v changed the state\nfrom %s\n  to %s", e, e, before, after)
	}
}

func (d *driver) written(s *State) string {
	b, err := json.Marshal(s)
	if err != nil {
		d.fail("%v", err)
	}
	return string(b)
}

func (d *driver) apply(e Event, then func()) {
	was := d.s.Phase
	var twin *State
	if len(d.past)%4 == 3 { // the run continues as new, now and then
		twin = throughJSON(d.t, d.s)
	}
	d.past = append(d.past, moment{e, d.now})
	before := d.s.causes()
	d.ordered = d.s.Ordered
	effects := d.s.Apply(e, d.now)
	if then != nil {
		then()
	}
	for _, f := range effects {
		d.effect(e, was, f)
	}
	d.check()
	d.checkCauses(e, before, effects)
	if twin != nil {
		if again := twin.Apply(e, d.now); !slices.Equal(again, effects) || d.written(twin) != d.written(d.s) {
			d.fail("a copy made through JSON evolved differently: %s", show(again))
		}
		d.s = twin
	}
}

// effect executes an effect, and checks that it is allowed.
func (d *driver) effect(e Event, was Phase, f Effect) {
	begin := func() {
		if d.work != nil {
			d.fail("%s while %s is in flight", show([]Effect{f}), show([]Effect{d.work}))
		}
		d.work = f
	}
	switch f := f.(type) {
	case Cancel:
		switch d.work.(type) {
		case Judge, Compose, Look:
			d.ended, d.work = append(d.ended, d.work), nil
		default:
			d.fail("cancel of %T", d.work)
		}
	case Settle:
		if (f.Outcome == Withdrawn || f.Outcome == Dropped) && f.By == "" {
			d.fail("epoch %d is %s without By", f.Epoch, f.Outcome)
		}
		if about := d.about[f.Epoch]; f.Trigger != about || f.Addressed != about.Addressed {
			d.fail("epoch %d was about %+v, and is settled for %+v, addressed %v", f.Epoch, about, f.Trigger, f.Addressed)
		}
		d.settle(f.Epoch)
	case Judge:
		if _, ok := e.(Tick); !ok || was != Waiting {
			d.fail("judged on %T while %s", e, was)
		}
		d.open[f.Epoch], d.about[f.Epoch] = true, f.Trigger
		begin()
	case Compose:
		_, ordered := e.(AnswerNow)
		if ordered = f.Ordered && (ordered || d.ordered); !f.Addressed && !ordered && !d.yes[f.Epoch] {
			d.fail("a reply without a cause: no verdict yes, no order, nobody who addressed the bot")
		}
		failed, _ := e.(Composed)
		if first, ok := d.endedLast().(Compose); f.Notice != (f.Stop != NoStop || ok && first.Epoch == f.Epoch && failed.Result == Failed) {
			d.fail("notice is %v after %T%+v", f.Notice, e, e) // only a notice has the epoch of what failed
		}
		if want := d.rounds[f.Epoch]; f.Round != want && !f.Notice || f.Notice && f.Round != 0 {
			d.fail("round %d, want %d", f.Round, want)
		}
		if f.Addressed != f.Trigger.Addressed {
			d.fail("addressed is %v, unlike its trigger", f.Addressed)
		}
		if d.settled[f.Epoch] {
			d.fail("epoch %d is composed after it was settled", f.Epoch)
		}
		until := ""
		if last := d.m.served.newest(); f.Addressed && !f.Notice && last > f.Trigger.TS {
			until = last
		}
		if f.Until != until {
			d.fail("composes until %q, want %q", showTS(f.Until), showTS(until))
		}
		d.open[f.Epoch], d.about[f.Epoch] = true, f.Trigger
		begin()
	case Look:
		c, ok := d.endedLast().(Compose)
		if looking, isEnd := e.(Composed); !ok || !isEnd || looking.Result != Looking || f != (Look{c.About, c.Round}) {
			d.fail("%+v after %T%+v", f, e, e)
		}
		if d.settled[f.Epoch] {
			d.fail("epoch %d looks things up after it was settled", f.Epoch)
		}
		begin()
	case Post:
		c, ok := d.endedLast().(Compose)
		done, isEnd := e.(Composed)
		if !ok || !isEnd || done.Result != Done || f != (Post{c.About, c.Notice}) {
			d.fail("a reply without a cause: post of %+v, but what was composed is %+v", f, c)
		}
		if d.settled[f.Epoch] {
			d.fail("epoch %d is posted after it was settled", f.Epoch)
		}
		begin()
	}
}

func (d *driver) endedLast() Effect {
	if len(d.ended) == 0 {
		return nil
	}
	return d.ended[len(d.ended)-1]
}

// settle ends a decision, which must be open.
func (d *driver) settle(epoch int) {
	if d.settled[epoch] || !d.open[epoch] {
		d.fail("epoch %d is settled: open %v, settled before %v", epoch, d.open[epoch], d.settled[epoch])
	}
	delete(d.open, epoch)
	d.settled[epoch] = true
}

func (d *driver) check() {
	s := d.s
	if diff := d.m.diff(s); diff != "" {
		d.fail("%s", diff)
	}
	var want Effect
	trigger, addressed := newest(s.Pending), false
	if len(d.m.answering) > 0 {
		trigger, addressed = newest(s.Answering), true
	}
	about := About{Epoch: s.Epoch, Trigger: trigger, Addressed: addressed}
	switch d.m.stage {
	case mJudging:
		want = Judge{about}
	case mComposing:
		oldest := ""
		if !addressed && !d.m.capped && s.Conversation.Thread == "" {
			oldest = s.Pending[0].TS
		}
		want = Compose{
			About: about, Notice: s.Notice || d.m.line != NoStop, Stop: d.m.line, Ordered: d.m.ordered, Oldest: oldest,
			Round: s.Round,
		}
	case mLooking:
		want = Look{about, s.Round}
	case mPosting:
		p, ok := d.work.(Post)
		if !ok || p.Epoch != s.Epoch || p.Trigger.TS != d.m.trigger || p.Addressed != addressed {
			d.fail("posting, but in flight is %T%+v", d.work, d.work)
		}
		want = p
	}
	if withoutUntil(d.work) != want {
		d.fail("in flight is %T%+v, want %T%+v", d.work, d.work, want, want)
	}
	if want != nil && d.m.stage != mPosting && d.deleted[trigger.TS] {
		d.fail("a reply without a cause: %T for a deleted message", d.work)
	}
	if want != nil && d.m.stage != mPosting && d.hushed[trigger.TS] {
		d.fail("%T for a hushed message", d.work)
	}
	if s.NextTick().IsZero() != (d.work != nil) && !(s.Phase == Idle && s.Since.IsZero()) {
		d.fail("not one thing to wait for: next tick at %v with %T in flight", s.NextTick(), d.work)
	}
	var resumed Effect // by a run that continues this one
	if f := s.InFlight(); len(f) > 0 {
		resumed = f[0]
	}
	if withoutUntil(resumed) != withoutUntil(d.work) || len(s.InFlight()) > 1 {
		d.fail("the next run would resume %s, in flight is %T%+v", show(s.InFlight()), d.work, d.work)
	}
	for _, items := range [][]Item{s.Pending, s.Answering, s.Served, s.Later} {
		for i, it := range items {
			if i > 0 && !chat.Time(items[i-1].TS).Before(chat.Time(it.TS)) {
				d.fail("%v are out of order, or not unique", items)
			}
		}
	}
	switch s.Phase {
	case Waiting:
		if s.FirstAt.IsZero() || s.FirstAt.After(d.now) || s.DueAt.After(maxWaitOf(s)) {
			d.fail("first at %v, due at %v: longer than MaxWait", s.FirstAt, s.DueAt)
		}
	case Idle:
		if len(d.open) > 0 {
			d.fail("idle with open decisions %v", d.open)
		}
	}
	if len(d.open) > 1 {
		d.fail("more than one decision is open: %v", d.open)
	}
}

// cause is a message that wants a judgment or an answer.
type cause struct {
	addressed bool
	later     bool // not part of the current decision
}

func (s *State) causes() map[string]cause {
	all := map[string]cause{}
	for i, items := range [][]Item{s.Pending, s.Answering, s.Served, s.Later} {
		for _, it := range items {
			all[it.TS] = cause{addressed: it.Addressed, later: i == 3}
		}
	}
	return all
}

// checkCauses checks that each cause is still in the state, unless it was served or removed
// for a known reason.
func (d *driver) checkCauses(e Event, wanted map[string]cause, effects []Effect) {
	replied := slices.ContainsFunc(effects, func(f Effect) bool {
		c, ok := f.(Compose)
		return ok && c.Addressed
	})
	done := false     // the decision has ended
	answered := set{} // each in a thread of its own
	var stops Changes
	switch e := e.(type) {
	case Changes:
		for _, c := range e {
			if d.known[c.ID()] {
				continue
			}
			d.known.add(c.ID())
			if c.Stop {
				stops = append(stops, c)
			}
			switch {
			case c.Kind == Addressed && !d.s.Conversation.AnswersHere():
				answered.add(c.TS)
			case c.Kind == Said && !c.Stop, c.Kind == Addressed:
				wanted[c.TS] = cause{addressed: c.Kind == Addressed || wanted[c.TS].addressed, later: true}
			}
		}
	case Judged:
		done = !e.Gone && (e.Failed || !e.Verdict.ShouldRespond)
	case Composed:
		done = e.Result != Done && e.Result != Looking
	case Posted, Drop:
		done = true
	}
	has := d.s.causes()
	for ts, c := range wanted {
		_, kept := has[ts]
		switch {
		case kept, d.deleted[ts], d.gone[ts], d.hushed[ts]:
		case replied && !c.addressed && ts <= newest(d.s.Answering).TS: // one reply for all
		case answered[ts], slices.ContainsFunc(answered.list(), func(mention string) bool {
			return authorOf(mention) == authorOf(ts) && ts < mention
		}):
		case slices.ContainsFunc(stops, func(c Change) bool { return c.By != "" || c.Author == authorOf(ts) }):
		case done && !c.later:
		default:
			d.fail("a cause is lost: %s at %T", showTS(ts), e)
		}
	}
}

// end lets all work succeed, and checks that the conversation becomes idle.
func (d *driver) end() {
	d.flush()
	for i := 0; d.s.Phase != Idle; i++ {
		if i > 20 {
			d.fail("the conversation does not become idle")
		}
		switch d.work.(type) {
		case Judge:
			d.do(opYes, byte(i))
		case Compose:
			d.do(opComposed, 0)
		case Look:
			d.do(opLooked, 0)
		case Post:
			d.do(opPosted, 0)
		default:
			d.do(opDue, 0)
		}
	}
	if !d.s.ShouldClose(d.now.Add(seconds(d.s.Policy.IdleClose))) {
		d.fail("it does not close")
	}
}

// steps lists the ids of steps in order.
func (s set) steps() []string { return slices.Sorted(maps.Keys(s)) }

// withoutUntil is an effect without Compose.Until, which stays what it was if the message is removed.
func withoutUntil(f Effect) Effect {
	if c, ok := f.(Compose); ok {
		c.Until = ""
		return c
	}
	return f
}
