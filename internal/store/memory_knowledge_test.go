package store

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// Every channel has a message, a memory of its own and one of a thread. A reader may know public
// channels and the reader's own.
func TestVisibility(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		listing := []Channel{
			{ID: "C1", Name: "public"}, {ID: "C2", Name: "another"}, {ID: "G1", Name: "secret", Private: true}, {ID: "G2", Name: "hidden", Private: true},
			{ID: "D1", Private: true}, {ID: "CLEFT", Name: "left"}, {ID: "GLEFT", Name: "left secret", Private: true},
			{ID: "CEXT", Name: "shared", External: true}, {ID: "GEXT", Name: "shared secret", Private: true, External: true},
			{ID: "CORGEXT", Name: "organisation", OrgShared: true}, {ID: "CGUESTEXT", Name: "guest"}, {ID: "DGUESTEXT", Private: true}, {ID: "CFORMER", Name: "former"},
			{ID: "CARCH", Name: "archived"}, {ID: "GARCH", Name: "archived secret", Private: true},
		}
		db.sync(t, listing...)
		listing = slices.DeleteFunc(listing, func(c Channel) bool { return strings.HasSuffix(c.ID, "LEFT") })
		for i, c := range listing {
			listing[i].Archived = strings.HasSuffix(c.ID, "ARCH")
		}
		db.sync(t, listing...)
		// Slack was never asked about it, though the bot posts there, so it may be private.
		must(t, errOf(db.post(t.Context(), "CUNKNOWN", time.Second)))
		must(t, db.db.Model(&channelRow{}).Where("channel_id = 'CUNKNOWN'").Updates(map[string]any{"name": "unknown", "member": true}).Error)
		// The same id in another team is another channel.
		must(t, errOf(db.SyncChannels(t.Context(), "T2", []Channel{{ID: "CT2", Name: "elsewhere"}, {ID: "G1", Name: "public elsewhere"}})))
		db.closeChannel(t, "CEVENT") // known from events only
		must(t, db.SaveUsers(t.Context(), team, User{ID: "U9", Name: "guest", Guest: true, Refreshed: noon}))
		for _, id := range []string{"CGUESTEXT", "DGUESTEXT", "CFORMER"} {
			db.see(t, id, "U9", noon)
		}
		db.leave(t, "CFORMER", "U9", noon.Add(time.Second))
		all := []string{"C1", "C2", "G1", "G2", "D1", "CLEFT", "GLEFT", "CARCH", "GARCH", "CUNKNOWN", "CNEW", "CT2", "CEVENT", "CEXT", "GEXT", "CORGEXT", "CGUESTEXT", "DGUESTEXT", "CFORMER"}
		for i, id := range all {
			thread := chat.Scope{Team: team, Channel: id, Thread: at(i)}
			db.store(t, in(id, said(at(i), "")))
			db.remember(t, noon, chat.Scope{Team: team, Channel: id}, thread)
		}
		names := map[string]string{
			"C1": "public", "C2": "another", "G1": "secret", "G2": "hidden", "CLEFT": "left", "GLEFT": "left secret",
			"CARCH": "archived", "GARCH": "archived secret", "CUNKNOWN": "unknown",
			"CEXT": "shared", "GEXT": "shared secret", "CORGEXT": "organisation", "CGUESTEXT": "guest", "CFORMER": "former",
		}
		db.remember(t, noon, workspace)
		everywhere, named := []string{"C1", "C2", "CEXT", "CORGEXT", "CGUESTEXT", "CFORMER"}, []string{"C1", "C2", "CARCH", "CLEFT", "CEXT", "CORGEXT", "CGUESTEXT", "CFORMER"}
		for _, here := range append([]string{""}, all...) {
			who := "reader in " + here
			known, spoken := slices.Clone(everywhere), slices.Clone(named)
			external := strings.HasSuffix(here, "EXT")
			if external {
				known, spoken = nil, nil
			}
			if here != "" {
				known = append(known, here)
			}
			if names[here] != "" {
				spoken = append(spoken, here)
			}
			want := map[string]string{}
			for _, id := range spoken {
				want[id] = names[id]
			}
			got, err := db.Names(t.Context(), team, here, nil, all)
			if err != nil || !maps.Equal(got.Channels, want) {
				t.Errorf("%s gets the names %v, %v; want %v", who, got.Channels, err, want)
			}
			if private := map[string]bool{"G1": true, "G2": true, "D1": true, "GLEFT": true, "GARCH": true, "CEVENT": true, "GEXT": true, "DGUESTEXT": true}; !maps.Equal(got.Private, private) {
				t.Errorf("%s gets %v as private, want %v", who, got.Private, private)
			}

			k, err := db.Knowledge(t.Context(), team, here, noon.Add(-time.Hour), 100, 100)
			if err != nil || k.Untold != 0 {
				t.Errorf("%s: %+v, %v", who, k, err)
			}
			slices.Sort(known)
			known = slices.Compact(known)
			var ids []string
			for _, c := range k.Channels {
				ids = append(ids, c.ChannelID)
				scope := chat.Scope{Team: team, Channel: c.ChannelID}
				if c.LongTerm != text(scope, chat.LongTerm) || c.ShortTerm != text(scope, chat.ShortTerm) || c.ChannelName != names[c.ChannelID] {
					t.Errorf("%s gets %+v", who, c)
				}
			}
			slices.Sort(ids)
			if !slices.Equal(ids, known) {
				t.Errorf("%s knows of %v, want %v", who, ids, known)
			}

			if here != "" {
				read, err := db.Context(t.Context(), ContextRequest{
					Conversation: chat.Conversation{Team: team, Channel: here}, Messages: 100, Around: 100, Active: noon.Add(-time.Hour), Channels: 100, Threads: 100, Named: 100,
				})
				if err != nil || len(read.Threads) != 1 || !strings.Contains(fmt.Sprint(read.Threads), "thread "+here+"/") {
					t.Errorf("%s gets threads %v, %v", who, read.Threads, err)
				}
				if (read.Long == nil) != external || (read.Short == nil) != external {
					t.Errorf("%s gets of the workspace %+v, %+v", who, read.Long, read.Short)
				}
				if !reflect.DeepEqual(read.Knowledge, k) {
					t.Errorf("%s gets in its context %+v, want %+v", who, read.Knowledge, k)
				}
				if slices.ContainsFunc(read.Messages, func(m chat.Message) bool { return m.Channel != here }) || len(read.Messages) != 1 {
					t.Errorf("%s is shown %+v", who, read.Messages)
				}
			}
		}
		if got := db.cursor(t, workspace, time.Time{}).Count; got != 2*len(everywhere) {
			t.Errorf("the workspace is made of %d memories, want %d", got, 2*len(everywhere))
		}
	})
}

