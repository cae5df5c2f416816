// Package slack is the one place that knows Slack's wire format. What comes in,
// over HTTP or Socket Mode, passes Verify, ParseEnvelope and Normalise and leaves
// as a chat.Message with what happened to it; what goes out passes Client, which
// says of every failure whether the call may have had its effect all the same.
//
// Normalisation reads only the fields it needs and is indifferent to the rest:
// an unknown block, an odd type in an unused field or a new kind of event never
// costs a message. Tokens and secrets appear in no error of this package.
package slack
