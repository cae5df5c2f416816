package inspector

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// memory is a memory that appears in a conversation's prompts.
type memory struct {
	Scope string `json:"scope"` // workspace, channel or thread
	// Channel and Name are a channel's id and name. Thread is the ts of a thread's parent.
	Channel string    `json:"channel,omitempty"`
	Name    string    `json:"name,omitempty"`
	Thread  string    `json:"thread,omitempty"`
	Term    chat.Term `json:"term"`
	Text    string    `json:"text"`
	At      time.Time `json:"at,omitzero"` // when it was made
}

const (
	// memoriesShown is how many memories of channels, and how many of threads, are shown: as many
	// as in a prompt.
	memoriesShown = 20
	// scopesDated is for how many scopes the time of their memories is read.
	scopesDated = 200
)

// memories is the memories that a reader in the conversation may know: of the workspace, the
// channels and the channel's threads, in the prompts' order.
func (w *Inspector) memories(ctx context.Context, db *store.Store, c chat.Conversation) ([]memory, error) {
	now := w.Clock()
	held, err := db.Context(ctx, store.ContextRequest{
		Conversation: c, Active: now.Add(-w.Config.Response.ActiveChannel()), Channels: memoriesShown,
		Remembered: now.Add(-w.Config.Response.ThreadMemory()), Threads: memoriesShown,
	})
	if err != nil {
		return nil, err
	}
	made, err := memoriesMade(ctx, db, c)
	if err != nil {
		return nil, err
	}
	all := []memory{}
	for _, m := range []*store.Memory{held.Long, held.Short} {
		if m != nil {
			all = append(all, memory{Scope: "workspace", Term: m.Term, Text: m.Text, At: m.Made})
		}
	}
	slices.SortFunc(held.Channels, func(a, b store.ChannelKnowledge) int {
		return cmp.Or(cmp.Compare(a.ChannelName, b.ChannelName), cmp.Compare(a.ChannelID, b.ChannelID))
	})
	for _, k := range held.Channels {
		if k.LongTerm != "" {
			all = append(all, memory{Scope: "channel", Channel: k.ChannelID, Name: k.ChannelName, Term: chat.LongTerm,
				Text: k.LongTerm, At: made.byID[k.LongID]})
		}
		if k.ShortTerm != "" {
			all = append(all, memory{Scope: "channel", Channel: k.ChannelID, Name: k.ChannelName, Term: chat.ShortTerm,
				Text: k.ShortTerm, At: made.byID[k.ShortID]})
		}
	}
	for _, ts := range slices.Sorted(maps.Keys(held.Threads)) {
		all = append(all, memory{Scope: "thread", Channel: c.Channel, Thread: ts, Term: chat.ShortTerm,
			Text: held.Threads[ts], At: made.byThread[ts]})
	}
	return all, nil
}

// madeTimes is when memories were made.
type madeTimes struct {
	byID     map[int64]time.Time
	byThread map[string]time.Time // of the conversation's channel
}

func memoriesMade(ctx context.Context, db *store.Store, c chat.Conversation) (madeTimes, error) {
	made := madeTimes{byID: map[int64]time.Time{}, byThread: map[string]time.Time{}}
	for _, channel := range []string{"", c.Channel} {
		scopes, err := db.MemoryOverviews(ctx, c.Team, channel, scopesDated)
		if err != nil {
			return madeTimes{}, err
		}
		for _, s := range scopes {
			for _, m := range []*store.Memory{s.Long, s.Short} {
				if m == nil {
					continue
				}
				made.byID[m.ID] = m.Made
				if s.Scope.Thread != "" {
					made.byThread[s.Scope.Thread] = m.Made
				}
			}
		}
	}
	return made, nil
}
