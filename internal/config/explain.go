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

	// lines are those of the keys that have a value, by their dotted keys.
	lines map[string]int
	// written are the keys of channels as the file has them, by their one form.
	written map[string]string
	// variables are the names of those that went into a value, by its dotted key.
	variables map[string][]string
}

// Channels are the keys of the channels, as they are written, in order of their lines.
func (f File) Channels() []string {
	keys := slices.Collect(maps.Values(f.written))
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.lines["channels."+a], f.lines["channels."+b]), cmp.Compare(a, b))
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

// ChannelKey is the key of Channels, as the file has it, under which something is said of a
// channel; empty if nothing is.
func (c Config) ChannelKey(f ChannelFacts) string {
	key, _ := c.channel(f)
	return cmp.Or(c.File.written[key], key)
}

// Explain returns every setting of a channel in the order of Channel's fields, as
// Channel resolves them, with where each comes from.
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
		return c.setting(key, reflect.ValueOf(c.Agents.Response.Model), "agents.response.model")
	case "time_zone":
		return c.setting(key, reflect.ValueOf(c.TimeZone), "time_zone")
	}
	return c.setting(key, fieldOf(reflect.ValueOf(c.Response), key), "response."+key)
}

// setting is a value that the file has under a dotted key, if it has one there.
func (c Config) setting(key string, value reflect.Value, from string) Setting {
	s := Setting{Key: key, Value: fmt.Sprint(value), From: fromDefault}
	if line := c.File.lines[from]; line > 0 {
		s.From, s.Line, s.Variables = from, line, c.File.variables[from]
	}
	return s
}
