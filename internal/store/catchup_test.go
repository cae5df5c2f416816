package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

func (db database) sync(t *testing.T, listed ...Channel) SyncResult {
	t.Helper()
	synced, err := db.SyncChannels(t.Context(), team, listed)
	if err != nil {
		t.Fatal(err)
	}
	return synced
}

func TestSyncChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
		must(t, db.SaveChannel(t.Context(), "T2", Channel{ID: channel, Name: "elsewhere", Member: true, Refreshed: noon}))
		must(t, errOf(db.post(t.Context(), "C4", time.Second)))
		for _, step := range []struct {
			name   string
			listed []Channel
			synced SyncResult
			want   map[string]Channel // the channels that the step is about
		}{
			{"the first listing", []Channel{
				{ID: "C1", Name: "one"}, {ID: "C2", Name: "two", Private: true}, {ID: "C3", Name: "three"}, {ID: "C1", Name: "one"}, {ID: "D1", Private: true},
			}, SyncResult{Joined: 4}, map[string]Channel{
				"C1": {ID: "C1", Name: "one", Member: true, Refreshed: hour(0), KnownSince: hour(0)},
				"C2": {ID: "C2", Name: "two", Private: true, Member: true, Refreshed: hour(0), KnownSince: hour(0)},
				"D1": {ID: "D1", Private: true, Member: true, Refreshed: hour(0), KnownSince: hour(0)},
				"C4": {ID: "C4"},
			}},
			{"the same again", []Channel{{ID: "D1", Private: true}, {ID: "C3", Name: "three"}, {ID: "C2", Name: "two", Private: true}, {ID: "C1", Name: "one"}},
				SyncResult{}, map[string]Channel{
					"C1": {ID: "C1", Name: "one", Member: true, Refreshed: hour(1), KnownSince: hour(0)},
				}},
			{"renamed, made public, archived, left, and one that was only posted to", []Channel{
				{ID: "C1", Name: "uno"}, {ID: "C2", Name: "two"}, {ID: "C3", Name: "three", Archived: true}, {ID: "C4", Name: "four"},
			}, SyncResult{Joined: 1, Left: 1, Renamed: 1, Archived: 1}, map[string]Channel{
				"C1": {ID: "C1", Name: "uno", Member: true, Refreshed: hour(2), KnownSince: hour(0)},
				"C2": {ID: "C2", Name: "two", Member: true, Refreshed: hour(2), KnownSince: hour(0)},
				"C3": {ID: "C3", Name: "three", Member: true, Archived: true, Refreshed: hour(2), KnownSince: hour(0)},
				"C4": {ID: "C4", Name: "four", Member: true, Refreshed: hour(2), KnownSince: hour(2)},
				"D1": {ID: "D1", Private: true, Refreshed: hour(1), KnownSince: hour(0)},
			}},
			{"names that Slack leaves out", []Channel{{ID: "C1"}, {ID: "C2"}, {ID: "C3", Archived: true}, {ID: "C4"}}, SyncResult{}, map[string]Channel{
				"C1": {ID: "C1", Name: "uno", Member: true, Refreshed: hour(3), KnownSince: hour(0)},
			}},
			{"nothing", nil, SyncResult{Left: 4}, map[string]Channel{
				"C1": {ID: "C1", Name: "uno", Refreshed: hour(3), KnownSince: hour(0)},
				"C3": {ID: "C3", Name: "three", Archived: true, Refreshed: hour(3), KnownSince: hour(0)},
			}},
			{"nothing again", nil, SyncResult{}, map[string]Channel{"C1": {ID: "C1", Name: "uno", Refreshed: hour(3), KnownSince: hour(0)}}},
			{"joined again", []Channel{{ID: "C1", Name: "uno"}, {ID: "C3", Name: "drei"}}, SyncResult{Joined: 2, Renamed: 1}, map[string]Channel{
				"C1": {ID: "C1", Name: "uno", Member: true, Refreshed: hour(6), KnownSince: hour(6)},
				"C3": {ID: "C3", Name: "drei", Member: true, Refreshed: hour(6), KnownSince: hour(6)},
			}},
		} {
			if got := db.sync(t, step.listed...); got != step.synced {
				t.Errorf("%s: %+v, want %+v", step.name, got, step.synced)
			}
			for id, want := range step.want {
				if got := db.channel(t, id); got != want {
					t.Errorf("%s:\ngot  %+v\nwant %+v", step.name, got, want)
				}
			}
			db.clock.advance(time.Hour)
		}
		elsewhere, err := db.Channels(t.Context(), "T2", []string{channel})
		if err != nil || !elsewhere[channel].Member || elsewhere[channel].Name != "elsewhere" {
			t.Errorf("of another team: %+v, %v", elsewhere, err)
		}
	})
}

