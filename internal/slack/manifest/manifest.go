// Package manifest generates the manifest of the Slack app for a configuration, with the scopes
// that the bot needs (docs.slack.dev/reference/app-manifest).
package manifest

import (
	"fmt"
	"net/url"
	"strings"

	"myao/internal/config"
)

// AnswerNow is the callback_id of the message shortcut that asks for an answer to a message.
const AnswerNow = "answer_now"

// The paths on the starter that Slack sends requests to.
const (
	EventsPath       = "/slack/events"
	InteractionsPath = "/slack/interactions"
	CommandsPath     = "/slack/commands"
)

// OAuthPath is where Slack leads whoever has agreed to install the app.
const OAuthPath = "/slack/oauth"

// Slack's limits, in characters (github.com/slackapi/manifest-schema).
const (
	maxName = 35
	maxURL  = 3000 // the smallest limit of the three addresses
)

// Manifest is the part of Slack's manifest that this app uses. A manifest pasted over an existing
// app removes whatever the manifest does not name.
type Manifest struct {
	Display  Display  `json:"display_information" yaml:"display_information"`
	Features Features `json:"features" yaml:"features"`
	OAuth    OAuth    `json:"oauth_config" yaml:"oauth_config"`
	Settings Settings `json:"settings" yaml:"settings"`

	scopes []Scope
}

// Display is the app's name and description.
type Display struct {
	Name        string `json:"name" yaml:"name"`
	Description string `json:"description" yaml:"description"`
}

// Features are the app's user interface in Slack.
type Features struct {
	AppHome       AppHome        `json:"app_home" yaml:"app_home"`
	AgentView     *AgentView     `json:"agent_view,omitempty" yaml:"agent_view,omitempty"`
	BotUser       BotUser        `json:"bot_user" yaml:"bot_user"`
	Shortcuts     []Shortcut     `json:"shortcuts" yaml:"shortcuts"`
	SlashCommands []SlashCommand `json:"slash_commands" yaml:"slash_commands"`
}

// AppHome is the tabs of the direct message with the bot.
type AppHome struct {
	HomeTabEnabled             bool `json:"home_tab_enabled" yaml:"home_tab_enabled"`
	MessagesTabEnabled         bool `json:"messages_tab_enabled" yaml:"messages_tab_enabled"`
	MessagesTabReadOnlyEnabled bool `json:"messages_tab_read_only_enabled" yaml:"messages_tab_read_only_enabled"`
}

// BotUser is the bot as users see it.
type BotUser struct {
	DisplayName  string `json:"display_name" yaml:"display_name"`
	AlwaysOnline bool   `json:"always_online" yaml:"always_online"`
}

// Shortcut is an entry in the menu of a message.
type Shortcut struct {
	Name        string `json:"name" yaml:"name"`
	Type        string `json:"type" yaml:"type"`
	CallbackID  string `json:"callback_id" yaml:"callback_id"`
	Description string `json:"description" yaml:"description"`
}

// SlashCommand is a slash command. URL is empty in Socket Mode.
type SlashCommand struct {
	Command     string `json:"command" yaml:"command"`
	URL         string `json:"url,omitempty" yaml:"url,omitempty"`
	Description string `json:"description" yaml:"description"`
	UsageHint   string `json:"usage_hint" yaml:"usage_hint"`
}

// OAuth is the app's permissions.
type OAuth struct {
	// RedirectURLs are empty for an app that only its owner installs.
	RedirectURLs []string `json:"redirect_urls,omitempty" yaml:"redirect_urls,omitempty"`

	Scopes BotScopes `json:"scopes" yaml:"scopes"`
}

// BotScopes are the scopes of the bot token. There is no user token.
type BotScopes struct {
	Bot []string `json:"bot" yaml:"bot"`
}

// Settings is how Slack sends events and interactions to the app.
type Settings struct {
	Events        Events        `json:"event_subscriptions" yaml:"event_subscriptions"`
	Interactivity Interactivity `json:"interactivity" yaml:"interactivity"`
	OrgDeploy     bool          `json:"org_deploy_enabled" yaml:"org_deploy_enabled"`
	SocketMode    bool          `json:"socket_mode_enabled" yaml:"socket_mode_enabled"`
	TokenRotation bool          `json:"token_rotation_enabled" yaml:"token_rotation_enabled"`
}

// Events are the subscribed events. RequestURL is empty in Socket Mode.
type Events struct {
	RequestURL string   `json:"request_url,omitempty" yaml:"request_url,omitempty"`
	BotEvents  []string `json:"bot_events" yaml:"bot_events"`
}

// Interactivity is the address for interactions. RequestURL is empty in Socket Mode.
type Interactivity struct {
	IsEnabled  bool   `json:"is_enabled" yaml:"is_enabled"`
	RequestURL string `json:"request_url,omitempty" yaml:"request_url,omitempty"`
}

// New returns the manifest for a configuration. base is the public address of the starter, such
// as https://myao.example.com, with or without a path before /slack/. Socket Mode ignores base.
// New returns an error for what Slack would refuse.
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
		return Manifest{}, fmt.Errorf("persona.name has %d characters: want at most %d, Slack's limit for the name "+
			"of an app", n, maxName)
	}
	m := Manifest{
		Display: Display{Name: c.Persona.Name, Description: "A teammate that reads along and speaks when it helps."},
		Features: Features{
			AppHome: AppHome{HomeTabEnabled: true, MessagesTabEnabled: true},
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
	if c.Slack.Installable() {
		m.OAuth.RedirectURLs = []string{c.Server.PublicURL + OAuthPath}
		m.Settings.OrgDeploy, m.Settings.TokenRotation = true, true
	}
	return m, nil
}

// Base checks a public address of a starter, and returns it without a trailing slash.
func Base(address string) (string, error) {
	const want = "want the public https:// address of the starter, such as https://myao.example.com"
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return "", fmt.Errorf("%q: %s", address, want)
	case u.Scheme != "https":
		return "", fmt.Errorf("%q: Slack accepts only https: %s", address, want)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("the address has more than a host and a path: %s", want)
	case len(address) > maxURL-len(InteractionsPath):
		return "", fmt.Errorf("the address is longer than Slack allows: %s", want)
	}
	root := strings.TrimRight(address, "/")
	for _, path := range []string{EventsPath, InteractionsPath, CommandsPath} {
		if strings.HasSuffix(root, path) {
			return "", fmt.Errorf("%q: leave out %s: %s", address, path, want)
		}
	}
	return root, nil
}
