package eval

import (
	"context"
	"fmt"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

// at is the time of an event. Events of the same second keep their order by microseconds.
func (sc *scene) at(i int) time.Time {
	return began.Add(time.Duration(sc.Events[i].At * float64(time.Second))).Truncate(time.Microsecond).
		Add(time.Duration(i) * time.Microsecond)
}

func (sc *scene) ts(i int) string { return chat.TS(sc.at(i)) }

// elapsed is the case's clock in whole seconds.
func (sc *scene) elapsed() float64 { return float64(sc.now.Sub(began) / time.Second) }

// tell lets an event happen, and returns the effects that conversations have then, by conversation.
func (sc *scene) tell(ctx context.Context, i int) ([]outcome, error) {
	sc.now = sc.at(i)
	e := sc.Events[i]
	if e.React != "" {
		return sc.react(ctx, e)
	}
	event := sc.messageEvent(i)
	targets, err := sc.recorder.Record(ctx, event, sc.own)
	if err != nil {
		return nil, err
	}
	if event.Kind == slack.Posted && event.Message.Own {
		sc.answered(event.Message.Conversation())
	}
	return sc.relay(ctx, targets)
}

// messageEvent is a message, an edit or a deletion as Slack tells it.
func (sc *scene) messageEvent(i int) slack.MessageEvent {
	e := sc.Events[i]
	event := slack.MessageEvent{Kind: slack.Posted, ChannelType: "channel", At: sc.now}
	if sc.Case.Channel.Private {
		event.ChannelType = "group"
	}
	of := i
	switch {
	case e.Edit != nil:
		of, event.Kind = *e.Edit, slack.Edited
	case e.Delete != nil:
		of, event.Kind = *e.Delete, slack.Deleted
	default:
		sc.messages[i], sc.newest = sc.message(i), i
	}
	m := sc.messages[of]
	if event.Kind != slack.Posted {
		event.Previous, event.HasPrevious = m.Text, true
		event.PreviousMention = chat.Mentions(m.Text, sc.own.UserID)
	}
	switch event.Kind {
	case slack.Edited:
		m.Text, m.Revision = e.Text, sc.ts(i)
	case slack.Deleted:
		m.Text, m.Files, m.Deleted = "", nil, true
	}
	sc.messages[of] = m
	event.Message, event.Mention = m, chat.Mentions(m.Text, sc.own.UserID)
	return event
}

func (sc *scene) message(i int) chat.Message {
	e := sc.Events[i]
	m := chat.Message{Team: sc.own.TeamID, Channel: channelID, TS: sc.ts(i), UserID: e.By, Text: e.Text}
	if e.Thread != nil {
		m.ThreadTS = sc.ts(*e.Thread)
	}
	switch {
	case e.Own:
		m.Own, m.UserID, m.BotID = true, sc.own.UserID, sc.own.BotID
	case e.App:
		m.BotID = e.By
	}
	for n, f := range e.Files {
		m.Files = append(m.Files, chat.File{ID: fmt.Sprintf("F%d%d", i, n), Name: f.Name, MIME: f.MIME})
	}
	return m
}

// react puts a reaction under a message. A person's may ask the bot not to answer.
func (sc *scene) react(ctx context.Context, e Event) ([]outcome, error) {
	name, _, _ := strings.Cut(e.React, "::") // as package slack reads it
	m := sc.messages[*e.To]
	if err := sc.store.PutReaction(ctx, store.Reaction{Team: m.Team, Channel: m.Channel, TS: m.TS, User: e.By,
		Name: name, At: sc.now}); err != nil {
		return nil, err
	}
	if chat.EmojiName(name) != sc.config.Slack.HushReaction || m.Own || sc.isApp(e.By) ||
		!sc.config.Slack.May(e.By, false, config.MayHush) {
		return nil, nil
	}
	targets, _, err := sc.recorder.Hush(ctx, m, e.By)
	if err != nil {
		return nil, err
	}
	return sc.relay(ctx, targets)
}

// changesLimit is more than one event causes in a conversation.
const changesLimit = 16

// outcome is the effects of an event in one conversation.
type outcome struct {
	state   *conversation.State
	effects []conversation.Effect
}

// relay tells conversations of their changes.
func (sc *scene) relay(ctx context.Context, targets []store.Target) (all []outcome, err error) {
	for _, target := range targets {
		pending, err := sc.store.PendingChanges(ctx, target.Conversation.ID(), changesLimit)
		if err != nil {
			return nil, err
		}
		var changes conversation.Changes
		var ids []int64
		for _, p := range pending {
			changes, ids = append(changes, p.Change), append(ids, p.ID)
		}
		if len(changes) == 0 {
			continue
		}
		if err := sc.store.MarkRelayed(ctx, ids); err != nil {
			return nil, err
		}
		state := sc.state(target.Conversation)
		all = append(all, outcome{state, state.Apply(changes, sc.now)})
	}
	return all, nil
}

func (sc *scene) state(c chat.Conversation) *conversation.State {
	state := sc.states[c]
	if state == nil {
		state = conversation.New(c)
		state.Policy = sc.config.Policy(sc.config.Channel(config.ChannelFacts{ID: c.Channel}))
		sc.states[c], sc.known = state, append(sc.known, c)
	}
	return state
}

// answered ends what waits in a conversation: the bot has spoken there.
func (sc *scene) answered(c chat.Conversation) {
	state := sc.state(c)
	fresh := conversation.New(c)
	fresh.Policy, fresh.Seen, fresh.Epoch = state.Policy, state.Seen, state.Epoch
	*state = *fresh
}
