package activities

import (
	"context"
	"errors"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/choice"
	"myao/internal/store"
)

// subject is what the occasion of a reply is about: a promise that is kept, or an approved call that has ended. Both
// are nil for a reply to messages, and where the row was forgotten.
type subject struct {
	promise *store.Promise
	events  []store.HookEvent // that the promise waited for
	call    *store.Proposal
}

func (a *Activities) subjectOf(ctx context.Context, o conversation.Occasion) (s subject, err error) {
	switch {
	case o.Promise != "":
		if s.promise, err = unlessForgotten(a.Store.Promise(ctx, o.Promise)); s.promise != nil && err == nil {
			s.events, err = a.Store.HookEvents(ctx, *s.promise, maxEventChars)
		}
	case o.Step != "":
		s.call, err = unlessForgotten(a.Store.Proposal(ctx, o.Step))
	}
	return s, err
}

// unlessForgotten is a row that was read; nil where there is none.
func unlessForgotten[T any](row T, err error) (*T, error) {
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// isNothing reports whether there is no subject.
func (s subject) isNothing() bool { return s.promise == nil && s.call == nil }

// isPost reports whether the subject is a message that was to be posted elsewhere. What came of it is told in words of
// our own: no model says that it was posted.
func (s subject) isPost() bool { return s.call != nil && s.call.Tool == chat.ToolPostMessage }

// asker is the user id of whoever asked; "" if that is not known.
func (s subject) asker() string {
	switch {
	case s.promise != nil:
		return s.promise.Asker
	case s.call != nil:
		return s.call.Asker
	}
	return ""
}

// plainly says what a reply for an occasion is to say in words of our own.
func (a *Activities) plainly(s subject) string {
	if s.promise != nil {
		return choice.KeptText(a.words(), *s.promise,
			choice.PlainPromise(a.words(), *s.promise, a.promiseText(*s.promise)), a.Clock())
	}
	if s.isPost() {
		return a.postTold(*s.call)
	}
	switch s.call.State {
	case store.ProposalUnknown:
		return a.Agents.Prompts.Notice(prompt.ActedUnknown)
	case store.ProposalFailed:
		return a.Agents.Prompts.Notice(prompt.ActedFailed)
	}
	return a.Agents.Prompts.Notice(prompt.ActedDone)
}

// shownPromise is the promise as a prompt shows it; nil if the subject is none.
func (s subject) shownPromise(now time.Time) *prompt.Promise {
	if s.promise == nil {
		return nil
	}
	shown := shownPromise(*s.promise, s.events, now)
	return &shown
}

// shownCall is the call as a prompt shows it; nil if the subject is none.
func (s subject) shownCall() *prompt.Acted {
	if s.call == nil {
		return nil
	}
	p := s.call
	acted := prompt.Acted{LookedUp: prompt.LookedUp{Tool: p.Tool, Input: p.Input, Text: p.Output,
		Failed: p.State == store.ProposalFailed}, Unknown: p.State == store.ProposalUnknown}
	if acted.Text == "" && acted.Unknown {
		acted.Text = callUnknown
	}
	return &acted
}
