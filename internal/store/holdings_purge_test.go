package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/test/testserver"
)

// keptOfPurgedChannel is where a purged channel's id stays, and why.
var keptOfPurgedChannel = map[string]string{
	"erased.channel_id":      "the mark that keeps Slack's history out",
	"forgotten.channel_id":   "the mark that has memory runs begin again",
	"model_calls.channel_id": "what it cost",
	"orders.channel_id":      "who purged it",
	"memories.sources":       "of emptied memories of the workspace: ids",
	"channels.channel_id":    "the bot is in it",
	"outsiders.channel_id":   "who reads it while the bot is in it",
}

// placed is the columns, as table.column, that have a channel's id.
func (db database) placed(t *testing.T, channel string) (columns []string) {
	t.Helper()
	for table, names := range db.textColumns(t) {
		for _, name := range names {
			if db.count(t, table, "CAST("+name+" AS TEXT) LIKE ?", "%"+channel+"%") > 0 {
				columns = append(columns, table+"."+name)
			}
		}
	}
	slices.Sort(columns)
	return columns
}

func TestPurgeChannel(t *testing.T) {
	purge := func(t *testing.T, db database) {
		const room = "C1"
		db.seedPerson(t)
		relayed := int64(1)
		thread := chat.Conversation{Team: team, Channel: room, Thread: at(1)}
		db.insert(t,
			&changeRow{WorkflowID: thread.ID(), TS: at(2), Kind: "said", RelayedUS: &relayed},
			&conversationRow{WorkflowID: thread.ID()}, &conversationRow{WorkflowID: "channel/T1/C1"},
			&Decision{Key: "t/1", WorkflowID: thread.ID(), TriggerTS: at(2), Reason: canaryText, Outcome: conversation.OutcomePosted, DecidedUS: 1},
			&callRow{TeamID: team, ChannelID: room, ThreadTS: at(1), Decision: "t/1", TokensIn: 7, CalledUS: micros(noon)},
			&forgottenRow{TeamID: team, ChannelID: room, TS: at(50), UntilUS: 1},
		)
		db.exec(t, "UPDATE decisions SET decided_us = 1 WHERE decided_us = 0")
		// A snapshot of another channel may hold what was remembered of this one.
		before := slices.DeleteFunc(db.placed(t, "C2"), func(column string) bool { return column == "snapshots.channel_id" })

		db.insert(t, &changeRow{WorkflowID: thread.ID(), TS: at(4), Kind: "said"})
		if err := db.PurgeChannel(t.Context(), team, room, operator, "o9", noStep); !errors.Is(err, ErrInUse) {
			t.Errorf("while a change waits: %v", err)
		}
		if n := db.count(t, "messages", "channel_id = 'C1'"); n == 0 {
			t.Error("it purged all the same")
		}
		db.exec(t, "UPDATE changes SET relayed_us = 1")
		killed := errors.New("killed")
		for steps := 1; ; steps++ {
			n := 0
			err := db.PurgeChannel(t.Context(), team, room, operator, "o9", func(string, int, int) error {
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
		for _, column := range db.placed(t, "C1") {
			if keptOfPurgedChannel[column] == "" {
				t.Errorf("left in %s", column)
			}
		}
		if got := db.placed(t, "C2"); !slices.Equal(got, before) {
			t.Errorf("the other channel is in %v, before in %v", got, before)
		}
		if long, _ := db.currentTexts(t, workspace); long != "" {
			t.Errorf("the workspace remembers %q", long)
		}
		// its cost
		db.wantRows(t, 1, "model_calls", "channel_id = 'C1' AND thread_ts = '' AND decision = '' AND tokens_in = 7")
		// Slack still has what was said in it.
		must(t, db.SaveHistory(t.Context(), []chat.Message{said(at(1), ""), said(at(70), "")}))
		db.clock.advance(time.Hour)
		later := said(chat.TS(db.clock.now()), "")
		must(t, db.SaveHistory(t.Context(), []chat.Message{later}))
		if got := db.left(t, "messages WHERE channel_id = 'C1'", "ts"); !slices.Equal(got, []string{later.TS}) {
			t.Errorf("stored are %v", got)
		}
	}
	eachDatabase(t, purge)
	t.Run("postgres in the order of a dictionary", func(t *testing.T) {
		t.Parallel()
		purge(t, migrated(t, testserver.PostgresInDictionaryOrder(t)))
	})
}
