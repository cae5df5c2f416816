// Package manifest writes the manifest of the Slack app that a configuration needs, and
// knows the scopes in it (docs.slack.dev/reference/app-manifest).
package manifest

import (
	"fmt"
	"net/url"
	"strings"

	"myao/internal/config"
)

// AnswerNow is the callback_id of the message shortcut that has the bot answer a message.
const AnswerNow = "answer_now"

// Paths at which Slack reaches the starter.
const (
	EventsPath       = "/slack/events"
	InteractionsPath = "/slack/interactions"
	CommandsPath     = "/slack/commands"
)

// Bounds of Slack's, in characters (github.com/slackapi/manifest-schema).
const (
	maxName = 35
	maxURL  = 3000 // the least of those of the three addresses
)

// Manifest is what of Slack's manifest this app has. What is left out has no say: pasted
// over an app, it takes away what it does not name.
type Manifest struct {
	Display  Display  `json:"display_information" yaml:"display_information"`
	Features Features `json:"features" yaml:"features"`
	OAuth    OAuth    `json:"oauth_config" yaml:"oauth_config"`
	Settings Settings `json:"settings" yaml:"settings"`

	scopes []Scope
}

// Display is what the app is called.
type Display struct {
	Name        string `json:"name" yaml:"name"`
	Description string `json:"description" yaml:"description"`
}

// Features are where people meet the app.
type Features struct {
	AppHome       AppHome        `json:"app_home" yaml:"app_home"`
	BotUser       BotUser        `json:"bot_user" yaml:"bot_user"`
	Shortcuts     []Shortcut     `json:"shortcuts" yaml:"shortcuts"`
	SlashCommands []SlashCommand `json:"slash_commands" yaml:"slash_commands"`
}

// AppHome is the tabs of the conversation with the bot.
type AppHome struct {
	HomeTabEnabled             bool `json:"home_tab_enabled" yaml:"home_tab_enabled"`
	MessagesTabEnabled         bool `json:"messages_tab_enabled" yaml:"messages_tab_enabled"`
	MessagesTabReadOnlyEnabled bool `json:"messages_tab_read_only_enabled" yaml:"messages_tab_read_only_enabled"`
}

// BotUser is the bot as people see it.
type BotUser struct {
	DisplayName  string `json:"display_name" yaml:"display_name"`
	AlwaysOnline bool   `json:"always_online" yaml:"always_online"`
}

// Shortcut is an entry of a message's menu.
type Shortcut struct {
	Name        string `json:"name" yaml:"name"`
	Type        string `json:"type" yaml:"type"`
	CallbackID  string `json:"callback_id" yaml:"callback_id"`
	Description string `json:"description" yaml:"description"`
}

// SlashCommand is a command, whose URL is empty in Socket Mode.
type SlashCommand struct {
	Command     string `json:"command" yaml:"command"`
	URL         string `json:"url,omitempty" yaml:"url,omitempty"`
	Description string `json:"description" yaml:"description"`
	UsageHint   string `json:"usage_hint" yaml:"usage_hint"`
}

// OAuth is what the app may do.
type OAuth struct {
	Scopes BotScopes `json:"scopes" yaml:"scopes"`
}

// BotScopes are the bot token's; there is no user token.
type BotScopes struct {
	Bot []string `json:"bot" yaml:"bot"`
}

// Settings is how Slack reaches the app.
type Settings struct {
	Events        Events        `json:"event_subscriptions" yaml:"event_subscriptions"`
	Interactivity Interactivity `json:"interactivity" yaml:"interactivity"`
	OrgDeploy     bool          `json:"org_deploy_enabled" yaml:"org_deploy_enabled"`
	SocketMode    bool          `json:"socket_mode_enabled" yaml:"socket_mode_enabled"`
	TokenRotation bool          `json:"token_rotation_enabled" yaml:"token_rotation_enabled"`
}

// Events are those that Slack tells of, and where to; RequestURL is empty in Socket Mode.
type Events struct {
	RequestURL string   `json:"request_url,omitempty" yaml:"request_url,omitempty"`
	BotEvents  []string `json:"bot_events" yaml:"bot_events"`
}

// Interactivity is where shortcuts go; RequestURL is empty in Socket Mode.
type Interactivity struct {
	IsEnabled  bool   `json:"is_enabled" yaml:"is_enabled"`
	RequestURL string `json:"request_url,omitempty" yaml:"request_url,omitempty"`
}

// New is the manifest for a configuration. base is the starter's address as Slack reaches
// it, such as https://myao.example.com, with or without a path before /slack/; in Socket
// Mode it is not read. The error names what Slack would refuse.
func New(c config.Config, base string) (Manifest, error) {
	address := func(string) string { return "" }
	if !c.Slack.SocketMode() {
		root, err := Base(base)
		if err != nil {
			return Manifest{}, err
		}
		address = func(path string) string { return root + path }
	}
	if n := len([]rune(c.Persona.Name)); n > maxName {
		return Manifest{}, fmt.Errorf("persona.name has %d characters, and the name of a Slack app has at most %d", n, maxName)
	}
	m := Manifest{
		Display: Display{Name: c.Persona.Name, Description: "A teammate that reads along and speaks when it helps."},
		Features: Features{
			AppHome: AppHome{MessagesTabEnabled: true},
			BotUser: BotUser{DisplayName: c.Persona.Name, AlwaysOnline: true},
			Shortcuts: []Shortcut{{
				Name: "Answer this now", Type: "message", CallbackID: AnswerNow,
				Description: "Has " + c.Persona.Name + " answer this message at once.",
			}},
			SlashCommands: []SlashCommand{{
				Command: c.Slack.Command, URL: address(CommandsPath),
				Description: "See where " + c.Persona.Name + " stands here and why, and silence it.",
				UsageHint:   "status | why | snooze 2h | mute | unmute | forget | help",
			}},
		},
		Settings: Settings{
			Events:        Events{RequestURL: address(EventsPath), BotEvents: events(c)},
			Interactivity: Interactivity{IsEnabled: true, RequestURL: address(InteractionsPath)},
			SocketMode:    c.Slack.SocketMode(),
		},
		scopes: Scopes(c),
	}
	m.OAuth.Scopes.Bot = Names(m.scopes)
	return m, nil
}

// Base is an address at which Slack can reach a starter, without a slash at its end.
func Base(address string) (string, error) {
	const want = "want the https:// address at which Slack reaches the starter, such as https://myao.example.com"
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return "", fmt.Errorf("%q: %s", address, want)
	case u.Scheme != "https":
		return "", fmt.Errorf("%q: Slack speaks https alone: %s", address, want)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("the address has more than a host and a path: %s", want)
	case len(address) > maxURL-len(InteractionsPath):
		return "", fmt.Errorf("the address is longer than Slack takes: %s", want)
	}
	root := strings.TrimRight(address, "/")
	for _, path := range []string{EventsPath, InteractionsPath, CommandsPath} {
		if strings.HasSuffix(root, path) {
			return "", fmt.Errorf("%q: without %s, please: %s", address, path, want)
		}
	}
	return root, nil
}
