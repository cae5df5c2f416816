package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
)

// Queries for every message use an index, however much data there is: in a channel with many
// threads, and behind many relayed changes. So do those of memory and catch-up, which may read
// recent messages, but not all.
func TestPlansUseIndexes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) database{"sqlite": migratedSQLite, "postgres": migratedPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, ctx := open(t), t.Context()
			n := 20000
			if db.sqlite != "" {
				n = 4000
			}
			db.seed(t, n)
			db.seedMemories(t, n)
			db.seedOutbox(t, n)
			db.seedLedger(t, n)
			db.seedOrders(t, n)
			db.seedUsers(t, n)
			db.seedErased(t, n)
			db.seedReactions(t, n)
			db.seedNotes(t, n)
			db.seedSettings(t, n)
			db.seedSearch(t)
			db.analyze(t)
			lately, thread := chat.Time(at(n-300)), chat.Scope{Team: team, Channel: channel, Thread: at(n - 1000)}
			// A thread of one reply, a long one, and the top level, which is rare among replies.
			short, long := chat.Conversation{Team: team, Channel: channel, Thread: at(7)}, chat.Conversation{Team: team, Channel: channel, Thread: at(1)}
			top := chat.Conversation{Team: team, Channel: channel}
			reply := said(at(n), long.Thread)
			reads := func(c chat.Conversation) func(s *Store) error {
				return func(s *Store) error {
					return errOf(s.Context(ctx, ContextRequest{Conversation: c, Messages: 50, Around: 50, Step: 10, Active: lately, Channels: 20, Remembered: lately, Threads: 20, Named: 100}))
				}
			}
			facts := func(c chat.Conversation) func(s *Store) error {
				return func(s *Store) error {
					return errOf(s.Facts(ctx, FactsRequest{Conversation: c, Trigger: at(0), Decision: "d7", Reply: "r7", Since: chat.Time(at(n - n/5)), Oldest: at(0), Held: true, Looks: true}))
				}
			}
			for _, test := range []struct {
				name string
				run  func(s *Store) error
				// survey is set for hourly queries, which may read recent messages.
				survey bool
			}{
				{name: "Context of the top level", run: reads(top)},
				{name: "Context of a short thread", run: reads(short)},
				{name: "Context of a long thread", run: reads(long)},
				{name: "Past of the top level", run: func(s *Store) error {
					return errOf(s.Past(ctx, top, lately, 50))
				}},
				{name: "Past of a long thread", run: func(s *Store) error {
					return errOf(s.Past(ctx, long, lately, 50))
				}},
				{name: "Facts of the top level", run: facts(top)},
				{name: "Facts of a short thread", run: facts(short)},
				{name: "Facts of a long thread", run: facts(long)},
				{name: "Turns", run: func(s *Store) error { return errOf(s.Turns(ctx, "d7")) }},
				{name: "BeginStep", run: func(s *Store) error { return errOf(s.BeginStep(ctx, stepID("d7", 0, 0))) }},
				{name: "EndStep", run: func(s *Store) error { return s.EndStep(ctx, stepID("d7", 0, 0), StepResult{Output: "x"}) }},
				{name: "Record of a deletion", run: func(s *Store) error {
					return errOf(s.Record(ctx, said(at(8), ""), keep(deleted(said(at(8), "")))))
				}},
				{name: "StepFiles", run: func(s *Store) error { return errOf(s.StepFiles(ctx, "d7")) }},
				{name: "SaveVote", run: func(s *Store) error {
					return errOf(s.SaveVote(ctx, team, channel, at(15), "r7/1", "U1", VoteUp, noon))
				}},
				{name: "SaveVoteReason", run: func(s *Store) error {
					return errOf(s.SaveVoteReason(ctx, "d7", "U1", "too long"))
				}},
				{name: "LeaseSnapshot", run: func(s *Store) error {
					return errOf(s.LeaseSnapshot(ctx, "a", time.Minute))
				}},
				{name: "SaveOpinion", run: func(s *Store) error {
					return errOf(s.SaveOpinion(ctx, Opinion{Decision: "d7", Judge: "b"}))
				}},
				{name: "LatestOpinions", run: func(s *Store) error { return errOf(s.LatestOpinions(ctx, top.ID())) }},
				{name: "ComparedOpinions", run: func(s *Store) error {
					return errOf(s.ComparedOpinions(ctx, OpinionFilter{Team: team, Since: chat.Time(at(n - 20))}))
				}},
				{name: "SpentOnShadow", run: func(s *Store) error {
					return errOf(s.SpentOnShadow(ctx, chat.Time(at(n-n/5))))
				}},
				{name: "Feedback", run: func(s *Store) error { return errOf(s.Feedback(ctx, []string{"d7", "d8"})) }},
				{name: "Unlabelled", survey: true, run: func(s *Store) error {
					return errOf(s.Unlabelled(ctx, noon, 200))
				}},
				{name: "LabelsOf", run: func(s *Store) error { return errOf(s.LabelsOf(ctx, []string{"d7", "d8"})) }},
				{name: "ProposalsOf", run: func(s *Store) error { return errOf(s.ProposalsOf(ctx, "d7")) }},
				{name: "Proposals", run: func(s *Store) error {
					return errOf(s.Proposals(ctx, ChoiceFilter{Team: team, Limit: 20}))
				}},
				{name: "Proposals of channels", run: func(s *Store) error {
					return errOf(s.Proposals(ctx, ChoiceFilter{Team: team, Channels: []string{channel, "CG1"}, Limit: 20}))
				}},
				{name: "ShowProposals", run: func(s *Store) error { return errOf(s.ShowProposals(ctx, "d7", at(1))) }},
				{name: "BeginProposal", run: func(s *Store) error {
					_, _, err := s.BeginProposal(ctx, stepID("d7", 0, 0))
					return err
				}},
				{name: "HandOverProposals", run: func(s *Store) error { return errOf(s.HandOverProposals(ctx)) }},
				{name: "Rehear", run: func(s *Store) error {
					return s.Rehear(ctx, Order{ID: "rehear", Scope: chat.Scope{Team: team, Channel: channel}, Kind: "rehear"}, []Told{{WorkflowID: "channel/" + team + "/" + channel, TS: at(1)}}, []string{"d1", "d2"})
				}},
				{name: "AddPromise", run: func(s *Store) error {
					return errOf(s.AddPromise(ctx, Promise{Choice: Choice{ID: "new", TeamID: team, ChannelID: channel, ThreadTS: at(0)}}, PromiseLimits{Conversation: 20}))
				}},
				{name: "PromisesOf", run: func(s *Store) error { return errOf(s.PromisesOf(ctx, "d7", "d8")) }},
				{name: "Promises", run: func(s *Store) error {
					return errOf(s.Promises(ctx, ChoiceFilter{Team: team, Limit: 20}))
				}},
				{name: "Promises of channels", run: func(s *Store) error {
					return errOf(s.Promises(ctx, ChoiceFilter{Team: team, Channels: []string{channel, "CG1"}, Limit: 20}))
				}},
				{name: "Promises of a thread", run: func(s *Store) error {
					return errOf(s.Promises(ctx, ChoiceFilter{Team: team, Channel: channel, Thread: at(0), Limit: 20}))
				}},
				{name: "Promises, also those that have ended", run: func(s *Store) error {
					return errOf(s.Promises(ctx, ChoiceFilter{Team: team, All: true, Limit: 20}))
				}},
				{name: "ShowPromises", run: func(s *Store) error { return errOf(s.ShowPromises(ctx, "d7", at(1))) }},
				{name: "HoldPromises", run: func(s *Store) error { return s.HoldPromises(ctx, top, noon) }},
				{name: "EndPromise", run: func(s *Store) error {
					return errOf(s.EndPromise(ctx, stepID("d0", 0, 0), 1, PromiseKept, "", time.Time{}))
				}},
				{name: "MovePromise", run: func(s *Store) error {
					_, _, _, err := s.MovePromise(ctx, stepID("d100", 0, 0), noon, operator)
					return err
				}},
				{name: "CancelPromise", run: func(s *Store) error {
					_, _, _, err := s.CancelPromise(ctx, stepID("d100", 0, 0), operator)
					return err
				}},
				{name: "CountPromises", run: func(s *Store) error { return errOf(s.CountPromises(ctx)) }},
				{name: "HandOverPromises", run: func(s *Store) error { return errOf(s.HandOverPromises(ctx)) }},
				{name: "Unfinished", run: func(s *Store) error { return errOf(s.Unfinished(ctx, lately)) }},
				{name: "LastRuns", survey: true, run: func(s *Store) error { return errOf(s.LastRuns(ctx)) }},
				{name: "PartsOf", run: func(s *Store) error { return errOf(s.PartsOf(ctx, []string{"d1", "d2"})) }},
				{name: "StandsIn", run: func(s *Store) error { return errOf(s.StandsIn(ctx, "d1", channel)) }},
				{name: "ShownAt", run: func(s *Store) error {
					if _, err := s.ShownAt(ctx, "d1", at(1)); err != nil && !errors.Is(err, ErrNotFound) {
						return err
					}
					return nil
				}},
				{name: "StopThread", run: func(s *Store) error { return s.StopThread(ctx, long, at(0)) }},
				{name: "Tail of the top level", run: func(s *Store) error { return errOf(s.Tail(ctx, top, 20)) }},
				{name: "Tail of a long thread", run: func(s *Store) error { return errOf(s.Tail(ctx, long, 20)) }},
				{name: "Files of the top level", run: func(s *Store) error { return errOf(s.Files(ctx, top, 20)) }},
				{name: "Files of a long thread", run: func(s *Store) error { return errOf(s.Files(ctx, long, 20)) }},
				{name: "Message", run: func(s *Store) error { return errOf(s.Message(ctx, team, channel, at(0))) }},
				{name: "PendingChanges", run: func(s *Store) error {
					return errOf(s.PendingChanges(ctx, top.ID(), 200))
				}},
				{name: "Claim", run: func(s *Store) error { return errOf(s.Claim(ctx, top.ID(), "a", noon, 200)) }},
				{name: "Release", run: func(s *Store) error { return errOf(s.Release(ctx, top.ID(), "a")) }},
				{name: "MarkRelayed", run: func(s *Store) error { return s.MarkRelayed(ctx, []int64{1, 2, 3}) }},
				{name: "Backlog", run: func(s *Store) error { return errOf(s.Backlog(ctx, 200)) }},
				{name: "BacklogSize", run: func(s *Store) error { _, _, err := s.BacklogSize(ctx); return err }},
				{name: "ReplyProgress", run: func(s *Store) error {
					_, _, err := s.ReplyProgress(ctx, team, channel, at(7))
					return err
				}},
				{name: "Record", run: func(s *Store) error {
					return errOf(s.Record(ctx, reply, keep(reply, conversation.Addressed)))
				}},
				{name: "Record of what is known", run: func(s *Store) error {
					return errOf(s.Record(ctx, reply, keep(reply, conversation.Said, conversation.Edited)))
				}},
				{name: "SaveHistory", run: func(s *Store) error { return s.SaveHistory(ctx, []chat.Message{reply}) }},
				{name: "Knowledge", run: func(s *Store) error {
					return errOf(s.Knowledge(ctx, team, channel, lately, 100, 20))
				}},
				{name: "Knowledge of the workspace", run: func(s *Store) error {
					return errOf(s.Knowledge(ctx, team, "", lately, 100, 20))
				}},
				{name: "WorkspaceMemories", run: func(s *Store) error {
					_, _, err := s.WorkspaceMemories(ctx, team, channel)
					return err
				}},
				{name: "Names", run: func(s *Store) error {
					return errOf(s.Names(ctx, team, channel, []string{"U1", "U2"}, []string{channel, "C2", "C100", "C101"}))
				}},
				{name: "SaveUsers", run: func(s *Store) error { return s.SaveUsers(ctx, team, User{ID: "U1", Name: "one"}) }},
				{name: "LeaveChannel", run: func(s *Store) error { return s.LeaveChannel(ctx, team, channel, "U1", noon) }},
				{name: "SaveMembers", run: func(s *Store) error {
					return errOf(s.SaveMembers(ctx, team, "CG1", []string{"U1", "U100"}, noon))
				}},
				{name: "MembersDue", survey: true, run: func(s *Store) error {
					return errOf(s.MembersDue(ctx, team, noon, 20))
				}},
				{name: "CurrentMemory", run: func(s *Store) error { return errOf(s.CurrentMemory(ctx, thread)) }},
				{name: "Draft", run: func(s *Store) error {
					if _, err := s.Draft(ctx, thread, chat.ShortTerm, Cursor{}); !errors.Is(err, ErrNotFound) {
						return fmt.Errorf("a draft, %w", err)
					}
					return nil
				}},
				{name: "MemoryVersions", run: func(s *Store) error {
					return errOf(s.MemoryVersions(ctx, thread, chat.ShortTerm, 2))
				}},
				{name: "SaveMemories", run: func(s *Store) error {
					c := Cursor{Count: 1}
					if err := s.SaveDraft(ctx, Memory{Scope: thread, Term: chat.ShortTerm, Text: "new"}, c); err != nil {
						return err
					}
					return s.SaveMemories(ctx, MemoryUpdate{Scope: thread, Short: RenewMemory, Cursor: c, Read: noon})
				}},
				{name: "CurrentCursor of a channel", run: func(s *Store) error {
					return errOf(s.CurrentCursor(ctx, theChannel, lately))
				}},
				{name: "CurrentCursor of a thread", run: func(s *Store) error {
					return errOf(s.CurrentCursor(ctx, thread, lately))
				}},
				{name: "ChannelMemoryInput", run: func(s *Store) error {
					_, _, err := s.ChannelMemoryInput(ctx, team, channel, lately, 50)
					return err
				}},
				{name: "ChangedThreads", survey: true, run: func(s *Store) error {
					return errOf(s.ChangedThreads(ctx, team, lately, lately, chat.Scope{}, 20))
				}},
				{name: "ChangedChannels", survey: true, run: func(s *Store) error {
					return errOf(s.ChangedChannels(ctx, team, lately, chat.Scope{}, 20))
				}},
				{name: "UnjoinedChannels", survey: true, run: func(s *Store) error {
					return errOf(s.UnjoinedChannels(ctx, team, noon, 20))
				}},
				{name: "UnreadChannels", survey: true, run: func(s *Store) error {
					_, _, err := s.UnreadChannels(ctx, team, 1, []string{"C1"}, 100)
					return err
				}},
				{name: "Gaps", survey: true, run: func(s *Store) error { return errOf(s.Gaps(ctx, team)) }},
				{name: "Memberships", survey: true, run: func(s *Store) error {
					return errOf(s.Memberships(ctx, team))
				}},
				{name: "Unhandled", run: func(s *Store) error {
					return errOf(s.Unhandled(ctx, team, channel, noon, at(n/2), 5))
				}},
				{name: "ActiveThreads", run: func(s *Store) error {
					return errOf(s.ActiveThreads(ctx, team, channel, lately))
				}},
				{name: "CallSummaries", run: func(s *Store) error {
					return errOf(s.CallSummaries(ctx, "d7", "judgment"))
				}},
				{name: "Parts", run: func(s *Store) error { return errOf(s.Parts(ctx, "r7")) }},
				{name: "BeginSend", run: func(s *Store) error {
					return errOf(s.BeginSend(ctx, db.compose(t, parts("short", "text"))[0], 0, time.Second))
				}},
				{name: "BeginReply", run: func(s *Store) error {
					db.compose(t, parts("untried", "text"))
					_, err := s.BeginReply(ctx, "untried", 0, time.Second)
					return err
				}},
				{name: "BeginSend of a long reply", run: func(s *Store) error {
					return errOf(s.BeginSend(ctx, db.compose(t, parts("long", "one", "two"))[0], 0, time.Second))
				}},
				{name: "MarkReplied", run: func(s *Store) error {
					return errOf(s.MarkReplied(ctx, parts("short", "text")[0], said(at(n+50), "")))
				}},
				{name: "MessagesSince of the top level", run: func(s *Store) error {
					return errOf(s.MessagesSince(ctx, top, lately, 50))
				}},
				{name: "MessagesSince of a long thread", run: func(s *Store) error {
					return errOf(s.MessagesSince(ctx, long, time.Time{}, 50))
				}},
				{name: "ChannelMessagesSince", run: func(s *Store) error {
					return errOf(s.ChannelMessagesSince(ctx, top, time.Time{}, 50))
				}},
				{name: "MessagesByTS", run: func(s *Store) error {
					return errOf(s.MessagesByTS(ctx, team, channel, []string{at(0), at(3)}))
				}},
				{name: "ChangesSince", run: func(s *Store) error {
					return errOf(s.ChangesSince(ctx, []string{top.ID(), long.ID()}, lately, 5000))
				}},
				{name: "DecisionsSince", run: func(s *Store) error {
					return errOf(s.DecisionsSince(ctx, []string{top.ID(), long.ID()}, lately, 5000))
				}},
				{name: "ChangesAndDecisions", run: func(s *Store) error {
					_, _, err := s.ChangesAndDecisions(ctx, []string{top.ID(), long.ID()}, at(n-100))
					return err
				}},
				{name: "PartsFor", run: func(s *Store) error {
					return errOf(s.PartsFor(ctx, team, channel, []string{at(0), at(3)}))
				}},
				{name: "Orders", run: func(s *Store) error { return errOf(s.Orders(ctx, team, channel, lately, 50)) }},
				{name: "ReplyOf", run: func(s *Store) error { return errOf(s.ReplyOf(ctx, team, channel, at(3))) }},
				{name: "Unconfirmed", run: func(s *Store) error {
					return errOf(s.Unconfirmed(ctx, team, channel, at(3)))
				}},
				{name: "MutesEverywhere", run: func(s *Store) error {
					return errOf(s.MutesEverywhere(ctx, team, lately, 50))
				}},
				{name: "MutedEverywhere", run: func(s *Store) error { return errOf(s.MutedEverywhere(ctx, team)) }},
				{name: "StepsBefore", run: func(s *Store) error {
					return errOf(s.StepsBefore(ctx, stepID("d1", 0, 0)))
				}},
				{name: "StepsFor", run: func(s *Store) error { return errOf(s.StepsFor(ctx, []string{"d1", "d2"})) }},
				{name: "CallsFor", run: func(s *Store) error { return errOf(s.CallsFor(ctx, []string{"d1", "d2"})) }},
				{name: "Spent", run: func(s *Store) error {
					_, _, err := s.Spent(ctx, team, channel, chat.Time(at(n-n/5)))
					return err
				}},
				{name: "SpentByChannel", run: func(s *Store) error {
					return errOf(s.SpentByChannel(ctx, team, chat.Time(at(n-n/100))))
				}},
				{name: "SpentByWorkspace", run: func(s *Store) error {
					return errOf(s.SpentByWorkspace(ctx, team, chat.Time(at(n-n/100))))
				}},
				{name: "Usage", run: func(s *Store) error {
					return errOf(s.Usage(ctx, lately, lately.Add(time.Minute)))
				}},
				{name: "MemoryOverviews", run: func(s *Store) error {
					return errOf(s.MemoryOverviews(ctx, team, "", 50))
				}},
				{name: "MemoryOverviews of a channel", run: func(s *Store) error {
					return errOf(s.MemoryOverviews(ctx, team, channel, 50))
				}},
				{name: "MemoryVersion", run: func(s *Store) error {
					return errOf(s.MemoryVersion(ctx, thread, chat.ShortTerm, 2))
				}},
				{name: "ThreadMemoryInput", run: func(s *Store) error {
					_, _, err := s.ThreadMemoryInput(ctx, thread, 50)
					return err
				}},
				{name: "PurgeWorkspace", survey: true, run: func(s *Store) error {
					return s.PurgeWorkspace(ctx, "T10", "", noStep)
				}},
				{name: "SaveChannel", run: func(s *Store) error {
					return s.SaveChannel(ctx, team, Channel{ID: channel, Member: true})
				}},
			} {
				scans, queries := db.scans(t, test.survey, func(_ context.Context, s *Store) error { return test.run(s) })
				if queries == 0 && (db.sqlite == "" || test.name != "BeginReply") { // which SQLite does not use
					t.Errorf("%s asked nothing", test.name)
				}
				for _, scan := range scans {
					t.Errorf("%s is wasteful:\n%s", test.name, scan)
				}
			}
			db.seedSearch(t) // PurgeWorkspace has the common words counted again
			// A search sorts what it has found, and reads all channels.
			for name, run := range map[string]func(ctx context.Context, s *Store) error{
				"Search": func(ctx context.Context, s *Store) error {
					found, err := s.Search(ctx, SearchQuery{Team: team, Here: channel, Text: "text 999 of " + at(7) + " and " + at(8), Limit: 20})
					if len(found) != 20 {
						t.Errorf("%d messages are found", len(found))
					}
					return err
				},
				"Search in a channel": func(ctx context.Context, s *Store) error {
					return errOf(s.Search(ctx, SearchQuery{Team: team, Here: channel, Text: at(7), Channel: "C2", Authors: []string{"U1", "U2"}, Limit: 20}))
				},
				"SaidBefore": func(ctx context.Context, s *Store) error {
					found, err := s.SaidBefore(ctx, SaidBeforeQuery{Team: team, Here: channel, Texts: []string{at(7) + " and " + at(8)}, Except: []string{at(7)}, Limit: 8})
					if len(found) != 1 {
						t.Errorf("found before: %v", found)
					}
					return err
				},
				"Index":      func(ctx context.Context, s *Store) error { return errOf(s.Index(ctx, time.Time{}, 500)) },
				"IndexState": func(ctx context.Context, s *Store) error { return errOf(s.IndexState(ctx)) },
			} {
				for _, st := range db.statements(t, run) {
					plan := db.explain(t, st.sql, st.vars)
					if regexp.MustCompile(`Seq Scan on (search|messages|forgotten)( |$)|Index Scan on search_pkey|SCAN (search|s|m)(\n|$)`).MatchString(plan) ||
						strings.Contains(st.sql, "asked") && !regexp.MustCompile(`Bitmap Index Scan on search_by_term|SCAN t VIRTUAL TABLE`).MatchString(plan) {
						t.Errorf("%s reads all messages:\n%s\n%s", name, st.sql, plan)
					}
				}
			}
			db.seedChannels(t, n)
			db.analyze(t)
			for name, run := range map[string]func(ctx context.Context, s *Store) error{
				"Record": func(ctx context.Context, s *Store) error {
					m := said(at(n+1), "")
					_, err := s.Record(ctx, m, closing(&m))
					return err
				},
				"SaveHistory": func(ctx context.Context, s *Store) error {
					return s.SaveHistory(ctx, []chat.Message{said(at(n+100), "")})
				},
				"CloseChannel": func(ctx context.Context, s *Store) error { return s.CloseChannel(ctx, team, "C10001") },
				"MarkPosted": func(ctx context.Context, s *Store) error {
					return s.MarkPosted(ctx, parts("r", "text")[0], said(at(n+200), ""))
				},
			} {
				written := 0
				for _, st := range db.statements(t, run) {
					if !strings.Contains(st.sql, "channels") {
						continue
					}
					written++
					if plan := db.explain(t, st.sql, st.vars); regexp.MustCompile(`SCAN channels|Seq Scan on channels`).MatchString(plan) {
						t.Errorf("%s reads all channels:\n%s\n%s", name, st.sql, plan)
					}
				}
				if want := map[string]int{"Record": 2, "SaveHistory": 1, "CloseChannel": 2, "MarkPosted": 1}[name]; written != want {
					t.Errorf("%s asks %d times for the channel, want %d", name, written, want)
				}
			}
			for _, st := range db.statements(t, func(ctx context.Context, s *Store) error {
				found, err := s.ChangedThreads(ctx, team, time.Time{}, time.Time{}, chat.Scope{}, 20)
				if len(found) != 20 {
					t.Errorf("%d threads have changed", len(found))
				}
				return err
			}) {
				// SQLite lists all threads, and its plans have no counts.
				if plan := db.explain(t, st.sql, st.vars); regexp.MustCompile(`on messages m(_\d)? .*loops=\d{2}`).MatchString(plan) {
					t.Errorf("a page of changed threads is looked for in all channels:\n%s", plan)
				}
			}
			// The conditions of withheld channels are there, too.
			db.Withhold(chat.Withheld{
				Inside:  chat.ChannelKeys{IDs: []string{"C10001", channel}, Names: []string{"one", "two"}},
				Nowhere: chat.ChannelKeys{IDs: []string{"C10002"}, Names: []string{"two"}}, IDs: []string{"C10001", "C10003"},
			})
			for name, run := range map[string]func(ctx context.Context, s *Store) error{
				"Context": func(_ context.Context, s *Store) error { return reads(top)(s) },
				"WorkspaceMemories": func(ctx context.Context, s *Store) error {
					_, _, err := s.WorkspaceMemories(ctx, team, "C2")
					return err
				},
				"Knowledge of the workspace": func(ctx context.Context, s *Store) error {
					k, err := s.Knowledge(ctx, team, "", lately, 100, 20)
					if len(k.Channels) != 100 || k.Unlisted != chat.CountAtMost {
						t.Errorf("%d channels are listed, %d are not", len(k.Channels), k.Unlisted)
					}
					return err
				},
			} {
				for _, st := range db.statements(t, run) {
					// A bitmap reads no row; the messages of a window's hours are counted in the index.
					plan := regexp.MustCompile(`Bitmap Index Scan on .*|Index Only Scan using messages_by_time .*`).
						ReplaceAllString(db.explain(t, st.sql, st.vars), "")
					read := regexp.MustCompile(`SCAN c(hannels)?\b|Removed by Filter: \d{4}|actual rows=(\d{5}|[2-9]\d{3})`)
					if strings.Contains(st.sql, "channels") && read.MatchString(plan) || strings.Contains(st.sql, "listed") && !strings.Contains(plan, "channels_by_activity") {
						t.Errorf("%s reads all channels:\n%s\n%s", name, st.sql, plan)
					}
				}
			}
		})
	}
}

