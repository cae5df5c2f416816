// Package serve is the starter while it runs: HTTP and the door for Slack's events, the relay that signals
// conversations, the schedules, and probes.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/intake/door"
	"myao/internal/intake/heartbeat"
	"myao/internal/intake/relay"
	"myao/internal/operate/launch"
	"myao/internal/operate/operator"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/temporal"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
	"myao/internal/store/indexer"
)

// starter holds the parts of the running program. The HTTP server starts first and reports what is
// missing. The other parts start when the database is ready.
type starter struct {
	launch.Program
	workspaces *workspaces.Workspaces
	app        *slack.Socket // nil without an app-level token
	socket     *slack.Socket // nil if events come by HTTP
	temporal   client.Client
	metrics    *prometheus.Registry

	store      atomic.Pointer[store.Store]
	door       atomic.Pointer[door.Door]
	attributes atomic.Bool // the Temporal server has our search attributes
	registered atomic.Bool // it is known whether it has them
	// unregistered and unscheduled hold an element after the server was set up anew, until the
	// search attributes are registered and the schedules created again.
	unregistered, unscheduled chan struct{}
	// heart shows that this starter takes events. gapOpened holds an element after it found that none did.
	heart     heartbeat.Heartbeat
	gapOpened chan struct{}
}

// Run serves until the context ends.
func Run(ctx context.Context, p launch.Program) error {
	c, err := temporal.NewClient(p.Config.Encryption, p.Logger, p.Telemetry.ConfigureClient)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := workspaces.New(p.Config, time.Now, p.Logger, p.Telemetry.Registry)
	if err != nil {
		return err
	}
	s := &starter{
		Program:    p,
		workspaces: all,
		temporal:   c,
		metrics:    p.Telemetry.Registry,

		unregistered: make(chan struct{}, 1),
		unscheduled:  make(chan struct{}, 1),
		gapOpened:    make(chan struct{}, 1),
	}
	if p.Config.Slack.AppToken != "" {
		s.app = slack.NewSocket(slack.SocketConfig{
			AppToken: string(p.Config.Slack.AppToken), APIURL: p.Config.Slack.APIURL, Logger: p.Logger,
		})
	}
	if p.Config.Slack.SocketMode() {
		s.socket = s.app
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.Config.Server.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.listen(ctx, listener) })
	group.Go(func() error { return s.work(ctx) })
	err = group.Wait()
	if db := s.store.Load(); db != nil {
		err = errors.Join(err, s.closeDoor(ctx), db.Close()) // no request is in progress any more
	}
	return err
}

