package recall

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"myao/internal/chat"
	"myao/internal/store"
)

// Source names a channel's memory among the sources of one of the workspace, as in
// "C1/57". SourceChannel is its inverse as far as the channel goes.
func Source(channel string, id int64) string { return channel + "/" + strconv.FormatInt(id, 10) }

// SourceChannel is the channel of a source made by Source.
func SourceChannel(source string) string {
	channel, _, _ := strings.Cut(source, "/")
	return channel
}

// Workspace is what is remembered of the workspace, as far as a reader in a channel, or
// with here empty everybody, may know it; nil where there is none. A memory that was
// made when a channel was public is not shown any more once that has been closed.
func (b *Builder) Workspace(ctx context.Context, team, here string) (long, short *store.Memory, err error) {
	standing, err := b.Store.Standing(ctx, chat.Scope{Team: team})
	if err != nil {
		return nil, nil, err
	}
	var channels []string
	for _, m := range []*store.Memory{standing.Long, standing.Short} {
		if m != nil {
			for _, source := range m.Sources {
				channels = append(channels, SourceChannel(source))
			}
		}
	}
	seen, err := b.Store.ChannelNames(ctx, team, here, channels)
	if err != nil {
		return nil, nil, err
	}
	open := func(m *store.Memory) *store.Memory {
		if m == nil || slices.ContainsFunc(m.Sources, func(source string) bool { return seen[SourceChannel(source)] == "" }) {
			return nil
		}
		return m
	}
	return open(standing.Long), open(standing.Short), nil
}

// textOf is a memory's text; empty where there is none.
func textOf(m *store.Memory) string {
	if m == nil {
		return ""
	}
	return m.Text
}
