package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/operate/timeline"
	"myao/internal/runtime/temporal"
	"myao/internal/store"
)

// showCommand shows the state of a conversation.
type showCommand struct {
	conversationArg
	temporalFlags
	output
}

// Help implements kong's Help.
func (showCommand) Help() string {
	return `It shows the phase of a conversation and when it is due, the pending messages, the last verdict and what other judges say of it, what
it proposes to do and has promised, a mute or snooze, and what somebody has paused in Temporal. For a closed conversation it shows how
it ended.

  starter show general
  starter show '#general' 1700000000.000100 --json | jq '.promises[].due'`
}

// Validate implements kong's Validate.
func (c *showCommand) Validate() error {
	if err := c.conversationArg.Validate(); err != nil {
		return err
	}
	return c.checkTimeout()
}

// conversationReport is the state of a conversation.
type conversationReport struct {
	Conversation chat.Conversation `json:"conversation"`
	ID           string            `json:"workflow_id"`
	Name         string            `json:"name"`
	operator.Run
	// State is null while the whole run is paused: then it answers no query.
	State *conversation.State `json:"state"`
	// Silenced is the end of a mute or snooze of this conversation. ChannelSilenced is, for a
	// thread, that of its channel.
	Silenced        time.Time `json:"silenced_until,omitzero"`
	ChannelSilenced time.Time `json:"channel_silenced_until,omitzero"`
	// Everywhere is the mute of the whole workspace, if there is one.
	Everywhere *everywhereMute `json:"muted_everywhere,omitempty"`
	// Proposals are those that may still come to something.
	Proposals []store.Proposal `json:"proposals"`
	// Promises are open, those due first coming first.
	Promises []store.Promise `json:"promises"`
	// Opinions are what other judges say of the newest judgment.
	Opinions []timeline.Opinion `json:"opinions"`
	// WebUI is the path in Temporal's Web UI; empty if there was no run.
	WebUI string `json:"web_ui,omitempty"`
}

func (c *showCommand) run(ctx context.Context, p *program) error {
	db, where, name, err := p.conversation(ctx, c.conversationArg)
	if err != nil {
		return err
	}
	o, err := p.operator(ctx, c.temporalFlags)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	now, err := o.Situation(waiting, where)
	if err != nil {
		return c.explain(ctx, err)
	}
	opinions, err := db.LatestOpinions(ctx, where.ID())
	if err != nil {
		return err
	}
	out := newConversationReport(now, name)
	for _, o := range opinions {
		out.Opinions = append(out.Opinions, timeline.NewOpinion(o, p.Config.LLM.Prices))
	}
	return c.print(p.stdout, out, func(w io.Writer) error { return out.text(w, p.Config.Location(), time.Now()) })
}

func newConversationReport(now operator.Situation, name string) conversationReport {
	where := now.Conversation
	out := conversationReport{
		Conversation: where, ID: where.ID(), Name: name, Run: now.Run, State: now.State,
		Silenced: now.Silences[where.ID()], Proposals: nonNil(now.Proposals), Promises: nonNil(now.Promises),
		Opinions: []timeline.Opinion{},
	}
	if !where.TopLevel() {
		out.ChannelSilenced = now.Silences[where.Top().ID()]
	}
	if now.Muted != nil {
		out.Everywhere = &everywhereMute{now.Muted.By, now.Muted.At}
	}
	if out.Run.ID != "" {
		out.WebUI = "/namespaces/" + url.PathEscape(temporal.Namespace()) + "/workflows/" + url.PathEscape(out.ID) +
			"/" + out.Run.ID
	}
	return out
}

