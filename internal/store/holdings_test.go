package store

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// harmless says of the other columns why nothing of a person is in them, by their name or, where another table may
// mean something else by it, as table.column. Numbers are none.
var harmless = map[string]string{
	"team_id": "the workspace", "ts": "a ts", "thread_ts": "a ts", "trigger_ts": "a ts", "sent_ts": "a ts",
	"shown_ts": "a ts", "revision": "a ts", "channels.caught_up_to": "a ts", "channels.threads_caught_up_to": "a ts",
	"decision": "a key of decisions", "key": "of a run, or a hash", "step_id": "a hash",
	"id": "a hash, random, or made of ids of channels and ts", "outbox.reply": "ids of channels and ts",
	"feedback.part": "a key of outbox", "notes.step": "a key of steps",
	"kind": "our word", "state": "our word", "source": "our word", "rule": "our word", "outcome": "our word",
	"term": "our word", "origin": "our word", "purpose": "our word", "provider": "our word", "every": "our word",
	"truth": "our word", "schedule": "our word", "cause": "our word", "error": "a code", "feedback.value": "our word",
	"model": "of a model", "prompt": "of a template", "tool": "of a tool", "call_id": "of a provider",
	"mime":                "of a file",
	"decisions.addressee": "our word", "decisions.signals": "numbers and flags", "decisions.react": "of an emoji",
	"outbox.reaction": "of an emoji", "reactions.name": "of an emoji", "channels.name": "of a channel",
	"messages.bot_id": "of an app", "messages.through": "of an app", "changes.trace": "random",
	"conversations.claimed_by": "a relay", "snapshots.leased_by": "a run", "snapshots.messages": "ts and revisions",
	"snapshots.notes": "ts", "snapshots.data": "compressed; TestForgetPerson counts the rows",
	"step_files.data": "a picture or document", "memories.sources": "ts and ids", "memories.cursor": "numbers",
	"orders.subject": "ts, a version, or a count", "notes.permalink": "of a channel and a ts",
	"erased.person": "a hash", "labels.labelled_by": "an operator",
	"opinions.judge": "an operator's word", "server": "an operator's word",
	"hook_events.hook": "an operator's word", "promises.until_hook": "an operator's word",
	"hook_events.delivery": "a hash",
	"promises.zone":        "goes with the row of whoever asked", "search_common.term": "in hundreds of messages",
	"mcp_tools.name": "of a tool", "mcp_tools.description": "of a tool", "mcp_tools.schema": "of a tool",
	"mcp_tools.annotations": "of a tool", "mcp_tools.fingerprint": "a hash", "mcp_tools.allowed": "a hash",
	"revoked_tokens.token": "a hash", "allowed_workspaces.allowed_by": "an operator",
	"enterprise_id": "an organisation", "app_id": "of the app", "bot_user_id": "of the bot",
	"installation_id": "a workspace or organisation", "installation_teams.name": "of a workspace",
	"installations.name": "of a workspace", "installations.bot_id": "of the bot", "installations.url": "of a workspace",
	"installations.scopes": "Slack's words", "installations.token": "sealed", "installations.refresh_token": "sealed",
	"installations.lease": "a process", "channel_settings.setting": "our word",
	"channels.remember": "our word",
}

// untouched says why an order has no function for a table that has columns for it.
var untouched = map[string]string{
	"purge channels": "the bot may be in it; at the end", "purge outsiders": "with their channel",
	"purge channel_settings": "the bot may be in it; at the end",
	"purge search":           "with its message", "purge quotes": "with their step", "purge erased": "it keeps history out",
	"forget step_files": "with their step", "forget writers": "with their messages",
	"forget search": "with its message", "export changes": "their messages tell it",
	"export hook_events": "an app sent them",
	"export turns":       "the reply tells it", "export search": "it is their messages",
	"export step_files": "with their step", "export outsiders": "with the person", "export users": "with the person",
	"export writers":  "with the person",
	"prune reactions": "with the messages", "prune quotes": "with their step", "prune search": "with its message",
	"prune notes": "never: with its message alone", "prune memory_scopes": "never", "prune channels": "never",
	"prune outsiders": "never", "prune users": "never", "prune writers": "never", "prune forgotten": "never",
	"prune erased": "never", "prune mcp_tools": "never", "prune revoked_tokens": "never", "prune runs": "never",
	"prune channel_settings": "never",
	"prune closed_gaps":      "never", "prune installations": "with its workspace",
}

