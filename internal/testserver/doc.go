// Package testserver gives tests the real servers that myao runs on: Temporal, a
// dev server or one on Postgres, and Postgres databases; and our own programs as
// processes.
//
// The first test that asks Temporal or Postgres starts a server; all tests of the
// binary share it. What the functions called Start… start is the test's own, to be
// stopped, killed and frozen.
// A server that cannot be had fails the test and says what to install: nothing
// is skipped. A package that uses it says so in its TestMain, which stops what
// was started:
//
//	func TestMain(m *testing.M) { testserver.Main(m) }
//
// The servers die with the test binary, too, however it dies: on Linux the
// kernel sees to it.
//
// A machine that many share may stand still for seconds. MeasureRunning measures what shall take no
// longer than a time; a wait by which nothing is measured is a long one.
package testserver

import (
	"os"
	"sync"
	"testing"
)

// Main runs the tests, stops every shared server and exits with the tests' code.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// Stop stops the servers that the tests of this binary share. It is for a
// TestMain that has more to do than Main; no test may ask for a server after it.
func Stop() {
	stopping.Lock()
	defer stopping.Unlock()
	for _, stop := range atEnd {
		stop()
	}
	atEnd = nil
}

// What Stop has to stop.
var (
	stopping sync.Mutex
	atEnd    []func()
)

func stopAtEnd(stop func()) {
	stopping.Lock()
	defer stopping.Unlock()
	atEnd = append(atEnd, stop)
}
