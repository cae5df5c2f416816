package tools

import (
	"context"
	"net/url"
	"strings"

	"myao/internal/chat"
)

// linked is the channel that a link of Slack leads to, if readers in the conversation may know it. A host alone does
// not tell whose channel it is: workspaces are renamed, organisations have addresses of their own, and channels are
// shared. The id of a channel does.
func (s Sources) linked(ctx context.Context, p Place, l chat.SlackLink) (string, error) {
	own := s.ours(p, l)
	seen, err := s.Store.Seen(ctx, p.Conversation.Team, p.Conversation.Channel, []string{l.Channel})
	switch {
	case err != nil:
		return "", err
	case own != foreign && seen[l.Channel]:
		return l.Channel, nil
	case own == ours:
		return "", mistake("This link leads to a channel that is not known here, or that not everybody here may " +
			"read. Say that you cannot read it here.")
	}
	return "", mistake("This link leads to another workspace, and nothing there can be read. Say so, or ask for what " +
		"it says.")
}

// ownership says whose a link is, by the address and the id of the workspace in it.
type ownership int

const (
	unclear ownership = iota // it is one of Slack's addresses
	ours
	foreign
)

func (s Sources) ours(p Place, l chat.SlackLink) ownership {
	switch {
	case l.Team == p.Conversation.Team:
		return ours
	case strings.HasPrefix(l.Team, "T"):
		return foreign
	case l.Host == "": // of slack:// without a workspace, or of an organisation
		return unclear
	}
	if u, err := url.Parse(s.Workspace); err == nil && u.Host != "" && strings.EqualFold(u.Host, l.Host) {
		return ours
	}
	if ofSlack(l.Host) {
		return unclear
	}
	return foreign
}

// ofSlack reports whether a host is one of Slack's.
func ofSlack(host string) bool {
	return strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com")
}
