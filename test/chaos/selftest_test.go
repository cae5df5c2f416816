package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// faultlessRecord returns the record of a small run that keeps every promise: a mention and a
// question at the top level of a channel, messages in a thread, and a direct message.
func faultlessRecord() record {
	r := record{said: []said{
		{n: 1, kind: mention, channel: "C1", ts: ts(1), at: when(1), acknowledged: when(2)},
		{n: 2, kind: question, channel: "C1", ts: ts(10), at: when(10), acknowledged: when(11)},
		{n: 3, kind: chatter, channel: "C2", ts: ts(1), at: when(1), acknowledged: when(2)},
		{n: 4, kind: mention, channel: "C2", thread: ts(1), ts: ts(20), at: when(20), acknowledged: when(21)},
		{n: 5, kind: mention, channel: "C2", thread: ts(1), ts: ts(21), at: when(21), acknowledged: when(22)},
		{n: 6, kind: mention, channel: "D1", ts: ts(5), direct: true, at: when(5), acknowledged: when(6)},
		{n: 7, kind: stranger, channel: "C2", ts: ts(30), at: when(30), acknowledged: when(31)},
		{n: 8, kind: mention, channel: "C3", ts: ts(1), at: when(1), acknowledged: when(2), deleted: when(3), deletionAcknowledged: when(4)},
	}}
	r.answer(place{"C1", ts(1)}, 1, "addressed", 5)
	r.answer(place{"C1", ""}, 10, "judgment", 15)
	r.answer(place{"C2", ts(1)}, 21, "addressed", 25) // both mentions at once
	r.answer(place{"D1", ""}, 5, "addressed", 8)
	r.decisions = append(r.decisions, decision{key: "no", place: place{"C2", ""}, trigger: ts(1), source: "judgment", outcome: "silent", at: when(5)})
	return r
}

// answer adds a reply in a place to the message of second trigger, posted at second posted.
func (r *record) answer(at place, trigger int, source string, posted int) {
	reply := strings.Join([]string{team, at.channel, at.thread, ts(trigger), ""}, "/")
	key := reply + "/0"
	text := "answer to " + key
	d := decision{key: "decision " + key, place: at, trigger: ts(trigger), source: source, yes: true, outcome: "posted", by: reply, at: when(posted - 1)}
	r.decisions = append(r.decisions, d)
	r.outbox = append(r.outbox, part{key: key, reply: reply, place: at, state: "sent", sentTS: ts(posted), text: text, decision: d.key, saw: when(trigger)})
	r.posts = append(r.posts, post{channel: at.channel, thread: at.thread, ts: ts(posted), key: key, text: text, at: when(posted), began: when(posted)})
}

func ts(second int) string { return fmt.Sprintf("1700000%03d.000000", second) }

func when(second int) time.Time { return time.Unix(1_700_000_000+int64(second), 0) }

// withdraw removes the n-th post from Slack, the outbox and the ledger.
func (r *record) withdraw(n int) {
	r.posts = slices.Delete(r.posts, n, n+1)
	r.outbox = slices.Delete(r.outbox, n, n+1)
	r.decisions = slices.Delete(r.decisions, n, n+1)
}

func TestCheckFindsNothingInAFaultlessRecord(t *testing.T) {
	t.Parallel()
	for _, f := range check(faultlessRecord()) {
		t.Error(f)
	}
}

