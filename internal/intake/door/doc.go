// Package door receives what Slack delivers. Events, slash commands and interactions, by HTTP or
// Socket Mode, are verified, decoded, recorded and acknowledged, in this order. An acknowledged
// event is committed to the database. The relay carries it on from there.
package door
