package mind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/store"
)

// ChangedScopes is the scopes of one kind, threads or channels, that have something new, after
// a scope in order, at most limit.
func (m *Mind) ChangedScopes(ctx context.Context, threads bool, at time.Time, after chat.Scope, limit int) ([]chat.Scope, error) {
	own, err := m.Slack.Identity(ctx)
	if err != nil {
		return nil, err
	}
	if threads {
		return m.Store.ChangedThreads(ctx, own.TeamID, m.windowStart(at), at.Add(-m.Recall.ThreadMemory), after, limit)
	}
	return m.Store.ChangedChannels(ctx, own.TeamID, m.windowStart(at), after, limit)
}

// windowStart is the beginning of what short-term memory holds.
func (m *Mind) windowStart(at time.Time) time.Time { return at.Add(-m.Memory.ShortTermWindow()) }

// RememberResult says what Remember did.
type RememberResult struct {
	// Calls is how many times a model was asked: 0 where nothing was new.
	Calls int
	// Changed is set if the memory is another one now.
	Changed bool
}

// Remember makes the memories of a scope anew, as of a time, if anything in it has
// changed since they were made. What a model has answered is kept as a draft at
// once, so that who tries again after a crash does not pay for it again; all of it
// comes into force together, in the end.
//
// What a model refuses for good is left out of the memory: else one message would keep the
// scope from being remembered ever again. What has nothing to do with what was said, an
// outage or a wrong key, ends the attempt, and all is new to the next one.
//
// attempt is 1 for the caller's first attempt: where no decision is at stake, calls are not
// counted by one, and too many empty answers are told by their attempt.
//
// The scope is looked at before it is read: what is stored in between is read, and
// read again the next time, and never missed.
func (m *Mind) Remember(ctx context.Context, s chat.Scope, at time.Time, attempt int) (RememberResult, error) {
	at = at.UTC().Truncate(time.Microsecond) // as the database keeps it
	standing, err := m.Store.CurrentMemory(ctx, s)
	if err != nil {
		return RememberResult{}, err
	}
	if standing.Known {
		now, err := m.Store.CurrentCursor(ctx, s, standing.Cursor.Since)
		if err != nil || now == standing.Cursor {
			return RememberResult{}, err
		}
	}
	since, err := m.changesSince(ctx, s, at)
	if err != nil {
		return RememberResult{}, err
	}
	read := m.Clock()
	cursor, err := m.Store.CurrentCursor(ctx, s, since)
	if err != nil {
		return RememberResult{}, err
	}
	if !cursor.Ordered.Equal(standing.Cursor.Ordered) {
		return RememberResult{}, fmt.Errorf("remember %s: %w", s, store.ErrOverruled) // what stands may just have been forgotten
	}
	p, err := m.plan(ctx, s, standing, at)
	if err != nil {
		return RememberResult{}, err
	}
	var made RememberResult
	for _, q := range p.questions {
		asked, err := m.draft(ctx, s, q, cursor, attempt)
		made.Calls += asked
		var refused *llm.Error
		switch {
		case errors.As(err, &refused) && refused.Refused():
			p.refused = append(p.refused, refusal{q, refused})
		case err != nil:
			return made, fmt.Errorf("remember %s, %s term: %w", s, q.Term, err)
		}
	}
	for _, r := range p.refused {
		// Where nothing is answered it may be a setting that the model will not have.
		if !errors.Is(r.err, llm.ErrBlocked) && len(p.refused) == len(p.questions) {
			return made, fmt.Errorf("remember %s, %s term: %w", s, r.Term, r.err)
		}
	}
	now := store.MemoryUpdate{Scope: s, Long: p.fate(chat.LongTerm), Short: p.fate(chat.ShortTerm), Cursor: cursor, Read: read}
	if err := m.Store.SaveMemories(ctx, now); err != nil {
		return made, err
	}
	for _, r := range p.refused {
		m.Logger.WarnContext(ctx, "the model refuses what is new, and it is left out of the "+string(r.Term)+"-term memory", "scope", s.String(),
			"sources", len(r.shown), "first", r.shown[0], "last", r.shown[len(r.shown)-1], "error", r.err.Brief())
	}
	made.Changed = now.Long != store.KeepMemory || now.Short != store.KeepMemory
	return made, nil
}

// refusal is a question that a model refuses for good.
type refusal struct {
	MemoryQuestion
	err *llm.Error
}

// changesSince is from when on the next run shall look for what is new in a scope: from the
// beginning of the window, or from earlier on where Slack's history has not been read
// so far, since what is stored late may be older than the window by then.
func (m *Mind) changesSince(ctx context.Context, s chat.Scope, at time.Time) (time.Time, error) {
	since := m.windowStart(at)
	if s.Workspace() || s.Thread != "" {
		return since, nil
	}
	known, err := m.Store.Channels(ctx, s.Team, []string{s.Channel})
	if err != nil {
		return time.Time{}, err
	}
	for _, mark := range []string{known[s.Channel].CaughtUpTo, known[s.Channel].ThreadsCaughtUpTo} {
		if mark != "" {
			since = earlier(since, chat.Time(mark))
		}
	}
	return since, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// draft has a memory written, unless that was done before a crash.
func (m *Mind) draft(ctx context.Context, s chat.Scope, q MemoryQuestion, cursor store.Cursor, attempt int) (asked int, err error) {
	if _, err := m.Store.Draft(ctx, s, q.Term, cursor); !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	began := m.Clock()
	answer, err := m.askWithTokens(ctx, q.Question)
	text, err := summary(answer.Text, err, m.maxTokens(q.Term))
	if errors.Is(err, llm.ErrEmpty) && attempt >= maxEmptyAnswers {
		err = &FinalError{err}
	}
	if err != nil {
		return 1, err
	}
	made := m.Clock()
	return 1, m.Store.SaveDraft(ctx, store.Memory{
		Scope: s, Term: q.Term, Text: text, Origin: "model", Model: answer.Model,
		TokensIn: answer.Usage.Input, TokensOut: answer.Usage.Output, Latency: made.Sub(began), Sources: q.Sources, Made: made,
	}, cursor)
}

func (m *Mind) maxTokens(t chat.Term) int {
	if t == chat.LongTerm {
		return m.Memory.LongTermSummaryMaxTokens
	}
	return m.Memory.ShortTermSummaryMaxTokens
}
