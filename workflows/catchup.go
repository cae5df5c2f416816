package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
)

// CatchUpInput is the input of CatchUp.
type CatchUpInput struct {
	// Gaps has only those channels read in which something may have been missed. Without it, all are.
	Gaps bool `json:"gaps,omitempty"`
	// Gap is the number of the gap that the earlier parts of a run by gaps read up, and Except the channels that
	// they could not read.
	Gap    int64    `json:"gap,omitempty"`
	Except []string `json:"except,omitempty"`
	// Start has the channels listed first, and all of their threads read. A run by gaps does so anyway.
	Start bool `json:"start,omitempty"`
	// PauseSeconds is the pause after each channel. Nobody waits for a scheduled round, so it
	// must not use up Slack's rate limit.
	PauseSeconds int `json:"pause_seconds,omitempty"`
	// Left is the channels that an earlier part of the run left to do; empty: all channels.
	Left []string `json:"left,omitempty"`
	// Done is what the earlier parts of the run did.
	Done CatchUpOutput `json:"done"`
}

// CatchUpOutput counts channels and messages.
type CatchUpOutput struct {
	Channels int `json:"channels"`
	// Failed counts the channels that could not be read; the next run tries them again.
	Failed int `json:"failed,omitempty"`
	Read   int `json:"read"`
	New    int `json:"new,omitempty"`
	Taken  int `json:"taken,omitempty"`
}

const (
	// catchUpConcurrency is how many activities read channels at a time. Slack allows about
	// fifty calls a minute (docs.slack.dev/apis/web-api/rate-limits, Tier 3), and replies need
	// calls too.
	catchUpConcurrency = 2
	// channelsPerActivity is how many channels one activity of a scheduled round reads. Most
	// channels have nothing new, and an activity for each would be most of the cost of a small
	// workspace.
	channelsPerActivity = 20
	// promptChannels is how many channels a run by gaps reads first, each in an activity of its own and
	// without pauses, because people may wait for answers there.
	promptChannels = 100
	// maxExcept is how many channels a run by gaps may fail to read. With more of them, something else is
	// wrong, and the next run tries again.
	maxExcept = 100
	// channelsPerRun is how many channels are read before the workflow continues as new.
	channelsPerRun = 500
	// catchUpHeartbeat is the heartbeat timeout of an activity that reads several channels. It
	// is a little longer than others, because each heartbeat costs as much as an activity.
	catchUpHeartbeat = 15 * time.Second
	// listTimeout is enough to list a hundred thousand channels, even by 200 a call. Slack
	// allows about fifty calls a minute, and the activity waits for the next ones.
	listTimeout = 15 * time.Minute
)

// CatchUp reads what was said while the door was closed, the most recently active channels
// first. A channel that fails stops no other. A run by gaps makes no call of Slack unless events may
// have been missed. Then it begins with the channels that were read longest ago, so that it continues
// where an earlier one ended.
func CatchUp(ctx workflow.Context, in CatchUpInput) (CatchUpOutput, error) {
	c := &catchUp{ctx: ctx, in: in, size: channelsPerActivity, threads: in.Start || in.Gaps, pause: in.PauseSeconds}
	if in.Start {
		c.size = 1
	}
	if in.Gaps {
		return c.runByGaps()
	}
	return c.run()
}

type catchUp struct {
	ctx   workflow.Context
	in    CatchUpInput
	total int // channels in all parts of the run

	size    int  // channels that one activity reads
	threads bool // all of them are read
	pause   int  // after each channel, in seconds
}

// runByGaps reads the channels that are unread since the newest gap, until none is left. Gaps that open
// meanwhile are left to the next run.
func (c *catchUp) runByGaps() (CatchUpOutput, error) {
	prompt := c.in.Gap == 0
	if prompt {
		var out activities.DueOutput
		err := workflow.ExecuteActivity(background(c.ctx, time.Minute, "look for gaps"), do.Due).Get(c.ctx, &out)
		if err != nil || out.Gap == 0 {
			return c.in.Done, err
		}
		c.in.Gap = out.Gap
		c.listAtSlack()
	}
	for read := 0; read < channelsPerRun; prompt = false {
		in := activities.UnreadInput{Gap: c.in.Gap, Except: c.in.Except, Limit: channelsPerRun - read}
		c.size, c.pause = channelsPerActivity, c.in.PauseSeconds
		if prompt {
			in.Limit, c.size, c.pause = promptChannels, 1, 0
		}
		var unread activities.UnreadOutput
		err := workflow.ExecuteActivity(background(c.ctx, time.Minute, "list unread channels"), do.Unread, in).Get(c.ctx, &unread)
		if err != nil || len(unread.Channels) == 0 {
			return c.in.Done, err
		}
		c.total = c.in.Done.Channels + unread.Total
		c.showProgress()
		if err := c.readAll(unread.Channels); err != nil || len(c.in.Except) > maxExcept {
			return c.in.Done, err
		}
		read += len(unread.Channels)
	}
	return c.in.Done, continueAsNew(c.ctx, CatchUp, c.in)
}

