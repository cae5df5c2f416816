//go:build !linux

package doctor

// freeSpace is not known here.
func freeSpace(string) (left uint64, known bool) { return 0, false }
