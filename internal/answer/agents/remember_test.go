package agents

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/test/llmtest"
)

func TestFirstChannelMemory(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		b.say("C1", 25*time.Hour, "too old")
		parent := b.say("C1", 30*time.Hour, "an old parent")
		first, second := b.say("C1", 2*time.Hour, "the launch is on Friday"), b.reply(parent, time.Hour, "a late reply")
		calls := b.remember(channel("C1"), 0)
		b.wantKinds("at first", calls, channelShort, channelLong)
		for _, c := range calls {
			b.WantWords("prompt", material(c), "the launch is on Friday", "a late reply", "an old parent", "name of UALICE", "!too old", "!You are myao.")
		}
		long, short := b.currentMemories(channel("C1"))
		sources := []string{parent.TS, first.TS, second.TS}
		for i, m := range []struct {
			got  string
			want string
		}{{short.Text, "- 2026-03-01: note 1 of short-term memory of"}, {long.Text, "- 2026-03-01: note 2 of long-term memory of"}} {
			if m.got != m.want {
				t.Errorf("memory %d: %q, want %q", i, m.got, m.want)
			}
		}
		for _, m := range []struct {
			got    []string
			model  string
			tokens bool
			made   time.Time
		}{
			{short.Sources, short.Model, short.TokensOut > 0, short.Made},
			{long.Sources, long.Model, long.TokensOut > 0, long.Made},
		} {
			if !slices.Equal(m.got, sources) || m.model != "keeper" || !m.tokens || m.made.Before(b.now) || m.made.After(time.Now()) {
				t.Errorf("provenance %+v, want sources %q", m, sources)
			}
		}
		if long.Version != 1 || short.Version != 1 || long.Origin != "model" || short.Origin != "model" {
			t.Errorf("versions %d and %d, of %q and %q", long.Version, short.Version, long.Origin, short.Origin)
		}
		b.wantKinds("nothing new", b.remember(channel("C1"), time.Second))
		b.wantKinds("nothing but age", b.remember(channel("C1"), 23*time.Hour+30*time.Minute))
		b.wantKinds("nothing in the window any more", b.remember(channel("C1"), 72*time.Hour))
		if again, _ := b.currentMemories(channel("C1")); again.ID != long.ID {
			t.Errorf("memory %d in force, want %d as before", again.ID, long.ID)
		}
	})
}

func TestChangesThatRenewMemories(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bundle, old, other chat.Message)
		want   []string
		long   []string // words in the prompt for the long-term memory
	}{
		"a message":             {func(b *bundle, _, _ chat.Message) { b.say("C1", 0, "brand new") }, []string{channelShort, channelLong}, []string{"brand new", "!the old", "!the other"}},
		"a reply":               {func(b *bundle, old, _ chat.Message) { b.reply(old, 0, "brand new") }, []string{channelShort, channelLong}, []string{"brand new", "the old", "!the other"}},
		"the bot's own message": {func(b *bundle, _, _ chat.Message) { b.Record(own(b, "brand new")) }, []string{channelShort, channelLong}, []string{"brand new", "myao:", "!the old"}},
		"an edit":               {func(b *bundle, old, _ chat.Message) { b.edit(old, "brand new") }, []string{channelShort, channelLong}, []string{"brand new", "!the old", "!the other"}},
		"a deletion":            {func(b *bundle, old, _ chat.Message) { b.remove(old) }, []string{channelShort}, nil},
		"two deletions":         {func(b *bundle, old, other chat.Message) { b.remove(old); b.remove(other) }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, b *bundle) {
				b.addChannels(public("C1", "general"))
				old, other := b.say("C1", 2*time.Hour, "the old"), b.say("C1", time.Hour, "the other")
				b.remember(channel("C1"), 0)
				before, _ := b.currentMemories(channel("C1"))
				c.change(b, old, other)
				calls := b.remember(channel("C1"), time.Minute)
				b.wantKinds("changed", calls, c.want...)
				long, short := b.currentMemories(channel("C1"))
				if withdrawn := short.Text == ""; withdrawn != (c.want == nil) {
					t.Errorf("short-term memory %q", short.Text)
				}
				if c.long == nil {
					if long.ID != before.ID {
						t.Errorf("long-term memory %+v, want %+v as before", long, before)
					}
				} else {
					b.WantWords("long", material(calls[1]), append(c.long, before.Text)...)
					if long.Version != 2 {
						t.Errorf("long-term memory %+v, want the second version", long)
					}
				}
				b.wantKinds("again", b.remember(channel("C1"), time.Hour))
			})
		})
	}
}

func own(b *bundle, text string) chat.Message {
	return chat.Message{Team: "T1", Channel: "C1", TS: b.ts(0), UserID: "UBOT", BotID: "BBOT", Own: true, Text: text}
}

