// Package failpoint lets a test kill a program at a chosen step, as a power cut would.
// Only builds with the tag failpoint contain the points. In all other builds the compiler
// removes the empty calls.
//
// A point is between two steps where the second relies on the first: an event was stored
// but not yet relayed, or a reply was posted but not yet recorded.
package failpoint

// Variable is the environment variable that names the point at which a program kills
// itself.
const Variable = "MYAO_FAILPOINT"
