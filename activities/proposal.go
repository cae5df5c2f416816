package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/operate/choice"
	"myao/internal/runtime/failpoint"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
)

// maxProposals limits what is proposed because of one message, in all replies to it. People who see more buttons
// press them without reading the text above each.
const maxProposals = 2

// unproposed stands under a reply that was to propose more.
const unproposed = "There was more to propose (%d). One message gets at most %d proposals: ask me again for the rest."

// The results of calls that act, for the model.
const (
	stepProposed = "Proposed, not done. People see it with a button under your message, and one of them has to " +
		"approve it there. Write now in a sentence what you propose, and do not say that it is done."
	stepTooLong = "This was not proposed: its input is too long to be shown whole, and nobody approves what they " +
		"cannot see. Make it shorter."
	stepUnprepared = "This was not proposed: Slack does not answer, so that nobody knows whether it may be done. Say so."
	stepTooMany    = "This was not proposed: one message gets at most two proposals. Leave it out; people are told " +
		"that there was more."
	callUnknown     = "(it was interrupted; whether it was done is not known)"
	callNotMade     = "Nothing was done: the tool's server could not be asked."
	callInterrupted = "The call took too long or its server went away in between: whether it was done is not known."
)

// proposer is what decides how a call that acts is proposed.
type proposer struct {
	offers []tools.Offer
	place  tools.Place
	asker  string
	began  time.Time
}

// offer is what was offered under a name.
func (p proposer) offer(name string) tools.Offer {
	if i := slices.IndexFunc(p.offers, func(o tools.Offer) bool { return o.Name == name }); i >= 0 {
		return p.offers[i]
	}
	return tools.Offer{}
}

// propose makes a step a proposal, unless nobody could decide about it.
func (a *Activities) propose(ctx context.Context, st *store.Step, offer tools.Offer, p proposer, before int) {
	proposal := store.Proposal{
		Choice: store.Choice{Asker: p.asker}, Server: offer.Server, Tool: st.Tool, Input: st.Input,
		Idempotent: offer.Idempotent,
		LapsesUS:   a.Clock().Add(a.Limits.Approval()).UnixMicro(),
	}
	why, unprepared := a.Tools.Refuses(json.RawMessage(st.Input)), ""
	if offer.Server == "" && why == "" && before < maxProposals {
		var err error
		proposal.Input, unprepared, err = a.Tools.Prepare(ctx, p.place, st.Tool, json.RawMessage(st.Input))
		if err != nil {
			a.Logger.WarnContext(ctx, "call not proposed", "tool", st.Tool, "error", err)
			unprepared = stepUnprepared
		}
	}
	_, whole := choice.ProposalText(a.words(), proposal)
	st.Failed = true
	switch {
	case why != "":
		st.State, st.Input, st.Output = store.StepRefused, "{}", why // a credential is not kept
	case unprepared != "":
		st.State, st.Output = store.StepRefused, unprepared
	case !whole:
		st.State, st.Output = store.StepRefused, stepTooLong
	case before >= maxProposals:
		st.State, st.Output = store.StepRefused, stepTooMany
	default:
		st.State, st.Output, st.Failed, st.Proposal = store.StepProposed, stepProposed, false, &proposal
	}
}

// choicesUnder are the proposals and promises that stand under a part.
func (a *Activities) choicesUnder(ctx context.Context, p store.Part) ([]slack.Choice, error) {
	if !p.Proposes {
		return nil, nil
	}
	rows, err := a.Store.ProposalsOf(ctx, p.Decision)
	if err != nil {
		return nil, err
	}
	var shown []slack.Choice
	for _, row := range rows {
		shown = append(shown, choice.OfProposal(a.words(), row))
	}
	promises, err := a.promisesUnder(ctx, p)
	return append(shown, promises...), err
}

// feedbackUnder is the labels of the buttons to rate a reply under a part.
func (a *Activities) feedbackUnder(p store.Part) slack.Feedback {
	if !p.Feedback {
		return slack.Feedback{}
	}
	w := a.words()
	return slack.Feedback{Up: w.Of("Good answer"), Down: w.Of("Bad answer")}
}

