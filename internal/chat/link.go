package chat

import (
	"net/url"
	"regexp"
	"strings"
)

// Link is the address of a message in a workspace's address, which ends with a slash, for Slack's markup
// (docs.slack.dev/reference/methods/chat.getPermalink). thread is that of its parent; empty for any other.
func Link(workspace, channel, ts, thread string) string {
	link := workspace + "archives/" + channel + "/p" + strings.ReplaceAll(ts, ".", "")
	if thread != "" {
		link += "?thread_ts=" + thread + "&amp;cid=" + channel
	}
	return link
}

// SlackLink is what a link to a channel or message of Slack tells.
type SlackLink struct {
	// Host is the host of the address, such as example.slack.com; empty for slack:// and app.slack.com, which name the
	// workspace by its id in Team. Each may be empty.
	Host, Team string
	Channel    string
	// TS is the message's; empty for a link to a channel. Thread is that of its thread, if the link names it.
	TS, Thread string
}

var (
	markedLink = regexp.MustCompile(`^<([^<>|\s]+)(?:\|[^<>]*)?>$`)
	archived   = regexp.MustCompile(`^/archives/([CDG][A-Z0-9]+)(?:/p(\d{10,})(\d{6}))?/?$`)
	inClient   = regexp.MustCompile(`^/client/([TE][A-Z0-9]+)/([CDG][A-Z0-9]+)(?:/(?:thread/[CDG][A-Z0-9]+-)?(\d+\.\d+))?/?$`)
	channelID  = regexp.MustCompile(`^[CDG][A-Z0-9]+$`)
)

// ParseLink reads a link to a channel or message: what Copy link gives, the address in a browser, and slack://, bare or
// as Slack writes links in a text. ok is false for anything else. Whose host it is, the caller must check.
func ParseLink(s string) (l SlackLink, ok bool) {
	s = strings.TrimSpace(s)
	if m := markedLink.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	u, err := url.Parse(strings.ReplaceAll(s, "&amp;", "&"))
	if err != nil {
		return SlackLink{}, false
	}
	values := u.Query()
	switch archive, client := archived.FindStringSubmatch(u.Path), inClient.FindStringSubmatch(u.Path); {
	case u.Scheme == "slack" && u.Host == "channel":
		l = SlackLink{Team: values.Get("team"), Channel: values.Get("id"), TS: values.Get("message")}
	case u.Scheme != "https" && u.Scheme != "http" || u.User != nil:
		return SlackLink{}, false
	case archive != nil:
		l = SlackLink{Host: strings.ToLower(u.Host), Channel: archive[1]}
		if archive[2] != "" {
			l.TS = archive[2] + "." + archive[3]
		}
	case client != nil && strings.EqualFold(u.Host, "app.slack.com"):
		l = SlackLink{Team: client[1], Channel: client[2], TS: client[3]}
	default:
		return SlackLink{}, false
	}
	if ts := values.Get("thread_ts"); ValidTS(ts) && ts != l.TS {
		l.Thread = ts
	}
	return l, channelID.MatchString(l.Channel) && (l.TS == "" || ValidTS(l.TS))
}
