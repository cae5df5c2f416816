package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"myao/internal/answer/agents"
	"myao/internal/answer/recall"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/intake/record"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// told is a workspace in a database. It is Slack to the code that records and recalls.
type told struct {
	Workspace
	truth    Workspace // says what readers may see
	store    *store.Store
	agents   *agents.Agents
	tools    *tools.Registry
	recorder *record.Recorder
	now      time.Time
	sent     map[string]chat.Message // by id
}

func newTold(ctx context.Context, s *store.Store, w Workspace, logger *slog.Logger) (*told, error) {
	c := config.Default()
	t := &told{Workspace: w, store: s, now: w.Messages[0].At, sent: map[string]chat.Message{}}
	clock := func() time.Time { return t.now }
	directory := &channels.Directory{Store: s, Slack: t, Config: c, Clock: clock, Logger: logger}
	t.recorder = record.New(&record.Recorder{Store: s, Directory: directory})
	prompts, err := agents.Prompts(c)
	if err != nil {
		return nil, err
	}
	builder := recall.New(&recall.Builder{
		Store: s, Own: identity, Users: t, Directory: directory, ThreadLimit: c.Slack.ThreadHistoryLimit,
		Persona:       chat.Persona(c.Persona),
		MessagesLimit: c.Response.ChannelMessagesLimit,
		ActiveChannel: c.Response.ActiveChannel(), ThreadMemory: c.Response.ThreadMemory(), Clock: clock,
		Logger: logger,
	})
	t.agents = agents.New(&agents.Agents{
		Models: agents.Models{Prompts: prompts, ByUse: agents.ByUse{Memory: agents.Agent{Model: extract{}}}},
		Store:  s, Own: identity, Recall: builder,
		Memory: c.Memory, Channel: c.Channel, Clock: clock, Logger: logger,
	})
	t.tools = tools.New(tools.Sources{
		Store: s, Render: t.agents.RenderFound,
		Permalink: func(context.Context, string, string) (string, error) { return "", nil },
		Zone:      func(context.Context, chat.Conversation) (*time.Location, error) { return time.UTC, nil },
	})
	for _, p := range w.People {
		u, err := t.User(ctx, p.ID)
		if err := errors.Join(err, s.SaveUsers(ctx, identity.TeamID, store.User{ID: u.ID, Name: u.Name, Guest: u.Guest,
			Refreshed: t.now})); err != nil {
			return nil, err
		}
	}
	for _, p := range w.Channels {
		described, err := t.Channel(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		if err := s.SaveChannel(ctx, identity.TeamID, channels.Row(described, t.now)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

var identity = slack.Identity{TeamID: "T0000001", UserID: BotID, BotID: ownBotID}

// User implements recall.Users.
func (t *told) User(_ context.Context, id string) (slack.User, error) {
	if i := slices.IndexFunc(t.People, func(p Person) bool { return p.ID == id }); i >= 0 {
		return slack.User{ID: id, Name: t.People[i].Name, Guest: t.guest(id)}, nil
	}
	return slack.User{}, &slack.Error{Code: "user_not_found", Kind: slack.Final}
}

// Channel implements channels.Slack.
func (t *told) Channel(_ context.Context, id string) (slack.Channel, error) {
	p := t.place(id)
	if p.ID == "" {
		return slack.Channel{}, &slack.Error{Code: "channel_not_found", Kind: slack.Final}
	}
	return slack.Channel{ID: id, Name: p.Name, Private: p.Private, External: p.Shared, Direct: p.direct(),
		Member: true}, nil
}

// Members implements channels.Slack. Everybody is in every channel, except guests.
func (t *told) Members(_ context.Context, channel, _ string) (ids []string, next string, err error) {
	for _, p := range t.People {
		if !t.guest(p.ID) || t.place(channel).Guest == p.ID {
			ids = append(ids, p.ID)
		}
	}
	return ids, "", nil
}

// tell records all messages and deletions, makes memories meanwhile, and the search index.
func (t *told) tell(ctx context.Context, memories bool) error {
	type event struct {
		at   time.Time
		post bool
		run  func(context.Context) error
	}
	var events []event
	for i, m := range t.Messages {
		said := chat.Message{
			Team: identity.TeamID, Channel: m.Channel, TS: chat.TS(m.At.Add(time.Duration(i) * time.Microsecond)),
			ThreadTS: t.sent[m.Thread].TS, UserID: m.By, Text: m.Text,
		}
		t.sent[m.ID] = said
		events = append(events, event{m.At, true,
			func(ctx context.Context) error { return t.record(ctx, slack.Posted, said) }})
		if !m.Deleted.IsZero() {
			events = append(events, event{m.Deleted, false,
				func(ctx context.Context) error { return t.record(ctx, slack.Deleted, said) }})
		}
	}
	last := t.questionsBegin().Add(-time.Hour)
	for at := t.now.Add(12 * time.Hour); memories && at.Before(last); at = at.Add(memoryEvery) {
		events = append(events, event{at, false, t.remember})
	}
	if memories {
		events = append(events, event{last, false, t.remember})
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	for len(events) > 0 {
		n := 1 // how many events happen side by side
		for n < len(events) && events[n-1].post && events[n].post {
			n++
		}
		t.now = events[n-1].at
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(64)
		for _, e := range events[:n] {
			group.Go(func() error { return e.run(ctx) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		events = events[n:]
	}
	for {
		if p, err := t.store.Index(ctx, time.Time{}, 1000); err != nil || p.CaughtUp {
			return err
		}
	}
}

func (t *told) record(ctx context.Context, kind slack.Kind, m chat.Message) error {
	e := slack.MessageEvent{Kind: kind, Message: m, At: t.now, External: t.place(m.Channel).Shared,
		Mention: chat.Mentions(m.Text, BotID)}
	if kind == slack.Deleted {
		e.Previous, e.HasPrevious, e.PreviousMention, e.Mention = m.Text, true, e.Mention, false
		e.Message.Text, e.Message.Deleted = "", true
	}
	_, err := t.recorder.Record(ctx, e, identity)
	return err
}

// remember makes all memories that have something new, in the order of the memory workflow.
func (t *told) remember(ctx context.Context) error {
	const many = 1000
	for _, threads := range []bool{true, false} {
		scopes, err := t.agents.ChangedScopes(ctx, threads, t.now, chat.Scope{}, many)
		if err != nil {
			return err
		}
		for _, s := range scopes {
			if _, err := t.agents.Remember(ctx, s, t.now, 1); err != nil {
				return err
			}
		}
	}
	_, err := t.agents.Remember(ctx, chat.Scope{Team: identity.TeamID}, t.now, 1)
	return err
}

// asked asks a question with a mention of the bot, and takes it back afterwards.
func (t *told) asked(ctx context.Context, q RecallQuestion, then func(chat.Message) error) error {
	m := chat.Message{Team: identity.TeamID, Channel: q.Channel, TS: chat.TS(t.now), UserID: q.By,
		Text: "<@" + BotID + "> " + q.Text}
	if err := t.record(ctx, slack.Posted, m); err != nil {
		return err
	}
	if err := then(m); err != nil {
		return err
	}
	return t.record(ctx, slack.Deleted, m)
}

// ask returns what the material for the answer to a question holds, which stands in the message m.
func (t *told) ask(ctx context.Context, q RecallQuestion, m chat.Message, mode Mode) (RecallRow, error) {
	t.agents.Recall.FoundLimit = t.agents.Memory.SearchResults
	if mode == Summaries {
		t.agents.Recall.FoundLimit = 0
	}
	c := record.Conversations(m, true)[0]
	recalled, err := t.agents.Recall.Build(ctx, c, false, m.TS)
	if err != nil {
		return RecallRow{}, err
	}
	reply, err := t.agents.ReplyTo(ctx, agents.Reply{Conversation: c, Trigger: m.TS, Addressed: true})
	if err != nil {
		return RecallRow{}, err
	}
	var found []tools.Reference
	for _, f := range recalled.Found {
		found = append(found, tools.Reference{Channel: f.Channel, TS: f.TS})
	}
	material := reply.Shown() + "\n" + reply.Prompt
	if mode != Summaries {
		input, err := json.Marshal(map[string]string{"query": q.Text})
		if err != nil {
			return RecallRow{}, err
		}
		result, err := t.tools.Run(ctx, tools.Place{Conversation: c, Trigger: m.TS, Addressed: true, Asker: q.By,
			Allowed: []string{chat.ToolSearchMessages}}, q.ID, chat.ToolSearchMessages, input)
		if err != nil || result.Failed {
			return RecallRow{}, errors.Join(err, fmt.Errorf("%s: %s", chat.ToolSearchMessages, result.Text))
		}
		results, cited := tools.Number([]string{result.Text})
		material += "\n" + results[0]
		found = append(found, cited...)
	}
	long := recalled.WorkspaceLongTerm
	for _, known := range recalled.Context.Channels {
		long += "\n" + known.LongTerm
	}
	// which protects the prompt from what people write
	plain := func(s string) string { return strings.ReplaceAll(s, `\`, "") }
	return t.look(q, plain(material), plain(long), found), nil
}

// look ranks what is in the material for a question: first what was found, the best first, then the
// rest, the newest first. long is the part of the material that long-term memories are.
func (t *told) look(q RecallQuestion, material, long string, found []tools.Reference) RecallRow {
	row := RecallRow{Question: q.ID, Lang: q.Lang, Kind: q.Kind}
	place := map[tools.Reference]int{}
	for _, r := range found {
		if place[r] == 0 {
			place[r] = len(place) + 1
		}
	}
	ranks := map[string]int{}
	next := len(place)
	for _, m := range slices.Backward(t.truth.Messages) {
		switch sent := t.sent[m.ID]; {
		case !strings.Contains(material, m.Text):
		case !t.truth.visible(m, q.Channel):
			if strings.Count(material, m.Text) == strings.Count(long, m.Text) &&
				t.truth.visible(Said{Channel: m.Channel}, q.Channel) {
				row.Remembered = append(row.Remembered, m.ID)
			} else {
				row.Leaks = append(row.Leaks, m.ID)
			}
		default:
			r := place[tools.Reference{Channel: sent.Channel, TS: sent.TS}]
			if r == 0 {
				next++
				r = next
			}
			ranks[m.ID] = r
		}
	}
	for _, id := range q.Right {
		row.Right = append(row.Right, ranks[id])
	}
	for _, id := range q.Wrong {
		row.Wrong = append(row.Wrong, ranks[id])
	}
	return row
}
