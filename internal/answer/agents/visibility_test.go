package agents

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/test/llmtest"
)

// Private text appears in the prompts and memories of its own channel, and nowhere else, even if
// the model repeats everything it reads.
func TestPrivateTextStaysInItsChannel(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.Memory.LongTermSummaryMaxTokens, b.Memory.ShortTermSummaryMaxTokens = 5_000, 5_000
		b.Model.Handle(func(c llmtest.Call) llmtest.Reply { return llmtest.Text("- all I know:\n" + material(c)) })

		// CODD is known only by its messages.
		b.addChannels(public("C1", "general"), public("C2", "random"), private("G1", "zebra-merger"), private("G2", "quokka-layoffs"), private("D1", ""), public("CCLOSED", "gecko-lounge"))
		// CSHUT was made private. An event said so, but no listing yet.
		b.addChannels(public("CSHUT", "okapi-lounge"))
		shut := chat.Message{Team: "T1", Channel: "CSHUT", TS: b.ts(2 * time.Hour)}
		if _, err := b.Store.Record(t.Context(), shut, func(store.Known) store.Entry { return store.Entry{Private: true} }); err != nil {
			t.Fatal(err)
		}
		// GEVENT is a private channel known only by events.
		if err := b.Store.CloseChannel(t.Context(), "T1", "GEVENT"); err != nil {
			t.Fatal(err)
		}
		private := []string{"G1", "G2", "D1", "CODD", "CCLOSED", "CSHUT", "GEVENT"}
		places := append([]string{"C1", "C2"}, private...)
		secrets := map[string][]string{"G1": {"zebra"}, "G2": {"quokka"}, "CCLOSED": {"gecko"}, "CSHUT": {"okapi"}, "GEVENT": {"walrus"}}
		parents := map[string]chat.Message{}
		say := func(round string) {
			for _, place := range places {
				top, reply := fmt.Sprintf("top%s%s", round, place), fmt.Sprintf("thread%s%s", round, place)
				if place != "C1" && place != "C2" {
					secrets[place] = append(secrets[place], top, reply)
				}
				m := b.say(place, time.Hour, top+" see <#G1> <#G1|> <#G2|quokka-layoffs> <#CCLOSED|gecko-lounge> <#CSHUT|okapi-lounge> <#GEVENT|walrus-lounge> <#D1> <#CODD> <#C2|random>")
				b.reply(m, time.Hour, reply+" see <#G1> <#G2|quokka-layoffs>, says <@UALICE>")
				parents[place] = m
			}
		}
		say("before")
		b.addChannels(slack.Channel{ID: "CCLOSED", Name: "gecko-lounge", Private: true})
		remember := func(after time.Duration) {
			for _, place := range places {
				b.remember(thread(parents[place]), after)
				b.remember(channel(place), after)
			}
			b.memoryRun(after)
		}
		remember(0)
		b.wantNoLeaks(places, parents, secrets)
		say("after")
		remember(time.Minute)
		b.wantNoLeaks(places, parents, secrets)

		if long, short := b.currentMemories(workspace); !strings.Contains(long.Text, "topbeforeC1") || !strings.Contains(short.Text, "threadafterC2") {
			t.Errorf("the workspace's memory lacks what is public:\n%s\n%s", long.Text, short.Text)
		}
	})
}

// wantNoLeaks fails if a prompt or a memory contains a secret of another channel.
func (b *bundle) wantNoLeaks(places []string, parents map[string]chat.Message, secrets map[string][]string) {
	b.Helper()
	look := func(what, in, text string) {
		b.Helper()
		for place, words := range secrets {
			for _, word := range words {
				if place != in && strings.Contains(text, word) {
					b.Errorf("%s in %q contains %q, a secret of %s", what, in, word, place)
				}
			}
		}
	}
	ask := func(what, in string, q llm.Request, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		look(what, in, q.System+q.Prompt)
	}
	ctx := b.Context()
	for _, place := range places {
		known := ""
		for _, in := range []string{"", parents[place].TS} {
			c := chat.Conversation{Team: "T1", Channel: place, Thread: in}
			for _, addressed := range []bool{true, false} {
				r, err := b.ReplyTo(ctx, Reply{Conversation: c, Trigger: "1.000000", Addressed: addressed})
				ask("a reply", place, r.Request, err)
				known += r.System
			}
			j, err := b.Judgment(ctx, c, nil, 600)
			if err != nil {
				b.Fatal(err)
			}
			q, err := j.Question("a fault")
			ask("a judgment", place, q.Request, err)
		}
		for _, word := range secrets[place] {
			if !strings.Contains(known, word) {
				b.Errorf("%q is not known in %s, where it was said", word, place)
			}
		}
	}
	for _, place := range append(places, "") {
		for _, scope := range []chat.Scope{channel(place), {Team: "T1", Channel: place, Thread: parents[place].TS}} {
			questions, err := b.MemoryQuestions(ctx, scope, b.now.Add(time.Hour))
			for _, q := range questions {
				ask("the question for a memory", place, q.Request, err)
			}
			for _, term := range scope.Terms() {
				versions, err := b.Store.MemoryVersions(ctx, scope, term, 1000)
				if err != nil {
					b.Fatal(err)
				}
				for _, v := range versions {
					look("a memory", place, v.Text)
				}
			}
		}
	}
}
