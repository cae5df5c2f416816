package conversation

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
)

// Phase is the stage of the current decision.
type Phase string

const (
	Idle     Phase = "idle"
	Waiting  Phase = "waiting"  // the quiet time is running
	Judging  Phase = "judging"  // the judgment is in flight
	Delaying Phase = "delaying" // the verdict is yes; the delay is running
	Replying Phase = "replying" // the reply is being composed or posted
)

// Lasts reports whether a phase lasts until a deadline or a message. The others end as soon
// as a model or Slack has answered.
func (p Phase) Lasts() bool { return p == Idle || p == Waiting || p == Delaying }

// seenLimit bounds the ring of recent change ids. The relay resends a change only when it
// does not know that its signal arrived, and does so soon.
const seenLimit = 256

// State is everything known of a conversation between two events. Continue-as-new carries
// it as JSON, so fields are only ever added.
type State struct {
	Conversation chat.Conversation `json:"conversation"`
	Policy       Policy            `json:"policy"`
	Phase        Phase             `json:"phase"`

	// Pending are the messages without a completed judgment, in order of ts.
	Pending []Item `json:"pending,omitempty"`
	// FirstAt is when the first pending message came, even if it was deleted since. MaxWait
	// counts from here.
	FirstAt time.Time `json:"first_at,omitzero"`
	// Work is the judgment or the reply under way; zero while the conversation is idle.
	Work `json:"work,omitzero"`
	// Later are the messages that came during work that they do not withdraw: a post, an
	// answer to an addressed message, or a capped decision.
	Later []Item `json:"later,omitempty"`

	// Proposals are open, Acting are approved and being carried out.
	Proposals []OpenProposal `json:"proposals,omitempty"`
	Acting    []ProposalRef  `json:"acting,omitempty"`
	// Untold are the occasions of replies that are yet to begin.
	Untold []UntoldOccasion `json:"occasions,omitempty"`
	// Promises are open. None is turned to before HeldUntil, because the bot is to be silent.
	Promises  []OpenPromise `json:"promises,omitempty"`
	HeldUntil time.Time     `json:"held_until,omitzero"`

	// DueAt is when Waiting or Delaying ends; the zero time in any other phase.
	DueAt time.Time `json:"due_at,omitzero"`
	// Since is when the phase began. IdleClose counts from here.
	Since time.Time `json:"since,omitzero"`
	// Verdict is the newest verdict, for display.
	Verdict *chat.Verdict `json:"verdict,omitempty"`
	// Epoch numbers the decisions. A result from an older epoch is ignored.
	Epoch int `json:"epoch"`
	// Seen is the ring of recent change ids, oldest first.
	Seen []string `json:"seen,omitempty"`
}

// Work is what is known of the judgment or the reply under way, besides its phase.
type Work struct {
	// Capped is set when the judgment began at MaxWait, or ended with a yes after it, or an
	// operator ordered the reply. A message that does not address the bot no longer withdraws
	// the decision: otherwise a busy channel would never be judged.
	Capped bool `json:"capped,omitempty"`
	// Ordered is set while the reply is an operator's AnswerNow.
	Ordered bool `json:"ordered,omitempty"`
	// Answering are the addressed messages being answered; empty for a judged reply.
	Answering []Item `json:"answering,omitempty"`
	// Served are the messages before those, which the answer serves too, and those that their authors
	// have added while the bot was looking something up. They become pending again if every message
	// of Answering is removed.
	Served []Item `json:"served,omitempty"`
	// Posting is set once the post is scheduled; from then on it is not withdrawn.
	Posting bool `json:"posting,omitempty"`
	// Notice is set while the reply is the notice that the bot cannot answer.
	Notice bool `json:"notice,omitempty"`
	// Steps are what is being looked up for the reply; empty at any other time.
	Steps []Step `json:"steps,omitempty"`
	// Round counts the rounds of looking things up that the reply has behind it.
	Round int `json:"round,omitempty"`
	// Occasion is the one that the judgment or the reply is for; zero if it is about messages.
	Occasion Occasion `json:"occasion,omitzero"`
}

// New is the state of a new conversation. It counts as idle since the zero time: a run that
// learns nothing that matters ends at once.
func New(c chat.Conversation) *State {
	return &State{Conversation: c, Phase: Idle}
}

