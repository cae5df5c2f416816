package eval

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	mind      *agents.Mind
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
		Case: c, config: r.Config, store: s, now: began, messages: map[int]chat.Message{}, states: map[chat.Conversation]*conversation.State{},
		own: slack.Identity{TeamID: fmt.Sprintf("T%X", hash[:8]), UserID: BotID, BotID: ownBotID, Name: r.Config.Persona.Name},
	}
	clock := func() time.Time { return sc.now }
	sc.directory = &channels.Directory{Store: s, Slack: sc, Config: r.Config, Clock: clock, Logger: r.Logger}
	sc.recorder = &record.Recorder{Store: s, Directory: sc.directory}
	sc.mind = &agents.Mind{
		Store: s, Slack: sc, Reacts: func() bool { return r.Config.Slack.React },
		Recall: &recall.Builder{
			Store: s, Users: sc, Directory: sc.directory, ThreadLimit: r.Config.Slack.ThreadHistoryLimit,
			Persona:       chat.Persona{Name: r.Config.Persona.Name, SystemPrompt: r.Config.Persona.SystemPrompt},
			MessagesLimit: r.Config.Response.ChannelMessagesLimit,
			ActiveChannel: r.Config.Response.ActiveChannel(), ThreadMemory: r.Config.Response.ThreadMemory(),
			Clock: clock, Logger: r.Logger,
		},
		Prompts: r.Prompts, Agents: agents.Agents{Judgment: agent}, Memory: r.Config.Memory, Channel: r.Config.Channel, Clock: clock, Logger: r.Logger,
	}
	described, err := sc.Channel(ctx, channelID)
	if err != nil {
		return nil, err
	}
	if err := s.SaveChannel(ctx, sc.own.TeamID, channels.Row(described, began)); err != nil {
		return nil, err
	}
	for _, p := range c.People {
		if err := s.SaveUsers(ctx, sc.own.TeamID, store.User{ID: p.ID, Name: p.Name, Bot: sc.isApp(p.ID), Refreshed: began}); err != nil {
			return nil, err
		}
	}
	return sc, sc.remember(ctx)
}

// Identity implements mind.Identity.
func (sc *scene) Identity(context.Context) (slack.Identity, error) { return sc.own, nil }

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
		update := store.MemoryUpdate{Scope: of.Scope, Cursor: store.Cursor{Newest: began}, Read: began, Long: store.ClearMemory, Short: store.ClearMemory}
		for _, m := range []struct {
			chat.Term
			text   string
			action *store.MemoryAction
		}{{chat.LongTerm, of.long, &update.Long}, {chat.ShortTerm, of.short, &update.Short}} {
			if m.text == "" {
				continue
			}
			*m.action = store.PromoteDraft
			if err := sc.store.SaveDraft(ctx, store.Memory{Scope: of.Scope, Term: m.Term, Text: m.text, Made: began}, update.Cursor); err != nil {
				return err
			}
		}
		if err := sc.store.SaveMemories(ctx, update); err != nil {
			return err
		}
	}
	return nil
}

