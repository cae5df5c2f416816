// Package record decides what an event in Slack changes in the database: the message as it is
// now, and the changes to relay to conversations. The door and catch-up both record with it.
package record
