package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

// plan says what happens when: what people do, what is killed and frozen, and how Slack and the
// model fail. It is drawn from a seed. Runs of one plan still differ in timing.
type plan struct {
	scale
	acts     []act
	blows    []blow
	failures []failure
}

// scale is the size of a plan.
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
	// slow adds failures with slow recovery.
	slow bool
}

// verb is what a person does with a message.
type verb string

const (
	say        verb = "say"
	edit       verb = "edit"    // the words change, the kind stays
	addMention verb = "mention" // an edit adds a mention
	remove     verb = "delete"
)

// act is one thing that a person does.
type act struct {
	at   time.Duration
	verb verb
	n    int // the number of the message

	// For new messages:
	kind    kind
	channel int // from scale.channels on, direct messages
	user    int
	thread  int // number of the parent; 0: at the top level
	delay   int // of the verdict on a question, seconds

	disturbance disturbance // what becomes of the event
}

// disturbance is what goes wrong with the delivery of an event.
type disturbance string

const (
	delivered  disturbance = ""
	dropped    disturbance = "dropped"
	oneDropped disturbance = "twin dropped" // the message event of a mention or its app_mention
	delayed    disturbance = "delayed"
	again      disturbance = "doubled"
	held       disturbance = "out of order"
)

var disturbances = []disturbance{dropped, oneDropped, delayed, again, held}

// blow is a kill or a freeze of a process.
type blow struct {
	at     time.Duration
	victim victim
	index  int // which of several processes
	freeze bool
	lasts  time.Duration
}

type victim string

const (
	starterVictim victim = "starter"
	workerVictim  victim = "worker"
	temporal      victim = "temporal"
	database      victim = "postgres"
)

// failure makes some calls of Slack's Web API or of the model fail. which is an index into
// slackFaults or modelFaults.
type failure struct {
	at    time.Duration
	model bool
	which int
	times int
}

// draw makes the plan of a scale and its seed.
func draw(s scale) plan {
	d := &drawing{plan: plan{scale: s}, Rand: rand.New(rand.NewPCG(s.seed, 0x6d79616f))}
	d.drawActs()
	d.drawBlows()
	d.drawFailures()
	return d.plan
}

type drawing struct {
	plan
	*rand.Rand
}

func (d *drawing) chance(percent int) bool { return d.IntN(100) < percent }

// between draws a time between a and b seconds.
func (d *drawing) between(a, b float64) time.Duration {
	return time.Duration((a + (b-a)*d.Float64()) * float64(time.Second))
}

// drawActs draws messages at a steady rate with bursts, and edits and deletions of some.
func (d *drawing) drawActs() {
	var parents []act // messages that can have replies
	n := 0
	for n < d.messages {
		at := time.Duration(float64(n) / d.rate * float64(time.Second))
		first := d.drawMessage(at, parents)
		size := 1
		if d.chance(4) {
			size = min(3+d.IntN(6), d.messages-n)
		}
		for i := range size {
			a := first
			if i > 0 { // the same person continues in the same place
				a.kind, a.delay = d.kindOf(a), d.IntN(3)
			}
			n++
			a.n, a.at, a.disturbance = n, at+time.Duration(i)*40*time.Millisecond, d.drawDisturbance()
			d.acts = append(d.acts, a)
			if !d.drawChange(a) && a.thread == 0 && a.channel < d.channels {
				parents = append(parents, a)
			}
		}
	}
	slices.SortStableFunc(d.acts, func(a, b act) int { return int(a.at - b.at) })
}

// drawMessage draws a message in some place, without a number.
func (d *drawing) drawMessage(at time.Duration, parents []act) act {
	a := act{verb: say, channel: d.IntN(d.channels), user: d.IntN(d.plan.people), delay: d.IntN(3)}
	// Most replies are in a recent thread.
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

func (d *drawing) drawDisturbance() disturbance {
	if p := d.IntN(100); p < 16 {
		return disturbances[p%len(disturbances)]
	}
	return delivered
}

// drawChange edits or deletes some messages, and reports whether it deletes this one.
func (d *drawing) drawChange(a act) (gone bool) {
	then := act{n: a.n, disturbance: d.drawDisturbance()}
	switch p := d.IntN(100); {
	case a.kind == stranger:
		return false
	case p < 8:
		then.verb, then.at = edit, a.at+d.between(0.2, 5)
	case p < 13 && (a.kind == question || a.kind == chatter):
		then.verb, then.at = addMention, a.at+d.between(0.2, 5)
	case p < 24 && a.kind != chatter:
		then.verb, then.at = remove, a.at+d.between(0.1, 5)
	default:
		return false
	}
	d.acts = append(d.acts, then)
	return then.verb == remove
}

// length is the time of the last act.
func (p plan) length() time.Duration {
	if len(p.acts) == 0 {
		return 0
	}
	return p.acts[len(p.acts)-1].at
}

// drawBlows spreads the kills evenly and adds one freeze for every four.
func (d *drawing) drawBlows() {
	var bag []victim
	busy := map[blow]time.Duration{} // until when a victim is down, by victim and index
	begin, end := d.length()/12, d.length()*11/12
	strike := func(at time.Duration, v victim, freeze bool) {
		b := blow{victim: v}
		switch v {
		case starterVictim:
			b.index = d.IntN(d.starters)
		case workerVictim:
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
			bag = []victim{workerVictim, workerVictim, workerVictim, starterVictim, starterVictim, starterVictim, temporal, database}
			d.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		at := begin + (end-begin)*time.Duration(i)/time.Duration(d.kills) + d.between(0, 1)
		strike(at, bag[0], false)
		bag = bag[1:]
		if i%4 == 2 {
			strike(at+d.between(0, 2), []victim{workerVictim, starterVictim}[d.IntN(2)], true)
		}
	}
	slices.SortStableFunc(d.blows, func(a, b blow) int { return int(a.at - b.at) })
}

// drawFailures makes Slack and the model each fail about once a second.
func (d *drawing) drawFailures() {
	slack, model := len(slackFaults), len(modelFaults)
	if !d.slow {
		slack -= slowSlackFaults
	}
	for at := time.Duration(0); at < d.length(); at += d.between(0.5, 1.5) {
		d.failures = append(d.failures,
			failure{at: at, which: d.IntN(slack), times: 1 + d.IntN(2)},
			failure{at: at + d.between(0, 0.5), model: true, which: d.IntN(model), times: 1 + d.IntN(3)})
	}
}
