package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// File is where a configuration was read, and where in there each value stands.
type File struct {
	// Path is the file's; empty where there is none.
	Path string

	places *place
	// written are the keys of channels as the file has them, by their one form.
	written map[string]string
	// variables are the names of those that went into a key's value.
	variables map[string][]string
}

// line is that of a key that has a value, or 0.
func (f File) line(path ...string) int {
	if f.places == nil {
		return 0
	}
	at := *f.places
	for _, name := range path {
		at = at.below[name]
	}
	return at.line
}

// forget has a key count as one without a value: a default was put in its place.
func (f File) forget(path ...string) {
	if f.places == nil {
		return
	}
	at := *f.places
	last := len(path) - 1
	for _, name := range path[:last] {
		at = at.below[name]
	}
	delete(at.below, path[last])
}

// Channels are the keys of the channels, as they are written, in order of their lines.
func (f File) Channels() []string {
	keys := slices.Collect(maps.Values(f.written))
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.line("channels", a), f.line("channels", b)), cmp.Compare(a, b))
	})
	return keys
}

// Setting is one of the settings that hold in a channel, and why it does.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// From is the dotted key that has the value in the file, or "default".
	From string `json:"from"`
	// Line is that of From's last part in the file, from 1; 0 for a default. What comes
	// by an alias or a merge has the line where it was written.
	Line int `json:"line,omitempty"`
	// Variables are those of the environment that the value was made of.
	Variables []string `json:"variables,omitempty"`
}

// fromDefault is Setting.From of what the file says nothing of.
const fromDefault = "default"

// Named is the key of Channels, as the file has it, under which something is said of a
// channel; empty if nothing is.
func (c Config) Named(id, name string) string {
	key, _ := c.channel(id, name)
	return cmp.Or(c.File.written[key], key)
}

// Explain returns every setting of a channel in the order of Channel's fields, as
// Channel resolves them, with where each comes from.
func (c Config) Explain(id, name string) []Setting {
	_, own := c.channel(id, name)
	key := c.Named(id, name)
	var all []Setting
	fields := reflect.TypeFor[Channel]()
	for i := range fields.NumField() {
		setting := fields.Field(i).Tag.Get(tagName)
		if v := reflect.ValueOf(own).Field(i); !v.IsZero() {
			all = append(all, c.setting(setting, reflect.Indirect(v), "channels", key, setting))
			continue
		}
		all = append(all, c.inherited(setting))
	}
	return all
}

// inherited is a setting that a channel does not have of its own.
func (c Config) inherited(key string) Setting {
	switch key {
	case "mode":
		return Setting{Key: key, Value: string(ModeJudge), From: fromDefault}
	case "bots":
		return Setting{Key: key, Value: string(BotsIgnore), From: fromDefault}
	case "persona":
		return Setting{Key: key, From: fromDefault}
	case "model":
		return c.setting(key, reflect.ValueOf(c.Agents.Response.Model), "agents", "response", "model")
	case "time_zone":
		return c.setting(key, reflect.ValueOf(c.TimeZone), "time_zone")
	}
	response := reflect.ValueOf(c.Response)
	for i := range response.NumField() {
		if response.Type().Field(i).Tag.Get(tagName) == key {
			return c.setting(key, response.Field(i), "response", key)
		}
	}
	return Setting{Key: key, From: fromDefault}
}

// setting is a value that the file has under a path, if it has one there.
func (c Config) setting(key string, value reflect.Value, path ...string) Setting {
	s := Setting{Key: key, Value: fmt.Sprint(value), From: fromDefault}
	if line := c.File.line(path...); line > 0 {
		s.From, s.Line = "", line
		for _, name := range path {
			s.From = join(s.From, name)
		}
		s.Variables = c.File.variables[s.From]
	}
	return s
}
