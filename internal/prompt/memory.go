package prompt

import (
	"slices"

	"myao/internal/chat"
)

// MemoryKind names one of the five summaries; it is also the name of its template.
type MemoryKind string

// The summaries. A thread has a short-term one only.
const (
	ThreadSummary  MemoryKind = "memory_thread"
	ChannelShort   MemoryKind = "memory_channel_short"
	ChannelLong    MemoryKind = "memory_channel_long"
	WorkspaceShort MemoryKind = "memory_workspace_short"
	WorkspaceLong  MemoryKind = "memory_workspace_long"
)

var memoryKinds = []MemoryKind{ThreadSummary, ChannelShort, ChannelLong, WorkspaceShort, WorkspaceLong}

// Memory is the prompt for a summary: the system text, and the user turn that
// models demand. A memory is not in character, so the persona's system prompt is
// kept from every template; Options.AgentPrompt is not.
//
// A thread's summary is of the target thread, with the existing one under its ts
// in ThreadMemories. A channel's is of the whole conversation, with the existing
// long-term one under the channel's id in Channels. The workspace's is of the
// memories in Channels, its long-term one with the existing one in WorkspaceLongTerm:
// into no other memory goes what is remembered of the workspace.
func (r *Renderer) Memory(kind MemoryKind, c chat.Context, o Options) (system, user string, err error) {
	c.Persona.SystemPrompt = ""
	_, v := r.fitted(c, o, kind != ThreadSummary)
	if kind == ThreadSummary && !slices.ContainsFunc(c.Conversation.TopLevel, func(m chat.Message) bool { return m.TS != c.TargetThread }) {
		v.TopLevel = nil // its root alone is nothing around it
	}
	return r.pair(string(kind)+".tmpl", "memory_user.tmpl", v)
}
