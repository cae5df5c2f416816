//go:build race

package e2e

// The programs are built as the tests are: with the race detector, or without.
const raced = true
