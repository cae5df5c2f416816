package record

import (
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

func TestPlanOfAStop(t *testing.T) {
	t.Parallel()
	normal, bots := config.ChannelSettings{Mode: config.ModeJudge}, config.ChannelSettings{Mode: config.ModeJudge, Bots: config.BotsJudge}
	mode := func(m config.Mode) config.ChannelSettings { return config.ChannelSettings{Mode: m} }
	operator := func(m *chat.Message) { m.UserID = "U9" }
	for _, test := range []struct {
		name     string
		event    slack.MessageEvent
		settings config.ChannelSettings
		want     []conversation.Change
	}{
		{"alone in a thread", posted(inThread, text("Stop!")), normal, []conversation.Change{{TS: ts, Kind: conversation.Said, Author: "U1", Stop: true}}},
		{"in a thread where only mentions are heard", posted(inThread, text("止めて")), mode(config.ModeMention), []conversation.Change{{TS: ts, Kind: conversation.Said, Author: "U1", Stop: true}}},
		{"at the top level there", posted(text("stop")), mode(config.ModeMention), nil},
		{"where the bot is off", posted(inThread, text("stop")), mode(config.ModeOff), nil},
		{"by an operator", posted(inThread, text("stop"), operator), normal, []conversation.Change{{TS: ts, Kind: conversation.Said, Author: "U9", By: "slack:U9", Stop: true}}},
		{"after the mention", posted(inThread, text("<@UBOT> stop")), normal, []conversation.Change{{TS: ts, Kind: conversation.Addressed, Author: "U1", Mention: true, Stop: true}}},
		{"in a DM", posted(inDM, text("stop")), normal, []conversation.Change{{TS: ts, Kind: conversation.Addressed, Author: "U1", Stop: true}}},
		{"by a bot", posted(inThread, byBot, text("stop")), bots, []conversation.Change{{TS: ts, Kind: conversation.Said}}},
		{"no stop", posted(inThread, text("stop the deploy")), normal, []conversation.Change{{TS: ts, Kind: conversation.Said, Author: "U1"}}},
		{"by an operator, no stop", posted(inThread, operator), normal, []conversation.Change{{TS: ts, Kind: conversation.Said, Author: "U9"}}},
		{"an edit", edited("hello", inThread, text("stop")), normal, []conversation.Change{{TS: ts, Kind: conversation.Edited, Revision: rev, Author: "U1"}}},
		{"an edit that adds the mention", edited("stop", inThread, text("<@UBOT> stop")), normal, []conversation.Change{
			{TS: ts, Kind: conversation.Addressed, Revision: rev, Author: "U1", Mention: true, Stop: true},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			known := store.Known{}
			if test.event.Kind == slack.Edited {
				known = heard(inThread)
			}
			got := plan(test.event, known, test.settings, siblings{own: "UBOT"}, "U9").Changes
			if len(got) != len(test.want) {
				t.Fatalf("got %+v, want %+v", got, test.want)
			}
			for i, want := range test.want {
				if got[i].Change != want {
					t.Errorf("got %+v, want %+v", got[i].Change, want)
				}
			}
		})
	}
}
