package serve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/answer/playbook"
	"myao/internal/intake/door"
	"myao/internal/intake/record"
	"myao/internal/operate/chatops"
	"myao/internal/operate/operator"
	"myao/internal/slack/channels"
	"myao/internal/slack/oauth"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

const (
	// temporalCheckTimeout is how long Temporal may take to answer a health check.
	temporalCheckTimeout = time.Second
	// closeTimeout is how long answers to requests from Slack may take once the starter stops.
	closeTimeout = 15 * time.Second
)

// room makes what the door needs in a workspace.
func (s *starter) room(w *workspaces.Workspace, db *store.Store, o *operator.Operator, r door.Relay,
	answers door.Responder) *door.Workspace {
	directory := &channels.Directory{Store: db, Slack: w.Slack, Config: w.Config, Clock: time.Now, Logger: s.Logger}
	desk := chatops.New(&chatops.Handler{
		Config: w.Config, Store: db, Clock: time.Now, Logger: s.Logger,
		Operator: o, Directory: directory, Members: chatops.NewMembership(w.Slack, time.Now, s.Logger),
		CheckTemporal: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, temporalCheckTimeout)
			defer cancel()
			_, err := s.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
	})
	return door.NewWorkspace(&door.Workspace{
		Store: db, Recorder: record.New(&record.Recorder{Store: db, Directory: directory,
			Operators: w.Config.Slack.Operators, Bots: s.workspaces.Bots}),
		Slack: w.Slack, Directory: directory, Config: w.Config, Relay: r, CommandHandler: desk, Responder: answers,
		Home: chatops.NewHome(&chatops.Home{Handler: desk, Publisher: w.Slack,
			Lost:      s.lost(w),
			InstallAt: s.Config.Server.PublicURL + oauth.InstallPath,
			Playbooks: playbook.Open(w.Config.PlaybooksDir, s.Logger)}),
		Introducer: o, Dropper: o,
	})
}

// lost returns what the Home tab of a workspace tells of lost tokens. Only the operators of all workspaces are told of
// others: where a workspace names its own, nobody there is.
func (s *starter) lost(w *workspaces.Workspace) func() []store.Installation {
	if !s.Config.Slack.Installable() || !slices.Equal(w.Config.Slack.Operators, s.Config.Slack.Operators) {
		return nil
	}
	return s.workspaces.Lost
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
