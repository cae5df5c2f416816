package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"

	"myao/internal/chat"
	"myao/internal/launch"
	"myao/internal/operator"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/temporal"
)

// conversationArg names a conversation on the command line.
type conversationArg struct {
	Channel string `arg:"" help:"The channel: its id, or its name with or without #."`
	Thread  string `arg:"" optional:"" placeholder:"TS" help:"The ts of the message that a thread hangs on; without it, the channel's top level."`
}

// Validate is kong's way to be told what cannot be.
func (t conversationArg) Validate() error { return checkThread(t.Thread) }

// checkThread reports what cannot be a thread; there may be none.
func checkThread(ts string) error {
	if ts != "" && !chat.ValidTS(ts) {
		return fmt.Errorf("%q: want the ts of a message, such as 1700000000.000100", ts)
	}
	return nil
}

// temporalFlags is the flag of every command that asks something of Temporal.
type temporalFlags struct {
	Timeout time.Duration `default:"10s" help:"How long to wait for Temporal, and for a worker (${default})."`
}

// checkTimeout reports a time in which nothing can answer.
func (r temporalFlags) checkTimeout() error {
	if r.Timeout <= 0 {
		return fmt.Errorf("--timeout %s: want a time above 0, as 10s", r.Timeout)
	}
	return nil
}

// session is what a command has in hand once it has got through.
type session struct {
	store        *store.Store
	operator     *operator.Operator
	conversation chat.Conversation
	name         string // of the conversation, for people
}

// connect connects to the database and to Temporal, and finds the conversation; an empty
// talk names none. done is to be called in the end.
func (r temporalFlags) connect(ctx context.Context, p launch.Program, t conversationArg) (d session, done func() error, err error) {
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

// slackClient is a command's way to Slack.
func slackClient(p launch.Program) *slack.Client {
	return slack.New(slack.Config{Token: string(p.Config.Slack.BotToken), APIURL: p.Config.Slack.APIURL})
}

// explain says what can be done about it.
func (r temporalFlags) explain(ctx context.Context, err error) error {
	var pause *operator.PausedError
	switch {
	case errors.As(err, &pause):
		return fmt.Errorf("nothing was done: somebody has paused the conversation in Temporal, as starter show tells. To have it go on: temporal workflow unpause --namespace %s --workflow-id '%s'",
			temporal.Namespace(), pause.WorkflowID)
	case errors.Is(err, operator.ErrNoServer):
		return fmt.Errorf("temporal at %s did not answer%s. Is it running, and do TEMPORAL_ADDRESS and the rest of TEMPORAL_… name it?",
			temporal.Address(), r.noAnswerCause(ctx, err))
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return fmt.Errorf("temporal at %s has no namespace %s: does TEMPORAL_NAMESPACE name it?", temporal.Address(), temporal.Namespace())
	case errors.As(err, new(*serviceerror.WorkflowNotReady)):
		return errors.New("the conversation is stuck, as its workflow task fails again and again: the worker's log says why (Workflow panic), and docs/deploying.md what to do")
	case errors.Is(err, operator.ErrUnwritable):
		return fmt.Errorf("no worker answered within %s, and the database takes no writes, which may be what keeps it: what does starter doctor say?", r.Timeout)
	case errors.Is(err, operator.ErrNoWorker):
		return fmt.Errorf("no worker answered within %s: is one running, in the namespace %s?", r.Timeout, temporal.Namespace())
	}
	return err
}

// noAnswerCause is why Temporal did not answer, or in what time.
func (r temporalFlags) noAnswerCause(ctx context.Context, err error) string {
	var unavailable *serviceerror.Unavailable
	if !errors.As(err, &unavailable) {
		return fmt.Sprintf(" within %s", r.Timeout)
	}
	// So gRPC says it of an address that leads nowhere, and not why.
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

// conversationName is what people call a conversation.
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

// formatTime is a point in time for people.
func formatTime(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}
