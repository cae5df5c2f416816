package eval

import "myao/internal/chat"

// Link is a step on the way to a decision, in the order in which a judge takes them.
type Link string

// The links.
const (
	LinkRule      Link = "rule"      // a rule decided, without the model
	LinkVerdict   Link = "verdict"   // there was none that could be read
	LinkAddressee Link = "addressee" // whom the messages are for
	LinkGist      Link = "gist"      // whether there is something to add
	LinkReason    Link = "reason"    // the decision, after all that was seen
	LinkThreshold Link = "threshold" // how sure it has to be
	LinkTiming    Link = "timing"    // the verdict was yes, and what came after it withdrew the reply
)

// doubtful is the confidence below which a false yes was in doubt: a threshold there would have been silent.
const doubtful = 0.5

// BrokeAt is where the way to a wrong answer left the right one: the first link that alone leads there. It is empty for
// an answer that is right, or not scored.
func (r Row) BrokeAt() Link {
	c, v := r.counts(), r.Verdict
	switch {
	case c.missed+c.false == 0:
		return ""
	case r.Rule == lowConfidence:
		return LinkThreshold
	case r.Rule != "":
		return LinkRule
	case r.Error != "" || v == nil:
		return LinkVerdict
	case c.missed == 1 && v.ShouldRespond:
		return LinkTiming
	case c.false == 1 && v.Confidence < doubtful:
		return LinkThreshold
	case v.Addressee == "" && v.Gist == "": // the model did not tell
		return LinkReason
	}
	notForIt := v.Addressee == chat.AddresseeSomeone || v.Addressee == chat.AddresseeNobody
	switch {
	case c.missed == 1 && notForIt, c.false == 1 && v.Addressee == chat.AddresseeMe:
		return LinkAddressee
	case c.missed == 1 && v.Gist == "", c.false == 1 && v.Gist != "" && !notForIt:
		return LinkGist
	}
	return LinkReason
}

// What a right answer costs that comes at the wrong time, on the scale of costMissed.
const costEarly = 0.5

// lateBands are the costs of lateness, each up to so many seconds. What is later is as good as missed.
var lateBands = []struct {
	seconds, cost float64
}{{30, 0}, {120, 0.1}, {600, 0.25}, {1800, 0.5}}

// cost is what an answer costs: an error, or a right answer that comes too early or too late.
func (r Row) cost() float64 {
	c := r.counts()
	switch {
	case c.missed == 1:
		return costMissed
	case c.false == 1:
		return costFalse
	case c.speak == 0:
		return 0
	case r.Timing == Early:
		return costEarly
	}
	for _, band := range lateBands {
		if r.late() <= band.seconds {
			return band.cost
		}
	}
	return costMissed
}

// late is how many seconds an answer comes after the time when it is wanted: after the window of a played case, or else
// after the judgment, since a case that is judged at a moment wants it then.
func (r Row) late() float64 {
	if r.At == nil && r.Verdict != nil && r.Rule == "" && r.Verdict.DelaySeconds != nil {
		return float64(*r.Verdict.DelaySeconds)
	}
	return r.LateSeconds
}
