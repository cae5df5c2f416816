package activities

import (
	"context"
	"errors"
	"slices"
	"strings"

	"myao/internal/conversation"
	"myao/internal/operate/choice"
	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
	"myao/internal/store"
)

// The ledger's reasons for a reply that Slack did not take in its place.
const (
	movedUpReason     = "Slack took no answer in the thread, so it was posted at the top level of the channel"
	movedDownReason   = "Slack took no answer at the top level of the channel, so it was posted in a thread"
	movedDirectReason = "Slack took no answer in the channel, so whoever asked was told in a direct message"
)

// What readers are told of a reply in another place.
const (
	notInThread = "I could not post this in the thread, so it is here."
	notInPlace  = "I could not post it in <#%s>, where you asked."
)

// spot is where a message can be posted; the thread is empty at the top level.
type spot struct{ channel, thread string }

// nextSpot is where a reply can be read that was refused at a spot. home is where it belongs, in answer to a trigger.
// direct: in a direct message. Neither: nowhere.
func nextSpot(home, at spot, trigger string, refused slack.PlaceRefusal) (next spot, direct bool) {
	switch {
	case refused == "" || at.channel != home.channel:
		return spot{}, false
	case at == home && home.thread != "" && refused == slack.ThreadRefused:
		return spot{channel: home.channel}, false
	case at == home && home.thread == "" && refused == slack.TopLevelRefused:
		return spot{home.channel, trigger}, false
	}
	return spot{}, true
}

// postReadable is postReply for a reply that somebody waits for. What Slack refuses because of the place is posted
// where whoever waits can read it. The outbox has the new place before anything is posted there, so that an
// attempt of unknown end is looked for there.
func (a *Activities) postReadable(ctx context.Context, t Task) (result conversation.Result, proposes bool, err error) {
	for {
		result, proposes, err = a.postReply(ctx, t)
		if result != conversation.Failed && !refusedBySlack(err) {
			return result, proposes, err
		}
		moved, failed := a.relocate(ctx, t)
		if failed != nil {
			return "", false, failed
		}
		if !moved {
			return result, proposes, err
		}
		a.notPosted(t, true)
	}
}

// relocate gives what was refused of a reply another place. It reports whether there is one.
func (a *Activities) relocate(ctx context.Context, t Task) (bool, error) {
	parts, err := a.Store.Parts(ctx, t.replyKey())
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(parts, func(p store.Part) bool { return p.State == store.Failed })
	if i < 0 {
		return false, nil
	}
	p := parts[i]
	home := spot{t.Conversation.Channel, t.Conversation.Thread}
	next, direct := nextSpot(home, spot{p.Channel, p.Thread}, t.Trigger, slack.RefusedPlace(p.Error))
	if next.channel == "" && !direct {
		return false, nil
	}
	// Where it goes may not be muted, while the place of the conversation is.
	if silenced, err := a.Store.SilencedUntil(ctx, t.Conversation); err != nil || silenced.After(a.Clock()) {
		return false, err
	}
	about, err := a.subjectOf(ctx, t.Occasion)
	if err != nil {
		return false, err
	}
	asker, err := a.askerOf(ctx, t, about)
	if err != nil || direct && asker == "" {
		return false, err
	}
	m := store.Relocation{From: p, Reason: movedDownReason}
	line, upper := "", a.words().Of(notInThread)
	switch {
	case direct:
		next.channel, err = a.Slack.OpenDirect(ctx, asker)
		if err != nil && !refusedBySlack(err) {
			return false, err
		}
		if err != nil || next.channel == p.Channel {
			return false, nil
		}
		line, m.Reason = a.words().Say(notInPlace, p.Channel), movedDirectReason
		if t.hasOccasion() {
			return a.replaceDirect(ctx, t, about, next.channel, line)
		}
		p.Text = strings.TrimPrefix(p.Text, headed(asker, upper, ""))
	case next.thread == "":
		line, m.Reason = upper, movedUpReason
	}
	m.Channel, m.Thread, m.Text = next.channel, next.thread, headed(asker, line, p.Text)
	if err := a.Store.RelocateReply(ctx, m); err != nil {
		return false, err
	}
	failpoint.Here("post: elsewhere")
	a.Logger.InfoContext(ctx, "reply goes elsewhere", "key", p.Key, "channel", m.Channel, "thread", m.Thread, "refused",
		p.Error)
	return true, nil
}

// replaceDirect has what is kept of a promise, or came of a call, told in a direct message in words of our own: whoever
// asked, perhaps long ago, may not read the channel any more, while a model wrote the reply with what is said there.
func (a *Activities) replaceDirect(ctx context.Context, t Task, about subject, direct, line string) (bool, error) {
	n := store.Notice{Reason: elsewhereReason, Channel: direct}
	if p := about.promise; p != nil {
		n.Text = choice.PromiseElsewhere(a.words(), *p, a.promiseText(*p))
	} else {
		n.Reason, n.Text = movedDirectReason, headed(about.asker(), line, a.plainly(about))
	}
	return a.Store.ReplaceWithNotice(ctx, t.replyKey(), n)
}

// headed is a text below a line that names whoever it is for; asker may be empty. A text that names them first has the
// line at its end.
func headed(asker, line, text string) string {
	name := ""
	if asker != "" {
		name = "<@" + asker + ">"
	}
	if name != "" && strings.HasPrefix(text, name) {
		return strings.TrimSpace(text + "\n\n" + line)
	}
	return strings.TrimLeft(strings.TrimSpace(name+" "+line)+"\n\n"+text, "\n")
}

// askerOf is the user id of whoever a reply is for; "" if nobody is known.
func (a *Activities) askerOf(ctx context.Context, t Task, about subject) (string, error) {
	if t.hasOccasion() {
		return about.asker(), nil
	}
	m, err := a.Store.Message(ctx, t.Conversation.Team, t.Conversation.Channel, t.Trigger)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return m.UserID, err
}
