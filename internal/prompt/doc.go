// Package prompt turns a chat.Context into the texts that a model is sent, and
// holds the few words that the bot says without a model. What passes through it
// is values in, text out: it does no I/O after New, knows no clock and no zone
// but those it is given, and a Renderer may be used by any number of goroutines.
//
// Templates (package templates, or files that replace them) never see what
// people wrote as they wrote it. The view that they are given holds text that
// has been through a guard, so that nothing said in a channel, no display name,
// channel name, file name or memory can become a heading, a rule, a message
// line or a code fence of the prompt (SYSTEM.md §7). Only the operator's own
// system prompts go in untouched.
package prompt
