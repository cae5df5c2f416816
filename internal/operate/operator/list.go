package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

const (
	// defaultLimit is Filter.Limit's default.
	defaultLimit = 50
	// queryConcurrency is how many conversations are queried at the same time.
	queryConcurrency = 8
	// queryTimeout is how long one of them may take to answer.
	queryTimeout = 3 * time.Second
	// queryLimit is how many are queried if the server cannot tell which ones match.
	queryLimit = 500
	// channelsInQuery is how many channels a query may name.
	channelsInQuery = 100
	// pageSize is how many conversations Temporal lists per request.
	pageSize = 200
)

const (
	// Unknown is the phase of a conversation that did not answer.
	Unknown conversation.Phase = "unknown"
	// Paused is the phase of a conversation whose run somebody has paused in Temporal: it answers
	// no query.
	Paused conversation.Phase = "paused"
)

// phaseUnknown reports whether a conversation did not tell its phase.
func (l Listed) phaseUnknown() bool { return l.Phase == Unknown || l.Phase == Paused }

// Listed is a conversation's current state, as listed.
type Listed struct {
	Conversation chat.Conversation  `json:"conversation"`
	ID           string             `json:"workflow_id"`
	Name         string             `json:"channel_name,omitempty"`
	Phase        conversation.Phase `json:"phase"`
	// DueAt is when the wait or the delay ends.
	DueAt time.Time `json:"due_at,omitzero"`
	// Since is when the phase began, or the run if that is unknown.
	Since time.Time `json:"since,omitzero"`
	// Pending is how many messages await a judgment or an answer; nil if unknown.
	Pending *int `json:"pending,omitempty"`
	Running bool `json:"running"`
	// Silenced is the end of a mute or snooze of the conversation or its channel.
	Silenced time.Time `json:"silenced_until,omitzero"`
}

// Filter selects conversations; the zero value selects all that run.
type Filter struct {
	Team    string
	Channel string // id
	// Channels are the ids of the channels that count; nil: all.
	Channels []string
	Phases   []conversation.Phase
	// Limit is how many are returned at most; 0 means 50.
	Limit int
}

// Conversations is the running conversations, in the order in which they are due; those with
// nothing due come last. Beyond the limit, idle ones are left out first, as far as the server can
// tell. A conversation that does not answer has the phase Unknown or Paused, and is included
// whatever phases are wanted. An empty result for some phases is confirmed by at least one
// conversation that answered.
func (o *Operator) Conversations(ctx context.Context, f Filter) ([]Listed, error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	if f.Channels != nil && len(f.Channels) == 0 {
		return nil, nil
	}
	all, err := o.running(ctx, f)
	if err != nil {
		return nil, o.classify(ctx, err)
	}
	asked := 0
	if len(all) == 0 && len(f.Phases) > 0 {
		// The server knows phases from the worker, and nothing about what came since a worker last
		// ran.
		if all, err = o.running(ctx, Filter{Team: f.Team, Channel: f.Channel, Channels: f.Channels,
			Limit: f.Limit}); err != nil {
			return nil, o.classify(ctx, err)
		}
		asked = min(1, len(all))
		o.queryAll(ctx, all[:asked])
		// If one answers, a worker runs, and the server's phases are right for the others.
		if asked > 0 && !all[0].phaseUnknown() {
			all = all[:asked]
		}
	}
	if err := o.describe(ctx, all); err != nil {
		return nil, err
	}
	o.queryAll(ctx, all[asked:])
	if len(f.Phases) > 0 {
		all = slices.DeleteFunc(all, func(l Listed) bool {
			return !l.phaseUnknown() &&
				!slices.Contains(f.Phases, l.Phase)
		})
	}
	slices.SortStableFunc(all, byDue)
	return all[:min(f.Limit, len(all))], nil
}

func byDue(a, b Listed) int {
	if a.DueAt.IsZero() != b.DueAt.IsZero() {
		if a.DueAt.IsZero() {
			return 1
		}
		return -1
	}
	if d := a.DueAt.Compare(b.DueAt); d != 0 {
		return d
	}
	// A conversation at work has no due time, but comes before idle ones.
	if d := cmp.Compare(rank(a.Phase), rank(b.Phase)); d != 0 {
		return d
	}
	return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.ID, b.ID))
}

func rank(p conversation.Phase) int {
	switch p {
	case conversation.Idle:
		return 1
	case Unknown:
		return 2
	}
	return 0
}

// running is the conversations in Temporal's visibility store that may match.
func (o *Operator) running(ctx context.Context, f Filter) ([]Listed, error) {
	all, err := o.listByStatus(ctx, f, "Running")
	if err != nil {
		return nil, err
	}
	paused, err := o.listByStatus(ctx, f, "Paused")
	var unknown *serviceerror.InvalidArgument
	if errors.As(err, &unknown) {
		return all, nil // an older server, without pausing
	}
	for i := range paused {
		paused[i].Phase = Paused
	}
	return append(all, paused...), err
}

