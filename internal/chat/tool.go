package chat

import "strings"

// ServerSeparator stands between the names of an MCP server and of its tool.
const ServerSeparator = "__"

// OfServer reports whether a tool's name is that of one of an MCP server.
func OfServer(tool string) bool { return strings.Contains(tool, ServerSeparator) }

// Tool is what everybody but its own code needs to know of a tool that a model may call before it answers. Its texts
// are translated by package words.
type Tool struct {
	Name string
	// Status says in Slack what the bot does while the tool runs, behind the app's name.
	Status string
	// StatusOf is Status with the name of a file or playbook, which the input has as "name"; empty if the tool has
	// none.
	StatusOf string
	// Ability says on the Home tab what the tool is good for. Tools that say the same are named once.
	Ability string
}

// The names of the tools.
const (
	ToolSearchMessages = "search_messages"
	ToolReadThread     = "read_thread"
	ToolReadChannel    = "read_channel"
	ToolOpenLink       = "open_link"
	ToolReadFile       = "read_file"
	ToolReadPlaybook   = "read_playbook"
	ToolLookAgain      = "look_again"
	ToolRemember       = "remember"
	ToolForgetNote     = "forget_note"
	ToolPostMessage    = "post_message"
)

// Tools are all tools of our own, in the order in which they are listed. Package tools has their code.
var Tools = []Tool{
	{Name: ToolSearchMessages, Status: "is searching messages…", Ability: "search what was said"},
	{Name: ToolReadThread, Status: "is reading a thread…", Ability: "read threads and channels"},
	{Name: ToolReadChannel, Status: "is reading a channel…", Ability: "read threads and channels"},
	{Name: ToolOpenLink, Status: "is opening a link…", Ability: "open links that stand in a conversation"},
	{Name: ToolReadFile, Status: "is reading a file…", StatusOf: "is reading %s…",
		Ability: "read the files that you attach"},
	{Name: ToolReadPlaybook, Status: "is reading a playbook…", StatusOf: "is reading %s…",
		Ability: "go by the playbooks of those who run me"},
	{Name: ToolLookAgain, Status: "is making a promise…", Ability: "look at something again later"},
	{Name: ToolRemember, Status: "is taking a note…", Ability: "remember what you tell me to"},
	{Name: ToolForgetNote, Status: "is taking back a note…", Ability: "forget it again"},
	{Name: ToolPostMessage, Status: "is posting a message…", Ability: "post a message elsewhere, once you have approved it"},
}

// ToolNames returns the names of Tools.
func ToolNames() []string {
	names := make([]string, len(Tools))
	for i, t := range Tools {
		names[i] = t.Name
	}
	return names
}

// Playbook is what a prompt says of a playbook, which the operator has written: its title, and when to use it, each on
// one line.
type Playbook struct{ Title, When string }
