// Package bench measures what the programs do in a second, and what a message costs,
// and compares each figure with a floor that is measured beside it: a bare workflow,
// a raw signal, a single SELECT on the same servers, so that the ratio means the same
// on any machine. `make bench` runs it; docs/performance.md tells what came of it.
//
// The programs are the real ones, as processes of their own, with a Temporal server
// on Postgres and a Postgres of the bot's own that syncs each commit. Slack, the model
// and those who write are in the process of the test. Load comes in an open loop: each
// message has a time at which it is to be sent, and its latency counts from then,
// however late the sender is. Every row says how many rounds it had and how far they
// lay apart, and what was counted of messages lost and doubled.
package bench
