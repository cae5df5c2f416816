package conversation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// start is second 0 of every script. A message is named by the second of its ts.
var start = time.Unix(1_700_000_000, 0).UTC()

var (
	inThread = chat.Conversation{Team: "T1", Channel: "C1", Thread: "1699999000.000100"}
	topLevel = chat.Conversation{Team: "T1", Channel: "C1"}
	direct   = chat.Conversation{Team: "T1", Channel: "D1"}
)

// steady is the default configuration without its jitter.
var steady = Policy{MinWait: 300, MaxWait: 1800, MaxDelay: 600, FollowUpWait: 5, NamedWait: 7, IdleClose: 86400}

func second(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

func ts(n int) string { return chat.TS(second(n)) }

// step is one event, the effects that it must have, and the phase that must follow.
type step struct {
	at    int
	event Event
	want  string   // effects, separated by "; "
	phase string   // with the second of the next Tick, if one is due
	items []string // the messages in the state; checked if given
}

func at(n int, event Event, want, phase string, items ...string) step {
	return step{n, event, want, phase, items}
}

// script is one case: the steps of one conversation.
type script struct {
	name  string
	in    chat.Conversation // inThread unless given
	steps []step
}

func play(t *testing.T, sc script) *State {
	t.Helper()
	if sc.in == (chat.Conversation{}) {
		sc.in = inThread
	}
	s := New(sc.in)
	s.Policy = steady
	for i, st := range sc.steps {
		twin := throughJSON(t, s)
		got := show(s.Apply(st.event, second(st.at)))
		step := fmt.Sprintf("step %d, at %d, %T%+v", i, st.at, st.event, st.event)
		if got != st.want {
			t.Fatalf("%s\n got effects %q\nwant effects %q", step, got, st.want)
		}
		if phase := s.phaseUntil(); phase != st.phase {
			t.Fatalf("%s\n got %q\nwant %q", step, phase, st.phase)
		}
		if timed := s.Phase == Waiting || s.Phase == Delaying; s.DueAt.IsZero() == timed {
			t.Fatalf("%s\n %s, and due at %v", step, s.Phase, s.DueAt)
		}
		if len(st.items) > 0 && s.items() != st.items[0] {
			t.Fatalf("%s\n got %q\nwant %q", step, s.items(), st.items[0])
		}
		if again := show(twin.Apply(st.event, second(st.at))); again != got {
			t.Fatalf("%s: effects %q after a JSON round trip, %q before", step, again, got)
		}
		if !reflect.DeepEqual(throughJSON(t, twin), throughJSON(t, s)) {
			t.Fatalf("%s: a state that went through JSON evolved differently", step)
		}
	}
	return s
}

// throughJSON is the state as the next run gets it from continue-as-new.
func throughJSON(t *testing.T, s *State) *State {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var c State
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// phaseUntil is the phase and, unless it is idle, the second of NextTick.
func (s *State) phaseUntil() string {
	if s.Phase == Idle || s.NextTick().IsZero() {
		return string(s.Phase)
	}
	return fmt.Sprintf("%s until %d", s.Phase, s.NextTick().Sub(start)/time.Second)
}

// items names the messages in the state.
func (s *State) items() string {
	var parts []string
	for _, l := range []struct {
		name  string
		items []Item
	}{{"pending", s.Pending}, {"answering", s.Answering}, {"served", s.Served}, {"later", s.Later}} {
		if len(l.items) > 0 {
			p := l.name
			for _, it := range l.items {
				p += " " + showItem(it)
			}
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}

func showItem(it Item) string {
	name := showTS(it.TS)
	if it.Revision != "" {
		name += "r" + it.Revision
	}
	if it.Addressed {
		name += "!"
	}
	return name
}

func showTS(ts string) string {
	if !chat.ValidTS(ts) {
		return ts
	}
	return fmt.Sprint(int(chat.Time(ts).Sub(start) / time.Second))
}

// show writes effects as "cancel; settle#1 withdrawn by 20; compose#2 20!".
func show(effects []Effect) string {
	var parts []string
	for _, e := range effects {
		switch e := e.(type) {
		case Judge:
			parts = append(parts, fmt.Sprintf("judge#%d %s", e.Epoch, showItem(e.Trigger)))
		case Compose:
			part := fmt.Sprintf("compose%s#%d %s", kindOfReply(e.Addressed, e.Notice, e.Trigger), e.Epoch, showItem(e.Trigger))
			if e.Stop != e.Trigger.Stop {
				part += " (contradictory)"
			}
			if e.Round > 0 {
				part += fmt.Sprintf(" round %d", e.Round)
			}
			if e.Until != "" {
				part += " until " + showTS(e.Until)
			}
			if e.Oldest != "" {
				part += " since " + showTS(e.Oldest)
			}
			parts = append(parts, part)
		case Look:
			parts = append(parts, fmt.Sprintf("look#%d round %d for %s", e.Epoch, e.Round, showItem(e.Trigger)))
		case Post:
			parts = append(parts, fmt.Sprintf("post%s#%d %s", kindOfReply(e.Addressed, e.Notice, e.Trigger), e.Epoch, showItem(e.Trigger)))
		case Cancel:
			parts = append(parts, "cancel")
		case Settle:
			parts = append(parts, strings.TrimSuffix(fmt.Sprintf("settle#%d %s by %s", e.Epoch, e.Outcome, showTS(e.By)), " by "))
		}
	}
	return strings.Join(parts, "; ")
}

func kindOfReply(addressed, notice bool, trigger Item) string {
	switch {
	case addressed != trigger.Addressed:
		return "(contradictory)"
	case trigger.Stop != NoStop:
		return " " + string(trigger.Stop)
	case notice:
		return " notice"
	default:
		return ""
	}
}

func together(changes ...Changes) Changes {
	var all Changes
	for _, c := range changes {
		all = append(all, c...)
	}
	return all
}

// by is changes of messages of one author.
func by(author string, changes Changes) Changes {
	for i := range changes {
		changes[i].Author = author
	}
	return changes
}

func said(n int) Changes    { return Changes{{TS: ts(n), Kind: Said}} }
func named(n int) Changes   { return Changes{{TS: ts(n), Kind: Said, Named: true}} }
func follow(n int) Changes  { return Changes{{TS: ts(n), Kind: Said, FollowUp: true}} }
func mention(n int) Changes { return Changes{{TS: ts(n), Kind: Addressed}} }
func deleted(n int) Changes { return Changes{{TS: ts(n), Kind: Deleted}} }
func hushed(n int) Changes  { return Changes{{TS: ts(n), Kind: Hushed, By: "slack:U1"}} }
func edited(n int, revision string) Changes {
	return Changes{{TS: ts(n), Kind: Edited, Revision: revision}}
}

// mentioning is an edit that adds a mention.
func mentioning(n int, revision string) Changes {
	return Changes{{TS: ts(n), Kind: Addressed, Revision: revision}}
}

const noDelay = -1

func yes(epoch, delay int) Judged {
	v := chat.Verdict{ShouldRespond: true, Confidence: 0.8}
	if delay != noDelay {
		v.DelaySeconds = &delay
	}
	return Judged{Epoch: epoch, Verdict: v}
}

func no(epoch int) Judged { return Judged{Epoch: epoch} }

func looking(epoch, round int, steps ...string) Composed {
	e := Composed{Epoch: epoch, Round: round, Result: Looking}
	for _, id := range steps {
		e.Steps = append(e.Steps, Step{ID: id, Tool: "search_messages"})
	}
	return e
}

func inRound(round int, e Composed) Composed {
	e.Round = round
	return e
}

// stops are changes of messages that only say stop.
func stops(changes Changes) Changes {
	for i := range changes {
		changes[i].Stop, changes[i].Mention = true, changes[i].Kind == Addressed
	}
	return changes
}

func operator(changes Changes) Changes {
	for i := range changes {
		changes[i].By = "slack:" + changes[i].Author
	}
	return changes
}

func composed(epoch int, r Result) Composed { return Composed{Epoch: epoch, Result: r} }

func posted(epoch int, r Result) Posted { return Posted{Epoch: epoch, Result: r} }
