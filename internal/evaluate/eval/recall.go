package eval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// Mode is where the material for an answer comes from, besides the newest messages.
type Mode string

// The modes.
const (
	Summaries Mode = "summaries"
	Search    Mode = "search"
	Both      Mode = "both"
)

// RecallRow is what one question's prompt and search hold.
type RecallRow struct {
	Question string `json:"question"`
	Lang     string `json:"lang"`
	Kind     string `json:"kind"`
	// Right and Wrong are the ranks of those messages, from 1; 0 if a message is not in the material.
	Right []int `json:"right,omitempty"`
	Wrong []int `json:"wrong,omitempty"`
	// Leaks are the messages in the material that readers of the channel must not see, and the deleted
	// ones. Remembered are those of the latter that only a long-term memory still has.
	Leaks      []string `json:"leaks,omitempty"`
	Remembered []string `json:"remembered,omitempty"`
}

// memoryEvery is how often memories are made. What is said between two runs is in the next one, so
// that more runs change nothing but the time this takes.
const memoryEvery = 7 * 24 * time.Hour

// MeasureRecall tells a workspace to a database and returns what the material for the answer to each
// question holds, for each mode: the prompt for the reply and, unless the mode is Summaries, what
// search_messages finds with the question as its query. Memories are made without a language model,
// from the newest messages that fit.
func MeasureRecall(
	ctx context.Context, w Workspace, modes []Mode, logger *slog.Logger,
) (reports []RecallReport, err error) {
	rows := map[Mode][]RecallRow{}
	for _, of := range [][]Mode{{Summaries, Both}, {Search}} {
		// they need a database of their own: one without memories
		of = slices.DeleteFunc(of, func(m Mode) bool { return !slices.Contains(modes, m) })
		if len(of) == 0 {
			continue
		}
		s, remove, err := openDatabase(ctx)
		if err != nil {
			return nil, err
		}
		err = measureRecall(ctx, s, w, w, of, rows, logger)
		if err := errors.Join(err, remove()); err != nil {
			return nil, err
		}
	}
	for _, mode := range modes {
		reports = append(reports, newRecallReport(mode, rows[mode]))
	}
	return reports, nil
}

// measureRecall adds the rows of some modes. s is migrated and otherwise empty. What readers may see is
// decided by truth, whatever w says.
func measureRecall(ctx context.Context, s *store.Store, w, truth Workspace, modes []Mode, rows map[Mode][]RecallRow,
	logger *slog.Logger) error {
	t, err := newTold(ctx, s, w, logger)
	if err != nil {
		return err
	}
	if err := t.tell(ctx, !slices.Contains(modes, Search)); err != nil {
		return fmt.Errorf("tell the workspace: %w", err)
	}
	t.truth = truth
	for i, q := range truth.Questions {
		t.now = w.questionsBegin().Add(time.Duration(i) * time.Minute)
		err := t.asked(ctx, q, func(m chat.Message) error {
			for _, mode := range modes {
				row, err := t.ask(ctx, q, m, mode)
				if err != nil {
					return err
				}
				rows[mode] = append(rows[mode], row)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("question %s: %w", q.ID, err)
		}
	}
	return nil
}
