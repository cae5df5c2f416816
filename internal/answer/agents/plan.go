package agents

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/store"
)

const (
	// maxMessages bounds the messages read for one memory. Package prompt shortens them to fit.
	maxMessages = 1000
	// maxReplies bounds the replies read for a thread's memory, besides the parent.
	maxReplies = 100
	// maxChannels bounds the channels whose memories make one of the workspace, maxMemoryTokens the
	// tokens of those memories at their configured length: a common window has 128,000.
	maxChannels     = 200
	maxMemoryTokens = 100_000
	// maxStorageDelay bounds the time from a message's Stored until a reader sees it, and how far
	// the clocks of writer and reader may differ.
	maxStorageDelay = 5 * time.Minute
)

// MemoryQuestion asks for a summary.
type MemoryQuestion struct {
	Question
	Term chat.Term
	// Sources are the ts of messages, or for the workspace the channels' memories as named
	// by store.Source. A long-term memory also has those sources of its predecessor that may be
	// read again.
	Sources []string
	// shown are the sources in the prompt itself.
	shown []string
}

// MemoryQuestions returns the questions that renew the memories of a scope as of a time, whether
// it has changed or not. A term without messages has no question.
func (ag *Agents) MemoryQuestions(ctx context.Context, s chat.Scope, at time.Time) ([]MemoryQuestion, error) {
	current, err := ag.Store.CurrentMemory(ctx, s)
	if err != nil {
		return nil, err
	}
	p, err := ag.plan(ctx, s, current, at)
	return p.questions, err
}

// plan holds the questions that renew a scope's memories. Without a question, the long-term
// memory stays and the short-term memory is cleared. If its question is refused, a memory stays.
type plan struct {
	questions []MemoryQuestion
	// dropLongTerm is set if the long-term memory must not stay without a question.
	dropLongTerm bool
	// refused are those that the model refuses for good.
	refused []refusal
}

// action is what to do with a term's memory after all questions.
func (p plan) action(t chat.Term) store.MemoryAction {
	refused := slices.ContainsFunc(p.refused, func(r refusal) bool { return r.Term == t })
	switch {
	case !refused && slices.ContainsFunc(p.questions, func(q MemoryQuestion) bool { return q.Term == t }):
		return store.RenewMemory
	case t == chat.LongTerm && !p.dropLongTerm, t == chat.ShortTerm && refused:
		return store.KeepMemory
	}
	return store.WithdrawMemory
}

func (ag *Agents) plan(ctx context.Context, s chat.Scope, current store.CurrentMemory, at time.Time) (plan, error) {
	switch {
	case s.Workspace():
		return ag.planWorkspace(ctx, s, at)
	case s.Thread != "":
		return ag.planThread(ctx, s, current)
	}
	return ag.planChannel(ctx, s, current, at)
}

func (ag *Agents) planThread(ctx context.Context, s chat.Scope, current store.CurrentMemory) (plan, error) {
	said, omitted, err := ag.Store.ThreadMemoryInput(ctx, s, maxReplies)
	if err != nil {
		return plan{}, err
	}
	if !slices.ContainsFunc(said, func(m chat.Message) bool { return m.ThreadTS == s.Thread }) {
		return plan{}, nil // a message without replies is no thread
	}
	q, err := ag.messageQuestions(ctx, s, prompt.ThreadSummary, chat.ShortTerm, said, omitted, current)
	return plan{questions: q}, err
}

