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
	"myao/test/testserver"
)

// calls is every call that reaches the database.
func calls(s *Store) map[string]func(context.Context) error {
	m := said(at(1), "")
	c := of(m)
	return map[string]func(context.Context) error{
		"Ping":        s.Ping,
		"Writable":    s.Writable,
		"CheckSchema": s.CheckSchema,
		"Migrate":     func(ctx context.Context) error { return errOf(s.Migrate(ctx)) },
		"Record":      func(ctx context.Context) error { return errOf(s.Record(ctx, m, keep(m, conversation.Said))) },
		"ApplyOrder": func(ctx context.Context) error {
			return s.ApplyOrder(ctx, Order{ID: "o", Scope: theChannel, Kind: "mute", Until: noon})
		},
		"Message":        func(ctx context.Context) error { return errOf(s.Message(ctx, team, channel, m.TS)) },
		"Context":        func(ctx context.Context) error { return errOf(s.Context(ctx, ContextRequest{Conversation: c})) },
		"CallSummaries":  func(ctx context.Context) error { return errOf(s.CallSummaries(ctx, "k", "judgment")) },
		"CheckCalls":     s.CheckCalls,
		"Facts":          func(ctx context.Context) error { return errOf(s.Facts(ctx, FactsRequest{Conversation: c})) },
		"Tail":           func(ctx context.Context) error { return errOf(s.Tail(ctx, c, 5)) },
		"Claim":          func(ctx context.Context) error { return errOf(s.Claim(ctx, c.ID(), "a", noon, 5)) },
		"Release":        func(ctx context.Context) error { return errOf(s.Release(ctx, c.ID(), "a")) },
		"PendingChanges": func(ctx context.Context) error { return errOf(s.PendingChanges(ctx, c.ID(), 5)) },
		"MarkRelayed":    func(ctx context.Context) error { return s.MarkRelayed(ctx, []int64{1}) },
		"Backlog":        func(ctx context.Context) error { return errOf(s.Backlog(ctx, 5)) },
		"BacklogSize":    func(ctx context.Context) error { _, _, err := s.BacklogSize(ctx); return err },
		"Compose":        func(ctx context.Context) error { return s.Compose(ctx, parts("r", "text"), Decision{Key: "k"}) },
		"Parts":          func(ctx context.Context) error { return errOf(s.Parts(ctx, "r")) },
		"BeginSend":      func(ctx context.Context) error { return errOf(s.BeginSend(ctx, parts("r", "text")[0], 1, 1)) },
		"BeginReply":     func(ctx context.Context) error { return errOf(s.BeginReply(ctx, "r", 1, 1)) },
		"EndSend":        func(ctx context.Context) error { return s.EndSend(ctx, Part{Key: "r/0"}, Failed, time.Time{}, "") },
		"MarkPosted":     func(ctx context.Context) error { return s.MarkPosted(ctx, parts("r", "text")[0], m) },
		"MarkReplied":    func(ctx context.Context) error { return errOf(s.MarkReplied(ctx, parts("r", "text")[0], m)) },
		"Decide":         func(ctx context.Context) error { return s.Decide(ctx, Decision{Key: "k"}) },
		"Settle":         func(ctx context.Context) error { return s.Settle(ctx, "k", "posted", "") },
		"SaveSnapshot": func(ctx context.Context) error {
			return s.SaveSnapshot(ctx, Snapshot{Decision: "k", Team: team, Data: []byte{0}})
		},
		"LeaseSnapshot": func(ctx context.Context) error { return errOf(s.LeaseSnapshot(ctx, "a", time.Minute)) },
		"SaveOpinion":   func(ctx context.Context) error { return errOf(s.SaveOpinion(ctx, Opinion{Decision: "k"})) },
		"SilencedUntil": func(ctx context.Context) error { return errOf(s.SilencedUntil(ctx, c)) },
		"Users":         func(ctx context.Context) error { return errOf(s.Users(ctx, team, []string{"U1"})) },
		"SaveUsers":     func(ctx context.Context) error { return s.SaveUsers(ctx, team, User{ID: "U1"}) },
		"Channels":      func(ctx context.Context) error { return errOf(s.Channels(ctx, team, []string{channel})) },
		"SaveChannel":   func(ctx context.Context) error { return s.SaveChannel(ctx, team, Channel{ID: channel}) },
		"MoveChannel": func(ctx context.Context) error {
			return s.MoveChannel(ctx, Move{Team: team, From: channel, To: "C2", Mute: noon.AddDate(100, 0, 0)})
		},
		"LatestSilenceOrder": func(ctx context.Context) error { return errOf(s.LatestSilenceOrder(ctx, c)) },
		"MovedTo":            func(ctx context.Context) error { return errOf(s.MovedTo(ctx, []string{channel})) },
		"CloseChannel":       func(ctx context.Context) error { return s.CloseChannel(ctx, team, channel) },
		"Names": func(ctx context.Context) error {
			return errOf(s.Names(ctx, team, channel, []string{"U1"}, []string{channel}))
		},
		"SyncChannels": func(ctx context.Context) error {
			return errOf(s.SyncChannels(ctx, team, []Channel{{ID: channel}}))
		},
		"Memberships":          func(ctx context.Context) error { return errOf(s.Memberships(ctx, team)) },
		"UnjoinedChannels":     func(ctx context.Context) error { return errOf(s.UnjoinedChannels(ctx, team, noon, 5)) },
		"AdvanceCatchUp":       func(ctx context.Context) error { return s.AdvanceCatchUp(ctx, team, channel, m.TS, "", noon) },
		"Gaps":                 func(ctx context.Context) error { return errOf(s.Gaps(ctx, team)) },
		"NewestGap":            func(ctx context.Context) error { return errOf(s.NewestGap(ctx)) },
		"OpenGap":              func(ctx context.Context) error { return s.OpenGap(ctx) },
		"CloseGap":             func(ctx context.Context) error { return s.CloseGap(ctx, team) },
		"UnreadChannels":       func(ctx context.Context) error { _, _, err := s.UnreadChannels(ctx, team, 1, nil, 5); return err },
		"MarkRead":             func(ctx context.Context) error { return s.MarkRead(ctx, team, channel, 1) },
		"Installation":         func(ctx context.Context) error { return ignoreAbsent(errOf(s.Installation(ctx, team))) },
		"InstallationOf":       func(ctx context.Context) error { return ignoreAbsent(errOf(s.InstallationOf(ctx, team))) },
		"InstallationsChanged": func(ctx context.Context) error { return errOf(s.InstallationsChanged(ctx, noon)) },
		"SaveInstallation":     func(ctx context.Context) error { return errOf(s.SaveInstallation(ctx, installed(team))) },
		"EndInstallation": func(ctx context.Context) error {
			return errOf(s.EndInstallation(ctx, team, noon, InstallationRevoked, ""))
		},
		"LeaseRefresh":  func(ctx context.Context) error { _, _, err := s.LeaseRefresh(ctx, team, 1, "a", noon); return err },
		"SaveTokens":    func(ctx context.Context) error { _, _, err := s.SaveTokens(ctx, team, 1, "a", Tokens{}); return err },
		"GrantTeam":     func(ctx context.Context) error { return errOf(s.GrantTeam(ctx, "E1", team, "", noon)) },
		"Allowed":       func(ctx context.Context) error { return errOf(s.Allowed(ctx, team, "")) },
		"MCPTools":      func(ctx context.Context) error { return errOf(s.MCPTools(ctx, team)) },
		"RecordRun":     func(ctx context.Context) error { return s.RecordRun(ctx, "memory", team) },
		"Starters":      func(ctx context.Context) error { return errOf(s.Starters(ctx)) },
		"SaveStarter":   func(ctx context.Context) error { return s.SaveStarter(ctx, Starter{ID: "s"}) },
		"RemoveStarter": func(ctx context.Context) error { return s.RemoveStarter(ctx, "s") },
		"SaveHistory":   func(ctx context.Context) error { return s.SaveHistory(ctx, []chat.Message{said(at(3), "")}) },
		"Unhandled":     func(ctx context.Context) error { return errOf(s.Unhandled(ctx, team, channel, noon, "", 5)) },
		"ActiveThreads": func(ctx context.Context) error { return errOf(s.ActiveThreads(ctx, team, channel, noon)) },
		"MessagesByTS": func(ctx context.Context) error {
			return errOf(s.MessagesByTS(ctx, team, channel, []string{m.TS}))
		},
		"ChangesAndDecisions": func(ctx context.Context) error {
			_, _, err := s.ChangesAndDecisions(ctx, []string{c.ID()}, m.TS)
			return err
		},
		"ChangedThreads": func(ctx context.Context) error {
			return errOf(s.ChangedThreads(ctx, team, noon, noon, chat.Scope{}, 5))
		},
		"ChangedChannels": func(ctx context.Context) error {
			return errOf(s.ChangedChannels(ctx, team, noon, chat.Scope{}, 5))
		},
		"CurrentCursor": func(ctx context.Context) error { return errOf(s.CurrentCursor(ctx, theChannel, noon)) },
		"CurrentMemory": func(ctx context.Context) error { return errOf(s.CurrentMemory(ctx, theChannel)) },
		"ChannelMemoryInput": func(ctx context.Context) error {
			_, _, err := s.ChannelMemoryInput(ctx, team, channel, noon, 5)
			return err
		},
		"Draft": func(ctx context.Context) error { return errOf(s.Draft(ctx, aThread, chat.ShortTerm, Cursor{})) },
		"SaveDraft": func(ctx context.Context) error {
			return s.SaveDraft(ctx, Memory{Scope: aThread, Text: "text"}, Cursor{})
		},
		"SaveMemories": func(ctx context.Context) error {
			return s.SaveMemories(ctx, MemoryUpdate{Scope: aThread, Short: WithdrawMemory})
		},
		"MemoryVersions": func(ctx context.Context) error {
			return errOf(s.MemoryVersions(ctx, theChannel, chat.ShortTerm, 5))
		},
		"WorkspaceMemories": func(ctx context.Context) error { _, _, err := s.WorkspaceMemories(ctx, team, channel); return err },
		"Knowledge":         func(ctx context.Context) error { return errOf(s.Knowledge(ctx, team, channel, noon, 5, 5)) },
		"SpentByChannel":    func(ctx context.Context) error { return errOf(s.SpentByChannel(ctx, team, noon)) },
	}
}

// ignoreAbsent is an error, unless it says that there is nothing.
func ignoreAbsent(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func TestClosedDatabaseIsAnError(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		s := open(t, db.url)
		must(t, s.Close())
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
		return errOf(Open(ctx, fmt.Sprintf("postgres://user:pass%%77ord@%s/db?sslmode=disable", l.Addr())))
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
		db.wantRows(t, 0, "messages", "ts NOT IN (SELECT ts FROM changes)") // each has its change
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