// seed makes a busy channel: one message of fifty is at the top level, the rest in threads, half of
// them in one. All changes except a few are relayed.
func (db database) seed(t *testing.T, n int) {
	t.Helper()
	must(t, db.db.Transaction(func(tx *gorm.DB) error {
		var rows []messageRow
		var changes []changeRow
		conversations := map[string]conversationRow{}
		for i := range n {
			m := said(at(i), "")
			switch {
			case i%50 == 0:
			case i%2 == 0:
				m.ThreadTS = at(1)
			default:
				m.ThreadTS = at(i / 50 * 50)
			}
			m.Own = i%10 == 2
			if i%100 < 2 {
				m.Files = []chat.File{{ID: fmt.Sprintf("F%d", i), Name: "a.txt"}}
			}
			m.Channel = []string{channel, "C2", "C3"}[i%3]
			row, err := newMessageRow(m, i%1000 > 2, 0)
			if err != nil {
				return err
			}
			rows = append(rows, row)
			relayed := int64(1)
			c := changeRow{WorkflowID: of(m).ID(), TS: m.TS, SentUS: row.SentUS, Kind: "said", RelayedUS: &relayed}
			if i%1000 == 0 {
				c.RelayedUS = nil
			}
			if i%20 == 3 {
				c.Kind, c.StoredUS = "addressed", row.SentUS
			}
			changes = append(changes, c)
			if i%10 == 1 { // long before the replies were composed
				c.Kind, c.RelayedUS = "deleted", &relayed
				changes = append(changes, c)
			}
			conversations[c.WorkflowID] = conversationRow{WorkflowID: c.WorkflowID}
		}
		var all []conversationRow
		for i := range n {
			all = append(all, conversationRow{WorkflowID: fmt.Sprint("thread/T1/C4/", i)})
		}
		for _, c := range conversations {
			all = append(all, c)
		}
		for _, insert := range []*gorm.DB{tx.CreateInBatches(rows, 500), tx.CreateInBatches(changes, 500), tx.CreateInBatches(all, 500)} {
			if insert.Error != nil {
				return insert.Error
			}
		}
		return nil
	}))
}

