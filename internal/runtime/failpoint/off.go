//go:build !failpoint

package failpoint

// Here does nothing in builds without the tag failpoint.
func Here(string) {}
