package bench

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/answer/recall"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/test/testserver"
)

// measureRepeat replays a busy channel without a model: six people, a message a minute, one in three a reply in one of
// a few threads. The top level is judged after every fifth message. It measures how much of each prompt begins the one
// before it, too, which providers charge at a fraction.
func measureRepeat(b *bench) []row {
	s, _ := openStore(b)
	at := contextNoon
	builder := recall.New(&recall.Builder{
		Store: s, Own: slack.Identity{TeamID: "T1", UserID: "U0BOT", BotID: "B0BOT"}, Users: people{}, Directory: directory{},
		Persona:       chat.Persona{Name: "myao", SystemPrompt: "You are myao, a calm colleague."},
		MessagesLimit: contextLimit, ThreadLimit: 20, ActiveChannel: 7 * 24 * time.Hour, ThreadMemory: 7 * 24 * time.Hour,
		Clock: func() time.Time { return at }, Logger: slog.New(slog.DiscardHandler),
	})
	prompts, err := prompt.New(prompt.Config{})
	testserver.Must(b, err)
	c := chat.Conversation{Team: "T1", Channel: "C1"}
	parents := []string{}
	before, repeated, all := "", 0, 0
	var pending []string
	for n := range b.scaled(600, 200) {
		at = at.Add(time.Minute)
		m := chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(at), UserID: fmt.Sprint("U", n%6), Text: fmt.Sprintf(
			"%d: %s", n, strings.Repeat("what was said about the release ", 1+n%4))}
		if n%3 == 2 {
			m.ThreadTS = parents[n/12%len(parents)]
		} else {
			parents, pending = append(parents, m.TS), append(pending, m.TS)
		}
		testserver.Must(b, s.SaveHistory(b.Context(), []chat.Message{m}))
		if n%5 != 4 {
			continue
		}
		at = at.Add(10 * time.Second)
		r, err := builder.Build(b.Context(), c, false, "")
		testserver.Must(b, err)
		scene := conversation.Scene{Now: at, Target: r.Target(), Threads: r.Conversation.Threads, Pending: pending,
			BotID: r.Bot, BotNames: []string{"myao"}}
		features := scene.Features()
		memory := chat.ChannelMemory{ChannelID: "C1", ChannelName: "general", LongTerm: remembered(2000),
			ShortTerm: remembered(1200)}
		r.Context.Channels, r.WorkspaceLongTerm, r.WorkspaceShortTerm = []chat.ChannelMemory{memory}, memory.LongTerm,
			memory.ShortTerm
		system, _, err := prompts.Judgment(r.Context, prompt.Options{Now: at, MaxDelaySeconds: 600, Pending: pending,
			Features: &features, Names: r.Names, BotUserID: r.Bot})
		testserver.Must(b, err)
		if n >= contextLimit { // the window is full
			same, long := prompt.Repeated(before, system)
			repeated, all = repeated+same, all+long
		}
		before, pending = system, nil
	}
	share := newRow("judgment, busy channel: share that repeats the one before", "%", atLeast(70, "%"),
		100*float64(repeated)/float64(max(1, all)))
	share.counted = true
	return []row{share.withNote("%d of %d characters", repeated, all)}
}

// remembered is a memory of so many characters.
func remembered(characters int) string {
	return strings.Repeat("- 2026-02-27: somebody will look at it\n", characters/39)
}

// people knows everybody.
type people struct{ directory }

func (people) User(_ context.Context, id string) (slack.User, error) {
	return slack.User{ID: id, Name: "person " + id}, nil
}

var _ recall.Store = (*store.Store)(nil)
