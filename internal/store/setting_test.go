package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"myao/internal/chat"
)

// What is set in Slack is set once an order, is undone once, and says what was before. remember withholds memories at
// once, over the file, unless that locks the channel.
func TestSettings(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx, in := t.Context(), chat.Conversation{Team: team, Channel: "C1"}
		db.sync(t, Channel{ID: "C1", Name: "one"}, Channel{ID: "C2", Name: "two"})
		set := func(id string, values map[string]*string) {
			t.Helper()
			must(t, db.SetInChannel(ctx, in, id, "slack:U1", values))
		}
		holds := func(key, value string, before *string) {
			t.Helper()
			sets, err := db.SetIn(ctx, team, "C1", "C2")
			must(t, err)
			got, ok := sets["C1"][key]
			if ok != (value != "") || got.Value != value || (got.Before == nil) != (before == nil) || before != nil && *got.Before != *before || len(sets["C2"]) > 0 {
				t.Errorf("%s: %+v in %+v", key, got, sets)
			}
		}
		undo := func(id string) (undone []string, err error) {
			o, err := db.SetBy(ctx, team, id)
			must(t, err)
			return db.UndoSet(ctx, o, "slack:U2")
		}
		set("a", map[string]*string{"mode": new("mention"), "tone": new("short")})
		set("b", map[string]*string{"mode": new("off")})
		set("a", map[string]*string{"mode": new("all")}) // delivered again
		holds("mode", "off", new("mention"))
		if undone, err := undo("a"); err != nil || !slices.Equal(undone, []string{"tone"}) {
			t.Errorf("undone %q, %v", undone, err)
		}
		holds("tone", "", nil)
		set("c", map[string]*string{"mode": nil})
		holds("mode", "", nil)
		if _, err := undo("b"); !errors.Is(err, ErrChanged) {
			t.Errorf("set again since: %v", err)
		}
		if _, err := undo("c"); err != nil {
			t.Error(err)
		}
		holds("mode", "off", nil)
		if _, err := undo("c"); !errors.Is(err, ErrUndone) {
			t.Errorf("undone twice: %v", err)
		}
		if _, err := db.SetBy(ctx, "T2", "c"); !errors.Is(err, ErrNotFound) {
			t.Errorf("another workspace has it: %v", err)
		}

		kept := func(w chat.Withheld) (ids []string) {
			t.Helper()
			db.Withhold(w)
			must(t, db.db.Raw("SELECT c.channel_id FROM channels c WHERE c.team_id = ? AND ? ORDER BY c.channel_id", team, db.keptFrom("")).Scan(&ids).Error)
			return ids
		}
		byFile := chat.Withheld{Inside: chat.ChannelKeys{IDs: []string{"C1"}}, IDs: []string{"C1"}}
		before := db.cursor(t, workspace, time.Time{})
		set("d", map[string]*string{"remember": new(rememberNowhere)})
		if after := db.cursor(t, workspace, time.Time{}); after == before {
			t.Error("the workspace's memory is not made anew")
		}
		if got := kept(chat.Withheld{}); !slices.Equal(got, []string{"C1"}) {
			t.Errorf("kept in %q", got)
		}
		set("e", map[string]*string{"remember": new("everywhere")})
		if got := kept(byFile); len(got) > 0 {
			t.Errorf("opened in Slack, kept in %q", got)
		}
		for name, locks := range map[string]chat.Locks{
			"the channel": {Locked: chat.Places{Channels: chat.ChannelKeys{IDs: []string{"C1"}}}}, "its name": {Locked: chat.Places{Channels: chat.ChannelKeys{Names: []string{"one"}}}},
			"its workspace": {Locked: chat.Places{Teams: []string{team}}}, "all": {All: true},
		} {
			locked := byFile
			if locked.Locks = locks; name == "its name" {
				locked.IDs = nil
			}
			if got := kept(locked); !slices.Equal(got, []string{"C1"}) {
				t.Errorf("locked by %s, kept in %q", name, got)
			}
		}
		free := byFile
		free.Locks = chat.Locks{All: true, Free: chat.Places{Channels: chat.ChannelKeys{IDs: []string{"C1"}}}}
		if got := kept(free); len(got) > 0 {
			t.Errorf("freed from the lock of all, kept in %q", got)
		}

		must(t, db.MoveChannel(ctx, Move{Team: team, From: "C1", To: "C9"}))
		sets, err := db.SetIn(ctx, team, "C9")
		if err != nil || sets["C9"]["mode"].Value != "off" {
			t.Errorf("moved: %+v, %v", sets, err)
		}
	})
}
