package timeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Undecided is a message whose conversation was told of it, and has not come to an end with it.
type Undecided struct {
	Message Message
	// Told are the workflow ids of the conversations that were told.
	Told []string
	// Pending are the keys of the decisions about it that never came to an end.
	Pending []string
}

// ErrTooMuch is returned where more has happened than is read.
var ErrTooMuch = errors.New("too much has happened since then to be read at once")

// ReadUndecided returns the messages of people since Options.Since about which nothing was decided, or a
// decision is pending, in order of time: of a thread, or of a channel with its threads. Of other options,
// Text and LedgerSince count. A conversation that runs may still be about to decide. Where more than
// some thousand messages, changes or decisions are to be read, it returns ErrTooMuch.
func ReadUndecided(ctx context.Context, s *store.Store, c chat.Conversation, o Options) ([]Undecided, error) {
	r := rows{conversation: c, options: Options{Since: o.Since, LedgerSince: o.LedgerSince, Text: o.Text, Threads: true,
		Limit: maxRows}}
	if err := r.read(ctx, s); err != nil {
		return nil, fmt.Errorf("read undecided messages of %s: %w", c.ID(), err)
	}
	if max(len(r.messages), len(r.changes), len(r.decisions), len(r.orders)) >= maxRows {
		return nil, ErrTooMuch
	}
	return r.undecided(), nil
}

func (r rows) undecided() (open []Undecided) {
	for _, m := range r.messages {
		if m.Own || m.ByBot() || m.Deleted || m.Time().Before(r.options.Since.Truncate(time.Microsecond)) {
			continue
		}
		message, told := r.message(m), []string{m.Conversation().ID()}
		if thread := (chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.TS}).ID(); m.ThreadTS == "" &&
			r.told(thread, m.TS) {
			m.ThreadTS, told = m.TS, append(told, thread) // it is answered there
		}
		why := r.explain(m)
		if c := r.conversation; !c.TopLevel() && m.ThreadTS != c.Thread || !why.open {
			continue
		}
		u := Undecided{Message: message, Told: told}
		for _, d := range why.decisions {
			if d.Outcome == conversation.Pending {
				u.Pending = append(u.Pending, d.Key)
			}
		}
		open = append(open, u)
	}
	return open
}

// told reports whether a conversation was told that a message addresses the bot.
func (r rows) told(workflowID, ts string) bool {
	for _, p := range r.changes {
		if p.WorkflowID == workflowID && p.TS == ts && p.Kind == conversation.Addressed {
			return true
		}
	}
	return false
}
