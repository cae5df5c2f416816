// Package chat holds the values that all other packages share: messages, conversations, memories,
// the context of a model call and its verdict. It does no I/O and knows neither Slack's wire format
// nor Temporal nor a database.
//
// Times are UTC instants. Message identifiers are Slack's ts strings ("1699999999.000100"), which
// are unique within a channel and sort by time.
package chat
