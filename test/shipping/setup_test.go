package shipping

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"myao/test/testserver"
)

const (
	// nobody is the id of the image's user and group.
	nobody = 65532
	// ending is how long a graceful stop of a program may take.
	ending = 30 * time.Second
)

// ports are the programs' default ports for /livez, /readyz and /metrics.
var ports = map[string]int{"starter": 8080, "worker": 8081}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	testserver.Must(t, err)
	return string(text)
}

// faults are the errors in a file.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// want adds a fault unless holds is true.
func (f *faults) want(holds bool, format string, args ...any) {
	if !holds {
		f.add(format, args...)
	}
}

// spoiling is a change to a file that its check must find.
type spoiling struct {
	name string
	// from is replaced by to everywhere.
	from, to string
	// found is part of the fault that the check must report.
	found string
}

// spoil makes each change in turn and fails the test unless check finds it. Without this, a check
// that finds nothing would pass.
func spoil(t *testing.T, text string, check func(t *testing.T, text string) faults, all []spoiling) {
	t.Helper()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(text, s.from) {
				t.Fatalf("there is no %q to be replaced", s.from)
			}
			found := check(t, strings.ReplaceAll(text, s.from, s.to))
			if !strings.Contains(strings.Join(found, "\n"), s.found) {
				t.Errorf("found %q, want %q", found, s.found)
			}
		})
	}
}