// An event can say that a channel is shared; only Slack itself can say that it no longer is.
func TestExternalChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		is := func(when string, external bool) {
			t.Helper()
			known, err := db.Channels(t.Context(), team, []string{"C1", "C2"})
			if err != nil || known["C1"].External != external || known["C2"].External {
				t.Errorf("%s: %+v, %v; want external %v", when, known, err, external)
			}
		}
		n := 0
		tell := func(external bool) {
			t.Helper()
			m := in("C1", said(at(n), ""))
			if n++; n%2 == 0 {
				m.Revision = at(n)
			}
			must(t, errOf(db.Record(t.Context(), m, func(Known) Entry { return Entry{Message: &m, Handled: true, External: external} })))
		}
		others := Channel{ID: "C2", Name: "two", Member: true}
		tell(true)
		is("known by an event alone", true)
		db.sync(t, Channel{ID: "C1", Name: "one"}, others)
		is("listed as the workspace's own", false)
		tell(false)
		is("said to be the workspace's own", false)
		tell(true)
		is("said to be read by others", true)
		tell(false)
		is("left out by an event", true)
		db.clock.advance(time.Minute)
		db.sync(t, Channel{ID: "C1", Name: "one"}, others)
		is("listed again", false)
		db.sync(t, Channel{ID: "C1", Name: "one", External: true}, others)
		is("listed as others' too", true)
		must(t, db.SaveChannel(t.Context(), team, Channel{ID: "C1", Name: "one", Member: true, Refreshed: noon.Add(-time.Hour)}))
		is("asked for before that", true)
		db.clock.advance(time.Minute)
		must(t, db.SaveChannel(t.Context(), team, Channel{ID: "C1", Name: "one", Member: true}))
		is("asked for after it", false)
	})
}

