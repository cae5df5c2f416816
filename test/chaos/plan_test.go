package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

// plan is what will happen and when, all of it drawn from a seed: what people do, what
// is killed and frozen, and how Slack and the model fail. That the world takes part
// in its own time is what makes no two runs alike.
type plan struct {
	scale
	acts   []act
	blows  []blow
	pranks []prank
}

// scale is what a plan is drawn for.
type scale struct {
	seed     uint64
	messages int
	kills    int
	rate     float64 // messages a second
	channels int
	direct   int // direct messages with the bot
	people   int
	starters int
	workers  int
	// slow adds what takes long to get over.
	slow bool
}

// verb is what somebody does with a message.
type verb string

const (
	say    verb = "say"
	edit   verb = "edit"    // the words change, what it is stays
	call   verb = "mention" // an edit adds a mention
	remove verb = "delete"
)

// act is one thing that somebody does.
type act struct {
	at   time.Duration
	verb verb
	n    int // the number of the message

	// Of what is said:
	kind    kind
	channel int // below scale.channels; above are direct messages
	user    int
	thread  int // number of the parent; 0: at the top level
	delay   int // seconds, of the verdict on a question

	upset upset // what becomes of the event
}

// upset is what goes wrong with the delivery of an event.
type upset string

const (
	delivered   upset = ""
	dropped     upset = "dropped"
	twinDropped upset = "twin dropped" // the message event of a mention or its app_mention
	delayed     upset = "delayed"
	again       upset = "doubled"
	held        upset = "out of order"
)

var upsets = []upset{dropped, twinDropped, delayed, again, held}

// blow is something done to a process.
type blow struct {
	at     time.Duration
	victim victim
	index  int // of several
	freeze bool
	lasts  time.Duration
}

type victim string

const (
	aStarter victim = "starter"
	aWorker  victim = "worker"
	temporal victim = "temporal"
	database victim = "postgres"
)

// prank is a failure of Slack's Web API or of the model, by its number in the list
// of them, for some calls.
type prank struct {
	at    time.Duration
	model bool
	which int
	times int
}

// draw makes the plan of a seed.
func draw(s scale) plan {
	d := &drawing{plan: plan{scale: s}, Rand: rand.New(rand.NewPCG(s.seed, 0x6d79616f))}
	d.people()
	d.destruction()
	d.mischief()
	return d.plan
}

type drawing struct {
	plan
	*rand.Rand
}

func (d *drawing) chance(percent int) bool { return d.IntN(100) < percent }

// between is a time from a to b, in seconds.
func (d *drawing) between(a, b float64) time.Duration {
	return time.Duration((a + (b-a)*d.Float64()) * float64(time.Second))
}

// people talk at a steady rate, with bursts, and think better of some of it.
func (d *drawing) people() {
	var parents []act // that can be replied to
	n := 0
	for n < d.messages {
		at := time.Duration(float64(n) / d.rate * float64(time.Second))
		first := d.utterance(at, parents)
		size := 1
		if d.chance(4) {
			size = min(3+d.IntN(6), d.messages-n)
		}
		for i := range size {
			a := first
			if i > 0 { // somebody goes on talking in the same place
				a.kind, a.delay = d.kindOf(a), d.IntN(3)
			}
			n++
			a.n, a.at, a.upset = n, at+time.Duration(i)*40*time.Millisecond, d.upset()
			d.acts = append(d.acts, a)
			if !d.afterthought(a) && a.thread == 0 && a.channel < d.channels {
				parents = append(parents, a)
			}
		}
	}
	slices.SortStableFunc(d.acts, func(a, b act) int { return int(a.at - b.at) })
}

