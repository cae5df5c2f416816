// Package door receives what Slack delivers. Events, slash commands and interactions, by HTTP or
// Socket Mode, are verified, decoded, recorded and acknowledged, in this order. An acknowledged
// event is committed to the database. The relay carries it on from there.
package door

import (
	"cmp"
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
	"myao/internal/intake/record"
	"myao/internal/runtime/required"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
)

// eventTimeout is how long an event may take. It ends before the three seconds that Slack waits
// for the acknowledgement, so that the failure is reported in time.
const eventTimeout = 2500 * time.Millisecond

// Relay sends recorded changes to their workflows.
type Relay interface {
	// Notify tells the relay which conversations have something new.
	Notify(targets ...store.Target)
}

// Slack knows users, and opens a form for whoever dislikes a reply.
type Slack interface {
	User(ctx context.Context, id string) (slack.User, error)
	OpenForm(ctx context.Context, trigger string, f slack.Form) error
	// Replies reads a page of a thread, or the reply that has the ts.
	Replies(ctx context.Context, channel, ts string, r slack.Range, own slack.Identity) (slack.Page, error)
	// Has reports whether Slack has said that the token has a scope.
	Has(scope string) bool
	SuggestPrompts(ctx context.Context, channel string, prompts []slack.Prompt) error
}

// Directory knows channels.
type Directory interface {
	// Absent reports whether the bot is not in a channel.
	Absent(ctx context.Context, team, channel string) bool
	Settings(ctx context.Context, team, channel string) config.ChannelSettings
}

// Door receives events, slash commands and interactions of all workspaces. Create one with New.
type Door struct {
	// Of returns the workspace that a delivery is for, and who the bot is there, by the team and the organisation of
	// the installation that Slack names. An error that wraps slack.ErrForeign has the delivery left out; with any
	// other Slack sends it again.
	Of            func(ctx context.Context, team, organisation string) (*Workspace, slack.Identity, error)
	SigningSecret string
	Installations Installations
	// Authorizations asks Slack for which installations an event of a channel is that companies share. Nil: it is for
	// the one that it names.
	Authorizations func(ctx context.Context, eventContext string) ([]slack.Authorization, error) `nil:"ok"`
	// Hooks are for events of other programs; nil: there are none.
	Hooks *Hooks `nil:"ok"`
	// Missed is told why an event may be lost, so that its message is read from Slack's history; nil: nobody is told.
	Missed  func(reason string) `nil:"ok"`
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics *Metrics
	// Tracer starts the trace of each delivery; nil: nothing is traced.
	Tracer trace.Tracer `nil:"ok"`

	pending    sync.WaitGroup // work that goes on after the acknowledgement
	unverified unverified
	refusals   refusals
	audiences  audiences
}

// New returns a door that has all it needs. It panics with the name of a field that is missing.
func New(d *Door) *Door { return required.Fields(d) }

// Workspace is what the door needs in one workspace. Create one with NewWorkspace.
type Workspace struct {
	Store          *store.Store
	Recorder       *record.Recorder
	Slack          Slack
	Directory      Directory
	Config         config.Config
	Relay          Relay
	CommandHandler CommandHandler
	Home           Home
	Introducer     Introducer
	Dropper        Dropper
	Responder      Responder

	homes homes
}

// NewWorkspace returns a workspace that has all it needs. It panics with the name of a field that is missing.
func NewWorkspace(w *Workspace) *Workspace { return required.Fields(w) }

// room is the door at a delivery for one workspace.
type room struct {
	*Door
	*Workspace
}

// enter returns the room of the workspace that a delivery is for, and who the bot is there.
func (d *Door) enter(ctx context.Context, team, organisation string) (room, slack.Identity, error) {
	w, own, err := d.Of(ctx, team, organisation)
	if err != nil {
		return room{}, slack.Identity{}, err
	}
	return room{d, w}, own, nil
}

// Receive handles what Socket Mode delivers, and returns the payload of the acknowledgement. On an
// error the delivery must not be acknowledged.
func (d *Door) Receive(ctx context.Context, in slack.Delivery) (json.RawMessage, error) {
	ctx, span := d.startSpan(ctx, "socket "+in.Kind, trace.SpanKindConsumer, d.Clock())
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
		return d.interaction(ctx, i)
	default:
		env, err := slack.ParseEnvelope(in.Body)
		if err != nil {
			return nil, d.unreadable(err)
		}
		return nil, d.receive(ctx, env)
	}
}

