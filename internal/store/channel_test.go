package store

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

func (db database) channel(t *testing.T, id string) Channel {
	t.Helper()
	got, err := db.Channels(t.Context(), team, []string{id})
	if err != nil {
		t.Fatal(err)
	}
	return got[id]
}

func (db database) saveChannel(t *testing.T, c Channel) {
	t.Helper()
	must(t, db.SaveChannel(t.Context(), team, c))
}

func (db database) closeChannel(t *testing.T, id string) {
	t.Helper()
	must(t, db.CloseChannel(t.Context(), team, id))
}

// in puts a message in a channel.
func in(channel string, m chat.Message) chat.Message {
	m.Channel = channel
	return m
}

func TestChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		get := func() map[string]Channel {
			t.Helper()
			got, err := db.Channels(t.Context(), team, []string{channel, "C2"})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := get(); len(got) != 0 {
			t.Errorf("of an empty database: %v", got)
		}
		slot := func(want time.Duration) {
			t.Helper()
			if wait, err := db.post(t.Context(), channel, time.Minute); err != nil || wait != want {
				t.Errorf("slot in %v, %v; want %v", wait, err, want)
			}
		}
		// A channel with posts only has no name.
		slot(0)
		if got, want := get(), map[string]Channel{channel: {ID: channel}}; !reflect.DeepEqual(got, want) {
			t.Errorf("after a slot: %+v, want %+v", got, want)
		}
		for _, c := range []Channel{
			{ID: channel, Name: "secret", Private: true, Member: true, Refreshed: noon},
			{ID: channel, Name: "general", Archived: true, Refreshed: noon.Add(time.Hour)},
		} {
			db.saveChannel(t, c)
			c.KnownSince = noon
			if got := get(); !reflect.DeepEqual(got, map[string]Channel{channel: c}) {
				t.Errorf("saved %+v, got %+v", c, got)
			}
		}
		slot(time.Minute)
		if got, err := db.Channels(t.Context(), team, nil); err != nil || len(got) != 0 {
			t.Errorf("of no ids: %v, %v", got, err)
		}
	})
}

func TestSaveChannelKeepsTheRest(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.saveChannel(t, Channel{ID: channel, Name: "general", Refreshed: noon})
		must(t, db.AdvanceCatchUp(t.Context(), team, channel, at(1), at(2), noon))
		db.saveChannel(t, Channel{ID: channel, Member: true, KnownSince: noon.Add(time.Hour), CaughtUpTo: at(9), Refreshed: noon.Add(time.Hour)})
		want := Channel{
			ID: channel, Name: "general", Member: true, Refreshed: noon.Add(time.Hour), KnownSince: noon,
			CaughtUpTo: at(1), ThreadsCaughtUpTo: at(2), ThreadsRead: noon,
		}
		if got := db.channel(t, channel); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		// Without a time, Slack was asked just now.
		db.saveChannel(t, Channel{ID: "C2"})
		if got := db.channel(t, "C2"); got.Refreshed != noon || got.KnownSince != noon {
			t.Errorf("got %+v", got)
		}
	})
}

// Of two answers the one asked for later counts, in whatever order they arrive. No answer opens a
// channel. A time in the future comes from a wrong clock and does not count as later.
func TestLateAnswer(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
		db.clock.advance(5 * time.Minute)
		db.saveChannel(t, Channel{ID: "C1", Name: "renamed", Member: true, Refreshed: minute(2)})
		db.saveChannel(t, Channel{ID: "C1", Name: "old", Archived: true, Refreshed: minute(1)})
		if c := db.channel(t, "C1"); c.Name != "renamed" || !c.Member || c.Archived || c.Private || !c.Refreshed.Equal(minute(2)) {
			t.Errorf("got %+v", c)
		}
		db.saveChannel(t, Channel{ID: "C1", Private: true, Refreshed: minute(1)})
		if c := db.channel(t, "C1"); !c.Member || !c.Private {
			t.Errorf("closed late: %+v", c)
		}
		db.saveChannel(t, Channel{ID: "C2", Name: "two", Member: true, Refreshed: minute(60)})
		db.saveChannel(t, Channel{ID: "C2", Name: "ii", Refreshed: minute(4)})
		if c := db.channel(t, "C2"); c.Name != "ii" || c.Member || !c.Refreshed.Equal(minute(4)) {
			t.Errorf("after a clock that was wrong: %+v", c)
		}
	})
}

