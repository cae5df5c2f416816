package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack/slackevents"
)

// Why something that Slack delivers is acknowledged and left out. All of them come wrapped
// with a reason that is fit for a log.
var (
	// ErrForeign: it belongs to another workspace or another app. The signing secret is the
	// app's, so Slack signs the events of all workspaces that have installed it alike.
	ErrForeign = errors.New("foreign")
	// ErrIgnored: it is understood, and the bot has no use for it.
	ErrIgnored = errors.New("ignored")
	// ErrUnusable: it lacks something essential, such as the ts of a message.
	ErrUnusable = errors.New("unusable")
)

// LeftOut reports whether an error is a reason to acknowledge a delivery and do nothing.
func LeftOut(err error) bool {
	return errors.Is(err, ErrForeign) || errors.Is(err, ErrIgnored) || errors.Is(err, ErrUnusable)
}

func ignored(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrIgnored, fmt.Sprintf(format, args...))
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnusable, fmt.Sprintf(format, args...))
}

// Event is what Slack reports in one envelope: a MessageEvent, ChannelPrivate, ReactionAdded,
// ReactionRemoved, ChannelIDChanged, MemberJoined, MemberLeft, GuestChanged, HomeOpened, Uninstalled,
// TeamAccessGranted, TeamAccessRevoked or AppRateLimited.
type Event interface{ isEvent() }

func (MessageEvent) isEvent()      {}
func (ChannelPrivate) isEvent()    {}
func (ReactionAdded) isEvent()     {}
func (ReactionRemoved) isEvent()   {}
func (ChannelIDChanged) isEvent()  {}
func (MemberJoined) isEvent()      {}
func (MemberLeft) isEvent()        {}
func (GuestChanged) isEvent()      {}
func (HomeOpened) isEvent()        {}
func (Uninstalled) isEvent()       {}
func (TeamAccessGranted) isEvent() {}
func (TeamAccessRevoked) isEvent() {}
func (AppRateLimited) isEvent()    {}

// Decode reads the event in an envelope. own is the bot's identity. While that is not known,
// own is the zero Identity: Decode then leaves out only what no bot could use, and what it
// returns may be foreign. Errors wrap ErrForeign, ErrIgnored or ErrUnusable. Decode is pure,
// and serves HTTP and Socket Mode alike.
func Decode(env Envelope, own Identity) (Event, error) {
	known := own != Identity{}
	switch env.Type {
	case slackevents.CallbackEvent, slackevents.AppRateLimited:
		if err := env.origin.of(own); known && err != nil {
			return nil, err
		}
	default:
		return nil, ignored("envelope of type %s", logName(env.Type))
	}
	if env.Type == slackevents.AppRateLimited {
		return AppRateLimited{Since: env.rateLimited}, nil
	}
	if env.event == nil {
		return nil, unusable("event is no object")
	}
	switch kind := slackevents.EventsAPIType(env.EventType); kind {
	case slackevents.Message, slackevents.AppMention:
		return decodeMessage(env, own)
	case slackevents.ReactionAdded, slackevents.ReactionRemoved:
		return decodeReaction(env.event, kind == slackevents.ReactionRemoved)
	case slackevents.ChannelIDChanged:
		return decodeChannelID(env.raw)
	case slackevents.MemberJoinedChannel, slackevents.MemberLeftChannel:
		return decodeMembership(env.event, kind == slackevents.MemberLeftChannel, env.at)
	case "user_guest_status_changed": // slackevents does not know it
		return decodeGuestChanged(env.event)
	case slackevents.AppUninstalled, slackevents.TokensRevoked:
		return decodeUninstalled(env, own)
	case slackevents.TeamAccessGranted, slackevents.TeamAccessRevoked:
		return decodeTeamAccess(env, kind == slackevents.TeamAccessRevoked)
	case slackevents.AppHomeOpened:
		return decodeHomeOpened(env.event)
	default:
		return nil, ignored("event of type %s", logName(string(kind)))
	}
}

// unmarshal reads an event into one of slackevents' types. It returns ErrUnusable where a field
// has another type than Slack documents, so that it suits events of ids and names alone.
// Events with text, blocks, files or views are read field by field instead (object): there a
// field of no interest can hold anything.
func unmarshal[E any](raw json.RawMessage) (e E, err error) {
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, unusable("%s", err)
	}
	return e, nil
}

// AppRateLimited reports that Slack drops events of the workspace, because more happen than it
// delivers to one app (docs.slack.dev/reference/events/app_rate_limited). It is read by hand:
// the notice counts even if its time is malformed.
type AppRateLimited struct {
	// Since is the minute in which Slack began to drop events, UTC; zero if Slack does not say.
	Since time.Time
}
