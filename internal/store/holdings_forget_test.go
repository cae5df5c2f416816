package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

const (
	canaryUser = "U0CANARY1"
	canaryName = "Kana Ria"
	canaryText = "kanarienvogel"
	canaryZone = "Europe/" + canaryText
)

// traces is the columns, as table.column, that hold something of the person.
func (db database) traces(t *testing.T) (columns []string) {
	t.Helper()
	for table, names := range db.textColumns(t) {
		for _, name := range names {
			var values []string
			must(t, db.db.Raw("SELECT CAST("+name+" AS TEXT) FROM "+table+" WHERE "+name+" IS NOT NULL").Scan(&values).Error)
			if slices.ContainsFunc(values, func(v string) bool {
				return strings.Contains(v, canaryUser) || strings.Contains(v, canaryName) || strings.Contains(v, canaryText)
			}) {
				columns = append(columns, table+"."+name)
			}
		}
	}
	slices.Sort(columns)
	return columns
}

// seedPerson writes the person, and their words, wherever the programs would. It is noon of the
// third day then.
func (db database) seedPerson(t *testing.T) {
	t.Helper()
	db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"}, Channel{ID: "C3", Name: "three"}, Channel{ID: "D1"})
	by := "slack:" + canaryUser
	theirs := func(channel, ts, thread string) chat.Message {
		return chat.Message{Team: team, Channel: channel, TS: ts, ThreadTS: thread, UserID: canaryUser, Name: canaryName, Text: "our " + canaryText + " is ill",
			Files: []chat.File{{ID: "F1", Name: canaryText + ".png"}}}
	}
	mine := func(channel, ts, thread, text string) chat.Message {
		return chat.Message{Team: team, Channel: channel, TS: ts, ThreadTS: thread, UserID: "UBOT", BotID: "BBOT", Own: true, Text: text}
	}
	others := said(at(1), "")
	others.Text = "<@" + canaryUser + "|kana> and <@U2>: " + canaryUser
	db.store(t, said(at(-60), ""), theirs("C1", at(0), ""), others, theirs("C1", at(2), at(1)), mine("C1", at(3), at(0), "the "+canaryText),
		mine("C1", at(5), "", "we all like the "+canaryText), mine("C2", at(6), "", canaryName+" said so"), in("C2", said(at(2), "")),
		theirs("D1", at(7), ""), mine("D1", at(8), "", "not in the outbox: "+canaryText))
	for i := range 2 * sweepChunk { // more than one step
		db.insert(t, &messageRow{TeamID: team, ChannelID: "C1", TS: at(100 + i), SentUS: micros(chat.Time(at(100 + i))), UserID: "U2", Text: "filler"})
	}
	db.index(t)
	db.clock.advance(time.Hour)
	thread := chat.Scope{Team: team, Channel: "C1", Thread: at(1)}
	db.make(t, thread, chat.ShortTerm, "thread: "+canaryText, at(1), at(2))
	db.make(t, theChannel, chat.LongTerm, "channel: "+canaryText, at(0), at(1))
	long := db.make(t, theChannel, chat.LongTerm, "channel, again: "+canaryText) // from the version before
	db.make(t, workspace, chat.LongTerm, "all: "+canaryText, Source("C1", long.ID))
	db.make(t, chat.Scope{Team: team, Channel: "D1"}, chat.ShortTerm, canaryText, at(7))
	db.make(t, chat.Scope{Team: team, Channel: "C2"}, chat.LongTerm, "two: "+canaryName+" leads it", at(2))
	db.exec(t, "UPDATE memories SET ordered_by = ?, forgotten_by = ? WHERE channel_id = 'C2'", by, by)

	confidence := 0.9
	for i, d := range []Decision{
		{WorkflowID: "channel/T1/C1", TriggerTS: at(0), Source: "addressed", Reason: canaryText, OutcomeBy: by},
		{WorkflowID: "channel/T1/C1", TriggerTS: at(4), Source: "judgment", Confidence: &confidence, Reason: "nobody answered", Gist: "the " + canaryText, DecidedUS: micros(noon.Add(5 * time.Second))},
		{WorkflowID: "channel/T1/C2", TriggerTS: at(2), Source: "judgment", Confidence: &confidence, Reason: "asks " + canaryName},
		{WorkflowID: "channel/T1/C2", TriggerTS: at(2), Source: "judgment", Confidence: &confidence, Reason: "a good question"},
	} {
		d.Key, d.Outcome = fmt.Sprint("run/", i), conversation.OutcomePosted
		db.insert(t, &d)
	}
	for i, r := range []outboxRow{
		{TriggerTS: at(0), ChannelID: "C1", SentTS: at(3), Text: "the " + canaryText, State: Sent},
		{TriggerTS: at(4), ChannelID: "C1", SentTS: at(5), Text: "we all like the " + canaryText, State: Sent, Decision: "run/1"},
		{TriggerTS: at(2), ChannelID: "C2", SentTS: at(6), Text: canaryName + " said so", State: Sent},
		{TriggerTS: at(2), ChannelID: "C2", Text: "ask <@" + canaryUser + "> soon", State: Composed},
		{TriggerTS: at(2), ChannelID: "C2", Text: "to somebody else", State: Sent},
		{TriggerTS: at(0), ChannelID: "D1", Text: "the rest, elsewhere: " + canaryText, State: Sent, Reply: team + "/C1//" + at(0) + "/"},
	} {
		r.Key, r.Reply, r.TeamID, r.ReadUS = fmt.Sprint("key", i), cmp.Or(r.Reply, fmt.Sprint("reply", i)), team, micros(noon)
		db.insert(t, &r)
	}
	relayed := int64(1)
	db.insert(t,
		&Step{ID: "s0", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Decision: "run/2", Input: canaryName, Output: canaryText},
		&Step{ID: "s1", TeamID: team, ChannelID: "C1", TriggerTS: at(0), Decision: "run/0", Input: canaryText},
		&StepFile{StepID: "s0", Name: canaryName, Data: []byte{0}},
		&StepFile{StepID: "s1", Name: canaryText + ".png", MIME: "image/png", Data: []byte{1, 2}},
		&Proposal{Choice: Choice{ID: "p0", TeamID: team, ChannelID: "C1", TriggerTS: at(0), Asker: canaryUser}, Input: canaryText, Output: canaryText},
		&Proposal{Choice: Choice{ID: "p1", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Asker: "U2"}, DecidedBy: by},
		&Proposal{Choice: Choice{ID: "p2", TeamID: team, ChannelID: "C1", TriggerTS: at(-60), Asker: canaryUser}, Input: canaryText, State: ProposalBegun, Idempotent: true, DecidedBy: "slack:U2"},
		&Proposal{Choice: Choice{ID: "p3", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Asker: "U2"}, Input: `{"to":"` + canaryName + `"}`, State: ProposalApproved, DecidedBy: "slack:U3"},
		&Proposal{Choice: Choice{ID: "p4", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Asker: "U2"}, Input: `{"to":"` + canaryName + `"}`, State: ProposalDone, DecidedBy: "slack:U3"},
		&Proposal{Choice: Choice{ID: "p5", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Asker: "U2"}, Input: `{"to":"Bea"}`, State: ProposalApproved, DecidedBy: "slack:U3"},
		&Step{ID: "s2", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Decision: "run/3", Tool: "search_messages", Input: `{"query":"boats"}`, Output: "boats"},
		&Step{ID: "s3", TeamID: team, ChannelID: "C1", TriggerTS: at(1), Decision: "run/1", Tool: "search_messages", Input: `{"query":"it is ill"}`, Output: "ill", StoredUS: micros(noon.Add(time.Hour))},
		&HookEvent{TeamID: team, ChannelID: "C1", Hook: "ci", Delivery: "d1", Text: "by " + canaryName + ": " + canaryText, Terms: " " + canaryText + " ", ReceivedUS: micros(noon)},
		&HookEvent{TeamID: team, ChannelID: "C2", Hook: "ci", Delivery: "d2", Text: "by Bea", ReceivedUS: micros(noon)},
		&Turn{Decision: "run/3", TeamID: team, ChannelID: "C2", Text: "let me see", Opaque: "{}"},
		&Promise{Choice: Choice{ID: "q0", TeamID: team, ChannelID: "C1", TriggerTS: at(0), Asker: canaryUser, ShownTS: at(3)}, What: canaryText, Zone: canaryZone, State: PromiseOpen, DueUS: micros(noon)},
		&Promise{Choice: Choice{ID: "q1", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Asker: "U2"}, What: "ask " + canaryName, Unless: "<@" + canaryUser + "> has answered", State: PromiseCancelled, EndedBy: by},
		&Promise{Choice: Choice{ID: "q2", TeamID: team, ChannelID: "C2", TriggerTS: at(2), Asker: "U2", ShownTS: at(3)}, What: "ask Bea", State: PromiseOpen, DueUS: micros(noon)},
		&Turn{Decision: "run/2", TeamID: team, ChannelID: "C2", Text: canaryText, Opaque: canaryText},
		&changeRow{WorkflowID: "channel/T1/C1", TS: at(0), Kind: "said", Author: canaryUser, OrderedBy: by, RelayedUS: &relayed},
		&orderRow{ID: "o1", TeamID: team, ChannelID: "C1", Kind: "hush", OrderedBy: by, Subject: at(0)},
		&reactionRow{TeamID: team, ChannelID: "C1", TS: at(1), UserID: canaryUser, Name: "eyes"},
		&reactionRow{TeamID: team, ChannelID: "C3", TS: at(1), UserID: canaryUser, Name: "eyes"},
		&reactionRow{TeamID: team, ChannelID: "C1", TS: at(1), UserID: "U2", Name: "eyes"},
		&outsiderRow{TeamID: team, ChannelID: "C1", UserID: canaryUser, SeenUS: 1}, &outsiderRow{TeamID: team, ChannelID: "D1", UserID: canaryUser, SeenUS: 1},
		&userRow{TeamID: team, UserID: canaryUser, Name: canaryName, TimeZone: canaryZone, GuestUS: 1}, &userRow{TeamID: team, UserID: "U2", Name: "Bea"},
		&writerRow{TeamID: team, UserID: canaryUser, ChannelID: "C9", SinceUS: micros(noon)}, &writerRow{TeamID: team, UserID: "U2", ChannelID: "C9", SinceUS: micros(noon)},
		&noteRow{Step: "a", TeamID: team, ChannelID: "C1", TS: at(1), Author: canaryUser, Text: "the " + canaryText},
		&Vote{TeamID: team, ChannelID: "C1", Part: "key0", UserID: canaryUser, Value: VoteDown, Reason: canaryText, VotedUS: micros(noon)},
		&Vote{TeamID: team, ChannelID: "C1", Part: "key0", UserID: "U2", Value: VoteDown, Reason: "rude to " + canaryName, VotedUS: micros(noon)},
		&snapshotRow{Decision: "run/0", TeamID: team, ChannelID: "C1", Messages: `{"` + at(0) + `":"","` + at(1) + `":""}`, Notes: "[]", ReadUS: micros(noon), StoredUS: micros(noon), Data: []byte{0}},
		&snapshotRow{Decision: "run/2", TeamID: team, ChannelID: "C2", Messages: "{}", Notes: "[]", StoredUS: micros(noon), Data: []byte{0}}, // a memory in it may be of C1
		&Opinion{TeamID: team, ChannelID: "C1", Decision: "run/0", Judge: "a", Reason: "as the first", GivenUS: micros(noon)},
		&Opinion{TeamID: team, ChannelID: "C2", Decision: "run/3", Judge: "a", Reason: canaryName + " knows", GivenUS: micros(noon)},
		&Opinion{TeamID: team, ChannelID: "C2", Decision: "run/3", Judge: "b", Reason: "a good question", GivenUS: micros(noon)},
		&settingRow{ID: "set/tone", TeamID: team, ChannelID: "C2", Setting: "tone", Value: "as " + canaryName, IsSet: true, Was: canaryUser, SetBy: by},
		&installationRow{ID: team, InstalledBy: by, State: InstallationActive, Generation: 1, Token: []byte{0}, RefreshToken: []byte{0}},
		&noteRow{Step: "b", TeamID: team, ChannelID: "C1", TS: at(1), Author: "U2", Text: "ask " + canaryName + " or <@" + canaryUser + ">"},
	)
	db.clock.advance(47 * time.Hour)
}

