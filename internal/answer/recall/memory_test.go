package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm/logger"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/test/inprocess"
	"myao/test/testserver"
)

func TestMain(m *testing.M) {
	// The store logs with it. Only the context tells which test a statement belongs to.
	logger.Discard = statements{logger.Discard}
	testserver.Main(m)
}

// statements counts the statements of a context that holds a counter.
type statements struct{ logger.Interface }

type counterKey struct{}

func (s statements) Trace(ctx context.Context, _ time.Time, _ func() (string, int64), _ error) {
	if n, ok := ctx.Value(counterKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}

// saveChannel saves a channel as refreshed from Slack.
func (b *bundle) saveChannel(c slack.Channel) {
	b.Helper()
	if err := b.Database.SaveChannel(b.Context(), "T1", store.Channel{ID: c.ID, Name: c.Name, Private: c.Private, Member: true, Refreshed: noon}); err != nil {
		b.Fatal(err)
	}
}

func channel(id string) chat.Scope      { return chat.Scope{Team: "T1", Channel: id} }
func threadOf(id, ts string) chat.Scope { return chat.Scope{Team: "T1", Channel: id, Thread: ts} }

// setupMemories returns a bundle with two public channels, a private one and a direct message. They
// and the workspace have memories.
func setupMemories(t *testing.T) *bundle {
	t.Helper()
	return setupMemoriesIn(t, "")
}

func setupMemoriesIn(t *testing.T, url string) *bundle {
	t.Helper()
	b := setupIn(t, inprocess.NewWithoutWorkspace(t, inprocess.Options{Database: url, At: noon}))
	b.ActiveChannel, b.ThreadMemory = 7*24*time.Hour, 7*24*time.Hour
	b.slack.Channels["C0"] = slack.Channel{ID: "C0", Name: "zoo", Member: true}
	for _, c := range b.slack.Channels {
		b.saveChannel(c)
		b.say(chat.Message{Channel: c.ID, TS: at(1), UserID: "U1", Text: "hello"})
		b.SaveMemories(channel(c.ID), noon, "long of "+c.ID, "short of "+c.ID)
		b.SaveMemories(threadOf(c.ID, at(1)), noon, "", "thread of "+c.ID)
	}
	b.SaveMemories(chat.Scope{Team: "T1"}, noon, "long of all", "short of all", store.Source("C1", 1), store.Source("C0", 3))
	return b
}

// eachDatabase runs a test with memories on both databases.
func eachDatabase(t *testing.T, run func(t *testing.T, b *bundle)) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) { run(t, setupMemoriesIn(t, url)) })
}

func TestMemoriesInTheContext(t *testing.T) {
	eachDatabase(t, testMemoriesInTheContext)
}

func testMemoriesInTheContext(t *testing.T, b *bundle) {
	memory := func(id, name string) chat.ChannelMemory {
		return chat.ChannelMemory{ChannelID: id, ChannelName: name, LongTerm: "long of " + id, ShortTerm: "short of " + id}
	}
	general, zoo := memory("C1", "general"), memory("C0", "zoo")
	for here, want := range map[string][]chat.ChannelMemory{
		"C1": {general, zoo}, "C0": {general, zoo},
		"G1": {general, memory("G1", "secret"), zoo},
		"D1": {memory("D1", ""), general, zoo},
		"C9": {general, zoo},
	} {
		r := b.build(here, "")
		if !slices.Equal(r.Context.Channels, want) || r.ChannelsUntold != 0 || r.WorkspaceLongTerm != "long of all" || r.WorkspaceShortTerm != "short of all" {
			t.Errorf("in %s: %+v, %d untold, %q, %q", here, r.Context.Channels, r.ChannelsUntold, r.WorkspaceLongTerm, r.WorkspaceShortTerm)
		}
		threads := map[string]string{at(1): "thread of " + here}
		if here == "C9" {
			threads = map[string]string{}
		}
		if !maps.Equal(r.ThreadMemories, threads) || r.ThreadsUntold != 0 {
			t.Errorf("in %s: threads %v, %d untold", here, r.ThreadMemories, r.ThreadsUntold)
		}
	}
	// The context of a thread has the memories of its channel.
	var log strings.Builder
	b.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if r := b.build("G1", at(1)); len(r.Context.Channels) != 3 || r.ThreadMemories[at(1)] != "thread of G1" {
		t.Errorf("in a thread: %+v", r.Context)
	}
	if line := log.String(); !strings.Contains(line, "workspace=2 channels=3 threads=1") {
		t.Errorf("logged %q", line)
	}
}

