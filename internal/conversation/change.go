package conversation

import (
	"slices"
	"time"

	"myao/internal/chat"
)

// Kind is what happened to a message.
type Kind string

const (
	Said      Kind = "said"      // new, and not addressed to the bot
	Addressed Kind = "addressed" // a mention, a message in a channel of mode all, or in a DM
	Edited    Kind = "edited"    // by an edit that adds no mention
	Deleted   Kind = "deleted"
	// Hushed: somebody wants no answer to the message, until an edit adds a mention or a
	// person asks for an answer.
	Hushed Kind = "hushed"
	// Approved, Declined and Cancelled say what somebody decided about what the message made the bot
	// propose, or promise. Revision is the id of that.
	Approved  Kind = "approved"
	Declined  Kind = "declined"
	Cancelled Kind = "cancelled"
	// Moved says that somebody gave a promise another time, and Due that a promise is minutes late, as if
	// its conversation had been lost. Revision is a PromiseRef; for Cancelled it may be a promise's id.
	Moved Kind = "moved"
	Due   Kind = "due"
	// Overdue says that a proposal should have ended minutes ago, as if its conversation had been lost.
	Overdue Kind = "overdue"
)

// Change is one thing that happened to a message, as a signal carries it: ids, never text.
type Change struct {
	TS   string `json:"ts"`
	Kind Kind   `json:"kind"`
	// Revision is the ts of the edit; empty for the original message. For Hushed it is any
	// value that tells one hush of the message from another.
	Revision string `json:"revision,omitempty"`
	// FollowUp is set when, since the bot answered a person in a thread, nobody else has
	// spoken there.
	FollowUp bool `json:"follow_up,omitempty"`
	// Named is set if a person has called the bot by its name, without a mention.
	Named bool `json:"named,omitempty"`
	// By is the person who ordered the change, as slack:U…; empty for an ordinary change.
	By string `json:"by,omitempty"`
	// Author is the user id of the message's author; empty for an app without one.
	Author string `json:"author,omitempty"`
	// Mention is set if the message addresses the bot by a mention, or somebody ordered an answer.
	// It is not set where every message addresses the bot.
	Mention bool `json:"mention,omitempty"`
	// Stop is set if the message is nothing but a word like "stop" (phrases.StopWord). By is then set if its
	// author is an operator.
	Stop bool `json:"stop,omitempty"`
}

// ID identifies the change within its conversation.
func (c Change) ID() string { return c.TS + "/" + string(c.Kind) + "/" + c.Revision }

// Item is a message that still wants a judgment or an answer.
type Item struct {
	TS        string `json:"ts"`
	Revision  string `json:"revision,omitempty"`
	FollowUp  bool   `json:"follow_up,omitempty"`
	Named     bool   `json:"named,omitempty"`
	Addressed bool   `json:"addressed,omitempty"`
	// At is when the conversation first learned of the message.
	At time.Time `json:"at,omitzero"`
	// Author is as in Change.
	Author string `json:"author,omitempty"`
	// Stop is set if the message told the bot to stop, and wants one line about that.
	Stop Stop `json:"stop,omitempty"`
	// Operator is set with Stop if its author is an operator.
	Operator bool `json:"operator,omitempty"`
}

func (c Change) item(now time.Time) Item {
	return Item{TS: c.TS, Revision: c.Revision, FollowUp: c.FollowUp, Named: c.Named,
		Addressed: c.Kind == Addressed, At: now, Author: c.Author}
}

// put inserts an item in order of ts. An item of the same ts is replaced by its newest
// revision, and keeps its time.
func put(items []Item, it Item) []Item {
	i, found := slices.BinarySearchFunc(items, it.TS, compareTS)
	if !found {
		return slices.Insert(items, i, it)
	}
	it.Addressed = it.Addressed || items[i].Addressed
	it.FollowUp = it.FollowUp || items[i].FollowUp
	it.Named = it.Named || items[i].Named
	if it.Revision < items[i].Revision {
		it.Revision = items[i].Revision
	}
	it.At = items[i].At
	items[i] = it
	return items
}

func merge(items, more []Item) []Item {
	for _, it := range more {
		items = put(items, it)
	}
	return items
}

func isAddressed(it Item) bool { return it.Addressed }

func isStop(it Item) bool { return it.Stop != NoStop }

// authors are the user ids of the authors of some items.
func authors(items []Item) []string {
	var all []string
	for _, it := range items {
		if it.Author != "" {
			all = append(all, it.Author)
		}
	}
	return all
}

func contains(items []Item, ts string) bool {
	_, found := slices.BinarySearchFunc(items, ts, compareTS)
	return found
}

func without(items []Item, ts string) []Item {
	return slices.DeleteFunc(items, func(it Item) bool { return it.TS == ts })
}

// unaddressedUntil returns the items up to a ts that do not address the bot.
func unaddressedUntil(items []Item, ts string) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(it Item) bool { return it.Addressed || compareTS(it, ts) > 0 })
}

func newest(items []Item) Item {
	if len(items) == 0 {
		return Item{}
	}
	return items[len(items)-1]
}

func compareTS(it Item, ts string) int { return chat.CompareTS(it.TS, ts) }

// Policy is the timing of a conversation. Each signal carries it, so that a changed
// configuration applies from the next message on. Numbers except Jitter are seconds.
type Policy struct {
	MinWait      int     `json:"min_wait"`
	Jitter       float64 `json:"jitter"` // 0 to 1: the quiet time is MinWait ± this fraction
	MaxWait      int     `json:"max_wait"`
	MaxDelay     int     `json:"max_delay"`
	FollowUpWait int     `json:"follow_up_wait"`
	NamedWait    int     `json:"named_wait,omitempty"`
	IdleClose    int     `json:"idle_close"`
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
