// Package chatops answers the slash command: what people in a channel may see of the bot
// there, and have it do. A command is about the channel where it was typed and no other.
// Answers are Slack's mrkdwn, shown to who asked alone, and hold nothing that people wrote.
package chatops
