package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strconv"
	"strings"
)

// historyVariable wins over slack.thread_history_limit.
const historyVariable = "THREAD_HISTORY_LIMIT"

// A Check finds faults that only another package can know of, as in files that the
// configuration names. It may be given a configuration that has others: it should find
// what does not follow from them. The Value of a fault is the key's as it stands.
type Check func(Config) []Fault

// Load reads the file at path; getenv is os.LookupEnv, or a test's own. A
// configuration that is wrong in any way, be it missing, is an *Error with
// every fault of it, those of the checks among them.
func Load(path string, getenv func(string) (string, bool), checks ...Check) (Config, error) {
	data, err := read(path)
	if err != nil {
		message := "cannot be read: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			message = "there is no such file; copy config.example.yaml to begin with"
		}
		return Config{}, &Error{Faults: []Fault{{Key: path, Message: message}}}
	}
	c, err := Parse(data, getenv, checks...)
	if faulty, ok := errors.AsType[*Error](err); ok {
		for i := range faulty.Faults {
			if faulty.Faults[i].Key == "" {
				faulty.Faults[i].Key = path
			}
		}
	}
	if err != nil {
		return Config{}, err
	}
	c.File.Path = path
	return c, nil
}

// longest is how many bytes a configuration may have: as many as channels and prompts could need.
const longest = 4 << 20

// read is the content of a file, which may have no end, as devices have none.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err == nil && len(data) > longest {
		err = fmt.Errorf("it is longer than %d bytes", longest)
	}
	return data, err
}

// Parse is Load for what a file would hold. A fault of the whole has the key "".
func Parse(data []byte, getenv func(string) (string, bool), checks ...Check) (Config, error) {
	f := newFaults()
	tree, where := parse(data, f)
	if tree == nil {
		return Config{}, f.err()
	}
	limit, wins := override(tree, getenv)
	expand(tree, getenv, f)
	if limit != "" && !wins {
		f.add(historyVariable, f.show(limit), "must be a whole number from 1 to %d", maxThreadHistory)
	}
	c := bare()
	c.File = File{places: &place{below: where}, variables: f.from}
	decode(tree, &c, f)
	c.normalise(f)
	c.validate(f)
	var found []Fault
	for _, check := range checks {
		found = append(found, check(c)...)
	}
	f.alsoAdd(found)
	if err := f.err(); err != nil {
		return Config{}, err
	}
	c.fillIn()
	return c, nil
}

// expand replaces the variables in the tree. One that is not set is a fault
// only where its value is of use.
func expand(tree map[string]any, getenv func(string) (string, bool), f *faults) {
	e := expander{getenv: getenv, faults: f}
	e.tree(tree, "")
	unused := unusedKeys(tree)
	names := map[string][]string{}
	for _, m := range e.missing {
		if !unused(m.key) {
			names[m.key] = append(names[m.key], m.name)
		}
	}
	for key, missing := range names {
		delete(f.from, key)
		f.add(key, "", "not set in the environment: %s", strings.Join(missing, ", "))
	}
	collectSecrets(tree, reflect.TypeFor[Config](), f)
}

// unusedKeys tells which keys nothing will read: the access to a provider that
// no agent has, and the signing secret in Socket Mode.
func unusedKeys(tree map[string]any) func(key string) bool {
	used := map[string]bool{}
	for agent := range bare().Agents.All() {
		used[cmp.Or(text(at(tree, "agents", agent, "provider")), string(ProviderGemini))] = true
	}
	socketMode := text(at(tree, "slack", "app_token")) != ""
	return func(key string) bool {
		return strings.HasPrefix(key, "llm.gemini.") && !used["gemini"] ||
			strings.HasPrefix(key, "llm.openai.") && !used["openai"] ||
			key == "slack.signing_secret" && socketMode
	}
}

// at returns what stands under a path of keys, or nil.
func at(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case expanded:
		return string(v)
	}
	return ""
}

// collectSecrets remembers the secrets' values, so that no fault of another key
// tells them.
func collectSecrets(v any, t reflect.Type, f *faults) {
	if t == reflect.TypeFor[Secret]() || t == reflect.TypeFor[map[string]Secret]() {
		leaves(v, func(s string) { f.secrets = append(f.secrets, strings.TrimSpace(s)) })
		return
	}
	m, _ := v.(map[string]any)
	if t == reflect.TypeFor[Database]() {
		f.secrets = append(f.secrets, urlSecret(text(m["url"])))
	}
	for name, field := range fieldsOf(t) {
		collectSecrets(m[name], field, f)
	}
}

func leaves(v any, each func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			leaves(item, each)
		}
	case []any:
		for _, item := range v {
			leaves(item, each)
		}
	default:
		each(text(v))
	}
}

// override lets the environment win where the system's contract says so, if it can be read:
// then what the file has is not looked at any more.
func override(tree map[string]any, getenv func(string) (string, bool)) (value string, wins bool) {
	value, _ = getenv(historyVariable)
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 1 || n > maxThreadHistory {
		return value, false
	}
	if slack, ok := tree["slack"].(map[string]any); ok { // else that is a fault, as the token is not there
		slack["thread_history_limit"] = n
	}
	return value, true
}
