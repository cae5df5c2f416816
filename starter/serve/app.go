package serve

import (
	"context"
	"errors"
	"time"

	"myao/internal/runtime/pause"
	"myao/internal/slack"
)

// learnApp asks Slack for the id of the bot's app, so that events of other apps can be ignored.
// Nothing waits for it: while the id is unknown, events are checked by their workspace alone.
func (s *starter) learnApp(ctx context.Context) error {
	warned := false
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := s.workspaces.LoadAppID(ctx)
		if err == nil {
			return nil
		}
		if !warned && ctx.Err() == nil {
			s.Logger.Warn("the app of the bot is not known yet; events of other apps are not recognised", "error", err)
			warned = true
		}
		if refused, ok := errors.AsType[*slack.Error](err); ok && refused.Kind == slack.Final {
			return nil // for example a missing scope, if the app is older than its manifest
		}
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}