// Nobody remembered anything for three days.
func TestRememberAfterALongPause(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		b.say("C1", 100*time.Hour, "told before")
		b.remember(channel("C1"), -99*time.Hour)
		b.say("C1", 50*time.Hour, "told meanwhile")
		b.say("C1", time.Hour, "told lately")
		calls := b.remember(channel("C1"), 0)
		b.wantKinds("after the pause", calls, channelShort, channelLong)
		b.WantWords("short", material(calls[0]), "told lately", "!told meanwhile", "!told before")
		b.WantWords("long", material(calls[1]), "told lately", "told meanwhile", "!told before")
	})
}

// The door was closed for three days. A live message is remembered first, then, run by run,
// what catch-up reads of the days in between.
func TestLateHistoryIsRemembered(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		read := func(to time.Duration) {
			ts := chat.TS(b.now.Add(-to))
			if err := b.Store.AdvanceCatchUp(t.Context(), "T1", "C1", ts, ts, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		seen := func(ago time.Duration, text string) {
			if err := b.Store.SaveHistory(t.Context(), []chat.Message{{Team: "T1", Channel: "C1", TS: b.ts(ago), UserID: "UALICE", Text: text}}); err != nil {
				t.Fatal(err)
			}
		}
		b.say("C1", 72*time.Hour, "before the door closed")
		read(72 * time.Hour)
		b.remember(channel("C1"), -71*time.Hour)
		b.say("C1", time.Hour, "live")
		b.wantKinds("live", b.remember(channel("C1"), 0), channelShort, channelLong)
		for hour, ago := range []time.Duration{30 * time.Hour, 40 * time.Hour, 70 * time.Hour} {
			seen(ago, "read late")
			calls := b.remember(channel("C1"), time.Duration(hour+1)*time.Hour)
			b.wantKinds("read "+ago.String()+" late", calls, channelShort, channelLong)
			b.WantWords("long", material(calls[1]), "read late", "!live", "!before the door")
			b.WantWords("short", material(calls[0]), "!read late", "live")
		}
		read(0)
		b.wantKinds("caught up", b.remember(channel("C1"), 5*time.Hour))
		b.say("C1", -5*time.Hour, "as always")
		b.wantKinds("as always", b.remember(channel("C1"), 6*time.Hour), channelShort, channelLong)
		current, err := b.Store.CurrentMemory(t.Context(), channel("C1"))
		if err != nil || !current.Cursor.Since.Equal(b.now.Add(-18*time.Hour)) {
			t.Errorf("looks back to %v, %v; want the window", current.Cursor.Since, err)
		}
	})
}

func TestMessagesDuringTheCallAreNotMissed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		b.say("C1", time.Hour, "first")
		b.Model.Handle(func(c llmtest.Call) llmtest.Reply {
			b.say("C1", 0, "in between "+kindOf(c))
			return note(c)
		})
		b.remember(channel("C1"), 0)
		b.Model.Handle(note)
		calls := b.remember(channel("C1"), 0)
		b.wantKinds("afterwards", calls, channelShort, channelLong)
		b.WantWords("long", material(calls[1]), "in between "+channelShort, "in between "+channelLong, "!first")
		b.wantKinds("again", b.remember(channel("C1"), 0))
	})
}

// If the clock of the remembering host is ahead, or a transaction took long, a later message
// seems to be older than the memory.
func TestClockSkew(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		b.Time.SetAhead(3 * time.Minute)
		first, second := b.say("C1", time.Hour, "first"), b.say("C1", time.Hour, "second")
		b.remember(channel("C1"), 0)
		b.say("C1", 0, "third")
		calls := b.remember(channel("C1"), time.Minute)
		b.wantKinds("a message", calls, channelShort, channelLong)
		b.WantWords("long", material(calls[1]), "third", "!first", "!second")
		b.edit(second, "edited")
		calls = b.remember(channel("C1"), time.Minute)
		b.wantKinds("an edit", calls, channelShort, channelLong)
		b.WantWords("long", material(calls[1]), "edited")
		b.remove(first)
		if calls = b.remember(channel("C1"), time.Minute); len(calls) == 0 {
			t.Error("a deletion: nothing was asked")
		}
		b.Time.SetAhead(-3 * time.Minute)
		b.say("C1", 0, "fourth")
		calls = b.remember(channel("C1"), time.Minute)
		b.wantKinds("behind", calls, channelShort, channelLong)
		b.WantWords("long", material(calls[1]), "fourth")
		b.say("C1", 0, "fifth")
		calls = b.remember(channel("C1"), time.Minute)
		b.wantKinds("and again", calls, channelShort, channelLong)
		b.WantWords("long", material(calls[1]), "fifth", "!fourth", "!third")
	})
}

