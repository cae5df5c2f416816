package activities

import (
	"context"
	"errors"
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
	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
	"myao/internal/store"
)

// inVain stands under a reply that promises something which the model has not made a promise of.
const inVain = "I have set no reminder for this. Ask me for one with a time."

// written is a reply: a text, or what is to be looked up first.
type written struct {
	text string
	// reaction is the emoji that stands for the text, its character; empty if the text is posted.
	reaction string
	// saw is the time of the newest message that its author read, read when the conversation was first read for
	// the reply; zero if that was just now.
	saw, read time.Time
	looking   bool
	steps     []conversation.Step
	rounds    int // that came before
	// proposes is set if the model has proposed or promised anything, and feedback if people are asked to rate it.
	proposes, feedback bool
}

// asked is what a model is asked for a reply.
type asked struct {
	agents.Reply
	attempt agents.Attempt
	place   tools.Place
	looked  looked
	began   time.Time
}

// asker is the user id of whoever wrote the trigger; "" if that is not known.
func (k knownReply) asker() string {
	if k.Trigger == nil {
		return ""
	}
	return k.Trigger.UserID
}

// askedFor is what a model is to be asked. Nobody waits for an unsolicited reply, so Slack is first asked whether the
// channel was made private or shared; if it does not answer, its last answer counts.
func (a *Activities) askedFor(ctx context.Context, in ComposeInput, k knownReply) (q asked, err error) {
	if !in.Addressed && !in.Conversation.Direct() {
		// which logs its error
		_, _ = a.Directory.Refresh(ctx, in.Conversation.Team, in.Conversation.Channel, channelWait)
	}
	if q.looked, err = a.lookedFor(ctx, in); err != nil {
		return q, err
	}
	if err := a.checkLost(ctx, in.Task); err != nil {
		return q, err
	}
	if in.Addressed && in.Round == 0 && k.Trigger != nil &&
		slices.Contains(k.Settings.Tools, chat.ToolReadFile) && a.Agents.ReadsFiles() {
		k.Trigger.Files = a.Agents.Recall.CompleteFiles(ctx, *k.Trigger)
	}
	q.attempt = attemptOf(ctx, in.Task)
	q.attempt.Saved = len(q.looked.turns)
	q.Reply = agents.Reply{
		Conversation: in.Conversation, Trigger: in.Trigger, Until: in.Until, Addressed: in.Addressed,
		Turns: q.looked.turns, By: q.looked.by, Acted: k.shownCall(), Promise: k.shownPromise(a.Clock()),
		ShowsFiles: !in.hasOccasion() && !q.attempt.LeavesFiles,
		// there a conversation hears only of mentions
		Follows: in.Addressed && in.Round > 0 && k.Settings.Mode == config.ModeMention,
	}
	if !in.hasOccasion() && !in.Ordered {
		q.Reactions = a.Agents.Reactions()
	}
	q.began = a.Clock()
	q.place = a.placeOf(in.Task, in.Addressed, k.asker(), k.ChannelName, k.Readers, k.Settings)
	if a.Tools == nil || q.looked.last(a.Limits, in.Round, q.began) {
		return q, nil
	}
	if q.attempt.LeavesFiles {
		q.place.Allowed = tools.WithoutFiles(q.place.Allowed)
	}
	if q.place.Addressed && slices.Contains(q.place.Allowed, chat.ToolLookAgain) {
		q.place.Zone = a.Agents.ZoneOf(ctx, in.Conversation.Team, k.asker(), k.AuthorZone, k.Settings)
	}
	q.Tools, err = a.Tools.Offered(ctx, q.place)
	return q, err
}

// writeReply asks the model for the reply, and sets what the whole reply has cost.
func (a *Activities) writeReply(ctx context.Context, in ComposeInput, k knownReply,
	d *store.Decision) (written, error) {
	q, err := a.askedFor(ctx, in, k)
	if err != nil {
		return written{}, err
	}
	question, answer, err := a.Agents.AskReply(ctx, q.Reply, q.attempt)
	vain := err == nil && answer.Turn == nil && q.InVain(answer.Text)
	if vain {
		before := answer
		q.VainDraft = before.Text
		if question, answer, err = a.Agents.AskReply(ctx, q.Reply, q.attempt); err != nil {
			answer, err = before, nil // the draft, with a line that it promises nothing
		} else {
			answer.Usage = answer.Usage.Add(before.Usage)
		}
	}
	if err == nil && answer.Turn != nil {
		steps, err := a.keepTurn(ctx, in, question, answer, q.looked, proposer{q.Tools, q.place, k.asker(), q.began})
		failpoint.Here("compose: turn written")
		return written{looking: true, steps: steps}, err
	}
	answer.Usage = answer.Usage.Add(q.looked.cost.Usage)
	setCost(d, answer)
	if cut, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrCut) && prompt.Visible(cut.Text) {
		// A reply cut at the token limit is posted with a mark at its end.
		answer.Text, err = strings.TrimSpace(cut.Text)+" …", nil
	}
	if err != nil {
		return written{}, err
	}
	w := written{saw: question.Saw, read: q.looked.read, rounds: len(q.looked.turns),
		proposes: q.looked.proposed > 0 || q.Promises()}
	w.text = prompt.SafeReply(answer.Text, question.Shown(), a.writtenFor(ctx, in, k, q.place),
		a.Agents.Recall.Persona)
	if name := chat.ParseReaction(w.text); name != "" {
		w.text = chat.EmojiCharacter(name)
		if slices.Contains(q.Reactions, name) && !w.proposes && q.looked.unproposed == 0 && k.promise == nil {
			w.reaction = name
		}
	}
	if w.text, err = a.linkCitations(ctx, in.Conversation, w.text, q.looked.cited); err != nil {
		return written{}, err
	}
	if vain && q.InVain(answer.Text) {
		w.text += "\n\n_" + a.words().Of(inVain) + "_"
	}
	if n := q.looked.unproposed; n > 0 {
		w.text += "\n\n_" + a.words().Say(unproposed, n, maxProposals) + "_"
	}
	unseen := unseenOf(question.Attached, answer.WithoutFiles)
	if err := a.nameUnseen(&w, in, k, q, unseen, question.Unheard); err != nil {
		return written{}, err
	}
	w.feedback = w.reaction == "" && a.Feedback.Wanted(in.Addressed)
	return w, nil
}

// nameUnseen says under an answer which files its author could not look at, and which recordings it did not
// understand.
func (a *Activities) nameUnseen(w *written, in ComposeInput, k knownReply, q asked, unseen, unheard []string) error {
	switch {
	case !in.Addressed:
		return nil
	case in.hasOccasion():
		unheard = nil
	case q.attempt.LeavesFiles && k.Trigger != nil:
		for _, f := range k.Trigger.Files {
			if !f.Recording() {
				unseen = append(unseen, f.Name)
			}
		}
	}
	for _, say := range []struct {
		names []string
		line  func([]string) (string, error)
	}{{unseen, a.Agents.Prompts.Unseen}, {unheard, a.Agents.Prompts.Unheard}} {
		if len(say.names) == 0 {
			continue
		}
		line, err := say.line(say.names)
		if err != nil {
			return err
		}
		w.text, w.reaction = w.text+"\n\n"+line, ""
	}
	return nil
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
