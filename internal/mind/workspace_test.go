package mind

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm/llmtest"
	"myao/internal/store"
	"myao/internal/testserver"
)

// run is a whole memory run, as the workflow makes it: what is new in threads, then in
// channels, then in the workspace. It returns the calls for each kind of memory.
func (b *bundle) run(after time.Duration) map[string]int {
	b.t.Helper()
	b.model.Forget()
	at, calls := b.now.Add(after), 0
	var mu sync.Mutex
	remember := func(s chat.Scope) {
		made, err := b.Remember(b.t.Context(), s, at, 1)
		if err != nil {
			b.t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		calls += made.Calls
	}
	for _, threads := range []bool{true, false} {
		const limit = 200
		for last := (chat.Scope{}); ; {
			found, err := b.ChangedScopes(b.t.Context(), threads, at, last, limit)
			if err != nil {
				b.t.Fatal(err)
			}
			var group sync.WaitGroup
			for part := range slices.Chunk(found, max(1, len(found)/4)) {
				group.Go(func() {
					for _, s := range part {
						remember(s)
					}
				})
			}
			group.Wait()
			if len(found) < limit {
				break
			}
			last = found[limit-1]
		}
	}
	remember(workspace)
	kinds := map[string]int{}
	for _, c := range b.model.Calls() {
		kinds[kindOf(c)]++
	}
	if made := len(b.model.Calls()); made != calls {
		b.t.Errorf("%d calls were made, and %d told of", made, calls)
	}
	return kinds
}

func (b *bundle) ran(when string, got, want map[string]int) {
	b.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s: calls %v, want %v", when, got, want)
	}
}

func TestOnlyWhatHasChangedIsRemembered(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, testserver.Postgres(t)) // SQLite does the same, and takes its time
	const channels = 500
	var said []chat.Message
	for i := range channels {
		c := public(fmt.Sprintf("C%03d", i), fmt.Sprintf("channel-%03d", i))
		c.Private = i%10 == 3
		b.meet(c)
		said = append(said, b.say(c.ID, time.Hour, "hello"))
	}
	for i := range 10 {
		b.reply(said[i*50], 30*time.Minute, "an answer")
	}
	b.ran("at first", b.run(0), map[string]int{ofThread: 10, channelShort: channels, channelLong: channels, workspaceShort: 1, workspaceLong: 1})
	b.ran("nothing new", b.run(time.Minute), nil)
	b.ran("nothing but age", b.run(23*time.Hour+30*time.Minute), nil)

	// Seven channels, two of them private: three top-level messages, an answer in a thread, a new
	// thread, an edit and a deletion.
	b.say("C003", 0, "in private")
	b.say("C010", 0, "in public")
	b.say("C499", 0, "in the last")
	b.reply(said[50], 0, "one more answer")
	b.reply(said[33], 0, "the first answer, in private")
	b.edit(said[77], "hello, edited")
	b.say("C080", 0, "instead")
	b.remove(said[80])
	b.ran("seven changed", b.run(time.Hour), map[string]int{ofThread: 2, channelShort: 7, channelLong: 7, workspaceShort: 1, workspaceLong: 1})
	b.ran("and again", b.run(2*time.Hour), nil)

	b.say("C003", 0, "more in private")
	b.say("C013", 0, "more in private")
	before, _ := b.inForce(workspace)
	b.ran("private channels changed", b.run(3*time.Hour), map[string]int{channelShort: 2, channelLong: 2})
	if after, _ := b.inForce(workspace); after.ID != before.ID {
		t.Error("the workspace has another memory, though nothing public has changed")
	}
}

