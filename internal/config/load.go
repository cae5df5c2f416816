package config

import (
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
	root := document(data, f)
	if root == nil {
		return Config{}, f.err()
	}
	c, d := bare(), decoder{faults: f, getenv: getenv, lines: map[string]int{}, unset: map[string][]string{}}
	limit, overridden := historyLimit(getenv, f)
	if overridden {
		d.overridden = "slack.thread_history_limit"
	}
	d.mapping(root, reflect.ValueOf(&c).Elem(), place{})
	if d.tooMuch {
		return Config{}, &Error{Faults: []Fault{{Message: "is nested too deeply or repeats too much"}}}
	}
	if overridden {
		c.Slack.ThreadHistoryLimit = limit
	}
	c.addUnset(d.unset, f)
	f.secrets = append(f.secrets, urlSecret(c.Database.URL))
	c.File = File{lines: d.lines, variables: f.from}
	c.normalise()
	check(f, reflect.ValueOf(c), "")
	c.validate(f)
	c.normaliseChannels(f)
	var found []Fault
	for _, check := range checks {
		found = append(found, check(c)...)
	}
	f.addAll(found)
	if err := f.err(); err != nil {
		return Config{}, err
	}
	c.fillIn()
	return c, nil
}

// historyLimit is what the environment gives in place of slack.thread_history_limit.
func historyLimit(getenv func(string) (string, bool), f *faults) (limit int, ok bool) {
	value, _ := getenv(historyVariable)
	limit, err := strconv.Atoi(strings.TrimSpace(value))
	if ok = err == nil && limit >= 1 && limit <= maxThreadHistory; !ok && value != "" {
		f.add(historyVariable, value, "must be a whole number from 1 to %d", maxThreadHistory)
	}
	return limit, ok
}

// addUnset adds a fault for each value whose variables are not set, unless nothing will read it:
// an access that no agent uses, or the signing secret in Socket Mode.
func (c Config) addUnset(unset map[string][]string, f *faults) {
	unused := c.unusedAccess()
	if c.Slack.SocketMode() {
		unused["slack.signing_secret"] = true
	}
	for key, names := range unset {
		if unused[key] {
			continue
		}
		delete(f.from, key)
		f.add(key, nil, "not set in the environment: %s", strings.Join(names, ", "))
	}
}
