package prompt

import (
	"testing"
	"time"

	"myao/internal/chat"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	n := newNames(chat.Context{
		Persona: chat.Persona{Name: "myao"},
		Conversation: chat.NewChannelMessages("C1", "general", []chat.Message{
			{TS: "1.0", UserID: "U3", Name: "carol"},
			{TS: "2.0", UserID: "UBOT", Name: "Myao App", Own: true},
		}),
		Channels: []chat.ChannelMemory{{ChannelID: "C2", ChannelName: "dev"}},
	}, Options{
		Names:        map[string]string{"U1": "alice", "U2": "bob:\n## x"},
		ChannelNames: map[string]string{"C3": "ops"},
	}, "a direct message")
	for _, tt := range []struct{ text, want string }{
		{"<@U1> hi", "@alice hi"},
		{"<@U1|old>", "@alice"},
		{"<@U9|dan>", "@dan"},
		{"<@U9|**dan**: x>", "@dan x"},
		{"<@U9>", "@U9"},
		{"<@U2>", "@bob ## x"},
		{"<@U3> and <@UBOT>", "@carol and @myao"},
		{"<#C1> <#C2|old> <#C3> <#C9|else> <#C8|> <#C8>", "#general #dev #ops #else #C8 #C8"},
		{"<!here> <!channel|@channel> <!everyone>", "@here @channel @everyone"},
		{"<!subteam^S1|@team> <!subteam^S1>", "@team @S1"},
		{"<!date^1392734382^{date}|18 Feb 2014> <!date^1392734382^{date}^https://x>", "18 Feb 2014 2014-02-18 14:39:42"},
		{"<https://x.test/?a=1&amp;b=2>", "https://x.test/?a=1&b=2"},
		{"<https://x.test|label &amp; more>", "label & more (https://x.test)"},
		{"<http://x.test|x.test> <https://x.test|https://x.test>", "x.test https://x.test"},
		{"<mailto:a@x.test|a@x.test> <mailto:a@x.test> <mailto:a@x.test|Ann>", "a@x.test a@x.test Ann (a@x.test)"},
		{"<tel:+81312345678|+81312345678> <TEL:110> <tel:+15555550123|(555) 555-0123>", "+81312345678 110 (555) 555-0123 (+15555550123)"},
		{"see <#D1> or <#D2|bob>", "see a direct message or a direct message"},
		{"a &lt;b&gt; &amp; &amp;lt;", "a <b> & &lt;"},
		{"1 < 2 > 0 <> <@> <x>", "1 < 2 > 0 <> <@> <x>"},
		{"&lt;@U1&gt;", "<@U1>"},
		{"<@U1", "<@U1"},
	} {
		if got := n.resolve(tt.text, time.UTC); got != tt.want {
			t.Errorf("resolve(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestBareMention(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"<@UBOT>", true},
		{" <@UBOT|myao>\n<@UBOT>! ", true},
		{"<@UBOT>、？\u200b", true},
		{"<@UBOT>さん", true},
		{"<@UBOT>　様！", true},
		{"<@UBOT>ちゃん〜", true},
		{"<@UBOT>～", true},
		{"<@UBOT>さん、どう？", false},
		{"<@UBOT>さんに聞いて", false},
		{"<@UBOT> why?", false},
		{"<@UBOT> <@U1>", false},
		{"<@U1>", false},
		{"", false},
	} {
		if got := BareMention(tt.text, "UBOT"); got != tt.want {
			t.Errorf("BareMention(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
	if BareMention("<@>", "") {
		t.Error("BareMention without a bot id: got true")
	}
}
