package activities

import (
	"context"
	"encoding/json"

	"myao/internal/conversation"
	"myao/internal/language/words"
	"myao/internal/slack/threadstatus"
	"myao/internal/store"
)

// Statuses are what is shown in a thread while somebody waits there for an answer. A status is set beside
// the work by each activity that does some, and stays until the next one's, or until the reply is posted.
type Statuses struct {
	Board *threadstatus.Board
	// Servers are the MCP servers whose names may be shown.
	Servers []string
}

// waits reports whether somebody waits for the reply in a thread, where Slack can show a status.
func (a *Activities) waits(t Task, addressed bool) bool {
	return a.Statuses.Board != nil && addressed && !t.hasOccasion() && !t.Conversation.TopLevel()
}

func (t Task) thread() threadstatus.Place {
	return threadstatus.Place{Channel: t.Conversation.Channel, Thread: t.Conversation.Thread}
}

// showThinking shows that a model writes the reply.
func (a *Activities) showThinking(in ComposeInput) {
	if a.waits(in.Task, in.Addressed) {
		a.Statuses.Board.Show(in.thread(), in.decisionKey(), threadstatus.Thinking(words.In(a.Language)))
	}
}

// composed ends the status of a compose activity: it stays where the reply goes on.
func (a *Activities) composed(ctx context.Context, in ComposeInput, result conversation.Result, err error) {
	if !a.waits(in.Task, in.Addressed) {
		return
	}
	switch board, goesOn := a.Statuses.Board, err == nil && ctx.Err() == nil; {
	case goesOn && result == conversation.Looking:
		board.Leave(in.thread(), in.decisionKey())
	case goesOn && result == conversation.Done:
		board.Posting(in.thread(), in.decisionKey())
	default:
		board.Clear(in.thread(), in.decisionKey(), in.Round > 0)
	}
}

// showStep shows what a step does, until the next status of the reply, or until it is cancelled.
func (a *Activities) showStep(ctx context.Context, in LookInput, st store.Step) (end func()) {
	if !a.waits(in.Task, in.Addressed) {
		return func() {}
	}
	place, owner := in.thread(), in.decisionKey()
	a.Statuses.Board.Show(place, owner, threadstatus.Using(words.In(a.Language), st.Tool, json.RawMessage(st.Input),
		a.Statuses.Servers))
	return func() {
		if ctx.Err() != nil {
			a.Statuses.Board.Clear(place, owner, true)
		} else {
			a.Statuses.Board.Leave(place, owner)
		}
	}
}

// notPosted takes away the status of a reply that has ended without a post.
func (a *Activities) notPosted(t Task, addressed bool) {
	if a.waits(t, addressed) {
		a.Statuses.Board.Clear(t.thread(), t.decisionKey(), true)
	}
}
