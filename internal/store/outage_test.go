package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/testserver"
)

// calls is every call that reaches the database.
func calls(s *Store) map[string]func(context.Context) error {
	m := said(at(1), "")
	c := of(m)
	return map[string]func(context.Context) error{
		"Ping":        s.Ping,
		"Writable":    s.Writable,
		"CheckSchema": s.CheckSchema,
		"Migrate":     func(ctx context.Context) error { _, err := s.Migrate(ctx); return err },
		"Record": func(ctx context.Context) error {
			_, err := s.Record(ctx, m, keep(m, conversation.Said))
			return err
		},
		"ApplyOrder": func(ctx context.Context) error {
			return s.ApplyOrder(ctx, Order{ID: "o", Scope: theChannel, Kind: "mute", Until: noon})
		},
		"Message":        func(ctx context.Context) error { _, err := s.Message(ctx, team, channel, m.TS); return err },
		"Context":        func(ctx context.Context) error { _, err := s.Context(ctx, ContextRequest{Conversation: c}); return err },
		"CallSummaries":  func(ctx context.Context) error { _, err := s.CallSummaries(ctx, "k", "judgment"); return err },
		"CheckCalls":     s.CheckCalls,
		"Facts":          func(ctx context.Context) error { _, err := s.Facts(ctx, FactsRequest{Conversation: c}); return err },
		"Tail":           func(ctx context.Context) error { _, err := s.Tail(ctx, c, 5); return err },
		"Claim":          func(ctx context.Context) error { _, err := s.Claim(ctx, c.ID(), "a", noon, 5); return err },
		"Release":        func(ctx context.Context) error { _, err := s.Release(ctx, c.ID(), "a"); return err },
		"PendingChanges": func(ctx context.Context) error { _, err := s.PendingChanges(ctx, c.ID(), 5); return err },
		"MarkRelayed":    func(ctx context.Context) error { return s.MarkRelayed(ctx, []int64{1}) },
		"Backlog":        func(ctx context.Context) error { _, err := s.Backlog(ctx, 5); return err },
		"BacklogSize":    func(ctx context.Context) error { _, _, err := s.BacklogSize(ctx); return err },
		"Compose":        func(ctx context.Context) error { return s.Compose(ctx, parts("r", "text"), Decision{Key: "k"}) },
		"Parts":          func(ctx context.Context) error { _, err := s.Parts(ctx, "r"); return err },
		"BeginSend":      func(ctx context.Context) error { _, err := s.BeginSend(ctx, parts("r", "text")[0], 1, 1); return err },
		"BeginReply":     func(ctx context.Context) error { _, err := s.BeginReply(ctx, "r", 1, 1); return err },
		"EndSend":        func(ctx context.Context) error { return s.EndSend(ctx, Part{Key: "r/0"}, Failed, time.Time{}, "") },
		"MarkPosted":     func(ctx context.Context) error { return s.MarkPosted(ctx, parts("r", "text")[0], m) },
		"MarkReplied":    func(ctx context.Context) error { _, err := s.MarkReplied(ctx, parts("r", "text")[0], m); return err },
		"Decide":         func(ctx context.Context) error { return s.Decide(ctx, Decision{Key: "k"}) },
		"Settle":         func(ctx context.Context) error { return s.Settle(ctx, "k", "posted", "") },
		"SaveSnapshot": func(ctx context.Context) error {
			return s.SaveSnapshot(ctx, Snapshot{Decision: "k", Team: team, Data: []byte{0}})
		},
		"LeaseSnapshot": func(ctx context.Context) error {
			_, err := s.LeaseSnapshot(ctx, "a", time.Minute)
			return err
		},
		"SaveOpinion": func(ctx context.Context) error {
			_, err := s.SaveOpinion(ctx, Opinion{Decision: "k"})
			return err
		},
		"SilencedUntil": func(ctx context.Context) error { _, err := s.SilencedUntil(ctx, c); return err },
		"Users":         func(ctx context.Context) error { _, err := s.Users(ctx, team, []string{"U1"}); return err },
		"SaveUsers":     func(ctx context.Context) error { return s.SaveUsers(ctx, team, User{ID: "U1"}) },
		"Channels":      func(ctx context.Context) error { _, err := s.Channels(ctx, team, []string{channel}); return err },
		"SaveChannel":   func(ctx context.Context) error { return s.SaveChannel(ctx, team, Channel{ID: channel}) },
		"MoveChannel": func(ctx context.Context) error {
			return s.MoveChannel(ctx, Move{Team: team, From: channel, To: "C2", Mute: noon.AddDate(100, 0, 0)})
		},
		"LatestSilenceOrder": func(ctx context.Context) error { _, err := s.LatestSilenceOrder(ctx, c); return err },
		"MovedTo":            func(ctx context.Context) error { _, err := s.MovedTo(ctx, []string{channel}); return err },
		"CloseChannel":       func(ctx context.Context) error { return s.CloseChannel(ctx, team, channel) },
		"Names": func(ctx context.Context) error {
			_, err := s.Names(ctx, team, channel, []string{"U1"}, []string{channel})
			return err
		},
		"SyncChannels": func(ctx context.Context) error {
			_, err := s.SyncChannels(ctx, team, []Channel{{ID: channel}})
			return err
		},
		"Memberships":      func(ctx context.Context) error { _, err := s.Memberships(ctx, team); return err },
		"UnjoinedChannels": func(ctx context.Context) error { _, err := s.UnjoinedChannels(ctx, team, noon, 5); return err },
		"AdvanceCatchUp":   func(ctx context.Context) error { return s.AdvanceCatchUp(ctx, team, channel, m.TS, "", noon) },
		"Gaps":             func(ctx context.Context) error { _, err := s.Gaps(ctx, team); return err },
		"NewestGap":        func(ctx context.Context) error { _, err := s.NewestGap(ctx); return err },
		"OpenGap":          func(ctx context.Context) error { return s.OpenGap(ctx) },
		"CloseGap":         func(ctx context.Context) error { return s.CloseGap(ctx, team) },
		"UnreadChannels":   func(ctx context.Context) error { _, _, err := s.UnreadChannels(ctx, team, 1, nil, 5); return err },
		"MarkRead":         func(ctx context.Context) error { return s.MarkRead(ctx, team, channel, 1) },
		"Starters":         func(ctx context.Context) error { _, err := s.Starters(ctx); return err },
		"SaveStarter":      func(ctx context.Context) error { return s.SaveStarter(ctx, Starter{ID: "s"}) },
		"RemoveStarter":    func(ctx context.Context) error { return s.RemoveStarter(ctx, "s") },
		"SaveHistory":      func(ctx context.Context) error { return s.SaveHistory(ctx, []chat.Message{said(at(3), "")}) },
		"Unhandled":        func(ctx context.Context) error { _, err := s.Unhandled(ctx, team, channel, noon, "", 5); return err },
		"ActiveThreads":    func(ctx context.Context) error { _, err := s.ActiveThreads(ctx, team, channel, noon); return err },
		"MessagesByTS": func(ctx context.Context) error {
			_, err := s.MessagesByTS(ctx, team, channel, []string{m.TS})
			return err
		},
		"ChangesAndDecisions": func(ctx context.Context) error {
			_, _, err := s.ChangesAndDecisions(ctx, []string{c.ID()}, m.TS)
			return err
		},
		"ChangedThreads": func(ctx context.Context) error {
			_, err := s.ChangedThreads(ctx, team, noon, noon, chat.Scope{}, 5)
			return err
		},
		"ChangedChannels": func(ctx context.Context) error {
			_, err := s.ChangedChannels(ctx, team, noon, chat.Scope{}, 5)
			return err
		},
		"CurrentCursor": func(ctx context.Context) error { _, err := s.CurrentCursor(ctx, theChannel, noon); return err },
		"CurrentMemory": func(ctx context.Context) error { _, err := s.CurrentMemory(ctx, theChannel); return err },
		"ChannelMemoryInput": func(ctx context.Context) error {
			_, _, err := s.ChannelMemoryInput(ctx, team, channel, noon, 5)
			return err
		},
		"Draft": func(ctx context.Context) error { _, err := s.Draft(ctx, aThread, chat.ShortTerm, Cursor{}); return err },
		"SaveDraft": func(ctx context.Context) error {
			return s.SaveDraft(ctx, Memory{Scope: aThread, Text: "text"}, Cursor{})
		},
		"SaveMemories": func(ctx context.Context) error {
			return s.SaveMemories(ctx, MemoryUpdate{Scope: aThread, Short: ClearMemory})
		},
		"MemoryVersions": func(ctx context.Context) error {
			_, err := s.MemoryVersions(ctx, theChannel, chat.ShortTerm, 5)
			return err
		},
		"WorkspaceMemories": func(ctx context.Context) error { _, _, err := s.WorkspaceMemories(ctx, team, channel); return err },
		"Knowledge":         func(ctx context.Context) error { _, err := s.Knowledge(ctx, team, channel, noon, 5, 5); return err },
		"SpentByChannel":    func(ctx context.Context) error { _, err := s.SpentByChannel(ctx, team, noon); return err },
	}
}

