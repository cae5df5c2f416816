package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
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
	// From is the dotted key of the value in the file, "default", or "slack" where people have set it there.
	From string `json:"from"`
	// Line is the line of From in the file, from 1; 0 for a default. A value that comes through
	// an alias or a merge has the line where it is written.
	Line int `json:"line,omitempty"`
	// Variables are the environment variables in the value.
	Variables []string `json:"variables,omitempty"`
	// By is who set it in Slack, as orders name them, At is when, and Before what held before; empty unless From is
	// "slack".
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Before *string   `json:"before,omitempty"`
}

// fromDefault is Setting.From of a setting that the file does not have, fromSlack that of one set in Slack.
const (
	fromDefault = "default"
	fromSlack   = "slack"
)

// ChannelKey returns a channel's key below channels, as written in the file; empty if the channel
// has no settings of its own.
func (c Config) ChannelKey(f ChannelFacts) string {
	key, _ := c.channel(f)
	return cmp.Or(c.File.channels[key], key)
}

// Explain returns every setting of a channel, as Channel resolves it, with where it comes from. The
// order is that of the fields of type Channel.
func (c Config) Explain(f ChannelFacts) []Setting {
	all := c.explainFile(f)
	_, set := c.inForce(f)
	for i, s := range all {
		if in, ok := set[s.Key]; ok {
			all[i] = Setting{Key: s.Key, Value: in.Value, From: fromSlack, By: in.By, At: in.At,
				Before: cmp.Or(in.Before, &s.Value)}
		}
	}
	return all
}

// explainFile is Explain without what people have set in Slack.
func (c Config) explainFile(f ChannelFacts) (all []Setting) {
	_, own := c.channel(f)
	for key, field := range fields(reflect.TypeFor[Channel]()) {
		from, value := "channels."+c.ChannelKey(f), reflect.ValueOf(own).FieldByIndex(field.Index)
		for i := 0; i < len(c.workspaces) && value.IsZero(); i++ {
			from = "workspaces." + c.workspaces[i]
			value = reflect.ValueOf(c.Workspaces[c.workspaces[i]].forChannels()).FieldByIndex(field.Index)
		}
		if value.IsZero() {
			all = append(all, c.inherited(key))
			continue
		}
		all = append(all, c.setting(key, reflect.Indirect(value), from+"."+key))
	}
	return all
}

// ExplainWorkspace returns the settings of a resolved workspace itself, with where they come from. Explain has those of
// its channels. Without entries of Workspaces there are none.
func (c Config) ExplainWorkspace() []Setting {
	if len(c.Workspaces) == 0 {
		return nil
	}
	all := []Setting{
		c.ofWorkspace("persona.name", "persona.name", c.Persona.Name),
		c.ofWorkspace("persona.names", "persona.names", "["+strings.Join(c.Persona.Names, ", ")+"]"),
		c.ofWorkspace("persona.system_prompt", "persona.system_prompt", c.Persona.SystemPrompt),
		c.ofWorkspace("language", "language", c.Language),
		c.ofWorkspace("time_zone", "time_zone", c.TimeZone),
		c.ofWorkspace("playbooks_dir", "playbooks_dir", c.PlaybooksDir),
		c.ofWorkspace("everyone_may", "slack.everyone_may", c.Slack.EveryoneMay),
		c.ofWorkspace("operators", "slack.operators", c.Slack.Operators),
		c.ofWorkspace("daily_calls", "response.workspace_daily_calls", c.Response.WorkspaceDailyCalls),
		c.ofWorkspace("daily_tokens", "response.workspace_daily_tokens", c.Response.WorkspaceDailyTokens),
	}
	for _, name := range []string{"response", "judgment", "memory"} {
		for key, field := range fields(reflect.TypeFor[Agent]()) {
			value := reflect.ValueOf(c.Agents.firsts()[name]).FieldByIndex(field.Index)
			if value = reflect.Indirect(value); !value.IsValid() {
				value = reflect.ValueOf("")
			}
			shown := value.Interface()
			switch v := shown.(type) {
			case Fallback:
				shown = strings.TrimSpace(string(v.Provider) + " " + v.Model)
			case string:
				if key == "base_url" {
					shown = redactURL(v)
				}
			}
			key = "agents." + name + "." + key
			all = append(all, c.ofWorkspace(key, key, shown))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		server, key := c.MCP.Servers[name], "mcp.servers."+name
		all = append(all, c.ofWorkspace(key, key, cmp.Or(server.Command, redactURL(server.URL))))
	}
	return all
}

// ofWorkspace returns a setting of a workspace, which has the key global for all workspaces.
func (c Config) ofWorkspace(key, global string, value any) Setting {
	from := global
	dot := strings.LastIndexByte(key, '.')
	ofAnyProvider := []string{"max_output_tokens", "system_prompt"} // Agent.override
	kept := !strings.HasPrefix(key, "agents.") || slices.Contains(ofAnyProvider, key[dot+1:])
	for _, id := range c.workspaces {
		at, own := "workspaces."+id+".", reflect.ValueOf(c.Workspaces[id])
		if key == "agents.response.model" && c.Workspaces[id].Model != "" {
			from = at + "model"
			break
		}
		if set := below(own, key); set.IsValid() && !set.IsZero() {
			from = at + key
			break
		}
		if !kept && !below(own, key[:dot]+".provider").IsZero() {
			from = ""
			break
		}
	}
	return c.setting(key, reflect.ValueOf(value), from)
}

// below returns the value at a dotted key below a section; it is invalid if there is none.
func below(v reflect.Value, key string) reflect.Value {
	for name := range strings.SplitSeq(key, ".") {
		switch v.Kind() {
		case reflect.Struct:
			v = fieldOf(v, name)
		case reflect.Map:
			v = v.MapIndex(reflect.ValueOf(name))
		default:
			return reflect.Value{}
		}
	}
	return v
}

// inherited returns a setting that the channel does not have itself.
func (c Config) inherited(key string) Setting {
	switch key {
	case "mode":
		return Setting{Key: key, Value: string(ModeJudge), From: fromDefault}
	case "bots":
		return Setting{Key: key, Value: BotsIgnore.String(), From: fromDefault}
	case "remember":
		return Setting{Key: key, Value: string(RememberEverywhere), From: fromDefault}
	case "persona", "tone":
		return Setting{Key: key, From: fromDefault}
	case "locked":
		return c.setting(key, reflect.ValueOf(c.Locked), key)
	case "model":
		s := c.ofWorkspace("agents.response.model", "agents.response.model", c.Agents.Response.Model)
		s.Key = key
		return s
	case "tools":
		return c.setting(key, reflect.ValueOf(c.Tools.Enabled), "tools.enabled")
	case "post_to":
		return c.setting(key, reflect.ValueOf(c.Tools.PostTo), "tools.post_to")
	case "time_zone":
		return c.ofWorkspace(key, key, c.TimeZone)
	case "language":
		return c.ofWorkspace(key, key, c.Language)
	}
	return c.setting(key, fieldOf(reflect.ValueOf(c.Response), key), "response."+key)
}

// setting returns a setting with its place in the file, if the dotted key from has a value there.
func (c Config) setting(key string, value reflect.Value, from string) Setting {
	s := Setting{Key: key, Value: fmt.Sprint(value), From: fromDefault}
	if value.Kind() == reflect.Slice {
		s.Value = strings.ReplaceAll(s.Value, " ", ", ") // names without spaces
	}
	if line := c.File.lines[from]; line > 0 {
		s.From, s.Line, s.Variables = from, line, c.File.variables[from]
	}
	return s
}
