package store

import (
	"cmp"
	"context"

	"gorm.io/gorm"
)

// holding is what a table holds of people and channels, and what each order does with it. Where an order has no
// function here, the rows stay, or go with another table's.
type holding struct {
	table string
	// key is what the whole table is walked along, channel what the rows of one channel are, or those of one
	// conversation where rows have a workflow id; key if it is empty.
	key, channel along

	// author is the column with the id of the user whose row it is, person that of somebody without whom a row stays.
	author, person string
	orderedBy      []string // columns with cli:NAME or slack:U…
	texts          []string // columns with words of people, or of models about people

	// purge deletes what it holds of a channel.
	purge func(purger, holding) error
	// leave deletes what it holds of a workspace; nil does so channel by channel.
	leave func(leaver, holding) error
	// age says which rows are deleted for their age; prune does it where that takes more.
	age   aging
	prune func(pruning, holding) error
	// forget deletes what it holds of a person. (*eraser).rows does so in the rows that match reach, where @until is
	// when the order began.
	forget func(*eraser, holding) error
	reach  string
	// export reads what it holds of a person.
	export func(*exporter, holding) error
}

// whole is all of the table.
func (h holding) whole() part { return part{table: h.table, by: h.key} }

// ofPerson is the condition that a row is a person's, or was ordered by them.
func (h holding) ofPerson(user string) condition {
	match := where(cmp.Or(h.author, h.person, "''")+" = ?", user)
	for _, by := range h.orderedBy {
		match = match.or(where(by+" = ?", orderedByUser(user)))
	}
	return match
}

