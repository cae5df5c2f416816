package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/answer/prompt"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/operate/promise"
	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
	"myao/internal/store"
)

// ComposeInput asks for the text of a reply.
type ComposeInput struct {
	Task
	Addressed bool `json:"addressed,omitempty"`
	// Notice asks for a note that no model writes: about a Stop, or that the bot cannot answer.
	Notice bool              `json:"notice,omitempty"`
	Stop   conversation.Stop `json:"stop,omitempty"`
	// Ordered is set if an operator ordered the reply.
	Ordered bool `json:"ordered,omitempty"`
	// Oldest is the ts of the oldest message that the reply is about. The reply is outdated if
	// somebody answered in a thread under it, or under a later message, since the judgment.
	// Empty means that no reply in a thread outdates this one.
	Oldest string `json:"oldest,omitempty"`
	// Round counts the rounds of looking things up that came before.
	Round int `json:"round,omitempty"`
	// Until is the ts of the newest message of the same person that the reply answers as well.
	Until string `json:"until,omitempty"`
}

// addressedReason is the ledger's reason for a reply that needs no judgment.
const addressedReason = "somebody addressed the bot"

// noticeReason is the ledger's reason for a note that the bot cannot answer.
const noticeReason = "no answer could be had, and the bot says so"

// occasionReason is the ledger's reason for a reply that tells what came of a proposal.
const occasionReason = "what was approved has ended, and the bot says how"

// inVain stands under a reply that promises something which the model has not made a promise of.
const inVain = "I have set no reminder for this. Ask me for one with a time."

// stopReason is the ledger's reason for a note that the bot has stopped.
const stopReason = "somebody told the bot to stop"

// ReplyOutput says how composing or posting a reply ended.
type ReplyOutput struct {
	Result conversation.Result `json:"result"`
	// By is the ts of the message that outdated a reply before it was composed.
	By string `json:"by,omitempty"`
	// Steps are what is to be looked up before the reply is written.
	Steps []conversation.Step `json:"steps,omitempty"`
	// Opened are the proposals under the reply that was posted.
	Opened []conversation.OpenProposal `json:"opened,omitempty"`
	// Promised are the promises that it confirms.
	Promised []conversation.OpenPromise `json:"promised,omitempty"`
}

// Compose reads the context, has a model write a reply, and puts that into the outbox. If the model asks
// for tools instead, that is written down, and the result is Looking. A reply that is being posted stays
// as it is. So does one that this decision has composed before, and what the model asked for in this
// round: it is not paid twice. A judged reply may get a second look first.
func (a *Activities) Compose(ctx context.Context, in ComposeInput) (ReplyOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.composeReply(ctx, in)
	a.composed(ctx, in, out.Result, err)
	if err != nil {
		return ReplyOutput{}, ended(ctx, classify(fmt.Errorf("compose: %w", err)))
	}
	return out, nil
}

