package mind

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/prompt"
	"myao/internal/store"
)

const (
	// maxMessages bounds how many messages one memory is made of; how much of them has
	// room in a prompt, package prompt says.
	maxMessages = 1000
	// maxReplies is the same of a thread, besides its parent.
	maxReplies = 100
	// maxChannels and memoriesAtMost bound of how many channels' memories one of the
	// workspace is made, and how many tokens they come to if each is as long as it is
	// set: a common window is 128,000.
	maxChannels     = 200
	maxMemoryTokens = 100_000
	// storageDelay is how long a message may take from being given its time of storage to being
	// there to be read, and how far the clocks of who stores it and who reads it may differ.
	storageDelay = 5 * time.Minute
)

// MemoryQuestion is a question for a summary, and what the answer will be made of.
type MemoryQuestion struct {
	Question
	Term chat.Term
	// Sources are the ts of messages, and for the workspace channels' memories as
	// store.Source names them. Those of a long-term memory include what it has by way
	// of the one that it replaces, as far as that may come before it again.
	Sources []string
	// shown are those of them that the question itself shows.
	shown []string
}

// MemoryQuestions is what would be asked to remember a scope, as of a time, whether it has
// changed or not. There is no question of a term where there is nothing to ask about.
func (m *Mind) MemoryQuestions(ctx context.Context, s chat.Scope, at time.Time) ([]MemoryQuestion, error) {
	standing, err := m.Store.CurrentMemory(ctx, s)
	if err != nil {
		return nil, err
	}
	p, err := m.plan(ctx, s, standing, at)
	return p.questions, err
}

// plan is what is to be asked to remember a scope. A term that nothing is asked about
// stays as it is, if it is the long one, or else is withdrawn; one that is refused stays.
type plan struct {
	questions []MemoryQuestion
	// dropLongTerm is set if not even the long-term memory may stay.
	dropLongTerm bool
	// refused is the questions among them that the model refuses for good.
	refused []refusal
}

// fate is what becomes of a term once all that is asked has been answered.
func (p plan) fate(t chat.Term) store.MemoryAction {
	refused := slices.ContainsFunc(p.refused, func(r refusal) bool { return r.Term == t })
	switch {
	case !refused && slices.ContainsFunc(p.questions, func(q MemoryQuestion) bool { return q.Term == t }):
		return store.PromoteDraft
	case t == chat.LongTerm && !p.dropLongTerm, t == chat.ShortTerm && refused:
		return store.KeepMemory
	}
	return store.ClearMemory
}

func (m *Mind) plan(ctx context.Context, s chat.Scope, standing store.CurrentMemory, at time.Time) (plan, error) {
	switch {
	case s.Workspace():
		return m.planWorkspace(ctx, s, at)
	case s.Thread != "":
		return m.planThread(ctx, s, standing)
	}
	return m.planChannel(ctx, s, standing, at)
}

func (m *Mind) planThread(ctx context.Context, s chat.Scope, standing store.CurrentMemory) (plan, error) {
	said, omitted, err := m.Store.ThreadMemoryInput(ctx, s, maxReplies)
	if err != nil {
		return plan{}, err
	}
	if !slices.ContainsFunc(said, func(m chat.Message) bool { return m.ThreadTS == s.Thread }) {
		return plan{}, nil // a parent alone is no thread
	}
	q, err := m.messageQuestions(ctx, s, prompt.ThreadSummary, chat.ShortTerm, said, omitted, standing)
	return plan{questions: q}, err
}

