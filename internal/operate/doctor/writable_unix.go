//go:build unix

package doctor

import "syscall"

// writable reports whether this account has the right to write to an existing path.
func writable(path string) bool {
	const write = 2 // W_OK of access(2)
	return syscall.Access(path, write) == nil
}