func TestCheckFinds(t *testing.T) {
	t.Parallel()
	const mentionInThread, question1, both, direct = 0, 1, 2, 3 // the posts of sound
	for name, tt := range map[string]struct {
		spoil func(*record)
		want  fault
	}{
		"a mention without an answer":         {func(r *record) { r.withdraw(mentionInThread) }, lost},
		"a direct message without an answer":  {func(r *record) { r.withdraw(direct) }, lost},
		"a mention whose event never came":    {func(r *record) { r.withdraw(mentionInThread); r.said[0].acknowledged = time.Time{} }, missed},
		"only the first of two was answered":  {func(r *record) { r.withdraw(both); r.answer(place{"C2", ts(1)}, 20, "addressed", 25) }, lost},
		"answered before it became a mention": {func(r *record) { r.said[4].edited, r.said[4].editAcknowledged = when(26), when(27) }, lost},
		"an edit that made a mention, never heard of": {func(r *record) {
			r.said[1].edited = when(20)
		}, missed},
		"an answer posted twice under one key": {func(r *record) { r.posts = append(r.posts, r.again(both, 40)) }, doubled},
		"an answer posted twice, said anew": {func(r *record) {
			p := r.again(both, 40)
			p.key, p.text = strings.Replace(p.key, "//0", "/"+ts(22)+"/0", 1), "answer 9"
			r.posts = append(r.posts, p)
		}, doubled},
		"one text under two keys": {func(r *record) {
			p := r.again(both, 40)
			p.key = strings.Replace(p.key, ts(21), ts(20), 1)
			r.posts = append(r.posts, p)
		}, doubled},
		"more replies than causes": {func(r *record) {
			r.answer(place{"C2", ts(1)}, 20, "addressed", 40)
			r.said = append(r.said, said{n: 9, kind: chatter, channel: "C2", thread: ts(1), ts: ts(23), at: when(23)},
				said{n: 10, kind: question, channel: "C2", thread: ts(1), ts: ts(24), at: when(24), deleted: when(25)})
			r.answer(place{"C2", ts(1)}, 23, "judgment", 41)
			r.answer(place{"C2", ts(1)}, 24, "judgment", 42)
		}, doubled},
		"an answer to chatter":                   {func(r *record) { r.answer(place{"C2", ""}, 1, "judgment", 12) }, unasked},
		"an answer to a bot":                     {func(r *record) { r.answer(place{"C2", ""}, 30, "judgment", 32) }, unasked},
		"an answer to nothing":                   {func(r *record) { r.answer(place{"C1", ""}, 99, "judgment", 100) }, unasked},
		"an answer in the wrong place":           {func(r *record) { r.posts[mentionInThread].thread = "" }, unasked},
		"a question answered as a mention":       {func(r *record) { r.answer(place{"C1", ts(10)}, 10, "addressed", 30) }, unasked},
		"an answer long after the deletion":      {func(r *record) { r.answer(place{"C3", ts(1)}, 1, "addressed", 20) }, late},
		"a question without a verdict":           {func(r *record) { r.withdraw(question1) }, unjudged},
		"chatter without a verdict":              {func(r *record) { r.decisions = r.decisions[:len(r.decisions)-1] }, unjudged},
		"a verdict that was withdrawn":           {func(r *record) { r.decisions[len(r.decisions)-1].outcome = "withdrawn" }, unjudged},
		"a question judged no":                   {func(r *record) { r.decisions[question1].yes = false }, unjudged},
		"a question judged yes and not answered": {func(r *record) { r.posts = slices.Delete(r.posts, question1, question1+1) }, unjudged},
		"a question that met a rule": {func(r *record) {
			r.withdraw(question1)
			r.decisions = append(r.decisions, decision{place: place{"C1", ""}, trigger: ts(10), source: "rule", rule: "nothing_left", outcome: "silent"})
		}, unjudged},
		"chatter judged yes":              {func(r *record) { r.decisions[len(r.decisions)-1].yes = true }, unjudged},
		"a post that the outbox lacks":    {func(r *record) { r.outbox = slices.Delete(r.outbox, both, both+1) }, ledgerWrong},
		"an outbox row that Slack lacks":  {func(r *record) { r.outbox = append(r.outbox, part{state: "sent", sentTS: ts(50)}) }, ledgerWrong},
		"an outbox row left sending":      {func(r *record) { r.outbox = append(r.outbox, part{state: "sending"}) }, ledgerWrong},
		"an outbox row of another text":   {func(r *record) { r.outbox[both].text = "something else" }, ledgerWrong},
		"a decision left pending":         {func(r *record) { r.decisions[both].outcome = "pending" }, ledgerWrong},
		"a decision that failed":          {func(r *record) { r.decisions[both].outcome = "failed" }, ledgerWrong},
		"a post that no decision carries": {func(r *record) { r.decisions[both].outcome = "withdrawn" }, ledgerWrong},
		"a decision that Slack lacks":     {func(r *record) { r.decisions = append(r.decisions, decision{outcome: "posted", by: "x"}) }, ledgerWrong},
		"a post without a key":            {func(r *record) { r.posts[both].key = "" }, ledgerWrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := faultlessRecord()
			tt.spoil(&r)
			found := check(r)
			if !slices.ContainsFunc(found, func(f finding) bool { return f.fault == tt.want }) {
				t.Errorf("found %v, want %s among it", found, tt.want)
			}
		})
	}
}

// again returns a copy of the n-th post at another time.
func (r *record) again(n, second int) post {
	p := r.posts[n]
	p.ts, p.at, p.began = ts(second), when(second), when(second)
	return p
}

