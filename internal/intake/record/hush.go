package record

import (
	"context"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Hush commits that a user wants no answer to a message, which is given by its Team, Channel
// and TS. It returns the conversations that have something new to be relayed, and what became
// of it, for the log.
func (r *Recorder) Hush(
	ctx context.Context, m chat.Message, user string,
) (targets []store.Target, outcome string, err error) {
	mode := r.Directory.Settings(ctx, m.Team, m.Channel).Mode
	targets, err = r.Store.Record(ctx, m, func(known store.Known) (entry store.Entry) {
		entry, outcome = hush(m, known, mode, orderedBy(user))
		return entry
	})
	return targets, outcome, err
}

// hush decides what to store once somebody wants no answer to a message: the order, and a
// change for each conversation in which the message may wait. A message whose own event has
// not come yet waits nowhere; that event will find the order (store.Known.Hushed).
func hush(m chat.Message, known store.Known, mode config.Mode, by string) (entry store.Entry, outcome string) {
	stored := known.Message
	switch {
	case stored == nil || !known.Handled:
		return store.Entry{Order: store.Hush(m, by)}, "kept until the message comes"
	case stored.Own || stored.Deleted:
		return store.Entry{}, "nothing waits for such a message"
	}
	entry.Order = store.Hush(*stored, by)
	if !hears(mode, known.Addressed) {
		return entry, "nothing waits where the mode is " + string(mode)
	}
	for _, c := range Conversations(*stored, known.Addressed) {
		entry.Changes = append(entry.Changes, hushed(c, *stored, by))
	}
	return entry, "passed on"
}

// hushed is the change for one conversation. It carries the revision, so that a message that
// asks again after an edit can be hushed again.
func hushed(c chat.Conversation, m chat.Message, by string) store.Change {
	return store.Change{Conversation: c, Change: conversation.Change{TS: m.TS, Kind: conversation.Hushed,
		Revision: m.Revision, By: by}}
}

// orderedBy names a Slack user as the author of an order.
func orderedBy(user string) string { return "slack:" + user }
