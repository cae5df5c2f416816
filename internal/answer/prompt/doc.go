// Package prompt turns a chat.Context into the texts that are sent to a model, and
// has the few texts that the bot posts without a model. After New it does no I/O. The
// clock and the time zone are passed in. A Renderer is safe for concurrent use.
//
// Templates (package templates, or files that replace them) never see raw text from
// people. Every text in their view has been through a guard. No message, name or
// memory can therefore become a heading, a rule, a message line or a code fence of the
// prompt. Only the operator's own system prompts are not changed.
package prompt
