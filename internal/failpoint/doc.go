// Package failpoint lets a test end a program at a chosen step, as a power cut
// would. Only what is built with the tag failpoint has the points; in every other
// build they are empty calls that the compiler takes out.
//
// A point stands between two steps of which the second relies on the first: what
// was stored and not yet relayed, what was posted and not yet written down.
package failpoint

// Variable is the environment variable that names the point at which a program
// that was built with the tag kills itself.
const Variable = "MYAO_FAILPOINT"
