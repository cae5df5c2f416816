package tools

import (
	"context"
	"regexp"
	"strings"
	"time"

	"myao/internal/answer/playbook"
	"myao/internal/chat"
	"myao/internal/store"
)

// Sources is what tools read from and write to.
type Sources struct {
	Store Store
	// Render writes messages as material for a model, as readers in a conversation may see them: those
	// that they may not see are left out. Each carries the marker of its reference (Mark).
	Render func(ctx context.Context, c chat.Conversation, found []chat.Found) (string, error)
	// Permalink returns the address of a message.
	Permalink func(ctx context.Context, channel, ts string) (string, error)
	// Pages fetches pages of the web; nil: no link is opened, and Shown and Material are not called.
	Pages Pages `nil:"ok"`
	// Files reads files of Slack; nil: no file is read.
	Files Files `nil:"ok"`
	// Playbooks are those of the operator; nil: there are none.
	Playbooks *playbook.Dir `nil:"ok"`
	// Places and People know where post_message may post; nil: there is no such tool, and Safe is not called.
	Places Places `nil:"ok"`
	People People `nil:"ok"`
	// Safe returns a model's Markdown as it may be posted.
	Safe func(text string) string `nil:"ok"`
	// Shown returns the messages that a model is shown for a reply to a message, by its ts.
	Shown func(ctx context.Context, c chat.Conversation, trigger string) ([]chat.Found, error) `nil:"ok"`
	// Around returns those of the messages that a model is shown which are of its conversation and around it; nil: it
	// is not known.
	Around func(ctx context.Context, c chat.Conversation) ([]chat.Message, error) `nil:"ok"`
	// Material writes a text from outside as material for a model: none of it looks like structure.
	Material func(text string) string `nil:"ok"`
	// Secrets are our own, Instructions what models are told to do: no call of a tool of Remote may hold any
	// of them.
	Secrets, Instructions []string
	// Remote has the tools of MCP servers; nil: there are none.
	Remote Remote `nil:"ok"`
	// Promises are how many promises may be open; without one in a conversation none is made.
	Promises store.PromiseLimits
	// Workspace is the address of the workspace, such as https://example.slack.com/; empty: it is not known.
	Workspace string
	// Zone is the time zone of the dates that a model writes in a channel.
	Zone func(ctx context.Context, c chat.Conversation) (*time.Location, error)
}

// Store reads and writes messages and notes.
type Store interface {
	WrittenStore
	Search(ctx context.Context, q store.SearchQuery) ([]chat.Found, error)
	SearchHookEvents(ctx context.Context, q store.SearchQuery) ([]store.HookEvent, error)
	Page(ctx context.Context, r store.PageRequest) (page []chat.Message, more bool, err error)
	Channels(ctx context.Context, team string, ids []string) (map[string]store.Channel, error)
	ChannelsNamed(ctx context.Context, team, name string) ([]store.Channel, error)
	UsersNamed(ctx context.Context, team, name string) ([]string, error)
	Users(ctx context.Context, team string, ids []string) (map[string]store.User, error)
	ReadersOf(ctx context.Context, team, channel string) (store.Readers, error)
	SilencedUntil(ctx context.Context, conversations ...chat.Conversation) (time.Time, error)
	Files(ctx context.Context, c chat.Conversation, limit int) ([]store.StoredFile, error)
	StepsBefore(ctx context.Context, id string) ([]store.Step, error)
	Notes(ctx context.Context, team, channel string) ([]chat.Note, error)
	AddNote(ctx context.Context, team, channel, step string, n chat.Note) (chat.Note, error)
	AddPromise(ctx context.Context, p store.Promise, most store.PromiseLimits) (store.Promise, error)
	ForgetNote(ctx context.Context, scope chat.Scope, id int64, step, by string) (found bool, err error)
}

// reference matches an id in Slack's form of a mention of a user or a channel, or alone.
var reference = regexp.MustCompile(`^(?:<[@#])?([CDGUW][A-Z0-9]+)(?:\|[^>]*)?>?$`)

// channel finds the id of a channel that a model names: "#general", "general", an id, or "" for
// the conversation's own.
func (s Sources) channel(ctx context.Context, p Place, named string) (string, error) {
	named = strings.TrimSpace(named)
	if named == "" {
		return p.Conversation.Channel, nil
	}
	if l, ok := chat.ParseLink(named); ok {
		return s.linked(ctx, p, l)
	}
	found, err := s.Store.ChannelsNamed(ctx, p.Conversation.Team, strings.ToLower(strings.TrimPrefix(named, "#")))
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0].ID, nil
	}
	if m := reference.FindStringSubmatch(named); m != nil { // a name in capitals looks like an id, too
		return m[1], nil
	}
	return "", unknownChannel(named)
}

// unknownChannel is the same for a channel that does not exist and one that may not be known here.
func unknownChannel(named string) error {
	return mistakef("No channel %q is known here. Give the name of a channel as it stands above, or leave it out for "+
		"this one.", named)
}
