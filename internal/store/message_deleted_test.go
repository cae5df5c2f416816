package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// deleted is a message as the event of its deletion leaves it.
func deleted(m chat.Message) chat.Message {
	m.Deleted, m.Text, m.Files, m.Revision = true, "", nil, ""
	return m
}

// A note goes with the message that asked for it, whether that is stored or has been pruned, and nothing
// brings it back.
func TestNotesGoWithTheirMessage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: channel, Name: "one"})
		stored, pruned, stays := said(chat.TS(day(90)), ""), said(chat.TS(day(91)), ""), said(chat.TS(day(1)), "")
		note := func(m chat.Message) error {
			return errOf(db.AddNote(t.Context(), team, channel, "step/"+m.TS, chat.Note{TS: m.TS, Author: "U1", Text: "note of " + m.TS}))
		}
		for _, m := range []chat.Message{stored, pruned, stays} {
			db.store(t, m)
			must(t, note(m))
		}
		db.exec(t, "DELETE FROM messages WHERE ts = ?", pruned.TS)
		for _, m := range []chat.Message{stored, pruned} {
			db.record(t, m, keep(deleted(m)))
		}
		late := said(chat.TS(day(89)), "") // it is deleted while its answer is under way
		db.record(t, late, keep(deleted(late)))
		if err := note(late); !errors.Is(err, ErrDeleted) {
			t.Errorf("a note of a deleted message: %v, want ErrDeleted", err)
		}
		db.prune(t, all)
		db.wantRows(t, 1, "messages", "TRUE")
		shown, err := db.Notes(t.Context(), team, channel)
		if err != nil || len(shown) != 1 || shown[0].TS != stays.TS {
			t.Errorf("in prompts: %+v, %v", shown, err)
		}
		home, _, err := db.NewestNotes(t.Context(), team, []string{channel}, 10)
		if err != nil || len(home) != 1 || home[0].TS != stays.TS {
			t.Errorf("on Home: %+v, %v", home, err)
		}
	})
}

const secret = "kingfisher"

// lookedUp saves a turn of a decision that answers a message, with one call and its result, and returns the call's id.
func (db database) lookedUp(t *testing.T, decision, trigger string, r StepResult) string {
	t.Helper()
	steps, err := db.SaveTurn(t.Context(), chat.Conversation{Team: team, Channel: channel, Thread: trigger}, trigger, Turn{
		Decision: decision, Text: secret, Opaque: secret, Steps: []Step{{CallID: "c", Tool: "search_messages", Input: `{"query":"` + secret + `"}`, State: StepWaiting}},
	})
	must(t, err)
	must(t, errOf(db.BeginStep(t.Context(), steps[0].ID)))
	r.Output += secret
	r.Files = []StepFile{{Name: secret, MIME: "image/png", Data: []byte(secret)}}
	must(t, db.EndStep(t.Context(), steps[0].ID, r))
	return steps[0].ID
}

func (db database) outcome(t *testing.T, decision string, as conversation.Outcome) {
	t.Helper()
	must(t, db.Decide(t.Context(), Decision{Key: decision, Outcome: conversation.Pending}))
	if as != conversation.Pending {
		must(t, db.Settle(t.Context(), decision, as, ""))
	}
}

// secrets is the tables in which the secret stands, with the number of their rows that have it.
func (db database) secrets(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	for table, columns := range map[string]string{
		"messages": "text", "steps": "input || output", "turns": "text || opaque", "step_files": "name", "proposals": "input || output", "promises": "what || unless",
	} {
		if n := db.count(t, table, columns+" LIKE ?", "%"+secret+"%"); n > 0 {
			found[table] = n
		}
	}
	return found
}

