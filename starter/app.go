package main

import (
	"context"
	"errors"
	"time"

	"myao/internal/pause"
	"myao/internal/slack"
)

// learnApp asks Slack which app the bot is of, so that what was sent to another one can be
// told from what is ours. Nothing waits for it: until it is known, and where Slack does
// not tell, events are known by their workspace alone.
func (s *starter) learnApp(ctx context.Context) error {
	told := false
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := s.slack.LoadAppID(ctx)
		if err == nil {
			return nil
		}
		if !told && ctx.Err() == nil {
			s.Logger.Warn("not known yet which app the bot is of; what another app is sent is not told from what is ours", "error", err)
			told = true
		}
		if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Kind == slack.Final {
			return nil // a missing scope, as of an app older than its manifest
		}
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}
