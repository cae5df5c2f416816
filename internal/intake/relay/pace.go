package relay

import (
	"time"
)

// pace spaces out conversations nobody waits for, leaving capacity for the door and for
// mentions: the workers and the server may run on the same machine. Waiting costs little:
// the longer a conversation waits, the more changes its signal carries, and its workflow
// would only let people go on talking.
type pace struct {
	// factor is the gap between two conversations, in average relay times.
	factor time.Duration
	// maxGap bounds the gap when the server is slow or away. maxWait shortens it when many
	// conversations are pending, so that hardly any waits longer.
	maxGap, maxWait time.Duration
}

var (
	// normalPace applies to every conversation that nobody waits for.
	normalPace = pace{factor: 2, maxGap: 50 * time.Millisecond, maxWait: 15 * time.Second}
	// repeatPace applies to repeated conversations first. It is slower, so that new ones are
	// not held up: the workflows of repeated ones know that people talk, and wait for quiet.
	repeatPace = pace{factor: 4, maxGap: 100 * time.Millisecond, maxWait: 20 * time.Second}
)

// gap is the time between one conversation and the next of those pending.
func (p pace) gap(relayTime time.Duration, pending int) time.Duration {
	return min(p.factor*relayTime, p.maxWait/time.Duration(max(1, pending)), p.maxGap)
}
