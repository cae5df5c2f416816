// Package chatops answers the slash command: what the bot is doing in a channel, and orders to
// it. A command applies to the channel where it was typed, and no other. Answers are Slack's
// mrkdwn, visible only to the user who typed the command. Except for notes and promises, they contain nothing
// that people wrote.
package chatops
