// Package conversation is the policy of one conversation: when it waits, when it
// asks for a judgment, when it speaks and what it withdraws (SYSTEM.md §4).
//
// A State takes in what happened and when, through Apply, and answers with
// effects for somebody else to carry out:
//
//	idle → waiting → judging → delaying → replying → idle
//
// It knows no Temporal, no database and no clock: the time is an argument, ids
// are all it holds, and the same events at the same times give the same effects.
package conversation