// listByStatus is running for one execution status.
func (o *Operator) listByStatus(ctx context.Context, f Filter, status string) ([]Listed, error) {
	where := ofStatus(status)
	if !o.Attributes() {
		return o.list(ctx, where, f, queryLimit)
	}
	// A conversation that began before the server knew the attributes has none.
	for name, value := range map[string]string{conversation.AttributeTeam: f.Team,
		conversation.AttributeChannel: f.Channel} {
		if value != "" {
			where += fmt.Sprintf(" AND (%s = %s OR %s IS NULL)", name, quoted(value), name)
		}
	}
	if n := len(f.Channels); n > 0 && n <= channelsInQuery { // with more of them, most of what is listed is wanted
		in := make([]string, n)
		for i, id := range f.Channels {
			in[i] = quoted(id)
		}
		where += fmt.Sprintf(" AND (%s IN (%s) OR %[1]s IS NULL)", conversation.AttributeChannel,
			strings.Join(in, ", "))
	}
	const unknown = conversation.AttributePhase + " IS NULL"
	idle := quoted(string(conversation.Idle))
	isIdle, isBusy := conversation.AttributePhase+" = "+idle, conversation.AttributePhase+" != "+idle
	if len(f.Phases) > 0 {
		shown, most := []string{unknown}, f.Limit
		for _, p := range f.Phases {
			if p.Lasts() {
				shown = append(shown, conversation.AttributePhase+" = "+quoted(string(p)))
			} else { // these are filtered further later
				shown, most = append(shown, isBusy), max(f.Limit, queryLimit)
			}
		}
		return o.list(ctx, where+" AND ("+strings.Join(shown, " OR ")+")", f, most)
	}
	busy, err := o.list(ctx, where+" AND ("+isBusy+" OR "+unknown+")", f, f.Limit)
	if err != nil || len(busy) >= f.Limit {
		return busy, err
	}
	rest, err := o.list(ctx, where+" AND "+isIdle, f, f.Limit-len(busy))
	return append(busy, rest...), err
}

// ofStatus is the query for the conversations with an execution status.
func ofStatus(status string) string {
	return "WorkflowType = " + quoted(conversation.WorkflowType) + " AND ExecutionStatus = " + quoted(status)
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// list is the first conversations that a visibility query finds.
func (o *Operator) list(ctx context.Context, query string, f Filter, most int) ([]Listed, error) {
	var found []Listed
	var page []byte
	wanted := make(map[string]bool, len(f.Channels))
	for _, id := range f.Channels {
		wanted[id] = true
	}
	for {
		r, err := o.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: query, PageSize: pageSize, NextPageToken: page,
		})
		if err != nil {
			return nil, fmt.Errorf("list conversations: %w", err)
		}
		for _, info := range r.GetExecutions() {
			id := info.GetExecution().GetWorkflowId()
			c, err := chat.ParseConversation(id)
			if err != nil || (f.Team != "" && c.Team != f.Team) || (f.Channel != "" && c.Channel != f.Channel) ||
				(f.Channels != nil && !wanted[c.Channel]) {
				continue
			}
			found = append(found, Listed{
				Conversation: c, ID: id, Phase: Unknown, Since: info.GetStartTime().AsTime(), Running: true,
			})
			if len(found) == most {
				return found, nil
			}
		}
		if page = r.GetNextPageToken(); len(page) == 0 {
			return found, nil
		}
	}
}

// describe adds what the database knows.
func (o *Operator) describe(ctx context.Context, all []Listed) error {
	channels := map[string][]string{} // by team
	var r store.SituationRequest
	for _, l := range all {
		c := l.Conversation
		channels[c.Team] = append(channels[c.Team], c.Channel)
		r.Conversations = append(r.Conversations, c)
	}
	known, err := o.Store.Situation(ctx, r)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Silenced = known.Silences.Until(all[i].Conversation)
	}
	for team, in := range channels {
		named, err := o.Store.Channels(ctx, team, in)
		if err != nil {
			return err
		}
		for i := range all {
			if l := &all[i]; l.Conversation.Team == team {
				l.Name = named[l.Conversation.Channel].Name
			}
		}
	}
	return nil
}

// queryAll queries conversations for their states. One that does not answer stays as it is.
func (o *Operator) queryAll(ctx context.Context, all []Listed) {
	var group errgroup.Group
	group.SetLimit(queryConcurrency)
	for i := range all {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, queryTimeout)
			defer cancel()
			if s, err := o.Query(ctx, all[i].Conversation); err == nil {
				all[i].Phase, all[i].DueAt, all[i].Since = s.Phase, s.DueAt, s.Since
				all[i].Pending = new(s.Unanswered())
			}
			return nil
		})
	}
	_ = group.Wait() // none returns an error
}
