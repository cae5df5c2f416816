package store

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// context is a conversation's Context with at most limit messages of it and around it, and
// everything else.
func (db database) context(t *testing.T, c chat.Conversation, limit int) Context {
	t.Helper()
	read, err := db.Context(t.Context(), ContextRequest{Conversation: c, Messages: limit, Around: limit, Channels: 100, Threads: 100, Named: 100})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestContextMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		old, busy := said(at(1), ""), said(at(2), "")
		deleted := said(at(50), "")
		deleted.Deleted = true
		otherChannel := said(at(51), "")
		otherChannel.Channel = "C2"
		db.store(t, old, busy, deleted, otherChannel, said(at(3), old.TS), said(at(4), old.TS), said(at(5), old.TS), said(at(6), ""))
		for n := range 10 {
			db.store(t, said(at(20+n), busy.TS))
		}
		top := chat.Conversation{Team: team, Channel: channel}
		thread := func(m chat.Message) chat.Conversation {
			return chat.Conversation{Team: team, Channel: channel, Thread: m.TS}
		}
		for _, test := range []struct {
			name    string
			c       chat.Conversation
			limit   int
			want    string // of the channel and of the conversation, each once, in order of time
			omitted int
		}{
			{"all of it", top, 50, "01 02 03 04 05 06 20 21 22 23 24 25 26 27 28 29 ", 0},
			{"a busy thread hides neither the top level nor the thread's parent", top, 2, "02 06 28 29 ", 1},
			{"of the top level the newest", top, 1, "02 06 29 ", 1},
			{"a thread from beyond the channel's newest", thread(old), 3, "01 03 04 05 27 28 29 02 ", 0},
			{"a long thread, its parent, and how much is between", thread(old), 2, "01 04 05 28 29 02 ", 1},
			{"the busy thread", thread(busy), 4, "02 26 27 28 29 ", 6},
			{"an unknown thread", chat.Conversation{Team: team, Channel: channel, Thread: at(59)}, 1, "02 29 ", 0},
			{"another channel", chat.Conversation{Team: team, Channel: "C2"}, 5, "51 ", 0},
		} {
			got := db.context(t, test.c, test.limit)
			all := chat.NewChannelMessages(channel, "", got.Messages).All()
			want := strings.Fields(test.want)
			slices.Sort(want)
			if seconds(all) != strings.Join(want, " ")+" " || got.Omitted != test.omitted {
				t.Errorf("%s: %s, %d omitted; want %s, %d omitted", test.name, seconds(all), got.Omitted, want, test.omitted)
			}
			if len(all) != len(got.Messages) {
				t.Errorf("%s: %d messages are read %d times", test.name, len(all), len(got.Messages))
			}
		}
	})
}

// The messages around a conversation are not read to their beginning; the context says where there
// are more.
func TestEarlierMessagesAroundAConversation(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		deleted := said(at(4), at(2))
		deleted.Deleted = true
		otherChannel := said(at(6), "")
		otherChannel.Channel = "C2"
		db.store(t, said(at(1), ""), said(at(2), ""), said(at(3), at(2)), deleted, said(at(5), ""), otherChannel, said(at(10), at(1)), said(at(11), at(1)),
			said(at(20), ""), said(at(21), at(20)), said(at(22), at(1)), said(at(23), at(5)))
		top := chat.Conversation{Team: team, Channel: channel}
		thread := func(n int) chat.Conversation {
			return chat.Conversation{Team: team, Channel: channel, Thread: at(n)}
		}
		for _, test := range []struct {
			name       string
			c          chat.Conversation
			own, limit int
			want       []string
			since      int // seconds
		}{
			{"a thread, and one with no message read", top, 10, 4, []string{at(1), at(2)}, 20},
			{"of what is not read itself nothing is said", top, 1, 4, []string{at(1)}, 20},
			{"the target is counted", thread(1), 10, 4, []string{""}, 20},
			{"a thread and the top level, around another thread", thread(20), 10, 4, []string{"", at(1)}, 20},
			{"a parent is not missing", thread(2), 10, 8, nil, 0},
			{"a deleted message is not missing", top, 10, 8, nil, 0},
			{"only one with no message read", top, 10, 6, []string{at(2)}, 10},
			{"all of them", thread(1), 10, 50, nil, 0},
			{"an unknown thread", thread(59), 10, 2, []string{"", at(1)}, 22},
			{"nothing around", thread(1), 10, 0, nil, 0},
			{"another channel", chat.Conversation{Team: team, Channel: "C2"}, 1, 1, nil, 0},
		} {
			got, err := db.Context(t.Context(), ContextRequest{Conversation: test.c, Messages: test.own, Around: test.limit})
			if err != nil {
				t.Fatal(err)
			}
			var since time.Time
			if test.want != nil {
				since = chat.Time(at(test.since))
			}
			if !slices.Equal(got.Earlier, test.want) || !got.Since.Equal(since) {
				t.Errorf("%s: earlier messages in %q, before %v; want %q, %v", test.name, got.Earlier, got.Since, test.want, since)
			}
		}
	})
}

