package threadstatus

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"myao/internal/chat"
	"myao/internal/language/words"
)

// maxName limits a name in a status, in characters.
const maxName = 40

// Thinking is the status while a model writes. Slack puts the app's name before it.
func Thinking(w words.Words) string { return w.Of("is thinking…") }

// Using is the status while a tool runs. input is what a model asks it for; servers are the MCP servers
// whose names may be shown.
func Using(w words.Words, tool string, input json.RawMessage, servers []string) string {
	for _, t := range chat.Tools {
		if t.Name != tool {
			continue
		}
		var file struct{ Name string }
		if t.StatusOf != "" && json.Unmarshal(input, &file) == nil && harmless(file.Name) != "" {
			return w.Say(t.StatusOf, harmless(file.Name))
		}
		return w.Of(t.Status)
	}
	if server, _, ok := strings.Cut(tool, chat.ServerSeparator); ok && slices.Contains(servers, server) {
		return w.Say("is using %s…", harmless(server))
	}
	return w.Of("is looking something up…")
}

// harmless is a name as it may be shown: short, in one line, and nothing in it is a mention, a link or a form
// of writing.
func harmless(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r), strings.ContainsRune("<>&@#*~`|", r):
			return -1
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > maxName {
		end := string(runes[len(runes)-maxName/4:]) // with the extension
		return strings.TrimSpace(string(runes[:maxName-maxName/4-1])) + "…" + end
	}
	return name
}