func TestKnownSince(t *testing.T) {
	hour := noon.Add(time.Hour)
	for name, test := range map[string]struct {
		save func(t *testing.T, db database, c Channel)
	}{
		"SaveChannel":  {func(t *testing.T, db database, c Channel) { c.Member = true; db.saveChannel(t, c) }},
		"SyncChannels": {func(t *testing.T, db database, c Channel) { db.sync(t, c) }},
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, db database) {
				gone := said(at(1), "")
				gone.Deleted = true
				db.store(t, gone, said(at(6), ""), said(at(5), ""), in("C2", said(at(3), "")))
				// Posts, and messages from before Slack was asked; messages that were only read from history do not
				// count.
				must(t, errOf(db.post(t.Context(), channel, time.Second)))
				must(t, db.SaveHistory(t.Context(), []chat.Message{said(at(2), "")}))
				test.save(t, db, Channel{ID: channel, Refreshed: hour})
				if got, want := db.channel(t, channel).KnownSince, noon.Add(5*time.Second); got != want {
					t.Errorf("known since %v, want its first message: %v", got, want)
				}
				db.store(t, said(at(4), ""))
				test.save(t, db, Channel{ID: channel, Refreshed: hour.Add(time.Hour)})
				if got, want := db.channel(t, channel).KnownSince, noon.Add(5*time.Second); got != want {
					t.Errorf("known since %v when it is asked about again, want %v", got, want)
				}
				db.store(t, in("C3", said(at(7200), "")))
				test.save(t, db, Channel{ID: "C3", Refreshed: hour})
				if got := db.channel(t, "C3").KnownSince; got != hour {
					t.Errorf("known since %v, want %v: its messages are younger", got, hour)
				}
			})
		})
	}
}

func TestDirectMessagesAreKnownAsLongAsAnyChannel(t *testing.T) {
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	for name, save := range map[string]func(t *testing.T, db database, known []Channel, c Channel){
		"SaveChannel":  func(t *testing.T, db database, _ []Channel, c Channel) { c.Member = true; db.saveChannel(t, c) },
		"SyncChannels": func(t *testing.T, db database, known []Channel, c Channel) { db.sync(t, append(known, c)...) },
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, db database) {
				since := func(id string, want time.Time) {
					t.Helper()
					if got := db.channel(t, id).KnownSince; got != want {
						t.Errorf("%s is known since %v, want %v", id, got, want)
					}
				}
				must(t, errOf(db.SyncChannels(t.Context(), "T2", []Channel{{ID: "C9", Refreshed: hour(-9)}})))
				if _, err := db.post(t.Context(), "D5", time.Second); err != nil { // Slack was never asked about it
					t.Fatal(err)
				}
				save(t, db, nil, Channel{ID: "D1", Private: true, Refreshed: hour(1)})
				since("D1", hour(1))
				known := []Channel{{ID: "D1", Private: true}, {ID: "C1"}, {ID: "C2"}}
				db.clock.advance(2 * time.Hour)
				db.sync(t, known...)
				since("C1", hour(2))
				save(t, db, known, Channel{ID: "D2", Private: true, Refreshed: hour(3)})
				since("D2", hour(1))
				save(t, db, known, Channel{ID: "C3", Refreshed: hour(3)})
				since("C3", hour(3))
				save(t, db, known, Channel{ID: "D5", Private: true, Refreshed: hour(3)})
				since("D5", hour(1))
				// Messages from before the workspace was known still count.
				db.store(t, in("D3", said(at(5), "")))
				save(t, db, known, Channel{ID: "D3", Private: true, Refreshed: hour(3)})
				since("D3", chat.Time(at(5)))
				since("D1", hour(1))
				since("C1", hour(2))
			})
		})
	}
}

// The first listing of all makes nothing known that was said before. A channel that is joined again
// in the same listing does not hide how long others were known.
func TestDirectMessagesOfOneListing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "D1", Private: true})
		if got := db.channel(t, "D1").KnownSince; got != noon {
			t.Errorf("listed first, known since %v", got)
		}
		db.sync(t)
		db.clock.advance(time.Hour)
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "D1", Private: true}, Channel{ID: "D2", Private: true})
		if got := db.channel(t, "D2").KnownSince; got != noon {
			t.Errorf("listed with those that are joined again, known since %v, want %v", got, noon)
		}
	})
}

// closing decides on an event with which Slack says that the channel is private.
func closing(m *chat.Message) func(Known) Entry {
	return func(Known) Entry { return Entry{Message: m, Handled: m != nil, Private: true} }
}

