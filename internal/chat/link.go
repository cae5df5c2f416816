package chat

import "strings"

// Link is the address of a message in a workspace's address, which ends with a slash, for Slack's markup
// (docs.slack.dev/reference/methods/chat.getPermalink). thread is that of its parent; empty for any other.
func Link(workspace, channel, ts, thread string) string {
	link := workspace + "archives/" + channel + "/p" + strings.ReplaceAll(ts, ".", "")
	if thread != "" {
		link += "?thread_ts=" + thread + "&amp;cid=" + channel
	}
	return link
}