// planChannel makes the short-term memory of what is in the window, and the long-term
// memory of what is new.
func (m *Mind) planChannel(ctx context.Context, s chat.Scope, standing store.CurrentMemory, at time.Time) (plan, error) {
	window := m.windowStart(at)
	since := window
	if standing.Known {
		since = earlier(since, standing.Cursor.Since)
	}
	said, omitted, err := m.Store.ChannelMemoryInput(ctx, s.Team, s.Channel, since, maxMessages)
	if err != nil {
		return plan{}, err
	}
	lately, before := selectMessages(said, since, omitted, func(m store.StoredMessage) bool { return !m.Time().Before(window) })
	short, err := m.messageQuestions(ctx, s, prompt.ChannelShort, chat.ShortTerm, lately, before, standing)
	if err != nil {
		return plan{}, err
	}
	known := knownSources(said, standing)
	news, before := selectMessages(said, since, omitted, func(m store.StoredMessage) bool { return isNew(m, known, standing) })
	long, err := m.messageQuestions(ctx, s, prompt.ChannelLong, chat.LongTerm, news, before, standing)
	if err != nil {
		return plan{}, err
	}
	for i, q := range long {
		for _, ts := range q.Sources {
			known[ts] = true
		}
		long[i].Sources = slices.Sorted(maps.Keys(known))
	}
	return plan{questions: append(short, long...)}, nil
}

// knownSources is the ts of what was said that is in the standing long-term memory.
func knownSources(said []store.StoredMessage, standing store.CurrentMemory) map[string]bool {
	known := map[string]bool{}
	if standing.Long == nil {
		return known
	}
	for _, m := range said {
		if slices.Contains(standing.Long.Sources, m.TS) {
			known[m.TS] = true
		}
	}
	return known
}

// isNew reports whether the standing memory may not know a message yet. What was
// stored about when that was made is told by its sources, unless it was edited: then
// nobody knows which text that memory was made of.
func isNew(m store.StoredMessage, known map[string]bool, standing store.CurrentMemory) bool {
	switch {
	case !standing.Known || !m.Stored.Before(standing.Read.Add(storageDelay)):
		return true
	case m.Stored.Before(standing.Read.Add(-storageDelay)):
		return false
	}
	return m.Revision != "" || !known[m.TS]
}

// selectMessages is the wanted ones of what was said since a time, and the parents of their
// threads; and how many still earlier ones are missing, which are taken to be wanted
// if the earliest is that was read.
func selectMessages(said []store.StoredMessage, since time.Time, omitted int, wanted func(store.StoredMessage) bool) (chosen []chat.Message, before int) {
	parents := map[string]bool{}
	var first store.StoredMessage
	for _, m := range said {
		if m.Time().Before(since) {
			continue
		}
		if first.TS == "" || m.Time().Before(first.Time()) {
			first = m
		}
		if wanted(m) {
			parents[m.ThreadTS] = true
		}
	}
	for _, m := range said {
		if parents[m.TS] || !m.Time().Before(since) && wanted(m) {
			chosen = append(chosen, m.Message)
		}
	}
	if first.TS != "" && wanted(first) {
		before = omitted
	}
	return chosen, before
}

// messageQuestions is the question that messages make, if there are any.
func (m *Mind) messageQuestions(ctx context.Context, s chat.Scope, kind prompt.MemoryKind, term chat.Term, said []chat.Message, omitted int, standing store.CurrentMemory) ([]MemoryQuestion, error) {
	if len(said) == 0 {
		return nil, nil
	}
	r, err := m.Recall.Material(ctx, s, said, omitted)
	if err != nil {
		return nil, err
	}
	if s.Thread != "" && standing.Short != nil {
		r.ThreadMemories = map[string]string{s.Thread: standing.Short.Text}
	}
	o := m.options(m.Agents.Memory, r)
	r.Context = m.Prompts.FitMemory(kind, r.Context, o)
	var sources []string
	for _, m := range r.Conversation.All() {
		sources = append(sources, m.TS)
	}
	return m.memoryQuestions(s, kind, term, r.Context, o, sources)
}

