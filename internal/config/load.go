package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
)

// historyVariable overrides slack.thread_history_limit.
const historyVariable = "THREAD_HISTORY_LIMIT"

// A Check finds faults that only another package can see, such as those in files that the
// configuration names. The configuration may have other faults; a Check should not repeat what
// follows from them. The Value of its faults is the plain value.
type Check func(Config) []Fault

// Load reads the file at path; getenv is os.LookupEnv or a test's own. If anything is wrong, or the
// file is missing, it returns an *Error with every fault, including those of the checks.
func Load(path string, getenv func(string) (string, bool), checks ...Check) (Config, error) {
	return load(path, getenv, nil, checks)
}

// Judge is how LoadJudge reads a configuration.
type Judge struct {
	// Change changes what was read before it is checked; nil changes nothing.
	Change func(*Config)
	// Offline says that the model is not asked: no key is needed.
	Offline bool
}

// LoadJudge is Load for a program that asks the judgment's model and nothing else. The models of the
// other agents become demo models, and faults of what it does not use are passed over.
func LoadJudge(path string, getenv func(string) (string, bool), judge Judge, checks ...Check) (Config, error) {
	return load(path, getenv, &judge, checks)
}

// change applies what a judge changes.
func (j Judge) change(c *Config) {
	for _, a := range []*Agent{&c.Agents.Response, &c.Agents.Judgment, &c.Agents.Memory} {
		a.Fallback = Fallback{}
	}
	c.Agents.Response.Provider, c.Agents.Memory.Provider = ProviderDemo, ProviderDemo
	c.Shadow.Judges, c.Workspaces = nil, nil
	if j.Change != nil {
		j.Change(c)
	}
}

// unused are the beginnings of the keys that a judge does not use.
func (j Judge) unused() []string {
	keys := []string{"slack.bot_token", "slack.signing_secret", "slack.app_token", "slack.client_",
		"slack.allowed_workspaces", "server.", "database.", "encryption.", "worker.", "shadow.", "workspaces.",
		"agents.response.fallback.", "agents.judgment.fallback.", "agents.memory.fallback."}
	if j.Offline {
		keys = append(keys, "llm.", "agents.judgment.api_key", "agents.judgment.base_url")
	}
	return keys
}

func load(path string, getenv func(string) (string, bool), judge *Judge, checks []Check) (Config, error) {
	data, err := read(path)
	if err != nil {
		message := "cannot be read: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			message = "there is no such file; `starter init` makes one, or start with a copy of config.example.yaml"
		}
		return Config{}, &Error{Faults: []Fault{{Key: path, Message: message}}}
	}
	c, err := parse(data, getenv, judge, checks)
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

// maxBytes is more than any number of channels and prompts needs.
const maxBytes = 4 << 20

// read returns the content of a file. A device, as a file, may have no end.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("it is longer than %d bytes", maxBytes)
	}
	return data, err
}

// Parse is Load for the content of a file. A fault of the file as a whole has the key "".
func Parse(data []byte, getenv func(string) (string, bool), checks ...Check) (Config, error) {
	return parse(data, getenv, nil, checks)
}

// parse is Parse or, with a judge, LoadJudge for the content of a file.
func parse(data []byte, getenv func(string) (string, bool), judge *Judge, checks []Check) (Config, error) {
	f := newFaults()
	root := document(data, f)
	if root == nil {
		return Config{}, f.err()
	}
	c, d := basics(), decoder{faults: f, getenv: getenv, lines: map[string]int{}, unset: map[string][]string{}}
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
	if judge != nil {
		judge.change(&c)
	}
	c.addUnset(d.unset, f)
	f.secrets = append(f.secrets, c.Secrets()...)
	if _, err := url.Parse(c.Database.URL); err != nil {
		f.secrets = append(f.secrets, c.Database.URL) // its password may be anywhere
	}
	c.File = File{lines: d.lines, variables: f.from}
	c.normalise()
	check(f, reflect.ValueOf(c), "", false)
	c.validate(f)
	c.normaliseChannels(f)
	var found []Fault
	for _, check := range checks {
		found = append(found, check(c)...)
	}
	f.addAll(found)
	if judge != nil {
		f.drop(judge.unused())
	}
	if err := f.err(); err != nil {
		return Config{}, err
	}
	c.derive()
	return c, nil
}

// historyLimit returns the environment's value for slack.thread_history_limit; ok is false if there
// is no valid one.
func historyLimit(getenv func(string) (string, bool), f *faults) (limit int, ok bool) {
	value, _ := getenv(historyVariable)
	limit, err := strconv.Atoi(strings.TrimSpace(value))
	if ok = err == nil && limit >= 1 && limit <= maxThreadHistory; !ok && value != "" {
		f.add(historyVariable, value, "must be a whole number from 1 to %d", maxThreadHistory)
	}
	return limit, ok
}

// addUnset adds a fault for each value with a variable that is not set. Values that nothing reads
// need no variables: an access that no agent uses, and the signing secret in Socket Mode.
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