func (a *Activities) composeReply(ctx context.Context, in ComposeInput) (ReplyOutput, error) {
	known, err := a.readFacts(ctx, in.Task, store.FactsRequest{Oldest: in.Oldest, Held: !in.Addressed, Looks: !in.Notice, Round: in.Round})
	if err != nil || known.Begun {
		return ReplyOutput{Result: conversation.Done}, err
	}
	if in.tookBack(known.Decision) {
		return ReplyOutput{Result: conversation.Silenced}, nil
	}
	if in.stopsThread() {
		if err := a.Store.StopThread(ctx, in.Conversation, in.Trigger); err != nil {
			return ReplyOutput{}, err
		}
		known.Stopped = false // the line about it is still posted
	}
	facts, err := a.ruleFacts(ctx, known)
	if err != nil {
		return ReplyOutput{}, err
	}
	kept, number, err := a.promiseOf(ctx, in.Occasion)
	if err != nil {
		return ReplyOutput{}, err
	}
	if _, _, promised := conversation.ParsePromiseKey(in.Occasion); promised && kept == nil { // it was forgotten
		return ReplyOutput{Result: conversation.Gone}, nil
	}
	if kept == nil { // a promise may be old
		if facts.UnknownOutcome, err = a.predatesLedger(ctx, in.Task); err != nil {
			return ReplyOutput{}, err
		}
	}
	d := in.decisionRow("operator")
	d.Outcome, d.ShouldRespond = conversation.Pending, true
	if in.Addressed {
		d.Source, d.Reason = "addressed", addressedReason
	}
	if in.Notice {
		d.Reason = noticeReason
	}
	if in.Stop != conversation.NoStop {
		d.Reason = stopReason
	}
	switch {
	case kept != nil:
		d.Source, d.Reason = "promise", promiseReason
	case in.Occasion != "":
		d.Reason = occasionReason
	}
	if known.Trigger != nil && known.Trigger.Deleted {
		return ReplyOutput{Result: conversation.Gone}, nil
	}
	composed := known.ComposedBy == d.Key
	if composed || in.Round > 0 || len(known.Steps) > 0 {
		facts.OverBudget = false // the reply, or its beginning, is paid for
	}
	if rule := in.silenceRule(facts); rule != conversation.NoRule {
		d.ShouldRespond, d.Rule, d.Reason, d.Outcome = false, string(rule), facts.Reason(rule), conversation.Silent
		if err := a.Store.Decide(ctx, d); err != nil {
			return ReplyOutput{}, err
		}
		return ReplyOutput{Result: conversation.Silenced}, a.Store.Settle(ctx, d.Key, conversation.Silent, string(rule))
	}
	if composed {
		return ReplyOutput{Result: conversation.Done}, nil
	}
	if known.NewThreadReply != "" {
		return ReplyOutput{Result: conversation.Outdated, By: known.NewThreadReply}, nil
	}
	if len(known.Steps) > 0 {
		return ReplyOutput{Result: conversation.Looking, Steps: stepsOf(known.Steps)}, nil
	}
	text, reaction, read := "", "", a.Clock()
	saw, proposes, feedback := read, false, false
	switch {
	case kept != nil && (in.Notice || facts.OverBudget):
		text = a.plainPromise(*kept)
	case in.Occasion != "" && (in.Notice || facts.OverBudget):
		if text, err = a.actedNotice(ctx, in.Task); err != nil {
			return ReplyOutput{}, err
		}
	case in.Notice:
		text = a.Mind.Prompts.Notice(in.notice())
	case facts.OverBudget:
		text = a.Mind.Prompts.Notice(prompt.OverBudget)
		d.Rule, d.Reason = string(conversation.RuleOverBudget), facts.Reason(conversation.RuleOverBudget)
	case in.judged() && known.Decision != nil && slices.Contains(a.Mind.Reactions(), known.Decision.React):
		reaction = known.Decision.React
		text = chat.EmojiCharacter(reaction)
	default:
		a.showThinking(in)
		w, err := a.writeReply(ctx, in, known, kept, &d)
		if err != nil {
			return ReplyOutput{}, err
		}
		if w.looking {
			return ReplyOutput{Result: conversation.Looking, Steps: w.steps}, nil
		}
		text, reaction, saw, proposes = w.text, w.reaction, w.saw, w.proposes
		feedback = reaction == "" && a.Feedback.Wanted(in.Addressed)
		if kept != nil {
			text = promise.Keep(a.words(), *kept, text, a.Clock())
		}
		if !w.read.IsZero() {
			read = w.read
		}
		if wanted, err := a.stillWanted(ctx, in, known.Decision, text, w.rounds); err != nil || !wanted {
			return ReplyOutput{Result: conversation.Silenced}, err
		}
	}
	failpoint.Here("compose: model answered")
	// Compose keeps an existing row: that of a judged reply.
	parts := a.parts(in.Task, text, saw, read)
	if kept != nil {
		_, proposes = promise.StillWanted(a.words(), *kept, number)
	}
	last := &parts[len(parts)-1]
	last.Proposes, last.Feedback, last.Reaction = proposes, feedback, reaction
	if err := a.Store.Compose(ctx, parts, d); err != nil && !errors.Is(err, store.ErrUnderWay) {
		return ReplyOutput{}, err
	}
	failpoint.Here("compose: written")
	return ReplyOutput{Result: conversation.Done}, nil
}