func TestEmptyAnswersAreNotSaved(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		b.say("C1", time.Hour, "first")
		b.remember(channel("C1"), 0)
		long, short := b.currentMemories(channel("C1"))
		b.say("C1", 0, "second")
		for _, answer := range []string{"", " \n\t", "\u200b\ufeff", "- …\n- ---", "\x00"} {
			b.Model.Handle(llmtest.Script(llmtest.Text(answer)))
			if _, err := b.Remember(b.Context(), channel("C1"), b.now, 1); err == nil {
				t.Errorf("answer %q: no error", answer)
			}
			if l, s := b.currentMemories(channel("C1")); l.ID != long.ID || s.ID != short.ID {
				t.Errorf("answer %q: in force are %q and %q", answer, l.Text, s.Text)
			}
		}
		b.Model.Handle(note)
		b.wantKinds("at last", b.remember(channel("C1"), 0), channelShort, channelLong)
	})
}

// The worker dies between the two memories of a channel. The draft is used later, and neither
// memory is in force before both are.
func TestCrashIsNotPaidForTwice(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		b.say("C1", time.Hour, "first")
		b.remember(channel("C1"), 0)
		long, short := b.currentMemories(channel("C1"))
		b.say("C1", 0, "second")
		at := b.now.Add(time.Minute)
		b.Model.Reset()
		b.Model.Handle(llmtest.Script(llmtest.Text("- the short one"), llmtest.Fail(503)))
		made, err := b.Remember(b.Context(), channel("C1"), at, 1)
		if err == nil || made.Calls != 2 {
			t.Errorf("%+v, %v; want an error after 2 calls", made, err)
		}
		if l, s := b.currentMemories(channel("C1")); l.ID != long.ID || s.ID != short.ID {
			t.Errorf("after the crash %q and %q are in force", l.Text, s.Text)
		}
		b.Model.Handle(note)
		b.wantKinds("again", b.remember(channel("C1"), time.Minute), channelLong)
		if l, s := b.currentMemories(channel("C1")); l.Version != 2 || s.Version != 2 || s.Text != "- the short one" {
			t.Errorf("at last %+v and %+v are in force", l, s)
		}
		// A draft is not used once its scope has changed.
		b.say("C1", 0, "third")
		b.Model.Handle(llmtest.Script(llmtest.Text("- outdated"), llmtest.Fail(503)))
		if _, err := b.Remember(b.Context(), channel("C1"), at, 1); err == nil {
			t.Error("no error")
		}
		b.say("C1", 0, "fourth")
		b.Model.Handle(note)
		calls := b.remember(channel("C1"), time.Minute)
		b.wantKinds("changed since", calls, channelShort, channelLong)
		b.WantWords("long", material(calls[1]), "third", "fourth", "!first", "!second")
	})
}

func TestConcurrentRemember(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		const workers = 4
		for round := range 5 {
			b.say("C1", 0, "hello")
			var group sync.WaitGroup
			errs := make([]error, workers)
			for i := range workers {
				group.Go(func() {
					_, errs[i] = b.Remember(b.Context(), channel("C1"), b.now.Add(time.Duration(round)*time.Minute), 1)
				})
			}
			group.Wait()
			for _, err := range errs {
				if err != nil {
					t.Error(err)
				}
			}
			b.wantKinds("afterwards", b.remember(channel("C1"), time.Hour))
			long, short := b.currentMemories(channel("C1"))
			if long.Version <= round || short.Version <= round {
				t.Errorf("round %d: versions %d and %d are in force", round, long.Version, short.Version)
			}
			if said := b.said; len(long.Sources) != said || len(short.Sources) != said {
				t.Errorf("round %d: made of %d and %d messages", round, len(long.Sources), len(short.Sources))
			}
		}
	})
}

func TestThreadMemory(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.addChannels(public("C1", "general"))
		parent := b.say("C1", 60*time.Hour, "the parent")
		b.say("C1", time.Hour, "elsewhere")
		b.wantKinds("a parent alone", b.remember(thread(parent), 0))
		first := b.reply(parent, 50*time.Hour, "first reply")
		second := b.reply(parent, time.Hour, "second reply")
		calls := b.remember(thread(parent), 0)
		b.wantKinds("at first", calls, ofThread)
		b.WantWords("prompt", material(calls[0]), "the parent", "first reply", "second reply", "!elsewhere", "!earlier message", "!note 1")
		_, before := b.currentMemories(thread(parent))
		if want := []string{parent.TS, first.TS, second.TS}; !slices.Equal(before.Sources, want) || before.Version != 1 {
			t.Errorf("made of %q, want %q: %+v", before.Sources, want, before)
		}
		b.wantKinds("nothing new", b.remember(thread(parent), 0))
		b.reply(parent, 0, "third reply")
		calls = b.remember(thread(parent), 0)
		b.wantKinds("a reply", calls, ofThread)
		// which are all
		b.WantWords("prompt", material(calls[0]), "!"+before.Text, "the parent", "first reply", "third reply")
		b.edit(first, "first reply, edited")
		b.wantKinds("an edit", b.remember(thread(parent), 0), ofThread)
		b.remove(first)
		calls = b.remember(thread(parent), 0)
		b.wantKinds("a deletion", calls, ofThread)
		b.WantWords("prompt", material(calls[0]), "!first reply")
		for _, m := range b.repliesTo(parent) {
			b.remove(m)
		}
		b.wantKinds("without replies", b.remember(thread(parent), 0))
		if long, short := b.currentMemories(thread(parent)); long.Text != "" || short.Text != "" {
			t.Errorf("%q and %q are in force, and no thread is left", long.Text, short.Text)
		}
		b.wantKinds("again", b.remember(thread(parent), 0))
	})
}

