// Package workflows is what Temporal replays. A workflow here interprets a policy
// that is plain Go (package conversation): it carries events in and effects out,
// and decides nothing itself. No I/O, no globals, no clock but workflow.Now.
package workflows
