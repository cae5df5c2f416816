// Package slack is the only package that knows Slack's wire format. What Slack delivers, over
// HTTP or Socket Mode, passes Verify and one of ParseEnvelope, ParseInteraction and ParseCommand,
// and leaves as a typed value: an Event, an Action or a Command. What goes to Slack passes Client,
// whose errors say whether a failed call may still have had its effect.
//
// Reading is tolerant: an unknown block, a field of another type or a new kind of event never
// costs a message. Tokens and secrets appear in no error of this package.
package slack