var number = regexp.MustCompile(`(?i)INT|BOOL|REAL|FLOAT|DOUBLE`)

// textColumns is the columns that are no numbers, by table.
func (db database) textColumns(t *testing.T) map[string][]string {
	t.Helper()
	tables, err := db.db.Migrator().GetTables()
	must(t, err)
	columns := map[string][]string{}
	for _, table := range tables {
		if table == "goose_db_version" || strings.HasPrefix(table, "sqlite_") ||
			strings.HasPrefix(table, "search_by_term") { // the last follow search by triggers
			continue
		}
		types, err := db.db.Migrator().ColumnTypes(table)
		must(t, err)
		columns[table] = []string{}
		for _, c := range types {
			if !number.MatchString(c.DatabaseTypeName()) {
				columns[table] = append(columns[table], c.Name())
			}
		}
	}
	return columns
}

// personal is the columns of a table that hold something of people.
func (h holding) personal() []string {
	columns := slices.Concat([]string{h.author, h.person}, h.orderedBy, h.texts)
	return slices.DeleteFunc(columns, func(c string) bool { return c == "" })
}

// Every table and column is in holdings if it holds something of people or channels; each order does something with
// it; and the documents have the table. If this fails for a new column of yours: can it ever hold a user's id, a
// display name, or words that a person wrote or a model made from them? Then enter it in its holding, and write it in
// seedPerson; TestForgetPerson and TestPurgeChannel tell whether it goes. Otherwise enter in harmless why not.
func TestHoldings(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/stored-data.md")
	must(t, err)
	tables, _, _ := strings.Cut(string(docs), "## The export")
	columns := migratedSQLite(t).textColumns(t)
	ofTeams := map[string]bool{}
	for table, has := range columns {
		ofTeams[table] = slices.Contains(has, "team_id") || slices.Contains(has, "workflow_id")
	}
	delete(ofTeams, "installation_teams") // PurgeWorkspace ends with it
	for _, h := range holdings {
		has := columns[h.table]
		if delete(ofTeams, h.table); h.leave == nil &&
			(!slices.Contains(has, "team_id") || !slices.Contains(has, "channel_id") || cmp.Or(h.channel, h.key) == along{}) {
			t.Errorf("%s: its holding does not say how a workspace leaves it", h.table)
		}
		placed := slices.Contains(has, "channel_id") || slices.Contains(has, "workflow_id")
		for order, missing := range map[string]bool{
			"purge":  placed && h.purge == nil,
			"prune":  h.prune == nil && h.age == aging{},
			"forget": len(h.personal()) > 0 && h.forget == nil,
			"export": len(h.personal()) > 0 && h.export == nil,
		} {
			if missing != (untouched[order+" "+h.table] != "") {
				t.Errorf("%s %s: its holding lacks it: %v; untouched says %q", order, h.table, missing,
					untouched[order+" "+h.table])
			}
		}
		if !strings.Contains(tables, "`"+h.table+"`") {
			t.Errorf("docs/stored-data.md lacks %s", h.table)
		}
		for _, c := range h.personal() {
			if !slices.Contains(has, c) {
				t.Errorf("%s has no text column %s", h.table, c)
			}
		}
		columns[h.table] = slices.DeleteFunc(has, func(c string) bool {
			return placed && (c == "channel_id" || c == "workflow_id") || slices.Contains(h.personal(), c)
		})
	}
	for table, left := range ofTeams {
		if left {
			t.Errorf("%s has rows of workspaces, and no holding", table)
		}
	}
	for table, rest := range columns {
		for _, c := range rest {
			if harmless[c] == "" && harmless[table+"."+c] == "" {
				t.Errorf("column %s of table %s: nothing says what it holds; see holdings.go", c, table)
			}
		}
	}
}
