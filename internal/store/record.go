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
	"myao/internal/telemetry"
)

// Known is what the store holds about a message when news of it comes.
type Known struct {
	// Message is the message as it stands; nil if it was never seen.
	Message *chat.Message
	// Handled is set once an event of the message itself has been recorded.
	Handled bool
	// Addressed is set if it was relayed as addressing the bot.
	Addressed bool
	// Hushed is who said that it wants no answer, before an event of the message itself
	// was recorded; empty: nobody did.
	Hushed string
	// Before are the newest messages of its thread that are older than it, in
	// order of time; empty at the top level. Who said them is told, and not what.
	Before []chat.Message
	// Answered is who said what the bot's own newest message among those answers; empty if
	// there is none, or the outbox does not know it.
	Answered string
}

// Entry is what the store shall hold of a message, and what is to be relayed.
type Entry struct {
	// Message is the new state; nil leaves it as it is.
	Message *chat.Message
	Handled bool
	Changes []Change
	// Order is written down with it; nil: nobody ordered anything.
	Order *Order
	// Private is set where Slack says that not everybody may read the channel. That
	// closes it; nothing that is recorded opens one.
	Private bool
	// External is set where Slack says that people of other companies read the channel, too.
	// A listing alone, or Slack when it is asked, says that they do no more.
	External bool
}

// Change is one change on its way to the workflow of a conversation.
type Change struct {
	conversation.Change
	Conversation chat.Conversation
	// Trace is the traceparent (W3C) of the request that brought it, or empty.
	Trace string
}

// Target is a conversation that has something new to be relayed.
type Target struct {
	chat.Conversation
	// Awaited is set where somebody who addressed the bot is answered.
	Awaited bool
}

// recording is what one call of Record brings.
type recording struct {
	ctx     context.Context // the caller's
	message chat.Message
	key     string // of the message's row
	decide  func(Known) Entry
	trace   string
	// first is decided while nothing is known.
	first Entry

	// What a transaction finds out and does.
	inserted  bool        // the message was new, and its row is ours
	existing  *messageRow // the row as it stood; nil: there was none
	known     Known
	private   bool  // the channel is closed already
	external  bool  // it is known that others read it
	active    int64 // when the channel was active last
	entry     Entry
	written   *messageRow
	ungrouped bool // it needs a transaction of its own
	targets   []Target

	group *group // nil until it is taken into one
	err   error
	done  chan struct{} // closed when the group has come to its end
}

// Record commits news of one message: decide is told what is known of it and
// says what to keep and what to relay. A change that was recorded before is not
// recorded again. The conversations that have something new to be relayed come back.
//
// decide must depend on its argument alone, and what it keeps of a message that was
// never seen neither on Before and Answered nor on Hushed. It may be called more than once, by other
// goroutines, and if ctx ends, after Record has returned.
//
// A message that is new costs four statements in Postgres at most, and so do all that come
// at the same time: they are committed as a group. News of one that is known is committed
// alone, unless it changes nothing.
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
	// Other news than that of the message itself is most likely of one that is known.
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

// commit commits news of messages that are thought to be new, each of another message.
// News of one that is not is left to commitAlone if it changes anything.
//
// Rows are taken in the same order by whoever takes several, messages before channels, so
// that no two wait for each other.
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

// commitAlone commits whatever there may be to commit about a message, known or not.
func (s *Store) commitAlone(n *recording) error {
	return s.transaction(n.ctx, func(tx *gorm.DB) error {
		n.inserted, n.written = false, nil
		var there []string
		if err := s.locked(tx).Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts = ?", n.message.Team, n.message.Channel, n.message.TS).
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
		n.entry = n.decide(n.known)
		if n.entry.Message != nil && !n.inserted {
			row, err := newMessageRow(*n.entry.Message, n.entry.Handled, s.nowMicros())
			if err != nil {
				return err
			}
			if n.existing != nil && row.sameContent(*n.existing) {
				row.StoredUS = n.existing.StoredUS
			}
			if err := tx.Save(&row).Error; err != nil {
				return err
			}
			if err := clearDeletedReply(tx, row); err != nil {
				return err
			}
			n.written = &row
		}
		if err := s.recordOrder(tx, n.message, n.existing != nil || n.written != nil, n.entry.Order); err != nil {
			return err
		}
		return s.finish(tx, group)
	})
}

// insert makes the rows of messages that were never seen, and notes which were new.
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

// finish writes down what has been decided beside the messages themselves, and lays down
// who has something new.
func (s *Store) finish(tx *gorm.DB, group []*recording) error {
	var changes []changeRow
	for _, n := range group {
		for _, c := range n.entry.Changes {
			changes = append(changes, changeRow{
				WorkflowID: c.Conversation.ID(), TS: c.TS, SentUS: micros(chat.Time(c.TS)), Kind: string(c.Kind),
				Revision: c.Revision, FollowUp: c.FollowUp, StoredUS: s.nowMicros(), OrderedBy: c.By, Trace: cmp.Or(c.Trace, n.trace),
			})
		}
	}
	made, err := insertNew(tx, changes, "workflow_id", "ts", "kind", "revision")
	if err != nil {
		return fmt.Errorf("add changes: %w", err)
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
				n.targets = append(n.targets, Target{c.Conversation, c.Kind == conversation.Addressed && c.Conversation.AnswersHere()})
			}
		}
	}
	return s.updateChannels(tx, group)
}