// opened is the output of a post. It records where the buttons of its proposals and promises stand.
func (a *Activities) opened(
	ctx context.Context, t Task, result conversation.Result, proposes bool,
) (ReplyOutput, error) {
	out := ReplyOutput{Result: result}
	if result != conversation.Done || !proposes {
		return out, nil
	}
	parts, err := a.Store.Parts(ctx, t.replyKey())
	if err != nil || len(parts) == 0 {
		return ReplyOutput{}, err
	}
	last := parts[len(parts)-1]
	rows, err := a.Store.ShowProposals(ctx, last.Decision, last.SentTS)
	if err != nil {
		return ReplyOutput{}, err
	}
	for _, p := range rows {
		out.Opened = append(out.Opened, conversation.OpenProposal{ID: p.ID, TS: p.TriggerTS, LapsesAt: p.Lapses()})
	}
	made, err := a.Store.ShowPromises(ctx, last.Decision, last.SentTS)
	if err != nil {
		return ReplyOutput{}, err
	}
	for _, p := range made {
		out.Promised = append(out.Promised, conversation.OpenPromise{ID: p.ID, TS: p.TriggerTS, Author: p.Asker,
			DueAt: p.Turns(), Number: p.Number})
	}
	return out, nil
}

// ProposalInput names a proposal, or for ShowProposal a promise.
type ProposalInput struct {
	Conversation chat.Conversation `json:"conversation"`
	Trigger      string            `json:"trigger"` // ts of the message that asked
	Proposal     string            `json:"proposal"`
	// Close is conversation.CloseLapsed or CloseWithdrawn; empty leaves the proposal as it is.
	Close string `json:"close,omitempty"`
}

// Workspace implements Input.
func (in ProposalInput) Workspace() string { return in.Conversation.Team }

// Subject returns the ts of the message, for logs and traces.
func (in ProposalInput) Subject() string { return in.Trigger }

// ActOutput says how an approved call ended.
type ActOutput struct {
	// Tell is set if the call was made, or may have been.
	Tell bool `json:"tell,omitempty"`
	// Asker is the user id of whoever asked.
	Asker string `json:"asker,omitempty"`
}

// Act makes an approved call, at most once: the proposal's row says that it has begun before it is made,
// and an attempt that finds it so does not make it again. Calls that their server says may be repeated
// are.
func (a *Activities) Act(ctx context.Context, in ProposalInput) (ActOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.act(ctx, in)
	if err != nil {
		return ActOutput{}, classify(fmt.Errorf("act: %w", err))
	}
	return out, nil
}

