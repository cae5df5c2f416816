//go:build !race

package e2e

// raced is whether the tests, and so also the programs, are built with the race detector.
const raced = false