func TestContextOfADeletedParent(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		parent := said(at(1), "")
		parent.Deleted = true
		db.store(t, parent, said(at(2), parent.TS), said(at(3), parent.TS))
		got := db.context(t, chat.Conversation{Team: team, Channel: channel, Thread: parent.TS}, 1)
		if all := chat.NewChannelMessages(channel, "", got.Messages).All(); seconds(all) != "03 " || got.Omitted != 1 {
			t.Errorf("%s, %d omitted; want 03, 1 omitted", seconds(all), got.Omitted)
		}
	})
}

func TestThreadMemories(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		thread := func(n int) chat.Scope { return chat.Scope{Team: team, Channel: channel, Thread: at(n)} }
		for n := range 4 {
			db.store(t, said(at(n), ""))
			db.remember(t, noon, thread(n))
			db.clock.advance(time.Minute)
		}
		db.remember(t, noon, theChannel, chat.Scope{Team: team, Channel: "C2", Thread: at(9)})
		db.remember(t, noon, thread(1))
		db.save(t, MemoryUpdate{Scope: thread(2), Short: WithdrawMemory, Read: noon})
		db.draft(t, thread(5), chat.ShortTerm, "draft", Cursor{})
		for _, test := range []struct {
			since  int // minutes
			most   int
			want   []int
			untold int
		}{
			{0, 10, []int{0, 1, 3}, 0},
			{1, 10, []int{1, 3}, 0},
			{4, 10, []int{1}, 0},
			{5, 10, nil, 0},
			{0, 2, []int{1, 3}, 1},
			{0, 1, []int{1}, 2},
		} {
			got, err := db.Context(t.Context(), ContextRequest{
				Conversation: chat.Conversation(theChannel), Remembered: noon.Add(time.Duration(test.since) * time.Minute), Threads: test.most,
			})
			want := map[string]string{}
			for _, n := range test.want {
				want[at(n)] = text(thread(n), chat.ShortTerm)
			}
			if err != nil || !maps.Equal(got.Threads, want) || got.ThreadsUntold != test.untold {
				t.Errorf("since minute %d, at most %d: %v, %d untold, %v; want %v, %d", test.since, test.most, got.Threads, got.ThreadsUntold, err, want, test.untold)
			}
		}
	})
}

// A memory's own time counts, even if the clock that set it was ahead of the saving worker's.
func TestThreadMemoriesFromAFastClock(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		c := Cursor{Newest: noon, Count: 1}
		must(t, db.SaveDraft(t.Context(), Memory{Scope: aThread, Term: chat.ShortTerm, Text: "ahead", Made: noon.Add(time.Hour)}, c))
		db.save(t, MemoryUpdate{Scope: aThread, Short: RenewMemory, Cursor: c, Read: noon})
		got, err := db.Context(t.Context(), ContextRequest{Conversation: chat.Conversation(theChannel), Remembered: noon.Add(time.Hour), Threads: 1})
		if err != nil || got.Threads[at(1)] != "ahead" {
			t.Errorf("got %v, %v", got.Threads, err)
		}
	})
}

// A context's first message stays until a step of newer ones has come, at the top level as in a thread.
func TestContextMovesInSteps(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		const limit, step = 10, 5
		root := said(at(0), "")
		for n := range 40 {
			m := said(at(n), "")
			if n%2 == 1 {
				m.ThreadTS = root.TS
			}
			db.store(t, m)
			for _, thread := range []string{"", root.TS} {
				c := chat.Conversation{Team: team, Channel: channel, Thread: thread}
				got, err := db.Context(t.Context(), ContextRequest{Conversation: c, Messages: limit, Around: limit, Step: step})
				must(t, err)
				all := chat.NewChannelMessages(channel, "", got.Messages)
				own, other := all.TopLevel, all.Threads[root.TS]
				written := n/2 + 1
				if thread != "" {
					own, other, written = other, own, (n+1)/2
				}
				first, most := max(0, (written-limit+step-1)/step*step), written
				if len(own) > 0 && thread == "" && first > 0 && own[0].TS == root.TS {
					own = own[1:] // the parent of what is shown of the thread
				}
				if len(own) != most-first {
					t.Errorf("after %d, thread %q: %d messages from %s on, want %d", n, thread, len(own), seconds(own), most-first)
				}
				from := max(0, (n+1-limit+step-1)/step*step)
				for _, m := range other {
					if m.TS != root.TS && chat.CompareTS(m.TS, at(from)) < 0 {
						t.Errorf("after %d, thread %q: %s is shown around it, want those from %s on", n, thread, m.TS, at(from))
					}
				}
				if want := max(0, written-len(own)); thread != "" && got.Omitted != want {
					t.Errorf("after %d: %d are left out, want %d", n, got.Omitted, want)
				}
			}
		}
	})
}
