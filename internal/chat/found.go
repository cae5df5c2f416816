package chat

// Found is a message found anywhere in the workspace.
type Found struct {
	Message
	// ChannelName is the name of its channel; empty for a direct message.
	ChannelName string
}