func TestClosedDatabaseIsAnError(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		s := open(t, db.url)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(s) {
			if (name == "BeginReply" || name == "CheckSchema") && db.sqlite != "" {
				continue // not used with SQLite
			}
			if err := within(t, patience, name, call); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestPostgresGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	direct := migratedPostgres(t)
	p := testserver.NewProxy(t, direct.url)
	db := migrated(t, p.URL)
	m := said(at(1), "")
	db.record(t, m, keep(m, conversation.Said))

	p.SetMode(testserver.ProxyClose)
	for name, call := range calls(db.Store) {
		if err := within(t, patience, name, call); err == nil {
			t.Errorf("%s: no error from a database that is gone", name)
		}
	}
	p.SetMode(testserver.ProxyForward)
	works := func(when string) {
		t.Helper()
		deadline := time.Now().Add(patience)
		for err := db.Ping(t.Context()); err != nil; err = db.Ping(t.Context()) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", when, err)
			}
		}
		next := said(at(2), "")
		if _, err := db.Record(t.Context(), next, keep(next, conversation.Said)); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	works("after it came back")

	p.SetMode(testserver.ProxyBlackhole)
	var group sync.WaitGroup
	errs := make(chan error, 64)
	for name, call := range calls(db.Store) {
		if name == "Migrate" {
			continue // it would delay the others if it succeeds
		}
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if err := call(ctx); err == nil {
				errs <- fmt.Errorf("%s: no error from a database that is silent", name)
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("a call hangs though its context has ended")
	}
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	p.SetMode(testserver.ProxyClose)
	p.SetMode(testserver.ProxyForward)
	works("after the silence")
	if got := direct.count(t, "messages", "TRUE"); got != 2 {
		t.Errorf("%d messages, want 2", got)
	}
}

func TestOpenGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	err = within(t, 300*time.Millisecond, "Open", func(ctx context.Context) error {
		_, err := Open(ctx, fmt.Sprintf("postgres://user:pass%%77ord@%s/db?sslmode=disable", l.Addr()))
		return err
	})
	if err == nil || strings.Contains(err.Error(), "password") {
		t.Errorf("%v", err)
	}
}

