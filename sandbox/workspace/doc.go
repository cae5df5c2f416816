// Package workspace is a Slack workspace on this machine. It answers Slack's Web API and
// delivers signed Events API requests (or Socket Mode envelopes) for what its people say.
// It also serves a page on which a visitor plays those people.
//
// It speaks Slack's wire format only. The programs reach it through slack.api_url and
// cannot tell it from Slack. The project's tests use the same server, so it imitates
// Slack's oddities. Every imitation names the page of Slack's documentation, or the public
// report, that describes it.
//
// Faults make it misbehave on purpose: Fault for the Web API, EventFault for
// deliveries, SuppressEvents for a time in which no event is delivered.
package workspace
