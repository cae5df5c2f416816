// Package sandbox is a Slack workspace on this machine. It answers Slack's Web
// API, delivers signed Events API requests (or Socket Mode envelopes) for what
// its people say, and serves a page in which to be those people.
//
// What passes through it is Slack's wire format and nothing of ours: the
// programs are pointed at it by slack.api_url and cannot tell the difference.
// The same server stands in for Slack in the project's tests, so where Slack is
// odd it is odd in the same way. Every such imitation names the page of Slack's
// documentation (or the public report) that describes it.
//
// Faults make it misbehave on purpose: Fault for the Web API, EventFault for
// deliveries, SuppressEvents for a time in which no event is delivered.
package sandbox
