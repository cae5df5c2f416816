package prompt

import (
	"slices"

	"myao/internal/chat"
)

// MemoryKind is one of the five kinds of memory, and the name of its template.
type MemoryKind string

// The kinds of memory. A thread has only a short-term one.
const (
	ThreadSummary  MemoryKind = "memory_thread"
	ChannelShort   MemoryKind = "memory_channel_short"
	ChannelLong    MemoryKind = "memory_channel_long"
	WorkspaceShort MemoryKind = "memory_workspace_short"
	WorkspaceLong  MemoryKind = "memory_workspace_long"
)

var memoryKinds = []MemoryKind{ThreadSummary, ChannelShort, ChannelLong, WorkspaceShort, WorkspaceLong}

// Memory returns the prompt for a memory: the system text, and the user turn that models require. A
// memory is not written in character, so no template sees the persona's system prompt, only
// Options.AgentPrompt.
//
// A thread's memory summarises the target thread; its present one is in ThreadMemories under its ts. A
// channel's summarises the whole conversation; its present long-term one is in Channels under its id.
// The workspace's summarises the memories in Channels; its present long-term one is WorkspaceLongTerm.
// No other memory contains the workspace's.
func (r *Renderer) Memory(kind MemoryKind, c chat.Context, o Options) (system, user string, err error) {
	c.Persona.SystemPrompt = ""
	_, v := r.fitView(c, o, kind != ThreadSummary)
	if kind == ThreadSummary && !slices.ContainsFunc(c.Conversation.TopLevel,
		func(m chat.Message) bool { return m.TS != c.TargetThread }) {
		v.TopLevel = nil // only the thread's own root
	}
	return r.pair(string(kind)+".tmpl", "memory_user.tmpl", v)
}
