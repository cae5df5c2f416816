package store

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
)

// returnsNothing are methods that return nothing of what TestWalls has, or refuse it: most want a state between two
// steps of a reply.
var returnsNothing = []string{
	"Allowed", "Around", "Became", "BeginSend", "BeingAnswered", "ChangeRecordedSince", "CheckedLabels", "Draft", "ForgetNote",
	"Forgotten", "Gaps", "HookEvents", "MarkReplied", "Proposals", "ProposalsShown", "ReactedSince", "Record", "RelocateReply", "ReplyOf",
	"SaveDraft", "SaveMemories", "SaveVote", "SearchHookEvents", "SetBy", "Told", "Unconfirmed", "UndoSet", "Unhandled",
	"UnjoinedChannels",
}

// What is returned for a workspace is the same whether or not there is another one with equal ids, and nothing that is
// done for it changes a row of the other. Every exported method that takes a workspace is called, a new one too: by
// the names of its parameters.
func TestWalls(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.seedPerson(t)
		db.exec(t, "DELETE FROM messages WHERE text = 'filler'")
		db.exec(t, "DELETE FROM search WHERE ts NOT IN (SELECT ts FROM messages)")
		db.exec(t, "UPDATE step_files SET team_id = 'T1'")
		later := micros(noon.AddDate(1, 0, 0))
		db.insert(t, &callRow{TeamID: team, ChannelID: "C1", CalledUS: micros(noon), TokensIn: 7}, &MCPTool{TeamID: team, Server: "T1/desk"},
			&orderRow{ID: "o8", TeamID: team, Kind: "mute", OrderedBy: operator, OrderedUS: micros(noon), UntilUS: later},
			&orderRow{ID: "o9", TeamID: team, ChannelID: "C1", Kind: "mute", OrderedBy: operator, OrderedUS: micros(noon), UntilUS: later},
			&conversationRow{WorkflowID: "channel/T1/C1", TeamID: team, SilencedUntilUS: later},
			&conversationRow{WorkflowID: everywhere(team), TeamID: team, SilencedUntilUS: later},
			&Label{TeamID: team, ChannelID: "C1", Decision: "run/0", LabelledUS: micros(noon)})
		must(t, db.RecordRun(t.Context(), "memory", team))
		tables := db.ofTeam(t)
		db.copyTeam(t, team, "T2", canaryText, "zebrafink", canaryName, "Zora Zett")
		for _, id := range []string{"long_id", "short_id"} {
			db.exec(t, `UPDATE memory_scopes SET `+id+` = (SELECT n.id FROM memories o JOIN memories n ON n.team_id = 'T2'
				AND n.channel_id = o.channel_id AND n.thread_ts = o.thread_ts AND n.term = o.term AND n.version = o.version
				WHERE o.id = memory_scopes.`+id+`) WHERE team_id = 'T2'`)
		}
		before := db.dump(t, db.db, tables, team)
		if len(before) < 20 {
			t.Fatalf("the other workspace has rows in %v only", slices.Sorted(maps.Keys(before)))
		}
		beside := db.callAll(t, "T2", func(method string, tx *gorm.DB) {
			for table, rows := range db.dump(t, tx, tables, team) {
				if rows != before[table] {
					t.Errorf("%s changes %s of another workspace:\n%s\nto\n%s", method, table, before[table], rows)
				}
			}
		})
		db.deleteTeam(t, team)
		alone := db.callAll(t, "T2", func(string, *gorm.DB) {})
		for call, want := range alone {
			if beside[call] != want {
				t.Errorf("%s is, beside another workspace,\n%s\nand alone\n%s", call, beside[call], want)
			}
		}
	})
}

// spot is where a method is called.
type spot struct{ team, channel, thread, ts, name string }

