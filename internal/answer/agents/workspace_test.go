package agents

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
	"myao/internal/store"
	"myao/test/llmtest"
	"myao/test/storetest"
)

// memoryRun remembers all changed threads, then channels, then the workspace, as the workflow does.
// It returns the number of calls for each kind of memory.
func (b *bundle) memoryRun(after time.Duration) map[string]int {
	b.Helper()
	b.Model.Reset()
	at, calls := b.now.Add(after), 0
	var mu sync.Mutex
	remember := func(s chat.Scope) {
		made, err := b.Remember(b.Context(), s, at, 1)
		if err != nil {
			b.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		calls += made.Calls
	}
	for _, threads := range []bool{true, false} {
		const limit = 200
		for last := (chat.Scope{}); ; {
			found, err := b.ChangedScopes(b.Context(), threads, at, last, limit)
			if err != nil {
				b.Fatal(err)
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
	for _, c := range b.Model.Calls() {
		kinds[kindOf(c)]++
	}
	if made := len(b.Model.Calls()); made != calls {
		b.Errorf("%d calls were made, and %d reported", made, calls)
	}
	return kinds
}

func (b *bundle) wantCalls(when string, got, want map[string]int) {
	b.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("%s: calls %v, want %v", when, got, want)
	}
}

func TestOnlyChangedScopesAreRemembered(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, storetest.Postgres(t)) // SQLite would take long
	const channels = 500
	var said []chat.Message
	for i := range channels {
		c := public(fmt.Sprintf("C%03d", i), fmt.Sprintf("channel-%03d", i))
		c.Private = i%10 == 3
		b.addChannels(c)
		said = append(said, b.say(c.ID, time.Hour, "hello"))
	}
	for i := range 10 {
		b.reply(said[i*50], 30*time.Minute, "an answer")
	}
	b.wantCalls("at first", b.memoryRun(0), map[string]int{ofThread: 10, channelShort: channels, channelLong: channels, workspaceShort: 1, workspaceLong: 1})
	b.wantCalls("nothing new", b.memoryRun(time.Minute), nil)
	b.wantCalls("nothing but age", b.memoryRun(23*time.Hour+30*time.Minute), nil)

	// Changes in seven channels, two of them private.
	b.say("C003", 0, "in private")
	b.say("C010", 0, "in public")
	b.say("C499", 0, "in the last")
	b.reply(said[50], 0, "one more answer")
	b.reply(said[33], 0, "the first answer, in private")
	b.edit(said[77], "hello, edited")
	b.say("C080", 0, "instead")
	b.remove(said[80])
	b.wantCalls("seven changed", b.memoryRun(time.Hour), map[string]int{ofThread: 2, channelShort: 7, channelLong: 7, workspaceShort: 1, workspaceLong: 1})
	b.wantCalls("and again", b.memoryRun(2*time.Hour), nil)

	b.say("C003", 0, "more in private")
	b.say("C013", 0, "more in private")
	before, _ := b.currentMemories(workspace)
	b.wantCalls("private channels changed", b.memoryRun(3*time.Hour), map[string]int{channelShort: 2, channelLong: 2})
	if after, _ := b.currentMemories(workspace); after.ID != before.ID {
		t.Error("the workspace has another memory, though nothing public has changed")
	}
}

func TestWorkspaceMergesPublicChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.Memory.ShortTermWindowHours = 24
		b.ByUse.Memory.SystemPrompt = "You write for lawyers."
		b.addChannels(public("C1", "general"), public("C2", "random"), private("G1", "secret"), private("D1", ""))
		b.wantKinds("without channels", b.remember(workspace, 0))
		for _, id := range []string{"C1", "C2", "G1", "D1"} {
			b.Model.Handle(func(c llmtest.Call) llmtest.Reply {
				term, _, _ := strings.Cut(kindOf(c), "-")
				return llmtest.Text("- " + term + " of " + id)
			})
			b.say(id, 30*time.Hour, "hello")
			b.remember(channel(id), -29*time.Hour)
		}
		b.Model.Handle(note)
		calls := b.remember(workspace, -29*time.Hour)
		b.wantKinds("at first", calls, workspaceShort, workspaceLong)
		b.WantWords("short", material(calls[0]), "### #general", "short of C1", "### #random", "short of C2", "!long of", "!secret", "!G1", "!D1", "!irect")
		b.WantWords("long", material(calls[1]), "### #general", "long of C1", "### #random", "long of C2", "!short of", "!secret", "!G1", "!D1", "!irect")
		for _, c := range calls {
			b.WantWords(kindOf(c), c.System, "for lawyers", "!0001-01-01")
		}
		long, short := b.currentMemories(workspace)
		if len(long.Sources) != 2 || len(short.Sources) != 2 || !strings.HasPrefix(long.Sources[0], "C1/") || !strings.HasPrefix(short.Sources[1], "C2/") {
			t.Errorf("made of %q and %q", long.Sources, short.Sources)
		}
		b.wantKinds("unchanged", b.remember(workspace, 0))

		// Only new long-term memories are merged, and only short-term memories within the window.
		b.say("C2", time.Hour, "again")
		b.remember(channel("C2"), 0)
		c2, _ := b.currentMemories(channel("C2"))
		calls = b.remember(workspace, 0)
		b.wantKinds("one channel", calls, workspaceShort, workspaceLong)
		b.WantWords("short", material(calls[0]), "### #random", "!general", "!C1", "!"+long.Text)
		b.WantWords("long", material(calls[1]), long.Text, "### #random", c2.Text, "!general", "!C1")
		after, _ := b.currentMemories(workspace)
		if len(after.Sources) != 2 || after.Sources[0] != long.Sources[0] || after.Sources[1] == long.Sources[1] || after.Version != 2 {
			t.Errorf("made of %q", after.Sources)
		}

		// Deletions change the short-term memory, or clear it.
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
			b.wantKinds("deleted in "+id, b.remember(channel(id), 0))
		}
		before, _ := b.currentMemories(workspace)
		b.wantKinds("nothing short is left", b.remember(workspace, 0))
		if long, short := b.currentMemories(workspace); short.Text != "" || long.ID != before.ID {
			t.Errorf("%q and %q are in force", long.Text, short.Text)
		}
	})
}