func TestWorkspaceMergesWhatIsPublic(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.Memory.ShortTermWindowHours = 24
		b.Agents.Memory.SystemPrompt = "You write for lawyers."
		b.meet(public("C1", "general"), public("C2", "random"), private("G1", "secret"), private("D1", ""))
		b.asked("without channels", b.remember(workspace, 0))
		for _, id := range []string{"C1", "C2", "G1", "D1"} {
			b.model.Handle(func(c llmtest.Call) llmtest.Reply {
				term, _, _ := strings.Cut(kindOf(c), "-")
				return llmtest.Text("- " + term + " of " + id)
			})
			b.say(id, 30*time.Hour, "hello")
			b.remember(channel(id), -29*time.Hour)
		}
		b.model.Handle(note)
		calls := b.remember(workspace, -29*time.Hour)
		b.asked("at first", calls, workspaceShort, workspaceLong)
		b.holds("short", material(calls[0]), "### #general", "short of C1", "### #random", "short of C2", "!long of", "!secret", "!G1", "!D1", "!irect")
		b.holds("long", material(calls[1]), "### #general", "long of C1", "### #random", "long of C2", "!short of", "!secret", "!G1", "!D1", "!irect")
		for _, c := range calls {
			b.holds(kindOf(c), c.System, "for lawyers", "!0001-01-01")
		}
		long, short := b.inForce(workspace)
		if len(long.Sources) != 2 || len(short.Sources) != 2 || !strings.HasPrefix(long.Sources[0], "C1/") || !strings.HasPrefix(short.Sources[1], "C2/") {
			t.Errorf("made of %q and %q", long.Sources, short.Sources)
		}
		b.asked("unchanged", b.remember(workspace, 0))

		// Of the long ones only what is new is merged; the short ones are those of the window.
		b.say("C2", time.Hour, "again")
		b.remember(channel("C2"), 0)
		c2, _ := b.inForce(channel("C2"))
		calls = b.remember(workspace, 0)
		b.asked("one channel", calls, workspaceShort, workspaceLong)
		b.holds("short", material(calls[0]), "### #random", "!general", "!C1", "!"+long.Text)
		b.holds("long", material(calls[1]), long.Text, "### #random", c2.Text, "!general", "!C1")
		after, _ := b.inForce(workspace)
		if len(after.Sources) != 2 || after.Sources[0] != long.Sources[0] || after.Sources[1] == long.Sources[1] || after.Version != 2 {
			t.Errorf("made of %q", after.Sources)
		}

		// What is deleted leaves a short-term memory behind that is another one, or none.
		b.say("C1", time.Hour, "gone soon")
		b.remember(channel("C1"), 0)
		b.remember(workspace, 0)
		for _, id := range []string{"C1", "C2"} {
			tail, err := b.Store.Tail(t.Context(), chat.Conversation{Team: "T1", Channel: id}, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tail {
				b.remove(m)
			}
			b.asked("deleted in "+id, b.remember(channel(id), 0))
		}
		before, _ := b.inForce(workspace)
		b.asked("nothing short is left", b.remember(workspace, 0))
		if long, short := b.inForce(workspace); short.Text != "" || long.ID != before.ID {
			t.Errorf("%q and %q are in force", long.Text, short.Text)
		}
	})
}

// A memory that fails to come about is made up for in the next run, whatever order the
// channels' memories come in.
func TestWorkspaceLosesNoChannel(t *testing.T) {
	t.Parallel()
	b := setup(t, sqliteURL(t))
	b.meet(public("C1", "general"), public("C2", "random"))
	b.say("C1", time.Hour, "hello")
	b.say("C2", time.Hour, "hello")
	b.remember(channel("C1"), 0)
	b.model.Handle(llmtest.Script(llmtest.Text("- short of C2"), llmtest.Fail(503)))
	if _, err := b.Remember(t.Context(), channel("C2"), b.now, 1); err == nil {
		t.Error("no error")
	}
	b.model.Handle(note)
	b.remember(workspace, 0)
	b.model.Handle(llmtest.Script(llmtest.Text("- long of C2")))
	b.ahem = -time.Hour // it was written by a host whose clock is slow
	b.remember(channel("C2"), 0)
	b.ahem = 0
	calls := b.remember(workspace, 0)
	b.asked("later", calls, workspaceShort, workspaceLong)
	b.holds("long", material(calls[1]), "long of C2", "!### #general")
}