func TestKnowledge(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"}, Channel{ID: "C3", Name: "three"}, Channel{ID: "C4", Name: "four"}, Channel{ID: "C5", Name: "five"})
		gone := in("C1", said(at(50), ""))
		gone.Deleted = true
		db.store(t, in("C1", said(at(1), "")), gone, in("C2", said(at(2), "")), in("C3", said(at(3), "")), in("C3", said(at(4), at(3))), in("C4", said(at(0), "")))
		scope := func(id string) chat.Scope { return chat.Scope{Team: team, Channel: id} }
		db.remember(t, noon, scope("C1"), scope("C4"), workspace)
		db.draft(t, scope("C2"), chat.LongTerm, "draft", Cursor{})
		c := db.cursor(t, scope("C3"), noon)
		db.draft(t, scope("C3"), chat.ShortTerm, "superseded", c)
		db.save(t, MemoryUpdate{Scope: scope("C3"), Short: RenewMemory, Cursor: c, Read: noon})
		db.clock.advance(time.Minute)
		c.Count++
		db.draft(t, scope("C3"), chat.ShortTerm, "current", c)
		db.save(t, MemoryUpdate{Scope: scope("C3"), Short: RenewMemory, Cursor: c, Read: noon})

		after := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
		for _, test := range []struct {
			here   string
			active time.Time
			most   int
			want   string
			untold int
		}{
			{"", after(0), 10, "C3:current C2: C1:short memory of channel C1 C4:short memory of channel C4", 0},
			{"", time.Time{}, 10, "C3:current C2: C1:short memory of channel C1 C4:short memory of channel C4", 0},
			{"", after(1), 10, "C3:current C2: C1:short memory of channel C1", 0},
			{"", after(2), 10, "C3:current C2:", 0},
			{"", after(5), 10, "", 0},
			{"", after(0), 2, "C3:current C2: C1: C4:", 2},
			{"", after(0), 0, "C3: C2: C1: C4:", 3},
			{"C4", after(0), 2, "C3:current C2: C1: C4:short memory of channel C4", 1},
			{"C4", after(9), 0, "C4:short memory of channel C4", 0},
			{"C3", after(0), 0, "C3:current C2: C1: C4:", 2},
			{"C5", after(3), 1, "C3:current C5:", 0}, // a channel without messages
		} {
			k, err := db.Knowledge(t.Context(), team, test.here, test.active, 10, test.most)
			got := mapRows(k.Channels, func(c ChannelKnowledge) string { return c.ChannelID + ":" + c.ShortTerm })
			if err != nil || strings.Join(got, " ") != test.want || k.Untold != test.untold {
				t.Errorf("in %q since %v, %d told: %s, %d untold, %v;\nwant %s, %d", test.here, test.active, test.most, strings.Join(got, " "), k.Untold, err, test.want, test.untold)
			}
		}
		for _, test := range []struct {
			here     string
			most     int
			want     string
			unlisted int
			untold   int
		}{
			{"", 2, "C3:current C2:", 2, 0},
			{"", 1, "C3:current", 3, 0},
			{"C4", 1, "C3:current C4:short memory of channel C4", 2, 0},
			{"C2", 2, "C3:current C2:", 2, 0},
		} {
			k, err := db.Knowledge(t.Context(), team, test.here, after(0), test.most, test.most)
			got := mapRows(k.Channels, func(c ChannelKnowledge) string { return c.ChannelID + ":" + c.ShortTerm })
			if err != nil || strings.Join(got, " ") != test.want || k.Unlisted != test.unlisted || k.Untold != test.untold {
				t.Errorf("in %q of %d: %s, %d unlisted, %d untold, %v;\nwant %s, %d, %d", test.here, test.most, got, k.Unlisted, k.Untold, err, test.want, test.unlisted, test.untold)
			}
		}
		k, err := db.Knowledge(t.Context(), team, "C5", noon, 10, 1)
		if err != nil || len(k.Channels) != 5 || k.Unlisted != 0 {
			t.Fatalf("%+v, %v", k, err)
		}
		current := db.current(t, scope("C3"))
		want := ChannelKnowledge{
			ChannelMemory: chat.ChannelMemory{ChannelID: "C3", ChannelName: "three", ShortTerm: "current"},
			ShortID:       current.Short.ID, Active: after(3), // its newest message is in the same minute
		}
		if k.Channels[0] != want {
			t.Errorf("got %+v\nwant %+v", k.Channels[0], want)
		}
		if got, want := k.Channels[4], (ChannelKnowledge{ChannelMemory: chat.ChannelMemory{ChannelID: "C5", ChannelName: "five"}}); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		// Nothing comes from channels that are left out.
		if got, want := k.Channels[2], (ChannelKnowledge{ChannelMemory: chat.ChannelMemory{ChannelID: "C1", ChannelName: "one"}, Active: after(1)}); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if none, err := db.Knowledge(t.Context(), "T2", "C1", noon, 10, 10); err != nil || len(none.Channels) != 0 {
			t.Errorf("in another team: %+v, %v", none, err)
		}
	})
}