func TestOldMemoriesAreLeftOut(t *testing.T) {
	t.Parallel()
	b := setupMemories(t)
	b.Time.Set(noon.Add(7*24*time.Hour + time.Minute))
	b.say(chat.Message{Channel: "C0", TS: at(3600), UserID: "U1", Text: "hello"})
	b.SaveMemories(threadOf("C1", at(2)), noon.Add(time.Hour), "", "later")
	r := b.build("C1", "")
	if got := len(r.Context.Channels); got != 2 || r.Context.Channels[0].LongTerm == "" {
		t.Errorf("%+v, want the own channel, and the one that is active", r.Context.Channels)
	}
	if !maps.Equal(r.ThreadMemories, map[string]string{at(2): "later"}) {
		t.Errorf("threads %v", r.ThreadMemories)
	}
	if r = b.build("C0", ""); len(r.Context.Channels) != 1 {
		t.Errorf("%+v, want the own channel alone", r.Context.Channels)
	}
}

// The workspace's memory was made when a channel was public. It is hidden once the channel is
// private, except in that channel.
func TestWorkspaceMemoryOfClosedChannelsIsHidden(t *testing.T) {
	t.Parallel()
	b := setupMemories(t)
	b.SaveMemories(chat.Scope{Team: "T1"}, noon, "long of all", "", store.Source("C1", 1), store.Source("C0", 3))
	b.saveChannel(slack.Channel{ID: "C0", Name: "zoo", Private: true})
	for here, want := range map[string]string{"C1": "", "D1": "", "G1": "", "C0": "long of all"} {
		if r := b.build(here, ""); r.WorkspaceLongTerm != want || r.WorkspaceShortTerm != "" {
			t.Errorf("in %s: %q and %q", here, r.WorkspaceLongTerm, r.WorkspaceShortTerm)
		}
	}
}

func TestBuildForMemoryUsesTheChannelOnly(t *testing.T) {
	t.Parallel()
	b := setupMemories(t)
	said := []chat.Message{{Team: "T1", Channel: "G1", TS: at(1), UserID: "U1", Text: "see <#C1>"}, {Team: "T1", Channel: "G1", TS: at(2), Own: true, Text: "mine"}}
	for _, s := range []chat.Scope{channel("G1"), threadOf("G1", at(1))} {
		r, err := b.BuildForMemory(b.Context(), s, said, 3)
		if err != nil {
			t.Fatal(err)
		}
		own := []chat.ChannelMemory{{ChannelID: "G1", ChannelName: "secret", LongTerm: "long of G1", ShortTerm: "short of G1"}}
		if !slices.Equal(r.Context.Channels, own) || r.WorkspaceLongTerm+r.WorkspaceShortTerm != "" || r.ThreadMemories != nil || r.ChannelsUntold != 0 {
			t.Errorf("%s: %+v", s, r.Context)
		}
		if r.Conversation.Omitted != 3 || r.TargetThread != s.Thread || len(r.Conversation.All()) != 2 || r.Names["U1"] != "alice" || r.Channels["C1"] != "general" {
			t.Errorf("%s: %+v", s, r)
		}
		if all := r.Conversation.All(); all[0].Name != "alice" || all[1].Name != "myao" || said[0].Name != "" {
			t.Errorf("%s: %+v of %+v", s, all, said)
		}
	}
}

// Slack writes the names of public channels into texts. The name of a channel that has become
// private is not shown.
func TestChannelNamesInTexts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range b.slack.Channels {
		b.saveChannel(c)
	}
	const text = "<#C1|general> <#G1|secret> <#G1> <#C77|elsewhere> <#D1|>"
	for here, want := range map[string]string{
		"C1": "<#C1|general> <#G1> <#G1> <#C77|elsewhere> <#D1>",
		"G1": "<#C1|general> <#G1|secret> <#G1> <#C77|elsewhere> <#D1>",
	} {
		b.say(chat.Message{Channel: here, TS: at(1), UserID: "U1", Text: text})
		if got := b.build(here, "").Target()[0].Text; got != want {
			t.Errorf("in %s: %s, want %s", here, got, want)
		}
	}
	// Slack was never asked for G5. An event said that it is private.
	if err := b.Database.CloseChannel(t.Context(), "T1", "G5"); err != nil {
		t.Fatal(err)
	}
	b.slack.Err = errors.New("not now")
	for here, want := range map[string]string{"C1": "<#G5> <#C77|elsewhere>", "G1": "<#G5> <#C77|elsewhere>", "G5": "<#G5|secret-merger> <#C77|elsewhere>"} {
		b.say(chat.Message{Channel: here, TS: at(2), UserID: "U1", Text: "<#G5|secret-merger> <#C77|elsewhere>"})
		got := b.build(here, "").Target()
		if got := got[len(got)-1].Text; got != want {
			t.Errorf("in %s, of a channel that was never refreshed: %s, want %s", here, got, want)
		}
	}
	// Many names cannot crowd out a private one.
	var crowd strings.Builder
	for n := range 2 * maxNames {
		fmt.Fprintf(&crowd, "<#X%d>", n)
	}
	b.say(chat.Message{Channel: "C1", TS: at(3), UserID: "U1", Text: crowd.String() + text})
	if got := b.build("C1", "").Target()[2].Text; strings.Contains(got, "secret") {
		t.Error("a crowd of channels shows a private one's name")
	}
}

