package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// rowsOf is how many rows of each table are a workspace's.
func (db database) rowsOf(t *testing.T, team string) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for table, where := range db.ofTeam(t) {
		rows[table] = db.count(t, table, where, patternsOf(team))
	}
	return rows
}

// copyTeam gives another workspace what a workspace has, with the same ids of channels, users and messages. words are
// pairs of which it has the second where the first has the other.
func (db database) copyTeam(t *testing.T, from, to string, words ...string) {
	t.Helper()
	replacer := strings.NewReplacer(append([]string{from, to}, words...)...)
	columns := db.textColumns(t)
	tables := slices.Sorted(maps.Keys(columns))
	tables = slices.DeleteFunc(tables, func(table string) bool { return table == "steps" })
	for _, table := range append([]string{"steps"}, tables...) { // quotes and step_files refer to steps
		if !slices.Contains(columns[table], "team_id") && table != "installations" {
			continue
		}
		var rows []map[string]any
		must(t, db.db.Table(table).Find(&rows).Error)
		for _, row := range rows {
			of := row["team_id"]
			if table == "installations" {
				of = row["id"]
			}
			if of != from && row["workflow_id"] == nil {
				continue
			}
			for column, value := range row {
				text, ok := value.(string)
				if !ok {
					continue
				}
				text = replacer.Replace(text)
				switch column {
				case "id", "key", "reply", "part", "decision", "step", "step_id", "token":
					if table != "installations" {
						text = to + text
					}
				}
				row[column] = text
			}
			if _, numbered := row["id"].(int64); numbered && table == "search" {
				row["id"] = row["id"].(int64) + 500_000 // half a second later
			} else if numbered {
				delete(row, "id")
			}
			must(t, db.db.Table(table).Create(row).Error)
		}
	}
}