// repliesTo returns the stored replies to a message.
func (b *bundle) repliesTo(to chat.Message) []chat.Message {
	b.Helper()
	tail, err := b.Store.Tail(b.Context(), chat.Conversation{Team: "T1", Channel: to.Channel, Thread: to.TS}, 1000)
	if err != nil {
		b.Fatal(err)
	}
	return slices.DeleteFunc(tail, func(m chat.Message) bool { return m.TS == to.TS })
}

func TestLongThreadShowsItsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	parent := b.say("C1", time.Hour, "the parent")
	for range maxReplies + 7 {
		b.reply(parent, 0, "reply")
	}
	calls := b.remember(thread(parent), 0)
	b.WantWords("prompt", material(calls[0]), "the parent", "… 7 earlier messages")
	if _, short := b.currentMemories(thread(parent)); len(short.Sources) != maxReplies+1 {
		t.Errorf("made of %d messages", len(short.Sources))
	}
	b.reply(parent, 0, "another")
	b.WantWords("prompt, with what was said of those before", material(b.remember(thread(parent), 0)[0]), "note 1", "… 8 earlier messages")
}

// A prompt says how many messages are left out before the newest maxMessages, if they belong to it.
func TestBusyChannelShowsItsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	var many []chat.Message
	for range maxMessages + 5 {
		many = append(many, chat.Message{Team: "T1", Channel: "C1", TS: b.ts(40 * time.Hour), UserID: "UALICE", Text: "chatter"})
	}
	if err := b.Store.SaveHistory(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	calls := b.remember(channel("C1"), -39*time.Hour)
	b.wantKinds("at first", calls, channelShort, channelLong)
	for _, c := range calls {
		b.WantWords("prompt", c.System[:2000]+"…", "!earlier messages that", "Top level")
		if !strings.Contains(material(c), "… 5 earlier messages") {
			t.Errorf("%s: it does not say that 5 are left out", kindOf(c))
		}
	}
	b.say("C1", time.Hour, "and now")
	calls = b.remember(channel("C1"), 0)
	b.wantKinds("later", calls, channelShort, channelLong)
	for _, c := range calls {
		b.WantWords(kindOf(c), material(c), "and now", "!chatter", "!… 6 earlier", "!… 5 earlier")
	}
}

// Of a channel full of long alerts only the newest fit into the prompt. It says how many are left
// out, and only the shown ones are sources of the memory.
func TestLongAlertsFitIntoThePrompt(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"))
	var many []chat.Message
	for n := range maxMessages {
		many = append(many, chat.Message{Team: "T1", Channel: "C1", TS: b.ts(time.Hour), UserID: "UALICE", Text: fmt.Sprintf("alert %d. ", n) + strings.Repeat("disk full ", 60)})
	}
	if err := b.Store.SaveHistory(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	calls := b.remember(channel("C1"), 0)
	b.wantKinds("at first", calls, channelShort, channelLong)
	long, short := b.currentMemories(channel("C1"))
	for i, m := range []store.Memory{short, long} {
		shown := strings.Count(calls[i].System, "\nalert ")
		if n := len(calls[i].System); n > 128_000 || shown < 100 {
			t.Errorf("%s: %d characters, of %d messages", kindOf(calls[i]), n, shown)
		}
		b.WantWords(kindOf(calls[i]), material(calls[i]), fmt.Sprintf("… %d earlier messages", maxMessages-shown), "alert 999.", "!alert 0.")
		if newest := many[maxMessages-1].TS; len(m.Sources) != shown || m.Sources[shown-1] != newest {
			t.Errorf("%s: made of %d messages, and %d were shown", kindOf(calls[i]), len(m.Sources), shown)
		}
	}
	b.wantKinds("again", b.remember(channel("C1"), time.Second))
}
