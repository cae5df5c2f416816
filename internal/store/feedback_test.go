package store

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// A person has one vote about a reply, the newest, however often and in whatever order votes arrive.
func TestFeedback(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		reply := parts("r", "one", "two")
		reply[1].Feedback = true
		db.compose(t, reply)
		vote := func(channel, ts, part, user, value string, second int) string {
			t.Helper()
			saved, err := db.SaveVote(t.Context(), team, channel, ts, part, user, value, noon.Add(time.Duration(second)*time.Second))
			for _, known := range []error{ErrNotFound, ErrElsewhere, ErrDeleted} {
				if errors.Is(err, known) {
					return known.Error()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(saved)
		}
		db.sync(t, Channel{ID: channel, Name: "plans", Private: true})
		if got := vote(channel, at(9), "r/1", "U1", VoteUp, 1); got != "true" {
			t.Errorf("before it is known to be posted: %s", got)
		}
		m := said(at(9), at(1))
		m.Own = true
		must(t, errOf(db.MarkReplied(t.Context(), db.parts(t, "r")[1], m)))
		must(t, db.MoveChannel(t.Context(), Move{Team: team, From: channel, To: "C2"}))
		for _, c := range []struct {
			channel, ts, part, user, value string
			second                         int
			want                           string
		}{
			{channel, at(9), "r/1", "U1", VoteUp, 1, "false"},
			{"C2", at(9), "r/1", "U1", VoteDown, 2, "true"},
			{channel, at(9), "r/1", "U1", VoteUp, 1, "false"}, // it was late
			{channel, at(9), "r/1", "U2", VoteUp, 3, "true"},
			{channel, at(9), "r/0", "U1", VoteUp, 4, ErrNotFound.Error()}, // no buttons
			{channel, at(9), "none", "U1", VoteUp, 4, ErrNotFound.Error()},
			{channel, at(8), "r/1", "U1", VoteUp, 4, ErrElsewhere.Error()},
			{"C3", at(9), "r/1", "U1", VoteUp, 4, ErrElsewhere.Error()},
		} {
			if got := vote(c.channel, c.ts, c.part, c.user, c.value, c.second); got != c.want {
				t.Errorf("%+v: %s", c, got)
			}
		}
		for user, want := range map[string]bool{"U1": true, "U2": false, "U3": false} {
			if saved, err := db.SaveVoteReason(t.Context(), "r/1", user, "too \x00long"); saved != want || err != nil {
				t.Errorf("reason of %s: %v, %v", user, saved, err)
			}
		}
		votes := func() (got []string) {
			t.Helper()
			rows, err := db.Feedback(t.Context(), []string{"run/1", "run/2"})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range rows {
				got = append(got, fmt.Sprint(v.ChannelID, " ", v.UserID, " ", v.Value, " ", v.Reason))
			}
			return got
		}
		if got, want := votes(), []string{channel + " U1 down too long", channel + " U2 up "}; !slices.Equal(got, want) {
			t.Errorf("votes %q, want %q", got, want)
		}
		if got := vote(channel, at(9), "r/1", "U1", VoteDown, 5); got != "true" || votes()[1] != channel+" U1 down too long" {
			t.Errorf("voted the same once more: %s, %v", got, votes())
		}
		for _, model := range []string{"other", "large"} {
			must(t, db.SaveCall(t.Context(), Call{Scope: chat.Scope{Team: team, Channel: channel}, Purpose: "response", Provider: "p", Model: model, Decision: "run/1", Ended: noon.Add(-time.Hour)}))
		}
		usage, err := db.Usage(t.Context(), noon, noon.Add(time.Minute))
		if want := []Usage{{TeamID: team, ChannelID: channel, Purpose: "response", Provider: "p", Model: "large", Up: 1, Down: 1}}; err != nil || !reflect.DeepEqual(usage, want) {
			t.Errorf("usage %+v, %v", usage, err)
		}
		vote(channel, at(9), "r/1", "U1", VoteUp, 6)
		if got, want := votes(), []string{channel + " U2 up ", channel + " U1 up "}; !slices.Equal(got, want) {
			t.Errorf("after another mind: %q, want %q", got, want)
		}
		db.exec(t, "UPDATE outbox SET text = '' WHERE key = 'r/1'")
		if got := vote(channel, at(9), "r/1", "U1", VoteDown, 7); got != ErrDeleted.Error() {
			t.Errorf("about a deleted reply: %s", got)
		}
	})
}
