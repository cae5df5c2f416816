package slack

import (
	"encoding/json"

	"github.com/slack-go/slack/slackevents"
)

// ChannelIDChanged reports that a channel has a new id. Slack gives a private channel one when
// somebody begins to share it with another workspace
// (docs.slack.dev/reference/events/channel_id_changed).
type ChannelIDChanged struct{ Old, New string }

func decodeChannelID(raw json.RawMessage) (Event, error) {
	e, err := unmarshal[slackevents.ChannelIDChangedEvent](raw)
	if err != nil {
		return nil, err
	}
	c := ChannelIDChanged{Old: validOrEmpty(e.OldChannelID), New: validOrEmpty(e.NewChannelID)}
	if c.Old == "" || c.New == "" || c.Old == c.New {
		return nil, unusable("change of a channel's id without two different ids")
	}
	return c, nil
}