// The catch-up marks and the pace of posts survive when the bot leaves a channel and comes back.
func TestSyncKeepsMarks(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: channel, Name: "general"})
		must(t, errOf(db.post(t.Context(), channel, time.Minute)))
		must(t, db.AdvanceCatchUp(t.Context(), team, channel, at(1), at(2), noon))
		db.sync(t)
		db.sync(t, Channel{ID: channel, Name: "general"})
		got := db.channel(t, channel)
		if got.CaughtUpTo != at(1) || got.ThreadsCaughtUpTo != at(2) || got.ThreadsRead != noon {
			t.Errorf("got %+v", got)
		}
		if wait, err := db.post(t.Context(), channel, time.Minute); err != nil || wait != time.Minute {
			t.Errorf("slot in %v, %v", wait, err)
		}
	})
}

func TestConcurrentSyncs(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		other := open(t, db.url)
		other.now = db.clock.now
		var listed []Channel
		for _, id := range []string{"C5", "C1", "C4", "C2", "C3"} {
			listed = append(listed, Channel{ID: id, Name: "name of " + id})
		}
		backwards := slices.Clone(listed)
		slices.Reverse(backwards)
		noErrors(t, concurrently(8, func(i int) (err error) {
			switch i % 4 {
			case 0:
				_, err = db.SyncChannels(t.Context(), team, listed)
			case 1:
				_, err = other.SyncChannels(t.Context(), team, backwards)
			case 2:
				err = other.SaveChannel(t.Context(), team, Channel{ID: "C3", Name: "name of C3", Member: true})
			default:
				_, err = db.post(t.Context(), "C1", time.Second)
			}
			return err
		}))
		if got := db.sync(t, listed...); got != (SyncResult{}) {
			t.Errorf("afterwards %+v is left to do", got)
		}
	})
}

// manyChannels is n channels of a listing, all with one name.
func manyChannels(n int, name string) []Channel {
	listed := make([]Channel, n)
	for i := range listed {
		listed[i] = Channel{ID: fmt.Sprintf("C%06d", i), Name: name}
	}
	return listed
}

// More channels are listed, and left, than one statement has parameters for in either database.
func TestSyncOfMoreChannelsThanOneStatementTakes(t *testing.T) {
	t.Parallel()
	db := migratedSQLite(t)
	const n = 33_000
	if got := db.sync(t, manyChannels(n, "some")...); got != (SyncResult{Joined: n}) {
		t.Errorf("listed: %+v", got)
	}
	if got := db.sync(t); got != (SyncResult{Left: n}) {
		t.Errorf("left: %+v", got)
	}
}

// A listing that repeats the one before writes nothing for an hour. Exception: private channels, so
// that an older answer cannot open them.
func TestSyncWritesOnlyChanges(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		listed := []Channel{{ID: "C1", Name: "one"}, {ID: "C2", Name: "two", Archived: true}, {ID: "D1", Private: true}}
		db.sync(t, listed...)
		db.sync(t, listed[:2]...)
		db.sync(t, listed...)
		db.clock.advance(59 * time.Minute)
		db.expectNoChannelWrites(t, func(ctx context.Context) error {
			return errOf(db.SyncChannels(ctx, team, append(listed[1:], Channel{ID: "C1"})))
		})
		db.sync(t, append(listed, Channel{ID: "C3", Private: true})...)
		db.clock.advance(time.Minute)
		asked := db.clock.now().Add(-time.Second)
		db.sync(t, append(listed, Channel{ID: "C3", Private: true})...)
		db.saveChannel(t, Channel{ID: "C3", Refreshed: asked})
		if got := db.channel(t, "C3"); !got.Private {
			t.Error("what Slack said before the listing has opened a channel")
		}
		for _, id := range []string{"C1", "C2", "D1"} {
			if got, want := db.channel(t, id).Refreshed, noon.Add(time.Hour); got != want {
				t.Errorf("%s was asked about at %v, want %v", id, got, want)
			}
		}
	})
}

