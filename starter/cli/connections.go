package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/api/serviceerror"

	"myao/internal/operate/operator"
	"myao/internal/runtime/temporal"
	"myao/internal/slack"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
)

// database opens the database the first time.
func (p *program) database(ctx context.Context) (*store.Store, error) {
	if p.store == nil {
		db, err := p.OpenStore(ctx)
		if err != nil {
			return nil, err
		}
		p.store = db
	}
	return p.store, nil
}

// slack returns the client of Slack.
func (p *program) slack() *slack.Client {
	if p.slackClient == nil {
		of := p.Config.Slack
		p.slackClient = slack.New(slack.Config{Token: string(of.BotToken), APIURL: of.APIURL, TrustOrg: of.TrustOrg()})
	}
	return p.slackClient
}

// workspace returns a workspace, with the client that calls Slack for it; team may be empty where there is one.
func (p *program) workspace(ctx context.Context, team string) (*workspaces.Workspace, error) {
	db, err := p.database(ctx)
	if err != nil {
		return nil, err
	}
	all, err := workspaces.New(p.Config.Global(), time.Now, p.Logger, prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	all.Use(db)
	w, err := all.Of(ctx, team)
	if err != nil {
		return nil, fmt.Errorf("ask Slack who the bot is: %w", err)
	}
	return w, nil
}

// operator opens the database, and connects to Temporal.
func (p *program) operator(ctx context.Context, flags temporalFlags) (*operator.Operator, error) {
	db, err := p.database(ctx)
	if err != nil {
		return nil, err
	}
	if p.temporal == nil {
		if p.temporal, err = temporal.NewClient(p.Config.Encryption, p.Logger); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, flags.Timeout)
	defer cancel()
	o, err := operator.Open(ctx, p.temporal, temporal.Namespace(), db)
	if err != nil {
		return nil, flags.explain(ctx, err)
	}
	o.FairByWorkspace = p.Config.Slack.Installable()
	return o, nil
}

// close closes what was opened.
func (p *program) close() error {
	if p.temporal != nil {
		p.temporal.Close()
	}
	if p.store == nil {
		return nil
	}
	return p.store.Close()
}

// temporalFlags is the flag of every command that uses Temporal.
type temporalFlags struct {
	Timeout time.Duration `default:"10s" help:"How long to wait for Temporal, and for a worker (${default})."`
}

// checkTimeout returns an error for a timeout that is not positive.
func (r temporalFlags) checkTimeout() error {
	if r.Timeout <= 0 {
		return fmt.Errorf("--timeout %s: want a time above 0, such as 10s", r.Timeout)
	}
	return nil
}

// explain turns an error into one that says what to do.
func (r temporalFlags) explain(ctx context.Context, err error) error {
	var pause *operator.PausedError
	switch {
	case errors.As(err, &pause):
		return fmt.Errorf("nothing was done: somebody has paused the conversation in Temporal (see starter show). To "+
			"resume it: temporal workflow unpause --namespace %s --workflow-id '%s'",
			temporal.Namespace(), pause.WorkflowID)
	case errors.Is(err, operator.ErrNoServer):
		return fmt.Errorf("temporal at %s did not answer%s. Check that it runs, and TEMPORAL_ADDRESS and the other "+
			"TEMPORAL_… variables",
			temporal.Address(), r.noAnswerCause(ctx, err))
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return fmt.Errorf("temporal at %s has no namespace %s: check TEMPORAL_NAMESPACE", temporal.Address(),
			temporal.Namespace())
	case errors.As(err, new(*serviceerror.WorkflowNotReady)):
		return errors.New("the conversation is stuck because its workflow task keeps failing: see the worker's log " +
			"for the reason (Workflow panic), and docs/deploying.md for what to do")
	case errors.Is(err, operator.ErrUnwritable):
		return fmt.Errorf("no worker answered within %s, and the database accepts no writes, which may be the "+
			"reason: run starter doctor", r.Timeout)
	case errors.Is(err, operator.ErrNoWorker):
		return fmt.Errorf("no worker answered within %s: check that one runs in the namespace %s", r.Timeout,
			temporal.Namespace())
	}
	return err
}

// noAnswerCause completes "Temporal did not answer" with the reason, or the timeout.
func (r temporalFlags) noAnswerCause(ctx context.Context, err error) string {
	var unavailable *serviceerror.Unavailable
	if !errors.As(err, &unavailable) {
		return fmt.Sprintf(" within %s", r.Timeout)
	}
	// This is all that gRPC says about an address that it cannot reach.
	if strings.Contains(unavailable.Message, "no children to pick from") {
		host, _, wrong := net.SplitHostPort(temporal.Address())
		if wrong == nil {
			_, wrong = net.DefaultResolver.LookupHost(ctx, host)
		}
		if wrong != nil {
			return ": " + wrong.Error()
		}
	}
	return ": " + unavailable.Message
}
