package config

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
)

// MCP is the access to programs that have tools for the model, by the Model Context Protocol
// (modelcontextprotocol.io).
type MCP struct {
	// Servers are those programs, by the name that stands before their tools' names.
	Servers map[string]MCPServer `yaml:"servers"`
}

// MCPServer is one such program: it is reached at URL, or Command starts it.
type MCPServer struct {
	// URL is where it speaks streamable HTTP.
	URL string `yaml:"url"`
	// Command is a program that speaks over its standard input and output. It is started without a shell,
	// with Args, and its environment is Env and nothing else.
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]Secret `yaml:"env"`
	// Headers are sent with each request to URL.
	Headers map[string]Secret `yaml:"headers"`
	// Channels are where its tools may be used: ids, names, or AllChannels. Empty is nowhere.
	Channels Places `yaml:"channels"`
	// Tools are which of its tools may be used, as it names them. Nil is all.
	Tools []string `yaml:"tools"`
	// Look and Act are tools whose kind the operator decides, as the server names them.
	Look []string `yaml:"look"`
	Act  []string `yaml:"act"`
	// External lets its tools be used where guests or people of other companies read.
	External bool `yaml:"external"`
}

// removed reports whether an entry of a workspace takes the server away there.
func (s MCPServer) removed() bool { return reflect.ValueOf(s).IsZero() }

// Places are channels: a list, or one of them as a text.
type Places []string

// AllChannels stands for every channel and direct message in MCPServer.Channels.
const AllChannels = "all"

// In reports whether the server's tools may be used in a channel.
func (s MCPServer) In(f ChannelFacts) bool { return s.Channels.Have(AllChannels) || s.Channels.List(f) }

// Have reports whether a word such as AllChannels is among the places. "#all" is a channel.
func (p Places) Have(word string) bool {
	return slices.ContainsFunc(p, func(listed string) bool { return strings.TrimSpace(listed) == word })
}

// List reports whether a channel is among the places by its id or name.
func (p Places) List(f ChannelFacts) bool {
	return slices.ContainsFunc(p, func(listed string) bool {
		listed = normalChannel(listed)
		return listed == f.ID || f.Name != "" && listed == normalChannel(f.Name)
	})
}

var mcpName = regexp.MustCompile(`^[a-z0-9]+([-_][a-z0-9]+)*$`)

// validate checks the servers; key is that of the section that has mcp.
func (m MCP) validate(f *faults, key string) {
	for name, s := range m.Servers {
		at := join(key, "mcp.servers."+name)
		if !mcpName.MatchString(name) || len(name) > 30 {
			f.add(at, nil, "must have a name of up to 30 lower-case letters and digits, with single - or _ between them")
		}
		switch {
		case key != "" && s.removed():
		case (s.URL == "") == (s.Command == ""):
			f.add(at, nil, "must have one of url and command")
		case s.URL != "":
			if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				f.add(at+".url", s.URL, "must be an address that begins with http:// or https://")
			}
			if len(s.Args) > 0 || len(s.Env) > 0 {
				f.add(at, nil, "must have args and env only with command")
			}
		case len(s.Headers) > 0:
			f.add(at, nil, "must have headers only with url")
		}
		for _, tool := range s.Look {
			if slices.Contains(s.Act, tool) {
				f.add(at+".look", tool, "must not be in act as well")
			}
		}
		for key := range s.Env {
			if key == "" || strings.ContainsAny(key, "=\x00") {
				f.add(at+".env", nil, "must have names of variables as keys")
			}
		}
	}
}

// toolOfServer reports whether a name is that of a tool of a configured server.
func (m MCP) toolOfServer(name string) bool {
	server, tool, ok := strings.Cut(name, chat.ServerSeparator)
	_, known := m.Servers[server]
	return ok && known && tool != ""
}
