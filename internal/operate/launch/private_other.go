//go:build !linux

package launch

// keepPrivate does nothing: here a program of the same user may read this process's memory and environment.
func keepPrivate() error { return nil }