// planWorkspace merges what is remembered of the channels that everybody may read.
func (m *Mind) planWorkspace(ctx context.Context, s chat.Scope, at time.Time) (plan, error) {
	most := m.maxMergedChannels()
	k, err := m.Store.Knowledge(ctx, s.Team, "", time.Time{}, most, most)
	if err != nil {
		return plan{}, err
	}
	if k.Unlisted > 0 {
		m.Logger.WarnContext(ctx, "the workspace's memory is made of some channels only", "channels", most, "left_out", k.Unlisted)
	}
	slices.SortFunc(k.Channels, func(a, b store.ChannelKnowledge) int { return strings.Compare(a.ChannelName, b.ChannelName) })
	existing, _, err := m.Store.WorkspaceMemories(ctx, s.Team, "")
	if err != nil {
		return plan{}, err
	}
	var merged chat.Context
	told := map[string]string{} // by channel
	var fresh []string
	if existing != nil {
		merged.WorkspaceLongTerm = existing.Text
		for _, source := range existing.Sources {
			told[store.SourceChannel(source)] = source
		}
	}
	lately := chat.Context{ChannelsUntold: k.Unlisted}
	merged.ChannelsUntold = k.Unlisted
	var sources []string
	for _, c := range k.Channels {
		if c.ShortTerm != "" && !c.Active.Before(m.windowStart(at)) {
			lately.Channels = append(lately.Channels, chat.ChannelMemory{ChannelID: c.ChannelID, ChannelName: c.ChannelName, ShortTerm: c.ShortTerm})
			sources = append(sources, store.Source(c.ChannelID, c.ShortID))
		}
		if source := store.Source(c.ChannelID, c.LongID); c.LongTerm != "" && told[c.ChannelID] != source {
			merged.Channels = append(merged.Channels, chat.ChannelMemory{ChannelID: c.ChannelID, ChannelName: c.ChannelName, LongTerm: c.LongTerm})
			told[c.ChannelID] = source
			fresh = append(fresh, source)
		}
	}
	p := plan{dropLongTerm: existing == nil}
	o := prompt.Options{Now: m.Clock(), AgentPrompt: m.Agents.Memory.SystemPrompt}
	if len(lately.Channels) > 0 {
		if p.questions, err = m.memoryQuestions(s, prompt.WorkspaceShort, chat.ShortTerm, lately, o, sources); err != nil {
			return plan{}, err
		}
	}
	if len(merged.Channels) > 0 {
		long, err := m.memoryQuestions(s, prompt.WorkspaceLong, chat.LongTerm, merged, o, fresh)
		if err != nil {
			return plan{}, err
		}
		for i := range long {
			long[i].Sources = slices.Sorted(maps.Values(told))
		}
		p.questions = append(p.questions, long...)
	}
	return p, nil
}

// maxMergedChannels is of how many channels' memories one of the workspace is made.
func (m *Mind) maxMergedChannels() int {
	longest := max(m.maxTokens(chat.LongTerm), m.maxTokens(chat.ShortTerm), 1)
	return max(1, min(maxChannels, maxMemoryTokens/longest))
}

// memoryQuestions is one question for a summary, in a list of its own. The model has room for as much
// as is kept: what it is cut off from are the last lines, which are the newest.
func (m *Mind) memoryQuestions(s chat.Scope, kind prompt.MemoryKind, term chat.Term, c chat.Context, o prompt.Options, sources []string) ([]MemoryQuestion, error) {
	o.MaxTokens, o.WindowHours = m.maxTokens(term), m.Memory.ShortTermWindowHours
	system, user, err := m.Prompts.Memory(kind, c, o)
	if err != nil {
		return nil, &FinalError{err}
	}
	return []MemoryQuestion{{Term: term, Sources: sources, shown: sources, Question: newQuestion(m.Agents.Memory, s, llm.Request{
		Purpose: llm.PurposeMemory, System: system, Prompt: user, MaxOutputTokens: MaxSummaryBytes(m.maxTokens(term)) / bytesPerToken,
	})}}, nil
}
