// Package testserver gives tests the real servers that myao runs on: Temporal (a dev
// server, or one on Postgres), Postgres databases, and our own programs as processes.
//
// Temporal and Postgres start a server at the first call; all tests of the binary share
// it. The functions named Start… start a server for one test, which may stop, kill and
// freeze it. If a server cannot be started, the test fails and says what to install;
// nothing is skipped. A package that uses testserver stops the servers in TestMain:
//
//	func TestMain(m *testing.M) { testserver.Main(m) }
//
// On Linux the kernel also ends the servers when the test binary dies.
//
// A shared machine may stall for seconds. Tests of an upper time limit therefore measure
// with MeasureRunning. Waits that measure nothing have generous timeouts.
package testserver

import (
	"os"
	"sync"
	"testing"

	_ "myao/test/keepalive"
)

// Main runs the tests, stops every shared server and exits with the tests' code.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// Stop stops the servers that the tests of this binary share. A TestMain that does more
// than Main calls it. No test may ask for a server afterwards.
func Stop() {
	stopping.Lock()
	defer stopping.Unlock()
	for _, stop := range atEnd {
		stop()
	}
	atEnd = nil
}

// The functions that Stop calls.
var (
	stopping sync.Mutex
	atEnd    []func()
)

func stopAtEnd(stop func()) {
	stopping.Lock()
	defer stopping.Unlock()
	atEnd = append(atEnd, stop)
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ErrOf returns the error of a call whose result does not matter.
func ErrOf(_ any, err error) error { return err }
