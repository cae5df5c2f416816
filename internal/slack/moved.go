package slack

import "github.com/slack-go/slack/slackevents"

// Moved reports whether an envelope tells that a channel has another id now.
func (e Envelope) Moved() bool {
	return e.Type == slackevents.CallbackEvent && e.EventType == string(slackevents.ChannelIDChanged)
}

// ReadMove reads the event channel_id_changed: Slack gives a private channel another id when
// somebody begins to share it with another workspace
// (docs.slack.dev/reference/events/channel_id_changed). Errors wrap ErrForeign or ErrUnusable.
func ReadMove(env Envelope, id Identity) (from, to string, err error) {
	if err := env.Of(id); err != nil {
		return "", "", err
	}
	from, to = known(env.event.text("old_channel_id")), known(env.event.text("new_channel_id"))
	if from == "" || to == "" || from == to {
		return "", "", unusable("change of a channel's id without the two ids")
	}
	return from, to, nil
}
