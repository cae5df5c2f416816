package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/telemetry"
)

// Known is what the store holds about a message before an event of it is recorded.
type Known struct {
	// Message is the message's current state; nil if it was never seen.
	Message *chat.Message
	// Handled is set once an event of the message itself has been recorded.
	Handled bool
	// Addressed is set if the message was relayed as addressing the bot.
	Addressed bool
	// Hushed is who asked for no answer to the message before its own event was recorded; empty if
	// nobody did.
	Hushed string
	// Before are the newest earlier messages of its thread, in order of time and without their
	// texts; empty at the top level.
	Before []chat.Message
	// Erased is set if its author was forgotten since it was sent, or its channel purged. Then nothing of the
	// message is stored, and nobody is told of it.
	Erased bool
	// Answered is the author of the message that the bot's newest message in Before answers; empty
	// if there is none, or if the outbox does not know it.
	Answered string
}

// Entry is what Record writes about a message, and what is to be relayed.
type Entry struct {
	// Message is the new state; nil leaves it unchanged.
	Message *chat.Message
	Handled bool
	Changes []Change
	// Order is recorded with the message; nil if nobody ordered anything.
	Order *Order
	// Private is set if Slack says that the channel is private. Record can close a channel, but
	// never open one.
	Private bool
	// External is set if Slack says that people of other companies read the channel. Only a listing
	// or a direct query can say that they no longer do.
	External bool
}

// Change is a change on its way to a conversation's workflow.
type Change struct {
	conversation.Change
	Conversation chat.Conversation
	// Trace is the traceparent (W3C) of the request that brought the change, or empty.
	Trace string
}

// Target is a conversation with a new change to relay.
type Target struct {
	chat.Conversation
	// Awaited is set if a person who addressed the bot waits for the answer.
	Awaited bool
}

// recording is one call of Record.
type recording struct {
	ctx     context.Context // the caller's
	message chat.Message
	key     string // of the message's row
	decide  func(Known) Entry
	trace   string
	// first is decided while nothing is known yet.
	first Entry

	// What a transaction finds out and does.
	inserted  bool        // the message was new, and this call inserted its row
	existing  *messageRow // the row before this call; nil: there was none
	known     Known
	private   bool  // the channel is known to be private
	external  bool  // the channel is known to be shared
	active    int64 // when the channel was last active
	old       bool  // something was forgotten or purged since it was sent
	entry     Entry
	written   *messageRow
	ungrouped bool // it needs a transaction of its own
	targets   []Target

	group *group // nil until it is part of one
	err   error
	done  chan struct{} // closed when the group has finished
}

// Record commits an event of one message. decide gets what is known about the message and returns
// what to keep and what to relay. A change that was recorded before is not recorded again. Record
// returns the conversations with something new to relay.
//
// decide must be pure; for an unseen message, what it keeps must not depend on Before, Answered or
// Hushed. It may be called more than once, from other goroutines, and even after Record has
// returned because ctx ended.
//
// In Postgres a new message costs at most four statements, and so do all that arrive at the same
// time: they are committed as a group. An event of a known message is committed alone, unless it
// changes nothing.
func (s *Store) Record(ctx context.Context, m chat.Message, decide func(Known) Entry) ([]Target, error) {
	n := &recording{
		ctx: ctx, message: m, key: rowKey(m.Team, m.Channel, m.TS), decide: decide, trace: telemetry.Traceparent(ctx),
		first: decide(Known{}), done: make(chan struct{}),
	}
	err := s.record(n)
	if err != nil {
		return nil, fmt.Errorf("record message %s in %s: %w", m.TS, m.Channel, err)
	}
	return n.targets, nil
}

func (s *Store) record(n *recording) error {
	// Any other event most likely concerns a message that is known.
	if n.first.Message != nil && n.first.Handled && n.first.Order == nil {
		if err := s.groups.do(n); err != nil || !n.ungrouped {
			return err
		}
	}
	err := errConflict
	for tries := 0; tries < 3 && errors.Is(err, errConflict); tries++ {
		err = s.commitAlone(n) // another event of the same message was first: decide again
	}
	return err
}

var errConflict = errors.New("overtaken by another event of the same message")

// commit commits events of messages that are thought to be new, each of another message. An event
// of a known message is left to commitAlone if it changes anything.
//
// Every transaction that locks several rows takes them in the same order, messages before channels,
// so that no two transactions wait for each other.
func (s *Store) commit(ctx context.Context, group []*recording) error {
	slices.SortFunc(group, func(a, b *recording) int { return strings.Compare(a.key, b.key) })
	return s.transaction(ctx, func(tx *gorm.DB) error {
		if err := s.insert(tx, group...); err != nil {
			return err
		}
		if err := s.readKnown(tx, group); err != nil {
			return err
		}
		var settled []*recording
		for _, n := range group {
			if n.old {
				if n.ungrouped = true; n.inserted {
					if err := tx.Delete(n.written).Error; err != nil {
						return err
					}
				}
				continue
			}
			n.entry = n.decide(n.known)
			if n.ungrouped = !n.inserted && (n.existing == nil || n.entry.writes()); !n.ungrouped {
				settled = append(settled, n)
			}
		}
		return s.finish(tx, settled)
	})
}

// writes reports whether an entry changes anything about its message.
func (e Entry) writes() bool { return e.Message != nil || len(e.Changes) > 0 || e.Order != nil }

