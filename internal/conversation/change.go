package conversation

import (
	"slices"
	"time"

	"myao/internal/chat"
)

// Kind is what happened to a message.
type Kind string

const (
	Said      Kind = "said"      // said, without addressing the bot
	Addressed Kind = "addressed" // a mention, a message in a channel of mode all, or in a DM
	Edited    Kind = "edited"    // changed by an edit that adds no mention
	Deleted   Kind = "deleted"
	// Hushed: somebody wants no answer to it, until an edit of it, or a person, asks for one.
	Hushed Kind = "hushed"
)

// Change is one thing that happened to a message, as it travels in a signal: ids, never text.
type Change struct {
	TS   string `json:"ts"`
	Kind Kind   `json:"kind"`
	// Revision is the ts of the edit; empty for the message as first said. Of a message
	// that is hushed it may be anything that tells this time from another.
	Revision string `json:"revision,omitempty"`
	// FollowUp is set when, in a thread, nobody but the person whom the bot
	// answered last has spoken since.
	FollowUp bool `json:"follow_up,omitempty"`
	// By is whose order a change is, as slack:U…; empty where it is nobody's.
	By string `json:"by,omitempty"`
}

// ID is the change's identity within its conversation.
func (c Change) ID() string { return c.TS + "/" + string(c.Kind) + "/" + c.Revision }

// Item is a message that still wants something: a judgment or an answer.
type Item struct {
	TS        string `json:"ts"`
	Revision  string `json:"revision,omitempty"`
	FollowUp  bool   `json:"follow_up,omitempty"`
	Addressed bool   `json:"addressed,omitempty"`
	// At is when it was first heard of.
	At time.Time `json:"at,omitzero"`
}

func (c Change) item(now time.Time) Item {
	return Item{TS: c.TS, Revision: c.Revision, FollowUp: c.FollowUp, Addressed: c.Kind == Addressed, At: now}
}

// put adds an item in order of ts; the newest revision of a ts replaces the one before,
// and has come when the first did.
func put(items []Item, it Item) []Item {
	i, found := slices.BinarySearchFunc(items, it.TS, byTS)
	if !found {
		return slices.Insert(items, i, it)
	}
	it.Addressed = it.Addressed || items[i].Addressed
	it.FollowUp = it.FollowUp || items[i].FollowUp
	if it.Revision < items[i].Revision {
		it.Revision = items[i].Revision
	}
	it.At = items[i].At
	items[i] = it
	return items
}

func putAll(items, more []Item) []Item {
	for _, it := range more {
		items = put(items, it)
	}
	return items
}

func addressed(it Item) bool { return it.Addressed }

func has(items []Item, ts string) bool {
	_, found := slices.BinarySearchFunc(items, ts, byTS)
	return found
}

func without(items []Item, ts string) []Item {
	return slices.DeleteFunc(items, func(it Item) bool { return it.TS == ts })
}

// after is the items that were said after a ts; it reuses their memory.
func after(items []Item, ts string) []Item {
	return slices.DeleteFunc(items, func(it Item) bool { return byTS(it, ts) <= 0 })
}

// plain is the items that do not address the bot, and were said until a ts.
func plain(items []Item, until string) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(it Item) bool { return it.Addressed || byTS(it, until) > 0 })
}

func newest(items []Item) Item {
	if len(items) == 0 {
		return Item{}
	}
	return items[len(items)-1]
}

func byTS(it Item, ts string) int { return chat.CompareTS(it.TS, ts) }

// Policy is the timing of a conversation. It travels with each signal, so that a
// changed configuration holds from the next message on. Seconds, but for the ratio.
type Policy struct {
	MinWait      int     `json:"min_wait"`
	Jitter       float64 `json:"jitter"` // 0 to 1: the quiet time is MinWait ± this part of it
	MaxWait      int     `json:"max_wait"`
	MaxDelay     int     `json:"max_delay"`
	FollowUpWait int     `json:"follow_up_wait"`
	IdleClose    int     `json:"idle_close"`
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