// notice is the note that is asked for.
func (in ComposeInput) notice() prompt.Notice {
	switch in.Stop {
	case conversation.Stopped:
		return prompt.Stopped
	case conversation.TooLate:
		return prompt.TooLate
	}
	return prompt.Unanswered
}

// stopsThread reports whether the bot is told to keep out of the thread. In a direct message every word
// is for it.
func (in ComposeInput) stopsThread() bool {
	return in.Stop != conversation.NoStop && !in.Conversation.TopLevel() && !in.Conversation.Direct()
}

// silenceRule returns the rule that forbids a reply, or NoRule. Whoever addresses the bot is answered in
// quiet hours, and gets a note if the budget is used up. An operator's order overrides quiet hours
// and a silence that has ended, but not the budget.
func (in ComposeInput) silenceRule(facts conversation.Facts) conversation.Rule {
	switch {
	case in.Addressed && in.Occasion == "":
		return facts.AnswerRule()
	case in.Addressed || in.Notice:
		return facts.AddressedRule()
	}
	if in.Ordered {
		facts.Quiet, facts.Silenced, facts.Stopped = false, false, false
	} else if facts.Mode == conversation.ModeMention { // since the judgment; no new message withdraws the reply
		return conversation.RuleModeMention
	}
	return facts.UnsolicitedRule()
}

// channelWait is how long Slack may take to say who can read a channel.
const channelWait = 2 * time.Second

// written is what a model has answered: a text, or steps to look up first.
type written struct {
	text string
	// reaction is the emoji that stands for the text, its character; empty if the text is posted.
	reaction string
	// saw is the time of the newest message that it read, read when the conversation was first read for
	// the reply; zero if that was just now.
	saw, read time.Time
	looking   bool
	steps     []conversation.Step
	rounds    int // that came before
	// proposes is set if the model has proposed or promised anything.
	proposes bool
}

