package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/slack-go/slack/slackevents"
	"go.opentelemetry.io/otel/trace"

	"myao/internal/config"
	"myao/internal/failpoint"
	"myao/internal/record"
	"myao/internal/slack"
	"myao/internal/store"
)

// acceptFor is how long an event may take. Slack waits three seconds for its
// answer: one that cannot be taken by then is refused in time.
const acceptFor = 2500 * time.Millisecond

// Relay is told of conversations that have something new.
type Relay interface {
	Notify(targets ...store.Target)
}

// Slack knows the bot's identity, and users.
type Slack interface {
	Identity(ctx context.Context) (slack.Identity, error)
	User(ctx context.Context, id string) (slack.User, error)
}

// Directory knows channels.
type Directory interface {
	// Absent reports whether the bot is not in a channel.
	Absent(ctx context.Context, team, channel string) bool
	Settings(ctx context.Context, team, channel string) config.ChannelSettings
}

// Door takes in events, and what people ask of the bot by name. All fields are required.
type Door struct {
	Store     *store.Store
	Recorder  *record.Recorder
	Slack     Slack
	Directory Directory
	Config    config.Config
	Relay     Relay
	Desk      Desk
	Answers   Responder
	Clock     func() time.Time
	Logger    *slog.Logger
	Metrics   *Metrics
	// Tracer begins traces; nil: there are none.
	Tracer trace.Tracer

	pending sync.WaitGroup // of what is answered at a response_url
}

// Take takes in what came by Socket Mode, and returns what goes along with the
// acknowledgement. An error means that Slack is not to be told that it was taken.
func (d *Door) Take(ctx context.Context, in slack.Delivery) (json.RawMessage, error) {
	ctx, span := d.span(ctx, "socket "+in.Kind, trace.SpanKindConsumer, d.Clock())
	defer span.End()
	switch in.Kind {
	case slack.DeliveredCommand:
		c, err := slack.ReadCommand(in.Body)
		if err != nil {
			return nil, d.unreadable(err)
		}
		return d.command(ctx, c)
	case slack.DeliveredInteraction:
		i, err := slack.ReadInteraction(in.Body)
		if err != nil {
			return nil, d.unreadable(err)
		}
		return nil, d.interaction(ctx, i)
	default:
		env, err := slack.ParseEnvelope(in.Body)
		if err != nil {
			return nil, d.unreadable(err)
		}
		return nil, d.take(ctx, env)
	}
}

func (d *Door) unreadable(err error) error {
	d.Metrics.event("unreadable")
	return err
}

// take takes in one envelope of the Events API: when it returns nil the event is committed,
// or known to be of no use. An error means that Slack should send the event again.
func (d *Door) take(ctx context.Context, env slack.Envelope) error {
	ctx, cancel := context.WithTimeout(about(ctx, env.EventID), acceptFor)
	defer cancel()
	own, err := d.own(ctx)
	if env.Type == slackevents.AppRateLimited {
		foreign := error(nil) // as far as it is known
		if err == nil {
			foreign = env.Of(own)
		}
		d.limited(ctx, env, foreign)
		return nil
	}
	if err != nil {
		// Slack need not come again with what is of no use to any bot.
		if why := d.useless(env); why != nil {
			d.leaveOut(ctx, env.EventID, env.Type, why)
			return nil
		}
		d.Metrics.event("failed")
		return err
	}
	if env.Reacted() {
		return d.hushed(ctx, env, own)
	}
	if env.Moved() {
		return d.moved(ctx, env, own)
	}
	event, err := slack.Normalise(env, own)
	if err != nil {
		// It may still tell that its channel was made private: Slack says that only once.
		if channel := slack.Closed(env, own); channel != "" {
			if err := d.Store.CloseChannel(ctx, own.TeamID, channel); err != nil {
				d.Metrics.event("failed")
				return err
			}
		}
		d.leaveOut(ctx, env.EventID, env.Type, err)
		return nil
	}
	targets, err := d.Recorder.Record(ctx, event, own)
	if err != nil {
		d.Metrics.event("failed")
		return err
	}
	failpoint.Here("door: stored")
	d.Metrics.event(string(event.Kind))
	if d.Logger.Enabled(ctx, slog.LevelDebug) { // else not even its values are made
		d.Logger.DebugContext(ctx, "event stored", "event", event.ID, "conversation", event.Message.Conversation().ID(), "kind", event.Kind,
			"channel", event.Message.Channel, "ts", event.Message.TS, "targets", len(targets))
	}
	d.Relay.Notify(targets...)
	return nil
}

// useless is why an event is left out whoever the bot is; nil if it cannot be told.
func (d *Door) useless(env slack.Envelope) error {
	switch {
	case env.Reacted():
		_, err := d.readHush(env)
		return err
	case env.Moved():
		return nil
	}
	return slack.Useless(env)
}

// own is who the bot is, without which nothing can be told from what is others'.
func (d *Door) own(ctx context.Context) (slack.Identity, error) {
	own, err := d.Slack.Identity(ctx)
	if err != nil {
		return slack.Identity{}, fmt.Errorf("learn who the bot is: %w", err)
	}
	return own, nil
}

// limited tells that Slack drops events of this workspace, more of which happen than it
// brings to one app. Catch-up finds the messages among them.
func (d *Door) limited(ctx context.Context, env slack.Envelope, foreign error) {
	if foreign != nil {
		d.leaveOut(ctx, env.EventID, env.Type, foreign)
		return
	}
	d.Metrics.event("rate_limited")
	d.Logger.WarnContext(ctx, "events dropped by Slack", "type", env.Type, "minute_rate_limited", env.RateLimited)
}

// leaveOut tells of an event or a request of which nothing is stored.
func (d *Door) leaveOut(ctx context.Context, event, kind string, why error) {
	result, level := "unusable", slog.LevelWarn
	switch {
	case errors.Is(why, slack.ErrForeign):
		result = "foreign"
	case errors.Is(why, slack.ErrIgnored):
		result, level = "ignored", slog.LevelInfo
	}
	d.Metrics.event(result)
	d.Logger.Log(ctx, level, "event not stored", "event", event, "type", kind, "reason", why)
}