// An event that arrives during a sync counts more than the listing, which is older.
func TestEventClosesChannelDuringSync(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two", Private: true})
		s := open(t, db.url)
		db.clock.advance(time.Minute)
		asked := db.clock.now()
		s.now = db.clock.now
		read := sync.OnceFunc(func() {
			db.clock.advance(time.Second)
			for _, id := range []string{"C1", "C3"} {
				db.closeChannel(t, id)
			}
			db.saveChannel(t, Channel{ID: "C2", Private: true, Member: true})
		})
		must(t, s.db.Callback().Query().After("gorm:query").Register("meanwhile", func(*gorm.DB) { read() }))
		if _, err := s.SyncChannels(t.Context(), team, []Channel{
			{ID: "C1", Name: "renamed", Refreshed: asked}, {ID: "C2", Name: "two", Refreshed: asked}, {ID: "C3", Refreshed: asked},
		}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"C1", "C2", "C3"} {
			if got := db.channel(t, id); !got.Private || !got.Member {
				t.Errorf("got %+v", got)
			}
		}
	})
}

// A listing takes minutes if there are many channels. What Slack has said since it began stays, and
// what Slack answers later counts again.
func TestListingOlderThanAnInvitation(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C3", Name: "three"})
		began := noon.Add(10 * time.Minute)
		db.clock.advance(11 * time.Minute)
		invited, renamed := began.Add(10*time.Second), began.Add(20*time.Second)
		db.saveChannel(t, Channel{ID: "C2", Name: "two", Member: true, Refreshed: invited})
		db.saveChannel(t, Channel{ID: "C3", Name: "iii", Refreshed: renamed}) // and was left
		if got := db.sync(t, Channel{ID: "C1", Name: "one", Refreshed: began}, Channel{ID: "C3", Name: "three", Refreshed: began}); got != (SyncResult{}) {
			t.Errorf("taken in: %+v", got)
		}
		if c := db.channel(t, "C2"); !c.Member || !c.KnownSince.Equal(invited) {
			t.Errorf("invited meanwhile: %+v", c)
		}
		if c := db.channel(t, "C3"); c.Member || c.Name != "iii" || !c.Refreshed.Equal(renamed) {
			t.Errorf("left meanwhile: %+v", c)
		}

		db.clock.advance(9 * time.Minute)
		if got := db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"}); got != (SyncResult{}) {
			t.Errorf("the next: %+v", got)
		}
		if c := db.channel(t, "C2"); !c.Member || !c.KnownSince.Equal(invited) {
			t.Errorf("what was said there since the invitation would not be answered: %+v", c)
		}
		if got := db.sync(t, Channel{ID: "C1", Name: "one"}); got != (SyncResult{Left: 1}) {
			t.Errorf("left: %+v", got)
		}
	})
}

// A writer of a channel waits only for the chunk that the channel is in.
func TestSyncLocksOneChunk(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	const n = syncChunkSize + 1
	db.sync(t, manyChannels(n, "some")...)
	tx := db.db.WithContext(t.Context()).Begin()
	defer tx.Rollback()
	must(t, tx.Exec("SELECT 1 FROM channels WHERE channel_id = ? FOR UPDATE", fmt.Sprintf("C%06d", n-1)).Error)
	done := make(chan error, 1)
	go func() {
		_, err := db.SyncChannels(t.Context(), team, manyChannels(n, "others"))
		done <- err
	}()
	for end := time.Now().Add(patience); db.count(t, "channels", "name = 'others'") < syncChunkSize; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the others wait for a channel that is held")
		}
	}
	must(t, tx.Rollback().Error)
	if err := <-done; err != nil {
		t.Error(err)
	}
	db.wantRows(t, n, "channels", "name = 'others'")
}

// recordIn records a message in a channel.
func recordIn(t *testing.T, tx *gorm.DB, id string) {
	t.Helper()
	must(t, saveChannelUpdates(tx, []channelUpdate{{TeamID: team, ChannelID: id, ActiveUS: micros(noon)}}))
}

// syncDuringRecord syncs a listing with s while tx records two messages: one in C1 before, and one
// in C2 while the listing waits for tx. Neither may fail.
func (db database) syncDuringRecord(t *testing.T, s *Store, tx *gorm.DB, listed ...Channel) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := s.SyncChannels(t.Context(), team, listed)
		done <- err
	}()
	db.awaitLockWait(t)
	recordIn(t, tx, "C2")
	must(t, tx.Commit().Error)
	must(t, <-done)
	for _, want := range listed {
		if c := db.channel(t, want.ID); c.Name != want.Name || !c.Member {
			t.Errorf("%+v", c)
		}
	}
}