// holdings is all tables that hold something of people and channels. An order goes through them from the first to the
// last: what was made from other rows, or goes with them, comes after these.
var holdings = []holding{
	{
		table: "messages", key: along{"ts", ""}, person: "user_id", texts: []string{"name", "text", "files"},
		purge: purger.messages, prune: pruning.messages, forget: (*eraser).messages, export: (*exporter).messages,
	},
	{
		table: "reactions", key: along{"ts", ""}, author: "user_id",
		purge: purger.rows, forget: (*eraser).reactions, export: (*exporter).reactions,
	},
	{
		table: "snapshots", key: along{"decision", ""},
		purge: purger.rows, forget: (*eraser).snapshots, export: (*exporter).snapshots,
		age: aging{column: "stored_us", cutoff: "snapshot"},
	},
	// Before changes: a promise that is late makes one that names whoever asked. A conversation finds a promise gone
	// when it is due.
	{
		table: "promises", key: along{"id", ""},
		author: "asker", orderedBy: []string{"ended_by"}, texts: []string{"what", "unless"},
		purge: purger.rows, forget: (*eraser).rows, reach: inTeam, export: (*exporter).promises,
		age: aging{column: "stored_us", cutoff: "ledger", where: "state <> 'open' AND ended_us < @ledger"},
	},
	// As messages of an app: they are nobody's.
	{
		table: "hook_events", key: along{"id", 0}, texts: []string{"text", "terms"},
		purge: purger.rows, forget: (*eraser).hookEvents, age: aging{column: "received_us", cutoff: "messages"},
	},
	{table: "quotes", leave: leaver.other},
	{table: "step_files", texts: []string{"name"}, leave: leaver.other, prune: pruning.files},
	{
		table: "changes", key: along{"id", 0}, channel: along{"ts", ""},
		person: "author", orderedBy: []string{"ordered_by"}, leave: leaver.conversations,
		purge: purger.conversations, forget: (*eraser).rows, reach: inConversation + " AND stored_us <= @until",
		age: aging{column: "stored_us", cutoff: "ledger", by: along{"id", 0}, where: relayedChange},
	},
	// The index for retention has only rows with a key.
	{
		table: "decisions", key: along{"key", ""}, channel: along{"decided_us", 0},
		orderedBy: []string{"outcome_by"}, texts: []string{"reason", "gist"}, leave: leaver.conversations,
		purge: purger.conversations, forget: (*eraser).decisions, export: (*exporter).decisions,
		age: aging{column: "decided_us", cutoff: "ledger", within: "key <> ''", where: "outcome <> 'pending'"},
	},
	{
		table: "opinions", key: along{"id", 0}, texts: []string{"reason"},
		purge: purger.rows, forget: (*eraser).opinions, export: (*exporter).opinions, age: withDecision("given_us"),
	},
	{table: "labels", key: along{"id", 0}, purge: purger.rows, age: withDecision("labelled_us")},
	{
		table: "outbox", key: along{"key", ""}, channel: along{"trigger_ts", ""}, texts: []string{"text"},
		purge: purger.outbox, forget: (*eraser).outbox, export: (*exporter).replies,
		age: aging{column: "read_us", cutoff: "ledger", group: "reply", where: finishedReply},
	},
	{
		table: "steps", key: along{"id", ""}, texts: []string{"input", "output"},
		purge: purger.rows, forget: (*eraser).steps, export: (*exporter).steps, age: withDecision("stored_us"),
	},
	{
		table: "turns", key: along{"decision", ""}, texts: []string{"text", "opaque"},
		purge: purger.rows, forget: (*eraser).turns, age: withDecision("made_us"),
	},
	{
		table: "proposals", key: along{"id", ""},
		person: "asker", orderedBy: []string{"decided_by"}, texts: []string{"input", "output"},
		purge: purger.rows, forget: (*eraser).proposals, export: (*exporter).proposals, age: withDecision("stored_us"),
	},
	{
		table: "feedback", key: along{"id", 0}, author: "user_id", texts: []string{"reason"},
		purge: purger.rows, forget: (*eraser).rows, reach: inTeam + " AND voted_us <= @until",
		export: (*exporter).feedback, age: withDecision("voted_us"),
	},
	// Mutes and snoozes stay: a workflow that is reset gives them again, and ApplyOrder must know that they were
	// carried out. Moves stay: a button may be clicked in the channel's new id (Became).
	{
		table: "orders", key: along{"id", ""}, channel: along{"ordered_us", 0}, orderedBy: []string{"ordered_by"},
		purge: purger.rows, forget: (*eraser).rows, reach: inTeam + " AND ordered_us <= @until",
		export: (*exporter).orders,
		age:    aging{column: "ordered_us", cutoff: "ledger", where: "kind NOT IN ('mute', 'snooze', 'unmute', 'move')"},
	},
	// Of a purged channel they stay while the bot is in it, as silences do.
	{
		table: "channel_settings", key: along{"id", ""}, channel: along{"setting", ""},
		orderedBy: []string{"set_by"}, texts: []string{"value", "was"},
		forget: (*eraser).rows, reach: inTeam, export: (*exporter).settings,
	},
	{
		table: "notes", key: along{"id", 0}, author: "author", texts: []string{"text"},
		purge: purger.rows, forget: (*eraser).rows, reach: inTeam, export: (*exporter).notes,
	},
	{
		table: "model_calls", key: along{"id", 0}, channel: along{"called_us", 0},
		purge: purger.modelCalls, age: aging{column: "called_us", cutoff: "ledger"},
	},
	{
		table: "memories", key: along{"id", 0}, channel: along{"thread_ts", nil},
		orderedBy: []string{"ordered_by", "forgotten_by"}, texts: []string{"text"},
		purge: purger.rows, forget: (*eraser).rows, reach: inTeam, export: (*exporter).memories,
		age: aging{column: "made_us", cutoff: "version", by: along{"id", 0}, where: supersededVersion},
	},
	{table: "memory_scopes", channel: along{"thread_ts", nil}, purge: purger.rows},
	{table: "writers", key: along{"user_id", ""}, author: "user_id", purge: purger.writers, leave: leaver.rows},
	{table: "forgotten", channel: along{"thread_ts", nil}, purge: purger.forgotten},
	{table: "erased", key: along{"person", nil}},
	{
		table: "conversations", key: along{"workflow_id", ""}, purge: purger.silences, leave: leaver.conversations,
		age: aging{column: "claimed_until_us", cutoff: "lease", by: along{"workflow_id", ""}, where: idleConversation},
	},
	{table: "channels", key: along{"channel_id", ""}, leave: leaver.rows},
	{table: "search", key: along{"ts", ""}, texts: []string{"terms"}},
	{table: "outsiders", key: along{"user_id", ""}, author: "user_id", forget: (*eraser).outsiders},
	{table: "mcp_tools", key: along{"server", ""}, leave: leaver.rows},
	{table: "revoked_tokens", key: along{"token", ""}, leave: leaver.rows},
	{table: "runs", key: along{"schedule", ""}, leave: leaver.rows},
	{table: "closed_gaps", key: along{"team_id", ""}, leave: leaver.rows},
	{
		table: "installations", key: along{"id", ""}, orderedBy: []string{"installed_by"}, leave: leaver.other,
		forget: (*eraser).rows, reach: inInstallation, export: (*exporter).installations,
	},
	// Last, because what comes before looks for the name.
	{
		table: "users", key: along{"user_id", ""}, author: "user_id", texts: []string{"name", "time_zone"},
		leave: leaver.rows, forget: (*eraser).users,
	},
}

// inTeam is the condition that a row is of the workspace @team. SQLite would otherwise read an index of all of the
// workspace's rows for each part that is walked.
const inTeam = "team_id || '' = @team"

// inConversation is the condition that a row is of a conversation of the workspace @team. Older rows have no team_id.
const inConversation = "(workflow_id LIKE 'channel/' || @team || '/%' OR workflow_id LIKE 'thread/' || @team || '/%')"

// inInstallation is the condition that an installation is that of the workspace @team, or of its organisation.
const inInstallation = "(id = @team OR id = (SELECT t.installation_id FROM installation_teams t " +
	"WHERE t.team_id = @team))"

func ofTeam(team string) condition { return whereNamed(inTeam, map[string]any{"team": team}) }