// at is the time of an event. Events of the same second keep their order by microseconds.
func (sc *scene) at(i int) time.Time {
	return began.Add(time.Duration(sc.Events[i].At * float64(time.Second))).Truncate(time.Microsecond).Add(time.Duration(i) * time.Microsecond)
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
	if err := sc.store.PutReaction(ctx, store.Reaction{Team: m.Team, Channel: m.Channel, TS: m.TS, User: e.By, Name: name, At: sc.now}); err != nil {
		return nil, err
	}
	if name != sc.config.Slack.HushReaction || m.Own || sc.isApp(e.By) || !sc.config.Slack.May(e.By, false, config.MayHush) {
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

// ask decides about what is pending in a conversation, and writes it into the row. A failure of the
// model is in the row, any other is returned.
func (sc *scene) ask(ctx context.Context, state *conversation.State, row *Row) (agents.Decision, error) {
	c, pending := state.Conversation, state.PendingTS()
	k, err := sc.facts(ctx, c, pending)
	if err != nil {
		return agents.Decision{}, err
	}
	d, err := sc.mind.Decide(ctx, c, pending, state.Policy.MaxDelay, k, agents.Attempt{})
	if err != nil {
		if !ofModel(ctx, err) {
			return d, err
		}
		row.Rule, row.Error = "", err.Error()
		return d, errNoVerdict
	}
	row.Rule, row.Error = string(d.Rule), ""
	if d.Asked != nil {
		row.Verdict = newVerdict(d.Asked.Verdict)
	}
	return d, nil
}

// errNoVerdict says that a model was asked in vain.
var errNoVerdict = errors.New("the model gave no verdict")

func (sc *scene) facts(ctx context.Context, c chat.Conversation, pending []string) (agents.Facts, error) {
	return agents.ReadFacts(ctx, sc.store, sc.directory, sc.now, store.FactsRequest{Conversation: c, Trigger: pending[len(pending)-1], Pending: pending})
}

// addressed answers whoever addressed the bot, unless a rule silences it.
func (sc *scene) addressed(ctx context.Context, state *conversation.State, row *Row) error {
	trigger := state.Answering[len(state.Answering)-1].TS
	k, err := sc.facts(ctx, state.Conversation, []string{trigger})
	if err != nil {
		return err
	}
	rule := k.ForRules(sc.own.UserID).AnswerRule()
	if row.Spoke, row.Rule = rule == conversation.NoRule, string(rule); row.Spoke {
		row.Rule = ruleAddressed
	}
	return nil
}

// What decides beside the rules of package conversation.
const (
	ruleAddressed   = "addressed"
	ruleNothingLeft = string(conversation.RuleNothingLeft)
)

// judge tells the events until JudgeAt and asks then, whatever the quiet time.
func (sc *scene) judge(ctx context.Context, row *Row) error {
	until := began.Add(time.Duration(sc.JudgeAt * float64(time.Second)))
	for i, e := range sc.Events {
		if e.At > sc.JudgeAt {
			break
		}
		if _, err := sc.tell(ctx, i); err != nil {
			return err
		}
	}
	if until.After(sc.now) {
		sc.now = until
	}
	newest := sc.messages[sc.newest]
	here := newest.Conversation()
	for _, c := range []chat.Conversation{here, {Team: here.Team, Channel: here.Channel, Thread: newest.TS}} {
		if state := sc.states[c]; state != nil && len(state.Answering) > 0 {
			return sc.addressed(ctx, state, row)
		}
	}
	state := sc.states[here]
	if state == nil || len(state.Pending) == 0 {
		row.Rule = ruleNothingLeft
		return nil
	}
	d, err := sc.ask(ctx, state, row)
	if errors.Is(err, errNoVerdict) {
		return nil
	}
	row.Spoke = d.Verdict.ShouldRespond
	return err
}

// play lets the state machine decide when to ask and when to post, until it posts or nothing waits.
func (sc *scene) play(ctx context.Context, row *Row) error {
	row.Rule = ruleNothingLeft // until something else decides
	for i := 0; ; {
		var outcomes []outcome
		due := sc.nextDue()
		switch {
		case i < len(sc.Events) && (due == nil || !sc.at(i).After(due.NextTick())):
			var err error
			if outcomes, err = sc.tell(ctx, i); err != nil {
				return err
			}
			i++
		case due != nil:
			sc.now = due.NextTick()
			outcomes = []outcome{{due, due.Apply(conversation.Tick{}, sc.now)}}
		default:
			return nil
		}
		for _, o := range outcomes {
			if err := sc.execute(ctx, o, row); err != nil || row.At != nil {
				return err
			}
		}
	}
}

// nextDue is the conversation with the earliest deadline; nil without one.
func (sc *scene) nextDue() *conversation.State {
	var first *conversation.State
	for _, c := range sc.known {
		state := sc.states[c]
		if state.Phase.Lasts() && state.Phase != conversation.Idle && (first == nil || state.NextTick().Before(first.NextTick())) {
			first = state
		}
	}
	return first
}

// execute carries out effects and those that follow at once: a judgment takes no time. A reply is at
// row.At.
func (sc *scene) execute(ctx context.Context, o outcome, row *Row) error {
	for len(o.effects) > 0 {
		effect := o.effects[0]
		o.effects = o.effects[1:]
		switch effect := effect.(type) {
		case conversation.Judge:
			result := conversation.Judged{Epoch: effect.Epoch}
			d, err := sc.ask(ctx, o.state, row)
			switch {
			case errors.Is(err, errNoVerdict):
				result.Failed = true
			case err != nil:
				return err
			default:
				result.Verdict, result.Gone = d.Verdict, d.Rule == conversation.RuleNothingLeft
			}
			o.effects = append(o.effects, o.state.Apply(result, sc.now)...)
		case conversation.Compose:
			if row.Spoke = true; effect.Addressed {
				if err := sc.addressed(ctx, o.state, row); err != nil {
					return err
				}
			}
			if !row.Spoke {
				o.effects = append(o.effects, o.state.Apply(conversation.Composed{Epoch: effect.Epoch, Result: conversation.Silenced}, sc.now)...)
				continue
			}
			at := sc.elapsed()
			row.At, row.Timing = &at, sc.timing(at)
			return nil
		}
	}
	return nil
}

// timing compares the time of a post with the window.
func (sc *scene) timing(at float64) Timing {
	switch {
	case sc.Window == nil:
		return ""
	case at < sc.Window[0]:
		return Early
	case at > sc.Window[1]:
		return Late
	}
	return InTime
}
