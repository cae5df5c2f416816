package doctor

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestFreeSpace(t *testing.T) {
	t.Parallel()
	if left, known := freeSpace(t.TempDir()); known != (runtime.GOOS == "linux") || known && left == 0 {
		t.Errorf("for the directory of tests: %d bytes, known %v", left, known)
	}
	if left, known := freeSpace(filepath.Join(t.TempDir(), "none")); known || left != 0 {
		t.Errorf("for a missing directory: %d bytes, known %v", left, known)
	}
}