// What was looked up in answer to a message, or shows it, is empty once the message goes: deleted in Slack, edited,
// purged with its channel, or pruned. So are the proposals and promises that it asked for.
func TestTextsGoWithTheirMessage(t *testing.T) {
	gone := map[string]func(t *testing.T, db database, m chat.Message){
		"deleted": func(t *testing.T, db database, m chat.Message) { db.record(t, m, keep(deleted(m))) },
		"purged": func(t *testing.T, db database, _ chat.Message) {
			must(t, db.PurgeChannel(t.Context(), team, "C2", operator, "p", noStep))
		},
		"forgotten": func(t *testing.T, db database, _ chat.Message) {
			must(t, db.ForgetPerson(t.Context(), chat.Person{Team: team, User: "U1"}, operator, "f", noStep))
		},
		"pruned": func(t *testing.T, db database, _ chat.Message) { db.prune(t, Cutoffs{Messages: day(keptDays)}) },
		"edited": func(t *testing.T, db database, m chat.Message) {
			m.Text, m.Revision = "something else", chat.TS(noon)
			db.record(t, m, keep(m))
		},
	}
	for how, goes := range gone {
		t.Run(how, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, db database) {
				db.sync(t, Channel{ID: channel, Name: "one"}, Channel{ID: "C2", Name: "two"})
				// The message is in another channel than the reply that shows it.
				m := in("C2", said(chat.TS(day(90)), ""))
				m.Text = secret
				asks := in("C1", said(chat.TS(day(1)), ""))
				asks.UserID = "U2"
				db.store(t, m, asks)
				db.lookedUp(t, "run/1", asks.TS, StepResult{Quotes: []Quote{{"C2", m.TS}, {"C2", m.TS}}})
				db.outcome(t, "run/1", conversation.OutcomePosted)
				if got := db.secrets(t); got["steps"] != 1 || got["turns"] != 1 || got["step_files"] != 0 {
					t.Errorf("once it was answered, the text stands in %v", got)
				}
				goes(t, db, m)
				if got := db.secrets(t); len(got) > 0 {
					t.Errorf("the text stands in %v", got)
				}
			})
		})
	}
}

// What was looked up stays where an edit, or a preview that Slack adds, takes nothing of the message away.
func TestTextsStayWhereTheirMessageGrows(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		m.Text = "see " + secret
		db.store(t, m)
		db.lookedUp(t, "run/1", m.TS, StepResult{})
		db.outcome(t, "run/1", conversation.OutcomePosted)
		m.Text += "\n[linked message]\nmore"
		db.record(t, m, keep(m))
		if got := db.secrets(t); got["steps"] != 1 {
			t.Errorf("the text stands in %v", got)
		}
	})
}

// What a message asked for is withdrawn with it, without its texts. Who decided, and what has become of it, stays.
func TestDeletedRequests(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.store(t, said(at(1), ""), said(at(2), at(1)))
		input := `{"title":"` + secret + `"}`
		proposal := func(id string, state ProposalState) {
			db.insert(t, &Proposal{Choice: Choice{ID: id, TeamID: team, ChannelID: channel, ThreadTS: at(1), TriggerTS: at(2)}, Input: input, Output: secret, State: state, Idempotent: true, DecidedBy: "slack:U9", LapsesUS: db.nowMicros() + 1000})
		}
		proposal("open", ProposalOpen)
		proposal("approved", ProposalApproved)
		proposal("begun", ProposalBegun)
		proposal("done", ProposalDone)
		p := db.promise("promised")
		p.What, p.Unless = secret, secret
		db.made(t, p, at(3))
		db.lookedUp(t, "run/1", at(2), StepResult{})
		db.record(t, said(at(2), at(1)), keep(deleted(said(at(2), at(1)))))
		for id, want := range map[string]ProposalState{"open": ProposalWithdrawn, "approved": ProposalWithdrawn, "begun": ProposalBegun, "done": ProposalDone} {
			got, err := db.Proposal(t.Context(), id)
			if err != nil || got.State != want || got.DecidedBy != "slack:U9" || (got.Input == input) != (id == "begun") {
				t.Errorf("%s is %+v, %v", id, got, err)
			}
		}
		if got, err := db.Promise(t.Context(), "promised"); err != nil || got.State != PromiseWithdrawn || got.What+got.Unless != "" || got.Asker != "U1" {
			t.Errorf("the promise is %+v, %v", got, err)
		}
		must(t, db.EndProposal(t.Context(), "begun", ProposalDone, secret))
		// The reply that is under way finds out. A result that comes after its end is not kept.
		db.outcome(t, "run/1", conversation.Dropped)
		db.outcome(t, "run/2", conversation.Dropped)
		db.exec(t, "UPDATE messages SET deleted = FALSE")
		db.lookedUp(t, "run/2", at(1), StepResult{})
		if got := db.secrets(t); len(got) > 0 {
			t.Errorf("the text stands in %v", got)
		}
	})
}

