package conversation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// What a byte pair of a fuzzed script stands for.
const (
	opSaid = iota
	opMention
	opEdited
	opDeleted
	opTogether // the next few changes come together
	opLater    // time passes
	opTick
	opWake // time passes until something is due
	opYes
	opNo
	opComposed
	opPosted
	opAnswerNow
	opDrop
	opStale  // the end of work that ended, or was called back, comes again
	opRepeat // a change comes again
	ops

	// opHushed came later: it takes a few bytes of the others, so that scripts that were
	// found before mean what they did.
	opHushed = 240
)

// messages is how many messages there are; their ts are ten seconds apart.
const messages = 12

// FuzzState drives a conversation with arbitrary events and holds it against a
// reference model (what is kept) and against a ledger of effects (what is done).
// Three promises are kept by name, whatever the model says:
//
//   - no reply without a cause: effect;
//   - no cause forgotten: forgets;
//   - never two timers: check, of the one deadline; that the workflow has one timer
//     for it, its own tests see to.
func FuzzState(f *testing.F) {
	ambient := []byte{opSaid, 0, opWake, 0, opYes, 0}
	add := func(kind byte, more ...byte) { f.Add(append([]byte{kind}, more...)) }
	for kind := range byte(6) {
		add(kind, append(ambient, opComposed, 0, opPosted, 0)...)
		add(kind, append(ambient, opSaid, 1, opWake, 0, opYes, 2, opSaid, 2, opDrop, 0)...)
		add(kind, append(ambient, opComposed, 0, opMention, 1, opSaid, 2, opEdited, 0, opPosted, 0, opComposed, 3, opComposed, 3)...)
		add(kind, opMention, 0, opMention, 1, opSaid, 2, opDeleted, 0, opComposed, 0, opDeleted, 1, opPosted, 2)
		add(kind, opTogether, 4, opMention, 0, opMention, 1, opSaid, 2, opDeleted, 1, opComposed, 2, opStale, 0, opRepeat, 0)
		// At the cap: said, waited out, judged, more said, one deleted.
		add(kind, opTogether, 2, opSaid, 0, opSaid, 1, opLater, 255, opLater, 255, opTick, 0, opSaid, 2, opDeleted, 0, opTick, 0, opYes, 3, opSaid, 3,
			opComposed, 0, opSaid, 4, opPosted, 2)
		add(kind, opSaid, 0, opSaid, 1, opAnswerNow, 0, opSaid, 2, opDeleted, 1, opMention, 3, opEdited, 3, opComposed, 0, opPosted, 1)
		add(kind, append(ambient, opMention, 0, opRepeat, 0, opStale, 1, opWake, 0, opYes, 2, opAnswerNow, 0, opComposed, 0, opDrop, 0)...)
		add(kind, opTogether, 2, opSaid, 3, opSaid, 5, opWake, 0, opYes, 0, opComposed, 0, opMention, 6, opPosted, 2, opMention, 7, opDeleted, 7)
		add(kind, append(ambient, opSaid, 1, opHushed, 1, opEdited, 1, opWake, 0, opYes, 2, opHushed, 0, opMention, 0, opComposed, 0, opHushed, 0, opEdited, 0, opPosted, 0)...)
		add(kind, opTogether, 5, opHushed, 2, opSaid, 2, opMention, 3, opHushed, 3, opMention, 3, opSaid, 1, opMention, 4, opComposed, 0, opHushed, 3, opHushed, 4, opPosted, 0)
		add(kind, opSaid, 9, opWake, 0, opNo, 1, opSaid, 2, opTogether, 3, opEdited, 2, opMention, 4, opSaid, 6, opWake, 0, opStale, 0)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 { // so that a plain test run is worth something, too
		script := make([]byte, 200)
		for i := range script {
			script[i] = byte(r.IntN(256))
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 400 {
			return // the ring of change ids is bounded: a longer script may repeat what it has forgotten
		}
		d := newDriver(t, data[0])
		for i := 1; i+1 < len(data); i += 2 {
			op := data[i] % ops
			if data[i] >= opHushed {
				op = opHushed
			}
			d.do(op, data[i+1])
		}
		d.end()
	})
}

// driver plays the world of a conversation: people, work and time.
type driver struct {
	t     *testing.T
	s     *State
	m     *model
	now   time.Time
	past  []moment
	held  Changes // changes that will come together
	hold  int
	sent  []Changes
	born  [messages]bool
	dead  [messages]bool
	edits int
	// revision is the newest of each message.
	revision [messages]string

	// work is the effect under way; ended are the effects that are not any more.
	work  Effect
	ended []Effect
	// open are the decisions that have been begun and not been settled, yes those
	// judgments among them that said yes.
	open    map[int]bool
	about   map[int]Item // what each decision was about
	yes     map[int]bool
	settled map[int]bool
	heard   set  // messages that are known to be deleted
	hushed  set  // messages that nobody wants answered
	gone    set  // messages that the work under way has found deleted
	known   set  // changes that were told of before
	ordered bool // before the newest event, an operator's order was being carried out
}

func newDriver(t *testing.T, kind byte) *driver {
	c := []chat.Conversation{inThread, topLevel, direct}[kind%3]
	d := &driver{t: t, s: New(c), m: newModel(c != topLevel), now: start, open: map[int]bool{}, about: map[int]Item{}, yes: map[int]bool{}, settled: map[int]bool{}, heard: set{}, hushed: set{}, gone: set{}, known: set{}}
	d.s.Policy = Policy{MinWait: 300, Jitter: 0.3, MaxWait: 1800, MaxDelay: 600, FollowUpWait: 5, IdleClose: 86400}
	if kind/3%2 == 1 { // a cap that is reached at once, or nearly
		d.s.Policy = Policy{MinWait: 20, Jitter: 1, MaxWait: 15, MaxDelay: 0, FollowUpWait: 30, IdleClose: 1}
	}
	return d
}

// moment is an event and when it happened.
type moment struct {
	event Event
	at    time.Time
}

// fail tells the whole story first, by playing it once more.
func (d *driver) fail(format string, args ...any) {
	d.t.Helper()
	s := New(d.s.Conversation)
	s.Policy = d.s.Policy
	for _, m := range d.past {
		effects := show(s.Apply(m.event, m.at))
		d.t.Logf("%5d %T%+v → %s, %s [%s]", int(m.at.Sub(start).Seconds()), m.event, m.event, effects, s.stands(), s.holds())
	}
	d.t.Fatalf(format, args...)
}

func (d *driver) do(op, arg byte) {
	n := int(arg) % messages
	switch op {
	case opSaid, opMention, opEdited, opDeleted, opHushed:
		d.change(op, n, arg >= 128)
	case opTogether:
		d.hold = int(arg)%6 + 1
	case opLater:
		d.now = d.now.Add(time.Duration(arg) * 10 * time.Second)
	case opTick, opWake:
		if w := d.s.NextTick(); op == opWake && d.now.Before(w) {
			d.now = w
		}
		if due := !d.s.NextTick().IsZero() && !d.now.Before(d.s.NextTick()); due {
			late := !d.now.Before(limitOf(d.s))
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
		d.finish(Composed{Epoch: d.s.Epoch, Result: r, By: ts(0)}, func() { d.m.composed(r) })
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

// change makes a change that Slack could tell of: nothing happens to a deleted
// message, and only its first change says that it was said.
func (d *driver) change(op byte, n int, followUp bool) {
	c := Change{TS: ts(n * 10), FollowUp: followUp}
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
			d.heard.add(c.TS)
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
	late := d.m.firm || !d.now.Before(limitOf(d.s))
	delayed := asked > 0 && !late && d.s.Policy.MaxDelay > 0
	_, judging := d.work.(Judge)
	switch {
	case judging && op == opYes:
		d.yes[d.s.Epoch] = true
	case judging && !e.Failed:
		d.settle(d.s.Epoch) // the activity writes down the no
	}
	d.finish(e, func() { d.m.judged(op == opYes, e.Gone, delayed, late) })
	if judging && delayed && op == opYes {
		if want := d.now.Add(seconds(min(asked, d.s.Policy.MaxDelay))); !d.s.DueAt.Equal(want) {
			d.fail("delayed until %v, want %v", d.s.DueAt, want)
		}
	}
}

// finish delivers the end of the work under way, or, where the work is of
// another kind, an end that nobody waits for.
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
		d.settle(epoch) // the activity writes down the rule
	}
	if c, ok := e.(Composed); ok && c.Result == Gone {
		d.bury(w.(Compose).Trigger.TS)
	}
	if p, ok := e.(Posted); ok {
		if p.Result != Failed {
			d.settle(epoch) // the activity does; a failed one may not have come to it
		}
		if p.Result == Gone {
			d.bury(w.(Post).Trigger.TS)
		}
	}
	d.apply(e, then)
}

// bury marks a message as deleted in Slack; the change may come later, or never.
func (d *driver) bury(deleted string) {
	d.gone.add(deleted)
	for n := range d.dead {
		if ts(n*10) != deleted || d.dead[n] {
			continue
		}
		d.dead[n] = true
		// What was held back for it comes before the deletion; it is of no more use here.
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
	panic("not the end of work")
}

// stale delivers an end once more.
func (d *driver) stale(w Effect) {
	switch w := w.(type) {
	case Judge:
		d.ignored(yes(w.Epoch, noDelay))
		d.ignored(no(w.Epoch))
	case Compose:
		if now, ok := d.work.(Compose); ok && now.Epoch == w.Epoch {
			return // each effect ends once: a notice has the epoch of its answer
		}
		d.ignored(composed(w.Epoch, Done))
		d.ignored(composed(w.Epoch, Failed))
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
		twin = carried(d.t, d.s)
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
	d.forgets(e, before, effects)
	if twin != nil {
		if again := twin.Apply(e, d.now); !slices.Equal(again, effects) || d.written(twin) != d.written(d.s) {
			d.fail("a copy made through JSON evolved differently: %s", show(again))
		}
		d.s = twin
	}
}

// effect carries out an effect, and checks that it may be.
func (d *driver) effect(e Event, was Phase, f Effect) {
	begin := func() {
		if d.work != nil {
			d.fail("%s while %s is under way", show([]Effect{f}), show([]Effect{d.work}))
		}
		d.work = f
	}
	switch f := f.(type) {
	case Cancel:
		switch d.work.(type) {
		case Judge, Compose:
			d.ended, d.work = append(d.ended, d.work), nil
		default:
			d.fail("cancel of %T", d.work)
		}
	case Settle:
		if (f.Outcome == Withdrawn || f.Outcome == Dropped) && f.By == "" {
			d.fail("epoch %d is %s by nobody", f.Epoch, f.Outcome)
		}
		if about := d.about[f.Epoch]; f.Trigger != about || f.Addressed != about.Addressed {
			d.fail("epoch %d was about %+v, and is settled for %+v, addressed %v", f.Epoch, about, f.Trigger, f.Addressed)
		}
		d.settle(f.Epoch)
	case Judge:
		if _, ok := e.(Tick); !ok || was != Waiting {
			d.fail("judged at %T while %s", e, was)
		}
		d.open[f.Epoch], d.about[f.Epoch] = true, f.Trigger
		begin()
	case Compose:
		_, ordered := e.(AnswerNow)
		if ordered = f.Ordered && (ordered || d.ordered); !f.Addressed && !ordered && !d.yes[f.Epoch] {
			d.fail("a reply without a cause: no verdict yes, no order, nobody who addressed the bot")
		}
		if first, ok := d.endedLast().(Compose); f.Notice != (ok && first.Epoch == f.Epoch) {
			d.fail("notice is %v after %T%+v", f.Notice, e, e) // only a notice follows under the epoch of what failed
		}
		if f.Addressed != f.Trigger.Addressed {
			d.fail("addressed is %v, that of its trigger is not", f.Addressed)
		}
		if d.settled[f.Epoch] {
			d.fail("epoch %d is composed after it was settled", f.Epoch)
		}
		d.open[f.Epoch], d.about[f.Epoch] = true, f.Trigger
		begin()
	case Post:
		c, ok := d.endedLast().(Compose)
		done, isEnd := e.(Composed)
		if !ok || !isEnd || done.Result != Done || f != (Post{c.Epoch, c.Trigger, c.Addressed, c.Notice}) {
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

// settle notes the end of a decision: there must be one, and it ends once.
func (d *driver) settle(epoch int) {
	if d.settled[epoch] || !d.open[epoch] {
		d.fail("epoch %d is settled: taken %v, settled before %v", epoch, d.open[epoch], d.settled[epoch])
	}
	delete(d.open, epoch)
	d.settled[epoch] = true
}

func (d *driver) check() {
	s := d.s
	if diff := d.m.differs(s); diff != "" {
		d.fail("%s", diff)
	}
	var want Effect
	trigger, addressed := newest(s.Pending), false
	if len(d.m.answering) > 0 {
		trigger, addressed = newest(s.Answering), true
	}
	switch d.m.stage {
	case mJudging:
		want = Judge{s.Epoch, trigger}
	case mCompos:
		oldest := ""
		if !addressed && !d.m.firm && s.Conversation.Thread == "" {
			oldest = s.Pending[0].TS
		}
		want = Compose{s.Epoch, trigger, addressed, s.Notice, d.m.ordered, oldest}
	case mPosts:
		p, ok := d.work.(Post)
		if !ok || p.Epoch != s.Epoch || p.Trigger.TS != d.m.trigger || p.Addressed != addressed {
			d.fail("posting, but under way is %T%+v", d.work, d.work)
		}
		want = p
	}
	if d.work != want {
		d.fail("under way is %T%+v, want %T%+v", d.work, d.work, want, want)
	}
	if want != nil && d.m.stage != mPosts && d.heard[trigger.TS] {
		d.fail("a reply without a cause: %T for a message that is known to be deleted", d.work)
	}
	if want != nil && d.m.stage != mPosts && d.hushed[trigger.TS] {
		d.fail("%T for a message that nobody wants answered", d.work)
	}
	if s.NextTick().IsZero() != (d.work != nil) && !(s.Phase == Idle && s.Since.IsZero()) {
		d.fail("not one thing to wait for: wake at %v with %T under way", s.NextTick(), d.work)
	}
	var left Effect // to a run that takes over
	if under := s.InFlight(); len(under) > 0 {
		left = under[0]
	}
	if left != d.work || len(s.InFlight()) > 1 {
		d.fail("a run that takes over would begin %s, under way is %T%+v", show(s.InFlight()), d.work, d.work)
	}
	for _, items := range [][]Item{s.Pending, s.Answering, s.Served, s.Later} {
		for i, it := range items {
			if i > 0 && !chat.Time(items[i-1].TS).Before(chat.Time(it.TS)) {
				d.fail("%v are not in order, or not unique", items)
			}
		}
	}
	switch s.Phase {
	case Waiting:
		if s.FirstAt.IsZero() || s.FirstAt.After(d.now) || s.DueAt.After(limitOf(s)) {
			d.fail("first at %v, due at %v: longer than MaxWait", s.FirstAt, s.DueAt)
		}
	case Idle:
		if len(d.open) > 0 {
			d.fail("idle, and the decisions %v are not settled", d.open)
		}
	}
	if len(d.open) > 1 {
		d.fail("more than one decision is open: %v", d.open)
	}
}

// cause is a message that still wants something.
type cause struct {
	addressed bool
	later     bool // than what the work under way is about
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

// forgets sees that what wanted something still does, unless it got it, or lost it
// for a reason that has a name.
func (d *driver) forgets(e Event, wanted map[string]cause, effects []Effect) {
	replied := slices.ContainsFunc(effects, func(f Effect) bool {
		c, ok := f.(Compose)
		return ok && c.Addressed
	})
	done := false   // what the work under way was about
	elsewhere := "" // up to this message, the answer is given in a thread
	switch e := e.(type) {
	case Changes:
		for _, c := range e {
			if d.known[c.ID()] {
				continue
			}
			d.known.add(c.ID())
			switch {
			case c.Kind == Addressed && !d.s.Conversation.AnswersHere():
				elsewhere = max(elsewhere, c.TS)
			case c.Kind == Said, c.Kind == Addressed:
				wanted[c.TS] = cause{addressed: c.Kind == Addressed || wanted[c.TS].addressed, later: true}
			}
		}
	case Judged:
		done = !e.Gone && (e.Failed || !e.Verdict.ShouldRespond)
	case Composed:
		done = e.Result != Done
	case Posted, Drop:
		done = true
	}
	has := d.s.causes()
	for ts, c := range wanted {
		_, kept := has[ts]
		switch {
		case kept, d.heard[ts], d.gone[ts], d.hushed[ts]:
		case replied && !c.addressed && ts <= newest(d.s.Answering).TS: // one reply for all
		case elsewhere != "" && ts <= elsewhere: // which withdraws what waits
		case done && !c.later:
		default:
			d.fail("a cause is forgotten: %s at %T", showTS(ts), e)
		}
	}
}

// end lets everything end well, and sees that the conversation comes to rest.
func (d *driver) end() {
	d.flush()
	for i := 0; d.s.Phase != Idle; i++ {
		if i > 20 {
			d.fail("the conversation does not come to rest")
		}
		switch d.work.(type) {
		case Judge:
			d.do(opYes, byte(i))
		case Compose:
			d.do(opComposed, 0)
		case Post:
			d.do(opPosted, 0)
		default:
			d.do(opWake, 0)
		}
	}
	if !d.s.ShouldClose(d.now.Add(seconds(d.s.Policy.IdleClose))) {
		d.fail("never closing")
	}
}
