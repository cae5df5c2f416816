package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

const (
	// defaultLimit is Options.Limit's default.
	defaultLimit = 50
	// maxRows limits what is read of each kind. What people look at is far shorter.
	maxRows = 5000
)

// Read reads the timeline of a conversation. With Options.MessageTS it finds the message's own
// conversation, anywhere in the channel; if a thread hangs on the message, the timeline is the
// whole thread's. A thread's timeline includes what happened to its parent at the channel's top
// level. A message that the bot has never heard of is store.ErrNotFound.
func Read(ctx context.Context, s *store.Store, c chat.Conversation, o Options) (Timeline, error) {
	r := rows{conversation: c, options: o}
	if err := r.read(ctx, s); err != nil {
		return Timeline{}, fmt.Errorf("read timeline of %s: %w", c.ID(), err)
	}
	return r.timeline(), nil
}

// rows is what the database has for a timeline.
type rows struct {
	conversation chat.Conversation
	options      Options
	channel      store.Channel
	earlier      bool
	messages     []store.StoredMessage
	changes      []store.RecordedChange
	decisions    []store.Decision
	parts        []store.Part
	calls        []store.Call
	steps        []store.StepFigures
	proposals    []store.Proposal
	promises     []store.Promise
	votes        []store.Vote
	labels       []store.Label
	opinions     []store.Opinion
	orders       []store.Order
	mutes        []store.Order // of the whole workspace, with their ends, the oldest first
	users        map[string]store.User
}

func (r *rows) read(ctx context.Context, s *store.Store) (err error) {
	team, channel := r.conversation.Team, r.conversation.Channel
	known, err := s.Channels(ctx, team, []string{channel})
	if err != nil {
		return err
	}
	r.channel = known[channel]
	if r.options.MessageTS != "" {
		if err := r.locate(ctx, s); err != nil {
			return err
		}
	}
	from, err := r.readMessages(ctx, s)
	if err != nil {
		return err
	}
	ids := r.conversations()
	if r.changes, err = s.ChangesSince(ctx, ids, from, maxRows); err != nil {
		return err
	}
	if r.decisions, err = s.DecisionsSince(ctx, ids, from, maxRows); err != nil {
		return err
	}
	if r.orders, err = s.Orders(ctx, team, channel, from, maxRows); err != nil {
		return err
	}
	if r.mutes, err = s.MutesEverywhere(ctx, team, from, maxRows); err != nil {
		return err
	}
	if len(r.mutes) > 0 && r.mutes[0].Kind == conversation.UpdateUnmute && r.mutes[0].At.Before(from) {
		r.mutes = r.mutes[1:] // it tells nothing about what came later
	}
	r.restrict()
	if err := r.readParent(ctx, s); err != nil {
		return err
	}
	if err := r.readAbsent(ctx, s); err != nil {
		return err
	}
	var keys, users []string
	for _, d := range r.decisions {
		keys = append(keys, d.Key)
	}
	if r.parts, err = s.PartsOf(ctx, keys); err != nil {
		return err
	}
	if r.calls, err = s.CallsFor(ctx, keys); err != nil {
		return err
	}
	if r.steps, err = s.StepsFor(ctx, keys); err != nil {
		return err
	}
	if r.proposals, err = s.ProposalsFor(ctx, keys); err != nil {
		return err
	}
	if err := r.readPromises(ctx, s, keys); err != nil {
		return err
	}
	if r.votes, err = s.Feedback(ctx, keys); err != nil {
		return err
	}
	if r.labels, err = s.LabelsOf(ctx, keys); err != nil {
		return err
	}
	if r.opinions, err = s.OpinionsOf(ctx, keys); err != nil {
		return err
	}
	for _, m := range r.messages {
		users = append(users, m.UserID)
	}
	for _, p := range r.promises {
		users = append(users, p.Asker)
	}
	slices.Sort(users)
	r.users, err = s.Users(ctx, team, slices.Compact(users))
	return err
}

// readPromises reads the promises that the decisions made, and those that they are about.
func (r *rows) readPromises(ctx context.Context, s *store.Store, decisions []string) (err error) {
	if r.promises, err = s.PromisesOf(ctx, decisions...); err != nil {
		return err
	}
	var ids []string
	for _, d := range r.decisions {
		if id, _, ok := keptPromise(d); ok && r.promise(id) == nil {
			ids = append(ids, id)
		}
	}
	kept, err := s.PromisesFor(ctx, ids)
	r.promises = append(r.promises, kept...)
	return err
}