func (c *catchUp) run() (CatchUpOutput, error) {
	if len(c.in.Left) == 0 {
		if err := c.list(); err != nil {
			return c.in.Done, err
		}
	}
	c.total = c.in.Done.Channels + len(c.in.Left)
	channels := c.in.Left[:min(channelsPerRun, len(c.in.Left))]
	c.in.Left = c.in.Left[len(channels):]
	c.showProgress()
	if err := c.readAll(channels); err != nil || len(c.in.Left) == 0 {
		return c.in.Done, err
	}
	return c.in.Done, continueAsNew(c.ctx, CatchUp, c.in)
}

// list finds the channels to read.
func (c *catchUp) list() error {
	if c.in.Start {
		c.listAtSlack()
	}
	var known activities.ChannelsOutput
	err := workflow.ExecuteActivity(background(c.ctx, time.Minute, "list channels"), do.Channels).Get(c.ctx, &known)
	c.in.Left = known.Channels
	return err
}

// listAtSlack has Slack list the channels. Without that, those are read that are known.
func (c *catchUp) listAtSlack() {
	if _, err := ChannelSync(c.ctx); err != nil {
		workflow.GetLogger(c.ctx).Error("channels not listed; catching up with those that are known", "error", err)
	}
}

// readAll reads channels, and once more, each in an activity of its own, those that failed.
func (c *catchUp) readAll(channels []string) error {
	var failed [][]string
	err := forEach(c.ctx, slices.Collect(slices.Chunk(channels, c.size)), catchUpConcurrency, func(ctx workflow.Context, channels []string) {
		for _, channel := range c.read(ctx, channels) {
			failed = append(failed, []string{channel})
		}
	})
	if err != nil {
		return err
	}
	return forEach(c.ctx, failed, catchUpConcurrency, func(ctx workflow.Context, channels []string) { c.read(ctx, channels) })
}

// read reads channels in one activity, and returns those that it could not read.
func (c *catchUp) read(ctx workflow.Context, channels []string) (failed []string) {
	ctx = background(ctx, 10*time.Minute, "catch up with "+channels[0])
	if len(channels) > 1 {
		ctx = background(ctx, 30*time.Minute, "catch up with "+count(len(channels), "channel"))
		ctx = workflow.WithHeartbeatTimeout(ctx, catchUpHeartbeat)
	}
	var out activities.CatchUpOutput
	in := activities.CatchUpInput{Channels: channels, Threads: c.threads, PauseSeconds: c.pause}
	err := workflow.ExecuteActivity(ctx, do.CatchUp, in).Get(ctx, &out)
	done := &c.in.Done
	done.Channels += len(channels) - len(out.Failed)
	done.Read, done.New, done.Taken = done.Read+out.Read, done.New+out.New, done.Taken+out.Taken
	if err != nil {
		workflow.GetLogger(ctx).Error("not caught up", "channels", channels, "error", err)
		done.Failed += len(channels)
	}
	if c.in.Gaps {
		if err != nil {
			c.in.Except = append(c.in.Except, channels...)
		}
		c.in.Except = append(c.in.Except, out.Unfinished...)
	}
	c.showProgress()
	return out.Failed
}

// showProgress sets what Temporal's UI shows of the run.
func (c *catchUp) showProgress() {
	done := c.in.Done
	workflow.SetCurrentDetails(c.ctx, fmt.Sprintf("%d of %d channels read: %s, %d of them new, %d taken up; %d failed",
		done.Channels, c.total, count(done.Read, "message"), done.New, done.Taken, done.Failed))
}

// ChannelSync has Slack list the channels that the bot is in, and saves them.
func ChannelSync(ctx workflow.Context) (out activities.SyncOutput, err error) {
	err = workflow.ExecuteActivity(background(ctx, listTimeout, "list channels at Slack"), do.SyncChannels).Get(ctx, &out)
	return out, err
}
