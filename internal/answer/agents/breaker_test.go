package agents

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"myao/internal/llm"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err   error
		tools bool
		want  outcome
	}{
		{nil, false, working},
		{&llm.Error{Kind: llm.ErrAuth, Status: 401}, true, broken},
		{&llm.Error{Kind: llm.ErrQuota}, false, broken},
		{&llm.Error{Kind: llm.ErrInvalid, Status: 404}, false, broken},
		{&llm.Error{Kind: llm.ErrInvalid, Status: 404}, true, unclear},
		{&llm.Error{Kind: llm.ErrInvalid, Status: 400}, false, unclear},
		{fmt.Errorf("ask: %w", &llm.Error{Kind: llm.ErrUnavailable, Status: 503}), false, failing},
		{&llm.Error{Kind: llm.ErrUnavailable, Err: context.DeadlineExceeded}, false, failing},
		{&llm.Error{Kind: llm.ErrUnavailable, Err: context.Canceled}, false, unclear},
		{&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: time.Minute}, false, failing},
		{&llm.Error{Kind: llm.ErrRateLimited, RetryAfter: time.Hour}, false, broken},
		{&llm.Error{Kind: llm.ErrEmpty}, false, failing},
		{&llm.Error{Kind: llm.ErrBlocked}, false, working},
		{&llm.Error{Kind: llm.ErrCut}, false, working},
		{errors.New("the database is gone"), false, unclear},
	} {
		if got := outcomeOf(tc.err, tc.tools); got != tc.want {
			t.Errorf("%v, tools %v: got %d, want %d", tc.err, tc.tools, got, tc.want)
		}
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	// An event at a second is a question that begins, under a name, or that ends.
	type event struct {
		at   int
		name string
		ends bool
		is   outcome
		// first is whether a question that begins is put to the first model, open is the breaker after the event.
		first, open bool
	}
	begin := func(at int, name string, first, open bool) event {
		return event{at: at, name: name, first: first, open: open}
	}
	end := func(at int, name string, is outcome, open bool) event {
		return event{at: at, name: name, ends: true, is: is, open: open}
	}
	for name, events := range map[string][]event{
		"broken, tried after a minute, and back": {
			begin(0, "a", true, false), end(1, "a", broken, true),
			begin(2, "b", false, true), begin(60, "b", false, true),
			begin(61, "c", true, true), begin(61, "d", false, true), end(62, "c", failing, true), // one at a time
			begin(121, "d", false, true), begin(122, "e", true, true), end(123, "e", working, false),
			begin(123, "f", true, false),
		},
		"failing for a minute": {
			begin(0, "a", true, false), end(1, "a", failing, false), begin(30, "b", true, false), end(31, "b", failing, false),
			begin(59, "c", true, false), end(59, "c", failing, false), begin(60, "d", true, false), end(60, "d", failing, true),
		},
		"an answer in between": {
			begin(0, "a", true, false), end(1, "a", failing, false), begin(30, "b", true, false), end(31, "b", working, false),
			begin(60, "c", true, false), end(61, "c", failing, false), begin(90, "d", true, false), end(90, "d", failing, false),
			begin(120, "e", true, false), end(120, "e", failing, true),
		},
		"rare failures": {
			begin(0, "a", true, false), end(1, "a", failing, false), begin(122, "b", true, false), end(122, "b", failing, false),
			begin(242, "c", true, false), end(242, "c", failing, true),
		},
		"a call that hangs": {begin(0, "a", true, false), end(110, "a", failing, true)},
		"a call that hangs while others are answered": {
			begin(0, "a", true, false), begin(100, "b", true, false), end(101, "b", working, false), end(110, "a", failing, false),
			begin(160, "c", true, false), end(161, "c", failing, true),
		},
		"a trial that says nothing": {
			begin(0, "a", true, false), end(0, "a", broken, true), begin(60, "b", true, true), end(61, "b", unclear, true),
			begin(61, "c", true, true), end(62, "c", working, false),
		},
		"a failure of before the trial": {
			begin(0, "a", true, false), begin(0, "b", true, false), end(0, "a", broken, true), begin(60, "c", true, true), end(61, "b", failing, true),
			begin(62, "d", false, true), end(63, "c", working, false),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b breaker
			began := map[string]attempt{}
			for i, e := range events {
				now := time.Unix(int64(e.at), 0)
				was := b.open
				if !e.ends {
					a, first := b.begin(now)
					if began[e.name] = a; first != e.first || first && a.trial != was {
						t.Errorf("event %d: %+v is put to the first model: %v", i, a, first)
					}
				} else if changed := b.end(now, began[e.name], e.is, errors.New("x")); changed != (b.open != was) {
					t.Errorf("event %d: changed %v", i, changed)
				}
				if b.open != e.open {
					t.Fatalf("event %d at %d: open %v", i, e.at, b.open)
				}
			}
		})
	}
}