// planChannel makes the short-term memory from the messages in the window, and the long-term
// memory from the new messages.
func (ag *Agents) planChannel(
	ctx context.Context, s chat.Scope, current store.CurrentMemory, at time.Time,
) (plan, error) {
	window := ag.windowStart(at)
	since := window
	if current.Known {
		since = earlier(since, current.Cursor.Since)
	}
	said, omitted, err := ag.Store.ChannelMemoryInput(ctx, s.Team, s.Channel, since, maxMessages)
	if err != nil {
		return plan{}, err
	}
	recent, before := selectMessages(said, since, omitted, func(m store.StoredMessage) bool {
		return !m.Time().
			Before(window)
	})
	short, err := ag.messageQuestions(ctx, s, prompt.ChannelShort, chat.ShortTerm, recent, before, current)
	if err != nil {
		return plan{}, err
	}
	known := knownSources(said, current)
	added, before := selectMessages(said, since, omitted,
		func(m store.StoredMessage) bool { return isNew(m, known, current) })
	long, err := ag.messageQuestions(ctx, s, prompt.ChannelLong, chat.LongTerm, added, before, current)
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

// knownSources returns the ts of the messages that are sources of the current long-term memory.
func knownSources(said []store.StoredMessage, current store.CurrentMemory) map[string]bool {
	known := map[string]bool{}
	if current.Long == nil {
		return known
	}
	for _, m := range said {
		if slices.Contains(current.Long.Sources, m.TS) {
			known[m.TS] = true
		}
	}
	return known
}

// isNew reports whether the current memory may lack a message. If the message was stored about
// when the memory was made, the memory's sources decide, unless the message was edited:
// nobody knows which revision the memory was made from.
func isNew(m store.StoredMessage, known map[string]bool, current store.CurrentMemory) bool {
	switch {
	case !current.Known || !m.Stored.Before(current.Read.Add(maxStorageDelay)):
		return true
	case m.Stored.Before(current.Read.Add(-maxStorageDelay)):
		return false
	}
	return m.Revision != "" || !known[m.TS]
}

// selectMessages returns the wanted messages since a time, with the parents of their threads, and
// how many wanted ones are left out before them. The omitted ones count as wanted if the
// earliest message is.
func selectMessages(said []store.StoredMessage, since time.Time, omitted int,
	wanted func(store.StoredMessage) bool) (chosen []chat.Message, before int) {
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

// messageQuestions returns the question about messages, or none without messages.
func (ag *Agents) messageQuestions(ctx context.Context, s chat.Scope, kind prompt.MemoryKind, term chat.Term,
	said []chat.Message, omitted int, current store.CurrentMemory) ([]MemoryQuestion, error) {
	if len(said) == 0 {
		return nil, nil
	}
	r, err := ag.Recall.BuildForMemory(ctx, s, said, omitted)
	if err != nil {
		return nil, err
	}
	if s.Thread != "" && current.Short != nil && omitted > 0 {
		// it has what is not shown; a deleted message may be in it, too
		r.ThreadMemories = map[string]string{s.Thread: current.Short.Text}
	}
	o := ag.options(ag.ByUse.Memory, r)
	r.Context = ag.Prompts.FitMemory(kind, r.Context, o)
	var sources []string
	for _, m := range r.Conversation.All() {
		sources = append(sources, m.TS)
	}
	return ag.memoryQuestions(s, kind, term, r.Context, o, sources)
}

// planWorkspace merges the memories of the channels that everybody may read.
func (ag *Agents) planWorkspace(ctx context.Context, s chat.Scope, at time.Time) (plan, error) {
	limit := ag.maxMergedChannels()
	k, err := ag.Store.Knowledge(ctx, s.Team, "", time.Time{}, limit, limit)
	if err != nil {
		return plan{}, err
	}
	if k.Unlisted > 0 {
		ag.Logger.WarnContext(ctx, "workspace memory covers only some channels", "channels", limit, "left_out",
			k.Unlisted)
	}
	slices.SortFunc(k.Channels, func(a, b store.ChannelKnowledge) int {
		return strings.Compare(a.ChannelName,
			b.ChannelName)
	})
	existing, _, err := ag.Store.WorkspaceMemories(ctx, s.Team, "")
	if err != nil {
		return plan{}, err
	}
	var merged chat.Context
	merges := map[string]string{} // sources by channel
	var added []string
	if existing != nil {
		merged.WorkspaceLongTerm = existing.Text
		for _, source := range existing.Sources {
			merges[store.SourceChannel(source)] = source
		}
	}
	recent := chat.Context{ChannelsUntold: k.Unlisted}
	merged.ChannelsUntold = k.Unlisted
	var sources []string
	for _, c := range k.Channels {
		if c.ShortTerm != "" && !c.Active.Before(ag.windowStart(at)) {
			recent.Channels = append(recent.Channels, chat.ChannelMemory{ChannelID: c.ChannelID,
				ChannelName: c.ChannelName, ShortTerm: c.ShortTerm})
			sources = append(sources, store.Source(c.ChannelID, c.ShortID))
		}
		if source := store.Source(c.ChannelID, c.LongID); c.LongTerm != "" && merges[c.ChannelID] != source {
			merged.Channels = append(merged.Channels, chat.ChannelMemory{ChannelID: c.ChannelID,
				ChannelName: c.ChannelName, LongTerm: c.LongTerm})
			merges[c.ChannelID] = source
			added = append(added, source)
		}
	}
	p := plan{dropLongTerm: existing == nil}
	names, err := ag.Recall.NamesIn(ctx, s.Team, slices.Concat(recent.Channels, merged.Channels,
		[]chat.ChannelMemory{{LongTerm: merged.WorkspaceLongTerm}}))
	if err != nil {
		return plan{}, err
	}
	o := prompt.Options{Now: ag.Clock(), AgentPrompt: ag.ByUse.Memory.SystemPrompt, Names: names}
	if len(recent.Channels) > 0 {
		if p.questions, err = ag.memoryQuestions(s, prompt.WorkspaceShort, chat.ShortTerm, recent, o,
			sources); err != nil {
			return plan{}, err
		}
	}
	if len(merged.Channels) > 0 {
		long, err := ag.memoryQuestions(s, prompt.WorkspaceLong, chat.LongTerm, merged, o, added)
		if err != nil {
			return plan{}, err
		}
		for i := range long {
			long[i].Sources = slices.Sorted(maps.Values(merges))
		}
		p.questions = append(p.questions, long...)
	}
	return p, nil
}

// maxMergedChannels is how many channels' memories fit into the prompt for one of the workspace.
func (ag *Agents) maxMergedChannels() int {
	longest := max(ag.maxTokens(chat.LongTerm), ag.maxTokens(chat.ShortTerm), 1)
	return max(1, min(maxChannels, maxMemoryTokens/longest))
}

// memoryQuestions returns one question for a summary, in a slice. The token limit is as high as what
// summary keeps, because a cut would lose the last lines, which are the newest.
func (ag *Agents) memoryQuestions(s chat.Scope, kind prompt.MemoryKind, term chat.Term, c chat.Context,
	o prompt.Options, sources []string) ([]MemoryQuestion, error) {
	o.MaxTokens, o.WindowHours = ag.maxTokens(term), ag.Memory.ShortTermWindowHours
	q, err := newQuestion(ag.ByUse.Memory, s, func(a Agent) (llm.Request, error) {
		o.AgentPrompt = a.SystemPrompt
		system, user, err := ag.Prompts.Memory(kind, c, o)
		return llm.Request{Purpose: llm.PurposeMemory, System: system, Prompt: user,
			MaxOutputTokens: MaxSummaryBytes(ag.maxTokens(term)) / bytesPerToken}, err
	})
	return []MemoryQuestion{{Term: term, Sources: sources, shown: sources, Question: q}}, err
}