// NextTick is when the next Tick is due; the zero time while work is in flight. For an idle
// conversation it is the time to close.
func (s *State) NextTick() time.Time {
	var next time.Time
	switch s.Phase {
	case Waiting, Delaying:
		next = s.DueAt
	case Idle:
		next = s.idleEnd()
	}
	for _, p := range s.Proposals {
		if next.IsZero() || p.LapsesAt.Before(next) {
			next = p.LapsesAt
		}
	}
	if at := s.NextPromise(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
		next = at
	}
	return next
}

// idleEnd is when an idle conversation has been so for IdleClose.
func (s *State) idleEnd() time.Time { return s.Since.Add(seconds(s.Policy.IdleClose)) }

// pendingLimit bounds how many pending messages a judgment gets: the newest.
const pendingLimit = 256

// PendingTS is the ts of the pending messages, in order of time.
func (s *State) PendingTS() []string {
	var all []string
	for _, it := range s.Pending[max(0, len(s.Pending)-pendingLimit):] {
		all = append(all, it.TS)
	}
	return all
}

// Unanswered counts the messages that await a judgment or an answer. What occasions a reply was answered before.
func (s *State) Unanswered() int {
	n := len(s.Pending) + len(s.Later)
	if s.Occasion == (Occasion{}) {
		n += len(s.Answering)
	}
	return n
}

// Doing says what is under way, such as "posting a reply to 1 message that addressed the bot"; empty if nothing is. It
// holds nothing that people wrote.
func (s *State) Doing() string {
	line := "composing a reply"
	switch {
	case s.Phase == Judging && s.Occasion.Promise != "":
		return "looking whether a promise is still wanted"
	case s.Phase == Judging:
		return "judging " + Count(len(s.Pending), "message")
	case s.Phase != Replying:
		return ""
	case s.Posting:
		line = "posting a reply"
	case len(s.Steps) > 0:
		line = "looking things up for a reply"
	}
	switch n := len(s.Answering); {
	case s.Occasion.Promise != "":
		line += " that keeps a promise"
	case s.Occasion.Step != "":
		line += " that tells what came of an approved call"
	case n > 0:
		line += " to " + Count(n, "message") + " that addressed the bot"
	}
	if len(s.Steps) > 0 {
		done, tools := 0, ""
		for _, step := range s.Steps {
			if step.Done {
				done++
			}
			tools += ", " + strings.ReplaceAll(step.Tool, "_", " ")
		}
		line += fmt.Sprintf(": %d of %d done%s", done, len(s.Steps), tools)
	}
	if s.Round > 0 {
		line += ", after " + Count(s.Round, "round") + " of looking up"
	}
	return line
}

// Count is a number of things, such as "2 messages".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ShouldClose reports whether the conversation has been idle for IdleClose, and waits for nothing.
func (s *State) ShouldClose(now time.Time) bool {
	return s.Phase == Idle && !s.busy() && !now.Before(s.idleEnd())
}

// markSeen adds a change to the ring and reports whether it is new.
func (s *State) markSeen(id string) bool {
	if slices.Contains(s.Seen, id) {
		return false
	}
	s.Seen = append(s.Seen, id)
	if n := len(s.Seen) - seenLimit; n > 0 {
		s.Seen = slices.Delete(s.Seen, 0, n)
	}
	return true
}

// isHushed reports whether a message is hushed and has not addressed the bot since, as far
// as the ring goes back.
func (s *State) isHushed(ts string) bool {
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

// isDeleted reports whether a message is deleted, as far as the ring goes back.
func (s *State) isDeleted(ts string) bool {
	return slices.Contains(s.Seen, Change{TS: ts, Kind: Deleted}.ID())
}

// quietTime is the quiet time after a message: MinWait ± jitter, or what a follow-up or a call by
// name waits, if that is shorter. The jitter is derived from the conversation and the ts, so that a
// replay gets the same.
func (s *State) quietTime(it Item) time.Duration {
	wait := seconds(s.Policy.MinWait)
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Conversation.ID() + "/" + it.TS))
	draw := float64(mix(h.Sum64())>>11)/(1<<53)*2 - 1 // -1 to 1
	wait += time.Duration(draw * s.Policy.Jitter * float64(wait))
	if it.FollowUp {
		wait = min(wait, seconds(s.Policy.FollowUpWait))
	}
	if it.Named {
		wait = min(wait, seconds(s.Policy.NamedWait))
	}
	return wait
}

// mix spreads the bits of a hash: FNV alone gives similar ids similar hashes. It is the
// finalizer of MurmurHash3, which is in the public domain.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return h
}