// What looks like a fault but is not.
func TestCheckAllows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*record){
		"an answer just after the deletion": func(r *record) { r.answer(place{"C3", ts(1)}, 1, "addressed", 6) },
		"that answer at the top level, since its thread is gone": func(r *record) {
			r.answer(place{"C3", ts(1)}, 1, "addressed", 6)
			r.posts[len(r.posts)-1].thread = ""
		},
		"a deletion that nobody heard of": func(r *record) {
			r.said[7].deletionAcknowledged = time.Time{}
			r.answer(place{"C3", ts(1)}, 1, "addressed", 60)
		},
		"a question withdrawn by a mention": func(r *record) {
			r.withdraw(1)
			r.said = append(r.said, said{n: 9, kind: mention, channel: "C1", ts: ts(12), at: when(12), acknowledged: when(12)})
			r.answer(place{"C1", ts(12)}, 12, "addressed", 13)
		},
		"a question that was deleted": func(r *record) { r.withdraw(1); r.said[1].deleted = when(12) },
		"a question answered, then made a mention and answered in its thread": func(r *record) {
			r.said[1].edited, r.said[1].editAcknowledged = when(20), when(21)
			r.answer(place{"C1", ts(10)}, 10, "addressed", 25)
		},
		"chatter judged together with the question after it": func(r *record) {
			r.said = append(r.said, said{n: 9, kind: chatter, channel: "C1", ts: ts(9), at: when(9), acknowledged: when(9)})
		},
		"chatter answered because of a question that was read with it": func(r *record) {
			r.withdraw(1)
			r.said = append(r.said, said{n: 9, kind: chatter, channel: "C1", ts: ts(9), at: when(9), acknowledged: when(9)})
			r.answer(place{"C1", ""}, 9, "judgment", 15)
			r.outbox[len(r.outbox)-1].saw = when(10)
			r.decisions = append(r.decisions, decision{place: place{"C1", ""}, trigger: ts(10), source: "rule", rule: "spoke_last", outcome: "silent"})
		},
		"chatter in a thread that the author of an answer had read": func(r *record) {
			r.said = append(r.said, said{n: 9, kind: chatter, channel: "C2", thread: ts(1), ts: ts(23), at: when(23), acknowledged: when(23)})
			r.outbox[2].saw = when(23)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := faultlessRecord()
			change(&r)
			for _, f := range check(r) {
				t.Error(f)
			}
		})
	}
}

func TestNewestMark(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prompt string
		want   mark
	}{
		"a thread": {"### Top level\n\nhey-9\n\n## Thread to judge: 1.2\n\n**x** a:\nyes-1-d2?\n\n**x** b:\nno-3\n\n---\nCurrent time\nyes-8-d0",
			mark{text: "no-3", kind: chatter, n: 3}},
		"a top level": {"## x\n\n## To judge: the top-level conversation\n\nno-1\n\nyes-2-d2?\n\nanswer 7, to message 5\n\n### Thread: 1.3\n\nno-4\n\n---\n",
			mark{text: "yes-2-d2", kind: question, n: 2, delay: 2}},
		"a mention": {"x\n## To answer: the top-level conversation\n\nwhat about hey-5?\n---\n", mark{text: "hey-5", kind: mention, n: 5}},
		"nothing":   {"x", mark{text: "nothing"}},
	} {
		if got := newestMark(tt.prompt); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestASeedFixesThePlan(t *testing.T) {
	t.Parallel()
	s := scale{seed: 7, messages: 500, kills: 20, rate: 10, channels: 14, direct: 4, people: 6, starters: 2, workers: 3}
	a, b := draw(s), draw(s)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Error("one seed made two plans")
	}
	s.seed = 8
	if fmt.Sprint(draw(s).acts) == fmt.Sprint(a.acts) {
		t.Error("two seeds made one plan")
	}
	kinds, verbs, victims := map[kind]int{}, map[verb]int{}, map[victim]int{}
	gone, said := map[int]bool{}, 0
	for _, act := range a.acts {
		kinds[act.kind]++
		verbs[act.verb]++
		if act.verb == say {
			said++
		}
		if act.verb == remove {
			gone[act.n] = true
		}
	}
	for _, act := range a.acts {
		if act.thread != 0 && gone[act.thread] {
			t.Errorf("message %d is said in the thread of %d, which is deleted", act.n, act.thread)
		}
	}
	kills := 0
	for _, blow := range a.blows {
		victims[blow.victim]++
		if !blow.freeze {
			kills++
		}
	}
	if said != 500 || kills != 20 || len(kinds) != 5 || len(verbs) != 4 || len(victims) != 4 || len(a.failures) == 0 {
		t.Errorf("%d messages, %d kills, %v, %v, %v, %d failures", said, kills, kinds, verbs, victims, len(a.failures))
	}
}