// The driver's error for an invalid URL contains everything that it did not recognise as a
// password.
func TestOpenHidesPasswords(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:part1@part2@h:99999/x", "postgres://u:part1@h/x?password=part1&part2"} {
		if _, err := Open(t.Context(), url); err == nil || strings.Contains(err.Error(), "part") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Contexts that end at any moment leave no lock and no half-written entry.
func TestCancelledWritersLeaveNothingBehind(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		const n = 150
		committed := make([]bool, n)
		concurrently(8, func(w int) error {
			for i := w; i < n; i += 8 {
				m := said(at(i), "")
				ctx, cancel := context.WithCancel(t.Context())
				timer := time.AfterFunc(time.Duration(i%20)*300*time.Microsecond, cancel)
				_, err := db.Record(ctx, m, keep(m, conversation.Said))
				committed[i] = err == nil
				timer.Stop()
				cancel()
			}
			return nil
		})
		err := within(t, patience, "Record", func(ctx context.Context) error {
			m := said(at(n), "")
			_, err := db.Record(ctx, m, keep(m, conversation.Said))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if half := db.count(t, "messages", "ts NOT IN (SELECT ts FROM changes)"); half != 0 {
			t.Errorf("%d messages have no change", half)
		}
		waiting := map[string]bool{}
		rows, err := db.PendingChanges(t.Context(), chat.Conversation{Team: team, Channel: channel}.ID(), 2*n)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range rows {
			waiting[w.TS] = true
		}
		for i, ok := range committed {
			if ok && !waiting[at(i)] {
				t.Errorf("message %d was committed and is lost", i)
			}
		}
	})
}