func TestEventClosesItsChannel(t *testing.T) {
	gone := said(at(2), "")
	gone.Deleted = true
	message := said(at(1), "")
	record := func(about chat.Message, m *chat.Message) func(*testing.T, database) {
		return func(t *testing.T, db database) { db.record(t, about, closing(m)) }
	}
	for name, shut := range map[string]func(*testing.T, database){
		"a message": record(message, &message), "a deletion": record(gone, &gone), "nothing new": record(said(at(9), ""), nil),
		"no message": func(t *testing.T, db database) { db.closeChannel(t, channel) },
	} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, db database) {
				db.sync(t, Channel{ID: channel, Name: "lounge"}, Channel{ID: "C2", Name: "another"})
				must(t, errOf(db.SyncChannels(t.Context(), "T2", []Channel{{ID: channel}})))
				seen := func(when, from string, want bool) {
					t.Helper()
					k, err := db.Knowledge(t.Context(), team, from, time.Time{}, 10, 10)
					if err != nil {
						t.Fatal(err)
					}
					told := slices.ContainsFunc(k.Channels, func(c ChannelKnowledge) bool { return c.ChannelID == channel && c.ShortTerm != "" })
					names, err := db.Names(t.Context(), team, from, nil, []string{channel})
					if err != nil || told != want || (names.Channels[channel] != "") != want {
						t.Errorf("%s: from %q its memory is visible %v, its name %q, %v; want %v", when, from, told, names.Channels[channel], err, want)
					}
				}
				db.store(t, said(at(0), ""))
				db.remember(t, noon, theChannel)
				seen("public", "C2", true)
				db.clock.advance(time.Minute)
				shut(t, db)
				for from, want := range map[string]bool{"": false, "C2": false, channel: true} {
					seen("made private", from, want)
				}
				if got := db.cursor(t, workspace, time.Time{}).Count; got != 0 {
					t.Errorf("the workspace is made of %d memories of it", got)
				}
				db.wantRows(t, 1, "channels", "private")
				// Neither an event nor an older answer opens it; a new answer does.
				db.store(t, said(at(3), ""))
				seen("an event that does not tell", "C2", false)
				db.sync(t, Channel{ID: channel, Refreshed: noon.Add(59 * time.Second)}, Channel{ID: "C2"})
				db.saveChannel(t, Channel{ID: channel, Member: true, Refreshed: noon.Add(59 * time.Second)})
				seen("listed before", "C2", false)
				db.sync(t, Channel{ID: channel, Private: true, Refreshed: noon.Add(3 * time.Minute)}, Channel{ID: "C2"})
				db.saveChannel(t, Channel{ID: channel, Member: true, Refreshed: noon.Add(2 * time.Minute)})
				seen("two listings in disorder", "C2", false)
				db.saveChannel(t, Channel{ID: channel, Member: true, Refreshed: noon.Add(4 * time.Minute)})
				seen("made public", "C2", true)
			})
		})
	}
}

// A channel known only from events stays private when a listing arrives later.
func TestEventClosesUnlistedChannel(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		db.record(t, m, closing(&m))
		db.closeChannel(t, "C2")
		for _, id := range []string{channel, "C2"} {
			for _, refreshed := range []time.Duration{-time.Second, time.Second} {
				db.saveChannel(t, Channel{ID: id, Refreshed: noon.Add(refreshed)})
				if got, want := db.channel(t, id).Private, refreshed < 0; got != want {
					t.Errorf("%s, described %v after the event, is private: %v", id, refreshed, got)
				}
			}
		}
	})
}

// Writers of a busy channel's row wait for each other, so most messages only read it.
func TestMostMessagesOnlyReadTheChannel(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		first := said(at(0), "")
		db.record(t, first, closing(&first))
		db.sync(t, Channel{ID: channel, Private: true})
		db.expectNoChannelWrites(t, func(ctx context.Context) error {
			for n, decide := range []func(chat.Message) func(Known) Entry{
				func(m chat.Message) func(Known) Entry { return keep(m) },
				func(m chat.Message) func(Known) Entry { return closing(&m) },
				func(chat.Message) func(Known) Entry { return closing(nil) },
			} {
				m := said(at(10+n), "")
				if _, err := db.Record(ctx, m, decide(m)); err != nil {
					return err
				}
			}
			if err := db.CloseChannel(ctx, team, channel); err != nil {
				return err
			}
			gone := said(at(300), "")
			gone.Deleted = true
			if _, err := db.Record(ctx, gone, keep(gone)); err != nil {
				return err
			}
			if err := db.SaveHistory(ctx, []chat.Message{said(at(20), ""), said(at(59), at(1))}); err != nil {
				return err
			}
			return db.MarkPosted(ctx, parts("r", "text")[0], said(at(30), ""))
		})
		db.store(t, said(at(60), ""))
		db.wantRows(t, 1, "channels", "active_us = ?", micros(chat.Time(at(60)))) // a minute later its row is written
	})
}

// expectNoChannelWrites checks that run neither writes the rows of channels nor waits for them.
func (db database) expectNoChannelWrites(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if db.sqlite == "" {
		tx := db.db.WithContext(ctx).Begin()
		defer tx.Rollback()
		must(t, tx.Exec("SELECT 1 FROM channels FOR UPDATE").Error)
	} else {
		for _, event := range []string{"INSERT", "UPDATE"} {
			db.exec(t, "CREATE TRIGGER refuse_"+event+" BEFORE "+event+" ON channels BEGIN SELECT RAISE(ABORT, 'written'); END")
		}
		defer func() {
			for _, event := range []string{"INSERT", "UPDATE"} {
				if err := db.db.Exec("DROP TRIGGER refuse_" + event).Error; err != nil {
					t.Error(err)
				}
			}
		}()
	}
	if err := run(ctx); err != nil {
		t.Errorf("a channel is written: %v", err)
	}
}
