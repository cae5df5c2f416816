package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"myao/internal/pause"
	"myao/internal/slack"
)

// SyncOutput counts what a listing of channels changed.
type SyncOutput struct {
	Joined   int `json:"joined,omitempty"`
	Left     int `json:"left,omitempty"`
	Renamed  int `json:"renamed,omitempty"`
	Archived int `json:"archived,omitempty"`
}

// SyncChannels takes in which channels the bot is in, and what they are called.
func (a *Activities) SyncChannels(ctx context.Context) (SyncOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	synced, err := a.Missed.Sync(ctx)
	if err != nil {
		return SyncOutput{}, classify(fmt.Errorf("sync channels: %w", err))
	}
	return SyncOutput(synced), nil
}

// ChannelsOutput is the ids of channels.
type ChannelsOutput struct {
	Channels []string `json:"channels,omitempty"`
}

// Channels is those that the bot is in, the most recently active first.
func (a *Activities) Channels(ctx context.Context) (ChannelsOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	ids, err := a.Missed.Channels(ctx)
	if err != nil {
		return ChannelsOutput{}, classify(fmt.Errorf("list channels: %w", err))
	}
	return ChannelsOutput{Channels: ids}, nil
}

// CatchUpInput names the channels to catch up with, one after the other.
type CatchUpInput struct {
	Channels []string `json:"channels"`
	// Threads asks for their threads, too, even if they were read lately.
	Threads bool `json:"threads,omitempty"`
	// PauseSeconds is left after each channel.
	PauseSeconds int `json:"pause_seconds,omitempty"`
}

// CatchUpOutput counts messages.
type CatchUpOutput struct {
	Read int `json:"read"`
	// New were not known.
	New int `json:"new,omitempty"`
	// Taken were passed on to their conversations as their events would have been.
	Taken int `json:"taken,omitempty"`
	// Failed is the channels that could not be read.
	Failed []string `json:"failed,omitempty"`
}

// CatchUp reads what was said in some channels while the door was closed. One of
// several that cannot be read stops no other, and is told of; one by itself is a failure.
// At Slack's limit it leaves the others alone for as long as Slack says, or fails if that is
// longer than it has.
func (a *Activities) CatchUp(ctx context.Context, in CatchUpInput) (CatchUpOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	var out CatchUpOutput
	for _, channel := range in.Channels {
		result, err := a.Missed.Channel(ctx, channel, in.Threads)
		left := time.Duration(in.PauseSeconds) * time.Second
		if refused, ok := errors.AsType[*slack.Error](err); ok {
			left = max(left, refused.RetryAfter)
		}
		end, limited := ctx.Deadline()
		switch {
		case err != nil && (len(in.Channels) == 1 || ctx.Err() != nil || limited && time.Until(end) <= left):
			return CatchUpOutput{}, classify(fmt.Errorf("catch up with %s: %w", channel, err))
		case err != nil:
			a.Logger.WarnContext(ctx, "not caught up", "channel", channel, "error", err)
			out.Failed = append(out.Failed, channel)
		case result.Taken > 0:
			a.Logger.InfoContext(ctx, "caught up", "channel", channel, "read", result.Read, "new", result.New, "taken", result.Taken)
		}
		out.Read, out.New, out.Taken = out.Read+result.Read, out.New+result.New, out.Taken+result.Taken
		if err := pauseUnlessStopped(ctx, left); err != nil {
			return CatchUpOutput{}, err
		}
	}
	return out, nil
}

// pauseUnlessStopped is a pause that a worker which is told to stop does not wait for: what has been
// read is marked, and another attempt has little to do with it.
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