// work opens the door and runs the relay.
func (s *starter) work(ctx context.Context) error {
	db, err := s.Store(ctx)
	if err != nil {
		return err
	}
	directory := &channels.Directory{Store: db, Config: s.Config, Clock: time.Now} // what the database knows
	r := relay.New(db, temporal.Sender{Client: s.temporal, Attributes: s.attributes.Load, AttributesLost: s.reregister,
		Name: directory.Name, FairByWorkspace: s.Config.Slack.Installable()}, s.policy(db),
		time.Now, s.Logger, relay.NewMetrics(s.metrics, db, time.Now, s.intervals()))
	r.Tracer = s.Telemetry.Tracer()
	o := operator.New(&operator.Operator{Client: s.temporal, Store: db, Attributes: s.attributes.Load})
	answers, err := slack.NewResponder(s.Config.Slack.APIURL, nil)
	if err != nil {
		return err
	}
	rooms := workspaces.Each[*door.Workspace]{
		Make: func(w *workspaces.Workspace) (*door.Workspace, error) { return s.room(w, db, o, r, answers), nil }}
	door := door.New(&door.Door{
		Of: func(ctx context.Context, team, organisation string) (*door.Workspace, slack.Identity, error) {
			w, err := s.workspaces.For(ctx, team, organisation)
			if err != nil {
				return nil, slack.Identity{}, err
			}
			room, err := rooms.Of(w)
			return room, w.Own, err
		},
		SigningSecret: string(s.Config.Slack.SigningSecret), Installations: s.workspaces, Missed: s.heart.Missed,
		Clock: time.Now, Logger: s.Logger, Metrics: door.NewMetrics(s.metrics).ForHooks(s.Config.Hooks),
		Tracer: s.Telemetry.Tracer(), Hooks: &door.Hooks{Configured: s.Config.Hooks, Store: db, Relay: r},
	})
	if s.app != nil && s.Config.Slack.Installable() {
		door.Authorizations = s.app.Authorizations
	}
	s.store.Store(db)
	s.door.Store(door)
	s.heart.Store, s.heart.Clock, s.heart.Logger = db, time.Now, s.Logger
	s.heart.Opened = func() { request(s.gapOpened) }
	s.heart.Session = s.eventSession
	s.heart.Ending = door.Ending

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.registerAttributes(ctx, false); err != nil {
			return err
		}
		r.Run(ctx)
		return ctx.Err()
	})
	group.Go(func() error {
		return onEach(ctx, s.unregistered, func(ctx context.Context) error { return s.registerAttributes(ctx, true) })
	})
	group.Go(func() error {
		if err := s.setUpSchedules(ctx); err != nil {
			return err
		}
		return onEach(ctx, s.unscheduled, s.setUpSchedules)
	})
	group.Go(func() error {
		ticker := time.NewTicker(scheduleCheckInterval)
		defer ticker.Stop()
		return s.restoreSchedules(ctx, ticker.C)
	})
	group.Go(func() error {
		ticker := time.NewTicker(heartbeat.Interval)
		defer ticker.Stop()
		return s.heart.Run(ctx, ticker.C)
	})
	group.Go(func() error { return onEach(ctx, s.gapOpened, s.catchUpSoon) })
	group.Go(func() error { return s.learnApp(ctx) })
	group.Go(func() error { return s.workspaces.Run(ctx, db) })
	indexer.Register(s.metrics, db, time.Now)
	group.Go(func() error {
		indexer.New(db, time.Now, s.Logger).Run(ctx)
		return ctx.Err()
	})
	if s.socket != nil {
		group.Go(func() error { return s.socket.Listen(ctx, door.Receive) })
	}
	return group.Wait()
}

// eventSession is the Session of the heartbeat. Slack sends no events to an app whose token it does not take.
func (s *starter) eventSession() int64 {
	switch {
	case s.workspaces.Closed():
		return 0
	case s.socket != nil:
		return s.socket.Session()
	}
	return 1
}

// reregister has the search attributes and the schedules set up again, after the Temporal server
// was set up anew.
func (s *starter) reregister() {
	s.registered.Store(false)
	request(s.unregistered)
	request(s.unscheduled)
}

// request puts an element into a channel that does not hold one yet.
func request(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// onEach calls do for each element received, until the context ends or do fails.
func onEach(ctx context.Context, requests <-chan struct{}, do func(context.Context) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-requests:
			if err := do(ctx); err != nil {
				return err
			}
		}
	}
}

// registerAttributes registers the search attributes, and retries until the server has accepted
// or refused them. signalRefused is set after the server refused a signal because of them.
func (s *starter) registerAttributes(ctx context.Context, signalRefused bool) error {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Second) {
		known, err := temporal.RegisterAttributes(ctx, s.temporal, temporal.Namespace(), signalRefused)
		if err == nil {
			s.attributes.Store(known)
			s.registered.Store(true)
			if !known {
				s.Logger.Warn("search attributes not registered: the Temporal server does not allow it, or has one "+
					"with a type other than Keyword; conversations go without",
					"attributes", conversation.Attributes)
			}
			return nil
		}
		s.Logger.Error("Temporal not ready; trying again", "error", err, "in", wait.String())
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}

// policy returns the timing of a conversation by the settings of its channel.
func (s *starter) policy(db *store.Store) func(context.Context, chat.Conversation) conversation.Policy {
	return func(ctx context.Context, c chat.Conversation) conversation.Policy {
		settings := s.Config
		if w, err := s.workspaces.Of(ctx, c.Team); err == nil {
			settings = w.Config
		}
		directory := &channels.Directory{Store: db, Config: settings}
		stored, err := directory.StoredSettings(ctx, c.Team, c.Channel)
		if err != nil {
			s.Logger.WarnContext(ctx, "name of channel not read", "channel", c.Channel, "error", err)
		}
		return settings.Policy(stored[c.Channel])
	}
}