// seedMemories makes memories of the busy channel, of its threads, the oldest first, and of many
// quiet channels; each has several versions.
func (db database) seedMemories(t *testing.T, n int) {
	t.Helper()
	scopes := []chat.Scope{workspace, theChannel}
	listed := []Channel{{ID: channel, Name: "one"}, {ID: "C2", Name: "two"}, {ID: "C3", Name: "three", Private: true}}
	for i := range 200 {
		id := fmt.Sprint("C", 100+i)
		listed = append(listed, Channel{ID: id, Name: "name of " + id})
		scopes = append(scopes, chat.Scope{Team: team, Channel: id})
	}
	for i := 0; i < n; i += 10 {
		scopes = append(scopes, chat.Scope{Team: team, Channel: channel, Thread: at(i)})
	}
	db.sync(t, listed...)
	db.exec(t, "UPDATE channels SET active_us = ? WHERE channel_id IN ('C1', 'C2', 'C3')", micros(chat.Time(at(n-1))))
	var memories []*memoryRow
	var rows []scopeRow
	for _, s := range scopes {
		made := micros(noon)
		if s.Thread != "" {
			made = micros(chat.Time(s.Thread))
		}
		for version := range 3 {
			for _, term := range s.Terms() {
				memories = append(memories, &memoryRow{
					TeamID: s.Team, ChannelID: s.Channel, ThreadTS: s.Thread, Term: string(term), Version: version + 1, Text: text(s, term), MadeUS: made,
				})
			}
		}
		rows = append(rows, scopeRow{
			TeamID: s.Team, ChannelID: s.Channel, ThreadTS: s.Thread, SinceUS: micros(chat.Time(at(n - 300))), NewestUS: made, ReadUS: made, UpdatedUS: made,
		})
	}
	must(t, db.db.CreateInBatches(memories, 500).Error)
	inForce := map[chat.Scope]map[string]*int64{}
	for _, m := range memories {
		s := m.memory().Scope
		if inForce[s] == nil {
			inForce[s] = map[string]*int64{}
		}
		inForce[s][m.Term] = &m.ID
	}
	for i, r := range rows {
		s := chat.Scope{Team: r.TeamID, Channel: r.ChannelID, Thread: r.ThreadTS}
		rows[i].LongID, rows[i].ShortID = inForce[s]["long"], inForce[s]["short"]
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

// seedOutbox makes posted replies.
func (db database) seedOutbox(t *testing.T, n int) {
	t.Helper()
	rows := make([]outboxRow, n/2)
	for i := range rows {
		reply := fmt.Sprint("r", i/2)
		rows[i] = outboxRow{
			Key: fmt.Sprint(reply, "/", i%2), Reply: reply, Part: i % 2, TeamID: team, ChannelID: channel, TriggerTS: at(i / 2), State: Sent, SentTS: at(i), Text: "text",
			ReadUS: 1, Feedback: i%2 == 1, Decision: fmt.Sprint("d", i/2),
		}
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

// seedUsers makes users. Every hundredth is a guest, in channels of their own.
func (db database) seedUsers(t *testing.T, n int) {
	t.Helper()
	rows := make([]userRow, n)
	for i := range rows {
		rows[i] = userRow{TeamID: team, UserID: fmt.Sprint("U", i), Name: fmt.Sprint("user ", i)}
	}
	guests := make([]outsiderRow, n)
	for i := range guests {
		guests[i] = outsiderRow{TeamID: team, ChannelID: fmt.Sprint("CG", i%500), UserID: fmt.Sprint("U", 100*(i%(n/100))), SeenUS: int64(i), LeftUS: int64(i % 2 * 1e6)}
		rows[100*(i%(n/100))].GuestUS = int64(i + 1)
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
	must(t, db.db.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(guests, 500).Error)
}

// seedErased makes marks of people who were forgotten.
func (db database) seedErased(t *testing.T, n int) {
	t.Helper()
	rows := make([]erasedRow, n)
	for i := range rows {
		rows[i] = erasedRow{TeamID: team, Person: fmt.Sprint("person ", i), UntilUS: 1}
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

// seedNotes makes notes, in turn in three channels and many others.
func (db database) seedNotes(t *testing.T, n int) {
	t.Helper()
	rows := make([]noteRow, n)
	for i := range rows {
		rows[i] = noteRow{Step: fmt.Sprint("step ", i), TeamID: team, ChannelID: []string{channel, "C2", "C3", fmt.Sprint("C", i)}[min(3, i%100)], TS: at(i), Text: "a note"}
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

// seedSettings sets something in each of many channels.
func (db database) seedSettings(t *testing.T, n int) {
	t.Helper()
	rows := make([]settingRow, n)
	for i := range rows {
		rows[i] = settingRow{ID: fmt.Sprint("set ", i), TeamID: team, ChannelID: fmt.Sprint("C", i), Setting: "mode", Value: "mention", IsSet: true}
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

// seedReactions puts a reaction under each of the first messages, in turn in three channels.
func (db database) seedReactions(t *testing.T, n int) {
	t.Helper()
	rows := make([]reactionRow, n)
	for i := range rows {
		rows[i] = reactionRow{TeamID: team, ChannelID: []string{channel, "C2", "C3"}[i%3], TS: at(i), UserID: "U1", Name: "eyes", AddedUS: micros(chat.Time(at(i)))}
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

// seedSearch puts all messages into the search index, which knows that all have the word "text".
func (db database) seedSearch(t *testing.T) {
	t.Helper()
	for {
		p, err := db.Index(t.Context(), time.Time{}, 5000)
		if err != nil {
			t.Fatal(err)
		}
		if p.CaughtUp {
			return
		}
	}
}

// seedOrders makes orders about messages.
func (db database) seedOrders(t *testing.T, n int) {
	t.Helper()
	rows := make([]orderRow, n/10)
	for i := range rows {
		m := said(at(i), "")
		rows[i] = db.orderRow(*Hush(m, "slack:U1"))
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

// seedLedger makes decisions, model calls and orders, one a second, and marks of what was forgotten
// in other workspaces.
func (db database) seedLedger(t *testing.T, n int) {
	t.Helper()
	var decisions []Decision
	var calls []callRow
	var orders []orderRow
	var lost []forgottenRow
	var turns []Turn
	var steps []Step
	var files []StepFile
	var quotes []quoteRow
	var proposals []Proposal
	var promises []Promise
	var votes []Vote
	var labels []Label
	var snapshots []snapshotRow
	var opinions []Opinion
	for i := range n / 4 {
		us := micros(chat.Time(at(n - n/4 + i)))
		c := chat.Conversation{Team: team, Channel: []string{channel, "C2", "C3"}[i%3]}
		if i%2 == 0 {
			c.Thread = at(i / 50 * 50)
		}
		key := fmt.Sprint("d", i)
		decisions = append(decisions, Decision{Key: key, WorkflowID: c.ID(), TriggerTS: at(i), Source: "rule", Outcome: "silent", DecidedUS: us})
		calls = append(calls, callRow{TeamID: team, ChannelID: fmt.Sprint("C", 1+i%30), ThreadTS: c.Thread, Purpose: "judgment", Decision: key, CalledUS: us})
		orders = append(orders, orderRow{ID: key, TeamID: team, ChannelID: c.Channel, ThreadTS: c.Thread, Kind: "drop", OrderedUS: us})
		turns = append(turns, Turn{Decision: key, TeamID: team, ChannelID: c.Channel, MadeUS: us})
		steps = append(steps, Step{ID: stepID(key, 0, 0), TeamID: team, ChannelID: c.Channel, Decision: key, TriggerTS: at(i), Tool: "search_messages", State: StepDone, StoredUS: us})
		votes = append(votes, Vote{TeamID: team, ChannelID: c.Channel, Part: key, Decision: key, UserID: "U1", Value: VoteUp, VotedUS: us})
		labels = append(labels, Label{TeamID: team, ChannelID: c.Channel, Decision: key, Kind: label.Answered, Truth: label.Silent, LabelledUS: us})
		snapshots = append(snapshots, snapshotRow{Decision: key, TeamID: team, ChannelID: c.Channel, Messages: "{}", Notes: "[]", ReadUS: micros(time.Now()), StoredUS: micros(time.Now()), Data: []byte{0}})
		opinions = append(opinions, Opinion{TeamID: team, ChannelID: c.Channel, Decision: key, Judge: "a", GivenUS: us})
		lost = append(lost, forgottenRow{TeamID: fmt.Sprint("T", 10+i%100), ChannelID: c.Channel, TS: at(i), UntilUS: us})
	}
	for i := range steps {
		st := steps[i]
		files = append(files, StepFile{StepID: st.ID, Data: []byte{0}})
		quotes = append(quotes, quoteRow{StepID: st.ID, TeamID: team, ChannelID: channel, TS: at(i)})
		state, promise := ProposalDone, PromiseKept
		if i%100 == 0 {
			state, promise = ProposalOpen, PromiseOpen
		}
		promises = append(promises, Promise{
			Choice: Choice{ID: st.ID, TeamID: team, ChannelID: st.ChannelID, TriggerTS: st.TriggerTS, Decision: st.Decision, ShownTS: at(i), StoredUS: st.StoredUS},
			Number: 1,
			DueUS:  st.StoredUS + int64(i-n/8)*1e6,
			State:  promise,
		})
		proposals = append(proposals, Proposal{Choice: Choice{ID: st.ID, TeamID: team, ChannelID: st.ChannelID, TriggerTS: st.TriggerTS, Decision: st.Decision, ShownTS: at(i), StoredUS: st.StoredUS}, State: state})
	}
	for _, insert := range []*gorm.DB{
		db.db.CreateInBatches(proposals, 500), db.db.CreateInBatches(promises, 500), db.db.CreateInBatches(decisions, 500), db.db.CreateInBatches(calls, 500), db.db.CreateInBatches(orders, 500), db.db.CreateInBatches(lost, 500),
		db.db.CreateInBatches(turns, 500), db.db.CreateInBatches(steps, 500), db.db.CreateInBatches(files, 500), db.db.CreateInBatches(quotes, 500), db.db.CreateInBatches(votes, 500), db.db.CreateInBatches(labels, 500), db.db.CreateInBatches(snapshots, 500), db.db.CreateInBatches(opinions, 500),
	} {
		if insert.Error != nil {
			t.Fatal(insert.Error)
		}
	}
}

// seedChannels makes so many channels that reading all of them does not pay.
func (db database) seedChannels(t *testing.T, n int) {
	t.Helper()
	rows := make([]channelRow, 5000)
	for i := range rows {
		rows[i] = channelRow{TeamID: team, ChannelID: fmt.Sprint("C", 10000+i)}
		if i >= len(rows)/2 {
			rows[i].Member, rows[i].RefreshedUS, rows[i].ActiveUS = true, micros(noon), micros(chat.Time(at(n+i)))
		}
	}
	must(t, db.db.CreateInBatches(rows, 500).Error)
}

func (db database) analyze(t testing.TB) {
	t.Helper()
	db.exec(t, "ANALYZE")
}

type statement struct {
	sql  string
	vars []any
}

// statements is the statements that run sends, without plain inserts.
func (db database) statements(t *testing.T, run func(context.Context, *Store) error) (statements []statement) {
	t.Helper()
	s := open(t, db.url)
	s.now = db.clock.now
	s.Withhold(db.withheld)
	note := func(tx *gorm.DB) {
		if sql := tx.Statement.SQL.String(); sql != "" && !strings.HasPrefix(sql, "SET ") {
			statements = append(statements, statement{sql, tx.Statement.Vars})
		}
	}
	for _, err := range []error{
		s.db.Callback().Query().After("gorm:query").Register("note", note),
		s.db.Callback().Update().After("gorm:update").Register("note", note),
		s.db.Callback().Delete().After("gorm:delete").Register("note", note),
		s.db.Callback().Row().After("gorm:row").Register("note", note),
		s.db.Callback().Raw().After("gorm:raw").Register("note", note),
	} {
		must(t, err)
	}
	must(t, run(t.Context(), s))
	return statements
}

// scans is the plans of the statements of run that read much more than they return.
func (db database) scans(t *testing.T, survey bool, run func(context.Context, *Store) error) (scans []string, queries int) {
	t.Helper()
	statements := db.statements(t, run)
	for _, st := range statements {
		if plan := db.explain(t, st.sql, st.vars); db.wasteful(st.sql, plan, survey) {
			scans = append(scans, st.sql+"\n"+plan)
		}
	}
	return scans, len(statements)
}

// fewRead matches steps of Postgres's plans that read all channels, which is allowed.
var fewRead = regexp.MustCompile(`(?s)Seq Scan on channels.*?(->|$)`)

// wasteful reports whether a plan reads much more than it returns. A survey may, but not all
// messages.
func (db database) wasteful(sql, plan string, survey bool) bool {
	sorts := strings.Contains(sql, "messages") && strings.Contains(sql, "LIMIT")
	switch {
	case db.sqlite == "" && survey:
		return strings.Contains(plan, "Seq Scan on messages")
	case db.sqlite == "":
		plan = fewRead.ReplaceAllString(plan, "")
		return strings.Contains(plan, "Seq Scan on") || regexp.MustCompile(`Rows Removed by [A-Za-z ]*: \d{3}`).MatchString(plan) ||
			sorts && regexp.MustCompile("Sort Key: .*sent_us").MatchString(plan)
	}
	large := "messages|memories|memory_scopes|changes|outbox|decisions|model_calls|orders|forgotten|promises|[mslhr]"
	if !strings.Contains(sql, "channels c") {
		large += "|c" // conversations
	}
	return regexp.MustCompile("SCAN ("+large+")(\n|$)").MatchString(plan) ||
		strings.Contains(sql, "thread_ts = ?") && !strings.Contains(plan, "thread_ts=?") ||
		sorts && !survey && strings.Contains(plan, "TEMP B-TREE FOR ORDER BY")
}

// explain is the plan of a statement, whose effect is undone. For Postgres it is the generic plan,
// as our prepared statements get it (useGenericPlans).
func (db database) explain(t *testing.T, sql string, vars []any) (plan string) {
	t.Helper()
	tx, err := db.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if db.sqlite != "" {
		return lines(t, tx, "EXPLAIN QUERY PLAN "+sql, vars...)
	}
	if mode := strings.TrimSpace(lines(t, tx, "SHOW plan_cache_mode")); mode != "force_generic_plan" {
		t.Fatalf("plans are made by %s", mode)
	}
	if _, err := tx.ExecContext(t.Context(), "PREPARE statement AS "+sql); err != nil {
		t.Fatalf("prepare %s: %v", sql, err)
	}
	execute := "EXPLAIN (ANALYZE, TIMING OFF) EXECUTE statement"
	if len(vars) > 0 {
		execute += "(" + literals(vars) + ")"
	}
	plan = lines(t, tx, execute)
	must(t, errOf(tx.ExecContext(t.Context(), "DEALLOCATE statement")))
	return plan
}

// literals is values as Postgres literals.
func literals(vars []any) string {
	all := make([]string, len(vars))
	for i, v := range vars {
		value := reflect.Indirect(reflect.ValueOf(v))
		switch {
		case !value.IsValid():
			all[i] = "NULL"
			continue
		case value.Kind() == reflect.Slice:
			elements := make([]string, value.Len())
			for n := range elements {
				elements[n] = fmt.Sprint(value.Index(n).Interface())
			}
			all[i] = "{" + strings.Join(elements, ",") + "}"
		default:
			all[i] = fmt.Sprint(value.Interface())
		}
		all[i] = "'" + strings.ReplaceAll(all[i], "'", "''") + "'"
	}
	return strings.Join(all, ", ")
}

// lines is the last column of a statement's result.
func lines(t *testing.T, tx *sql.Tx, statement string, vars ...any) (all string) {
	t.Helper()
	rows, err := tx.QueryContext(t.Context(), statement, vars...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		line := make([]any, len(columns))
		for i := range line {
			line[i] = new(any)
		}
		must(t, rows.Scan(line...))
		all += fmt.Sprintln(*line[len(line)-1].(*any))
	}
	must(t, rows.Err())
	return all
}