// A context takes the same number of statements, however many memories there are: two in Postgres,
// and in SQLite one for each kind of thing.
func TestStatementCountIsConstant(t *testing.T) { eachDatabase(t, testStatementCountIsConstant) }

func testStatementCountIsConstant(t *testing.T, b *bundle) {
	b.MessagesLimit = 20
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			id := fmt.Sprintf("C%d", 100+i)
			b.saveChannel(slack.Channel{ID: id, Name: "channel" + id, Private: i%3 == 0})
			b.say(chat.Message{Channel: id, TS: at(i), UserID: "U1", Text: "hello"})
			b.say(chat.Message{TS: at(i), UserID: "U1", Text: "hello <@U2> <#" + id + ">"})
			b.say(chat.Message{TS: at(1000 + i), ThreadTS: at(i), UserID: "U2", Text: "hello"})
			b.SaveMemories(channel(id), noon, "long", "short")
			b.SaveMemories(threadOf("C1", at(i)), noon, "", "summary")
		}
	}
	count := func() int64 {
		var n atomic.Int64
		ctx := context.WithValue(b.Context(), counterKey{}, &n)
		if _, err := b.Build(ctx, chat.Conversation{Team: "T1", Channel: "C1", Thread: at(11)}, false, ""); err != nil {
			t.Fatal(err)
		}
		return n.Load()
	}
	fill(10, 40)
	b.build("C1", "") // Slack is asked for names
	few := count()
	fill(40, 40+2*maxChannelMemories)
	b.build("C1", "")
	many := count()
	if few != many || few == 0 || few > 14 {
		t.Errorf("%d statements for a few, %d for many", few, many)
	}
	r := b.build("C1", "")
	told := len(slices.DeleteFunc(slices.Clone(r.Context.Channels), func(c chat.ChannelMemory) bool { return c.LongTerm == "" }))
	if told < maxChannelMemories || told > maxChannelMemories+1 || r.ChannelsUntold == 0 || told+r.ChannelsUntold != len(r.Context.Channels) {
		t.Errorf("%d channels with a memory, %d without, of %d", told, r.ChannelsUntold, len(r.Context.Channels))
	}
	all := len(r.Context.Channels)
	if r.ChannelsUnlisted != 0 {
		t.Errorf("%d channels of %d are left out", r.ChannelsUnlisted, all)
	}
	if len(r.ThreadMemories) != maxThreadMemories || r.ThreadsUntold != 30+2*maxChannelMemories+1-maxThreadMemories {
		t.Errorf("%d threads in the context, %d not", len(r.ThreadMemories), r.ThreadsUntold)
	}
	fill(40+2*maxChannelMemories, 40+2*maxChannelMemories+3*maxChannelNames)
	all += 2 * maxChannelNames // the others are private
	if r = b.build("C1", ""); len(r.Context.Channels) < maxChannelNames || len(r.Context.Channels) > maxChannelNames+1 || len(r.Context.Channels)+r.ChannelsUnlisted != all {
		t.Errorf("%d channels are named and %d are not, of %d", len(r.Context.Channels), r.ChannelsUnlisted, all)
	}
	if !slices.ContainsFunc(r.Context.Channels, func(c chat.ChannelMemory) bool { return c.ChannelID == "C1" && c.LongTerm != "" }) {
		t.Error("the channel itself is missing")
	}
}

func TestMemoryErrors(t *testing.T) {
	t.Parallel()
	b := setupMemories(t)
	// A failure of Slack is no error.
	b.build("C1", "") // Slack says who the authors are
	b.Time.Set(noon.Add(48 * time.Hour))
	b.slack.Err = errors.New("away")
	if r := b.build("C1", ""); len(r.Context.Channels) != 2 || r.Channels["C1"] != "general" {
		t.Errorf("while Slack fails: %+v", r.Context.Channels)
	}
	if _, err := b.BuildForMemory(b.Context(), channel("C1"), nil, 0); err != nil {
		t.Error(err)
	}
	if err := b.Database.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.BuildForMemory(b.Context(), channel("C1"), nil, 0); err == nil {
		t.Error("a context without a database")
	}
	if _, _, err := b.Database.WorkspaceMemories(t.Context(), "T1", ""); err == nil {
		t.Error("the workspace's memory without a database")
	}
}