// callAll calls every exported method that takes a workspace, in several places of it, and returns what each call
// returned. then is called after each method; after that, nothing has happened.
func (db database) callAll(t *testing.T, team string, then func(method string, tx *gorm.DB)) map[string]string {
	t.Helper()
	returned := map[string]string{}
	for name, parameters := range storeMethods(t) {
		of := reflect.TypeFor[*Store]().Method(indexOf(name)).Type
		if !slices.ContainsFunc(slices.Collect(maps.Keys(parameters)), func(i int) bool {
			return takesWorkspace(of.In(i), parameters[i])
		}) {
			continue
		}
		tx := db.db.WithContext(t.Context()).Begin()
		must(t, tx.Error)
		s := &Store{db: tx, pool: db.pool, sqlite: db.sqlite, now: db.now, metrics: db.metrics, migrations: db.migrations}
		s.groups.commit, s.groups.concurrency = s.commit, 1
		var failed error
		worked, something := false, of.NumOut() == 1
		for _, p := range []spot{
			{team, "C1", "", at(0), "one"}, {team, "C1", at(1), at(2), "Bea"}, {team, "C2", "", at(2), "Zora Zett"},
			{team, "D1", "", at(7), "one"}, {team, "", "", at(1), "one"},
		} {
			args := []reflect.Value{reflect.ValueOf(s), reflect.ValueOf(t.Context())}
			for i := 2; i < of.NumIn(); i++ {
				args = append(args, db.filled(of.In(i), parameters[i], p))
			}
			must(t, tx.SavePoint("call").Error)
			method := reflect.TypeFor[*Store]().Method(indexOf(name)).Func
			var out []reflect.Value
			if of.IsVariadic() {
				out = method.CallSlice(args)
			} else {
				out = method.Call(args)
			}
			if err, _ := out[len(out)-1].Interface().(error); err != nil {
				failed = err
				must(t, tx.RollbackTo("call").Error)
			} else {
				worked = true
			}
			var texts []string
			for _, v := range out {
				texts = append(texts, printed(v))
			}
			for _, v := range out[:len(out)-1] {
				something = something || !slices.Contains([]string{"[]", "{}", printed(reflect.Zero(v.Type()))}, printed(v))
			}
			returned[fmt.Sprintf("%s in %v", name, p)] = strings.Join(texts, "\n")
		}
		then(name, tx)
		must(t, tx.Rollback().Error)
		if exempt := slices.Contains(returnsNothing, name); exempt == (worked && something) {
			t.Errorf("%s returns something: %v, %v; exempt: %v", name, something, failed, exempt)
		}
	}
	return returned
}

func indexOf(method string) int {
	m, _ := reflect.TypeFor[*Store]().MethodByName(method)
	return m.Index
}

// storeMethods are the exported methods of Store, with the names of their parameters by number. Number 0 is the store.
func storeMethods(t *testing.T) map[string]map[int]string {
	t.Helper()
	methods := map[string]map[int]string{}
	files, err := filepath.Glob("*.go")
	must(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		must(t, err)
		for _, d := range parsed.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || !m.Name.IsExported() || m.Recv == nil {
				continue
			}
			if of, ok := m.Recv.List[0].Type.(*ast.StarExpr); !ok || of.X.(*ast.Ident).Name != "Store" {
				continue
			}
			names := map[int]string{}
			for _, field := range m.Type.Params.List {
				for _, n := range field.Names {
					names[len(names)+1] = n.Name
				}
			}
			methods[m.Name.Name] = names
		}
	}
	return methods
}

// takesWorkspace reports whether a value can name a workspace.
func takesWorkspace(of reflect.Type, name string) bool {
	switch of.Kind() {
	case reflect.String:
		return strings.HasPrefix(strings.ToLower(name), "team")
	case reflect.Slice:
		return takesWorkspace(of.Elem(), "")
	case reflect.Struct:
		return slices.ContainsFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool {
			return takesWorkspace(f.Type, f.Name)
		})
	}
	return false
}

