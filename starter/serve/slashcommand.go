package serve

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/intake/door"
	"myao/internal/operate/chatops"
	"myao/internal/operate/operator"
	"myao/internal/slack"
	"myao/internal/store"
)

const (
	// temporalCheckTimeout is how long Temporal may take to answer a health check.
	temporalCheckTimeout = time.Second
	// closeTimeout is how long answers to requests from Slack may take once the starter stops.
	closeTimeout = 15 * time.Second
)

// newCommandHandler makes what answers slash commands, and what delivers late answers.
func (s *starter) newCommandHandler(db *store.Store, o *operator.Operator,
	directory chatops.Directory) (*chatops.Handler, door.Responder, error) {
	answers, err := slack.NewResponder(s.Config.Slack.APIURL, nil)
	if err != nil {
		return nil, nil, err
	}
	desk := chatops.New(&chatops.Handler{
		Config: s.Config, Store: db, Clock: time.Now, Logger: s.Logger,
		Operator: o, Directory: directory,
		CheckTemporal: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, temporalCheckTimeout)
			defer cancel()
			_, err := s.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
	})
	return desk, answers, nil
}

// closeDoor waits for the answers to requests from Slack, although the program's context has ended.
func (s *starter) closeDoor(ctx context.Context) error {
	door := s.door.Load()
	if door == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := door.Close(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
