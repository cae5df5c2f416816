// Package workflows is the code that Temporal replays. The conversation workflow interprets
// the policy in package conversation: it passes events in and executes the effects. Memory,
// CatchUp, ChannelSync, Retention, Hindsight and Shadow run on schedules. Introduction and
// ForgetPerson run once, when somebody invites the bot or asks to be forgotten.
//
// Workflow code does no I/O, has no variables that change beside a run, and no clock except workflow.Now. It must issue
// the same commands in the same order for every recorded history.
package workflows
