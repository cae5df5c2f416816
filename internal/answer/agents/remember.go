package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/store"
)

// ChangedScopes returns threads, or else channels, that have something new: at most limit, in
// order, those after the given scope.
func (ag *Agents) ChangedScopes(ctx context.Context, threads bool, at time.Time, after chat.Scope,
	limit int) ([]chat.Scope, error) {
	if threads {
		return ag.Store.ChangedThreads(ctx, ag.Own.TeamID, ag.windowStart(at), at.Add(-ag.Recall.ThreadMemory), after,
			limit)
	}
	return ag.Store.ChangedChannels(ctx, ag.Own.TeamID, ag.windowStart(at), after, limit)
}

// windowStart is the time from which on short-term memory holds messages.
func (ag *Agents) windowStart(at time.Time) time.Time { return at.Add(-ag.Memory.ShortTermWindow()) }

// RememberResult says what Remember did.
type RememberResult struct {
	// Calls counts the questions to a model: 0 if nothing was new.
	Calls int
	// Changed is set if a memory has changed.
	Changed bool
}

// Remember renews the memories of a scope as of a time, if anything in it has changed. It saves
// each answer as a draft at once, so that an attempt after a crash does not pay again. In the
// end all drafts come into force together.
//
// Remember leaves out what the model refuses for good. Otherwise one message would block
// the scope for ever. Any other failure, such as an outage or a wrong key, ends the attempt,
// and the next one starts from the same cursor.
//
// attempt is 1 for the caller's first attempt. It bounds the empty answers, because there is
// no decision to count calls for.
//
// The cursor is taken before the messages are read. What is stored in between is read twice,
// and never missed.
func (ag *Agents) Remember(ctx context.Context, s chat.Scope, at time.Time, attempt int) (RememberResult, error) {
	at = at.UTC().Truncate(time.Microsecond) // the precision of the database
	current, err := ag.Store.CurrentMemory(ctx, s)
	if err != nil {
		return RememberResult{}, err
	}
	if current.Known {
		cursor, err := ag.Store.CurrentCursor(ctx, s, current.Cursor.Since)
		if err != nil || cursor == current.Cursor {
			return RememberResult{}, err
		}
	}
	since, err := ag.changesSince(ctx, s, at)
	if err != nil {
		return RememberResult{}, err
	}
	read := ag.Clock()
	cursor, err := ag.Store.CurrentCursor(ctx, s, since)
	if err != nil {
		return RememberResult{}, err
	}
	if !cursor.Ordered.Equal(current.Cursor.Ordered) {
		// the memory may just have been forgotten
		return RememberResult{}, fmt.Errorf("remember %s: %w", s, store.ErrOverruled)
	}
	p, err := ag.plan(ctx, s, current, at)
	if err != nil {
		return RememberResult{}, err
	}
	var result RememberResult
	for _, q := range p.questions {
		asked, err := ag.draft(ctx, s, q, cursor, attempt)
		result.Calls += asked
		var refused *llm.Error
		switch {
		case errors.As(err, &refused) && refused.Refused():
			p.refused = append(p.refused, refusal{q, refused})
		case err != nil:
			return result, fmt.Errorf("remember %s, %s term: %w", s, q.Term, err)
		}
	}
	for _, r := range p.refused {
		// If it answered nothing, it may be a setting that the model refuses.
		if !errors.Is(r.err, llm.ErrBlocked) && len(p.refused) == len(p.questions) {
			return result, fmt.Errorf("remember %s, %s term: %w", s, r.Term, r.err)
		}
	}
	update := store.MemoryUpdate{Scope: s, Long: p.action(chat.LongTerm), Short: p.action(chat.ShortTerm),
		Cursor: cursor, Read: read}
	if err := ag.Store.SaveMemories(ctx, update); err != nil {
		return result, err
	}
	for _, r := range p.refused {
		ag.Logger.WarnContext(ctx, "the model refuses new messages; left out of the "+string(r.Term)+"-term memory",
			"scope", s.String(),
			"sources", len(r.shown), "first", r.shown[0], "last", r.shown[len(r.shown)-1], "error", r.err.Brief())
	}
	result.Changed = update.Long != store.KeepMemory || update.Short != store.KeepMemory
	return result, nil
}

// refusal is a question that the model refuses for good.
type refusal struct {
	MemoryQuestion
	err *llm.Error
}

// changesSince is the time from which on the next run looks for changes: the start of the window,
// or earlier if Slack's history has not been read up to there. What is read late may be
// older than the window by then.
func (ag *Agents) changesSince(ctx context.Context, s chat.Scope, at time.Time) (time.Time, error) {
	since := ag.windowStart(at)
	if s.Workspace() || s.Thread != "" {
		return since, nil
	}
	known, err := ag.Store.Channels(ctx, s.Team, []string{s.Channel})
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

// draft asks for a memory and saves it as a draft, unless an attempt before a crash has done so.
func (ag *Agents) draft(ctx context.Context, s chat.Scope, q MemoryQuestion, cursor store.Cursor,
	attempt int) (asked int, err error) {
	if _, err := ag.Store.Draft(ctx, s, q.Term, cursor); !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	_, answer, err := ag.askEither(ctx, q.Question, ag.askWithTokens)
	text, err := summary(answer.Text, err, ag.maxTokens(q.Term))
	if errors.Is(err, llm.ErrEmpty) && attempt >= maxEmptyAnswers {
		err = &FinalError{err}
	}
	if err != nil {
		return 1, err
	}
	made := ag.Clock()
	return 1, ag.Store.SaveDraft(ctx, store.Memory{
		Scope: s, Term: q.Term, Text: text, Origin: "model", Model: answer.Model,
		TokensOut: answer.Usage.Output, Sources: q.Sources, Made: made,
	}, cursor)
}

func (ag *Agents) maxTokens(t chat.Term) int {
	if t == chat.LongTerm {
		return ag.Memory.LongTermSummaryMaxTokens
	}
	return ag.Memory.ShortTermSummaryMaxTokens
}
