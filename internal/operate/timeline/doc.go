// Package timeline explains what became of messages. It assembles the timeline of a conversation from
// the database's messages, changes, decisions, model calls, replies and orders. It asks neither
// Slack nor Temporal. If nothing was recorded about a message, it says why, as far as the database
// and the settings tell.
package timeline