// Messages of a new and of a known channel are recorded while both channels are listed.
func TestSyncAndMessagesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	db.sync(t, Channel{ID: "C2", Name: "known"})
	tx := db.db.WithContext(t.Context()).Begin()
	defer tx.Rollback()
	recordIn(t, tx, "C1")
	db.syncDuringRecord(t, db.Store, tx, Channel{ID: "C1", Name: "new"}, Channel{ID: "C2", Name: "renamed"})
}

// The same, if messages have just inserted the row of one new channel and insert that of another.
func TestSyncAndMessagesOfNewChannelsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	tx := db.db.WithContext(t.Context()).Begin()
	defer tx.Rollback()
	s := open(t, db.url)
	s.now = db.clock.now
	looked := sync.OnceFunc(func() { // neither channel was known
		recordIn(t, db.db, "C2")
		recordIn(t, tx, "C1")
	})
	must(t, s.db.Callback().Query().After("gorm:query").Register("meanwhile", func(*gorm.DB) { looked() }))
	db.syncDuringRecord(t, s, tx, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"})
}

// refreshed_us is written often, so no index may contain it.
func TestNoIndexOnRefreshed(t *testing.T) {
	t.Parallel()
	db := migratedPostgres(t)
	db.sync(t, manyChannels(10, "some")...)
	err := db.db.Transaction(func(tx *gorm.DB) error {
		var hot [2]int
		count := func(into *int) error {
			return tx.Raw("SELECT pg_stat_get_xact_tuples_hot_updated('channels'::regclass)").Scan(into).Error
		}
		err := errors.Join(count(&hot[0]), tx.Exec("UPDATE channels SET refreshed_us = refreshed_us + 1").Error, count(&hot[1]))
		if got := hot[1] - hot[0]; got != 10 {
			t.Errorf("%d of 10 rows are written without their indexes", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnjoinedChannels(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		must(t, db.SaveChannel(t.Context(), "T2", Channel{ID: "C9", Refreshed: noon}))
		if _, err := db.post(t.Context(), "C8", time.Second); err != nil { // Slack was never asked about it
			t.Fatal(err)
		}
		all := []Channel{{ID: "C1"}, {ID: "C2"}, {ID: "C3", Archived: true}, {ID: "C4", Private: true}, {ID: "C5"}, {ID: "D1", Private: true}}
		db.sync(t, all...)
		db.sync(t, Channel{ID: "C1"})
		db.saveChannel(t, Channel{ID: "C2", Refreshed: noon.Add(2 * time.Minute)})
		db.saveChannel(t, Channel{ID: "C6", Refreshed: noon.Add(time.Minute)}) // the bot was never in it
		want := func(after time.Duration, limit int, want ...string) {
			t.Helper()
			if got, err := db.UnjoinedChannels(t.Context(), team, noon.Add(after), limit); err != nil || !slices.Equal(got, want) {
				t.Errorf("asked before %v: %q, %v; want %q", after, got, err, want)
			}
		}
		want(time.Hour, 5, "C3", "C5", "C6", "C2")
		want(time.Hour, 3, "C3", "C5", "C6")
		want(2*time.Minute, 5, "C3", "C5", "C6")
		want(0, 5)
		db.closeChannel(t, "C5")
		want(time.Hour, 5, "C3", "C6", "C2")
		db.sync(t, all...)
		want(time.Hour, 5, "C6")
	})
}

func TestMemberships(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2"}, Channel{ID: "C3", Archived: true}, Channel{ID: "C4"}, Channel{ID: "C5"}, Channel{ID: "D1", Private: true})
		db.sync(t, Channel{ID: "C1"}, Channel{ID: "C2"}, Channel{ID: "C3", Archived: true}, Channel{ID: "C4"}, Channel{ID: "D1", Private: true})
		gone := in("C1", said(at(60), ""))
		gone.Deleted = true
		db.store(t, in("C1", said(at(1), "")), gone, in("C2", said(at(3), "")), in("D1", said(at(2), "")), in("C3", said(at(4), "")), in("C5", said(at(5), "")), in("C9", said(at(6), "")))
		got, err := db.Memberships(t.Context(), team)
		ids := mapRows(got, func(c Channel) string { return c.ID })
		if want := "C2 D1 C1 C4"; err != nil || strings.Join(ids, " ") != want {
			t.Errorf("got %v, %v; want %s", ids, err, want)
		}
		if got[1] != db.channel(t, "D1") {
			t.Errorf("got %+v", got[1])
		}
	})
}

func TestAdvanceCatchUpNeverMovesBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: channel}, Channel{ID: "C2"})
		later := noon.Add(time.Minute)
		for _, step := range []struct {
			to, threadsTo string
			read          time.Time
			want          [2]string
			wantRead      time.Time
		}{
			{"", "", time.Time{}, [2]string{}, time.Time{}},
			{at(2), "", time.Time{}, [2]string{at(2), ""}, time.Time{}},
			{at(1), at(5), later, [2]string{at(2), at(5)}, later},
			{"", at(4), noon, [2]string{at(2), at(5)}, later},
			{at(3), at(6), later.Add(time.Second), [2]string{at(3), at(6)}, later.Add(time.Second)},
			{"", "", time.Time{}, [2]string{at(3), at(6)}, later.Add(time.Second)},
		} {
			must(t, db.AdvanceCatchUp(t.Context(), team, channel, step.to, step.threadsTo, step.read))
			got := db.channel(t, channel)
			if got.CaughtUpTo != step.want[0] || got.ThreadsCaughtUpTo != step.want[1] || got.ThreadsRead != step.wantRead {
				t.Errorf("after %+v: %+v", step, got)
			}
		}
		if got := db.channel(t, "C2"); got.CaughtUpTo != "" || got.ThreadsCaughtUpTo != "" || !got.ThreadsRead.IsZero() {
			t.Errorf("another channel: %+v", got)
		}
		if err := db.AdvanceCatchUp(t.Context(), team, "C9", at(1), "", noon); !errors.Is(err, ErrNotFound) {
			t.Errorf("of an unknown channel: %v, want ErrNotFound", err)
		}
	})
}

