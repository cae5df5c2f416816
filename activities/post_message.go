package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"myao/internal/answer/tools"
	"myao/internal/conversation"
	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
	"myao/internal/store"
)

// What people are told of a message that was to be posted elsewhere.
const (
	askedToSay    = "<@%s> asked me to say this:"
	postDone      = "Posted in %s: %s"
	postFailed    = "I did not post it in %s. %s"
	postUnknown   = "I was interrupted, so I do not know whether it was posted in %s. I will not try again: please look."
	slackRefused  = "Slack refused it (`%s`)."
	postForgotten = "Nothing is kept of what it was to say."
)

// postApproved posts a message that was approved, once. The outbox has it before Slack is asked, so that another
// attempt goes on with it. Until then whoever asked and whoever approved must both be in the place. An err means that
// it has not ended.
func (a *Activities) postApproved(
	ctx context.Context, place tools.Place, p store.Proposal,
) (state store.ProposalState, output string, err error) {
	reply := Task{Conversation: p.Conversation(), Trigger: p.TriggerTS}.replyKey() + "/post/" + p.ID
	parts, err := a.Store.Parts(ctx, reply)
	if err != nil {
		return "", "", err
	}
	if len(parts) == 0 {
		if why, err := a.writePost(ctx, place, p, reply); err != nil || why != "" {
			return store.ProposalFailed, why, err
		}
		failpoint.Here("act: post written")
		if parts, err = a.Store.Parts(ctx, reply); err != nil || len(parts) == 0 {
			return store.ProposalFailed, postForgotten, err
		}
	}
	result, _, err := a.postPart(ctx, parts[0], false)
	refused, ok := errors.AsType[*slack.Error](err)
	switch {
	case ok && refused.Kind == slack.Final:
		return store.ProposalFailed, a.words().Say(slackRefused, refused.Code), nil
	case err != nil:
		return "", "", err
	case result == conversation.Failed:
		return store.ProposalFailed, a.words().Say(slackRefused, parts[0].Error), nil
	case result != conversation.Done:
		return store.ProposalFailed, tools.PostSilent.Error(), nil
	}
	if parts, err = a.Store.Parts(ctx, reply); err != nil || len(parts) == 0 {
		return store.ProposalUnknown, "", err
	}
	link, err := a.Slack.Permalink(ctx, parts[0].Channel, parts[0].SentTS)
	if refusedBySlack(err) { // a message without an address is posted nevertheless
		link, err = parts[0].SentTS, nil
	}
	return store.ProposalDone, link, err
}

// writePost puts an approved message into the outbox, or says why it may not be posted.
func (a *Activities) writePost(ctx context.Context, place tools.Place, p store.Proposal, reply string) (why string,
	err error) {
	if a.Tools == nil {
		return tools.PostNowhere.Error(), nil
	}
	post, ok := tools.ReadPost(p.Input)
	if !ok {
		return postForgotten, nil
	}
	approver, bySlack := strings.CutPrefix(p.DecidedBy, "slack:")
	for _, user := range []string{p.Asker, approver} {
		if user == approver && !bySlack {
			continue
		}
		place.Asker = user
		if _, why, err = a.Tools.Prepare(ctx, place, p.Tool, json.RawMessage(p.Input)); err != nil || why != "" {
			return why, err
		}
	}
	if post.User != "" {
		if post.Channel, err = a.Slack.OpenDirect(ctx, post.User); refusedBySlack(err) {
			return tools.PostNobody.Error(), nil
		} else if err != nil {
			return "", err
		}
	}
	return "", a.Store.WriteApart(ctx, store.Part{
		// As a second part it may be posted although a message was deleted there since: it answers none.
		Key: reply + "/1", Reply: reply, Number: 1, Team: p.TeamID, Channel: post.Channel, Trigger: p.TriggerTS,
		Text: a.words().Say(askedToSay, p.Asker) + "\n\n" + post.Text,
	})
}

// postTold tells what came of a message that was to be posted elsewhere. Of a place nobody learns more than the
// proposal said.
func (a *Activities) postTold(p store.Proposal) string {
	post, _ := tools.ReadPost(p.Input)
	switch w := a.words(); p.State {
	case store.ProposalDone:
		return w.Say(postDone, post.Shown, p.Output)
	case store.ProposalFailed:
		return w.Say(postFailed, post.Shown, w.Of(p.Output))
	default:
		return w.Say(postUnknown, post.Shown)
	}
}
