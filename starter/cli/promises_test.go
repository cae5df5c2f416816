package cli

import (
	"strconv"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/store"
)

// promise makes a promise that is confirmed, due in some hours.
func (o *ledgerBundle) promise(p store.Promise, hours int) store.Promise {
	o.t.Helper()
	p.TeamID, p.Asker, p.Decision, p.DueUS = "T1", "U1", "r/"+p.ID, time.Now().Add(time.Duration(hours)*time.Hour).UnixMicro()
	made, err := o.AddPromise(o.t.Context(), p, store.PromiseLimits{Conversation: 20})
	o.must(err)
	_, err = o.ShowPromises(o.t.Context(), p.Decision, o.ts(9))
	o.must(err)
	return made
}

func TestPromisesCommand(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "time_zone: UTC\n")
	root := o.message(0, "")
	o.record(root, conversation.Said, conversation.Addressed)
	later := o.promise(store.Promise{Choice: store.Choice{ID: "later", ChannelID: "C1", ThreadTS: root.TS, TriggerTS: root.TS}, What: "the release \x1b[2J <b>", Unless: "it is out", Every: "week", Zone: "Asia/Tokyo"}, 5)
	soon := o.promise(store.Promise{Choice: store.Choice{ID: "soon", ChannelID: "C2", TriggerTS: root.TS}, What: "stand-up", Zone: "UTC"}, 1)
	o.must(o.HoldPromises(t.Context(), soon.Conversation(), time.Now().Add(3*time.Hour)))
	if got := o.ids("promises"); len(got) != 2 || got[0] != "soon" {
		t.Errorf("those due first come first: %q", got)
	}
	if got := o.ids("promises", "--channel", "random"); len(got) != 1 || got[0] != "soon" {
		t.Errorf("of one channel: %q", got)
	}
	o.prints([]string{"promises", "list", "--json"}, []string{
		`"id": "later"`, `"state": "open"`, `"due": "` + later.Due().Format(time.RFC3339Nano) + `"`, `"what": "the release \u001b[2J <b>"`, `"channel": "C1"`, `"thread": "` + root.TS + `"`, `"thread": ""`,
		`"asked_by": "U1"`, `"unless": "it is out"`, `"every": "week"`, `"time_zone": "Asia/Tokyo"`, `"number": 1`, `"held_until": "`, `"channel_name": "general"`, `"trigger_ts": "` + root.TS + `"`,
	}, []string{`"ended`})
	o.prints([]string{"promises", "list"}, []string{"later  open   " + formatTime(later.Due(), time.UTC) + ", every week", ", held until ", "#general, thread " + root.TS, `the release \x1b[2J <b> (unless: it is out)`}, nil)

	due := time.Now().Add(48 * time.Hour)
	at := []string{"09:30", due.In(later.Location()).Format("2006-01-02")}
	o.prints([]string{"promises", "move", "later", at[1], at[0], "--by", "carol"}, []string{"promise later is due on " + due.In(later.Location()).Format("Mon 2 Jan 2006") + ", 09:30 (Asia/Tokyo)"}, nil)
	moved, err := o.Promise(t.Context(), "later")
	o.must(err)
	changes, err := o.PendingChanges(t.Context(), later.Conversation().ID(), 10)
	o.must(err)
	if n := len(changes); n != 1 || changes[0].Kind != conversation.Moved || changes[0].Revision != "later/1/"+strconv.FormatInt(moved.DueUS, 10) || changes[0].By != "cli:carol" {
		t.Errorf("its conversation hears %+v", changes)
	}
	if got := o.ids("promises"); got[1] != "later" {
		t.Errorf("after the move: %q", got)
	}
	o.fails(1, []string{"promises", "move", "later", "2020-01-01 09:00"}, "not in the future")
	o.fails(1, []string{"promises", "move", "later", "some", "day"}, "when is \"some day\"; allowed are a distance")
	o.fails(2, []string{"promises", "move", "later"}, `expected "<when> ..."`)

	cancel := []string{"promises", "cancel", "soon", "--by", "carol"}
	o.prints(cancel, []string{"promise soon is cancelled"}, nil)
	if got, err := o.Promise(t.Context(), "soon"); err != nil || got.State != store.PromiseCancelled || got.EndedBy != "cli:carol" {
		t.Errorf("after that: %+v, %v", got, err)
	}
	o.fails(1, cancel, "promise soon is cancelled already")
	o.fails(1, []string{"promises", "move", "soon", "in 3d"}, "promise soon is cancelled already")
	o.fails(1, []string{"promises", "cancel", "none"}, "there is no promise none: `starter promises list --all` shows them")
	o.fails(1, []string{"promises", "move", "none", "in 3d"}, "there is no promise none")
	if open, all := o.ids("promises"), o.ids("promises", "--all"); len(open) != 1 || len(all) != 2 {
		t.Errorf("%d open, %d in all", len(open), len(all))
	}
	o.prints([]string{"promises", "list", "--all", "--json"}, []string{`"state": "cancelled"`, `"ended_by": "cli:carol"`, `"ended_at": "`}, nil)
	o.prints([]string{"promises", "list", "--channel", "C2"}, []string{"none"}, nil)
	o.fails(2, []string{"promises", "list", "--limit", "0"}, "1 to 10000")
}
