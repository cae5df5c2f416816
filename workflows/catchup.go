package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// CatchUpInput says what a run of CatchUp is to do.
type CatchUpInput struct {
	// Start is set when the door has just been opened: then the channels are listed
	// first, and all of their threads are read.
	Start bool `json:"start,omitempty"`
	// PauseSeconds is left after each channel, so that a round which nobody waits for
	// does not use up the calls that Slack allows.
	PauseSeconds int `json:"pause_seconds,omitempty"`
	// Left is the channels that an earlier part of the run has left; none: all.
	Left []string `json:"left,omitempty"`
	// Done is what earlier parts did.
	Done CatchUpOutput `json:"done"`
}

// CatchUpOutput counts channels, and messages.
type CatchUpOutput struct {
	Channels int `json:"channels"`
	// Failed is channels that could not be read: the next run tries them again.
	Failed int `json:"failed,omitempty"`
	Read   int `json:"read"`
	New    int `json:"new,omitempty"`
	Taken  int `json:"taken,omitempty"`
}

const (
	// channelsAtOnce is how many channels are read side by side. Slack allows about
	// fifty calls a minute (docs.slack.dev/apis/web-api/rate-limits, Tier 3), which
	// replies need, too.
	channelsAtOnce = 2
	// channelsTogether is how many channels one activity of a round reads that nobody waits for:
	// most have nothing new, and an activity for each would be most of what a small workspace costs.
	channelsTogether = 20
	// channelsInPart is how many channels one part of a run holds.
	channelsInPart = 500
	// aliveWithin is how long such an activity may be silent before it is given to another worker:
	// a little longer than others, since each heartbeat costs as much as an activity.
	aliveWithin = 15 * time.Second
	// listFor is enough to list a hundred thousand channels, be it by 200 a call: Slack allows
	// about fifty calls a minute, and the activity waits for the next ones.
	listFor = 15 * time.Minute
)

// CatchUp reads what was said while the door was closed, in the channels that were
// active last first.
func CatchUp(ctx workflow.Context, in CatchUpInput) (CatchUpOutput, error) {
	if len(in.Left) == 0 {
		if in.Start {
			if _, err := ChannelSync(ctx); err != nil {
				workflow.GetLogger(ctx).Error("channels not listed; catching up with those that are known", "error", err)
			}
		}
		var known activities.ChannelsOutput
		if err := workflow.ExecuteActivity(background(ctx, time.Minute, "list channels"), do.Channels).Get(ctx, &known); err != nil {
			return in.Done, err
		}
		in.Left = known.Channels
	}
	whole := in.Done.Channels + len(in.Left)
	part := in.Left[:min(channelsInPart, len(in.Left))]
	in.Left = in.Left[len(part):]
	show := func() {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d of %d channels read: %s, %d of them new, %d taken up; %d failed",
			in.Done.Channels, whole, count(in.Done.Read, "message"), in.Done.New, in.Done.Taken, in.Done.Failed))
	}
	show()
	catchUp := func(ctx workflow.Context, channels []string) (again []string) {
		ctx = background(ctx, 10*time.Minute, "catch up with "+channels[0])
		if len(channels) > 1 {
			ctx = background(ctx, 30*time.Minute, "catch up with "+count(len(channels), "channel"))
			ctx = workflow.WithHeartbeatTimeout(ctx, aliveWithin)
		}
		var out activities.CatchUpOutput
		next := activities.CatchUpInput{Channels: channels, Threads: in.Start, PauseSeconds: in.PauseSeconds}
		err := workflow.ExecuteActivity(ctx, do.CatchUp, next).Get(ctx, &out)
		in.Done.Channels += len(channels) - len(out.Failed)
		in.Done.Read, in.Done.New, in.Done.Taken = in.Done.Read+out.Read, in.Done.New+out.New, in.Done.Taken+out.Taken
		if err != nil {
			workflow.GetLogger(ctx).Error("not caught up", "channels", channels, "error", err)
			in.Done.Failed += len(channels)
		}
		show()
		return out.Failed
	}
	together := channelsTogether
	if in.Start {
		together = 1
	}
	var again [][]string // each by itself
	err := forEach(ctx, slices.Collect(slices.Chunk(part, together)), channelsAtOnce, func(ctx workflow.Context, channels []string) {
		for _, failed := range catchUp(ctx, channels) {
			again = append(again, []string{failed})
		}
	})
	if err == nil {
		err = forEach(ctx, again, channelsAtOnce, func(ctx workflow.Context, channels []string) { catchUp(ctx, channels) })
	}
	if err != nil || len(in.Left) == 0 {
		return in.Done, err
	}
	return in.Done, continueAsNew(ctx, CatchUp, in)
}

// ChannelSync takes in which channels the bot is in, and what they are called.
func ChannelSync(ctx workflow.Context) (out activities.SyncOutput, err error) {
	err = workflow.ExecuteActivity(background(ctx, listFor, "list channels at Slack"), do.SyncChannels).Get(ctx, &out)
	return out, err
}
