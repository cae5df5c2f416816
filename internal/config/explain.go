package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// File is the file that a configuration was read from, with the line of each value.
type File struct {
	// Path is the file's path; empty if there is no file.
	Path string

	// lines maps the dotted key of each value to its line.
	lines map[string]int
	// channels maps the normal form of a channel's key to the key in the file.
	channels map[string]string
	// variables maps a dotted key to the environment variables in its value.
	variables map[string][]string
}

// Channels returns the keys of the channels as written in the file, in order of their lines.
func (f File) Channels() []string {
	keys := slices.Collect(maps.Values(f.channels))
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.lines["channels."+a], f.lines["channels."+b]), cmp.Compare(a, b))
	})
	return keys
}

// Setting is one setting of a channel, with where it comes from.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// From is the dotted key of the value in the file, or "default".
	From string `json:"from"`
	// Line is the line of From in the file, from 1; 0 for a default. A value that comes through
	// an alias or a merge has the line where it is written.
	Line int `json:"line,omitempty"`
	// Variables are the environment variables in the value.
	Variables []string `json:"variables,omitempty"`
}

// fromDefault is Setting.From of a setting that the file does not have.
const fromDefault = "default"

// ChannelKey returns a channel's key below channels, as written in the file; empty if the channel
// has no settings of its own.
func (c Config) ChannelKey(f ChannelFacts) string {
	key, _ := c.channel(f)
	return cmp.Or(c.File.channels[key], key)
}

// Explain returns every setting of a channel, as Channel resolves it, with where it comes from. The
// order is that of the fields of type Channel.
func (c Config) Explain(f ChannelFacts) []Setting {
	_, own := c.channel(f)
	key := c.ChannelKey(f)
	var all []Setting
	for field, value := range reflect.ValueOf(own).Fields() {
		setting, _ := keyOf(field)
		if value.IsZero() {
			all = append(all, c.inherited(setting))
			continue
		}
		all = append(all, c.setting(setting, reflect.Indirect(value), "channels."+key+"."+setting))
	}
	return all
}

// inherited returns a setting that the channel does not have itself.
func (c Config) inherited(key string) Setting {
	switch key {
	case "mode":
		return Setting{Key: key, Value: string(ModeJudge), From: fromDefault}
	case "bots":
		return Setting{Key: key, Value: string(BotsIgnore), From: fromDefault}
	case "remember":
		return Setting{Key: key, Value: string(RememberEverywhere), From: fromDefault}
	case "persona":
		return Setting{Key: key, From: fromDefault}
	case "model":
		return c.setting(key, reflect.ValueOf(c.Agents.Response.Model), "agents.response.model")
	case "tools":
		return c.setting(key, reflect.ValueOf(c.Tools.Enabled), "tools.enabled")
	case "time_zone":
		return c.setting(key, reflect.ValueOf(c.TimeZone), "time_zone")
	}
	return c.setting(key, fieldOf(reflect.ValueOf(c.Response), key), "response."+key)
}

// setting returns a setting with its place in the file, if the dotted key from has a value there.
func (c Config) setting(key string, value reflect.Value, from string) Setting {
	s := Setting{Key: key, Value: fmt.Sprint(value), From: fromDefault}
	if names, ok := value.Interface().([]string); ok {
		s.Value = "[" + strings.Join(names, ", ") + "]"
	}
	if line := c.File.lines[from]; line > 0 {
		s.From, s.Line, s.Variables = from, line, c.File.variables[from]
	}
	return s
}