// locate finds the conversation of the message in Options.MessageTS.
func (r *rows) locate(ctx context.Context, s *store.Store) error {
	ts := r.options.MessageTS
	thread := chat.Conversation{Team: r.conversation.Team, Channel: r.conversation.Channel, Thread: ts}
	known, err := s.MessagesByTS(ctx, thread.Team, thread.Channel, []string{ts})
	if err != nil {
		return err
	}
	if len(known) > 0 && known[0].ThreadTS != "" {
		r.conversation.Thread = known[0].ThreadTS
		return nil
	}
	replies, err := s.MessagesSince(ctx, thread, time.Time{}, 1)
	if err != nil {
		return err
	}
	changes, err := s.ChangesSince(ctx, []string{thread.ID()}, chat.Time(ts), 1)
	switch {
	case err != nil:
		return err
	case len(replies)+len(changes) > 0:
		r.conversation, r.options.MessageTS = thread, ""
	case len(known) == 0:
		return fmt.Errorf("the bot has never seen message %s in %s: %w", ts, thread.Channel, store.ErrNotFound)
	default:
		r.conversation.Thread = ""
	}
	return nil
}

// readMessages reads the messages, and returns since when everything else is to be read.
func (r *rows) readMessages(ctx context.Context, s *store.Store) (from time.Time, err error) {
	c, o := r.conversation, r.options
	if o.MessageTS != "" {
		r.messages, err = s.MessagesByTS(ctx, c.Team, c.Channel, []string{o.MessageTS})
		return chat.Time(o.MessageTS), err
	}
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	read := s.MessagesSince
	if o.Threads && c.TopLevel() {
		read = s.ChannelMessagesSince
	}
	if r.messages, err = read(ctx, c, o.Since, limit); err != nil {
		return time.Time{}, err
	}
	from = o.Since
	if r.earlier = len(r.messages) == limit; r.earlier {
		from = r.messages[0].Time()
	}
	if c.TopLevel() {
		return from, nil
	}
	parent, err := s.MessagesByTS(ctx, c.Team, c.Channel, []string{c.Thread})
	if err == nil && !r.earlier && o.Since.IsZero() {
		from = chat.Time(c.Thread)
	}
	r.messages = append(parent, r.messages...)
	return from, err
}

// conversations is the ids of the conversations in the timeline.
func (r *rows) conversations() []string {
	c := r.conversation
	ids := []string{c.ID()}
	add := func(thread string) {
		if id := (chat.Conversation{Team: c.Team, Channel: c.Channel, Thread: thread}).ID(); thread != "" &&
			!slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if r.options.Threads && c.TopLevel() {
		for _, m := range r.messages {
			add(cmp.Or(m.ThreadTS, m.TS))
		}
	}
	return ids
}

// readParent reads what happened to a thread's parent, here and at the channel's top level. The top
// level may have too much since then to read all of it.
func (r *rows) readParent(ctx context.Context, s *store.Store) error {
	c := r.conversation
	if c.TopLevel() || r.options.MessageTS != "" {
		return nil
	}
	changes, decisions, err := s.ChangesAndDecisions(ctx, []string{c.Top().ID(), c.ID()}, c.Thread)
	if err != nil {
		return err
	}
	r.changes = append(changes, slices.DeleteFunc(r.changes,
		func(p store.RecordedChange) bool { return p.TS == c.Thread })...)
	r.decisions = append(decisions,
		slices.DeleteFunc(r.decisions, func(d store.Decision) bool { return d.TriggerTS == c.Thread })...)
	return nil
}

// restrict removes orders for other threads.
func (r *rows) restrict() {
	c := r.conversation
	r.orders = slices.DeleteFunc(r.orders, func(o store.Order) bool {
		return o.Scope.Thread != "" && o.Scope.Thread != c.Thread && !(r.options.Threads && c.TopLevel())
	})
}

// readAbsent reads messages that were not found by their time although something happened to them:
// deleted ones.
func (r *rows) readAbsent(ctx context.Context, s *store.Store) error {
	if r.options.MessageTS != "" {
		return nil
	}
	there := map[string]bool{}
	for _, m := range r.messages {
		there[m.TS] = true
	}
	var absent []string
	add := func(ts string) {
		if !there[ts] {
			there[ts] = true
			absent = append(absent, ts)
		}
	}
	for _, p := range r.changes {
		add(p.TS)
	}
	for _, d := range r.decisions {
		add(d.TriggerTS)
	}
	more, err := s.MessagesByTS(ctx, r.conversation.Team, r.conversation.Channel, absent)
	if err != nil {
		return err
	}
	r.messages = append(r.messages, more...)
	slices.SortStableFunc(r.messages, func(a, b store.StoredMessage) int {
		return cmp.Or(a.Time().Compare(b.Time()), strings.Compare(a.TS, b.TS))
	})
	return nil
}
