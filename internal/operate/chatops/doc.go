// Package chatops is what people do with the bot from within Slack: the slash command, and the Home tab with its
// buttons. A command says what the bot is doing in a channel, or orders it; it applies to the channel where it was
// typed, and no other. Answers are Slack's mrkdwn, visible only to the user who asked. Except for notes and promises,
// they contain nothing that people wrote.
package chatops
