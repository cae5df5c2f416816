package testserver

import "testing"

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ErrOf returns the error of a call whose result does not matter.
func ErrOf(_ any, err error) error { return err }
