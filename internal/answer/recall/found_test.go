package recall

import (
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// A reply is shown what was said before with words of its question, as far as readers there may see it, and
// under names. A judgment is not.
func TestSaidBefore(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.FoundLimit, b.MessagesLimit = 8, 2
		b.say(chat.Message{Channel: "C0", TS: at(10), UserID: "U2", Text: "<@U1> the heron deploys on Tuesdays"})
		b.say(chat.Message{Channel: "G1", TS: at(11), UserID: "U2", Text: "the secret heron"})
		b.say(chat.Message{Channel: "C1", TS: at(12), Own: true, UserID: "UBOT", Text: "my own heron"})
		b.say(chat.Message{Channel: "C1", TS: at(13), UserID: "U1", Text: "what of the heron?"})
		b.say(chat.Message{Channel: "C1", TS: at(14), UserID: "U1", Text: "anybody?"})
		b.index()
		found := func(channel, answer string) string {
			t.Helper()
			r, err := b.Build(b.Context(), chat.Conversation{Team: "T1", Channel: channel}, false, answer)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, f := range r.Found {
				lines = append(lines, f.ChannelName+" "+f.Name+": "+f.Text)
			}
			return strings.Join(lines, "\n")
		}
		if got, want := found("C1", at(14)), "zoo bob: <@U1> the heron deploys on Tuesdays"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		shown, err := b.Shown(b.Context(), chat.Conversation{Team: "T1", Channel: "C1"}, at(14))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, f := range shown {
			texts = append(texts, f.Text)
		}
		slices.Sort(texts)
		if want := []string{"<@U1> the heron deploys on Tuesdays", "anybody?", "what of the heron?"}; !slices.Equal(texts, want) {
			t.Errorf("shown are %q, want %q", texts, want)
		}
		// What was asked long before plays no part, unless the newest message has no word of its own.
		b.say(chat.Message{Channel: "C0", TS: at(15), UserID: "U2", Text: "ospreys fish here"})
		b.say(chat.Message{Channel: "D1", TS: at(20), UserID: "U1", Text: "tell me of the osprey"})
		b.say(chat.Message{Channel: "D1", TS: at(3600), UserID: "U1", Text: "when does the heron deploy?"})
		b.say(chat.Message{Channel: "D1", TS: at(7200), UserID: "U1", Text: "hello?"})
		b.index()
		for _, answer := range []string{at(3600), at(7200)} {
			if got, want := found("D1", answer), "zoo bob: <@U1> the heron deploys on Tuesdays\ngeneral alice: what of the heron?"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if got := found("C1", ""); got != "" {
			t.Errorf("a judgment is shown %q", got)
		}
		b.FoundLimit = 0
		if got := found("C1", at(14)); got != "" {
			t.Errorf("with search_results 0: %q", got)
		}
	})
}

// index adds what was said to the search index.
func (b *bundle) index() {
	b.Helper()
	for {
		p, err := b.Database.Index(b.Context(), time.Time{}, 100)
		if err != nil {
			b.Fatal(err)
		}
		if p.CaughtUp {
			return
		}
	}
}
