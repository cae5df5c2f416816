package conversation

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
)

// Phase is where a conversation stands.
type Phase string

const (
	Idle     Phase = "idle"
	Waiting  Phase = "waiting"  // for the quiet time to be over
	Judging  Phase = "judging"  // the judgment is being made
	Delaying Phase = "delaying" // judged yes; the reply is held back
	Replying Phase = "replying" // the reply is being composed or posted
)

// Lasts reports whether a conversation stays in a phase for as long as a clock or its people
// want it to. The others are over once a model or Slack has answered.
func (p Phase) Lasts() bool { return p == Idle || p == Waiting || p == Delaying }

// seenLimit bounds the ring of recent change ids. The relay sends a change again
// only when it did not learn that its signal had arrived, which is soon after.
const seenLimit = 256

// State is all there is to know of a conversation between two events. It is
// carried as JSON through continue-as-new: fields are only ever added.
type State struct {
	Conversation chat.Conversation `json:"conversation"`
	Policy       Policy            `json:"policy"`
	Phase        Phase             `json:"phase"`

	// Pending are the messages that have not been judged to their end, in order of ts.
	Pending []Item `json:"pending,omitempty"`
	// FirstAt is when the first of them came, and stays though it is deleted; MaxWait counts from here.
	FirstAt time.Time `json:"first_at,omitzero"`
	// Capped is set when the judgment under way came at MaxWait, or said yes after it: it
	// is not withdrawn by a new message, or a busy channel would never be judged.
	Capped bool `json:"capped,omitempty"`
	// Ordered is set while the reply is one that an operator wants now.
	Ordered bool `json:"ordered,omitempty"`
	// Answering are the addressed messages being answered; empty for a judged reply.
	Answering []Item `json:"answering,omitempty"`
	// Served are the messages said before those, which the answer serves, too. They wait
	// again if nothing that it answers is left.
	Served []Item `json:"served,omitempty"`
	// Posting is set once the post is scheduled: it is not called back.
	Posting bool `json:"posting,omitempty"`
	// Notice is set while the reply is the note that the bot cannot answer.
	Notice bool `json:"notice,omitempty"`
	// Later are the messages that came while they could not be attended to: during
	// a post, an answer to an addressed message, or a judgment that is not withdrawn.
	Later []Item `json:"later,omitempty"`

	// DueAt is when the wait or the delay is over; the zero time in any other phase.
	DueAt time.Time `json:"due_at,omitzero"`
	// Since is when the phase began; an idle conversation closes by it.
	Since time.Time `json:"since,omitzero"`
	// Verdict is the newest verdict, for people to look at.
	Verdict *chat.Verdict `json:"verdict,omitempty"`
	// Epoch numbers the decisions; the end of an older one's work is ignored.
	Epoch int `json:"epoch"`
	// Seen is the ring of recent change ids, oldest first.
	Seen []string `json:"seen,omitempty"`
}

// New is the state of a conversation of which nothing has been heard. It has been
// idle for ever: a run that is told nothing of consequence ends at once.
func New(c chat.Conversation) *State {
	return &State{Conversation: c, Phase: Idle}
}

// NextTick is when the next Tick is wanted; the zero time while work is under way.
// For an idle conversation it is the time to close.
func (s *State) NextTick() time.Time {
	switch s.Phase {
	case Waiting, Delaying:
		return s.DueAt
	case Idle:
		return s.Since.Add(seconds(s.Policy.IdleClose))
	default:
		return time.Time{}
	}
}

// ShouldClose reports whether the conversation has been idle for long enough to end.
func (s *State) ShouldClose(now time.Time) bool { return s.Phase == Idle && !now.Before(s.NextTick()) }

// seen remembers a change and reports whether it was known.
func (s *State) seen(id string) bool {
	if slices.Contains(s.Seen, id) {
		return true
	}
	s.Seen = append(s.Seen, id)
	if n := len(s.Seen) - seenLimit; n > 0 {
		s.Seen = slices.Delete(s.Seen, 0, n)
	}
	return false
}

// hushed reports whether somebody wants no answer to a message, as far as the ring
// goes back, and nobody has addressed the bot with it since.
func (s *State) hushed(ts string) bool {
	hush, address := Change{TS: ts, Kind: Hushed}.ID(), Change{TS: ts, Kind: Addressed}.ID()
	for _, id := range slices.Backward(s.Seen) {
		switch {
		case strings.HasPrefix(id, hush):
			return true
		case strings.HasPrefix(id, address):
			return false
		}
	}
	return false
}

// deleted reports whether a message is known to be deleted, as far as the ring goes back.
func (s *State) deleted(ts string) bool {
	return slices.Contains(s.Seen, Change{TS: ts, Kind: Deleted}.ID())
}

// quiet is the quiet time after a message: MinWait ± jitter, or the follow-up
// wait where that is shorter. The jitter is drawn from the conversation and the
// ts, so that a replay draws the same.
func (s *State) quiet(it Item) time.Duration {
	wait := seconds(s.Policy.MinWait)
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Conversation.ID() + "/" + it.TS))
	draw := float64(mix(h.Sum64())>>11)/(1<<53)*2 - 1 // -1 to 1
	wait += time.Duration(draw * s.Policy.Jitter * float64(wait))
	if follow := seconds(s.Policy.FollowUpWait); it.FollowUp && follow < wait {
		return follow
	}
	return wait
}

// mix spreads the bits of a hash (the finalizer of MurmurHash3, in the public
// domain): FNV alone leaves those of similar ids close together.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return h
}