func noStep(string, int, int) error { return nil }

var canary = chat.Person{Team: team, User: canaryUser}

func TestExportPerson(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.seedPerson(t)
		x, err := db.ExportPerson(t.Context(), canary, noStep)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s: %d messages, %d reactions, %d orders, %d decisions, %d replies, %d steps, %d proposals, %d promises, %d notes, %d votes", x.Name, len(x.Messages), len(x.Reactions), len(x.Orders), len(x.Decisions), len(x.Replies), len(x.Steps), len(x.Proposals), len(x.Promises), len(x.Notes), len(x.Feedback))
		if want := "Kana Ria: 3 messages, 2 reactions, 1 orders, 1 decisions, 2 replies, 1 steps, 2 proposals, 2 promises, 1 notes, 1 votes"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if files := x.Steps[0].Files; !slices.Equal(files, []ExportedFile{{canaryText + ".png", "image/png", 2}}) {
			t.Errorf("the step showed %+v", files)
		}
		if v := x.Feedback[0]; v.SentTS != at(3) || v.Value != VoteDown || v.Reason != canaryText {
			t.Errorf("a vote: %+v", v)
		}
		if o := x.Decisions[0].Opinions; len(o) != 1 || o[0].Reason != "as the first" {
			t.Errorf("other judges say %+v", o)
		}
		if len(x.Snapshots) != 1 || !slices.Equal(x.Snapshots[0].TS, []string{at(0)}) || !x.Snapshots[0].Read.Equal(noon) {
			t.Errorf("snapshots: %+v", x.Snapshots)
		}
		if p := x.Promises[0]; p.What != canaryText || p.ChannelID != "C1" || p.Zone != x.Zone || !p.Due().Equal(noon) {
			t.Errorf("a promise: %+v", p)
		}
		if x.Promises[0].Asker != canaryUser || x.Promises[1].Asker != "" || x.Proposals[0].Asker != canaryUser || x.Proposals[1].Asker != "" {
			t.Errorf("who asked: %+v, %+v", x.Promises, x.Proposals)
		}
		if !x.Guest || len(x.Outside) != 2 || x.Outside[0].Channel != "C1" {
			t.Errorf("guest %v, of %+v", x.Guest, x.Outside)
		}
		if want := []ExportedWriting{{"C9", noon}}; !slices.Equal(x.Wrote, want) {
			t.Errorf("they wrote in %+v, want %+v", x.Wrote, want)
		}
		if want := []ExportedInstallation{{team, "", instant(0)}}; !slices.Equal(x.Installations, want) {
			t.Errorf("installed in %+v", x.Installations)
		}
		if want := []ExportedSetting{{"C2", "tone", "as " + canaryName, true, instant(0)}}; !slices.Equal(x.Settings, want) {
			t.Errorf("settings: %+v", x.Settings)
		}
		if m := x.Messages[0]; m.Text != "our "+canaryText+" is ill" || len(m.Files) != 1 || m.Channel != "C1" {
			t.Errorf("a message: %+v", m)
		}
		memories := mapRows(x.Memories, func(m Memory) string { return m.Text })
		// The workspace's is made from the channel's; that of C2 names them, and is made from nothing of theirs.
		if want := []string{"thread: " + canaryText, "channel: " + canaryText, "channel, again: " + canaryText, "all: " + canaryText, canaryText}; !slices.Equal(memories, want) {
			t.Errorf("memories %q, want %q", memories, want)
		}
		must(t, db.ForgetPerson(t.Context(), canary, operator, "o2", noStep))
		x, err = db.ExportPerson(t.Context(), canary, noStep)
		if err != nil || x.Name != "" || !x.Forgotten.Equal(db.clock.now()) || len(x.Messages)+len(x.Reactions)+len(x.Orders)+len(x.Decisions)+len(x.Replies)+len(x.Steps)+len(x.Proposals)+len(x.Promises)+len(x.Memories)+len(x.Notes)+len(x.Feedback)+len(x.Installations)+len(x.Settings) > 0 {
			t.Errorf("after they were forgotten: %+v, %v", x, err)
		}
	})
}

