package llm

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Logged returns m with one log line for each call: purpose, provider, model, tokens,
// duration, the kind of error and the provider's code. No line holds the text of a
// prompt, an answer, an input of a tool or an error. Success is Info, failure Warn. A model
// that takes no tools, or no files, is told once, as Warn.
func Logged(m Model, provider string, logger *slog.Logger, clock func() time.Time) Model {
	return &logged{model: m, provider: provider, logger: logger, clock: clock}
}

type logged struct {
	model    Model
	provider string
	logger   *slog.Logger
	clock    func() time.Time
	// withoutTools holds the names of the models that were told to take no tools.
	withoutTools sync.Map
	// withoutFiles holds the names of the models that were told that files were left out.
	withoutFiles sync.Map
}

func (l *logged) Generate(ctx context.Context, r Request) (Response, error) {
	began := l.clock()
	res, err := l.model.Generate(ctx, r)
	attrs := []slog.Attr{
		slog.String("purpose", r.Purpose),
		slog.String("provider", l.provider),
		slog.String("model", cmp.Or(res.Model, r.Model)),
		slog.Int("input_tokens", res.Usage.Input),
		slog.Int("output_tokens", res.Usage.Output),
		slog.String("duration", l.clock().Sub(began).String()),
	}
	if res.Usage.Cached > 0 {
		attrs = append(attrs, slog.Int("cached_tokens", res.Usage.Cached))
	}
	if len(r.Tools) > 0 {
		calls := 0
		if res.Turn != nil {
			calls = len(res.Turn.Calls)
		}
		attrs = append(attrs, slog.Int("round", len(r.Turns)), slog.Int("tool_calls", calls))
	}
	if res.WithoutTools {
		if _, told := l.withoutTools.LoadOrStore(r.Model, true); !told {
			l.logger.WarnContext(ctx, "model takes no tools: its replies are written without looking anything up",
				"provider", l.provider, "model", r.Model)
		}
	}
	if len(res.WithoutFiles) > 0 {
		if _, told := l.withoutFiles.LoadOrStore(r.Model, true); !told {
			l.logger.WarnContext(ctx, "model takes no pictures, or no PDF: its replies are written without seeing them",
				"provider", l.provider, "model", r.Model)
		}
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error_kind", KindOf(err)))
		if e, ok := errors.AsType[*Error](err); ok && e.Status != 0 {
			attrs = append(attrs, slog.Int("status", e.Status))
			if e.Code != "" {
				attrs = append(attrs, slog.String("code", e.Code))
			}
		}
	}
	l.logger.LogAttrs(ctx, level, "model call", attrs...)
	return res, err
}
