package agents

import (
	"errors"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/test/llmtest"
)

// Forgotten messages do not come back: not by a memory that is being made, nor by older memories,
// nor by older messages.
func TestForgottenMessagesDoNotComeBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"), public("C2", "random"))
		root := b.say("C1", 2*time.Hour, "the harbour")
		b.reply(root, time.Hour, "the harbour, surely")
		b.say("C2", time.Hour, "something else")
		told := func(llmtest.Call) llmtest.Reply { return llmtest.Text("- 2026-03-01: it is about the harbour") }
		b.remember(channel("C2"), 0)
		b.Model.Handle(told)
		scopes := []chat.Scope{thread(root), channel("C1"), workspace}
		for _, s := range scopes {
			b.remember(s, 0)
		}
		order := 0
		for _, s := range scopes {
			// Give it something to remember.
			b.Record(chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(time.Now()), ThreadTS: root.TS, UserID: "UBOB", Text: "the harbour again"})
			if s.Workspace() {
				b.remember(channel("C1"), time.Minute)
			}
			var once sync.Once
			b.Model.Handle(func(c llmtest.Call) llmtest.Reply {
				once.Do(func() { // while the model thinks
					order++
					if _, err := b.Store.Forget(t.Context(), channel("C1"), "cli:ann", chat.TS(time.Unix(int64(order), 0))); err != nil {
						t.Error(err)
					}
				})
				return told(c)
			})
			if _, err := b.Remember(b.Context(), s, b.now.Add(2*time.Minute), 1); !errors.Is(err, store.ErrOverruled) {
				t.Errorf("%s, forgotten meanwhile: %v", s, err)
			}
			for _, s := range scopes {
				if long, short := b.currentMemories(s); long.Text != "" || short.Text != "" {
					t.Errorf("of %s there is in force %q, %q", s, long.Text, short.Text)
				}
			}
			b.Model.Handle(note)
			for _, c := range b.remember(s, 3*time.Minute) {
				b.WantWords(kindOf(c), c.System+c.User, "!harbour")
			}
		}
		b.Model.Handle(note)
		b.Record(chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(time.Now().Add(time.Minute)), ThreadTS: root.TS, UserID: "UBOB", Text: "brand new"})
		asked := map[chat.Scope]int{thread(root): 1, channel("C1"): 2, workspace: 2}
		for _, s := range scopes {
			calls := b.remember(s, 10*time.Minute)
			if len(calls) != asked[s] {
				t.Errorf("%s: asked %d times, want %d", s, len(calls), asked[s])
			}
			for _, c := range calls {
				if !s.Workspace() {
					b.WantWords(kindOf(c), material(c), "brand new")
				}
				b.WantWords(kindOf(c), c.System+c.User, "!harbour")
			}
		}
	})
}

// One message is forgotten, and the other messages are remembered again.
func TestForgettingOneMessage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		secret := b.say("C1", 2*time.Hour, "the harbour")
		b.say("C1", time.Hour, "the launch is on Friday")
		b.remember(channel("C1"), 0)
		if _, err := b.Store.ForgetMessages(t.Context(), "T1", "C1", []string{secret.TS}, "cli:ann", "1"); err != nil {
			t.Fatal(err)
		}
		calls := b.remember(channel("C1"), time.Second)
		b.wantKinds("anew", calls, channelShort, channelLong)
		for _, c := range calls {
			b.WantWords(kindOf(c), material(c), "the launch is on Friday", "!harbour", "!note")
		}
		b.wantKinds("again", b.remember(channel("C1"), 2*time.Second))
	})
}