// After somebody is forgotten, no table has their id, name or words; what others said stays.
func TestForgetPerson(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.seedPerson(t)
		want := []string{"promises.zone"}
		for _, h := range holdings {
			for _, column := range h.personal() {
				want = append(want, h.table+"."+column)
			}
		}
		slices.Sort(want)
		if got := db.traces(t); !slices.Equal(got, want) {
			t.Fatalf("seeded are\n%v, want\n%v", got, want)
		}

		// Killed after each step, it ends the same.
		killed := errors.New("killed")
		for steps := 1; ; steps++ {
			n := 0
			err := db.ForgetPerson(t.Context(), canary, "slack:"+canaryUser, "o2", func(string, int, int) error {
				if n++; n == steps {
					return killed
				}
				return nil
			})
			if err == nil {
				break
			}
			if !errors.Is(err, killed) {
				t.Fatal(err)
			}
		}
		if got := db.traces(t); len(got) > 0 {
			t.Errorf("left in %v", got)
		}
		// A guest who is met again may be forgotten again.
		db.see(t, "C1", canaryUser, noon)
		must(t, db.ForgetPerson(t.Context(), canary, operator, "o2", noStep))
		for what, n := range map[string]int{
			"messages|text = 'filler'":                                                            2 * sweepChunk,
			"messages|deleted AND user_id = ''":                                                   3,
			"messages|text LIKE '%@" + nobody + " and <@U2>%'":                                    1,
			"memories|text = 'two: " + nobody + " leads it'":                                      1,
			"memories|text = '' AND forgotten_us > 0":                                             5,
			"decisions|reason = 'a good question'":                                                1,
			"decisions|reason = '" + aboutForgotten + "'":                                         3,
			"snapshots|TRUE":                                                                      0,
			"opinions|reason = 'a good question'":                                                 1,
			"opinions|reason = '" + aboutForgotten + "'":                                          2,
			"outbox|text = 'to somebody else'":                                                    1,
			"outbox|text = 'ask @" + nobody + " soon'":                                            1,
			"orders|ordered_by = '" + orderedByNobody + "'":                                       2,
			"orders|kind = 'forget-person' AND id = 'o2'":                                         1,
			"reactions|user_id = 'U2'":                                                            1,
			"users|name = 'Bea'":                                                                  1,
			"outsiders|channel_id = 'C1' AND left_us < seen_us":                                   1,
			"outsiders|channel_id = 'D1'":                                                         0,
			"writers|user_id = 'U2'":                                                              1,
			"channel_settings|set_by = '" + orderedByNobody + "' AND value = 'as " + nobody + "'": 1,
			"installations|installed_by = '" + orderedByNobody + "' AND state = 'active'":         1,
			// What others asked for and decided stays. Only texts go that may be of the person.
			"proposals|id = 'p1' AND asker = 'U2' AND decided_by = '" + orderedByNobody + "'":                                               1,
			"proposals|id = 'p2' AND state = 'begun' AND NOT idempotent AND asker = '' AND input = '{}' AND decided_by = 'slack:U2'":        1,
			"proposals|id = 'p3' AND state = 'withdrawn' AND asker = 'U2' AND input = '{}' AND decided_by = 'slack:U3'":                     1,
			"proposals|id = 'p4' AND state = 'done' AND asker = 'U2' AND input = '{\"to\":\"" + nobody + "\"}' AND decided_by = 'slack:U3'": 1,
			"proposals|id = 'p5' AND state = 'approved' AND asker = 'U2' AND input = '{\"to\":\"Bea\"}' AND decided_by = 'slack:U3'":        1,
			"steps|id = 's0' AND input = '{}' AND output = ''":                                                                              1,
			"steps|id = 's2' AND input = '{\"query\":\"boats\"}' AND output = 'boats'":                                                      1,
			"steps|id = 's3' AND tool = 'search_messages' AND input = '{}' AND output = ''":                                                 1,
			"turns|decision = 'run/3' AND text = 'let me see'":                                                                              1,
			"turns|decision = 'run/2' AND text = '' AND opaque = ''":                                                                        1,
			"feedback|reason = 'rude to " + nobody + "'":                                                                                    1,
			"promises|what = 'ask Bea'":            1,
			"promises|what = 'ask " + nobody + "'": 1,
			"promises|unless = '@" + nobody + " has answered' AND ended_by = '" + orderedByNobody + "'": 1,
			"notes|text = 'ask " + nobody + " or @" + nobody + "'":                                      1,
		} {
			table, where, _ := strings.Cut(what, "|")
			if got := db.count(t, table, where); got != n {
				t.Errorf("%d rows of %s, want %d", got, what, n)
			}
		}
		if long, _ := db.currentTexts(t, theChannel); long != "" {
			t.Errorf("the channel remembers %q", long)
		}
	})
}