// A workspace goes with all that it left, however often that is killed; another one with equal ids keeps everything.
// The installation goes last.
func TestPurgeWorkspace(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		relayed := int64(1)
		db.seedPerson(t)
		db.insert(t,
			&changeRow{WorkflowID: "thread/T1/C1/" + at(1), TeamID: team, TS: at(2), Kind: "said", RelayedUS: &relayed},
			&changeRow{WorkflowID: "thread/T1/C10/" + at(1), TS: at(2), Kind: "said"}, // of a version without the column
			&Decision{Key: "run/9", WorkflowID: "thread/T1/C10/" + at(1), Outcome: "pending"},
			&conversationRow{WorkflowID: "channel/T1/C10", TeamID: team, ClaimedBy: "a"},
			&conversationRow{WorkflowID: everywhere(team), TeamID: team, SilencedUntilUS: micros(noon.AddDate(1, 0, 0))},
			&callRow{TeamID: team, CalledUS: micros(noon)}, &callRow{TeamID: team, ChannelID: "C1", CalledUS: micros(noon)},
			&forgottenRow{TeamID: team, ChannelID: "C1", TS: at(50), UntilUS: 1}, &forgottenRow{TeamID: team, UntilUS: 1},
			&erasedRow{TeamID: team, ChannelID: "C1", UntilUS: 1}, &erasedRow{TeamID: team, Person: "hash", UntilUS: 1},
			&Label{TeamID: team, ChannelID: "C1", Decision: "run/0"},
			&quoteRow{StepID: "s2", TeamID: team, ChannelID: "C2", TS: at(2)},
			&MCPTool{TeamID: team, Server: "T1/desk"}, &revokedRow{Token: "hash", TeamID: team},
		)
		must(t, db.RecordRun(ctx, "memory", team))
		db.exec(t, "UPDATE step_files SET team_id = 'T1'")
		db.exec(t, "UPDATE decisions SET decided_us = 1 WHERE decided_us = 0") // which the programs do not write
		db.exec(t, "UPDATE orders SET ordered_us = 1 WHERE ordered_us = 0")
		db.install(t, "E1")
		must(t, errOf(db.GrantTeam(ctx, "E1", team, "one", noon)))
		db.copyTeam(t, "T1", "T2")
		before := db.rowsOf(t, "T2")
		if mine := db.rowsOf(t, "T1"); !maps.Equal(mine, before) {
			t.Fatalf("copied are %v of %v", before, mine)
		}
		for table, n := range before {
			if n == 0 {
				t.Errorf("%s has nothing of the workspace", table)
			}
		}

		if err := db.PurgeWorkspace(ctx, team, "", noStep); !errors.Is(err, ErrInUse) {
			t.Errorf("while it is installed: %v", err)
		}
		must(t, errOf(db.EndInstallation(ctx, team, noon, InstallationUninstalled, AppUninstalled)))
		must(t, errOf(db.EndInstallation(ctx, "T2", noon, InstallationUninstalled, AppUninstalled)))
		must(t, errOf(db.WithdrawTeam(ctx, "E1", team, noon)))
		if ids, err := db.ExpiredInstallations(ctx, noon, 9); err != nil || len(ids) > 0 {
			t.Errorf("expired at once: %v, %v", ids, err)
		}
		if ids, err := db.ExpiredInstallations(ctx, noon.Add(time.Second), 9); err != nil || !slices.Equal(ids, []string{team, "T2"}) {
			t.Errorf("expired are %v, %v", ids, err)
		}
		killed := errors.New("killed")
		for steps := 1; ; steps++ {
			n := 0
			err := db.PurgeWorkspace(ctx, team, "", func(string, int, int) error {
				db.wantRows(t, 1, "installations", "id = 'T1'")
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
		for table, n := range db.rowsOf(t, team) {
			if n > 0 {
				t.Errorf("%d rows are left in %s", n, table)
			}
		}
		if left := db.placed(t, team); len(left) > 0 {
			t.Errorf("left in %v", left)
		}
		if after := db.rowsOf(t, "T2"); !maps.Equal(after, before) {
			t.Errorf("the other has %v, before %v", after, before)
		}

		// An organisation goes with its workspaces, except one that has installed the app itself, or is kept.
		db.install(t, "T2")
		must(t, errOf(db.GrantTeam(ctx, "E1", "T3", "", noon)))
		must(t, errOf(db.GrantTeam(ctx, "E1", "T4", "", noon)))
		must(t, db.SaveUsers(ctx, "T3", User{ID: "U1", Name: "Bea"}))
		must(t, db.SaveUsers(ctx, "T4", User{ID: "U1", Name: "Bea"}))
		must(t, errOf(db.EndInstallation(ctx, "E1", db.now(), InstallationRemoved, "")))
		must(t, db.PurgeWorkspace(ctx, "E1", "T4", noStep))
		if after := db.rowsOf(t, "T2"); after["installation_teams"] != 0 || after["messages"] != before["messages"] || after["installations"] != 1 {
			t.Errorf("the other has %v, before %v", after, before)
		}
		if left := db.placed(t, "T3"); len(left) > 0 {
			t.Errorf("left of the organisation's workspace: %v", left)
		}
		db.wantRows(t, 0, "installations", "id = 'E1'")
		db.wantRows(t, 1, "users", "team_id = 'T4'")
	})
}

// A reinstallation ends the purge, and what comes then stays.
func TestPurgeEndsWithAReinstallation(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		db.install(t, team)
		must(t, errOf(db.EndInstallation(ctx, team, noon, InstallationUninstalled, AppUninstalled)))
		db.store(t, said(at(1), ""))
		if err := db.PurgeWorkspace(ctx, team, "", func(string, int, int) error {
			db.install(t, team)
			db.store(t, said(at(2), ""))
			return nil
		}); !errors.Is(err, ErrInUse) {
			t.Errorf("%v", err)
		}
		if got := db.left(t, "messages", "ts"); fmt.Sprint(got) != fmt.Sprint([]string{at(2)}) {
			t.Errorf("stored are %v", got)
		}
		db.wantRows(t, 1, "installations", "generation = 2")
	})
}
