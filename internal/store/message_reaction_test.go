package store

import (
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// Events of a reaction arrive in any order and twice: what Slack shows in the end is what is read.
func TestReactionsAreReadWithTheirMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		db.store(t, m)
		put := func(user, name string, second int, removed bool) {
			t.Helper()
			r := Reaction{Team: team, Channel: channel, TS: m.TS, User: user, Name: name, Removed: removed, At: m.Time().Add(time.Duration(second) * time.Second)}
			must(t, db.PutReaction(t.Context(), r))
		}
		put("U2", "tada", 20, false)
		put("U1", "eyes", 10, false)
		put("U1", "eyes", 10, false)
		put("U3", "joy", 30, false)
		put("U3", "joy", 40, true)
		put("U4", "+1", 60, true) // before its addition
		put("U4", "+1", 50, false)
		put("U5", "wave", 70, false)
		put("U5", "wave", 80, true)
		put("U5", "wave", 90, false)
		top := chat.Conversation{Team: team, Channel: channel}
		read := db.context(t, top, 10).Messages
		want := []chat.Reaction{{Name: "eyes", UserID: "U1"}, {Name: "tada", UserID: "U2"}, {Name: "wave", UserID: "U5"}}
		if len(read) != 1 || !slices.Equal(read[0].Reactions, want) {
			t.Errorf("read %+v, want reactions %+v", read, want)
		}
	})
}

// Reactions go with the messages that they belong to.
func TestPruneReactions(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		old, fresh := said(at(1), ""), said(at(50), "")
		db.store(t, old, fresh)
		for _, m := range []chat.Message{old, fresh} {
			r := Reaction{Team: team, Channel: channel, TS: m.TS, User: "U1", Name: "eyes", At: m.Time()}
			must(t, db.PutReaction(t.Context(), r))
		}
		must(t, db.Prune(t.Context(), Cutoffs{Messages: chat.Time(at(30))}, func(string, int) error { return nil }))
		var left []string
		if err := db.db.Model(&reactionRow{}).Pluck("ts", &left).Error; err != nil || !slices.Equal(left, []string{fresh.TS}) {
			t.Errorf("left are the reactions to %v, %v", left, err)
		}
	})
}
