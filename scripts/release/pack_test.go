package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// An archive depends on nothing but names, contents and the given time, and the usual programs read it.
func TestPackIsReproducible(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		zipped bool
		suffix string
		list   []string // prints the archive that follows
	}{
		{false, ".tar.gz", []string{"tar", "--utc", "--full-time", "-tvzf"}},
		{true, ".zip", nil},
	} {
		var made [][]byte
		for i := range 2 {
			dir := t.TempDir()
			var files []file
			for _, name := range []string{"starter", "README.md"} {
				from := filepath.Join(dir, name)
				if err := os.WriteFile(from, []byte("content of "+name), os.FileMode(0o600+i)); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(from, time.Time{}, time.Unix(int64(1000*i), 0)); err != nil {
					t.Fatal(err)
				}
				files = append(files, file{name, from, name == "starter"})
			}
			to := filepath.Join(dir, "myao_v1")
			if err := pack(to, test.zipped, files, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(to + test.suffix)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, content)
			if test.list == nil {
				continue
			}
			out, err := exec.Command(test.list[0], append(test.list[1:], to+test.suffix)...).CombinedOutput()
			want := "-rwxr-xr-x 0/0              18 2026-03-01 12:00:00 myao_v1/starter\n-rw-r--r-- 0/0              20 2026-03-01 12:00:00 myao_v1/README.md\n"
			if err != nil || string(out) != want {
				t.Errorf("%v\n%swant\n%s", err, out, want)
			}
		}
		if !bytes.Equal(made[0], made[1]) {
			t.Errorf("%s: the archives differ", test.suffix)
		}
	}
}
