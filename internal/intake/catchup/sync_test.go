package catchup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
)

func (b *bundle) channels() []string {
	b.Helper()
	ids, err := b.Channels(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

func TestSync(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := prepare(t, options{url: url, Config: workspace.Config{PageSize: 2}})
		bot := b.Workspace.Bot().UserID
		var ids []string
		for i := range 4 {
			ids = append(ids, b.Workspace.AddChannel(workspace.Private, fmt.Sprintf("c%d", i), bot, b.Alice.ID))
		}
		dm := b.Workspace.AddChannel(workspace.DM, "", b.Alice.ID)
		b.Workspace.AddChannel(workspace.Public, "elsewhere", b.Alice.ID)
		if got, want := b.sync(), (store.SyncResult{Joined: 6}); got != want {
			t.Errorf("first: got %+v, want %+v", got, want)
		}
		if got := b.sync(); got != (store.SyncResult{}) {
			t.Errorf("again: got %+v", got)
		}
		b.Workspace.Leave(ids[0], bot)
		b.Workspace.Archive(ids[1], true)
		b.Workspace.Rename(ids[2], "renamed")
		joined := b.Workspace.AddChannel(workspace.Public, "joined", bot, b.Alice.ID)
		if got, want := b.sync(), (store.SyncResult{Joined: 1, Left: 1, Renamed: 1, Archived: 1}); got != want {
			t.Errorf("changed: got %+v, want %+v", got, want)
		}
		known, err := b.Store.Channels(t.Context(), "T1", append(ids, dm))
		if err != nil {
			t.Fatal(err)
		}
		if c := known[ids[2]]; c.Name != "renamed" || !c.Private || !c.Member {
			t.Errorf("got %+v", c)
		}
		if c := known[dm]; !c.Private || !c.Member || c.Name != "" {
			t.Errorf("direct message: got %+v", c)
		}
		// The most recently active first, and neither what was left nor what is archived.
		for i, id := range []string{ids[3], b.General} {
			if err := b.Store.SaveHistory(t.Context(), []chat.Message{{Team: "T1", Channel: id, UserID: b.Alice.ID, TS: chat.TS(noon.Add(time.Duration(i) * time.Second))}}); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{b.General, ids[3]}
		rest := []string{ids[2], dm, joined}
		slices.Sort(rest)
		if got := b.channels(); !slices.Equal(got, append(want, rest...)) {
			t.Errorf("channels: got %q, want %q", got, append(want, rest...))
		}
	})
}

func TestAListingThatFailsRemovesNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]workspace.Fault{
		"at once":                {Error: "missing_scope"},
		"429 on the second page": {Match: workspace.LaterPage, Status: 429, RetryAfter: "7200"},
		"lost":                   {Match: workspace.LaterPage, LoseAnswer: true},
		"no list":                {Match: workspace.LaterPage, Alter: func(a map[string]any) { delete(a, "channels") }},
		"a channel without id": {Match: workspace.LaterPage, Alter: func(a map[string]any) {
			a["channels"] = []any{map[string]any{"name": "nameless"}}
		}},
		"the same page again": {Alter: func(a map[string]any) {
			a["response_metadata"] = map[string]any{"next_cursor": "bmV4dDo="}
		}},
	} {
		fault.Method = "users.conversations"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := prepare(t, options{Config: workspace.Config{PageSize: 2}})
			for i := range 3 {
				b.Workspace.AddChannel(workspace.Public, fmt.Sprintf("c%d", i), b.Workspace.Bot().UserID)
			}
			b.sync()
			before := b.channels()
			b.Workspace.Rename(before[0], "renamed")
			b.Workspace.Faults().Add(fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // less than the limit lasts
			defer cancel()
			_, err := b.Sync(ctx)
			var e *slack.Error
			if err == nil || !errors.As(err, &e) && !errors.Is(err, errCursorLoop) {
				t.Errorf("got %v", err)
			}
			if got := b.channels(); !slices.Equal(got, before) {
				t.Errorf("channels: got %q, want %q", got, before)
			}
			known, err := b.Store.Channels(t.Context(), "T1", before)
			if err != nil || known[before[0]].Name == "renamed" {
				t.Errorf("a part of the listing was taken in: %+v, %v", known, err)
			}
		})
	}
}

