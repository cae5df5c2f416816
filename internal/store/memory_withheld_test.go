package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// Every channel was remembered before any was withheld: in itself, in a thread and in the
// workspace. COWN stands under its id, too, which wins.
func TestWithheldMemories(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		all := []Channel{{ID: "C1", Name: "one"}, {ID: "CHERE", Name: "by id"}, {ID: "CNAMED", Name: "here"}, {ID: "CNOT", Name: "nowhere"}, {ID: "COWN", Name: "own"}}
		db.sync(t, all...)
		for i, c := range all {
			root := in(c.ID, said(at(2*i), ""))
			db.store(t, root, in(c.ID, said(at(2*i+1), root.TS)))
			must(t, errOf(db.AddNote(t.Context(), team, c.ID, "step"+c.ID, chat.Note{TS: root.TS, Author: "U1", Text: "a note"})))
			db.remember(t, noon, chat.Scope{Team: team, Channel: c.ID, Thread: root.TS}, chat.Scope{Team: team, Channel: c.ID})
		}
		db.remember(t, noon, workspace)
		before := db.cursor(t, workspace, time.Time{})
		db.store(t, in("CNOT", said(at(50), at(6))), in("CHERE", said(at(51), at(2))))

		told := func(here string) string {
			t.Helper()
			k, err := db.Knowledge(t.Context(), team, here, noon, 10, 10)
			if err != nil || len(k.Channels) != len(all) || k.Untold != 0 {
				t.Fatalf("in %q: %+v, %v", here, k, err)
			}
			var told []string
			for _, c := range k.Channels {
				if (c.LongTerm == "") != (c.ShortTerm == "") || (c.LongTerm == "") != (c.LongID == 0) || c.ChannelName == "" {
					t.Errorf("in %q: %+v", here, c)
				}
				if c.LongTerm != "" {
					told = append(told, c.ChannelID)
				}
			}
			slices.Sort(told)
			return strings.Join(told, " ")
		}
		workspaceTold := func(here string, sources ...string) bool {
			t.Helper()
			db.make(t, workspace, chat.LongTerm, "long", sources...)
			long, _, err := db.WorkspaceMemories(t.Context(), team, here)
			if err != nil {
				t.Fatal(err)
			}
			return long != nil
		}
		changed := func() string {
			t.Helper()
			threads, err := db.ChangedThreads(t.Context(), team, noon, noon, chat.Scope{}, 10)
			channels, errs := db.ChangedChannels(t.Context(), team, noon, chat.Scope{}, 10)
			if err != nil || errs != nil {
				t.Fatal(err, errs)
			}
			return fmt.Sprint(append(threads, channels...))
		}
		if got := told("C1"); got != "C1 CHERE CNAMED CNOT COWN" || !workspaceTold("C1", "CHERE/1", "CNAMED/2", "CNOT/3", "COWN/4") {
			t.Errorf("before, in C1: %s", got)
		}

		db.Withhold(chat.Withheld{
			Inside:  chat.ChannelKeys{IDs: []string{"CHERE"}, Names: []string{"here", "nowhere", "own", "unknown"}},
			Nowhere: chat.ChannelKeys{Names: []string{"nowhere"}},
			IDs:     []string{"CHERE", "COWN"},
		})
		for here, want := range map[string]string{
			"": "C1 COWN", "C1": "C1 COWN", "CHERE": "C1 CHERE COWN", "CNAMED": "C1 CNAMED COWN", "CNOT": "C1 COWN", "COWN": "C1 COWN",
		} {
			if got := told(here); got != want {
				t.Errorf("in %q: %s, want %s", here, got, want)
			}
			for source, inside := range map[string]bool{"C1/1": true, "COWN/1": true, "CHERE/1": here == "CHERE", "CNAMED/1": here == "CNAMED", "CNOT/1": false} {
				if got := workspaceTold(here, "C1/7", source); got != inside {
					t.Errorf("in %q: a memory of the workspace made of %s is told: %v", here, source, got)
				}
			}
			var kept []string
			must(t, db.db.Raw("SELECT c.channel_id FROM channels c WHERE c.team_id = ? AND ? ORDER BY c.channel_id", team, db.keptFrom(here)).Scan(&kept).Error)
			if want := slices.DeleteFunc([]string{"CHERE", "CNAMED", "CNOT"}, func(id string) bool { return id == here }); !slices.Equal(kept, want) {
				t.Errorf("in %q what is said in %v cannot be found, want %v", here, kept, want)
			}
			if here == "" {
				continue
			}
			read, err := db.Context(t.Context(), ContextRequest{
				Conversation: chat.Conversation{Team: team, Channel: here}, Active: noon, Remembered: noon, Channels: 10, Threads: 10, Named: 10,
			})
			if err != nil || (len(read.Threads) == 0) != (here == "CNOT") || read.ThreadsUntold != 0 || (len(read.Notes) == 0) != (here == "CNOT") {
				t.Errorf("in %s: threads %v, %d untold, notes %v, %v", here, read.Threads, read.ThreadsUntold, read.Notes, err)
			}
		}
		if got, want := changed(), "[thread CHERE/"+at(2)+" channel CHERE]"; got != want {
			t.Errorf("to be remembered: %s, want %s", got, want)
		}
		after := db.cursor(t, workspace, time.Time{})
		if after.Count != 4 || after.Revision == before.Revision {
			t.Errorf("the workspace is made of %+v, before of %+v", after, before)
		}
		// As many memories as before, but of other channels.
		db.Withhold(chat.Withheld{Inside: chat.ChannelKeys{IDs: []string{"C1", "CNAMED", "CNOT"}}})
		if other := db.cursor(t, workspace, time.Time{}); other.Count != after.Count || other == after {
			t.Errorf("once others are withheld: %+v, before %+v", other, after)
		}
		// All of a workspace, except for what says otherwise under its id or its name, and nothing of another.
		db.Withhold(chat.Withheld{
			IDs: []string{"COWN"}, InsideTeams: []string{team, "TNOWHERE"}, NowhereTeams: []string{"TNOWHERE"},
			Exempt: chat.ChannelKeys{IDs: []string{"COWN"}, Names: []string{"one", "own"}},
		})
		if got := told("CHERE"); got != "C1 CHERE COWN" {
			t.Errorf("in CHERE, with all withheld: %s", got)
		}
		if got, want := changed(), "[thread CHERE/"+at(2)+" thread CNOT/"+at(6)+" channel CHERE channel CNOT]"; got != want {
			t.Errorf("with all withheld, but to be remembered: %s, want %s", got, want)
		}
		db.Withhold(chat.Withheld{InsideTeams: []string{team}, NowhereTeams: []string{team}, Exempt: chat.ChannelKeys{Names: []string{"here", "own"}}, IDs: []string{"COWN"}})
		if got := told("CNOT"); got != "CNAMED" {
			t.Errorf("in CNOT, with all nowhere: %s", got)
		}
		if got := changed(); got != "[]" {
			t.Errorf("with all nowhere, to be remembered: %s", got)
		}
		if all := db.cursor(t, workspace, time.Time{}); all.Revision == before.Revision {
			t.Errorf("with all nowhere: %+v, before %+v", all, before)
		}
		db.Withhold(chat.Withheld{InsideTeams: []string{"TOTHER"}, NowhereTeams: []string{"TOTHER"}})
		if got := told("C1"); got != "C1 CHERE CNAMED CNOT COWN" {
			t.Errorf("in C1, with another workspace's withheld: %s", got)
		}
		db.Withhold(chat.Withheld{})
		if again := db.cursor(t, workspace, time.Time{}); again != before {
			t.Errorf("once none is withheld: %+v, at first %+v", again, before)
		}
	})
}
