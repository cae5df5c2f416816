package store

import (
	"reflect"
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
	if err := db.SaveChannel(t.Context(), team, c); err != nil {
		t.Fatal(err)
	}
}

// in is a message of a channel.
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
			if wait, err := db.Slot(t.Context(), team, channel, time.Minute); err != nil || wait != want {
				t.Errorf("slot in %v, %v; want %v", wait, err, want)
			}
		}
		// A channel that is only posted to has no name that anybody told.
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

func TestSaveChannelLeavesWhatItIsNotTold(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.saveChannel(t, Channel{ID: channel, Name: "general", Refreshed: noon})
		if err := db.CaughtUp(t.Context(), team, channel, at(1), at(2), noon); err != nil {
			t.Fatal(err)
		}
		db.saveChannel(t, Channel{ID: channel, Member: true, KnownSince: noon.Add(time.Hour), CaughtUpTo: at(9), Refreshed: noon.Add(time.Hour)})
		want := Channel{
			ID: channel, Name: "general", Member: true, Refreshed: noon.Add(time.Hour), KnownSince: noon,
			CaughtUpTo: at(1), ThreadsCaughtUpTo: at(2), ThreadsRead: noon,
		}
		if got := db.channel(t, channel); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		// Whoever does not say when Slack was asked has asked now.
		db.saveChannel(t, Channel{ID: "C2"})
		if got := db.channel(t, "C2"); got.Refreshed != noon || got.KnownSince != noon {
			t.Errorf("got %+v", got)
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
				// Posted to, and spoken in before Slack was asked; what is only read in its history says nothing.
				if _, err := db.Slot(t.Context(), team, channel, time.Second); err != nil {
					t.Fatal(err)
				}
				if err := db.Remember(t.Context(), []chat.Message{said(at(2), "")}); err != nil {
					t.Fatal(err)
				}
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
