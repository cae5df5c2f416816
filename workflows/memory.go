package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/chat"
	"myao/internal/conversation"
)

// MemoryInput is the input of Memory. The zero time means: as of now.
type MemoryInput struct {
	Of
	// At is the cut-off time of the memories, the same for all parts of a run.
	At time.Time `json:"at"`
	// Channels is set once the threads are done. After is the scope to continue after.
	Channels bool       `json:"channels,omitempty"`
	After    chat.Scope `json:"after"`
	// MaxConcurrent is how many scopes are summarised at a time: conversations need the model's rate limit, too. Less
	// than 1 is 1.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
	// Done sums up the earlier parts of the run.
	Done MemoryOutput `json:"done"`
}

// MemoryOutput counts scopes.
type MemoryOutput struct {
	Threads   int  `json:"threads"`  // with a new memory
	Channels  int  `json:"channels"` // with a new memory
	Workspace bool `json:"workspace"`
	// Failed counts the scopes that failed; the next run tries them again.
	Failed int `json:"failed,omitempty"`
	Calls  int `json:"calls"` // model calls
}

// Memory updates the memories of all scopes with something new: threads, then channels, then
// the workspace. A restarted run finds only what is left to do. A scope that fails stops no
// other.
func Memory(ctx workflow.Context, in MemoryInput) (MemoryOutput, error) {
	if in.At.IsZero() {
		in.At = workflow.Now(ctx).UTC()
	}
	m := &memory{ctx: ctx, in: in}
	return m.run()
}

type memory struct {
	ctx  workflow.Context
	in   MemoryInput
	team string
}

func (m *memory) run() (MemoryOutput, error) {
	for {
		next, err := m.part()
		if err != nil {
			return m.in.Done, err
		}
		switch {
		case next != nil:
			m.in.After = *next
		case !m.in.Channels:
			m.in.Channels, m.in.After = true, chat.Scope{}
		default:
			m.remember(m.ctx, chat.Scope{Team: m.team})
			return m.in.Done, m.ctx.Err()
		}
		if shouldContinueAsNew(m.ctx) {
			return m.in.Done, continueAsNew(m.ctx, Memory, m.in)
		}
	}
}

// part updates the next scopes of one kind and returns the scope to continue after, or nil.
func (m *memory) part() (next *chat.Scope, err error) {
	kind := "threads"
	if m.in.Channels {
		kind = "channels"
	}
	in := activities.FindScopesInput{Of: m.in.Of, Threads: !m.in.Channels, At: m.in.At, After: m.in.After}
	var found activities.FindScopesOutput
	if err := workflow.ExecuteActivity(background(m.ctx, time.Minute, "find what is new in "+kind), do.FindScopes, in).
		Get(m.ctx, &found); err != nil {
		return nil, err
	}
	m.team = found.Team
	workflow.SetCurrentDetails(m.ctx,
		fmt.Sprintf("%d %s to remember in this part; so far %d threads, %d channels, %d failed",
			len(found.Scopes), kind, m.in.Done.Threads, m.in.Done.Channels, m.in.Done.Failed))
	return found.Next, forEach(m.ctx, found.Scopes, max(m.in.MaxConcurrent, 1), m.remember)
}

func (m *memory) remember(ctx workflow.Context, s chat.Scope) {
	var out activities.RememberOutput
	in := activities.RememberInput{Scope: s, At: m.in.At}
	ctx = workflow.WithTaskQueue(background(ctx, 5*time.Minute, "remember "+s.String()), conversation.ModelTaskQueue)
	err := workflow.ExecuteActivity(ctx, do.Remember, in).Get(ctx, &out)
	m.in.Done.Calls += out.Calls
	switch {
	case err != nil:
		workflow.GetLogger(ctx).Error("not remembered", "scope", s.String(), "error", err)
		m.in.Done.Failed++
	case !out.Changed:
	case s.Workspace():
		m.in.Done.Workspace = true
	case s.Thread != "":
		m.in.Done.Threads++
	default:
		m.in.Done.Channels++
	}
}
