package config

import (
	"maps"
	"slices"
	"strings"
)

// HooksPath begins the paths of hooks on the starter: the name follows.
const HooksPath = "/hooks/"

// Hook is an address at which another program tells what has happened.
type Hook struct {
	// Secret signs what the program sends.
	Secret Secret `yaml:"secret"`
	// Channels are where its events can be found and waited for: ids or, with one workspace, names.
	Channels Places `yaml:"channels"`
}

// minHookSecret is the shortest secret of a hook, in bytes.
const minHookSecret = 16

// Places returns the hook's channels by how they are given: ids, and names without "#".
func (h Hook) Places() (ids, names []string) {
	for _, c := range h.Channels {
		if c = normalChannel(c); channelID.MatchString(c) {
			ids = append(ids, c)
		} else {
			names = append(names, c)
		}
	}
	return ids, names
}

// hooksIn returns the names of the hooks that have a channel.
func (c Config) hooksIn(f ChannelFacts) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Hooks)) {
		if c.Hooks[name].Channels.List(f) {
			names = append(names, name)
		}
	}
	return names
}

func (c Config) validateHooks(f *faults) {
	for name, h := range c.Hooks {
		at := "hooks." + name
		if !mcpName.MatchString(name) || len(name) > 30 {
			f.add(at, nil, "must have a name of up to 30 lower-case letters and digits, with single - or _ between them")
		}
		if len(h.Secret) < minHookSecret {
			f.add(at+".secret", nil, "is required and must have at least %d characters: the secret with which the program "+
				"signs what it sends; openssl rand -hex 32 makes one", minHookSecret)
		}
		if len(h.Channels) == 0 {
			f.add(at+".channels", nil, "is required: the ids or names of the channels where its events can be found and "+
				"waited for")
		}
		for _, listed := range h.Channels {
			switch normal := normalChannel(listed); {
			case normal == "":
				f.add(at+".channels", listed, "must have ids or names of channels")
			case strings.TrimSpace(listed) == AllChannels:
				f.add(at+".channels", listed, "must be ids or names of channels; #all is a channel of that name")
			case c.Slack.Installable() && !channelID.MatchString(normal):
				f.add(at+".channels", listed, "must be ids of channels, C…, where several workspaces can install the app: a "+
					"name may stand for a channel in each of them")
			}
		}
	}
}