// filled is a parameter or field by its type and name.
func (db database) filled(of reflect.Type, name string, p spot) reflect.Value {
	v := reflect.New(of).Elem()
	switch of {
	case reflect.TypeFor[time.Time]():
		at := db.now()
		if slices.Contains([]string{"since", "Since", "Active", "Remembered", "Oldest", "From", "window"}, name) {
			at = noon.Add(-time.Hour)
		}
		return reflect.ValueOf(at)
	case reflect.TypeFor[time.Duration]():
		return reflect.ValueOf(time.Minute)
	case reflect.TypeFor[[]byte]():
		return reflect.ValueOf([]byte{1})
	case reflect.TypeFor[[]string]():
		if name == "Authors" {
			return reflect.ValueOf([]string{canaryUser})
		}
		return reflect.ValueOf([]string{canaryUser, "U2", "C1", "C2", "D1", at(0), at(1), at(2), p.team + "run/0"})
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(p.text(name, of))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(map[string]int64{"version": 1, "ID": 0}[name])
		if name != "version" && name != "ID" {
			v.SetInt(50)
		}
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			v = reflect.Append(v, db.filled(of.Elem(), name, p))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := of.Field(i); f.IsExported() && name != "after" { // a page begins at the beginning
				v.Field(i).Set(db.filled(f.Type, f.Name, p))
			}
		}
	case reflect.Func:
		v.Set(reflect.MakeFunc(of, func([]reflect.Value) (out []reflect.Value) {
			for i := range of.NumOut() {
				out = append(out, reflect.Zero(of.Out(i)))
			}
			return out
		}))
	}
	return v
}

func (p spot) text(name string, of reflect.Type) string {
	if of.Name() == "Term" {
		return "long"
	}
	return map[string]string{
		"team": p.team, "teamid": p.team, "channel": p.channel, "channelid": p.channel, "here": p.channel, "thread": p.thread,
		"threadts": p.thread, "ts": p.ts, "trigger": p.ts, "triggerts": p.ts, "user": canaryUser, "userid": canaryUser,
		"asker": canaryUser, "name": p.name, "word": "is", "text": "our zebrafink and " + canaryText, "from": p.channel,
		"to": "C3", "decision": p.team + "run/0", "key": p.team + "run/0", "part": p.team + "key0",
		"reply": p.team + "reply0", "id": p.team + "s0", "step": p.team + "s0", "by": "cli:test",
		"workflowid": "channel/" + p.team + "/C1", "server": "desk",
	}[strings.ToLower(name)]
}

// printed is a value with all that it points to, without numbers that the database has given.
func printed(v reflect.Value) string {
	var parts []string
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		if err, ok := v.Interface().(error); ok {
			return err.Error()
		}
		return printed(v.Elem())
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			return at.UTC().String()
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && (f.Name != "ID" || f.Type.Kind() == reflect.String) {
				parts = append(parts, f.Name+":"+printed(v.Field(i)))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			parts = append(parts, printed(key)+":"+printed(v.MapIndex(key)))
		}
		slices.Sort(parts)
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, printed(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprint(v.Interface())
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// dump is the rows of a workspace by table.
func (db database) dump(t *testing.T, tx *gorm.DB, tables map[string]string, team string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for table, where := range tables {
		var rows []map[string]any
		must(t, tx.Table(table).Where(where, patternsOf(team)).Find(&rows).Error)
		if len(rows) > 0 {
			lines := mapRows(rows, func(row map[string]any) string { return fmt.Sprint(row) })
			slices.Sort(lines)
			all[table] = strings.Join(lines, "\n")
		}
	}
	return all
}

func (db database) deleteTeam(t *testing.T, team string) {
	t.Helper()
	tables := db.ofTeam(t)
	for _, table := range append(slices.DeleteFunc(slices.Sorted(maps.Keys(tables)), func(table string) bool {
		return table == "steps" // quotes and step_files refer to them
	}), "steps") {
		must(t, db.db.Table(table).Where(tables[table], patternsOf(team)).Delete(nil).Error)
	}
}

func patternsOf(team string) map[string]any {
	return map[string]any{"team": team, "in": "%/" + team + "/%", "all": everywhere(team)}
}

// ofTeam is the condition for a workspace's rows by table, for patternsOf.
func (db database) ofTeam(t *testing.T) map[string]string {
	t.Helper()
	conditions := map[string]string{}
	for table, columns := range db.textColumns(t) {
		switch {
		case table == "installations":
			conditions[table] = "id = @team"
		case slices.Contains(columns, "workflow_id"):
			conditions[table] = "workflow_id LIKE @in OR workflow_id = @all"
		case slices.Contains(columns, "team_id"):
			conditions[table] = "team_id = @team"
		}
	}
	return conditions
}