// A memory that failed is merged in the next run, whatever the order in which the channels'
// memories were made.
func TestWorkspaceMissesNoChannel(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.addChannels(public("C1", "general"), public("C2", "random"))
	b.say("C1", time.Hour, "hello")
	b.say("C2", time.Hour, "hello")
	b.remember(channel("C1"), 0)
	b.Model.Handle(llmtest.Script(llmtest.Text("- short of C2"), llmtest.Fail(503)))
	if _, err := b.Remember(b.Context(), channel("C2"), b.now, 1); err == nil {
		t.Error("no error")
	}
	b.Model.Handle(note)
	b.remember(workspace, 0)
	b.Model.Handle(llmtest.Script(llmtest.Text("- long of C2")))
	b.Time.SetAhead(-time.Hour) // a host whose clock is slow
	b.remember(channel("C2"), 0)
	b.Time.SetAhead(0)
	calls := b.remember(workspace, 0)
	b.wantKinds("later", calls, workspaceShort, workspaceLong)
	b.WantWords("long", material(calls[1]), "long of C2", "!### #general")
}

// Once a channel is private, the workspace is remembered from the other channels only.
func TestWorkspaceForgetsClosedChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, b *bundle) {
		b.Model.Handle(func(c llmtest.Call) llmtest.Reply { // repeats the birds in its prompt
			var birds []string
			for _, bird := range []string{"kiwi", "heron", "stork"} {
				if strings.Contains(material(c), bird) {
					birds = append(birds, bird)
				}
			}
			return llmtest.Text("- 2026-03-01: birds: " + strings.Join(birds, " "))
		})
		b.addChannels(public("C1", "general"), public("C2", "random"), public("C3", "founders"))
		b.say("C1", time.Hour, "a kiwi")
		b.say("C2", time.Hour, "a heron")
		b.say("C3", time.Hour, "a stork")
		b.memoryRun(0)
		long, _ := b.currentMemories(workspace)
		b.WantWords("while it was public", long.Text, "kiwi heron stork")
		in := func(channel string) string {
			r, err := b.Recall.Build(t.Context(), chat.Conversation{Team: "T1", Channel: channel}, false, "")
			if err != nil {
				t.Fatal(err)
			}
			return r.WorkspaceLongTerm + r.WorkspaceShortTerm
		}
		b.WantWords("while it was public", in("C1"), "stork")
		b.addChannels(private("C3", "founders"))
		b.WantWords("at once", in("C1"), "!stork", "!heron")
		b.WantWords("at once, inside", in("C3"), "stork", "heron")
		// Another channel remembered in the same run does not bring it back.
		b.say("C1", 0, "another kiwi")
		b.remember(channel("C1"), time.Minute)
		calls := b.remember(workspace, time.Minute)
		b.wantKinds("closed", calls, workspaceShort, workspaceLong)
		for _, c := range calls {
			b.WantWords("prompt", c.System+c.User, "kiwi", "heron", "!stork", "!founders")
		}
		b.wantKinds("again", b.remember(workspace, time.Minute))
		long, short := b.currentMemories(workspace)
		b.WantWords("closed", long.Text+short.Text, "kiwi heron", "!stork")
		b.WantWords("afterwards", in("C1"), "kiwi heron", "!stork")

		for _, id := range []string{"C1", "C2"} {
			b.addChannels(private(id, "closed-"+id))
		}
		b.wantKinds("all closed", b.remember(workspace, 2*time.Hour))
		if long, short := b.currentMemories(workspace); long.Text != "" || short.Text != "" {
			t.Errorf("%q and %q are in force, and nothing is public", long.Text, short.Text)
		}
	})
}

