package conversation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/chat"
)

// OpenPromise is something that the bot will do here at a time. Its row in the database says what, and is
// the truth; the state knows it to turn to it in time.
type OpenPromise struct {
	// ID is that of its step.
	ID string `json:"id"`
	// TS is that of the message that asked, Author the user id of its author.
	TS     string `json:"ts"`
	Author string `json:"author,omitempty"`
	// DueAt is when it is due. Number counts its times, from 1.
	DueAt  time.Time `json:"due_at"`
	Number int       `json:"number"`
	// Ended is what has become of it, while that is being recorded, and By who caused it. If it repeats,
	// it is due again afterwards.
	Ended PromiseEnd `json:"ended,omitempty"`
	By    string     `json:"by,omitempty"`
}

// PromiseEnd is what has become of a promise at one of its times. The values are those of
// store.PromiseState.
type PromiseEnd string

const (
	PromiseKept      PromiseEnd = "kept"
	PromiseReleased  PromiseEnd = "released" // settled when it was due
	PromiseWithdrawn PromiseEnd = "withdrawn"
	PromiseCancelled PromiseEnd = "cancelled"
	PromiseFailed    PromiseEnd = "failed"
	// PromiseSkipped is PromiseCancelled, or only this time of a promise that repeats.
	PromiseSkipped PromiseEnd = "skipped"
)

// PromiseRef is what a change says of a promise.
type PromiseRef struct {
	ID     string
	Number int
	Due    time.Time
}

// String is ID/Number/Due, Due in microseconds since 1970.
func (r PromiseRef) String() string {
	return fmt.Sprintf("%s/%d/%d", r.ID, r.Number, r.Due.UnixMicro())
}

func parsePromiseRef(s string) (r PromiseRef, ok bool) {
	id, rest, _ := strings.Cut(s, "/")
	number, due, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	us, err2 := strconv.ParseInt(due, 10, 64)
	return PromiseRef{id, n, time.UnixMicro(us).UTC()}, err == nil && err2 == nil && id != ""
}

// Check asks what is to be done about a promise that is due.
type Check struct{ About }

// EndPromise asks for the end of a promise to be recorded, beside any other work. Its end is a
// PromiseEnded.
type EndPromise struct {
	ID     string
	TS     string
	Number int
	End    PromiseEnd
	By     string
}

// Checked is the result of a Check effect.
type Checked struct {
	Epoch  int
	Result CheckResult
	// Until is when to check again, if the result is CheckHold or CheckMoved.
	Until time.Time
	// Number is the time that is due next, if the result is CheckMoved.
	Number int
	// By is the rule that forbids it, if the result is CheckSkip or CheckCancel.
	By string
	// Verdict is the model's; nil if none was asked.
	Verdict *chat.Verdict
}

// CheckResult is what is to be done about a promise that is due.
type CheckResult string

const (
	CheckKeep CheckResult = "keep"
	// CheckPlain: it is kept in its own words, because no model can be asked.
	CheckPlain   CheckResult = "plain"
	CheckRelease CheckResult = "release"
	// CheckHold: a mute or quiet hours hold up every promise here.
	CheckHold CheckResult = "hold"
	// CheckMoved: it is due later than the conversation knows, perhaps for another time.
	CheckMoved CheckResult = "moved"
	// CheckSkip: it was held up for too long. One that repeats waits for its next time.
	CheckSkip   CheckResult = "skip"
	CheckCancel CheckResult = "cancel"
	// CheckWithdraw: the message that asked is deleted.
	CheckWithdraw CheckResult = "withdraw"
	// CheckOver: it has ended already.
	CheckOver CheckResult = "over"
)

// PromiseEnded says that the end of a promise is recorded.
type PromiseEnded struct {
	ID     string
	Number int
	// Next is when it is due again; zero if it is not.
	Next time.Time
}

func (Check) effect()       {}
func (EndPromise) effect()  {}
func (Checked) event()      {}
func (PromiseEnded) event() {}

func (p OpenPromise) occasion() Occasion { return Occasion{Promise: p.ID, Number: p.Number} }

// currentPromise returns the promise that the work under way is about, or nil.
func (s *State) currentPromise() *OpenPromise {
	for i := range s.Promises {
		if s.Promises[i].occasion() == s.Occasion {
			return &s.Promises[i]
		}
	}
	return nil
}

