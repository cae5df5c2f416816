package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"myao/internal/chat"
	"myao/internal/evaluate/eval"
	"myao/internal/operate/doctor"
	"myao/internal/operate/operator"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// keysFile has the keys of each command's JSON, a line an object.
const keysFile = "testdata/keys.txt"

// printedJSON is a value of the type that each command prints as JSON. A command with a flag or an
// argument has a line of its own where that changes the type.
var printedJSON = map[string]any{
	"answer-now": orderResult{}, "drop": orderResult{}, "drop --all": dropReport{}, "snooze": orderResult{},
	"mute": orderResult{}, "mute --everywhere": everywhereResult{}, "unmute": orderResult{}, "unmute --everywhere": everywhereResult{},
	"conversations": []operator.Listed{}, "show": conversationReport{}, "why": timeline.Timeline{}, "rehear": rehearReport{}, "retract": retracted{},
	"channels": []channelReport{}, "channels CHANNEL": channelReport{}, "channel purge": purgeReport{}, "prompt": []promptReport{}, "usage": usageReport{},
	"memory list": []memoryReport{}, "memory show": []memoryReport{}, "memory history": []memoryReport{},
	"memory correct": memoryReport{}, "memory rollback": memoryReport{}, "memory forget": store.ForgetResult{},
	"notes list": []chat.Note{}, "person export": store.PersonExport{}, "person forget": forgetReport{},
	"promises list": []store.Promise{}, "proposals list": []store.Proposal{}, "tools list": []toolOfServer{},
	"doctor": []doctor.Finding{}, "eval run": eval.Figures{}, "eval compare": eval.Comparison{}, "eval recall": []eval.RecallReport{},
	"label": labelReport{}, "shadow": shadowReport{}, "tune": tuneReport{},
	"workspaces list": []workspaceReport{}, "workspaces show": workspaceReport{}, "workspaces allow": allowReport{}, "workspaces disallow": allowReport{},
	"workspaces remove": removeReport{}, "workspaces reseal": resealReport{}, "workspaces url": urlReport{},
}

// Programs read these keys: docs/stability.md says how one may change.
func TestKeys(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, command := range slices.Sorted(maps.Keys(printedJSON)) {
		filled := reflect.New(reflect.TypeOf(printedJSON[command])).Elem()
		fill(filled)
		text, err := json.Marshal(filled.Interface())
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		objects := objectsOf(t, string(text))
		for _, path := range slices.Sorted(maps.Keys(objects)) {
			lines = append(lines, strings.TrimSpace(command+" "+path)+": "+strings.Join(slices.Sorted(maps.Keys(objects[path])), " "))
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(keysFile, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(keysFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !slices.Contains(strings.Split(string(want), "\n"), line) {
			t.Errorf("not in %s: %s", keysFile, line)
		}
	}
	if got != string(want) {
		t.Errorf("the keys of --json have changed. Programs read them: see docs/stability.md, then go test ./starter/cli -run TestKeys -update")
	}

	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Leaves(true) {
		name := strings.TrimPrefix(command.Path(), "starter ")
		for _, flag := range command.Flags {
			if _, listed := printedJSON[name]; flag.Name == "json" && !listed {
				t.Errorf("%s has --json, and printedJSON lacks it", name)
			}
		}
	}
}

// fill sets everything in a value, so that JSON leaves nothing out.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000, 0).UTC()))
		return
	case store.PromiseState:
		v.SetString(string(store.PromiseOpen)) // only an open one is held up
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage("1")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(anyKey)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1_700_000_000_000_000)
	case reflect.Float64:
		v.SetFloat(1)
	default:
		panic(fmt.Sprintf("a %s is not filled yet", v.Type()))
	}
}

// anyKey stands for the keys of a map, such as the names of tables.
const anyKey = "NAME"

// objectsOf returns the keys of each object of a JSON text, by the path to it. The state of a conversation is
// what its workflow answers, and the input and schema of a tool are its server's: those are left out.
func objectsOf(t *testing.T, text string) map[string]map[string]bool {
	t.Helper()
	objects := map[string]map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(path+"[]", one)
			}
		case map[string]any:
			if objects[path] == nil {
				objects[path] = map[string]bool{}
			}
			for key, one := range v {
				objects[path][key] = true
				if !slices.Contains([]string{"state", "input", "schema", "signals"}, key) {
					walk(path+"."+key, one)
				}
			}
		}
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	walk("", v)
	return objects
}

// checkKeys checks that a command has printed no key that is not listed for it.
func checkKeys(t *testing.T, args []string, printed string) {
	t.Helper()
	text, err := os.ReadFile(keysFile)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{} // by path, of all forms of the command
	for line := range strings.Lines(string(text)) {
		head, keys, _ := strings.Cut(line, ":")
		command := strings.Fields(head)
		path := ""
		if last := command[len(command)-1]; strings.ContainsAny(last, ".[") {
			command, path = command[:len(command)-1], last
		}
		words := slices.DeleteFunc(command, func(w string) bool { return w == "CHANNEL" || strings.HasPrefix(w, "--") })
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			listed[path] = append(listed[path], strings.Fields(keys)...)
		}
	}
	for path, keys := range objectsOf(t, printed) {
		for key := range keys {
			if !slices.Contains(listed[path], key) && !slices.Contains(listed[path], anyKey) {
				t.Errorf("%q prints %s.%s, which %s lacks", args, path, key, keysFile)
			}
		}
	}
}
