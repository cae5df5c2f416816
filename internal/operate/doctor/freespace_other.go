//go:build !linux

package doctor

// freeSpace is unknown on this system.
func freeSpace(string) (left uint64, known bool) { return 0, false }