// A reading that cannot be stored fails.
func TestFailsWithoutADatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	b.say(time.Hour, "hello")
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Sync(t.Context()); err == nil {
		t.Errorf("the listing was taken in: %+v", got)
	}
	if got, err := b.Channels(t.Context()); err == nil {
		t.Errorf("channels %q", got)
	}
	if got, err := b.Channel(t.Context(), b.General); err == nil {
		t.Errorf("the channel was read: %+v", got)
	}
}

// Slack allows about fifty calls a minute. A longer listing continues after a refusal.
func TestListingContinuesAfterARateLimit(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{Config: workspace.Config{PageSize: 1}})
	for i := range 2 {
		b.Workspace.AddChannel(workspace.Public, fmt.Sprintf("c%d", i), b.Workspace.Bot().UserID)
	}
	limit := workspace.Fault{Method: "users.conversations", Match: workspace.LaterPage, Times: 2, Status: 429, RetryAfter: "0.2"}
	b.Workspace.Faults().Add(limit)
	began := time.Now()
	if got, want := b.sync(), (store.SyncResult{Joined: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if took, calls := time.Since(began), b.calls("users.conversations"); took < 400*time.Millisecond || calls != 5 {
		t.Errorf("it took %v and %d calls, want 400 ms and five calls", took, calls)
	}
}

// An app that was installed before the manifest asked for group direct messages lists the rest, and logs
// that once. Once it may list them, they are listed and read.
func TestGroupsAreListedOnceAllowed(t *testing.T) {
	t.Parallel()
	scopes := []string{"channels:read", "groups:read", "im:read", "mpim:none"}
	b := prepare(t, options{Config: workspace.Config{Scopes: scopes, PageSize: 1}})
	group := b.Workspace.AddChannel(workspace.GroupDM, "", b.Alice.ID, b.Workspace.Bot().UserID)
	dm := b.Workspace.AddChannel(workspace.DM, "", b.Alice.ID)
	for range 2 {
		b.sync()
		if got := b.channels(); !slices.Contains(got, b.General) || !slices.Contains(got, dm) || len(got) != 2 {
			t.Errorf("listed %q", got)
		}
	}
	if n := strings.Count(b.log.String(), "lacks mpim:read"); n != 1 {
		t.Errorf("%d warnings, want one:\n%s", n, b.log)
	}
	scopes[3] = "mpim:read"
	if got, want := b.sync(), (store.SyncResult{Joined: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	known, err := b.Store.Channels(t.Context(), "T1", []string{group})
	if err != nil || !known[group].Private || !known[group].Member {
		t.Errorf("%+v, %v", known, err)
	}
	b.Time.Set(noon.Add(2 * minutes))
	b.Workspace.Say(group, b.Alice.ID, b.Mention("in the group"), workspace.At(noon.Add(minutes)), workspace.WithoutEvent())
	if _, err := b.Channel(t.Context(), group); err != nil {
		t.Error(err)
	}
	b.wantTaken("@in the group")
}

func TestRejoinedChannelIsKnownSinceThen(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	bot := b.Workspace.Bot().UserID
	b.Workspace.Leave(b.General, bot)
	b.sync()
	if got := b.channels(); len(got) != 0 {
		t.Errorf("still to be read: %q", got)
	}
	_, err := b.Channel(t.Context(), b.General)
	var e *slack.Error
	if !errors.As(err, &e) || e.Code != "not_in_channel" {
		t.Errorf("got %v", err)
	}
	b.say(-minutes, b.Mention("while it was away"))
	b.Time.Set(noon.Add(2 * minutes))
	b.Workspace.Join(b.General, bot)
	b.sync()
	b.Time.Set(noon.Add(4 * minutes))
	b.say(-3*minutes, "after")
	if got := b.catchUp(); got.New != 2 {
		t.Errorf("got %+v, want both stored", got)
	}
	b.wantTaken("after")
}

// A channel that the bot has left is not listed and sends no events, so Slack is asked about it.
func TestLeftChannelIsMadePrivate(t *testing.T) {
	inprocess.EachDatabase(t, func(t *testing.T, url string) {
		b := prepare(t, options{url: url})
		bot := b.Workspace.Bot().UserID
		left := b.Workspace.AddChannel(workspace.Public, "left", bot, b.Alice.ID)
		still := b.Workspace.AddChannel(workspace.Public, "still", bot, b.Alice.ID)
		b.sync()
		known := func() map[string]store.Channel {
			t.Helper()
			known, err := b.Store.Channels(t.Context(), "T1", []string{left, still})
			if err != nil {
				t.Fatal(err)
			}
			return known
		}
		want := func(when string, public, asked int) {
			t.Helper()
			names, err := b.Store.Names(t.Context(), "T1", b.General, nil, []string{left, still})
			if err != nil || len(names.Channels) != public || b.calls("conversations.info") != asked {
				t.Errorf("%s: %v is known elsewhere, %v, after %d questions; want %d after %d",
					when, names.Channels, err, b.calls("conversations.info"), public, asked)
			}
		}
		b.Workspace.Leave(left, bot)
		b.Workspace.Leave(still, bot)
		b.Workspace.SetPrivate(left, true)
		b.Time.Set(noon.Add(hours))
		b.sync()
		want("within an hour", 2, 0)
		b.Time.Set(noon.Add(hours + minutes))
		for code, fault := range map[string]workspace.Fault{ // after some faults only the first channel is asked about
			"final": {Error: "access_denied"}, "limited": {Status: 429, RetryAfter: "7"}, "away": {Status: 503}, "lost": {LoseAnswer: true},
		} {
			before := known()
			fault.Method = "conversations.info"
			off := b.Workspace.Faults().Add(fault)
			asked := b.calls("conversations.info")
			b.sync()
			off()
			if n := b.calls("conversations.info") - asked; n != map[bool]int{true: 2, false: 1}[code == "final"] || !reflect.DeepEqual(known(), before) {
				t.Errorf("%s: asked %d times, %+v, before that %+v", code, n, known(), before)
			}
		}
		asked := b.calls("conversations.info")
		b.sync()
		want("after an hour", 1, asked+2)
		if k := known(); !k[left].Private || k[still].Private || k[still].Member || k[still].Refreshed != noon.Add(hours+minutes) {
			t.Errorf("got %+v", k)
		}
		b.Time.Set(noon.Add(2*hours + minutes))
		b.sync()
		want("an hour later", 1, asked+2)
		b.Workspace.Rename(still, "renamed")
		b.Time.Set(noon.Add(2*hours + 2*minutes))
		b.sync()
		want("then", 1, asked+3)
		if k := known(); k[still].Name != "renamed" {
			t.Errorf("got %+v", k)
		}
	})
}

// However many channels were left, one listing asks about a few, and the next continues.
func TestManyLeftChannels(t *testing.T) {
	t.Parallel()
	b := prepare(t, options{})
	bot := b.Workspace.Bot().UserID
	var ids []string
	for i := range maxRechecks + 5 {
		ids = append(ids, b.Workspace.AddChannel(workspace.Public, fmt.Sprintf("c%d", i), bot))
	}
	b.sync()
	for _, id := range ids {
		b.Workspace.Leave(id, bot)
	}
	b.Time.Set(noon.Add(2 * hours))
	for _, want := range []int{maxRechecks, len(ids), len(ids)} {
		b.sync()
		if got := b.calls("conversations.info"); got != want {
			t.Errorf("asked %d times, want %d", got, want)
		}
	}
	var asked []string
	for _, c := range b.Workspace.Calls("conversations.info") {
		asked = append(asked, c.Args.Get("channel"))
	}
	slices.Sort(asked)
	slices.Sort(ids)
	if !slices.Equal(asked, ids) {
		t.Errorf("asked about %q, want each once: %q", asked, ids)
	}
}

// Slack's answer about a channel that was joined meanwhile is left to the next listing, so that nothing
// posted before is answered.
func TestChannelJoinedWhileItIsChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	bot := b.Workspace.Bot().UserID
	b.Workspace.Leave(b.General, bot)
	b.sync()
	b.Time.Set(noon.Add(2 * hours))
	b.Workspace.Faults().Add(workspace.Fault{Method: "conversations.info", Alter: func(a map[string]any) {
		a["channel"].(map[string]any)["is_member"] = true
	}})
	before := b.marks()
	b.sync()
	if got := b.marks(); got != before {
		t.Errorf("got %+v, want %+v", got, before)
	}
	b.Workspace.Join(b.General, bot)
	b.sync()
	if got := b.marks(); !got.Member || got.KnownSince != noon.Add(2*hours) {
		t.Errorf("got %+v", got)
	}
}