func TestMaxMergedChannels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ long, short, want int }{{500, 300, 200}, {1000, 300, 100}, {300, 2000, 50}, {1, 1, 200}, {1_000_000, 300, 1}} {
		m := &Agents{Memory: config.Memory{LongTermSummaryMaxTokens: c.long, ShortTermSummaryMaxTokens: c.short}}
		if got := m.maxMergedChannels(); got != c.want {
			t.Errorf("%d and %d tokens: %d channels, want %d", c.long, c.short, got, c.want)
		}
	}
}

// If there are too many channels, the longest silent are left out, and merged later.
func TestWorkspaceWithTooManyChannels(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := setup(t, storetest.Postgres(t))
	for i := range maxChannels + 2 {
		id := fmt.Sprintf("C%03d", i)
		b.addChannels(public(id, fmt.Sprintf("channel-%03d", i)))
		b.say(id, time.Hour, "hello")
		cursor, err := b.Store.CurrentCursor(t.Context(), channel(id), b.windowStart(b.now))
		for _, term := range channel(id).Terms() {
			err = errors.Join(err, b.Store.SaveDraft(t.Context(), store.Memory{Scope: channel(id), Term: term, Text: "a memory"}, cursor))
		}
		err = errors.Join(err, b.Store.SaveMemories(t.Context(), store.MemoryUpdate{
			Scope: channel(id), Long: store.RenewMemory, Short: store.RenewMemory, Cursor: cursor, Read: time.Now(),
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	b.memoryRun(0)
	long, short := b.currentMemories(workspace)
	if len(long.Sources) != maxChannels || len(short.Sources) != maxChannels {
		t.Errorf("made of %d and %d channels", len(long.Sources), len(short.Sources))
	}
	for _, sources := range [][]string{long.Sources, short.Sources} {
		if slices.ContainsFunc(sources, func(s string) bool { return strings.HasPrefix(s, "C000/") || strings.HasPrefix(s, "C001/") }) {
			t.Error("made of channels that were left out")
		}
	}
	b.say("C000", 0, "at last")
	calls := b.memoryRun(time.Minute)
	b.wantCalls("at last", calls, map[string]int{channelShort: 1, channelLong: 1, workspaceShort: 1, workspaceLong: 1})
	long, _ = b.currentMemories(workspace)
	if !slices.ContainsFunc(long.Sources, func(s string) bool { return strings.HasPrefix(s, "C000/") }) {
		t.Error("the channel is still left out")
	}
}