// commitAlone commits everything that one event changes, whether its message is known or not.
func (s *Store) commitAlone(n *recording) error {
	return s.transaction(n.ctx, func(tx *gorm.DB) error {
		n.inserted, n.written = false, nil
		var there []string
		if err := s.locked(tx).Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts = ?", n.message.Team,
			n.message.Channel, n.message.TS).
			Pluck("ts", &there).Error; err != nil {
			return err
		}
		if len(there) == 0 && n.first.Message != nil {
			if err := s.insert(tx, n); err != nil {
				return err
			}
			if !n.inserted {
				return errConflict
			}
		}
		group := []*recording{n}
		if err := s.readKnown(tx, group); err != nil {
			return err
		}
		if err := s.decideStorable(tx, n); err != nil {
			return err
		}
		if n.entry.Message != nil && !n.inserted {
			m := *n.entry.Message
			if n.existing != nil {
				m.Files = chat.WithTranscripts(m.Files, n.existing.message().Files)
			}
			row, err := newMessageRow(m, n.entry.Handled, s.nowMicros())
			if err != nil {
				return err
			}
			if n.existing != nil && row.sameContent(*n.existing) {
				row.StoredUS = n.existing.StoredUS
			} else if err := unindex(tx, row.TeamID, row.ChannelID, row.TS); err != nil {
				return err
			}
			if err := tx.Save(&row).Error; err != nil {
				return err
			}
			if err := clearDeletedReply(tx, row); err != nil {
				return err
			}
			if old := n.existing; old != nil && !strings.HasPrefix(row.Text, old.Text) && !row.Deleted {
				// what was quoted is gone
				if err := s.blankWith(tx, false, row.TeamID, row.ChannelID, row.TS); err != nil {
					return err
				}
			}
			n.written = &row
		}
		if err := s.recordOrder(tx, n.message, n.existing != nil || n.written != nil, n.entry.Order); err != nil {
			return err
		}
		return s.finish(tx, group)
	})
}

// decideStorable decides what to store of an event. What was forgotten or purged is not stored again, whoever
// brings it: a late event, an edit, or an order about the message.
func (s *Store) decideStorable(tx *gorm.DB, n *recording) error {
	if !n.old {
		n.entry = n.decide(n.known)
		return nil
	}
	if n.inserted {
		if err := tx.Delete(n.written).Error; err != nil {
			return err
		}
		n.inserted, n.written = false, nil
	}
	decided := n.decide(n.known)
	about := []chat.Message{n.message}
	if decided.Message != nil {
		about = append(about, *decided.Message)
	}
	erased, err := erasuresOf(tx, about)
	if err != nil {
		return err
	}
	for i := range about {
		storable := false
		about[i], storable = erased.storable(about[i])
		n.known.Erased = n.known.Erased || !storable
	}
	if n.known.Erased {
		n.entry = n.decide(n.known)
		n.entry = Entry{Private: n.entry.Private, External: n.entry.External}
		return nil
	}
	if n.entry = decided; decided.Message != nil {
		n.entry.Message = &about[1]
	}
	return nil
}

// insert inserts rows for messages that were never seen, and notes which of them were new.
func (s *Store) insert(tx *gorm.DB, group ...*recording) error {
	rows := make([]messageRow, len(group))
	for i, n := range group {
		var err error
		if rows[i], err = newMessageRow(*n.first.Message, n.first.Handled, s.nowMicros()); err != nil {
			return err
		}
	}
	made, err := insertNew(tx, rows, "team_id", "channel_id", "ts")
	if err != nil {
		return err
	}
	isNew := make(map[string]bool, len(made))
	for _, r := range made {
		isNew[r.key()] = true
	}
	for i, n := range group {
		n.written, n.inserted = nil, isNew[n.key]
		if n.inserted {
			n.written = &rows[i]
		}
	}
	return nil
}

// finish writes the changes that were decided, and sets each recording's targets.
func (s *Store) finish(tx *gorm.DB, group []*recording) error {
	var changes []changeRow
	for _, n := range group {
		if w := n.written; w != nil && w.Deleted {
			if err := s.dropWith(tx, w.TeamID, w.ChannelID, w.TS); err != nil {
				return fmt.Errorf("drop what goes with message %s: %w", w.TS, err)
			}
		}
		for _, c := range n.entry.Changes {
			changes = append(changes, changeRow{
				WorkflowID: c.Conversation.ID(), TeamID: c.Conversation.Team, TS: c.TS,
				SentUS: micros(chat.Time(c.TS)), Kind: string(c.Kind), Revision: c.Revision, FollowUp: c.FollowUp,
				StoredUS: s.nowMicros(), OrderedBy: c.By, Author: c.Author, Trace: cmp.Or(c.Trace, n.trace),
				Mention: c.Mention, Stop: c.Stop, Named: c.Named,
			})
		}
	}
	made, err := insertNew(tx, changes, "workflow_id", "ts", "kind", "revision")
	if err != nil {
		return fmt.Errorf("insert changes: %w", err)
	}
	isNew := make(map[changeRow]bool, len(made))
	for _, r := range made {
		isNew[r] = true
	}
	for _, n := range group {
		n.targets = nil
		for _, c := range n.entry.Changes {
			r := changeRow{WorkflowID: c.Conversation.ID(), TS: c.TS, Kind: string(c.Kind), Revision: c.Revision}
			if isNew[r] {
				delete(isNew, r)
				n.targets = append(n.targets, Target{c.Conversation, c.Kind == conversation.Addressed &&
					c.Conversation.AnswersHere()})
			}
		}
	}
	return s.updateChannels(tx, group)
}
