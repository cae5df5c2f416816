package chat

import "time"

// Set is what people have set of a channel in Slack, by the keys of its settings.
type Set map[string]InSlack

// InSlack is a value that somebody has set in Slack.
type InSlack struct {
	// Value is as in the configuration.
	Value string
	// By is who set it, as orders name them, and At when. Before is what was set in Slack before; nil if nothing was,
	// so that what the file says held.
	By     string
	At     time.Time
	Before *string
}
