package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/conversation"
)

// CatchUpInput is the input of CatchUp. The schedule sets PauseSeconds; the rest is what the earlier parts of the
// run leave to the next one.
type CatchUpInput struct {
	Of
	// PauseSeconds is the pause after each channel but the first ones. Nobody waits for the others, so they
	// must not use up Slack's rate limit.
	PauseSeconds int `json:"pause_seconds,omitempty"`
	// Gap is the number of the gap that the run reads up to, and Except the channels that it could not read.
	Gap    int64         `json:"gap,omitempty"`
	Except []string      `json:"except,omitempty"`
	Done   CatchUpOutput `json:"done"`
}

// CatchUpAllInput is what the earlier parts of a run of CatchUpAll leave to the next one; zero to begin.
type CatchUpAllInput struct {
	Of
	Left []string      `json:"left,omitempty"`
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
	// channelsPerActivity is how many channels one activity reads in which people no longer wait for an answer.
	channelsPerActivity = 20
	// promptChannels is how many channels CatchUp reads first, each in an activity of its own and
	// without pauses, because people may wait for answers there.
	promptChannels = 100
	// maxExcept is how many channels CatchUp may fail to read. With more of them, something else is
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

// CatchUp reads what was said while the door was closed. It makes no call of Slack unless events may have been missed.
// Then it reads the channels that are unread since the newest gap, those first that were read longest ago, so that it
// continues where an earlier run ended. A channel that fails stops no other. Gaps that open meanwhile are left to the
// next run.
func CatchUp(ctx workflow.Context, in CatchUpInput) (CatchUpOutput, error) {
	c := &catchUp{ctx: ctx, of: in.Of, done: in.Done, except: in.Except}
	prompt := in.Gap == 0
	if prompt {
		var out activities.FindGapOutput
		err := workflow.ExecuteActivity(background(ctx, time.Minute, "look for gaps"), do.FindGap, in.Of).Get(ctx, &out)
		if err != nil || out.Gap == 0 {
			return c.done, err
		}
		in.Gap = out.Gap
		c.listAtSlack()
	}
	for read := 0; read < channelsPerRun; prompt = false {
		request := activities.ListUnreadInput{Of: in.Of, Gap: in.Gap, Except: c.except, Limit: channelsPerRun - read}
		size, pause := channelsPerActivity, in.PauseSeconds
		if prompt {
			request.Limit, size, pause = promptChannels, 1, 0
		}
		var unread activities.ListUnreadOutput
		err := workflow.ExecuteActivity(background(ctx, time.Minute, "list unread channels"), do.ListUnread, request).
			Get(ctx, &unread)
		if err != nil || len(unread.Channels) == 0 {
			return c.done, err
		}
		c.total = c.done.Channels + unread.Total
		if err := c.readAll(unread.Channels, size, pause); err != nil || len(c.except) > maxExcept {
			return c.done, err
		}
		read += len(unread.Channels)
	}
	in.Except, in.Done = c.except, c.done
	return c.done, continueAsNew(ctx, CatchUp, in)
}

// CatchUpAll has Slack list the channels and reads all of them, gap or not, the most recently active first. An operator
// starts it. A channel that fails stops no other.
func CatchUpAll(ctx workflow.Context, in CatchUpAllInput) (CatchUpOutput, error) {
	c := &catchUp{ctx: ctx, of: in.Of, done: in.Done}
	if len(in.Left) == 0 {
		c.listAtSlack()
		var known activities.ListChannelsOutput
		err := workflow.ExecuteActivity(background(ctx, time.Minute, "list channels"), do.ListChannels, in.Of).
			Get(ctx, &known)
		if err != nil {
			return c.done, err
		}
		in.Left = known.Channels
	}
	c.total = c.done.Channels + len(in.Left)
	channels := in.Left[:min(channelsPerRun, len(in.Left))]
	in.Left = in.Left[len(channels):]
	if err := c.readAll(channels, 1, 0); err != nil || len(in.Left) == 0 {
		return c.done, err
	}
	in.Done = c.done
	return c.done, continueAsNew(ctx, CatchUpAll, in)
}

// catchUp is what both workflows do with the channels that they have found.
type catchUp struct {
	ctx    workflow.Context
	of     Of
	done   CatchUpOutput
	total  int      // channels in all parts of the run
	except []string // channels that were not read to the end
}

// listAtSlack has Slack list the channels. Without that, those are read that are known.
func (c *catchUp) listAtSlack() {
	if _, err := ChannelSync(c.ctx, c.of); err != nil {
		workflow.GetLogger(c.ctx).Error("channels not listed; catching up with those that are known", "error", err)
	}
}

// readAll reads channels, size of them in one activity with a pause of some seconds after each. Those that failed it
// reads once more, each in an activity of its own.
func (c *catchUp) readAll(channels []string, size, pause int) error {
	c.showProgress()
	var failed [][]string
	err := forEach(c.ctx, slices.Collect(slices.Chunk(channels, size)), catchUpConcurrency,
		func(ctx workflow.Context, channels []string) {
			for _, channel := range c.read(ctx, channels, pause) {
				failed = append(failed, []string{channel})
			}
		})
	if err != nil {
		return err
	}
	return forEach(c.ctx, failed, catchUpConcurrency,
		func(ctx workflow.Context, channels []string) { c.read(ctx, channels, pause) })
}

// read reads channels in one activity, and returns those that it could not read.
func (c *catchUp) read(ctx workflow.Context, channels []string, pause int) (failed []string) {
	ctx = background(ctx, 10*time.Minute, "catch up with "+channels[0])
	if len(channels) > 1 {
		ctx = background(ctx, 30*time.Minute, "catch up with "+conversation.Count(len(channels), "channel"))
		ctx = workflow.WithHeartbeatTimeout(ctx, catchUpHeartbeat)
	}
	var out activities.CatchUpOutput
	in := activities.CatchUpInput{Of: c.of, Channels: channels, PauseSeconds: pause}
	err := workflow.ExecuteActivity(ctx, do.CatchUp, in).Get(ctx, &out)
	c.done.Channels += len(channels) - len(out.Failed)
	c.done.Read, c.done.New, c.done.Taken = c.done.Read+out.Read, c.done.New+out.New, c.done.Taken+out.Taken
	if err != nil {
		workflow.GetLogger(ctx).Error("not caught up", "channels", channels, "error", err)
		c.done.Failed += len(channels)
		c.except = append(c.except, channels...)
	}
	c.except = append(c.except, out.Unfinished...)
	c.showProgress()
	return out.Failed
}

// showProgress sets what Temporal's UI shows of the run.
func (c *catchUp) showProgress() {
	done := c.done
	workflow.SetCurrentDetails(c.ctx, fmt.Sprintf("%d of %d channels read: %s, %d of them new, %d taken up; %d failed",
		done.Channels, c.total, conversation.Count(done.Read, "message"), done.New, done.Taken, done.Failed))
}

// ChannelSync has Slack list the channels that the bot is in, and saves them.
func ChannelSync(ctx workflow.Context, in Of) (out activities.SyncOutput, err error) {
	err = workflow.ExecuteActivity(background(ctx, listTimeout, "list channels at Slack"), do.SyncChannels, in).
		Get(ctx, &out)
	return out, err
}
