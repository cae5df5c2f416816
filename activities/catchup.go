package activities

import (
	"context"
	"fmt"
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

// CatchUpInput names a channel to catch up with.
type CatchUpInput struct {
	Channel string `json:"channel"`
	// Threads asks for its threads, too, even if they were read lately.
	Threads bool `json:"threads,omitempty"`
}

// CatchUpOutput counts messages.
type CatchUpOutput struct {
	Read int `json:"read"`
	// New were not known.
	New int `json:"new,omitempty"`
	// Taken were passed on to their conversations as their events would have been.
	Taken int `json:"taken,omitempty"`
}

// CatchUp reads what was said in a channel while the door was closed.
func (a *Activities) CatchUp(ctx context.Context, in CatchUpInput) (CatchUpOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	result, err := a.Missed.Channel(ctx, in.Channel, in.Threads)
	if err != nil {
		return CatchUpOutput{}, classify(fmt.Errorf("catch up with %s: %w", in.Channel, err))
	}
	if result.Taken > 0 {
		a.Logger.InfoContext(ctx, "caught up", "channel", in.Channel, "read", result.Read, "new", result.New, "taken", result.Taken)
	}
	return CatchUpOutput{Read: result.Read, New: result.New, Taken: result.Taken}, nil
}