func TestUnhandled(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		var read []chat.Message
		for _, n := range []int{9, 3, 5, 1, 7, 4} {
			read = append(read, said(at(n), ""))
		}
		read[1].ThreadTS = at(1)
		db.store(t, said(at(2), ""))
		must(t, db.SaveHistory(t.Context(), read))
		must(t, db.SaveHistory(t.Context(), []chat.Message{in("C2", said(at(6), ""))}))
		unhandled := func(since int, after string, limit int) string {
			t.Helper()
			got, err := db.Unhandled(t.Context(), team, channel, noon.Add(time.Duration(since)*time.Second), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			return seconds(got)
		}
		for _, test := range []struct {
			since int
			after string
			limit int
			want  string
		}{
			{0, "", 10, "01 03 04 05 07 09 "},
			{3, "", 10, "03 04 05 07 09 "},
			{0, "", 2, "01 03 "},
			{0, at(3), 2, "04 05 "},
			{0, at(5), 2, "07 09 "},
			{0, at(9), 2, ""},
			{6, at(3), 2, "07 09 "},
			{0, at(6), 1, "07 "},
		} {
			if got := unhandled(test.since, test.after, test.limit); got != test.want {
				t.Errorf("since %d, after %q, at most %d: %s, want %s", test.since, test.after, test.limit, got, test.want)
			}
		}
		// An event or a deletion removes a message; reading history again does not bring it back.
		gone := said(at(4), "")
		gone.Deleted = true
		db.store(t, said(at(3), at(1)), gone)
		must(t, db.SaveHistory(t.Context(), read))
		if got, want := unhandled(0, "", 10), "01 05 07 09 "; got != want {
			t.Errorf("after their events: %s, want %s", got, want)
		}
	})
}

func TestActiveThreads(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		gone := said(at(50), at(3))
		gone.Deleted = true
		db.store(t, said(at(1), ""), said(at(2), ""), said(at(3), ""), said(at(10), at(1)), said(at(11), at(2)), said(at(12), at(1)), said(at(20), at(3)), gone,
			said(at(30), ""), in("C2", said(at(40), at(4))))
		for since, want := range map[int]string{0: "03 01 02 ", 11: "03 01 02 ", 12: "03 01 ", 13: "03 ", 21: ""} {
			threads, err := db.ActiveThreads(t.Context(), team, channel, noon.Add(time.Duration(since)*time.Second))
			var parents []chat.Message
			for _, ts := range threads {
				parents = append(parents, chat.Message{TS: ts})
			}
			if got := seconds(parents); err != nil || got != want {
				t.Errorf("since %d: %s, %v; want %s", since, got, err, want)
			}
		}
	})
}
