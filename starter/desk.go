package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/chatops"
	"myao/internal/ingest"
	"myao/internal/operator"
	"myao/internal/slack"
	"myao/internal/store"
)

const (
	// reachFor is how long Temporal may take to say that it is there.
	reachFor = time.Second
	// finishFor is how long answers that were promised may take when the starter is told to stop.
	finishFor = 15 * time.Second
)

// desk is what answers people in Slack.
func (s *starter) desk(db *store.Store, directory chatops.Directory) (ingest.Desk, ingest.Responder, error) {
	answers, err := slack.NewResponder(s.Config.Slack.APIURL, nil)
	if err != nil {
		return nil, nil, err
	}
	desk := &chatops.Desk{
		Config: s.Config, Store: db, Clock: time.Now, Logger: s.Logger,
		Operator:  &operator.Operator{Client: s.temporal, Store: db, Attributes: s.attributes.Load},
		Directory: directory,
		Reach: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, reachFor)
			defer cancel()
			_, err := s.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
	}
	return desk, answers, nil
}

// finish waits for the answers that were promised, though the program's context has ended.
func (s *starter) finish(ctx context.Context) error {
	door := s.door.Load()
	if door == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishFor)
	defer cancel()
	if err := door.Close(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