func (s conversationReport) text(w io.Writer, zone *time.Location, now time.Time) error {
	rows := [][]string{{s.Name}, {"phase", s.phase(zone)}}
	for _, p := range s.Paused {
		rows = append(rows, []string{"paused", paused(p, zone)})
	}
	if s.State != nil {
		rows = append(rows, stateRows(s.State, zone)...)
	}
	for _, o := range s.Opinions {
		rows = append(rows, []string{"shadow", o.String()})
	}
	for _, p := range s.Proposals {
		rows = append(rows, []string{"proposed", fmt.Sprintf("%s  %s, %s, lapses %s", p.ID, timeline.Plain(p.Tool),
			p.State, formatTime(p.Lapses(), zone))})
	}
	for _, p := range s.Promises {
		rows = append(rows, []string{"promised", fmt.Sprintf("%s  due %s: %s", p.ID, promiseTimes(p, zone),
			promiseText(p))})
	}
	if !s.Silenced.IsZero() {
		rows = append(rows, []string{"silent", "until " + silent(s.Silenced, zone, now)})
	}
	if !s.ChannelSilenced.IsZero() {
		rows = append(rows, []string{"silent", "until " + silent(s.ChannelSilenced, zone, now) + ", with its channel"})
	}
	if s.Everywhere != nil {
		rows = append(rows, []string{"silent", s.Everywhere.text(zone)})
	}
	rows = append(rows, []string{"run", s.lastRun(zone)})
	if s.WebUI != "" {
		rows = append(rows, []string{"Web UI", s.WebUI})
	}
	return table(w, rows)
}

// stateRows lists the messages that a conversation handles, and the latest verdict.
func stateRows(s *conversation.State, zone *time.Location) (rows [][]string) {
	for _, l := range []struct {
		name  string
		items []conversation.Item
	}{{"pending", s.Pending}, {"answering", s.Answering}, {"later", s.Later}} {
		for _, it := range l.items {
			rows = append(rows, []string{l.name, message(it, zone)})
			l.name = ""
		}
	}
	if v := s.Verdict; v != nil {
		rows = append(rows, []string{"verdict", v.Summary()})
	}
	return rows
}

// paused describes what somebody has paused in Temporal.
func paused(p operator.Pause, zone *time.Location) string {
	words := cmp.Or(p.Activity, "all of it") + ", in Temporal since " + formatTime(p.At, zone)
	if p.By != "" {
		words += ", by " + timeline.Plain(p.By)
	}
	if p.Reason != "" {
		words += ": " + timeline.Plain(p.Reason)
	}
	return words
}

func (s conversationReport) phase(zone *time.Location) string {
	if s.State == nil {
		return "paused: the state is not known"
	}
	if !s.Running {
		if s.State.Unanswered() > 0 {
			return "closed" // terminated: normally it closes only when nothing is waiting
		}
		return "closed: nothing is waiting"
	}
	phase := string(s.State.Phase)
	if what := s.State.Doing(); what != "" {
		phase += " (" + what + ")"
	}
	if !s.State.Since.IsZero() {
		phase += " since " + formatTime(s.State.Since, zone)
	}
	if !s.State.DueAt.IsZero() {
		phase += ", due " + formatTime(s.State.DueAt, zone)
	}
	return phase
}

func (s conversationReport) lastRun(zone *time.Location) string {
	switch {
	case s.Run.ID == "":
		return "none known to Temporal: the next message starts one"
	case !s.Running:
		ended := ""
		if s.Ended != "" {
			ended = " (" + s.Ended + ")"
		}
		return fmt.Sprintf("%s, closed %s%s: the next message starts another", s.Run.ID, formatTime(s.Closed, zone),
			ended)
	}
	return fmt.Sprintf("%s, open since %s", s.Run.ID, formatTime(s.Started, zone))
}

func message(it conversation.Item, zone *time.Location) string {
	words := it.TS + "  " + formatTime(chat.Time(it.TS), zone)
	if it.Addressed {
		words += ", addressed"
	}
	if it.FollowUp {
		words += ", follow-up"
	}
	if it.Named {
		words += ", by name"
	}
	if it.Revision != "" {
		words += ", edited"
	}
	return words
}
