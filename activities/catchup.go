package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"myao/internal/runtime/pause"
	"myao/internal/runtime/temporal"
	"myao/internal/slack"
)

// SyncOutput counts the changes of a sync.
type SyncOutput struct {
	Joined   int `json:"joined,omitempty"`
	Left     int `json:"left,omitempty"`
	Renamed  int `json:"renamed,omitempty"`
	Archived int `json:"archived,omitempty"`
}

// SyncChannels saves the channels that the bot is in, and their names.
func (a *Activities) SyncChannels(ctx context.Context, in Of) (SyncOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	synced, err := a.Missed.Sync(ctx)
	if err == nil && in.Team != "" { // where there may be several, and not all are listed as often
		err = a.Store.RecordRun(ctx, temporal.ChannelSyncSchedule, in.Team)
	}
	if err != nil {
		return SyncOutput{}, classify(fmt.Errorf("sync channels: %w", err))
	}
	return SyncOutput(synced), nil
}

// ListChannelsOutput holds channel ids.
type ListChannelsOutput struct {
	Channels []string `json:"channels,omitempty"`
}

// ListChannels returns the channels that the bot is in, the most recently active first.
func (a *Activities) ListChannels(ctx context.Context, _ Of) (ListChannelsOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	ids, err := a.Missed.Channels(ctx)
	if err != nil {
		return ListChannelsOutput{}, classify(fmt.Errorf("list channels: %w", err))
	}
	return ListChannelsOutput{Channels: ids}, nil
}

// FindGapOutput says whether channels are to be read.
type FindGapOutput struct {
	// Gap is the number of the newest time in which events may have been missed; 0 if all channels have been
	// read since.
	Gap int64 `json:"gap,omitempty"`
}

// FindGap reports whether events may have been missed, or all channels were last read a day ago. If not, the
// run is over.
func (a *Activities) FindGap(ctx context.Context, in Of) (FindGapOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	gap, err := a.Missed.Due(ctx)
	if err == nil && gap == 0 {
		err = a.recordRun(ctx, in, temporal.CatchUpSchedule)
	}
	if err != nil {
		return FindGapOutput{}, classify(fmt.Errorf("look for gaps: %w", err))
	}
	return FindGapOutput{Gap: gap}, nil
}

// ListUnreadInput asks for channels that have not been read since a gap.
type ListUnreadInput struct {
	Of
	Gap int64 `json:"gap"`
	// Except are the channels that could not be read.
	Except []string `json:"except,omitempty"`
	Limit  int      `json:"limit"`
}

// ListUnreadOutput holds channels that are to be read.
type ListUnreadOutput struct {
	Channels []string `json:"channels,omitempty"`
	// Total counts all of them, also those beyond the limit.
	Total int `json:"total"`
}

// ListUnread returns the next channels to read, those read longest ago first. If there are none, it closes
// the gap, and the run is over.
func (a *Activities) ListUnread(ctx context.Context, in ListUnreadInput) (ListUnreadOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	ids, total, err := a.Missed.Unread(ctx, in.Gap, in.Except, in.Limit)
	if err == nil && len(ids) == 0 {
		err = a.recordRun(ctx, in.Of, temporal.CatchUpSchedule)
	}
	if err != nil {
		return ListUnreadOutput{}, classify(fmt.Errorf("list channels to read: %w", err))
	}
	return ListUnreadOutput{Channels: ids, Total: total}, nil
}

// CatchUpInput names the channels to read, one after the other.
type CatchUpInput struct {
	Of
	Channels []string `json:"channels"`
	// PauseSeconds is the pause after each channel.
	PauseSeconds int `json:"pause_seconds,omitempty"`
}

// CatchUpOutput counts messages.
type CatchUpOutput struct {
	Read int `json:"read"`
	// New counts messages that were unknown.
	New int `json:"new,omitempty"`
	// Taken counts messages that were passed on to their conversations, as their events would have been.
	Taken int `json:"taken,omitempty"`
	// Failed are the channels that could not be read.
	Failed []string `json:"failed,omitempty"`
	// Unfinished are the channels with more than one call reads.
	Unfinished []string `json:"unfinished,omitempty"`
}

// CatchUp reads the messages of channels that were missed while the door was closed. If one of several
// channels cannot be read, it goes on with the others and lists that one in Failed. If the only
// channel cannot be read, it fails. At a rate limit it pauses for as long as Slack says, or fails
// if its deadline is sooner.
func (a *Activities) CatchUp(ctx context.Context, in CatchUpInput) (CatchUpOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	var out CatchUpOutput
	for _, channel := range in.Channels {
		result, err := a.Missed.Channel(ctx, channel)
		wait := time.Duration(in.PauseSeconds) * time.Second
		if refused, ok := errors.AsType[*slack.Error](err); ok {
			wait = max(wait, refused.RetryAfter)
		}
		end, limited := ctx.Deadline()
		switch {
		case err != nil && (len(in.Channels) == 1 || ctx.Err() != nil || limited && time.Until(end) <= wait):
			return CatchUpOutput{}, classify(fmt.Errorf("catch up with %s: %w", channel, err))
		case err != nil:
			a.Logger.WarnContext(ctx, "not caught up", "channel", channel, "error", err)
			out.Failed = append(out.Failed, channel)
		case result.Unfinished:
			out.Unfinished = append(out.Unfinished, channel)
		case result.Taken > 0:
			a.Logger.InfoContext(ctx, "caught up", "channel", channel, "read", result.Read, "new", result.New, "taken",
				result.Taken)
		}
		out.Read, out.New, out.Taken = out.Read+result.Read, out.New+result.New, out.Taken+result.Taken
		if err := pauseUnlessStopped(ctx, wait); err != nil {
			return CatchUpOutput{}, err
		}
	}
	return out, nil
}

// pauseUnlessStopped pauses, and returns early when the worker stops. What was read is marked as read, so
// the next attempt has little to do.
func pauseUnlessStopped(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel(errors.New("the worker stops"))
		case <-ctx.Done():
		}
	}()
	if !pause.For(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}