// A message that a reply under way has been shown is taken out of its results at once, and out of the rest when the
// reply has ended. Files end with the reply, or two days later if its run was lost.
func TestTextsOfAReplyUnderWay(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		db.store(t, m, said(at(2), ""), said(at(3), ""))
		shows := db.lookedUp(t, "run/1", at(2), StepResult{Quotes: []Quote{{channel, m.TS}}})
		db.lookedUp(t, "lost", at(3), StepResult{})
		db.outcome(t, "run/1", conversation.Pending)
		db.record(t, m, keep(deleted(m)))
		turns, err := db.Turns(t.Context(), "run/1")
		if err != nil || turns[0].Opaque != secret || turns[0].Steps[0].Output != hiddenOutput {
			t.Errorf("under way: %+v, %v", turns, err)
		}
		if files, err := db.StepFiles(t.Context(), "run/1"); err != nil || len(files[shows]) > 0 {
			t.Errorf("under way it shows %+v, %v", files, err)
		}
		must(t, db.Settle(t.Context(), "run/1", conversation.OutcomePosted, ""))
		db.wantRows(t, 0, "turns", "decision = 'run/1' AND text || opaque <> ''")
		db.wantRows(t, 1, "step_files", "TRUE")
		db.clock.advance(49 * time.Hour)
		db.prune(t, Cutoffs{})
		db.wantRows(t, 0, "step_files", "TRUE")
	})
}

// Late events, edits and orders about old messages store nothing of a person who was forgotten since, nor of a
// channel that was purged since.
func TestEventsDoNotBringBackWhatWasErased(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"})
		db.insert(t, &userRow{TeamID: team, UserID: canaryUser, Name: canaryName})
		theirs := func(channel string, n int) chat.Message {
			return in(channel, chat.Message{Team: team, TS: at(n), UserID: canaryUser, Name: canaryName, Text: canaryText})
		}
		purged := in("C2", said(at(3), ""))
		purged.Text = canaryText
		others := in("C1", said(at(4), ""))
		db.store(t, theirs("C1", 0), purged, others)
		db.clock.advance(time.Hour)
		must(t, db.ForgetPerson(t.Context(), canary, operator, "o", noStep))
		must(t, db.PurgeChannel(t.Context(), team, "C2", operator, "p", noStep))

		edited := func(m chat.Message) chat.Message {
			m.Revision = chat.TS(db.clock.now())
			return m
		}
		old := []chat.Message{theirs("C1", 0), theirs("C1", 10), theirs("C1", 11), purged, in("C2", said(at(12), ""))}
		for i, m := range append(old, edited(old[0]), edited(old[1]), edited(purged)) {
			erased := false
			targets, err := db.Record(t.Context(), m, func(known Known) Entry {
				erased = known.Erased || known.Message != nil && known.Message.Deleted
				if m.Revision == "" && i%2 == 0 { // as the shortcut does it
					return Entry{Message: &m, Handled: true, Order: &Order{ID: "order/" + m.TS, Kind: "answer-now"}, Changes: keep(m, conversation.Addressed)(known).Changes}
				}
				return keep(m, conversation.Said)(known)
			})
			if err != nil || len(targets) > 0 || !erased {
				t.Errorf("%s in %s: erased %v, to be told %v, %v", m.TS, m.Channel, erased, targets, err)
			}
		}
		others.Text = "thanks, <@" + canaryUser + ">"
		db.record(t, edited(others), keep(edited(others)))
		late := in("C1", said(at(13), ""))
		late.Text = others.Text
		db.record(t, late, keep(late))
		for _, ts := range []string{others.TS, late.TS} {
			if m, err := db.Message(t.Context(), team, "C1", ts); err != nil || m.Text != "thanks, @"+nobody {
				t.Errorf("what others wrote is %+v, %v", m, err)
			}
		}
		if got := db.traces(t); len(got) > 0 {
			t.Errorf("back in %v", got)
		}
		db.wantRows(t, 0, "messages", "channel_id = 'C2'")
		db.wantRows(t, 0, "orders", "kind = 'answer-now'")
		// What they write later is stored as ever.
		db.clock.advance(time.Hour)
		later := theirs("C2", int(db.clock.now().Sub(noon).Seconds()))
		db.store(t, later)
		if m, err := db.Message(t.Context(), team, "C2", later.TS); err != nil || m.Text != canaryText || m.UserID != canaryUser {
			t.Errorf("later: %+v, %v", m, err)
		}
	})
}

