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
func (a *Activities) writeReply(ctx context.Context, in ComposeInput, known agents.Known, promise *store.Promise,
	d *store.Decision) (written, error) {
	if !in.Addressed && !in.Conversation.Direct() {
		// which logs its error
		_, _ = a.Directory.Refresh(ctx, in.Conversation.Team, in.Conversation.Channel, channelWait)
	}
	l, err := a.lookedFor(ctx, in)
	if err != nil {
		return written{}, err
	}
	if err := a.checkLost(ctx, in.Task); err != nil {
		return written{}, err
	}
	if in.Addressed && in.Round == 0 && known.Trigger != nil &&
		slices.Contains(known.Settings.Tools, chat.ToolReadFile) && a.Agents.ReadsFiles() {
		known.Trigger.Files = a.Agents.Recall.CompleteFiles(ctx, *known.Trigger)
	}
	about := agents.Reply{Conversation: in.Conversation, Trigger: in.Trigger, Until: in.Until, Addressed: in.Addressed,
		Turns: l.turns, By: l.by}
	attempt := attemptOf(ctx, in.Task)
	attempt.Saved = len(l.turns)
	about.ShowsFiles = in.Occasion == "" && !attempt.LeavesFiles
	// there a conversation hears only of mentions
	about.Follows = in.Addressed && in.Round > 0 && known.Settings.Mode == config.ModeMention
	if in.Occasion == "" && !in.Ordered {
		about.Reactions = a.Agents.Reactions()
	}
	if about.Acted, err = a.actedFor(ctx, in.Task); err != nil {
		return written{}, err
	}
	if promise != nil {
		shown := shownPromise(*promise)
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
		if place.Addressed && slices.Contains(place.Allowed, chat.ToolLookAgain) {
			place.Zone = a.Agents.ZoneOf(ctx, in.Conversation.Team, asker, known.AuthorZone, known.Settings)
		}
		if offers, err = a.Tools.Offered(ctx, place); err != nil {
			return written{}, err
		}
		about.Tools = offers
	}
	q, answer, err := a.Agents.AskReply(ctx, about, attempt)
	vain := err == nil && answer.Turn == nil && about.InVain(answer.Text)
	if vain {
		about.VainDraft = answer.Text
		before := answer
		if q, answer, err = a.Agents.AskReply(ctx, about, attempt); err != nil {
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
	text, reaction := prompt.SafeReply(text, q.Shown(), a.writtenFor(ctx, in, place, known.Settings.Persona),
		a.Agents.Recall.Persona), ""
	if name := chat.ParseReaction(text); name != "" {
		text = chat.EmojiCharacter(name)
		if slices.Contains(about.Reactions, name) && l.proposed+l.unproposed == 0 && !about.Promises() &&
			promise == nil {
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
		line, err = a.Agents.Prompts.Unseen(unseen)
		text, reaction = text+"\n\n"+line, ""
	}
	return written{text: text, reaction: reaction, saw: q.Saw, read: l.read, rounds: len(l.turns),
		proposes: l.proposed > 0 || about.Promises()}, err
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
