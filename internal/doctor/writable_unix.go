//go:build unix

package doctor

import "syscall"

// writable reports whether this account may write to what is there, without trying.
func writable(path string) bool {
	const write = 2 // W_OK of access(2)
	return syscall.Access(path, write) == nil
}