func (d *Door) unreadable(err error) error {
	d.Metrics.event("unreadable")
	d.missed("an event was not understood")
	return err
}

func (d *Door) missed(reason string) {
	if d.Missed != nil {
		d.Missed(reason)
	}
}

// receive handles one envelope of the Events API. When it returns nil the event is committed, or
// left out for good. An error means that Slack should send the event again.
func (d *Door) receive(ctx context.Context, env slack.Envelope) error {
	ctx, cancel := timeout.After(withEvent(ctx, env.EventID), eventTimeout)
	defer cancel()
	err := d.handle(ctx, env)
	for _, a := range d.others(ctx, env) {
		if failed := d.handle(ctx, env.For(a)); failed != nil && !slack.LeftOut(failed) {
			err = failed // Slack sends it again, for all of them
		}
	}
	switch {
	case slack.LeftOut(err):
		d.leaveOut(ctx, env.EventID, cmp.Or(env.EventType, env.Type), err)
		return nil
	case err != nil:
		d.Metrics.event("failed")
		if !errors.Is(err, errWhoIs) {
			d.missed("an event failed")
		}
	}
	return err
}

// handle decodes the event in an envelope, and handles it. Its error is a reason to leave the
// event out (slack.LeftOut), or says why it cannot be stored now.
func (d *Door) handle(ctx context.Context, env slack.Envelope) error {
	team, organisation := env.Authorization()
	r, own, unknown := d.enter(ctx, team, organisation)
	event, err := slack.Decode(env, own)
	if err != nil {
		return err
	}
	switch e := event.(type) {
	case slack.AppRateLimited:
		return d.rateLimited(ctx, e)
	case slack.Uninstalled:
		return d.uninstalled(ctx, team, organisation, e)
	case slack.TeamAccessGranted:
		return d.access(ctx, e.TeamAccess, true)
	case slack.TeamAccessRevoked:
		return d.access(ctx, e.TeamAccess, false)
	}
	if unknown != nil {
		return unknown
	}
	return r.handle(ctx, event, own)
}

func (d room) handle(ctx context.Context, event slack.Event, own slack.Identity) error {
	switch e := event.(type) {
	case slack.MessageEvent:
		return d.message(ctx, e, own)
	case slack.ChannelPrivate:
		return d.channelPrivate(ctx, e, own)
	case slack.ReactionAdded:
		return d.reactionAdded(ctx, e.Reaction, own)
	case slack.ReactionRemoved:
		return d.reaction(ctx, e.Reaction, true, own)
	case slack.ChannelIDChanged:
		return d.channelIDChanged(ctx, e, own)
	case slack.MemberJoined:
		return d.memberJoined(ctx, e.Membership, own)
	case slack.MemberLeft:
		return d.memberLeft(ctx, e.Membership, own)
	case slack.GuestChanged:
		return d.guestChanged(ctx, e, own)
	case slack.HomeOpened:
		return d.homeOpened(ctx, e, own)
	}
	return fmt.Errorf("%w: nothing handles %T", slack.ErrIgnored, event)
}

// rateLimited warns that Slack drops events of this workspace. Catch-up finds the messages
// among them.
func (d *Door) rateLimited(ctx context.Context, e slack.AppRateLimited) error {
	d.Metrics.event("rate_limited")
	d.missed("Slack drops events")
	d.Logger.WarnContext(ctx, "events dropped by Slack", "type", slackevents.AppRateLimited, "minute_rate_limited",
		e.Since)
	return nil
}

// leaveOut counts and logs an event or a request that is acknowledged, and not stored.
func (d *Door) leaveOut(ctx context.Context, event, kind string, why error) {
	result, level := "unusable", slog.LevelWarn
	switch {
	case errors.Is(why, slack.ErrForeign):
		result = "foreign"
	case errors.Is(why, slack.ErrIgnored):
		result, level = "ignored", slog.LevelInfo
	}
	d.Metrics.event(result)
	if result == "unusable" {
		d.missed("an event was not understood")
	}
	d.Logger.Log(ctx, level, "event not stored", "event", event, "type", kind, "reason", why)
}
