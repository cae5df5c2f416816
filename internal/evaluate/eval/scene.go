package eval

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/intake/record"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// began is when every case begins: a Monday, at nine.
var began = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

const (
	channelID = "C0000001"
	ownBotID  = "B0000001" // of the bot itself
)

// scene is a case as it is told: its events become rows of a database and changes of conversations,
// by the code that does so for Slack's. It has a workspace of its own, which is Slack to that code.
type scene struct {
	Case
	config    config.Config
	store     *store.Store
	agents    *agents.Agents
	directory *channels.Directory
	recorder  *record.Recorder
	own       slack.Identity
	now       time.Time // the case's clock
	// messages are as they were told and edited, by the index of their event.
	messages map[int]chat.Message
	newest   int // index of the newest message
	states   map[chat.Conversation]*conversation.State
	// known are the conversations of states, in the order in which they began.
	known []chat.Conversation
}

// newScene makes the workspace of a case: its people, its channel and its memory.
func (r *Runner) newScene(ctx context.Context, c Case, repeat int, s *store.Store, agent agents.Agent) (*scene, error) {
	hash := sha256.Sum256(fmt.Appendf(nil, "%s#%d", c.ID, repeat))
	sc := &scene{
		Case: c, config: r.Config, store: s, now: began, messages: map[int]chat.Message{},
		states: map[chat.Conversation]*conversation.State{},
		own: slack.Identity{TeamID: fmt.Sprintf("T%X", hash[:8]), UserID: BotID, BotID: ownBotID,
			Name: r.Config.Persona.Name},
	}
	clock := func() time.Time { return sc.now }
	sc.directory = &channels.Directory{Store: s, Slack: sc, Config: r.Config, Clock: clock, Logger: r.Logger}
	sc.recorder = record.New(&record.Recorder{Store: s, Directory: sc.directory})
	sc.agents = agents.New(&agents.Agents{
		Models: agents.Models{Prompts: r.Prompts, ByUse: agents.ByUse{Judgment: agent}}, Store: s, Own: sc.own,
		Reacts: func() bool { return r.Config.Slack.React },
		Recall: recall.New(&recall.Builder{
			Store: s, Own: sc.own, Users: sc, Directory: sc.directory, ThreadLimit: r.Config.Slack.ThreadHistoryLimit,
			Persona:       chat.Persona(r.Config.Persona),
			MessagesLimit: r.Config.Response.ChannelMessagesLimit,
			ActiveChannel: r.Config.Response.ActiveChannel(), ThreadMemory: r.Config.Response.ThreadMemory(),
			Clock: clock, Logger: r.Logger,
		}),
		Memory: r.Config.Memory, Channel: r.Config.Channel,
		Clock: clock, Logger: r.Logger,
	})
	described, err := sc.Channel(ctx, channelID)
	if err != nil {
		return nil, err
	}
	if err := s.SaveChannel(ctx, sc.own.TeamID, channels.Row(described, began)); err != nil {
		return nil, err
	}
	for _, p := range c.People {
		if err := s.SaveUsers(ctx, sc.own.TeamID, store.User{ID: p.ID, Name: p.Name, Bot: sc.isApp(p.ID),
			Refreshed: began}); err != nil {
			return nil, err
		}
	}
	return sc, sc.remember(ctx)
}

// User implements recall.Users.
func (sc *scene) User(_ context.Context, id string) (slack.User, error) {
	for _, p := range sc.People {
		if p.ID == id {
			return slack.User{ID: id, Name: p.Name, IsBot: sc.isApp(id)}, nil
		}
	}
	return slack.User{}, &slack.Error{Code: "user_not_found", Kind: slack.Final}
}

// Channel implements channels.Slack.
func (sc *scene) Channel(_ context.Context, id string) (slack.Channel, error) {
	if id != channelID {
		return slack.Channel{}, &slack.Error{Code: "channel_not_found", Kind: slack.Final}
	}
	return slack.Channel{ID: id, Name: sc.Case.Channel.Name, Private: sc.Case.Channel.Private, Member: true}, nil
}

// Members implements channels.Slack. No case has guests, so nobody asks.
func (sc *scene) Members(context.Context, string, string) ([]string, string, error) {
	return nil, "", &slack.Error{Code: "channel_not_found", Kind: slack.Final}
}

// isApp reports whether an id of people is an app's.
func (sc *scene) isApp(id string) bool {
	return slices.ContainsFunc(sc.Events, func(e Event) bool { return e.App && e.By == id })
}

// remember saves what the bot remembers when the case begins.
func (sc *scene) remember(ctx context.Context) error {
	workspace := chat.Scope{Team: sc.own.TeamID}
	channel := chat.Scope{Team: sc.own.TeamID, Channel: channelID}
	thread := channel
	for i, e := range sc.Events {
		if e.Thread != nil { // the newest thread
			thread.Thread = sc.ts(*e.Thread)
		} else if i == 0 {
			thread.Thread = sc.ts(0)
		}
	}
	for _, of := range []struct {
		chat.Scope
		long, short string
	}{
		{workspace, sc.Memory.WorkspaceLong, sc.Memory.WorkspaceShort},
		{channel, sc.Memory.ChannelLong, sc.Memory.ChannelShort},
		{thread, "", sc.Memory.Thread},
	} {
		if of.long+of.short == "" {
			continue
		}
		update := store.MemoryUpdate{Scope: of.Scope, Cursor: store.Cursor{Newest: began}, Read: began,
			Long: store.WithdrawMemory, Short: store.WithdrawMemory}
		for _, m := range []struct {
			chat.Term
			text   string
			action *store.MemoryAction
		}{{chat.LongTerm, of.long, &update.Long}, {chat.ShortTerm, of.short, &update.Short}} {
			if m.text == "" {
				continue
			}
			*m.action = store.RenewMemory
			if err := sc.store.SaveDraft(ctx, store.Memory{Scope: of.Scope, Term: m.Term, Text: m.text, Made: began},
				update.Cursor); err != nil {
				return err
			}
		}
		if err := sc.store.SaveMemories(ctx, update); err != nil {
			return err
		}
	}
	return nil
}