// Memories outlive the messages that they were made of. Since when somebody wrote where outlives them, too, so that
// forgetting and the export find the memories.
func TestForgettingFindsMemoriesOfPrunedMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"}, Channel{ID: "C3", Name: "three"})
		theirs := func(channel string, days int) chat.Message {
			return in(channel, chat.Message{Team: team, TS: chat.TS(day(days)), UserID: "U1", Text: secret})
		}
		other := in("C3", said(chat.TS(day(95)), ""))
		other.UserID = "U2"
		db.store(t, theirs("C1", 90), theirs("C1", 85), theirs("C1", 1), theirs("C2", 90), other)
		for _, c := range []string{"C1", "C2", "C3"} {
			db.clock.at = day(100)
			db.make(t, chat.Scope{Team: team, Channel: c}, chat.LongTerm, "from before "+c)
			db.clock.at = day(70)
			db.make(t, chat.Scope{Team: team, Channel: c}, chat.LongTerm, "of then "+c)
		}
		db.clock.at = noon
		for range 2 {
			db.prune(t, Cutoffs{Messages: day(keptDays)})
		}
		db.wantRows(t, 1, "messages", "TRUE")
		x, err := db.ExportPerson(t.Context(), chat.Person{Team: team, User: "U1"}, noStep)
		memories := mapRows(x.Memories, func(m Memory) string { return m.Text })
		if want := []string{"of then C1", "of then C2"}; err != nil || !slices.Equal(memories, want) {
			t.Errorf("exported are %q, %v; want %q", memories, err, want)
		}
		if want := []ExportedWriting{{"C1", day(90)}, {"C2", day(90)}}; !slices.Equal(x.Wrote, want) {
			t.Errorf("they wrote in %+v, want %+v", x.Wrote, want)
		}
		must(t, db.ForgetPerson(t.Context(), chat.Person{Team: team, User: "U1"}, operator, "o", noStep))
		left := db.left(t, "memories", "text")
		if want := []string{"", "", "from before C1", "from before C2", "from before C3", "of then C3"}; !slices.Equal(left, want) {
			t.Errorf("left are %q, want %q", left, want)
		}
		if x, err = db.ExportPerson(t.Context(), chat.Person{Team: team, User: "U1"}, noStep); err != nil || len(x.Wrote)+len(x.Memories) > 0 {
			t.Errorf("after they were forgotten: %+v, %v", x, err)
		}
		db.wantRows(t, 1, "writers", "user_id = 'U2'")
	})
}
