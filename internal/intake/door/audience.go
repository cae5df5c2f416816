package door

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/slack-go/slack/slackevents"

	"myao/internal/slack"
)

const (
	// audienceTimeout is how long Slack may take to say for which installations an event is.
	audienceTimeout = time.Second
	// audienceMaxAge is how long its answer holds for the events of a channel, and audiencePause how long it is not
	// asked again after a failure.
	audienceMaxAge = time.Minute
	audiencePause  = 10 * time.Second
	// maxAudiences bounds how many channels are remembered.
	maxAudiences = 10_000
)

// audiences are the installations that may see the events of shared channels, as Slack said last. The zero value is
// ready. Two workspaces of ours in such a channel get each event once or twice, and it names only one of them.
type audiences struct {
	mu sync.Mutex
	of map[string]audience // by channel
}

type audience struct {
	until time.Time
	all   []slack.Authorization
	// unknown is set if Slack did not answer, but may later.
	unknown bool
}

func (a *audiences) get(channel string, now time.Time) (known audience, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known = a.of[channel]
	return known, now.Before(known.until)
}

func (a *audiences) put(channel string, said audience) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil || len(a.of) >= maxAudiences {
		a.of = map[string]audience{}
	}
	a.of[channel] = said
}

// others returns the installations that an event is for, beside the one that it names. While Slack does not say, there
// are none: what they miss, they read from the channel's history.
func (d *Door) others(ctx context.Context, env slack.Envelope) []slack.Authorization {
	channel, eventContext := env.Shared()
	if d.Authorizations == nil || eventContext == "" {
		return nil
	}
	said, known := d.audiences.get(channel, d.Clock())
	switch slackevents.EventsAPIType(env.EventType) {
	case slackevents.MemberJoinedChannel, slackevents.MemberLeftChannel: // it may be one of our bots
		known = false
	}
	if !known {
		said = d.audience(ctx, channel, eventContext)
		d.audiences.put(channel, said)
	}
	if said.unknown {
		d.missed("Slack did not say for which other workspaces an event is")
	}
	team, _ := env.Authorization()
	return slices.DeleteFunc(slices.Clone(said.all), func(a slack.Authorization) bool { return a.Team == team })
}

// audience asks Slack for which installations an event of a channel is.
func (d *Door) audience(ctx context.Context, channel, eventContext string) audience {
	ctx, cancel := context.WithTimeout(ctx, audienceTimeout)
	defer cancel()
	all, err := d.Authorizations(ctx, eventContext)
	said := audience{until: d.Clock().Add(audienceMaxAge), all: all}
	if err == nil {
		return said
	}
	if refused, ok := errors.AsType[*slack.Error](err); !ok || refused.Kind != slack.Final {
		said.until, said.unknown = d.Clock().Add(audiencePause), true
	}
	d.Logger.WarnContext(ctx, "not known for which other workspaces the events of a channel are", "channel", channel,
		"error", err)
	return said
}