// Active follows the newest message that was ever stored, by whatever path: never later, and at
// most a minute earlier.
func TestActiveFollowsTheNewestMessage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		var before time.Time
		active := func(what string, newest int) {
			t.Helper()
			k, err := db.Knowledge(t.Context(), team, channel, noon, 0, 0)
			if err != nil || len(k.Channels) != 1 {
				t.Fatalf("%s: %+v, %v", what, k.Channels, err)
			}
			got, newestAt := k.Channels[0].Active, noon.Add(time.Duration(newest)*time.Second)
			if got.After(newestAt) || got.Before(newestAt.Add(-time.Minute)) {
				t.Errorf("%s: active at %v, want it about %v", what, got, newestAt)
			}
			if got.Before(before) {
				t.Errorf("%s: active at %v, moved back from %v", what, got, before)
			}
			before = got
		}
		gone := func(n int) chat.Message {
			m := said(at(n), "")
			m.Deleted = true
			return m
		}
		db.store(t, said(at(500), ""))
		active("before Slack was asked", 500)
		db.sync(t, Channel{ID: channel})
		active("since", 500)
		db.store(t, said(at(400), ""), in("C2", said(at(5000), "")))
		active("one came late", 500)
		db.store(t, said(at(559), ""))
		active("within the minute", 559)
		must(t, db.SaveHistory(t.Context(), []chat.Message{said(at(700), ""), said(at(800), at(700)), said(at(600), "")}))
		active("read in history", 800)
		must(t, db.MarkPosted(t.Context(), parts("r", "text")[0], said(at(900), "")))
		active("posted", 900)
		db.store(t, gone(1000))
		active("gone before it came", 900)
		must(t, db.MarkPosted(t.Context(), parts("r", "text")[0], said(at(1000), "")))
		active("gone before it was known to be posted", 900)
		db.store(t, gone(900), gone(800), gone(700), gone(600), gone(559), gone(500), gone(400))
		active("all is gone", 900)
		noErrors(t, concurrently(8, func(i int) error {
			for n := range 20 {
				m := said(at(2000+20*(19-n)+i), "")
				if _, err := db.Record(t.Context(), m, keep(m)); err != nil {
					return err
				}
			}
			return nil
		}))
		active("at once", 2000+20*19+7)
	})
}

// What the workspace remembers of a channel is only visible in that channel once it is private,
// however that became known.
func TestWorkspaceMemoriesHideClosedChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		closed := map[string]func(id string){
			"CLISTED": func(id string) {
				db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: id, Name: "secret", Private: true})
			},
			"CASKED": func(id string) {
				db.saveChannel(t, Channel{ID: id, Name: "secret", Private: true, Refreshed: db.clock.now()})
			},
			"CTOLD":  func(id string) { db.closeChannel(t, id) },
			"CEVENT": func(id string) { m := in(id, said(at(9), "")); db.record(t, m, closing(&m)) },
		}
		tell := func(here string) string {
			t.Helper()
			long, short, err := db.WorkspaceMemories(t.Context(), team, here)
			read, contextErr := db.Context(t.Context(), ContextRequest{Conversation: chat.Conversation{Team: team, Channel: here}, Named: 1})
			if err != nil || contextErr != nil || (long == nil) != (read.Long == nil) || (short == nil) != (read.Short == nil) {
				t.Fatalf("in %q: %v, %v, %v, %v, %v, %v", here, long, short, err, read.Long, read.Short, contextErr)
			}
			var told []string
			for _, m := range []*Memory{long, short} {
				if m != nil {
					told = append(told, m.Text)
				}
			}
			return strings.Join(told, " ")
		}
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "G1", Name: "always", Private: true})
		for _, id := range slices.Sorted(maps.Keys(closed)) {
			db.saveChannel(t, Channel{ID: id, Name: "public", Member: true, Refreshed: db.clock.now()})
			db.make(t, workspace, chat.LongTerm, "long", "C1/7", id+"/8")
			db.make(t, workspace, chat.ShortTerm, "short", "C1/9")
			// A channel whose id has the same prefix is another one.
			db.saveChannel(t, Channel{ID: id + "2", Name: "like it", Refreshed: db.clock.now()})
			db.closeChannel(t, id+"2")
			for _, here := range []string{"", "C1", "G1", id} {
				if got := tell(here); got != "long short" {
					t.Errorf("%s, while it is public, in %q: %q", id, here, got)
				}
			}
			db.clock.advance(time.Minute)
			closed[id](id)
			for here, want := range map[string]string{"": "short", "C1": "short", "G1": "short", id: "long short"} {
				if got := tell(here); got != want {
					t.Errorf("%s, once it is private, in %q: %q, want %q", id, here, got, want)
				}
			}
			db.clock.advance(time.Minute)
			db.saveChannel(t, Channel{ID: id, Name: "public again", Refreshed: db.clock.now()})
			if got := tell("C1"); got != "long short" {
				t.Errorf("%s, public again: %q", id, got)
			}
		}
	})
}