// sweepChunk is how many rows a sweep looks at in one transaction. It takes a few milliseconds, and other writers may
// have to wait for it.
const sweepChunk = 500

// SweepStep is told after each step of a sweep: the table, how many rows were looked at, and how many
// of them were changed or deleted. Its error ends the sweep.
type SweepStep func(table string, seen, changed int) error

// sweeper goes through tables in small transactions, so that others can use the database meanwhile.
type sweeper struct {
	*Store
	db   *gorm.DB // with ctx
	ctx  context.Context
	step SweepStep
}

func (s *Store) sweeper(ctx context.Context, step SweepStep) sweeper {
	return sweeper{s, s.db.WithContext(ctx), ctx, step}
}

// along is a column to walk along, and what is less than all of its values; nil where they may be empty. An index
// must begin with the column, or with those of the part that is walked, followed by it.
type along struct {
	column string
	least  any
}

// part is some rows of a table: those within, with values of a column after one and up to another.
type part struct {
	table  string
	within condition // empty for the whole table
	by     along
	// age, if set, is a column with the age of rows; a walk ends where all of them are from before or later.
	age         string
	before      int64
	after, upTo any // nil: without a limit
}

// of is the rows of a part that match.
func (p part) of(db *gorm.DB, match condition) *gorm.DB {
	rows := p.within.apply(db.Table(p.table))
	if p.after != nil {
		rows = rows.Where(p.by.column+" > ?", p.after)
	}
	if p.upTo != nil {
		rows = rows.Where(p.by.column+" <= ?", p.upTo)
	}
	if p.age != "" && p.upTo != nil {
		rows = rows.Where(p.age+" < ?", p.before)
	}
	return match.apply(rows)
}

// walk goes through a part in smaller ones. do returns how many rows of such a one it has changed.
func (w sweeper) walk(p part, do func(p part) (changed int, err error)) error {
	age := p.age
	if age == "" {
		age = "0"
	}
	for p.after = p.by.least; ; p.after = p.upTo {
		p.upTo = nil
		found := p.of(w.db, condition{}).Order(p.by.column).Limit(sweepChunk).
			Select(p.by.column + " AS at, " + age + " AS age")
		window := map[string]any{}
		found = w.db.Table("(?) found", found).
			Select("COUNT(*) AS seen, MAX(at) AS last, COALESCE(MIN(age), 0) AS oldest").Scan(&window)
		if found.Error != nil {
			return found.Error
		}
		seen := window["seen"].(int64)
		if p.upTo = window["last"]; seen == 0 || p.age != "" && window["oldest"].(int64) >= p.before {
			return nil
		}
		changed, err := do(p)
		if err != nil {
			return err
		}
		if err := w.step(p.table, int(seen), changed); err != nil || seen < sweepChunk {
			return err
		}
	}
}

// sweep walks through a part, and calls do with the rows that match and a transaction that holds them.
func sweep[R any](w sweeper, p part, match condition, do func(tx *gorm.DB, rows []R) (changed int, err error)) error {
	return w.walk(p, func(p part) (changed int, err error) {
		var matching int64
		if err := p.of(w.db, match).Count(&matching).Error; err != nil || matching == 0 {
			return 0, err
		}
		err = w.transaction(w.ctx, func(tx *gorm.DB) error {
			var rows []R
			if err := p.of(w.locked(tx), match).Order(p.by.column).Find(&rows).Error; err != nil {
				return err
			}
			changed, err = do(tx, rows)
			return err
		})
		return changed, err
	})
}

// remove deletes the rows of a part that match.
func (w sweeper) remove(p part, match condition) error {
	return w.walk(p, func(p part) (int, error) {
		gone := p.of(w.db, match).Delete(nil)
		return int(gone.RowsAffected), gone.Error
	})
}

// inChannels calls do with the part of a table that each channel of a team has.
func (w sweeper) inChannels(h holding, team string, do func(part) error) error {
	ids, err := w.channelsIn(h.table, team)
	for _, id := range ids {
		if err == nil {
			err = do(part{table: h.table, within: where("team_id = ? AND channel_id = ?", team, id), by: h.key})
		}
	}
	return err
}

// channelsIn is the channels of a team that have rows in a table whose key begins with team_id and
// channel_id. It steps through the key from one channel to the next.
func (w sweeper) channelsIn(table, team string) (ids []string, err error) {
	for id := ""; ; {
		var next []string
		if err := w.db.Table(table).Where("team_id = ? AND channel_id > ?", team, id).
			Order("channel_id").Limit(1).Pluck("channel_id", &next).Error; err != nil || len(next) == 0 {
			return ids, err
		}
		id = next[0]
		ids = append(ids, id)
	}
}

// contains is the condition that a column has a text in it, by the exact case.
func (w sweeper) contains(column string) string {
	if w.sqlite != "" {
		return "INSTR(" + column + ", ?) > 0"
	}
	return "STRPOS(" + column + ", ?) > 0"
}