func (a *Activities) act(ctx context.Context, in ProposalInput) (ActOutput, error) {
	p, err := a.Store.Proposal(ctx, in.Proposal)
	if errors.Is(err, store.ErrNotFound) { // it was forgotten
		return ActOutput{}, nil
	}
	if err != nil {
		return ActOutput{}, err
	}
	place, err := a.placeOfCall(ctx, p) // before it begins: what fails here may be tried again
	if err != nil {
		return ActOutput{}, err
	}
	p, run, err := a.Store.BeginProposal(ctx, p.ID)
	if err != nil {
		return ActOutput{}, err
	}
	if run {
		failpoint.Here("act: begun")
		carryOut := a.call
		if p.Tool == chat.ToolPostMessage {
			carryOut = a.postApproved
		}
		state, output, err := carryOut(ctx, place, p)
		if err != nil { // and it has not ended
			return ActOutput{}, err
		}
		failpoint.Here("act: done")
		ending, cancel := timeout.After(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		if err := a.Store.EndProposal(ending, p.ID, state,
			clipped(store.Clean(output), a.Limits.MaxResultChars)); err != nil {
			return ActOutput{}, err
		}
		p.State = state
		a.Logger.InfoContext(ctx, "approved call made", "conversation", in.Conversation.ID(), "proposal", p.ID,
			"server", p.Server, "state", string(state))
	}
	return ActOutput{Tell: p.State.Ran(), Asker: p.Asker}, nil
}

// placeOfCall is where and for whom an approved call is made.
func (a *Activities) placeOfCall(ctx context.Context, p store.Proposal) (tools.Place, error) {
	known, err := a.Store.Channels(ctx, p.TeamID, []string{p.ChannelID})
	if err != nil {
		return tools.Place{}, err
	}
	readers, err := a.Store.ReadersOf(ctx, p.TeamID, p.ChannelID)
	if err != nil {
		return tools.Place{}, err
	}
	name := known[p.ChannelID].Name
	settings, err := a.Directory.Resolve(ctx, p.TeamID, config.ChannelFacts{ID: p.ChannelID, Name: name})
	if err != nil {
		return tools.Place{}, err
	}
	place := a.placeOf(Task{Conversation: p.Conversation(), Trigger: p.TriggerTS}, true, p.Asker, name, readers,
		settings)
	place.Approved = p.ID
	return place, nil
}

// call makes the call of a proposal that has begun, and returns how it ended.
func (a *Activities) call(
	ctx context.Context, place tools.Place, p store.Proposal,
) (state store.ProposalState, output string, err error) {
	if a.Tools == nil {
		return store.ProposalFailed, stepFailed, nil
	}
	result, err := a.Tools.Run(ctx, place, p.ID, p.Tool, json.RawMessage(p.Input))
	switch {
	case errors.Is(err, tools.ErrNotCalled):
		a.Logger.WarnContext(ctx, "approved call not made", "proposal", p.ID, "server", p.Server, "error", err)
		return store.ProposalFailed, callNotMade, nil
	case err != nil:
		a.Logger.WarnContext(ctx, "approved call of unknown end", "proposal", p.ID, "server", p.Server, "error", err)
		return store.ProposalUnknown, callInterrupted, nil
	case result.Failed:
		return store.ProposalFailed, result.Text, nil
	}
	return store.ProposalDone, result.Text, nil
}

// shownChoice is the proposal or promise that an input names, after the proposal was closed if that is asked for.
func (a *Activities) shownChoice(ctx context.Context, in ProposalInput) (store.Choice, error) {
	var p store.Proposal
	var err error
	if in.Close != "" {
		p, err = a.Store.CloseProposal(ctx, in.Proposal, store.ProposalState(in.Close))
	} else {
		p, err = a.Store.Proposal(ctx, in.Proposal)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return p.Choice, err
	}
	promise, err := a.Store.Promise(ctx, in.Proposal)
	return promise.Choice, err
}

// ShowProposal has the message with the buttons of a proposal or a promise show what has become of it,
// after the proposal was closed if that is asked for. It may be repeated.
func (a *Activities) ShowProposal(ctx context.Context, in ProposalInput) error {
	if err := a.showProposal(ctx, in); err != nil {
		return classify(fmt.Errorf("show proposal: %w", err))
	}
	return nil
}

func (a *Activities) showProposal(ctx context.Context, in ProposalInput) error {
	p, err := a.shownChoice(ctx, in)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || p.ShownTS == "" {
		return err
	}
	part, err := a.Store.ShownAt(ctx, p.Decision, p.ShownTS)
	if errors.Is(err, store.ErrNotFound) || err == nil && part.Text == "" { // deleted, or forgotten
		return nil
	}
	if err != nil {
		return err
	}
	part.Proposes = true
	shown, err := a.choicesUnder(ctx, part)
	if err != nil {
		return err
	}
	for { // another update may have overtaken this one, which then shows what is no longer so
		if _, err := a.Slack.Update(ctx, slack.Update{Channel: part.Channel, TS: p.ShownTS, Text: part.Text,
			Key: part.Key, Choices: shown, Feedback: a.feedbackUnder(part)}); err != nil {
			return err
		}
		now, err := a.choicesUnder(ctx, part)
		if err != nil || reflect.DeepEqual(now, shown) {
			return err
		}
		shown = now
	}
}
