package record

import (
	"slices"
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// In a channel that two workspaces of the app share, what is for the bot of one is material for the other.
func TestSiblings(t *testing.T) {
	t.Parallel()
	const asksIt, asksBoth = "<@UTWIN> hello", "<@UTWIN> <@UBOT> hello"
	all := config.ChannelSettings{Mode: config.ModeAll, Bots: config.BotsJudge}
	judge := config.ChannelSettings{Mode: config.ModeJudge, Bots: config.BotsJudge}
	own := chat.Message{UserID: "UBOT", BotID: "BBOT", Own: true}
	byTwin := func(m *chat.Message) { m.UserID, m.BotID = "UTWIN", "BTWIN" }
	for _, test := range []struct {
		name     string
		event    slack.MessageEvent
		known    store.Known
		root     string
		settings config.ChannelSettings
		want     []string
	}{
		{"a mention of the other", posted(text(asksIt)), store.Known{}, "", judge, nil},
		{"where every message addresses it", posted(text(asksIt)), store.Known{}, "", all, nil},
		{"of both", posted(text(asksBoth)), store.Known{}, "", judge, []string{answered + " addressed", channelC1 + " addressed"}},
		{"of a person", posted(text("<@U2> hello")), store.Known{}, "", judge, []string{channelC1 + " said"}},
		{"of nobody", posted(), store.Known{}, "", judge, []string{channelC1 + " said"}},
		{"a thread that began so", posted(inThread), store.Known{}, asksIt, judge, nil},
		{"a thread for both", posted(inThread), store.Known{}, asksBoth, judge, []string{thread + " said"}},
		{"brought in there", posted(inThread, mentioning), store.Known{}, asksIt, judge, []string{thread + " addressed"}},
		{"after it was", posted(inThread), store.Known{Before: []chat.Message{own}}, asksIt, judge, []string{thread + " said"}},
		{"the other's message", posted(byTwin), store.Known{}, "", judge, nil},
		{"and its question", posted(byTwin, mentioning), store.Known{}, "", all, nil},
		{"an edit to the other", edited("hello", text(asksIt)), heard(), "", judge, []string{channelC1 + " hushed"}},
		{"an edit of what is for it", edited(asksIt, text(asksIt+"!")), heard(text(asksIt)), "", judge, nil},
	} {
		entry := plan(test.event, test.known, test.settings,
			siblings{bots: map[string]bool{"UBOT": true, "UTWIN": true}, own: "UBOT", root: test.root})
		var got []string
		for _, c := range entry.Changes {
			got = append(got, c.Conversation.ID()+" "+string(c.Kind))
		}
		if entry.Message == nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q of %v, want %q", test.name, got, entry.Message, test.want)
		}
	}
}