func (s *State) promise(id string) *OpenPromise {
	for i := range s.Promises {
		if s.Promises[i].ID == id {
			return &s.Promises[i]
		}
	}
	return nil
}

// NextPromise is when the state has to turn to a promise; zero if it need not, or is busy with other work.
func (s *State) NextPromise() time.Time {
	if s.Phase == Replying || s.currentPromise() != nil {
		return time.Time{}
	}
	var first time.Time
	for _, p := range s.Promises {
		if p.Ended == "" && p.occasion() != s.Occasion && (first.IsZero() || p.DueAt.Before(first)) {
			first = p.DueAt
		}
	}
	if !first.IsZero() && first.Before(s.HeldUntil) {
		return s.HeldUntil
	}
	return first
}

// addPromises adds the promises of a reply that was posted.
func (s *State) addPromises(made []OpenPromise) []Effect {
	var effects []Effect
	for _, p := range made {
		switch {
		case s.promise(p.ID) != nil:
		case slices.Contains(s.Seen, Change{TS: p.TS, Kind: Cancelled, Revision: p.ID}.ID()):
			effects = append(effects, ShowProposal{ProposalRef: ProposalRef{p.ID, p.TS}})
		case s.isDeleted(p.TS):
			s.Promises = append(s.Promises, p)
			effects = append(effects, s.endPromise(p.ID, PromiseWithdrawn, p.TS)...)
		default:
			s.Promises = append(s.Promises, p)
		}
	}
	return effects
}

// endPromise has the end of a promise recorded.
func (s *State) endPromise(id string, end PromiseEnd, by string) []Effect {
	p := s.promise(id)
	if p == nil || p.Ended != "" {
		return nil
	}
	p.Ended, p.By = end, by
	return []Effect{p.endEffect()}
}

func (p OpenPromise) endEffect() Effect {
	return EndPromise{ID: p.ID, TS: p.TS, Number: p.Number, End: p.Ended, By: p.By}
}

// endCurrentPromise ends the promise that the work under way is about. The caller ends the work.
func (s *State) endCurrentPromise(end PromiseEnd, by string) []Effect {
	if p := s.currentPromise(); p != nil {
		return s.endPromise(p.ID, end, by)
	}
	return nil
}

// promiseEnded forgets a promise, or waits for its next time. Its message shows that.
func (s *State) promiseEnded(e PromiseEnded) []Effect {
	p := s.promise(e.ID)
	if p == nil || p.Number != e.Number || p.Ended == "" {
		return nil
	}
	shown := []Effect{ShowProposal{ProposalRef: ProposalRef{p.ID, p.TS}}}
	if e.Next.IsZero() {
		s.dropPromise(e.ID)
	} else {
		p.Number, p.DueAt, p.Ended, p.By = p.Number+1, e.Next, "", ""
	}
	return shown
}

func (s *State) dropPromise(id string) {
	s.Promises = slices.DeleteFunc(s.Promises, func(p OpenPromise) bool { return p.ID == id })
}

// moved learns of a promise's time: it was moved, or is late.
func (s *State) moved(c Change, now time.Time) []Effect {
	ref, ok := parsePromiseRef(c.Revision)
	if !ok || s.isDeleted(c.TS) {
		return nil
	}
	p := s.promise(ref.ID)
	switch {
	case p == nil:
		s.Promises = append(s.Promises, OpenPromise{ID: ref.ID, TS: c.TS, Author: c.Author, DueAt: ref.Due,
			Number: ref.Number})
		return nil
	case p.Ended != "" || p.Number > ref.Number:
		return nil
	}
	var effects []Effect
	if s.currentPromise() == p && !s.Posting {
		if c.Kind == Due {
			return nil
		}
		effects = s.withdraw(Withdrawn, c.By)
		s.Answering, s.Occasion = nil, Occasion{}
	}
	p.DueAt, p.Number = ref.Due, ref.Number
	if len(effects) > 0 {
		effects = append(effects, s.next(now)...)
	}
	return effects
}

