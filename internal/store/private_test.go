package store

import (
	"os"
	"path/filepath"
	"testing"
)

// Only the bot's account may read messages, including those in SQLite's log.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "what a & name + 100%", "my ao?.db")
	s, err := Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	must(t, errOf(s.Migrate(t.Context())))
	for _, file := range []string{path, path + "-wal"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", filepath.Base(file), got)
		}
	}
}
