package recall

import (
	"context"
	"maps"
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
	names, err := b.Store.Names(ctx, team, here, nil, sources(standing.Long, standing.Short))
	if err != nil {
		return nil, nil, err
	}
	return shown(standing.Long, names.Channels), shown(standing.Short, names.Channels), nil
}

// sources is the channels that memories of the workspace were made of.
func sources(memories ...*store.Memory) []string {
	channels := map[string]bool{}
	for _, m := range memories {
		if m != nil {
			for _, source := range m.Sources {
				channels[SourceChannel(source)] = true
			}
		}
	}
	return slices.Collect(maps.Keys(channels))
}

// shown is a memory of the workspace if the reader may know all that it was made of: it has
// the names of the channels that it may know. Else it is nil.
func shown(m *store.Memory, seen map[string]string) *store.Memory {
	if m == nil || slices.ContainsFunc(m.Sources, func(source string) bool { return seen[SourceChannel(source)] == "" }) {
		return nil
	}
	return m
}

// textOf is a memory's text; empty where there is none.
func textOf(m *store.Memory) string {
	if m == nil {
		return ""
	}
	return m.Text
}
