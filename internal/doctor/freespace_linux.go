package doctor

import "syscall"

// freeSpace is how many bytes this account may yet write to the disk that a directory is on.
// It is not known where there is no such directory, and on other systems than Linux.
func freeSpace(dir string) (left uint64, known bool) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, false
	}
	return disk.Bavail * uint64(disk.Bsize), true
}