// writeReply asks the model for the reply, and sets what the whole reply has cost. Nobody waits for an
// unsolicited reply, so Slack is first asked whether the channel was made private or shared; if it does
// not answer, its last answer counts.
func (a *Activities) writeReply(ctx context.Context, in ComposeInput, known agents.Facts, kept *store.Promise, d *store.Decision) (written, error) {
	if !in.Addressed && !in.Conversation.Direct() {
		_, _ = a.Directory.Refresh(ctx, in.Conversation.Team, in.Conversation.Channel, channelWait) // which logs its error
	}
	l, err := a.lookedFor(ctx, in)
	if err != nil {
		return written{}, err
	}
	if err := a.checkLost(ctx, in.Task); err != nil {
		return written{}, err
	}
	if in.Addressed && in.Round == 0 && known.Trigger != nil && slices.Contains(known.Settings.Tools, chat.ToolReadFile) && a.Mind.ReadsFiles() {
		known.Trigger.Files = a.Mind.Recall.CompleteFiles(ctx, *known.Trigger)
	}
	about := agents.Reply{Conversation: in.Conversation, Trigger: in.Trigger, Until: in.Until, Addressed: in.Addressed, Turns: l.turns, By: l.by}
	attempt := attemptOf(ctx, in.Task)
	attempt.Kept = len(l.turns)
	about.ShowsFiles = in.Occasion == "" && !attempt.LeavesFiles
	about.Follows = in.Addressed && in.Round > 0 && known.Settings.Mode == config.ModeMention // there a conversation hears only of mentions
	if in.Occasion == "" && !in.Ordered {
		about.Reactions = a.Mind.Reactions()
	}
	if about.Acted, err = a.actedFor(ctx, in.Task); err != nil {
		return written{}, err
	}
	if kept != nil {
		shown := shownPromise(*kept)
		about.Promise = &shown
	}
	began := a.Clock()
	var offers []tools.Offer
	asker := ""
	if known.Trigger != nil {
		asker = known.Trigger.UserID
	}
	place := a.placeOf(in.Task, in.Addressed, asker, known.ChannelName, known.Readers, known.Settings)
	if a.Tools != nil && !l.last(a.Limits, in.Round, began) {
		if attempt.LeavesFiles {
			place.Allowed = tools.WithoutFiles(place.Allowed)
		}
		if place.Addressed && slices.Contains(place.Allowed, tools.LookAgain) {
			place.Zone = a.Mind.ZoneOf(ctx, in.Conversation.Team, asker, known.AuthorZone, known.Settings)
		}
		if offers, err = a.Tools.Offered(ctx, place); err != nil {
			return written{}, err
		}
		about.Tools = offers
	}
	q, answer, err := a.Mind.AskReply(ctx, about, attempt)
	vain := err == nil && answer.Turn == nil && about.InVain(answer.Text)
	if vain {
		about.Promised = answer.Text
		before := answer
		if q, answer, err = a.Mind.AskReply(ctx, about, attempt); err != nil {
			answer, err = before, nil // the draft, with a line that it promises nothing
		} else {
			answer.Usage = answer.Usage.Add(before.Usage)
		}
	}
	if err == nil && answer.Turn != nil {
		steps, err := a.keepTurn(ctx, in, q, answer, l, proposer{offers, asker, began})
		failpoint.Here("compose: turn written")
		return written{looking: true, steps: steps}, err
	}
	answer.Usage = answer.Usage.Add(l.cost.Usage)
	setCost(d, answer)
	text := answer.Text
	if cut, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrCut) && prompt.Visible(cut.Text) {
		// A reply cut at the token limit is posted with a mark at its end.
		text, err = strings.TrimSpace(cut.Text)+" …", nil
	}
	if err != nil {
		return written{rounds: len(l.turns)}, err
	}
	text, reaction := prompt.SafeReply(text, q.Shown(), a.writtenFor(ctx, in, place, known.Settings.Persona), a.Mind.Recall.Persona), ""
	if name := chat.ParseReaction(text); name != "" {
		text = chat.EmojiCharacter(name)
		if slices.Contains(about.Reactions, name) && l.proposed+l.unproposed == 0 && !about.Promises() && kept == nil {
			reaction = name
		}
	}
	text, err = a.linkCitations(ctx, in.Conversation, text, l.cited)
	if err == nil && vain && about.InVain(answer.Text) {
		text += "\n\n_" + a.words().Of(inVain) + "_"
	}
	if err == nil && l.unproposed > 0 {
		text += "\n\n_" + a.words().Say(unproposed, l.unproposed, maxProposals) + "_"
	}
	unseen := unseenOf(q.Attached, answer.WithoutFiles)
	if attempt.LeavesFiles && known.Trigger != nil && in.Occasion == "" {
		for _, f := range known.Trigger.Files {
			unseen = append(unseen, f.Name)
		}
	}
	if err == nil && in.Addressed && len(unseen) > 0 {
		var line string
		line, err = a.Mind.Prompts.Unseen(unseen)
		text, reaction = text+"\n\n"+line, ""
	}
	return written{text: text, reaction: reaction, saw: q.Saw, read: l.read, rounds: len(l.turns), proposes: l.proposed > 0 || about.Promises()}, err
}

// unseenOf names those of a message's files that the model could not look at.
func unseenOf(attached, left []string) (names []string) {
	for _, name := range attached {
		if slices.Contains(left, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// parts splits a reply into messages that Slack accepts. Its author began to read at read, and read
// messages up to saw.
func (a *Activities) parts(t Task, text string, saw, read time.Time) []store.Part {
	var parts []store.Part
	for i, piece := range slack.Split(text, slack.DefaultLimit) {
		parts = append(parts, store.Part{
			Key: t.replyKey() + "/" + strconv.Itoa(i), Reply: t.replyKey(), Number: i,
			Team: t.Conversation.Team, Channel: t.Conversation.Channel, Thread: t.Conversation.Thread,
			Trigger: t.Trigger, Text: piece, Saw: saw, Read: read, Decision: t.decisionKey(), Epoch: t.Epoch,
		})
	}
	return parts
}
