package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"

	"myao/internal/chat"
	"myao/internal/operate/operator"
	"myao/internal/runtime/temporal"
	"myao/internal/slack"
	"myao/internal/store"
)

// conversationArg names a conversation on the command line.
type conversationArg struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
	Thread  string `arg:"" optional:"" placeholder:"TS" help:"The ts of the thread's parent message. Without it, the channel's top level."`
}

// Validate implements kong's Validate.
func (t conversationArg) Validate() error { return checkThread(t.Thread) }

// checkThread returns an error unless ts is empty or the ts of a message.
func checkThread(ts string) error {
	if ts != "" && !chat.ValidTS(ts) {
		return fmt.Errorf("%q: want the ts of a message, such as 1700000000.000100", ts)
	}
	return nil
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

// session is an open database and a connection to Temporal, with the conversation that a command
// is about.
type session struct {
	store        *store.Store
	operator     *operator.Operator
	conversation chat.Conversation
	name         string // of the conversation
}

// connect opens a session. An empty conversationArg names no conversation. The caller must call done.
func (r temporalFlags) connect(ctx context.Context, p *program, t conversationArg) (d session, done func() error, err error) {
	db, err := p.OpenStore(ctx)
	if err != nil {
		return session{}, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	d.store = db
	if t.Channel != "" {
		if d.conversation, err = resolveConversation(ctx, p, db, t.Channel, t.Thread); err != nil {
			return session{}, nil, err
		}
		known, err := db.Channels(ctx, d.conversation.Team, []string{d.conversation.Channel})
		if err != nil {
			return session{}, nil, err
		}
		d.name = conversationName(d.conversation, known[d.conversation.Channel].Name)
	}
	c, err := temporal.NewClient(p.Config.Encryption, p.Logger)
	if err != nil {
		return session{}, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if d.operator, err = operator.Open(ctx, c, temporal.Namespace(), db); err != nil {
		c.Close()
		return session{}, nil, r.explain(ctx, err)
	}
	return d, func() error {
		c.Close()
		return db.Close()
	}, nil
}

// slackClient returns a client for a command.
func slackClient(p *program) *slack.Client {
	return slack.New(slack.Config{Token: string(p.Config.Slack.BotToken), APIURL: p.Config.Slack.APIURL, TrustOrg: p.Config.Slack.TrustOrg()})
}

// explain turns an error into one that says what to do.
func (r temporalFlags) explain(ctx context.Context, err error) error {
	var pause *operator.PausedError
	switch {
	case errors.As(err, &pause):
		return fmt.Errorf("nothing was done: somebody has paused the conversation in Temporal (see starter show). To resume it: temporal workflow unpause --namespace %s --workflow-id '%s'",
			temporal.Namespace(), pause.WorkflowID)
	case errors.Is(err, operator.ErrNoServer):
		return fmt.Errorf("temporal at %s did not answer%s. Check that it runs, and TEMPORAL_ADDRESS and the other TEMPORAL_… variables",
			temporal.Address(), r.noAnswerCause(ctx, err))
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return fmt.Errorf("temporal at %s has no namespace %s: check TEMPORAL_NAMESPACE", temporal.Address(), temporal.Namespace())
	case errors.As(err, new(*serviceerror.WorkflowNotReady)):
		return errors.New("the conversation is stuck because its workflow task keeps failing: see the worker's log for the reason (Workflow panic), and docs/deploying.md for what to do")
	case errors.Is(err, operator.ErrUnwritable):
		return fmt.Errorf("no worker answered within %s, and the database accepts no writes, which may be the reason: run starter doctor", r.Timeout)
	case errors.Is(err, operator.ErrNoWorker):
		return fmt.Errorf("no worker answered within %s: check that one runs in the namespace %s", r.Timeout, temporal.Namespace())
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

// conversationName formats a conversation by the name of its channel.
func conversationName(c chat.Conversation, name string) string {
	in := c.Channel
	if name != "" {
		in = "#" + name
	}
	if c.TopLevel() {
		return in
	}
	return in + ", thread " + c.Thread
}

// formatTime formats a time.
func formatTime(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}
