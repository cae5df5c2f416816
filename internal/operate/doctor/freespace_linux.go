package doctor

import "syscall"

// freeSpace returns how many bytes this account can still write to the disk of a directory.
// known is false if the directory does not exist, and on systems other than Linux.
func freeSpace(dir string) (left uint64, known bool) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, false
	}
	return disk.Bavail * uint64(disk.Bsize), true
}