// cancelPromise drops a promise that somebody has cancelled, with the work about it. Its row has ended.
func (s *State) cancelPromise(c Change, now time.Time) []Effect {
	effects := []Effect{ShowProposal{ProposalRef: ProposalRef{c.Revision, c.TS}}}
	p := s.promise(c.Revision)
	if p == nil {
		return effects
	}
	under := s.currentPromise() == p && !s.Posting
	if under {
		effects = append(effects, s.withdraw(Dropped, c.By)...)
		s.Answering, s.Occasion = nil, Occasion{}
	}
	if s.currentPromise() != p { // a post under way is recorded as it ends
		s.dropPromise(p.ID)
	}
	if under {
		effects = append(effects, s.next(now)...)
	}
	return effects
}

// withdrawPromises ends the promises of a deleted message. The caller ends the work about one.
func (s *State) withdrawPromises(ts string) []Effect {
	var effects []Effect
	for _, p := range slices.Clone(s.Promises) {
		if p.TS == ts && !(s.Posting && p.occasion() == s.Occasion) {
			effects = append(effects, s.endPromise(p.ID, PromiseWithdrawn, ts)...)
		}
	}
	return effects
}

// turnToDuePromise turns to the promise that has been due for longest, unless other work is under way that it waits
// for. What waits for a judgment waits again after it.
func (s *State) turnToDuePromise(now time.Time) []Effect {
	if s.Phase == Replying || s.currentPromise() != nil || now.Before(s.HeldUntil) || len(s.Untold) > 0 {
		return nil
	}
	var due *OpenPromise
	for i := range s.Promises {
		if p := &s.Promises[i]; p.Ended == "" && !now.Before(p.DueAt) && (due == nil || p.DueAt.Before(due.DueAt)) {
			due = p
		}
	}
	if due == nil {
		return nil
	}
	effects := s.withdraw(Withdrawn, due.occasion().String())
	s.Later, s.Pending = merge(s.Later, s.Pending), nil
	s.FirstAt, s.Verdict = time.Time{}, nil
	s.Occasion, s.Answering = due.occasion(), []Item{{TS: due.TS, Addressed: true, At: now, Author: due.Author}}
	s.Epoch++
	s.enter(Judging, now)
	return append(effects, s.checkEffect())
}

func (s *State) checkEffect() Effect {
	return Check{s.about()}
}

// checked does what was found about a promise that is due.
func (s *State) checked(e Checked, now time.Time) []Effect {
	p := s.currentPromise()
	if p == nil { // it has ended meanwhile
		return s.next(now)
	}
	s.Verdict = e.Verdict
	switch e.Result {
	case CheckKeep:
		return []Effect{s.composeJudged(now)}
	case CheckPlain:
		s.Notice = true
		return []Effect{s.composeJudged(now)}
	case CheckHold:
		return s.hold(e.Until, now)
	case CheckMoved:
		p.DueAt, p.Number = e.Until, e.Number
		return s.next(now)
	}
	var effects []Effect
	switch e.Result {
	case CheckRelease:
		effects = s.endCurrentPromise(PromiseReleased, "")
	case CheckSkip:
		effects = s.endCurrentPromise(PromiseSkipped, e.By)
	case CheckCancel:
		effects = s.endCurrentPromise(PromiseCancelled, e.By)
	case CheckWithdraw:
		effects = s.endCurrentPromise(PromiseWithdrawn, p.TS)
	default:
		effects = []Effect{ShowProposal{ProposalRef: ProposalRef{p.ID, p.TS}}}
		s.dropPromise(p.ID)
	}
	return append(effects, s.next(now)...)
}

// recheck is how soon a promise is checked again that a rule held up on the way.
const recheck = 30 * time.Second

// hold leaves the promise under way, and every other, until later.
func (s *State) hold(until, now time.Time) []Effect {
	s.HeldUntil = until
	return s.next(now)
}

// beginAgain gives up the work about a promise for what has just been said, so that it begins again with
// that, unless it is too late already or the post is under way.
func (s *State) beginAgain(by string, now time.Time) []Effect {
	p := s.currentPromise()
	if p == nil || s.Posting || now.After(p.DueAt.Add(seconds(s.Policy.MaxWait))) {
		return nil
	}
	effects := s.withdraw(Withdrawn, by)
	s.Occasion, s.Answering = Occasion{}, nil
	s.enter(Idle, now)
	return effects
}