// utterance is somebody's word in some place, not yet numbered.
func (d *drawing) utterance(at time.Duration, parents []act) act {
	a := act{verb: say, channel: d.IntN(d.channels), user: d.IntN(d.plan.people), delay: d.IntN(3)}
	// A thread is mostly one that was begun lately.
	var lately []act
	for _, p := range parents[max(0, len(parents)-3*d.channels):] {
		if p.at < at-time.Second {
			lately = append(lately, p)
		}
	}
	switch p := d.IntN(100); {
	case p < 10 && d.direct > 0:
		i := d.IntN(d.direct)
		a.channel, a.user = d.channels+i, i
	case p < 45 && len(lately) > 0:
		parent := lately[d.IntN(len(lately))]
		a.channel, a.thread = parent.channel, parent.n
	}
	a.kind = d.kindOf(a)
	return a
}

func (d *drawing) kindOf(a act) kind {
	if a.channel >= d.channels {
		return mention
	}
	switch p := d.IntN(100); {
	case p < 40:
		return mention
	case p < 65:
		return question
	case p < 95:
		return chatter
	}
	return stranger
}

func (d *drawing) upset() upset {
	if p := d.IntN(100); p < 16 {
		return upsets[p%len(upsets)]
	}
	return delivered
}

// afterthought edits or deletes some of what was said, and reports whether it is gone.
func (d *drawing) afterthought(a act) (gone bool) {
	then := act{n: a.n, upset: d.upset()}
	switch p := d.IntN(100); {
	case a.kind == stranger:
		return false
	case p < 8:
		then.verb, then.at = edit, a.at+d.between(0.2, 5)
	case p < 13 && (a.kind == question || a.kind == chatter):
		then.verb, then.at = call, a.at+d.between(0.2, 5)
	case p < 24 && a.kind != chatter:
		then.verb, then.at = remove, a.at+d.between(0.1, 5)
	default:
		return false
	}
	d.acts = append(d.acts, then)
	return then.verb == remove
}

// length is how long people talk.
func (p plan) length() time.Duration {
	if len(p.acts) == 0 {
		return 0
	}
	return p.acts[len(p.acts)-1].at
}

// destruction spreads the kills evenly, and freezes somebody after every fourth.
func (d *drawing) destruction() {
	var bag []victim
	busy := map[blow]time.Duration{} // until when, by victim and index
	begin, end := d.length()/12, d.length()*11/12
	strike := func(at time.Duration, v victim, freeze bool) {
		b := blow{victim: v}
		switch v {
		case aStarter:
			b.index = d.IntN(d.starters)
		case aWorker:
			b.index = d.IntN(d.workers)
		}
		who := b
		b.at, b.freeze = max(at, busy[who]), freeze
		if b.lasts = d.between(0.1, 3); freeze {
			b.lasts = d.between(5, 20)
			if !d.slow {
				b.lasts = d.between(4, 8)
			}
		}
		busy[who] = b.at + b.lasts + time.Second
		d.blows = append(d.blows, b)
	}
	for i := range d.kills {
		if len(bag) == 0 {
			bag = []victim{aWorker, aWorker, aWorker, aStarter, aStarter, aStarter, temporal, database}
			d.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		at := begin + (end-begin)*time.Duration(i)/time.Duration(d.kills) + d.between(0, 1)
		strike(at, bag[0], false)
		bag = bag[1:]
		if i%4 == 2 {
			strike(at+d.between(0, 2), []victim{aWorker, aStarter}[d.IntN(2)], true)
		}
	}
	slices.SortStableFunc(d.blows, func(a, b blow) int { return int(a.at - b.at) })
}

// mischief has Slack and the model fail about once a second each.
func (d *drawing) mischief() {
	slack, model := len(slackFaults), len(modelFaults)
	if !d.slow {
		slack -= slowSlackFaults
	}
	for at := time.Duration(0); at < d.length(); at += d.between(0.5, 1.5) {
		d.pranks = append(d.pranks,
			prank{at: at, which: d.IntN(slack), times: 1 + d.IntN(2)},
			prank{at: at + d.between(0, 0.5), model: true, which: d.IntN(model), times: 1 + d.IntN(3)})
	}
}