// Slack still has what was forgotten, and shows it to catch-up and in threads.
func TestHistoryDoesNotBringBackWhoWasForgotten(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.seedPerson(t)
		must(t, db.ForgetPerson(t.Context(), canary, operator, "o2", noStep))
		old := func(channel string, n int) chat.Message {
			return in(channel, chat.Message{Team: team, TS: at(n), UserID: canaryUser, Text: canaryText})
		}
		others := in("C1", said(at(30), ""))
		others.Text = "thanks, <@" + canaryUser + ">"
		for _, history := range [][]chat.Message{{old("C1", 0), old("C1", 20), others}, {old("C3", 1)}} {
			for range 2 {
				must(t, db.SaveHistory(t.Context(), history))
			}
		}
		edit := old("C1", 0)
		edit.Revision = at(1)
		if known := db.known(t, edit); !known.Message.Deleted || known.Message.Text != "" {
			t.Errorf("it is %+v", known.Message)
		}
		if got := db.traces(t); len(got) > 0 {
			t.Errorf("back in %v", got)
		}
		if m, err := db.Message(t.Context(), team, "C1", at(30)); err != nil || m.Text != "thanks, @"+nobody {
			t.Errorf("%+v, %v", m, err)
		}
		// What they write later is stored as ever.
		db.clock.advance(time.Hour)
		later := old("C1", 0)
		later.TS = chat.TS(db.clock.now())
		must(t, db.SaveHistory(t.Context(), []chat.Message{later}))
		if m, err := db.Message(t.Context(), team, "C1", later.TS); err != nil || m.Text != canaryText || m.UserID != canaryUser {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// Conversations hear that recent messages are gone, so that nothing is posted that was made of them.
func TestForgetPersonWithdrawsWhatWaits(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		old, fresh, later := said(at(0), ""), said(at(100_000), ""), said(at(100_002), "")
		db.record(t, old, keep(old, conversation.Said))
		db.clock.advance(100_001 * time.Second)
		db.record(t, fresh, keep(fresh, conversation.Said))
		must(t, db.ForgetPerson(t.Context(), chat.Person{Team: team, User: "U1"}, operator, "o1", func(string, int, int) error {
			db.store(t, later) // while it runs
			return nil
		}))
		if m, err := db.Message(t.Context(), team, channel, later.TS); err != nil || m.Text == "" || m.UserID != "U1" {
			t.Errorf("what they write meanwhile is %+v, %v", m, err)
		}
		got := mapRows(db.pending(t, of(fresh)), func(c PendingChange) string { return c.TS + " " + string(c.Kind) })
		if want := []string{old.TS + " said", fresh.TS + " said", fresh.TS + " deleted"}; !slices.Equal(got, want) {
			t.Errorf("to be relayed: %v, want %v", got, want)
		}
	})
}

func TestReplaceWord(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]string{
		{"Ann said, ask Ann.", "Ann", "X said, ask X."},
		{"Annette, JoAnn and ann", "Ann", "Annette, JoAnn and ann"},
		{"AnnAnn Ann", "Ann", "AnnAnn X"},
		{"昨日田中さんが言った", "田中", "昨日Xさんが言った"},
		{"Ann", "", "Ann"},
	} {
		if got := replaceWord(test[0], test[1], "X"); got != test[2] {
			t.Errorf("%q in %q: %q, want %q", test[1], test[0], got, test[2])
		}
	}
}