// A channel is closed to the public: the workspace is remembered without it, from what
// the others know.
func TestWorkspaceForgetsWhatIsPrivateNow(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.model.Handle(func(c llmtest.Call) llmtest.Reply { // tells what it was told of birds
			var birds []string
			for _, bird := range []string{"kiwi", "heron", "stork"} {
				if strings.Contains(material(c), bird) {
					birds = append(birds, bird)
				}
			}
			return llmtest.Text("- 2026-03-01: birds: " + strings.Join(birds, " "))
		})
		b.meet(public("C1", "general"), public("C2", "random"), public("C3", "founders"))
		b.say("C1", time.Hour, "a kiwi")
		b.say("C2", time.Hour, "a heron")
		b.say("C3", time.Hour, "a stork")
		b.run(0)
		long, _ := b.inForce(workspace)
		b.holds("while it was public", long.Text, "kiwi heron stork")
		in := func(channel string) string {
			r, err := b.Recall.Build(t.Context(), chat.Conversation{Team: "T1", Channel: channel}, false)
			if err != nil {
				t.Fatal(err)
			}
			return r.WorkspaceLongTerm + r.WorkspaceShortTerm
		}
		b.holds("while it was public", in("C1"), "stork")
		b.meet(private("C3", "founders"))
		b.holds("at once", in("C1"), "!stork", "!heron")
		b.holds("at once, inside", in("C3"), "stork", "heron")
		// What the other channels are made to remember in the same run does not keep it.
		b.say("C1", 0, "another kiwi")
		b.remember(channel("C1"), time.Minute)
		calls := b.remember(workspace, time.Minute)
		b.asked("closed", calls, workspaceShort, workspaceLong)
		for _, c := range calls {
			b.holds("prompt", c.System+c.User, "kiwi", "heron", "!stork", "!founders")
		}
		b.asked("again", b.remember(workspace, time.Minute))
		long, short := b.inForce(workspace)
		b.holds("closed", long.Text+short.Text, "kiwi heron", "!stork")
		b.holds("afterwards", in("C1"), "kiwi heron", "!stork")

		for _, id := range []string{"C1", "C2"} {
			b.meet(private(id, "closed-"+id))
		}
		b.asked("all closed", b.remember(workspace, 2*time.Hour))
		if long, short := b.inForce(workspace); long.Text != "" || short.Text != "" {
			t.Errorf("%q and %q are in force, and nothing is public", long.Text, short.Text)
		}
	})
}

func TestLongMemoriesAreOfFewerChannels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ long, short, want int }{{500, 300, 200}, {1000, 300, 100}, {300, 2000, 50}, {1, 1, 200}, {1_000_000, 300, 1}} {
		m := &Mind{Memory: config.Memory{LongTermSummaryMaxTokens: c.long, ShortTermSummaryMaxTokens: c.short}}
		if got := m.maxMergedChannels(); got != c.want {
			t.Errorf("%d and %d tokens: %d channels, want %d", c.long, c.short, got, c.want)
		}
	}
}

// More channels than fit are left out, the longest silent first, and not taken for told.
func TestWorkspaceOfTooManyChannels(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, testserver.Postgres(t))
	for i := range maxChannels + 2 {
		id := fmt.Sprintf("C%03d", i)
		b.meet(public(id, fmt.Sprintf("channel-%03d", i)))
		b.say(id, time.Hour, "hello")
		cursor, err := b.Store.CurrentCursor(t.Context(), channel(id), b.windowStart(b.now))
		for _, term := range channel(id).Terms() {
			err = errors.Join(err, b.Store.SaveDraft(t.Context(), store.Memory{Scope: channel(id), Term: term, Text: "a memory"}, cursor))
		}
		err = errors.Join(err, b.Store.SaveMemories(t.Context(), store.MemoryUpdate{
			Scope: channel(id), Long: store.PromoteDraft, Short: store.PromoteDraft, Cursor: cursor, Read: time.Now(),
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	b.run(0)
	long, short := b.inForce(workspace)
	if len(long.Sources) != maxChannels || len(short.Sources) != maxChannels {
		t.Errorf("made of %d and %d channels", len(long.Sources), len(short.Sources))
	}
	for _, sources := range [][]string{long.Sources, short.Sources} {
		if slices.ContainsFunc(sources, func(s string) bool { return strings.HasPrefix(s, "C000/") || strings.HasPrefix(s, "C001/") }) {
			t.Error("made of channels that were left out")
		}
	}
	b.say("C000", 0, "at last")
	calls := b.run(time.Minute)
	b.ran("at last", calls, map[string]int{channelShort: 1, channelLong: 1, workspaceShort: 1, workspaceLong: 1})
	long, _ = b.inForce(workspace)
	if !slices.ContainsFunc(long.Sources, func(s string) bool { return strings.HasPrefix(s, "C000/") }) {
		t.Error("the channel is still left out")
	}
}
