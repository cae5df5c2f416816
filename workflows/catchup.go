package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// CatchUpInput says what a run of CatchUp is to do.
type CatchUpInput struct {
	// Start is set when the door has just been opened: then the channels are listed
	// first, and all of their threads are read.
	Start bool `json:"start,omitempty"`
	// PauseSeconds is left between two channels, so that a round which nobody waits for
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
	// channelsInPart is how many channels one part of a run holds.
	channelsInPart = 500
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
	err := each(ctx, part, channelsAtOnce, func(ctx workflow.Context, channel string) {
		var out activities.CatchUpOutput
		what := activities.CatchUpInput{Channel: channel, Threads: in.Start}
		err := workflow.ExecuteActivity(background(ctx, 10*time.Minute, "catch up with "+channel), do.CatchUp, what).Get(ctx, &out)
		in.Done.Channels++
		in.Done.Read, in.Done.New, in.Done.Taken = in.Done.Read+out.Read, in.Done.New+out.New, in.Done.Taken+out.Taken
		if err != nil {
			workflow.GetLogger(ctx).Error("not caught up", "channel", channel, "error", err)
			in.Done.Failed++
		}
		show()
		if in.PauseSeconds > 0 {
			pause := workflow.TimerOptions{Summary: "pause before the next channel"}
			_ = workflow.NewTimerWithOptions(ctx, time.Duration(in.PauseSeconds)*time.Second, pause).Get(ctx, nil) // each looks at the context
		}
	})
	if err != nil || len(in.Left) == 0 {
		return in.Done, err
	}
	return in.Done, anew(ctx, CatchUp, in)
}

// ChannelSync takes in which channels the bot is in, and what they are called.
func ChannelSync(ctx workflow.Context) (out activities.SyncOutput, err error) {
	err = workflow.ExecuteActivity(background(ctx, 5*time.Minute, "list channels at Slack"), do.SyncChannels).Get(ctx, &out)
	return out, err
}
